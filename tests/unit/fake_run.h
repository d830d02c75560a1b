/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_FAKE_RUN_H
#define TESTS_UNIT_FAKE_RUN_H

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

#include "lib/base/hash.h"
#include "report/model/part.h"

/** Runs made by hand, without files, for the tests of report/. */

#define FAKE_INTRA_GB_S 300.0
#define FAKE_INTER_GB_S 45.0

/** All cells pass with 2 % of noise; nics a node as in the drill grammar. */
static inline void fake_run(struct run *r, int nodes, int gpus, int nics)
{
	size_t n = (size_t)nodes * (size_t)gpus;

	*r = (struct run){
		.json = json_object(), .probe = "p2p", .transport = "nccl",
		.schedule = "nic", .n_nodes = nodes, .n_ranks = (int)n,
		.grid = grid_square((int)n),
		.size_B = 64 << 20, .ended = true, .n_codes = 1, .n_paths = 1,
		.started_utc = "2026-01-31T09:15:02.123Z",
	};
	r->nodes = calloc((size_t)nodes, sizeof(*r->nodes));
	r->ranks = calloc(n, sizeof(*r->ranks));
	/* one behind the last stands for all that are not there */
	r->cells = calloc(n * n + 1, sizeof(*r->cells));
	r->cell_code = calloc(n * n + 1, sizeof(*r->cell_code));
	r->cell_detail = calloc(n * n + 1, sizeof(*r->cell_detail));
	r->codes = calloc(32, sizeof(*r->codes));
	r->cell_way = calloc(n * n + 1, sizeof(*r->cell_way));
	r->paths = calloc(32, sizeof(*r->paths));
	for (int i = 0; i < nodes; i++) {
		r->nodes[i] = (struct cluster_node){
			.first_rank = i * gpus, .gpus = gpus, .nics = nics,
		};
		snprintf(r->nodes[i].name, sizeof(r->nodes[i].name), "n%d", i);
	}
	for (int i = 0; i < r->n_ranks; i++) {
		r->ranks[i] = (struct cluster_rank){
			.node = i / gpus, .gpu = i % gpus,
			.nic = i % gpus * nics / gpus,
		};
	}
	for (size_t at = 0; at < n * n; at++) {
		size_t src = at / n, dst = at % n;
		bool intra = r->ranks[src].node == r->ranks[dst].node;
		double noise = 0.98 + 0.04 * hash_unit(7, at, 0, 0);

		r->cells[at] = (struct cell){
			.class = src == dst ? CELL_UNPLANNED : CELL_PASS,
			.outcome = src == dst ? OUTCOME_NOT_RUN : OUTCOME_OK,
			.path = intra ? PATH_INTRA : PATH_INTER,
			.attempt = src == dst ? 0 : 1,
			.lat_us = src == dst ? NAN : 5,
			.bw_GB_s = src == dst ? NAN :
				(float)(noise * (intra ? FAKE_INTRA_GB_S :
						 FAKE_INTER_GB_S)),
		};
	}
	cells_mark_slow(r->cells, n * n, r->size_B, r->slow);
}

static inline uint16_t fake_code(struct run *r, const char *code)
{
	for (size_t i = 1; i < r->n_codes; i++) {
		if (strcmp(r->codes[i], code) == 0) {
			return (uint16_t)i;
		}
	}
	assert_true(r->n_codes < 32);
	STR_COPY(r->codes[r->n_codes], code);
	return (uint16_t)r->n_codes++;
}

static inline void fake_cell(struct run *r, int src, int dst,
			     enum outcome outcome, const char *code)
{
	struct cell *c = &r->cells[run_at(r, src, dst)];

	if (c->class == CELL_UNPLANNED) {
		return;
	}
	c->outcome = (uint8_t)outcome;
	c->class = (uint8_t)cells_class_of(outcome);
	if (outcome != OUTCOME_OK) {
		c->bw_GB_s = c->lat_us = NAN;
	}
	r->cell_code[run_at(r, src, dst)] = code[0] ? fake_code(r, code) : 0;
}

/** A part as a drill names it. */
struct fake_fault {
	enum part_kind kind;	/* a: node | rail, b: GPU | NIC | peer node;
				 * pair: two ranks */
	int a, b;
	enum part_direction direction;
};

static inline bool fake_ends(enum part_direction d, bool tx, bool rx)
{
	return d == PART_TX ? tx : d == PART_RX ? rx : tx || rx;
}

/** Does the fault touch the cell?  As the drill grammar has it. */
static inline bool fake_hits(const struct run *r, const struct fake_fault *f,
			     int src, int dst)
{
	const struct cluster_rank *s = &r->ranks[src], *d = &r->ranks[dst];
	bool inter = s->node != d->node;

	switch (f->kind) {
	case PART_INTER_NODE:
		return inter;
	case PART_INTRA_NODE:
		return !inter && (f->a < 0 || s->node == f->a);
	case PART_CROSS_RAIL:
		return inter && s->nic != d->nic;
	case PART_RAIL:
		return inter && (s->nic == f->a || d->nic == f->a);
	case PART_NODE:
		return fake_ends(f->direction, s->node == f->a,
				 d->node == f->a);
	case PART_NODE_NETWORK:
		return inter && fake_ends(f->direction, s->node == f->a,
					  d->node == f->a);
	case PART_NODE_PAIR:
		return fake_ends(f->direction,
				 s->node == f->a && d->node == f->b,
				 s->node == f->b && d->node == f->a);
	case PART_NIC:
		return inter && fake_ends(f->direction,
					  s->node == f->a && s->nic == f->b,
					  d->node == f->a && d->nic == f->b);
	case PART_GPU_NVLINK:
	case PART_GPU:
		return !(inter && f->kind == PART_GPU_NVLINK) &&
		       fake_ends(f->direction,
				 s->node == f->a && s->gpu == f->b,
				 d->node == f->a && d->gpu == f->b);
	case PART_PAIR:
		return fake_ends(f->direction, src == f->a && dst == f->b,
				 src == f->b && dst == f->a);
	default:
		return false;
	}
}

static inline void fake_break(struct run *r, const struct fake_fault *f,
			      enum outcome outcome, const char *code)
{
	for (int s = 0; s < r->n_ranks; s++) {
		for (int d = 0; d < r->n_ranks; d++) {
			if (fake_hits(r, f, s, d)) {
				fake_cell(r, s, d, outcome, code);
			}
		}
	}
}

static inline void fake_slow(struct run *r, const struct fake_fault *f,
			     double factor)
{
	size_t n = (size_t)r->n_ranks;

	for (int s = 0; s < r->n_ranks; s++) {
		for (int d = 0; d < r->n_ranks; d++) {
			if (fake_hits(r, f, s, d)) {
				r->cells[run_at(r, s, d)].bw_GB_s *=
					(float)factor;
			}
		}
	}
	cells_mark_slow(r->cells, n * n, r->size_B, r->slow);
}

static inline void fake_fact(struct run *r, const char *node,
			     const char *scope, const char *fact,
			     const char *value)
{
	struct fact_row *f;

	r->facts = realloc(r->facts, (r->n_facts + 1) * sizeof(*r->facts));
	assert_non_null(r->facts);
	f = &r->facts[r->n_facts++];
	*f = (struct fact_row){ 0 };
	STR_COPY(f->node, node);
	STR_COPY(f->scope, scope);
	STR_COPY(f->fact, fact);
	STR_COPY(f->value, value);
}

static inline void fake_event(struct run *r, const char *utc, const char *node,
			      const char *event, const char *detail)
{
	struct event_row *e;

	r->events = realloc(r->events, (r->n_events + 1) * sizeof(*r->events));
	assert_non_null(r->events);
	e = &r->events[r->n_events++];
	*e = (struct event_row){ 0 };
	STR_COPY(e->utc, utc);
	STR_COPY(e->node, node);
	STR_COPY(e->event, event);
	STR_COPY(e->detail, detail);
}

/** Of a run of 8 GPUs a node a sample: of each GPU one pair inside its node,
 *  five on its rail, two across. */
static inline void fake_sample(struct run *r)
{
	static const int hops[] = { 1, 2, 3, 5, 6 }, across[] = { 4, 7 };
	size_t n = 0, most = (size_t)r->n_ranks * 16;
	struct grid_pair *list = calloc(most, sizeof(*list));
	const struct grid all = r->grid;
	struct cell *cells;

	assert_non_null(list);
	for (int i = 0; i < r->n_ranks; i++) {
		int node = r->ranks[i].node, gpu = r->ranks[i].gpu;

		for (int k = 0; k < 8; k++) {
			int hop = k < 5 ? hops[k] : k < 7 ? across[k - 5] : 0;
			int to = k < 5 ? gpu : gpu ^ 1;
			int peer = (node + hop) % r->n_nodes * 8 + to;

			list[n++] = (struct grid_pair){ i, peer };
			list[n++] = (struct grid_pair){ peer, i };
		}
	}
	assert_int_equal(grid_of(&r->grid, r->n_ranks, list, n), 0);
	free(list);
	cells = calloc(run_n_cells(r) + 1, sizeof(*cells));
	assert_non_null(cells);
	for (size_t at = 0; at < run_n_cells(r); at++) {
		cells[at] = r->cells[grid_at(&all, run_src(r, at),
					     run_dst(r, at))];
	}
	cells[run_n_cells(r)] = (struct cell){ .class = CELL_UNPLANNED,
					       .bw_GB_s = NAN, .lat_us = NAN };
	free(r->cells);
	r->cells = cells;
}

#endif
