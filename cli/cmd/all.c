/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "cli/front/ahead.h"
#include "cli/run/probe_run.h"

static int check(struct session *s, struct str *drill, struct err *e)
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
	return probe_run(s, check, &conductor_all);
}

static const char *const examples[] = {
	"gpucheck all -N 2 --quick -- --partition=gpu",
	"gpucheck all -N 16",
	"gpucheck all --local=2x4 --transport=sim",
	NULL
};

const struct command cmd_all = {
	.name = "all",
	.summary = "Run all probes, basic ones first; one verdict, one report.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_ALL,
	.run = run_all,
};
