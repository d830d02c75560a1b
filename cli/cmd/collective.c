/* SPDX-License-Identifier: BSD-3-Clause */
/* allreduce and its kin: one command for each, which differ in name only. */
#include "cli/front/command.h"

#include "cli/front/ahead.h"
#include "cli/run/probe_run.h"
#include "cli/run/retest.h"

static int run_collective(struct session *s)
{
	return s->spec.retest[0] ?
		       retest_main(s, s->argv[1], ahead_check_collective,
				   NULL) :
		       probe_run(s, ahead_check_collective, NULL);
}

#define BY_PROTOCOL  "-b 1M -e 1G --proto=Simple,LL,LL128"
#define BY_THRESHOLD "-b 1K -e 16M --env NCCL_P2P_LL_THRESHOLD=0,16384"

#define COLLECTIVE(op, compared, what) \
	static const char *const examples_##op[] = { \
		"gpucheck " #op " -N 4 -- --partition=gpu", \
		"gpucheck " #op " " compared, \
		"gpucheck " #op " --local=2x8 --transport=sim", \
		NULL \
	}; \
	const struct command cmd_##op = { \
		.name = #op, \
		.summary = what, \
		.usage = "[OPTION...] [-- SLURM-OPTION...]", \
		.examples = examples_##op, \
		.takes = SPEC_CMD_COLLECTIVE, \
		.run = run_collective, \
	}

COLLECTIVE(allreduce, BY_PROTOCOL,
	   "Measure how all GPUs get the sum over all.");
COLLECTIVE(allgather, BY_PROTOCOL,
	   "Measure how all GPUs get the data of all.");
COLLECTIVE(reducescatter, BY_PROTOCOL,
	   "Measure how each GPU gets a share of the sum.");
COLLECTIVE(broadcast, BY_PROTOCOL,
	   "Measure how one GPU sends to all others.");
COLLECTIVE(reduce, BY_PROTOCOL,
	   "Measure how one GPU gets the sum over all.");
COLLECTIVE(alltoall, BY_THRESHOLD,
	   "Measure how each GPU sends a share to each.");
COLLECTIVE(sendrecv, BY_THRESHOLD,
	   "Measure a ring: each GPU sends to the next.");
