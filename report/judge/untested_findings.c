/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUs that the job has and no rank of the run stands for.  A verdict that
 * passes is not one on them, so it says so; it is no fault of a node.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/allocation.h"

#define MAX_NAMED 4

/** GPUs of each node of the job; NULL without memory. */
static int *given_gpus(const struct run *run)
{
	int *given = calloc((size_t)run->n_nodes + 1, sizeof(*given));
	int node = -1;

	for (size_t i = 0; given && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int64_t gpus = 0;

		if (strcmp(f->fact, ALLOCATION_FACT) == 0 &&
		    (node = run_find_node(run, f->node, node)) >= 0) {
			units_parse_int(f->value, 0, ALLOCATION_MAX_GPUS, &gpus,
					NULL);
			given[node] = (int)gpus;
		}
	}
	return given;
}

static void add_untested(const struct run *run, const int *left, int untested,
			 int all, struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	struct finding *f;
	struct str where = STR_INIT;
	size_t n = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		if (left[i] > 0 && n++ < MAX_NAMED) {
			str_addf(&where, "%s%s %d", n > 1 ? ", " : "",
				 run->nodes[i].name, left[i]);
			p.node = i;
		}
	}
	p.node = n == 1 ? p.node : -1;
	str_add(&where, n > MAX_NAMED ? ", ..." : "");
	f = finding_add(v, &p, "gpus_untested");
	finding_say(f, "%d of %d GPUs of the job were not tested (%s): the "
		    "step of the run did not get them", untested, all,
		    str_text(&where));
	str_release(&where);
}

void untested_findings(const struct run *run, struct verdict *v)
{
	int *left, all = 0, untested = 0;

	/* fewer by -G are meant; a port is no GPU */
	if (run->n_ranks == 0 || run->ports || run->mesh ||
	    run_option(run, "gpus-per-node")) {
		return;
	}
	left = given_gpus(run);
	v->failed = v->failed || !left;
	for (int i = 0; left && i < run->n_nodes; i++) {
		all += left[i];
	}
	for (int i = 0; left && i < run->n_ranks; i++) {
		left[run->ranks[i].node]--;
	}
	for (int i = 0; left && i < run->n_nodes; i++) {
		untested += left[i] > 0 ? left[i] : 0;
	}
	if (untested > 0) {
		add_untested(run, left, untested, all, v);
	}
	free(left);
}
