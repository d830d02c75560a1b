/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GPU that the others of its node do not reach as they reach each other: its
 * cells are skipped, or take another way, and no failure shows it.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

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
	size_t len = strlen(prefix);
	char rest;
	int gpu;

	return strncmp(text, prefix, len) == 0 &&
	       sscanf(text + len, "%4d%c", &gpu, &rest) == 1 && gpu >= 0 &&
	       gpu < MAX_GPUS ? gpu : -1;
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

/** Cells that touch it, and those it cost; @src and @dst: one to try again. */
static void hear_cells(const struct run *run, const struct lack *l,
		       struct finding *f, int *src, int *dst)
{
	for (int s = 0; s < run->n_ranks; s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			size_t at = run_at(run, s, d);

			if (run->cells[at].class >= CELL_CLASSES ||
			    !part_touches(run, &f->part, s, d)) {
				continue;
			}
			if (f->cells++ == 0) {
				*src = s;
				*dst = d;
			}
			f->explained += strcmp(run->codes[run->cell_code[at]],
					       l->code) == 0;
		}
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
static int add_lack(const struct run *run, const struct part *gpu,
		    const struct lack *l, int have, int known,
		    struct verdict *v)
{
	struct finding *f = find_same(v, gpu);
	char text[400], name[PART_NAME_SIZE], facts[200];
	int src = -1, dst = -1;

	snprintf(text, sizeof(text), "%.200s %s; %d of %d GPUs there %s",
		 part_name(run, gpu, name, sizeof(name)), l->has_none, have,
		 known, l->have);
	if (f) {
		return finding_add_evidence(f, text);
	}
	snprintf(facts, sizeof(facts), FACT "* of gpu%d in facts.csv "
		 "(cuDeviceCanAccessPeer)", gpu->index);
	f = finding_add(v, gpu);
	if (!f) {
		return -1;
	}
	STR_COPY(f->code, l->code);
	hear_cells(run, l, f, &src, &dst);
	snprintf(f->says, sizeof(f->says), "%s", text);
	if (f->explained > 0) {
		snprintf(f->says, sizeof(f->says),
			 "%s; %zu of %zu tests with it were skipped",
			 text, f->explained, f->cells);
	}
	says_act(run, f, src, dst);
	return finding_add_evidence(f, facts);
}

/** Where most have it: islands of GPUs are how a machine is built. */
static int find_odd(const struct run *run, int node,
		    const uint8_t reach[MAX_GPUS], struct verdict *v)
{
	int known = count(reach, REACH_KNOWN);

	for (int g = 0; g < run->nodes[node].gpus && g < MAX_GPUS; g++) {
		struct part p = part_of_kind(PART_GPU);

		p.node = node;
		p.index = g;
		for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks) &&
				   (reach[g] & REACH_KNOWN); i++) {
			int have = count(reach, lacks[i].reach);

			if ((reach[g] & lacks[i].reach) || 2 * have <= known) {
				continue;
			}
			if (add_lack(run, &p, &lacks[i], have, known, v) < 0) {
				return -1;
			}
			break;
		}
	}
	return 0;
}

int peer_findings(const struct run *run, struct verdict *v)
{
	uint8_t (*reach)[MAX_GPUS] =
		calloc((size_t)run->n_nodes + 1, sizeof(*reach));
	int rc = reach ? 0 : -1;

	if (rc == 0) {
		read_facts(run, reach);
	}
	for (int i = 0; i < run->n_nodes && rc == 0; i++) {
		rc = find_odd(run, i, reach[i], v);
	}
	free(reach);
	return rc;
}
