/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECT_FOUND_H
#define REPORT_JUDGE_EFFECT_FOUND_H

#include "report/judge/effect_peers.h"

/** Fewer parts have no peers. */
#define EFFECT_LEAST_PEERS 4

/** Where @i of @x is worse: both ways, or one if the other is less than half as
 *  bad; and as parts have it. */
int effect_way(const struct effect_peers *x, size_t i);
enum part_direction effect_direction(int way);
/** Is part @i of @x worse, sure enough? */
bool effect_is_worse(const struct effect_work *w, const struct effect_peers *x,
		     size_t i, int way, double z, struct effect_estimate *e);
/** Is @p in what was found? */
bool effect_is_in(const struct effect_work *w, const struct part *p);
/** @p, or @also where there is one, as it came out by @tests. */
int effect_add(struct effect_work *w, const struct part *p,
	       const struct part *also, const struct effect_estimate *e,
	       size_t tests);

#endif
