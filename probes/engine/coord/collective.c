/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that all ranks do together.  It goes in rounds: every member gets an
 * order, and the next one when all have answered or the deadline has passed.
 * If one fails, all workers are renewed, because a broken collective may have
 * left anything on the GPUs, and the ranks that are not to blame go on.
 */
#include "probes/engine/coord/collective.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"

/* ---- collective sizes ---------------------------------------------------- */

/*
 * The sweep: every size, out of place and in place, by every variant.
 */

/* NCCL gives up on exchanging addresses of sockets and RoCE after about 60
 * s. */
#define JOIN_NS (90 * NS_PER_S)
/* Number of consecutive sizes that fail without a culprit before the sweep
 * ends. */
#define FAILURES_MAX 2

/* ---- positions ----------------------------------------------------------- */

static bool at_end(const struct collective_work *w)
{
	return w->size >= w->n_sizes;
}

/** To the next one that can be measured with @ranks, from here on. */
static void settle_position(struct collective_work *w, int ranks)
{
	int from = w->size;
	char size[32];

	while (!at_end(w) && !collective_measures(w, w->size, ranks)) {
		w->size++;
		w->inplace = 0;
	}
	if (w->size > from && !at_end(w)) { /* too large are only the last */
		collective_note(w,
				"sizes below %s are too small: %d ranks get "
				"zero elements each",
				units_size_arg((uint64_t)w->sizes[w->size],
					       size, sizeof(size)),
				ranks);
	}
	w->calibrated = false;
	w->algo[0] = w->proto[0] = '\0';
	w->wrong = RECORD_NONE;
	verify_begin(w);
	clock_utc(w->start_utc);
}

static void advance(struct collective_work *w)
{
	w->size += w->inplace;
	w->inplace = !w->inplace;
	settle_position(w, w->n_members);
}

/* ---- variants ------------------------------------------------------------ */

static void next_variant(struct collective_work *w);

/** Nothing more is measured. */
static void stopped(struct collective_work *w)
{
	collective_write_rest(w, OUTCOME_NOT_RUN, w->c->stop_reason,
			      "the run was stopped before this size");
	next_variant(w);
}

static void next_variant(struct collective_work *w)
{
	w->size = w->inplace = w->failures = 0;
	w->memory_B = 0;
	w->lib[0] = '\0';
	if (++w->variant == w->n_variants) {
		bisection_start(w);
		return;
	}
	if (w->c->phase >= COORD_STOP) {
		stopped(w);
		return;
	}
	run_log_event(w->c->log, NULL, -1, "variant", "%d of %d: %s",
		      w->variant + 1, w->n_variants,
		      w->variants[w->variant].name);
	w->samples = (struct collective_samples){0}; /* of another speed */
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		/* its transport may open with the next library */
		if (w->ranks.all[r].state == RANK_UNUSABLE) {
			w->ranks.all[r].state = RANK_READY;
		}
	}
	round_renew(w);
}

static void sizes_ready(struct collective_work *w)
{
	const int64_t timeout_ns = w->c->spec.timeout_ns;
	const int all = w->ranks.layout.n_ranks;
	char code[48] = "no_ranks", detail[380] = "no rank is connected";
	int n = 0, out = all;

	for (int r = all - 1; r >= 0; r--) {
		out = w->ranks.all[r].state > RANK_READY ? r : out;
	}
	for (int r = 0; r < all; r++) {
		if (w->ranks.all[r].state == RANK_READY) {
			w->room[n++] = r;
		}
	}
	settle_position(w, n > 0 ? n : all);
	if (w->c->phase >= COORD_STOP) {
		stopped(w);
	} else if (at_end(w)) {
		collective_note(
			w, "all sizes are too small: %d ranks get zero "
			   "elements each", n);
		next_variant(w);
	} else if (n >= 2) {
		round_join(w, w->room, n, w->sizes[w->n_sizes - 1],
			   timeout_ns > 0 ? timeout_ns : JOIN_NS);
	} else {
		/* too few: the first rank that is out says why */
		if (out < all) {
			STR_COPY(code, w->ranks.all[out].code);
			snprintf(detail, sizeof(detail),
				 "%d of %d ranks remain; rank %d: %.300s", n,
				 all, out, w->ranks.all[out].detail);
		}
		collective_write_rest(w, ranks_outcome(code, OUTCOME_SKIPPED),
				      code, detail);
		next_variant(w);
	}
}

/* ---- one size ------------------------------------------------------------ */

/**
 * The first operation: checks, and tells how long one takes.  How long it may
 * take itself is guessed from the size before, if there is one.
 */
static void begin_size(struct collective_work *w)
{
	if (at_end(w)) {
		round_order(w, DO_LEAVE, ROUND_LEAVE_NS);
	} else {
		double about_us =
			w->samples.one_us * (double)w->c->spec.size_factor;

		round_measure(w, collective_samples_first(about_us), 1, true,
			      false, about_us);
	}
}

/** Takes from the first step of a size what only that step reports: the time of
 *  one operation, and wrong elements. */
static void calibrate(struct collective_work *w)
{
	double one_us = 0;

	for (int i = 0; i < w->n_members; i++) {
		const struct collective_result *r = &w->members[i].r;
		double us = r->n > 0 ? r->us[0] : 0;

		/* the first operation of a size may have had to connect */
		for (int k = 1; k < r->n; k++) {
			us = fmin(us, r->us[k]);
		}
		one_us = fmax(one_us, us);
		if (r->wrong != RECORD_NONE) {
			w->wrong = r->wrong +
				   (w->wrong != RECORD_NONE ? w->wrong : 0);
		}
	}
	if (w->c->spec.verify > 0) {
		verify_checked(w);
	}
	collective_samples_begin(&w->samples, w->c->spec.iters, one_us,
				 w->order.nodes);
	w->calibrated = true;
}

/** It is measured: verified as well, it has its row. */
static void size_over(struct collective_work *w)
{
	if (verify_next(w, w->c->spec.verify)) {
		return;
	}
	if (w->wrong > 0) {
		verify_note_bad(w, false);
	}
	collective_write_row(w);
	w->failures = 0;
	advance(w);
	begin_size(w);
}

static void step_over(struct collective_work *w)
{
	double *us;
	int next;

	if (w->order.verify > 0) {
		verify_over(w);
		size_over(w);
		return;
	}
	/* NCCL's rank 0 alone says what it took */
	STR_COPY(w->algo, w->members[0].r.algo);
	STR_COPY(w->proto, w->members[0].r.proto);
	us = calloc((size_t)w->n_members + 1, sizeof(*us));
	if (!w->calibrated) {
		calibrate(w);
	} else {
		/* a sample counts if all members have it */
		for (int k = 0; us && k < COLLECTIVE_STEP_SAMPLES; k++) {
			int n = 0;

			for (int i = 0; i < w->n_members; i++) {
				if (k < w->members[i].r.n) {
					us[n++] = w->members[i].r.us[k];
				}
			}
			if (n == w->n_members) {
				collective_samples_add(&w->samples, us, n);
			}
		}
	}
	free(us);
	next = collective_samples_next(&w->samples);
	if (next > 0) {
		round_measure(w, next, w->samples.now, false, true,
			      w->samples.one_us);
		return;
	}
	size_over(w);
}

static void join_over(struct collective_work *w)
{
	int64_t least = INT64_MAX, most = w->sizes[w->n_sizes - 1];
	char room[32], wish[32];

	for (int i = 0; i < w->n_members; i++) {
		least = w->members[i].r.size_B < least ? w->members[i].r.size_B
						       : least;
	}
	STR_COPY(w->lib, w->members[0].r.lib);
	if (least < most) {
		w->memory_B = least;
		collective_note(
			w,
			"sizes up to %s: a GPU has too little memory for %s",
			units_size_arg((uint64_t)least, room, sizeof(room)),
			units_size_arg((uint64_t)most, wish, sizeof(wish)));
	}
	settle_position(w, w->n_members);
	begin_size(w);
}

static void round_failed(struct collective_work *w, const struct round_end *end)
{
	collective_write_failed(w, end->outcome, end->code, end->detail);
	if (end->n_culprits > 0) {
		round_renew(w); /* the same size, without them */
		return;
	}
	if (end->outcome != OUTCOME_NOT_RUN) {
		verify_note_bad(w, true);
	}
	advance(w);
	if (++w->failures < FAILURES_MAX && !at_end(w)) {
		round_renew(w);
		return;
	}
	collective_write_rest(w, OUTCOME_NOT_RUN, "gave_up",
			      "several smaller sizes failed in a row");
	next_variant(w);
}

static void sizes_over(struct collective_work *w, const struct round_end *end)
{
	if (w->c->phase >= COORD_STOP) {
		stopped(w);
	} else if (w->what == DO_LEAVE) {
		next_variant(w);
	} else if (!end->ok) {
		round_failed(w, end);
	} else if (w->what == DO_JOIN) {
		join_over(w);
	} else {
		step_over(w);
	}
}

static const struct driver sizes_driver = {
	.ready = sizes_ready,
	.over = sizes_over,
};

/* ---- the end of a round -------------------------------------------------- */

static void round_over(struct collective_work *w)
{
	struct round_end end = {.ok = true};

	w->round = false;
	w->c->tasks_done++;
	for (int i = 0; i < w->n_members; i++) {
		const struct member *m = &w->members[i];

		end.ok = end.ok && !m->absent && m->r.outcome == OUTCOME_OK;
	}
	if (!end.ok) {
		round_blame(w, &end);
	} else if (w->what == DO_TICKET && w->c->phase < COORD_STOP) {
		STR_COPY(w->order.ticket, w->members[0].r.ticket);
		round_order(w, DO_JOIN, w->join_ns);
		return;
	}
	w->driver->over(w, &end);
}

static bool all_in(const struct collective_work *w)
{
	for (int i = 0; i < w->n_members; i++) {
		if (!w->members[i].in) {
			return false;
		}
	}
	return true;
}

static void collective_go_on(void *work)
{
	struct collective_work *w = work;

	while (w->c->phase < COORD_SETTLE) {
		if (w->opening && ranks_settled(&w->ranks)) {
			w->opening = false;
			w->driver->ready(w);
		} else if (w->round && all_in(w)) {
			round_over(w);
		} else if (w->paused) {
			round_go_on(w);
			if (w->paused) {
				break;
			}
		} else {
			break;
		}
	}
}

static void collective_tick(void *work, int64_t now_ns)
{
	struct collective_work *w = work;
	bool late = w->round && now_ns > w->deadline_ns;

	for (int i = 0; late && i < w->n_members; i++) {
		/* the answer of a member may be on its way */
		late = w->members[i].in ||
		       !agents_silent(w->ranks.all[w->members[i].rank].agent,
				      now_ns);
	}
	if (!late) {
		return;
	}
	if (w->failing && !w->cancelled) {
		round_call_off(w);
		return;
	}
	for (int i = 0; i < w->n_members; i++) {
		w->members[i].absent = !w->members[i].in;
		w->members[i].in = true;
	}
}

/* ---- the work --------------------------------------------------------- */

static int collective_start(struct coord *c, struct err *e)
{
	struct collective_work *w = c->work;
	int code;
	size_t n;

	w->c = c;
	w->pace.bytes_s = (double)c->spec.gentle_B;
	code = ranks_make(&w->ranks, c, &round_events, e);
	if (code != 0) {
		return code;
	}
	n = (size_t)w->ranks.layout.n_ranks + 1;
	w->driver = &sizes_driver;
	w->bad_size = -1;
	w->notes = json_array();
	w->members = calloc(n, sizeof(*w->members));
	w->acts = calloc(n, sizeof(*w->acts));
	w->parts = calloc(3 * n, sizeof(*w->parts));
	w->bad_of = calloc(n, sizeof(*w->bad_of));
	if (w->members == NULL || w->acts == NULL || w->parts == NULL ||
	    w->bad_of == NULL) {
		err_set(e, ENOMEM, "no memory for %zu ranks", n - 1);
		return 3;
	}
	w->room = w->parts + n;
	w->set = w->room + n;
	w->op = collective_parse(c->probe->name);
	w->dtype = dtype_find(c->spec.dtype);
	w->redop = redop_find(c->spec.redop);
	w->n_sizes = collective_sizes(&c->spec, w->sizes);
	w->n_variants = variants_make(&c->spec, w->variants, e);
	if (w->n_variants < 0) {
		return 2; /* what the user asked for */
	}
	if (w->dtype == NULL || w->redop == NULL || w->n_sizes < 0) {
		err_set(e, EINVAL, "the options of the run are not valid");
		return 2;
	}
	if (ranks_drill(&w->ranks, e) < 0) {
		return 2;
	}
	drill_allow_pxn(&w->ranks.drill);
	if (coord_write_run(c, false, e) < 0) {
		return 3;
	}
	run_log_event(c->log, NULL, -1, "start",
		      "%s, %d nodes, %d ranks, %d "
		      "sizes, %d variants",
		      w->ranks.ops->name, w->ranks.layout.n_nodes,
		      w->ranks.layout.n_ranks, w->n_sizes, w->n_variants);
	round_renew(w);
	return 0;
}

static void collective_cancel(void *work)
{
	struct collective_work *w = work;

	for (int i = 0; !w->cancelled && i < w->n_members; i++) {
		round_answer(w, w->members[i].rank, OUTCOME_NOT_RUN, true,
			     w->c->stop_code, "the run was stopped");
	}
	if (w->opening) {
		w->opening = false;
		w->driver->ready(w);
	}
}

static void collective_release(void *work)
{
	struct collective_work *w = work;

	variants_release(w->variants, w->n_variants);
	free(w->bisect);
	json_decref(w->found);
	json_decref(w->notes);
	free(w->members);
	free(w->acts);
	free(w->parts);
	free(w->bad_of);
	ranks_release(&w->ranks);
}

const struct coord_work coord_work_collective = {
	.size = sizeof(struct collective_work),
	.start = collective_start,
	.go_on = collective_go_on,
	.message = ranks_message,
	.agent_lost = ranks_agent_lost,
	.agent_late = ranks_agent_late,
	.tick = collective_tick,
	.cancel = collective_cancel,
	.write_facts = ranks_write_facts,
	.put_plan = collective_put_plan,
	.release = collective_release,
};
