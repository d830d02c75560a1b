/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/part.h"
#include "report/says.h"

/** Facts that say how much a counter of a GPU grew during the run. */
static const struct growth {
	const char *fact, *code, *text;
	double enough;		/* less is nothing to speak of */
} growths[] = {
	{ .fact = "xids_growth", .code = "xid", .enough = 1,
	  .text = "Xids in the kernel's log" },
	{ .fact = "ecc_uncorrected_growth", .code = "ecc_errors", .enough = 1,
	  .text = "memory errors that ECC could not correct" },
	{ .fact = "rows_remapped_growth", .code = "rows_remapped",
	  .enough = 1, .text = "rows of memory that were replaced" },
	{ .fact = "nvlink_recoveries_growth", .code = "nvlink_errors",
	  .enough = 1, .text = "NVLink recoveries" },
	{ .fact = "nvlink_replays_growth", .code = "nvlink_errors",
	  .enough = 1, .text = "NVLink replays" },
	{ .fact = "thermal_throttle_growth", .code = "throttled",
	  .enough = 1e6, .text = "ns of clocks held down by heat" },
};

static const struct growth *growth_of(const struct fact_row *f)
{
	for (size_t i = 0; i < sizeof(growths) / sizeof(*growths); i++) {
		if (strcmp(f->fact, growths[i].fact) == 0 &&
		    strtod(f->value, NULL) >= growths[i].enough) {
			return &growths[i];
		}
	}
	return NULL;
}

/** The GPU that @f is about; false: of none. */
static bool gpu_of(const struct run *run, const struct fact_row *f,
		   struct part *p)
{
	char rest;

	*p = part_of_kind(PART_GPU);
	if (sscanf(f->scope, "gpu%4d%c", &p->index, &rest) != 1) {
		return false;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		if (strcmp(run->nodes[i].name, f->node) == 0) {
			p->node = i;
		}
	}
	return p->node >= 0 && p->index >= 0 &&
	       p->index < run->nodes[p->node].gpus;
}

/** Is @f about @gpu, alone or with others near it? */
static bool concerns(const struct finding *f, const struct part *gpu)
{
	const struct part *p = &f->part;

	switch (p->kind) {
	case PART_GPU:
		return p->node == gpu->node && p->index == gpu->index;
	case PART_PAIR:
		return (p->node == gpu->node && p->index == gpu->index) ||
		       (p->peer_node == gpu->node &&
			p->peer_index == gpu->index);
	case PART_NODE:
		return p->node == gpu->node;
	case PART_INTRA_NODE:
		return p->node < 0 || p->node == gpu->node;
	default:
		return false;
	}
}

static int add_warning(const struct run *run, const struct part *gpu,
		       const struct growth *g, const char *evidence,
		       struct verdict *v)
{
	struct finding *f = finding_add(v, gpu);

	if (!f) {
		return -1;
	}
	for (int s = 0; s < run->n_ranks; s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			f->cells += run_measured(run_cell(run, s, d)->class) &&
				    part_touches(run, gpu, s, d);
		}
	}
	STR_COPY(f->code, g->code);
	STR_COPY(f->says, evidence);
	says_act(run, f, -1, -1);
	return finding_add_evidence(f, evidence);
}

static int add_growth(const struct run *run, const struct part *gpu,
		      const struct growth *g, const struct fact_row *fact,
		      struct verdict *v)
{
	char evidence[400], name[PART_NAME_SIZE];
	bool heard = false;
	int rc = 0;

	snprintf(evidence, sizeof(evidence),
		 "%.200s: %.32s %s while it was measured (%.80s)",
		 part_name(run, gpu, name, sizeof(name)), fact->value, g->text,
		 fact->source);
	for (size_t i = 0; i < v->n && rc == 0; i++) {
		if (concerns(&v->findings[i], gpu)) {
			rc = finding_add_evidence(&v->findings[i], evidence);
			heard = true;
		}
	}
	return rc < 0 || heard ? rc : add_warning(run, gpu, g, evidence, v);
}

int growth_findings(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct growth *g = growth_of(&run->facts[i]);
		struct part gpu;

		if (g && gpu_of(run, &run->facts[i], &gpu) &&
		    add_growth(run, &gpu, g, &run->facts[i], v) < 0) {
			return -1;
		}
	}
	return 0;
}
