/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <string.h>

#include "cli/front/ahead.h"
#include "lib/base/exit_code.h"
#include "cli/run/probe_run.h"
#include "cli/front/talk.h"
#include "lib/base/str.h"

static int run_all(struct session *s)
{
	struct str drill = STR_INIT;
	struct err e = { 0 };
	int code;

	if (spec_transport_is(s->spec.transport, XPORT_PORT)) {
		err_set(&e, 0, "--transport=%s is for ib only, which always uses "
			"it",
			s->spec.transport);
		err_hint(&e, "--transport is for p2p and allreduce");
	} else {
		ahead_check(&s->spec, "p2p", &drill, &e);
	}
	if (e.text[0]) {
		talk_err(&e);
		code = CODE_USAGE;
	} else {
		code = probe_run(s, "all", str_text(&drill),
				     &conductor_all);
	}
	str_release(&drill);
	return code;
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
