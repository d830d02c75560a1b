/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "cli/front/ahead.h"
#include "cli/run/diagnose.h"
#include "lib/base/exit_code.h"
#include "cli/run/probe_run.h"
#include "cli/run/resume.h"
#include "cli/front/talk.h"
#include "lib/base/str.h"

static int run_p2p(struct session *s)
{
	struct str drill = STR_INIT;
	struct err e = { 0 };
	int code;

	if (s->spec.resume[0]) {
		return resume_main(s, "p2p");
	}
	if (ahead_take_pair(s, &e) < 0 ||
	    ahead_check(&s->spec, "p2p", &drill, &e) < 0) {
		talk_err(&e);
		code = CODE_USAGE;
	} else {
		code = probe_run(s, "p2p", str_text(&drill),
				     s->spec.diagnose ? &conductor_diagnose :
							NULL);
	}
	str_release(&drill);
	return code;
}

static const char *const examples[] = {
	"gpucheck p2p --local=2x8 --transport=tcp",
	"gpucheck p2p -N 4 -- --partition=gpu",
	"gpucheck p2p --local=2x8 --transport=tcp 0 9",
	NULL
};

const struct command cmd_p2p = {
	.name = "p2p",
	.summary = "Measure every pair of GPUs, both ways, and find faults.",
	.usage = "[OPTION...] [RANK RANK] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_P2P,
	.max_args = 2,
	.run = run_p2p,
};
