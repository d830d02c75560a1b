/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and ranks that the run should have had: where no node has an agent, the
 * launcher or the way to the coordinator failed, none of the nodes; and a
 * launcher may start less than was asked for. */
#include "report/judge/findings.h"

#include <stdio.h>
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

static int64_t asked(const struct run *run, const char *option)
{
	return json_integer_value(run_option(run, option));
}

void few_findings(const struct run *run, struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);
	/* ports are ranks that -G says nothing of, addresses none */
	int64_t gpus = run->ports || run->mesh ? 0 :
					asked(run, "gpus-per-node");
	int64_t nodes = asked(run, "nodes"), ranks = 0;
	bool few = run->n_nodes < nodes;
	char come[48] = "", wanted[48] = "";
	struct finding *f;
	const json_t *node;
	size_t i;

	if (run->n_nodes == 0 || json_object_get(run->json, "retest")) {
		return;		/* not begun, or of a part of another run */
	}
	json_array_foreach(json_object_get(run->json, "nodes"), i, node) {
		int64_t has = json_integer_value(json_object_get(node, "gpus"));

		few |= has > 0 && has < gpus;
		ranks += has;
	}
	if (!few) {
		return;
	}
	nodes = nodes > 0 ? nodes : run->n_nodes;
	if (gpus > 0 && ranks > 0) {
		snprintf(come, sizeof(come), " with %lld rank%s",
			 (long long)ranks, ranks == 1 ? "" : "s");
		snprintf(wanted, sizeof(wanted), " with %lld",
			 (long long)(nodes * gpus));
	}
	f = finding_add(v, &p, "too_few");
	finding_say(f, "Only %d node%s%s started, %lld%s were asked for: what did "
		    "not start was not tested", run->n_nodes,
		    run->n_nodes == 1 ? "" : "s", come, (long long)nodes,
		    wanted);
	v->cut = true;
}
