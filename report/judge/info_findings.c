/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes that show fewer GPUs than they should, where no rank stands for them:
 * by -G or Slurm, else by what most nodes show.
 */
#include "report/judge/findings.h"
#include "report/judge/node.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "lib/data/record_info.h"
#include "lib/spec/spec.h"

struct shown {
	bool heard;		/* did it say what it is? */
	int gpus, kept_back;	/* by MIG or CUDA_VISIBLE_DEVICES */
	int expected;		/* 0 = nobody said it */
	const char *source;	/* of that */
	const char *keeper;	/* which of the two */
	const char *note;	/* why none, as far as the driver says */
};

static void hear_fact(struct shown *s, const struct fact_row *f)
{
	int64_t expected = s->expected;

	if (strcmp(f->fact, "uuid") == 0 && strncmp(f->scope, "gpu", 3) == 0) {
		s->gpus++;
	}
	if (strcmp(f->scope, "node") != 0) {
		return;
	}
	s->heard |= strcmp(f->fact, "kernel") == 0;
	if (strcmp(f->fact, INFO_EXPECTED) == 0) {
		units_parse_int(f->value, 1, SPEC_MAX_GPUS, &expected, NULL);
		s->expected = (int)expected;
		s->source = f->source;
	} else if (strcmp(f->fact, "gpu_hidden") == 0) {
		s->kept_back++;
		s->keeper = f->source;
	} else if (strcmp(f->fact, "gpu_note") == 0) {
		s->note = f->value;
	}
}

/** What most of them show. */
static int usual(const struct shown *nodes, int n, struct verdict *v)
{
	double *gpus = calloc((size_t)n + 1, sizeof(*gpus)), most;
	size_t heard = 0;

	for (int i = 0; gpus && i < n; i++) {
		if (nodes[i].heard) {
			gpus[heard++] = nodes[i].gpus;
		}
	}
	v->failed = v->failed || !gpus;
	most = heard > 0 ? stats_mode(gpus, heard) : 0;
	free(gpus);
	return (int)most;
}

static void add_short(const struct run *run, int node, const struct shown *s,
		      int most, struct verdict *v)
{
	struct part p = part_at(PART_NODE, node, -1);
	int want = s->expected ? s->expected : most;
	bool there = s->gpus + s->kept_back >= want;
	struct finding *f = finding_add(v, &p,
					!there ? "gpu_missing" :
					strcmp(s->keeper, "MIG") == 0 ?
						 "gpu_mig" : "gpu_hidden");
	char name[PART_NAME_SIZE], by[200];

	f->fail = s->expected > 0 && !there;
	f->cells = f->explained = 1;
	snprintf(by, sizeof(by), s->expected > 0 ? "expected by %.160s" :
					   "as most nodes have", s->source);
	finding_say(f, "%s shows %d GPU%s of %d, %s",
		    part_name(run, &p, name, sizeof(name)), s->gpus,
		    s->gpus == 1 ? "" : "s", want, by);
	if (s->kept_back > 0) {
		finding_add_evidence(f, "%d more: %s", s->kept_back,
				     strcmp(s->keeper, "MIG") == 0 ?
					     "divided by MIG" :
					     "hidden by CUDA_VISIBLE_DEVICES");
	}
	if (s->note) {
		finding_add_evidence(f, "%s", s->note);
	}
}

void info_findings(const struct run *run, struct verdict *v)
{
	struct shown *nodes;
	int node = -1, most;

	if (strcmp(run->probe, "info") != 0 &&
	    strcmp(run->probe, NODE_PROBE) != 0) {
		return;
	}
	nodes = calloc((size_t)run->n_nodes + 1, sizeof(*nodes));
	if (!nodes) {
		v->failed = true;
		return;
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
	most = usual(nodes, run->n_nodes, v);
	for (int i = 0; i < run->n_nodes; i++) {
		const struct shown *s = &nodes[i];

		if (s->heard && s->gpus < (s->expected ? s->expected : most)) {
			add_short(run, i, s, most, v);
		}
	}
	free(nodes);
}
