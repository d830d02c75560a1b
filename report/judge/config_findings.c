/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

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
	size_t first;
	size_t *at_rank;	/* those with an end at each rank, then */
	size_t *at_node;	/* at each node */
};

static int find_odd(const struct run *run, const struct oddity *o,
		    struct odd_cells *cells)
{
	size_t n = (size_t)run->n_ranks + (size_t)run->n_nodes;

	*cells = (struct odd_cells){ .at_rank = calloc(n + 1, sizeof(n)) };
	if (!cells->at_rank) {
		return -1;
	}
	cells->at_node = cells->at_rank + run->n_ranks;
	for (size_t at = 0; at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at);
		int from = run->ranks[s].node, to = run->ranks[d].node;

		cells->known += run->cell_way[at] != 0;
		if (s == d || !o->is_odd(run, s, d)) {
			continue;
		}
		cells->first = cells->n++ == 0 ? at : cells->first;
		cells->at_rank[s]++;
		cells->at_rank[d]++;
		cells->at_node[from]++;
		cells->at_node[to] += to != from;
	}
	return 0;
}

/** The only one of @n counts that is @all; -1: there is none, or several. */
static int only_one(const size_t *counts, int n, size_t all)
{
	int found = -1;

	for (int i = 0; i < n; i++) {
		if (counts[i] == all && found >= 0) {
			return -1;
		}
		found = counts[i] == all ? i : found;
	}
	return found;
}

/** The one GPU that all odd cells touch, else the one node, else all. */
static struct part place_of(const struct run *run,
			    const struct odd_cells *cells)
{
	int rank = only_one(cells->at_rank, run->n_ranks, cells->n);
	int node = only_one(cells->at_node, run->n_nodes, cells->n);

	return rank >= 0 ? part_at(PART_CONFIG, run->ranks[rank].node,
				   run->ranks[rank].gpu) :
			   part_at(PART_CONFIG, node, -1);
}

static void add_odd(const struct run *run, const struct oddity *o,
		    const struct odd_cells *cells, struct verdict *v)
{
	struct part p = place_of(run, cells);
	struct finding *f = finding_add(v, &p, o->code);
	struct str example = STR_INIT;
	char name[PART_NAME_SIZE];

	finding_set_example(run, f, cells->first);
	str_addf(&example, "%s over %s, reverse over %s",
		 part_cell_name(run, cells->first, name),
		 run->paths[run->cell_way[cells->first]],
		 run->paths[run->cell_way[run_at(run, f->dst, f->src)]]);
	part_name(run, &p, name, sizeof(name));
	name[0] = 'T';		/* of "the set-up ..." */
	f->cells = cells->known;
	f->explained = cells->n;
	finding_say(f, "%s: %zu of %zu tests %s (%s)", name, cells->n,
		    cells->known, o->text, str_text(&example));
	finding_add_evidence(f, "%s", str_text(&example));
	str_release(&example);
}

void config_findings(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; i < sizeof(oddities) / sizeof(*oddities); i++) {
		struct odd_cells cells;

		if (find_odd(run, &oddities[i], &cells) < 0) {
			v->failed = true;
		} else if (cells.n > 0) {
			add_odd(run, &oddities[i], &cells, v);
		}
		free(cells.at_rank);
	}
}
