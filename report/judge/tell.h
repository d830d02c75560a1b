/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_TELL_H
#define REPORT_JUDGE_TELL_H

#include "report/model/part.h"

/**
 * Two parts explain the same bad cells: the test that would tell which it is,
 * with the arguments that it takes on this cluster, and what its outcome means:
 * "gpucheck p2p --pairs=n1:0-n1:1 is bad too if it is GPU 0 of n1".  @src,
 * @dst: one of the bad cells.  False, and nothing is added, where nobody knows
 * one.  Pure.
 */
bool tell_apart(const struct run *run, const struct part *a,
		const struct part *b, int src, int dst, struct str *out);

/** Are the nodes of the run pretend ones, on the machine that it was typed on? */
bool tell_is_local(const struct run *run);

/** "gpucheck p2p --transport=nccl --pairs=n0:1-n1:1 -- --nodelist=n0,n1": the
 *  pair of ranks once more, by @transport. */
void tell_command(const struct run *run, const char *transport, int src,
		  int dst, struct str *out);

#endif
