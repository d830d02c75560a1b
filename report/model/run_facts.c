/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run.h"

#include <string.h>

#include "report/base/grow.h"
#include "report/judge/skew.h"

/** So many are kept whatever they are: pages show the first ones. */
#define ALL_FACTS 20000

/**
 * How near each GPU is to each HCA, its NVLinks, and counters that are zero: of the 650
 * facts of a node with eight of either they are more than half, and no finding
 * is by them.
 */
static bool is_spare(const struct run *run, const struct fact_row *f)
{
	return strcmp(f->fact, "link") == 0 ||
	       strcmp(f->fact, "nvlinks_up") == 0 ||
	       (strcmp(f->value, "0") == 0 && !skew_fact_of(run, f));
}

int run_add_fact(struct run *run, const void *row)
{
	const struct fact_row *f = row;
	struct fact_row *facts;

	if (run->n_facts >= ALL_FACTS && is_spare(run, f)) {
		run->facts_spare++;
		return 0;
	}
	if (run->n_facts >= RUN_MAX_FACTS) {
		run->facts_cut++;
		return 0;
	}
	facts = grow(run->facts, run->n_facts, sizeof(*facts));
	if (!facts) {
		return -1;
	}
	run->facts = facts;
	run->facts[run->n_facts++] = *f;
	return 0;
}
