/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUs that the job has and no rank of the run stands for.  A verdict that
 * passes is not one on them, so it says so; it is no fault of a node.
 */
#include "report/judge/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/allocation.h"

/** What is left over. */
struct untested {
	struct str where;	/* "n1 4, n2 4" */
	int n_nodes;
	int node;		/* the last of them, -1: no rank is there */
	int64_t gpus, all;	/* of the job */
};

/** What the fact @f says was given, of which @ranks[node] are tested. */
static void hear(const struct run *run, const struct fact_row *f,
		 const int *ranks, struct untested *u)
{
	const int node = run_find_node(run, f->node, -1);
	char name[sizeof(f->node) + 32];
	int64_t given = 0, left;

	units_parse_int(f->value, 0, ALLOCATION_MAX_GPUS, &given, NULL);
	left = node >= 0 ? given - ranks[node] : given;
	u->all += given;
	if (left <= 0) {
		return;
	}
	u->gpus += left;
	u->node = node;
	snprintf(name, sizeof(name), "%s %" PRId64, f->node, left);
	finding_list_name(&u->where, &u->n_nodes, name);
}

static void say(const struct untested *u, struct verdict *v)
{
	const struct part p = part_at(PART_CONFIG,
				      u->n_nodes == 1 ? u->node : -1, -1);
	struct finding *f = finding_add(v, &p, "gpus_untested");

	finding_say(f, "%" PRId64 " of %" PRId64 " GPUs of the job were not "
		    "tested (%s): the step of the run did not get them",
		    u->gpus, u->all, str_text(&u->where));
}

void untested_findings(const struct run *run, struct verdict *v)
{
	struct untested u = { .where = STR_INIT };
	int *ranks;

	/* fewer by -G are meant; a port is no GPU */
	if (run->n_ranks == 0 || run->ports || run->mesh ||
	    run_option(run, "gpus-per-node")) {
		return;
	}
	ranks = calloc((size_t)run->n_nodes + 1, sizeof(*ranks));
	v->failed = v->failed || !ranks;
	for (int i = 0; ranks && i < run->n_ranks; i++) {
		ranks[run->ranks[i].node]++;
	}
	for (size_t i = 0; ranks && i < run->n_facts; i++) {
		if (strcmp(run->facts[i].fact, ALLOCATION_FACT) == 0) {
			hear(run, &run->facts[i], ranks, &u);
		}
	}
	free(ranks);
	v->failed = v->failed || u.where.failed;
	if (u.gpus > 0) {
		say(&u, v);
	}
	str_release(&u.where);
}
