/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GPU that the others of its node do not reach as they reach each other: its
 * cells are skipped, or take another way, and no failure shows it.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#define MAX_GPUS 64		/* of a node */
#define FACT "peer_access_gpu"	/* ... of which one, as CUDA counts */

/** What is known of a GPU, by facts of it or of another one about it. */
enum reach { REACH_KNOWN = 1, REACH_ACCESS = 2, REACH_NVLINK = 4 };

/** What most GPUs of a node have and one has not, most telling first. */
static const struct lack {
	enum reach reach;
	const char *code, *has_none, *have;
} lacks[] = {
	{ .reach = REACH_ACCESS, .code = "no_peer_access",
	  .has_none = "cannot access the memory of any other GPU in its "
		      "node", .have = "have peer access" },
	{ .reach = REACH_NVLINK, .code = "no_nvlink",
	  .has_none = "has no NVLink: it reaches the other GPUs in its "
		      "node only over PCIe",
	  .have = "have NVLink" },
};

static int gpu_number(const char *text, const char *prefix)
{
	int gpu = run_number_in(text, prefix);

	return gpu < MAX_GPUS ? gpu : -1;
}

static uint8_t reach_of(const char *way)
{
	return strcmp(way, "none") == 0 ? REACH_KNOWN :
	       strcmp(way, "NVLink") == 0 ?
		       REACH_KNOWN | REACH_ACCESS | REACH_NVLINK :
		       REACH_KNOWN | REACH_ACCESS;
}

/** Of the GPUs of all nodes. */
static void read_facts(const struct run *run, uint8_t (*reach)[MAX_GPUS])
{
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int gpu = gpu_number(f->scope, "gpu");
		int peer = gpu < 0 ? -1 : gpu_number(f->fact, FACT);

		if (peer < 0) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		if (node >= 0) {
			reach[node][gpu] |= reach_of(f->value);
			reach[node][peer] |= reach_of(f->value);
		}
	}
}

static int count(const uint8_t reach[MAX_GPUS], enum reach what)
{
	int n = 0;

	for (int i = 0; i < MAX_GPUS; i++) {
		n += (reach[i] & what) != 0;
	}
	return n;
}

/** Cells that touch it, and those it cost. */
static void hear_cells(const struct run *run, const struct lack *l,
		       struct finding *f)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (run->cells[at].class >= CELL_CLASSES ||
		    !part_touches_at(run, &f->part, at)) {
			continue;
		}
		if (f->cells++ == 0) {
			finding_set_example(run, f, at);
		}
		f->explained += strcmp(run->codes[run->cell_code[at]],
				       l->code) == 0;
	}
}

static struct finding *find_same(struct verdict *v, const struct part *p)
{
	for (size_t i = 0; i < v->n; i++) {
		if (part_same_place(&v->findings[i].part, p)) {
			return &v->findings[i];
		}
	}
	return NULL;
}

/** A finding, or evidence for the one that its figures led to. */
static void add_lack(const struct run *run, const struct part *gpu,
		     const struct lack *l, int have, int known,
		     struct verdict *v)
{
	struct finding *f = find_same(v, gpu);
	char text[400], name[PART_NAME_SIZE];

	snprintf(text, sizeof(text), "%.200s %s; %d of %d GPUs there %s",
		 part_name(run, gpu, name, sizeof(name)), l->has_none, have,
		 known, l->have);
	if (f) {
		finding_add_evidence(f, "%s", text);
		return;
	}
	f = finding_add(v, gpu, l->code);
	hear_cells(run, l, f);
	finding_say(f, "%s", text);
	if (f->explained > 0) {
		finding_say(f, "%s; %zu of %zu tests with it were skipped",
			    text, f->explained, f->cells);
	}
	finding_add_evidence(f, FACT "* of gpu%d in facts.csv "
			     "(cuDeviceCanAccessPeer)", gpu->index);
}

/** Where most have it: islands of GPUs are how a machine is built. */
static void find_odd(const struct run *run, int node,
		     const uint8_t reach[MAX_GPUS], struct verdict *v)
{
	int known = count(reach, REACH_KNOWN);

	for (int g = 0; g < run->nodes[node].gpus && g < MAX_GPUS; g++) {
		struct part p = part_at(PART_GPU, node, g);

		for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks) &&
				   (reach[g] & REACH_KNOWN); i++) {
			int have = count(reach, lacks[i].reach);

			if (!(reach[g] & lacks[i].reach) && 2 * have > known) {
				add_lack(run, &p, &lacks[i], have, known, v);
				break;
			}
		}
	}
}

void peer_findings(const struct run *run, struct verdict *v)
{
	uint8_t (*reach)[MAX_GPUS] =
		calloc((size_t)run->n_nodes + 1, sizeof(*reach));

	if (!reach) {
		v->failed = true;
		return;
	}
	read_facts(run, reach);
	for (int i = 0; i < run->n_nodes; i++) {
		find_odd(run, i, reach[i], v);
	}
	free(reach);
}
