/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sweep: every size, out of place and in place, by every variant.
 */
#include "probes/engine/coord/group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"

#define JOIN_NS	 (60 * NS_PER_S)
#define LEAVE_NS (5 * NS_PER_S)
/* Sizes that fail one after the other with nobody to blame: no more then. */
#define FAILURES_MAX 2

int group_nodes(const struct coord *c)
{
	const struct group *g = c->group;
	int n = 0;

	for (int i = 0; i < g->n_members; i++) {
		n += i == 0 ||
		     !layout_same_node(&c->layout, g->members[i].rank,
				       g->members[i - 1].rank);
	}
	return n;
}

/** Does size number @i leave something for every rank, and fit? */
static bool is_measured(const struct coord *c, int i, int ranks)
{
	const struct group *g = c->group;
	struct coll_shape s;

	return coll_shape(g->op, g->dtype, ranks, g->sizes[i], &s) &&
	       (g->memory_B == 0 || g->sizes[i] <= g->memory_B);
}

size_t group_rows(const struct coord *c)
{
	const struct group *g = c->group;
	size_t n = 0;

	for (int i = 0; i < g->n_sizes; i++) {
		n += is_measured(c, i, c->layout.n_ranks) ? 2 : 0;
	}
	return n * (size_t)g->n_variants;
}

/* ---- positions ---------------------------------------------------------------- */

static bool at_end(const struct group *g)
{
	return g->size >= g->n_sizes;
}

/** To the next one that can be measured with @ranks, from here on. */
static void settle_position(struct coord *c, int ranks)
{
	struct group *g = c->group;
	int from = g->size;
	char size[32];

	while (!at_end(g) && !is_measured(c, g->size, ranks)) {
		g->size++;
		g->inplace = 0;
	}
	if (g->size > from && !at_end(g)) {	/* too large are only the last */
		group_note(c, "sizes below %s leave nothing for each of %d "
			   "ranks", units_size_arg((uint64_t)g->sizes[g->size],
						   size, sizeof(size)), ranks);
	}
	g->calibrated = false;
	g->wrong = RECORD_NONE;
	clock_utc(g->start_utc);
}

static void advance(struct coord *c)
{
	struct group *g = c->group;

	g->size += g->inplace;
	g->inplace = !g->inplace;
	settle_position(c, g->n_members);
}

/* ---- variants ------------------------------------------------------------------ */

/** What one library could not open another may. */
static void revive_unusable(struct coord *c)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state == RANK_UNUSABLE) {
			c->ranks[r].state = RANK_READY;
		}
	}
}

static void next_variant(struct coord *c)
{
	struct group *g = c->group;

	g->size = g->inplace = g->failures = 0;
	g->memory_B = 0;
	g->algo[0] = g->proto[0] = g->lib[0] = '\0';
	if (c->phase >= COORD_STOP) {
		while (++g->variant < g->n_variants) {
			g->size = g->inplace = 0;
			group_write_rest(c, OUTCOME_NOT_RUN, c->stop_reason,
					 "the run was stopped before");
		}
		coord_leave(c);
		return;
	}
	if (g->variant + 1 == g->n_variants) {
		group_bisect_start(c);
		return;
	}
	g->variant++;
	coord_event(c, NULL, -1, "variant", "%d of %d: %s", g->variant + 1,
		    g->n_variants, g->variants[g->variant].name);
	g->samples = (struct coll_samples){ 0 };	/* of another speed */
	revive_unusable(c);
	group_renew(c);
}

/** Nobody, or nobody else, to measure with. */
static void too_few(struct coord *c, int n)
{
	char code[48] = "no_ranks", detail[380] = "no rank is there";

	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state > RANK_READY) {
			STR_COPY(code, c->ranks[r].code);
			snprintf(detail, sizeof(detail),
				 "%d of %d ranks are left; rank %d: %.300s", n,
				 c->layout.n_ranks, r, c->ranks[r].detail);
			break;
		}
	}
	group_write_rest(c, OUTCOME_SKIPPED, code, detail);
	next_variant(c);
}

static void sweep_ready(struct coord *c)
{
	struct group *g = c->group;
	int *ranks = calloc((size_t)c->layout.n_ranks + 1, sizeof(*ranks));
	int n = ranks != NULL ? group_able(c, ranks) : 0;

	settle_position(c, n > 0 ? n : c->layout.n_ranks);
	if (c->phase >= COORD_STOP) {
		group_write_rest(c, OUTCOME_NOT_RUN, c->stop_reason,
				 "the run was stopped before");
		next_variant(c);
	} else if (at_end(g)) {
		group_note(c, "no size leaves anything for each of %d ranks",
			   n);
		next_variant(c);
	} else if (n < 2) {
		too_few(c, n);
	} else {
		group_join(c, ranks, n);
	}
	free(ranks);
}

/* ---- one size --------------------------------------------------------------- */

static void order_step(struct coord *c, int samples, int batch,
		       double about_us)
{
	struct group *g = c->group;
	struct coll_order *o = &g->order;

	o->size_B = g->sizes[g->size];
	o->inplace = g->inplace;
	o->check = c->spec.check && !g->calibrated;
	o->warmup = g->calibrated ? 0 : c->spec.warmup;
	o->samples = samples;
	o->batch = batch;
	o->held = g->calibrated;
	group_order(c, COLL_STEP,
		    group_patient_ns(c, about_us * (samples * batch +
						    o->warmup + o->check)));
}

/**
 * The first operation: checks, and tells how long one takes.  How long it may
 * take itself is guessed from the size before, if there is one.
 */
static void begin_size(struct coord *c)
{
	struct group *g = c->group;

	if (at_end(g)) {
		group_order(c, COLL_LEAVE, LEAVE_NS);
	} else {
		double about_us = g->samples.one_us *
				  (double)c->spec.size_factor;

		order_step(c, coll_samples_first(about_us), 1, about_us);
	}
}

/** The first operation of a size may have had to connect. */
static double fastest_us(const struct coll_result *r)
{
	double us = r->us[0];

	for (int k = 1; k < r->n; k++) {
		us = fmin(us, r->us[k]);
	}
	return us;
}

/** What only the first step of a size tells. */
static void calibrate(struct coord *c)
{
	struct group *g = c->group;
	double one_us = 0;

	for (int i = 0; i < g->n_members; i++) {
		const struct coll_result *r = &g->members[i].r;

		one_us = fmax(one_us, r->n > 0 ? fastest_us(r) : 0);
		if (r->wrong != RECORD_NONE) {
			g->wrong = r->wrong + (g->wrong != RECORD_NONE ?
						       g->wrong :
						       0);
		}
	}
	coll_samples_begin(&g->samples, c->spec.iters, one_us,
			   g->order.nodes);
	g->calibrated = true;
}

static void take_samples(struct coord *c)
{
	struct group *g = c->group;
	double *us = calloc((size_t)g->n_members + 1, sizeof(*us));

	for (int k = 0; us != NULL && k < COLL_STEP_SAMPLES; k++) {
		int n = 0;

		for (int i = 0; i < g->n_members; i++) {
			if (k < g->members[i].r.n) {
				us[n++] = g->members[i].r.us[k];
			}
		}
		if (n == g->n_members) {
			coll_samples_add(&g->samples, us, n);
		}
	}
	free(us);
}

/** NCCL's rank 0 alone says what it took. */
static void learn_choice(struct coord *c)
{
	struct group *g = c->group;
	const struct coll_result *r = &g->members[0].r;

	STR_COPY(g->algo, r->algo);
	STR_COPY(g->proto, r->proto);
}

static void note_failure(struct coord *c)
{
	struct group *g = c->group;

	if (g->bad_size < 0) {
		g->bad_variant = g->variant;
		g->bad_size = g->size;
		g->bad_inplace = g->inplace;
	}
}

static void step_over(struct coord *c)
{
	struct group *g = c->group;
	int next;

	learn_choice(c);
	if (g->calibrated) {
		take_samples(c);
	} else {
		calibrate(c);
	}
	if (g->wrong != RECORD_NONE && g->wrong > 0) {
		note_failure(c);
	}
	next = coll_samples_next(&g->samples);
	if (next > 0) {
		order_step(c, next, g->samples.now, g->samples.one_us);
		return;
	}
	group_write_row(c, NULL);
	g->failures = 0;
	advance(c);
	begin_size(c);
}

static void join_over(struct coord *c)
{
	struct group *g = c->group;
	int64_t least = INT64_MAX, most = g->sizes[g->n_sizes - 1];
	char room[32], wish[32];

	for (int i = 0; i < g->n_members; i++) {
		least = g->members[i].r.size_B < least ?
				g->members[i].r.size_B :
				least;
	}
	STR_COPY(g->lib, g->members[0].r.lib);
	if (least < most) {
		g->memory_B = least;
		group_note(c, "sizes up to %s: for %s a GPU has too little "
			   "memory",
			   units_size_arg((uint64_t)least, room, sizeof(room)),
			   units_size_arg((uint64_t)most, wish, sizeof(wish)));
	}
	settle_position(c, g->n_members);
	begin_size(c);
}

static void round_failed(struct coord *c, const struct group_end *end)
{
	struct group *g = c->group;

	group_write_row(c, end);
	if (end->n_culprits > 0) {
		group_renew(c);		/* the same size, without them */
		return;
	}
	note_failure(c);
	advance(c);
	if (++g->failures < FAILURES_MAX && !at_end(g)) {
		group_renew(c);
		return;
	}
	group_write_rest(c, OUTCOME_NOT_RUN, "gave_up",
			 "sizes before it failed, one after the other");
	next_variant(c);
}

static void stopped(struct coord *c)
{
	group_write_rest(c, OUTCOME_NOT_RUN, c->stop_reason,
			 "the run was stopped before");
	next_variant(c);
}

static void sweep_over(struct coord *c, const struct group_end *end)
{
	struct group *g = c->group;

	if (g->what == COLL_LEAVE) {
		next_variant(c);
	} else if (c->phase >= COORD_STOP) {
		stopped(c);
	} else if (!end->ok) {
		round_failed(c, end);
	} else if (g->what == COLL_TICKET) {
		STR_COPY(g->order.ticket, g->members[0].r.ticket);
		g->order.size_B = g->sizes[g->n_sizes - 1];
		g->order.factor = c->spec.size_factor;
		group_order(c, COLL_JOIN,
			    c->spec.timeout_ns > 0 ? c->spec.timeout_ns :
						     JOIN_NS);
	} else if (g->what == COLL_JOIN) {
		join_over(c);
	} else {
		step_over(c);
	}
}

const struct group_driver group_sweep = {
	.ready = sweep_ready,
	.over = sweep_over,
};
