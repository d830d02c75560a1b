/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck p2p and ib: test paths between GPUs, or between HCA ports. */
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/help.h"
#include "cli/front/options.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/plan/plan.h"
#include "cli/run/jobs.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "probes/ping/ping.h"
#include "report/judge/pairs.h"
#include "report/symptoms/symptom.h"

/* ---- gpucheck all -------------------------------------------------------- */

static int all_check(struct session *s, struct str *drill, struct err *e)
{
	if (spec_transport_is(s->spec.transport, XPORT_PORT)) {
		err_set(e, 0, "--transport=%s is for ib only, which always "
			"uses it", s->spec.transport);
		return err_hint(e, "--transport is for p2p and allreduce");
	}
	return ahead_take_references(&s->spec, e) < 0 ?
		       -1 : ahead_check(&s->spec, "p2p", drill, e);
}

static int run_all(struct session *s)
{
	if (s->spec.explain_nics) {
		return explain_nics(s);
	}
	return s->spec.resume[0] ? resume_main(s, "all") :
				   probe_run(s, all_check, &conductor_all);
}

static const char *const all_examples[] = {
	"gpucheck all -N 2 --quick -- --partition=gpu", "gpucheck all -N 16",
	"gpucheck all --local=2x4 --transport=sim", NULL};

const struct command cmd_all = {
	.name = "all",
	.summary = "Run all probes, basic ones first; one verdict, one report.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = all_examples,
	.takes = SPEC_CMD_ALL,
	.run = run_all,
};

/* ---- collective ---------------------------------------------------------- */

/* One command per collective: they differ only in name.  main() makes
 * "collective NAME" the command NAME. */

static int run_collective(struct session *s)
{
	return s->spec.retest[0] ?
		       retest_main(s, s->argv[1], ahead_check_collective,
				   NULL) :
		       probe_run(s, ahead_check_collective, NULL);
}

static int refuse_name(struct session *s)
{
	struct err e = { 0 };

	err_set(&e, 0, "there is no collective '%s'", s->args[0]);
	err_hint(&e, "allreduce, allgather, reducescatter, broadcast, reduce, "
		     "alltoall, sendrecv");
	return talk_fail(&e, CODE_USAGE);
}

static const char *const collective_examples[] = {
	"gpucheck collective allreduce -N 4 -- --partition=gpu",
	"gpucheck collective allreduce -b 1M -e 1G --algo=Ring,Tree",
	"gpucheck collective alltoall --local=2x8 --transport=sim",
	NULL
};

const struct command cmd_collective = {
	.name = "collective",
	.summary = "Measure allreduce or another collective, size by size.",
	.usage = "NAME [OPTION...] [-- SLURM-OPTION...]",
	.examples = collective_examples,
	.takes = SPEC_CMD_COLLECTIVE,
	.min_args = 1,
	.needs = "the name of a collective, such as allreduce",
	.max_args = 1,
	.run = refuse_name,
};

#define BY_PROTOCOL  "-b 1M -e 1G --proto=Simple,LL,LL128"
#define BY_THRESHOLD "-b 1K -e 16M --env NCCL_P2P_LL_THRESHOLD=0,16384"

#define COLLECTIVE(op, compared, what) \
	static const char *const examples_##op[] = { \
		"gpucheck collective " #op " -N 4 -- --partition=gpu", \
		"gpucheck collective " #op " " compared, \
		"gpucheck collective " #op " --local=2x8 --transport=sim", \
		NULL \
	}; \
	const struct command cmd_##op = { \
		.name = #op, \
		.known_as = "collective " #op, \
		.summary = what, \
		.usage = "[OPTION...] [-- SLURM-OPTION...]", \
		.examples = examples_##op, \
		.takes = SPEC_CMD_COLLECTIVE, \
		.run = run_collective, \
	}

COLLECTIVE(allreduce, BY_PROTOCOL,
	   "Measure the all-reduce collective.");
COLLECTIVE(allgather, BY_PROTOCOL,
	   "Measure the all-gather collective.");
COLLECTIVE(reducescatter, BY_PROTOCOL,
	   "Measure the reduce-scatter collective.");
COLLECTIVE(broadcast, BY_PROTOCOL,
	   "Measure the broadcast collective.");
COLLECTIVE(reduce, BY_PROTOCOL,
	   "Measure the reduce collective.");
COLLECTIVE(alltoall, BY_THRESHOLD,
	   "Measure the all-to-all collective.");
COLLECTIVE(sendrecv, BY_THRESHOLD,
	   "Measure a ring in which each GPU sends to the next.");

/* ---- gpu ----------------------------------------------------------------- */

static int gpu_check(struct session *s, struct str *drill, struct err *e)
{
	return spec_check(&s->spec, e) < 0 ||
	       ahead_check_shape(&s->spec, probe_find("gpu"), drill, e) < 0 ?
		       -1 : 0;
}

/* Pretend nodes would take turns on the same GPUs, and hold them against each
 * other. */
static int run_gpu(struct session *s)
{
	struct err e = { 0 };

	if (spec_is_shared(&s->spec)) {
		err_set(&e, 0, "gpu tests the GPUs of this machine once, not "
			"as those of %d nodes", (int)s->spec.local_nodes);
		err_hint(&e, "use --local alone, or --transport=sim to "
				     "simulate nodes");
		return talk_fail(&e, CODE_USAGE);
	}
	return probe_run(s, gpu_check, NULL);
}

static const char *const gpu_examples[] = {
	"gpucheck gpu",
	"gpucheck gpu --compute=60s",
	"gpucheck gpu --soak=1h",
	"gpucheck gpu -N 16 -- --partition=gpu",
	"gpucheck gpu --local=2x8 --transport=sim",
	NULL};

const struct command cmd_gpu = {
	.name = "gpu",
	.summary = "Test each GPU: its link to the host, memory, arithmetic.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = gpu_examples,
	.takes = SPEC_CMD_GPU,
	.run = run_gpu,
};

/* ---- info ---------------------------------------------------------------- */

/* Makes the folder of --record, which must be new, before the nodes start: they
 * may start elsewhere, and find it by its absolute path. */
static int make_record(struct session *s, struct str *drill, struct err *e)
{
	char path[PATH_MAX];
	int rc;

	(void)drill;
	if (spec_check(&s->spec, e) < 0) {
		return -1;
	}
	if (s->spec.record[0] == '\0' || s->spec.dry_run) {
		return 0;
	}
	rc = mkdir(s->spec.record, 0700);
	if (rc < 0 && errno == EEXIST) {
		/* a run that did not start has left an empty one */
		rc = rmdir(s->spec.record);
		rc = rc == 0 ? mkdir(s->spec.record, 0700) : rc;
		errno = rc < 0 ? EEXIST : errno;
	}
	if (rc < 0 || realpath(s->spec.record, path) == NULL) {
		err_set(e, errno, "cannot create the folder '%s'",
			s->spec.record);
		return err_hint(e, "--record wants a new one");
	}
	STR_COPY(s->spec.record, path);
	return 0;
}

static int run_info(struct session *s)
{
	return probe_run(s, make_record, NULL);
}

static const char *const info_examples[] = {
	"gpucheck info", "gpucheck info -N 16 -- --partition=gpu",
	"gpucheck info -N 16 --csv", "gpucheck info -N 2 --record=cluster",
	NULL};

const struct command cmd_info = {
	.name = "info",
	.summary = "Show the facts of each node, and which nodes differ.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = info_examples,
	.takes = SPEC_CMD_INFO,
	.run = run_info,
};

/* ---- memlock ------------------------------------------------------------- */

static int run_memlock(struct session *s)
{
	static const char *const elsewhere[] = {
		"local", "nodes", "launcher", "no-wait", "out", NULL
	};
	struct err e = { 0 };

	if (s->spec.node) {	/* those that were typed are checked below */
		options_stray(s, elsewhere);
	}
	if (!s->spec.node || s->plan) {
		return probe_run(s, NULL, NULL);
	}
	return spec_check(&s->spec, &e) < 0 ? talk_fail(&e, CODE_USAGE) :
					      node_look(s, "memlock");
}

static const char *const memlock_examples[] = {
	"gpucheck memlock -N 4 -- --partition=gpu", "gpucheck memlock --local",
	"gpucheck memlock --node", NULL};

const struct command cmd_memlock = {
	.name = "memlock",
	.summary = "Find and prove what limits the locked memory of RDMA jobs.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = memlock_examples,
	.takes = SPEC_CMD_MEMLOCK,
	.run = run_memlock,
};

/* ---- node ---------------------------------------------------------------- */

static int run_node(struct session *s)
{
	const char *codes = s->spec.fail_on;
	struct err e = { 0 };
	char code[48];
	int rc = spec_check(&s->spec, &e);

	/* each code of --fail-on must be known and a fault */
	while (rc == 0 && node_next_code(&codes, code)) {
		if (!symptom_find(symptoms_builtin(), code)) {
			rc = err_set(&e, 0, "--fail-on: there is no code '%s'",
				     code);
			err_hint(&e, "\"man gpucheck-node\" lists those that a "
				     "node can have");
		} else if (!node_may_fail(code)) {
			rc = err_set(&e, 0, "--fail-on: '%s' never fails a "
				     "node", code);
			err_hint(&e, "it is not a fault of the node, or only "
				     "says that a check was not possible");
		}
	}
	return rc < 0 ? talk_fail(&e, CODE_USAGE) : node_self(s);
}

static const char *const node_examples[] = {
	"gpucheck node", "gpucheck node --expect-gpus=8 -v",
	"gpucheck node --fail-on=port_down,gpu_lost,gpu_missing", NULL};

const struct command cmd_node = {
	.name = "node",
	.summary = "Check this node in under 4.5 s, for Slurm and NHC hooks.",
	.usage = "[OPTION...]",
	.examples = node_examples,
	.takes = SPEC_CMD_NODE,
	.run = run_node,
};

/* ---- ping ---------------------------------------------------------------- */

static int ping_check(struct session *s, struct str *drill, struct err *e)
{
	static const char *const packets[] = { "find-mtu", "size", "method",
					       "flows", NULL };
	static const char *const tcp[] = { "tcp", NULL };
	const struct spec *spec = &s->spec;
	const char *stray;
	char **names;
	size_t n = 0;
	int64_t port;
	int rc = 0;

	(void)drill;	/* ping has no drill */
	if (spec_check(spec, e) < 0 || ping_select_check(spec, e) < 0) {
		return -1;
	}
	/* --tcp opens connections: options for packets have no effect */
	stray = spec->tcp[0] ? options_stray(s, packets) : NULL;
	if (stray && options_stray(s, tcp)) {
		return err_set(e, 0, "--%s does not go with --tcp, which "
			       "opens connections", stray);
	}
	if (spec->tcp[0] && strcmp(spec->tcp, "auto") != 0 &&
	    units_parse_int(spec->tcp, 1, 65535, &port, NULL) < 0) {
		err_set(e, 0, "--tcp: '%s' is not a port", spec->tcp);
		return err_hint(e, "use a number from 1 to 65535, or auto");
	}
	/* interfaces and addresses are for --skip, not for --exclude */
	names = spec->exclude[0] ? hostlist_expand(spec->exclude, &n, e) : NULL;
	for (size_t i = 0; names && i < n && rc == 0; i++) {
		struct ip_addr ip;

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

static int run_ping(struct session *s)
{
	return probe_run(s, ping_check, NULL);
}

static const char *const examples[] = {
	"gpucheck ping -N 16 -- --partition=gpu",
	"gpucheck ping -N 16 --cross --find-mtu",
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

/* ---- pairs --------------------------------------------------------------- */

static int check(struct session *s, struct str *drill, struct err *e)
{
	if (s->spec.flows > XPORT_FLOWS_MAX) {
		return err_set(e, 0, "--flows=%lld: ib tests at most %d flows "
			       "per pair", (long long)s->spec.flows,
			       XPORT_FLOWS_MAX);
	}
	return ahead_take_pair(s, e) < 0 ||
			       ahead_take_reference(&s->spec, s->argv[1], e) <
				       0 ?
		       -1 : ahead_check(&s->spec, s->argv[1], drill, e);
}

static int run_pairs(struct session *s)
{
	const struct conductor *c = s->spec.diagnose ? &conductor_diagnose :
						       NULL;

	if (s->spec.resume[0] && !s->plan && jobs_is_dir(s->spec.resume)) {
		return jobs_resume(s, s->argv[1]);
	}
	if (s->spec.explain_nics) {
		return explain_nics(s);
	}
	if (s->spec.stale) {
		const int code = stale_choose(s);

		if (code != CODE_HEALTHY || s->plan) {
			return code;
		}
	}
	return s->spec.resume[0] ? resume_main(s, s->argv[1]) :
	       s->spec.jobs	 ? jobs_main(s, s->argv[1], check) :
	       s->spec.retest[0] ? retest_main(s, s->argv[1], check, c) :
				   probe_run(s, check, c);
}

static const char *const p2p_examples[] = {
	"gpucheck p2p --local=2x8 --transport=tcp",
	"gpucheck p2p -N 4 -- --partition=gpu",
	"gpucheck p2p --local=2x8 --transport=tcp 0 9",
	NULL
};

const struct command cmd_p2p = {
	.name = "p2p",
	.summary = "Measure every pair of GPUs, both ways, and find faults.",
	.usage = "[OPTION...] [RANK RANK] [-- SLURM-OPTION...]",
	.examples = p2p_examples,
	.takes = SPEC_CMD_P2P,
	.max_args = 2,
	.run = run_pairs,
};

/** The rails, not every port with every other. */
static void set_ib_defaults(struct spec *s)
{
	STR_COPY(s->pairs, "auto");
}

static const char *const ib_examples[] = {
	"gpucheck ib -N 4 -- --partition=gpu",
	"gpucheck ib --pairs=all --op=send -b 8 -e 1M",
	"gpucheck ib --local=2x4 --transport=sim",
	NULL
};

const struct command cmd_ib = {
	.name = "ib",
	.summary = "Measure RDMA between HCA ports, and find faults.",
	.usage = "[OPTION...] [RANK RANK] [-- SLURM-OPTION...]",
	.examples = ib_examples,
	.takes = SPEC_CMD_IB,
	.defaults = set_ib_defaults,
	.max_args = 2,
	.run = run_pairs,
};
