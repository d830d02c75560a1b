/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/exit_code.h"
#include "cli/front.h"
#include "cli/talk.h"
#include "lib/hosts.h"
#include "lib/units.h"
#include "probes/ping_select.h"

#include <string.h>

/** By ssh, and where to. */
static int check_hosts(const struct spec *s, struct err *e)
{
	struct hosts hosts;

	if (s->ssh_path[0] && !s->ssh) {
		return err_set(e, 0, "--ssh-path needs --ssh");
	}
	if (!s->ssh && !s->hosts[0]) {
		return 0;
	}
	if (!s->ssh || !s->hosts[0]) {
		err_set(e, 0, s->ssh ? "--ssh needs --hosts" :
				       "--hosts needs --ssh");
		return err_hint(e, "--ssh --hosts=gpu[01-04], or a file");
	}
	if (s->local || s->nodes || s->launcher[0]) {
		return err_set(e, 0, "--ssh goes with no other place or "
			       "launcher");
	}
	if (hosts_read(s->hosts, &hosts, e) < 0) {
		return -1;
	}
	hosts_release(&hosts);
	return 0;
}

/** What connections are asked, and not what packets are. */
static int check_tcp(const struct spec *s, struct err *e)
{
	struct spec usual;
	const char *packets;
	int64_t port;

	if (!s->tcp[0]) {
		return 0;
	}
	spec_init(&usual);
	packets = s->df				     ? "--df" :
		  s->size_B != usual.size_B	     ? "--size" :
		  strcmp(s->method, usual.method) != 0 ? "--method" :
							 NULL;
	if (packets) {
		return err_set(e, 0, "%s does not go with --tcp: a connection "
			       "is no packet", packets);
	}
	if (strcmp(s->tcp, "auto") != 0 &&
	    units_parse_int(s->tcp, 1, 65535, &port, NULL) < 0) {
		err_set(e, 0, "--tcp: '%s' is no port", s->tcp);
		return err_hint(e, "a number up to 65535, or auto");
	}
	return 0;
}

static int check(const struct spec *s, struct err *e)
{
	return spec_check(s, e) < 0 || ping_select_check(s, e) < 0 ||
			       check_tcp(s, e) < 0 || check_hosts(s, e) < 0 ?
		       -1 :
		       0;
}

static int run_ping(struct session *s)
{
	struct err e = { 0 };

	if (check(&s->spec, &e) < 0) {
		talk_err(&e);
		return CODE_USAGE;
	}
	return front_main(s, "ping", "");
}

static const char *const examples[] = {
	"gpucheck ping -N 16 -- --partition=gpu",
	"gpucheck ping -N 16 --cross --df",
	"gpucheck ping --ssh --hosts=gpu[01-04]",
	"gpucheck ping --local=4x2",
	NULL
};

const struct command cmd_ping = {
	.name = "ping",
	.summary = "Ask every node on every rail from every other, all at once.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_PING,
	.run = run_ping,
};
