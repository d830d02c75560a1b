/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "cli/run/probe_run.h"
#include "cli/front/options.h"
#include "lib/base/ip.h"
#include "lib/data/hostlist.h"
#include "lib/base/units.h"
#include "probes/ping/select.h"

#include <net/if.h>
#include <string.h>

/** --exclude took what is now --skip's. */
static int check_exclude(const struct spec *spec, struct err *e)
{
	size_t n = 0;
	char **names = spec->exclude[0] ?
			       hostlist_expand(spec->exclude, &n, e) : NULL;
	struct ip_addr ip;
	int rc = 0;

	for (size_t i = 0; names && i < n && rc == 0; i++) {
		if (if_nametoindex(names[i]) ||
		    (!spec->ssh[0] && ip_parse(names[i], &ip, NULL) == 0)) {
			rc = err_set(e, 0, "--exclude takes names of nodes, "
				     "and '%.60s' is not one", names[i]);
			err_hint(e, "to skip an interface, an address or a "
				 "subnet: --skip=%.60s", names[i]);
		}
	}
	hostlist_free(names, n);
	return rc;
}

/** What connections are asked, and not what packets are. */
static int check_tcp(struct session *s, struct err *e)
{
	static const char *const packets[] = { "df", "size", "method", NULL };
	static const char *const tcp[] = { "tcp", NULL };
	const struct spec *spec = &s->spec;
	const char *stray = spec->tcp[0] ? options_stray(s, packets) : NULL;
	int64_t port;

	if (stray && options_stray(s, tcp)) {
		return err_set(e, 0, "--%s does not go with --tcp, which "
			       "opens connections", stray);
	}
	if (spec->tcp[0] && strcmp(spec->tcp, "auto") != 0 &&
	    units_parse_int(spec->tcp, 1, 65535, &port, NULL) < 0) {
		err_set(e, 0, "--tcp: '%s' is not a port", spec->tcp);
		return err_hint(e, "use a number from 1 to 65535, or auto");
	}
	return 0;
}

static int check(struct session *s, struct str *drill, struct err *e)
{
	(void)drill;	/* addresses have none */
	return spec_check(&s->spec, e) < 0 ||
			       ping_select_check(&s->spec, e) < 0 ||
			       check_tcp(s, e) < 0 ||
			       check_exclude(&s->spec, e) < 0 ?
		       -1 :
		       0;
}

static int run_ping(struct session *s)
{
	return probe_run(s, check, NULL);
}

static const char *const examples[] = {
	"gpucheck ping -N 16 -- --partition=gpu",
	"gpucheck ping -N 16 --cross --df",
	"gpucheck ping --ssh='gpu[01-04]'",
	"gpucheck ping --local=4x2",
	NULL
};

const struct command cmd_ping = {
	.name = "ping",
	.summary = "Ping every node on every rail from every other, all at once.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_PING,
	.run = run_ping,
};
