/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/verdict.h"

/** A path as its two ends see it: "NET/IB/GDRDMA>NET/IB" or one for both. */
struct way {
	char src[64], dst[64];
};

/** What can be odd about the way from one rank to another. */
struct oddity {
	const char *code, *text;
	bool (*is_odd)(const struct run *run, int src, int dst);
};

static bool way_of(const struct run *run, int src, int dst, struct way *w)
{
	uint16_t way = run->cell_way[run_at(run, src, dst)];
	const char *path = run->paths[way], *other;

	if (way == 0) {
		return false;	/* soon: most cells of a model have none */
	}
	other = strchr(path, '>');
	STR_COPY(w->src, path);
	if (other) {
		w->src[other - path] = '\0';
		other++;
	}
	STR_COPY(w->dst, other ? other : path);
	return true;
}

/** Does one rank send another way than it receives from the other? */
static bool comes_back_otherwise(const struct run *run, int src, int dst)
{
	struct way out, back;

	return way_of(run, src, dst, &out) && way_of(run, dst, src, &back) &&
	       (strcmp(out.src, back.dst) != 0 ||
		strcmp(out.dst, back.src) != 0);
}

static bool is_direct(const char *path)
{
	return strstr(path, "/GDRDMA") != NULL;
}

static bool is_direct_at_one_end(const struct run *run, int src, int dst)
{
	struct way w;

	return way_of(run, src, dst, &w) &&
	       is_direct(w.src) != is_direct(w.dst);
}

static const struct oddity oddities[] = {
	{ .code = "gdr_one_end", .is_odd = is_direct_at_one_end,
	  .text = "use GPUDirect RDMA at only one end" },
	{ .code = "path_differs", .is_odd = comes_back_otherwise,
	  .text = "take another path than the reverse direction" },
};

/** Where the odd cells are. */
struct odd_cells {
	size_t n, known;	/* odd ones, all whose path is known */
	int src, dst;		/* the first one */
	size_t *of_rank;	/* odd cells at each rank */
};

static int find_odd(const struct run *run, const struct oddity *o,
		    struct odd_cells *cells)
{
	*cells = (struct odd_cells){ .src = -1, .dst = -1 };
	cells->of_rank = calloc((size_t)run->n_ranks + 1, sizeof(size_t));
	if (!cells->of_rank) {
		return -1;
	}
	for (int s = 0; s < run->n_ranks; s++) {
		for (int d = 0; d < run->n_ranks; d++) {
			cells->known += run->cell_way[run_at(run, s, d)] != 0;
			if (s == d || !o->is_odd(run, s, d)) {
				continue;
			}
			if (cells->n++ == 0) {
				cells->src = s;
				cells->dst = d;
			}
			cells->of_rank[s]++;
			cells->of_rank[d]++;
		}
	}
	return 0;
}

/** Odd cells with an end on @node. */
static size_t odd_on_node(const struct run *run, const struct oddity *o,
			  int node)
{
	const struct run_node *n = &run->nodes[node];
	size_t odd = 0;

	for (int a = n->first_rank; a < n->first_rank + n->gpus; a++) {
		for (int b = 0; b < run->n_ranks; b++) {
			bool inside = run->ranks[b].node == node;

			odd += a != b && o->is_odd(run, a, b);
			odd += !inside && o->is_odd(run, b, a);
		}
	}
	return odd;
}

/** The one GPU that all odd cells touch, else the one node, else all; of two
 *  that share all, nobody can say which it is. */
static struct part place_of(const struct run *run, const struct oddity *o,
			    const struct odd_cells *cells)
{
	struct part p = part_of_kind(PART_CONFIG);
	int found = 0;

	for (int r = 0; r < run->n_ranks; r++) {
		if (cells->of_rank[r] == cells->n) {
			p.node = run->ranks[r].node;
			p.index = run->ranks[r].gpu;
			found++;
		}
	}
	if (found == 1) {
		return p;
	}
	p = part_of_kind(PART_CONFIG);
	found = 0;
	for (int i = 0; i < run->n_nodes; i++) {
		if (odd_on_node(run, o, i) == cells->n) {
			p.node = i;
			found++;
		}
	}
	return found == 1 ? p : part_of_kind(PART_CONFIG);
}

/** "n0:1 -> n1:1 by NET/IB, back by NET/IB/GDRDMA" */
static void add_example(const struct run *run, const struct odd_cells *cells,
			struct str *out)
{
	char a[80], b[80];

	str_addf(out, "%s -> %s over %s, reverse over %s",
		 part_rank_name(run, cells->src, a, sizeof(a)),
		 part_rank_name(run, cells->dst, b, sizeof(b)),
		 run->paths[run->cell_way[run_at(run, cells->src,
						 cells->dst)]],
		 run->paths[run->cell_way[run_at(run, cells->dst,
						 cells->src)]]);
}

static int add_odd(const struct run *run, const struct oddity *o,
		   const struct odd_cells *cells, struct verdict *v)
{
	struct part p = place_of(run, o, cells);
	struct finding *f = finding_add(v, &p);
	struct str says = STR_INIT, example = STR_INIT;
	char name[PART_NAME_SIZE];
	int rc;

	if (!f) {
		return -1;
	}
	add_example(run, cells, &example);
	part_name(run, &p, name, sizeof(name));
	name[0] = 'T';		/* of "the set-up ..." */
	str_addf(&says, "%s: %zu of %zu tests %s (%s)", name, cells->n,
		 cells->known, o->text, str_text(&example));
	f->cells = cells->known;
	f->explained = cells->n;
	STR_COPY(f->code, o->code);
	STR_COPY(f->says, str_text(&says));
	says_act(run, f, cells->src, cells->dst);
	rc = finding_add_evidence(f, str_text(&example));
	str_release(&says);
	str_release(&example);
	return rc;
}

int config_findings(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < sizeof(oddities) / sizeof(*oddities); i++) {
		struct odd_cells cells;
		int rc = find_odd(run, &oddities[i], &cells);

		if (rc == 0 && cells.n > 0) {
			rc = add_odd(run, &oddities[i], &cells, v);
		}
		free(cells.of_rank);
		if (rc < 0) {
			return -1;
		}
	}
	return 0;
}
