/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts and events of a run: kept, and found again. */
#include "report/model/run_read.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "report/base/grow.h"
#include "report/model/skew_facts.h"

/** So many are kept whatever they are: pages show the first ones. */
#define ALL_FACTS 20000

/**
 * What is far from each GPU, its NVLinks, and counters that are zero: of the
 * 650 facts of a node with eight GPUs and NICs they are more than half, and no
 * finding is by them.
 */
static bool is_spare(const struct run *run, const struct fact_row *f)
{
	return (strcmp(f->fact, "link") == 0 && strcmp(f->value, "PIX") != 0 &&
		strcmp(f->value, "PXB") != 0) ||
	       strcmp(f->fact, "nvlinks_up") == 0 ||
	       (strcmp(f->value, "0") == 0 && !skew_fact_of(run, f));
}

int run_add_fact(struct run *run, const struct fact_row *f)
{
	if (run->n_facts >= ALL_FACTS && is_spare(run, f)) {
		run->facts_spare++;
		return 0;
	}
	if (run->n_facts >= RUN_MAX_FACTS) {
		run->facts_cut++;
		return 0;
	}
	return grow_add(&run->facts, &run->n_facts, f, sizeof(*f)) ? 0 : -1;
}

const struct event_row *run_find_event(const struct run *run,
				       const char *event, const char *node)
{
	for (size_t i = 0; i < run->n_events; i++) {
		if (strcmp(run->events[i].event, event) == 0 &&
		    strcmp(run->events[i].node, node) == 0) {
			return &run->events[i];
		}
	}
	return NULL;
}

const struct fact_row *run_fact_of(const struct run *run,
				   const struct fact_row *of, const char *name)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, name) == 0 &&
		    strcmp(f->scope, of->scope) == 0 &&
		    strcmp(f->node, of->node) == 0) {
			return f;
		}
	}
	return NULL;
}

int run_number_in(const char *text, const char *prefix)
{
	int number;
	char rest;

	return str_starts(text, prefix) &&
			       sscanf(text + strlen(prefix), "%4d%c", &number,
				      &rest) == 1 && number >= 0 ?
		       number : -1;
}
