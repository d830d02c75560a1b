/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "cli/run/probe_run.h"

static int run_info(struct session *s)
{
	return probe_run(s, NULL, NULL);
}

static const char *const examples[] = {
	"gpucheck info",
	"gpucheck info -N 16 -- --partition=gpu",
	"gpucheck info -N 16 --csv",
	NULL
};

const struct command cmd_info = {
	.name = "info",
	.summary = "Show the facts of each node, and which nodes differ.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_INFO,
	.run = run_info,
};
