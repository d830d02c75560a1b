/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes that show fewer GPUs than they should, where no rank stands for them:
 * by -G or Slurm, else by what most nodes show.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/record_info.h"
#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

struct shown {
	bool heard;		/* did it say what it is? */
	int gpus;
	int expected;		/* 0 = nobody said it */
	const char *source;	/* of that */
	const char *note;	/* why none, as far as the driver says */
};

static void hear_fact(struct shown *s, const struct fact_row *f)
{
	if (strcmp(f->fact, "uuid") == 0 && strncmp(f->scope, "gpu", 3) == 0) {
		s->gpus++;
	}
	if (strcmp(f->scope, "node") != 0) {
		return;
	}
	s->heard |= strcmp(f->fact, "kernel") == 0;
	if (strcmp(f->fact, INFO_EXPECTED) == 0) {
		s->expected = (int)strtol(f->value, NULL, 10);
		s->source = f->source;
	} else if (strcmp(f->fact, "gpu_note") == 0) {
		s->note = f->value;
	}
}

/** What most of those that nothing is expected of show, the larger of two that
 *  are as common. */
static int usual(const struct shown *nodes, int n)
{
	int best = 0, most = 0;

	for (int i = 0; i < n; i++) {
		int alike = 0;

		for (int k = 0; nodes[i].heard && k < n; k++) {
			alike += nodes[k].heard &&
				 nodes[k].gpus == nodes[i].gpus;
		}
		if (alike > most ||
		    (alike == most && nodes[i].gpus > best)) {
			most = alike;
			best = nodes[i].gpus;
		}
	}
	return best;
}

static int add_short(const struct run *run, int node, const struct shown *s,
		     int most, struct verdict *v)
{
	struct part p = part_of_kind(PART_NODE);
	struct finding *f;
	char name[PART_NAME_SIZE], by[200];

	p.node = node;
	f = finding_add(v, &p);
	if (!f) {
		return -1;
	}
	f->fail = s->expected > 0;
	f->cells = f->explained = 1;
	STR_COPY(f->code, "gpu_missing");
	snprintf(by, sizeof(by), f->fail ? "expected by %.160s" :
					   "as most nodes have", s->source);
	snprintf(f->says, sizeof(f->says), "%.180s shows %d GPU%s of %d, %s",
		 part_name(run, &p, name, sizeof(name)), s->gpus,
		 s->gpus == 1 ? "" : "s", s->expected ? s->expected : most, by);
	says_act(run, f, -1, -1);
	return s->note ? finding_add_evidence(f, s->note) : 0;
}

int info_findings(const struct run *run, struct verdict *v)
{
	size_t n = (size_t)run->n_nodes;
	struct shown *nodes;
	int node = -1, rc = 0, most;

	if (strcmp(run->probe, "info") != 0) {
		return 0;
	}
	nodes = calloc(n + 1, sizeof(*nodes));
	if (!nodes) {
		return -1;
	}
	for (size_t i = 0; i < run->n_facts; i++) {
		node = run_find_node(run, run->facts[i].node, node);
		if (node >= 0) {
			hear_fact(&nodes[node], &run->facts[i]);
		}
	}
	if (run->facts_cut > 0 && node >= 0) {
		nodes[node].heard = false;	/* the rest of it is not read */
	}
	most = usual(nodes, run->n_nodes);
	for (int i = 0; i < run->n_nodes && rc == 0; i++) {
		const struct shown *s = &nodes[i];

		if (s->heard && s->gpus < (s->expected ? s->expected : most)) {
			rc = add_short(run, i, s, most, v);
		}
	}
	free(nodes);
	return rc;
}
