/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <stdlib.h>

#include "cli/front/ahead.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/exit_code.h"

static int check(struct session *s, struct str *drill, struct err *e)
{
	return spec_check(&s->spec, e) < 0 ||
	       ahead_check_drill(&s->spec, drill, e) < 0 ? -1 : 0;
}

/* Pretend nodes would take turns on the same GPUs, and hold them against each
 * other. */
static int run_gpu(struct session *s)
{
	struct err e = { 0 };

	if (spec_is_shared(&s->spec)) {
		err_set(&e, 0, "gpu tests the GPUs of this machine once, not "
			"as those of %d nodes", (int)s->spec.local_nodes);
		err_hint(&e, "--local alone, or --transport=sim for a model");
		return talk_fail(&e, CODE_USAGE);
	}
	return probe_run(s, check, NULL);
}

static const char *const examples[] = {
	"gpucheck gpu",
	"gpucheck gpu --compute=60s",
	"gpucheck gpu --soak=1h",
	"gpucheck gpu -N 16 -- --partition=gpu",
	"gpucheck gpu --local=2x8 --transport=sim",
	NULL
};

const struct command cmd_gpu = {
	.name = "gpu",
	.summary = "Test each GPU: its link to the host, memory, arithmetic.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_GPU,
	.run = run_gpu,
};
