/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_NODE_LINE_H
#define REPORT_SHOW_NODE_LINE_H

#include "lib/base/str.h"
#include "report/judge/verdict.h"

/** The longest line that a log, and Slurm as a reason, takes whole. */
#define NODE_LINE_MAX 400

/**
 * What a node says of itself, one line with its newline: "ok n1 8 GPUs, 4 HCA
 * ports, 2 interfaces", or "FAIL n1 port_down: mlx5_2: ...; gpu_lost: ...",
 * faults first, cut to NODE_LINE_MAX bytes.
 */
void node_line(const struct run *run, const struct verdict *v,
	       struct str *out);

/** The same with all that stands behind it: each finding with its evidence and
 *  what to do, then every fact. */
void node_details(const struct run *run, const struct verdict *v,
		  struct str *out);

#endif
