/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/nvlink.h"

#include <stdlib.h>
#include <string.h>

/** A rank, and those that it has been found to be joined to. */
struct member {
	int lead;		/* a rank that stands for all, or leads there */
	bool seen;		/* ... and bytes have gone by NVLink */
	bool other;		/* ... or by another way, to one of them */
	char cluster[48], clique[12];	/* by its facts, "" = not known */
};

static int lead_of(struct member *m, int r)
{
	while (m[r].lead != r) {
		r = m[r].lead = m[m[r].lead].lead;
	}
	return r;
}

static void join(struct member *m, int a, int b)
{
	int x = lead_of(m, a), y = lead_of(m, b);

	m[x].lead = y;
	m[y].seen |= m[x].seen;
}

/** The way of the cell between nodes at @at: NVLink, another one, or "". */
static const char *way_of(const struct run *run, size_t at)
{
	return run->paths[run->cell_way[at]];
}

static bool is_mnnvl(const char *way)
{
	return strstr(way, "P2P/MNNVL") != NULL;
}

/** What was seen. */
static void join_by_ways(const struct run *run, struct member *m)
{
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (run->cells[at].path == PATH_INTER &&
		    is_mnnvl(way_of(run, at))) {
			join(m, run_src(run, at), run_dst(run, at));
			m[lead_of(m, run_src(run, at))].seen = true;
		}
	}
}

/** Who went another way though his clique says NVLink: it is not used there. */
static void find_others(const struct run *run, struct member *m)
{
	for (int r = 0; r < run->n_ranks; r++) {
		m[lead_of(m, r)].other |= m[r].other;
	}
	for (size_t at = 0; at < run_n_cells(run); at++) {
		int lead = lead_of(m, run_src(run, at));

		if (run->cells[at].path == PATH_INTER &&
		    run->cell_way[at] != 0 && !is_mnnvl(way_of(run, at)) &&
		    lead == lead_of(m, run_dst(run, at))) {
			m[lead].other = true;
		}
	}
}

/** Does its node say that NCCL cannot use NVLink to others, or must not? */
static bool is_without(const struct fact_row *f)
{
	return (strcmp(f->fact, "NCCL_MNNVL_ENABLE") == 0 &&
		strcmp(f->value, "0") == 0) ||
	       (strcmp(f->fact, "imex") == 0 &&
		strcmp(f->value, "running") != 0);
}

static void turn_off(const struct run *run, struct member *m, int node)
{
	const struct run_node *n = node < 0 ? NULL : &run->nodes[node];

	for (int r = 0; n && r < n->gpus; r++) {
		m[n->first_rank + r].other = true;
	}
}

static void take_facts(const struct run *run, struct member *m)
{
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		int gpu = run_number_in(f->scope, "gpu");
		struct member *r;

		if (is_without(f)) {
			turn_off(run, m, run_find_node(run, f->node, node));
		}
		node = gpu < 0 ? node : run_find_node(run, f->node, node);
		if (gpu < 0 || node < 0 || gpu >= run->nodes[node].gpus) {
			continue;
		}
		r = &m[run->nodes[node].first_rank + gpu];
		if (strcmp(f->fact, "fabric_cluster") == 0) {
			STR_COPY(r->cluster, f->value);
		} else if (strcmp(f->fact, "fabric_clique") == 0) {
			STR_COPY(r->clique, f->value);
		}
	}
}

/** One that failed has no way: its clique says where it belongs. */
static void join_by_facts(const struct run *run, struct member *m)
{
	take_facts(run, m);
	for (int a = 0; a < run->n_ranks; a++) {
		for (int b = 0; m[a].cluster[0] && b < a; b++) {
			if (strcmp(m[a].cluster, m[b].cluster) == 0 &&
			    strcmp(m[a].clique, m[b].clique) == 0) {
				join(m, a, b);
				break;	/* the others are joined to that */
			}
		}
	}
}

/** Are there ranks of two nodes behind @lead? */
static bool spans_nodes(const struct run *run, struct member *m, int lead)
{
	for (int r = 0; r < run->n_ranks; r++) {
		if (lead_of(m, r) == lead &&
		    run->ranks[r].node != run->ranks[lead].node) {
			return true;
		}
	}
	return false;
}

static void number_domains(struct run *run, struct member *m)
{
	/* other transports have nothing to do with NVLink between nodes */
	bool by_facts = spec_transport_is(run->transport, XPORT_SETTINGS);

	for (int r = 0; r < run->n_ranks; r++) {
		int lead = lead_of(m, r);

		bool said = by_facts && m[r].cluster[0] && !m[lead].other &&
			    spans_nodes(run, m, lead);

		if (m[lead].seen || said) {
			int *of_lead = &run->ranks[lead].domain;

			*of_lead = *of_lead ? *of_lead : ++run->n_domains;
			run->ranks[r].domain = *of_lead;
		}
	}
}

int nvlink_find(struct run *run)
{
	struct member *m = calloc((size_t)run->n_ranks + 1, sizeof(*m));

	if (!m) {
		return -1;
	}
	for (int r = 0; r < run->n_ranks; r++) {
		m[r].lead = r;
	}
	join_by_ways(run, m);
	join_by_facts(run, m);
	find_others(run, m);
	number_domains(run, m);
	free(m);
	for (size_t at = 0; run->n_domains && at < run_n_cells(run); at++) {
		const struct run_rank *s = &run->ranks[run_src(run, at)];
		const struct run_rank *d = &run->ranks[run_dst(run, at)];

		if (s->node != d->node && s->domain &&
		    s->domain == d->domain &&
		    (run->cell_way[at] == 0 || is_mnnvl(way_of(run, at)))) {
			run->cells[at].path = PATH_NVLINK;
		}
	}
	return 0;
}
