/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that could not run says nothing of its node but that: tests that
 * were lost by it are not measured, and one finding says where it was.
 */
#include "report/judge/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Of one kind. */
#define MAX_EVIDENCE 4

/** What was lost to it. */
struct starved {
	uint8_t *lost;		/* nodes whose agents did not run */
	size_t *cells;		/* of each node that did not get measured */
	size_t n;		/* of all */
	int n_lost;
};

static bool is_starved(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_NOT_RUN &&
	       strcmp(run_cell_code(run, at), RECORD_STARVED) == 0;
}

/** Take from @gone what is gone by that. */
static void take_gone(struct gone_list *gone, struct starved *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < gone->n; i++) {
		const struct gone *g = &gone->list[i];

		if (strcmp(g->code, RECORD_STARVED) != 0) {
			gone->list[kept++] = *g;
		} else if (!s->lost[g->part.node]) {
			s->lost[g->part.node] = 1;
			s->n_lost++;
		}
	}
	gone->n = kept;
}

static void take_cells(const struct run *run, struct starved *s,
		       uint8_t *explained)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		int src = run->ranks[run_src(run, at)].node;
		int dst = run->ranks[run_dst(run, at)].node;

		/* who came too late to take part had been given up by then */
		if (is_starved(run, at) ||
		    (run->cells[at].class == CELL_SKIPPED &&
		     (s->lost[src] || s->lost[dst]))) {
			explained[at] |= EXPLAINED;
			s->n++;
			s->cells[src]++;
			s->cells[dst] += src != dst;
		}
	}
}

/** The node that all of it has in common, where that is one; -1. */
static int common_node(const struct run *run, const struct starved *s)
{
	int found = -1, n = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		if (s->n_lost > 0 ? s->lost[i] : s->cells[i] == s->n) {
			found = i;
			n++;
		}
	}
	return n == 1 ? found : -1;
}

static void say(const struct run *run, const struct starved *s, int node,
		struct finding *f)
{
	struct str names = STR_INIT;
	char lost[60] = "";
	int named = 0;

	for (int i = 0; node < 0 && i < run->n_nodes; i++) {
		if (s->lost[i] || s->cells[i] > 0) {
			finding_list_name(&names, &named, run->nodes[i].name);
			finding_add_member(f, i);
		}
	}
	if (s->n > 0) {
		snprintf(lost, sizeof(lost), ": %zu test%s not measured", s->n,
			 s->n == 1 ? "" : "s");
	}
	finding_say(f, "Processes on %s did not get to run%s; no fault of "
		    "hardware is shown by that", node >= 0 ?
		    run->nodes[node].name : str_text(&names), lost);
	str_release(&names);
}

/** Of each of these, the first that the coordinator, or a node that it was, had
 *  to say: many of one do not hide another. */
static void add_evidence(const struct run *run, const struct starved *s,
			 struct finding *f)
{
	static const char *const told[] = { "agent_lost", "agent_late",
					    "slurm_state", "late", "pressure" };

	for (size_t k = 0; k < sizeof(told) / sizeof(*told); k++) {
		int n = 0;

		for (size_t i = 0; i < run->n_events && n < MAX_EVIDENCE; i++) {
			const struct event_row *e = &run->events[i];
			int at = run_find_node(run, e->node, -1);

			if (strcmp(e->event, told[k]) == 0 &&
			    (at < 0 || s->lost[at] || s->cells[at] > 0)) {
				finding_add_evidence(f, "%s%s%s", e->node,
						     e->node[0] ? ": " : "",
						     e->detail);
				n++;
			}
		}
	}
}

void starved_findings(const struct run *run, struct gone_list *gone,
		      uint8_t *explained, struct verdict *v)
{
	size_t nodes = (size_t)run->n_nodes + 1;
	struct starved s = { .lost = calloc(nodes, 1),
			     .cells = calloc(nodes, sizeof(*s.cells)) };

	v->failed |= !s.lost || !s.cells;
	if (!v->failed) {
		take_gone(gone, &s);
		take_cells(run, &s, explained);
	}
	if (s.n > 0 || s.n_lost > 0) {
		int node = common_node(run, &s);
		const struct part p = part_at(node >= 0 ? PART_NODE :
							  PART_INTER_NODE,
					      node, -1);
		struct finding *f = finding_add(v, &p, RECORD_STARVED);

		f->cells = f->explained = s.n;
		v->cut = v->cut || s.n > 0;	/* --resume may have them */
		say(run, &s, node, f);
		add_evidence(run, &s, f);
	}
	free(s.lost);
	free(s.cells);
}

void starved_excuse(const struct run *run, struct verdict *v)
{
	size_t starved = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		starved += is_starved(run, at);
	}
	if (starved <= v->cells[CELL_FAIL] + v->cells[CELL_TIMEOUT] ||
	    v->cells[CELL_PASS] + v->cells[CELL_SLOW] +
			    v->cells[CELL_CORRUPT] > 0) {
		return;
	}
	for (size_t i = 0; i < v->n; i++) {
		/* what was found by attributing cells */
		if (!isnan(v->findings[i].score)) {
			v->findings[i].fail = false;
		}
	}
}
