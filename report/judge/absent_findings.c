/* SPDX-License-Identifier: BSD-3-Clause */
/* Where no node has an agent, it is what starts them, or the way to whom they
 * report, that failed: none of the nodes. */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

/** Fewer say nothing about what they share. */
#define MIN_NODES 2

static bool is_absent(const struct finding *f)
{
	return strcmp(f->code, "agent_missing") == 0;
}

/** Is every node one that never came?  -1 without memory. */
static int are_all_absent(const struct run *run, const struct verdict *v)
{
	uint8_t *absent = calloc((size_t)run->n_nodes + 1, 1);
	int n = 0;

	if (!absent) {
		return -1;
	}
	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		if (!is_absent(f)) {
			continue;
		}
		if (f->part.node >= 0) {
			absent[f->part.node] = 1;
		}
		for (size_t k = 0; k < f->n_members; k++) {
			absent[f->members[k]] = 1;
		}
	}
	for (int i = 0; i < run->n_nodes; i++) {
		n += absent[i];
	}
	free(absent);
	return n >= MIN_NODES && n == run->n_nodes;
}

void absent_findings(const struct run *run, struct verdict *v)
{
	const struct part p = part_of_kind(PART_INTER_NODE);
	char detail[620] = "";
	struct finding *f;
	int all = are_all_absent(run, v);

	v->failed = v->failed || all < 0;
	if (all <= 0) {
		return;
	}
	for (size_t i = v->n; i-- > 0;) {
		f = &v->findings[i];
		if (is_absent(f)) {
			STR_COPY(detail, f->n_evidence > 0 ? f->evidence[0] :
				 "");
			finding_remove(v, i);
		}
	}
	f = finding_add(v, &p, "agent_missing");
	f->fail = true;
	for (int i = 0; i < CELL_CLASSES; i++) {
		f->cells += v->cells[i];
	}
	f->explained = f->cells;
	finding_say(f, "None of the %d nodes reported: settings, firewall or "
		    "launcher; no node is suspected", run->n_nodes);
	if (detail[0]) {
		finding_add_evidence(f, "%s", detail);
	}
}
