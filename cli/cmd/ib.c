/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "cli/front/ahead.h"
#include "lib/base/exit_code.h"
#include "cli/run/probe_run.h"
#include "cli/run/resume.h"
#include "cli/front/talk.h"
#include "lib/base/str.h"

static int run_ib(struct session *s)
{
	struct str drill = STR_INIT;
	struct err e = { 0 };
	int code;

	if (s->spec.resume[0]) {
		return resume_main(s, "ib");
	}
	if (ahead_take_pair(s, &e) < 0 ||
	    ahead_check(&s->spec, "ib", &drill, &e) < 0) {
		talk_err(&e);
		code = CODE_USAGE;
	} else {
		code = probe_run(s, "ib", str_text(&drill), NULL);
	}
	str_release(&drill);
	return code;
}

/** The rails, not every port with every other. */
static void set_defaults(struct spec *s)
{
	STR_COPY(s->pairs, "auto");
}

static const char *const examples[] = {
	"gpucheck ib -N 4 -- --partition=gpu",
	"gpucheck ib --pairs=all --op=send -b 8 -e 1M",
	"gpucheck ib --local=2x4 --transport=sim",
	NULL
};

const struct command cmd_ib = {
	.name = "ib",
	.summary = "Measure RDMA between HCA ports, and find faults.",
	.usage = "[OPTION...] [RANK RANK] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_IB,
	.defaults = set_defaults,
	.max_args = 2,
	.run = run_ib,
};
