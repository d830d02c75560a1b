/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p and ib: what is between GPUs, and between the ports of HCAs. */
#include "cli/front/command.h"

#include "cli/front/ahead.h"
#include "cli/run/jobs.h"
#include "cli/run/probe_run.h"
#include "cli/run/resume.h"
#include "cli/run/retest.h"
#include "lib/base/str.h"

static int check(struct session *s, struct str *drill, struct err *e)
{
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
