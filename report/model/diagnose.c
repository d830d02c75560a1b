/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/model/part.h"
#include "report/judge/verdict.h"

#define MAX_LOOKED_AT 64	/* findings */

struct finding *diagnose_finding(const struct run *run,
				 const struct verdict *v, int src, int dst)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].fail &&
		    part_touches(run, &v->findings[i].part, src, dst)) {
			return &v->findings[i];
		}
	}
	return NULL;
}

static bool is_chosen(const struct diagnose_pairs *p, int src, int dst)
{
	for (size_t i = 0; i < p->n; i++) {
		if ((p->list[i].src == src && p->list[i].dst == dst) ||
		    (p->list[i].src == dst && p->list[i].dst == src)) {
			return true;
		}
	}
	return false;
}

/**
 * How much a bad cell tells: more where only one thing can be wrong with it,
 * and where it is unlike @other, which stands for the same finding (NULL =
 * none yet).
 */
static int worth(const struct run *run, int src, int dst,
		 const struct diagnose_pair *other)
{
	const struct run_rank *s = &run->ranks[src], *d = &run->ranks[dst];
	bool inter = s->node != d->node;
	int points = !inter || s->nic == d->nic ? 2 : 1;

	if (other) {
		bool was_inter = run->ranks[other->src].node !=
				 run->ranks[other->dst].node;

		points += 4 * (inter != was_inter) +
			  (src != other->src && src != other->dst) +
			  (dst != other->src && dst != other->dst);
	}
	return points;
}

/** The most telling cell that stands for @f and is none of @pairs yet. */
static bool best_cell(const struct run *run, const struct verdict *v,
		      const struct finding *f,
		      const struct diagnose_pairs *pairs,
		      const struct diagnose_pair *other,
		      struct diagnose_pair *best)
{
	int most = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at), points;

		if (s == d || !run_bad(run->cells[at].class) ||
		    is_chosen(pairs, s, d) ||
		    diagnose_finding(run, v, s, d) != f) {
			continue;
		}
		points = worth(run, s, d, other);
		if (points > most) {
			most = points;
			*best = (struct diagnose_pair){ s, d };
		}
	}
	return most > 0;
}

/** The pair that stands for @f already; NULL = none. */
static const struct diagnose_pair *
stands_for(const struct run *run, const struct verdict *v,
	   const struct finding *f, const struct diagnose_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		if (diagnose_finding(run, v, pairs->list[i].src,
				     pairs->list[i].dst) == f) {
			return &pairs->list[i];
		}
	}
	return NULL;
}

/** One for each finding before the first gets its second. */
void diagnose_choose(const struct run *run, const struct verdict *v,
		     struct diagnose_pairs *pairs)
{
	/* a look at all cells for each: the first ones are the most telling */
	size_t n = v->n < MAX_LOOKED_AT ? v->n : MAX_LOOKED_AT;

	*pairs = (struct diagnose_pairs){ 0 };
	for (size_t i = 0; i < v->n; i++) {
		pairs->findings += v->findings[i].fail;
	}
	for (size_t i = 0; diagnose_top(run) && i < DIAGNOSE_PER_FINDING * n &&
			   pairs->n < DIAGNOSE_MAX_PAIRS; i++) {
		const struct finding *f = &v->findings[i % n];
		const struct diagnose_pair *other =
			stands_for(run, v, f, pairs);
		struct diagnose_pair best;

		if (f->fail && best_cell(run, v, f, pairs, other, &best)) {
			pairs->covered += i < n;
			pairs->list[pairs->n++] = best;
		}
	}
}

const char *diagnose_undone_name(const struct diagnose_step *s, char *buf,
				 size_t size)
{
	snprintf(buf, size, "without-%s", s->name);
	return buf;
}

void diagnose_row_init(const struct run *run, const struct diagnose_step *s,
		       const struct diagnose_pair *pair,
		       struct diagnose_row *row)
{
	const struct run_rank *a = &run->ranks[pair->src];
	const struct run_rank *b = &run->ranks[pair->dst];

	record_init(&schema_diagnose, row);
	row->src_rank = pair->src;
	STR_COPY(row->src_node, run->nodes[a->node].name);
	row->src_gpu = a->gpu;
	row->dst_rank = pair->dst;
	STR_COPY(row->dst_node, run->nodes[b->node].name);
	row->dst_gpu = b->gpu;
	STR_COPY(row->kind,
		 diagnose_is_knob(s) ? DIAGNOSE_KNOB : DIAGNOSE_LAYER);
	STR_COPY(row->step, s->name);
}

/** The name of an HCA port, or of one among several, without its number. */
static bool same_port(const char *nic, const char *port)
{
	size_t len = strcspn(nic, ":+");

	return strncmp(nic, port, len) == 0 &&
	       (port[len] == '\0' || port[len] == ':');
}

/** Is the port of this name up on any node?  Only such are ranks of ib. */
static bool is_up_somewhere(const struct run *run, const char *port)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "port_state") == 0 &&
		    strcmp(f->scope, port) == 0 &&
		    strcmp(f->value, "ACTIVE") == 0) {
			return true;
		}
	}
	return false;
}

int diagnose_index(const struct run *run, const struct diagnose_step *s,
		   int rank)
{
	const struct run_rank *r = &run->ranks[rank];
	int index = 0;

	if (!s->ports) {
		return r->gpu;
	}
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "port_state") != 0 ||
		    strcmp(f->node, run->nodes[r->node].name) != 0 ||
		    !is_up_somewhere(run, f->scope)) {
			continue;
		}
		if (r->nic_name[0] && same_port(r->nic_name, f->scope)) {
			return index;
		}
		index++;
	}
	/* nobody says its name: the one of the rail */
	return r->nic;
}

int diagnose_add(struct run *run, const struct diagnose_row *row)
{
	return grow_add(&run->diagnose, &run->n_diagnose, row, sizeof(*row)) ?
		       0 : -1;
}
