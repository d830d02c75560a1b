/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "lib/base/exit_code.h"
#include "cli/run/probe_run.h"
#include "cli/front/node_look.h"
#include "cli/front/options.h"
#include "cli/front/talk.h"

static int run_memlock(struct session *s)
{
	static const char *const elsewhere[] = {
		"local", "nodes", "launcher", "no-wait", "out", NULL
	};
	struct err e = { 0 };

	if (s->spec.node) {	/* what is typed of them is checked below */
		options_stray(s, elsewhere);
	}
	if (!s->spec.node || s->plan) {
		return probe_run(s, NULL, NULL);
	}
	return spec_check(&s->spec, &e) < 0 ? talk_fail(&e, CODE_USAGE) :
					      node_look(s, "memlock");
}

static const char *const examples[] = {
	"gpucheck memlock -N 4 -- --partition=gpu",
	"gpucheck memlock --local",
	"gpucheck memlock --node --quiet",
	NULL
};

const struct command cmd_memlock = {
	.name = "memlock",
	.summary = "Find and prove what limits the locked memory of RDMA jobs.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_MEMLOCK,
	.run = run_memlock,
};
