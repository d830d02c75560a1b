/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECT_PARTS_H
#define REPORT_JUDGE_EFFECT_PARTS_H

#include "report/judge/effect_peers.h"

/** Each adds to w->out what is worse, its whole interval of @z deviations; 0,
 *  or -1 when memory runs out. */

/** Nodes, by their tests with others and by those inside.  What they add is
 *  taken from their ranks in the table, and, of nodes with enough of these,
 *  what any node does. */
int effect_find_nodes(struct effect_work *w, double z);
/** NICs and GPUs. */
int effect_find_ranks(struct effect_work *w, double z);
/** What GPUs do inside their nodes, each with each of the others there, and all
 *  of a node together. */
struct effect_insides {
	struct effect_peers gpus, nodes;
};

/** 0, or -1 when memory runs out; effect_insides_release() frees, also then. */
int effect_insides_learn(const struct effect_work *w, struct effect_insides *x);
void effect_insides_release(struct effect_insides *x);
/** Is node @n worse inside, sure enough, and most of its pairs?  One GPU is no
 *  node, nor is a moment, which spoils some of them. */
bool effect_insides_worse(const struct effect_work *w,
			  const struct effect_insides *x, size_t n, double z,
			  struct effect_estimate *e);
/** NVLinks of GPUs: what they do inside their node. */
int effect_find_nvlinks(struct effect_work *w, double z);
/** Links between two nodes, beside all others. */
int effect_find_links(struct effect_work *w, double z);

/** Paths between two leaf switches, all or those on one link. */
int effect_find_paths(struct effect_work *w, double z);

#endif
