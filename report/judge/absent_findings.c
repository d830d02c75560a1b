/* SPDX-License-Identifier: BSD-3-Clause */
/* Where no node has an agent, it is what starts them, or the way to whom they
 * report, that failed: none of the nodes. */
#include "report/judge/findings.h"

#include <string.h>

/** Fewer say nothing about what they share. */
#define MIN_NODES 2

static bool is_absent(const struct gone *g)
{
	return g->part.kind == PART_NODE &&
	       strcmp(g->code, "agent_missing") == 0;
}

void absent_findings(const struct run *run, struct gone_list *gone,
		     uint8_t *explained, struct verdict *v)
{
	const struct part p = part_of_kind(PART_INTER_NODE);
	struct finding *f;

	for (size_t i = 0; i < gone->n; i++) {
		if (!is_absent(&gone->list[i])) {
			return;
		}
	}
	if (run->n_nodes < MIN_NODES || gone->n != (size_t)run->n_nodes) {
		return;
	}
	f = finding_add(v, &p, "agent_missing");
	f->fail = true;
	for (size_t at = 0; at < run_n_cells(run); at++) {
		explained[at] = 1;
		f->cells += run->cells[at].class < CELL_CLASSES;
	}
	f->explained = f->cells;
	finding_say(f, "None of the %d nodes reported: settings, firewall or "
		    "launcher; no node is suspected", run->n_nodes);
	if (gone->list[0].detail[0]) {
		finding_add_evidence(f, "%s", gone->list[0].detail);
	}
	gone->n = 0;
}
