/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that all ranks do together.  It goes in rounds: every member gets an
 * order, and the next one when all have answered or the deadline has passed.
 * Where one fails, all workers are renewed, because nobody knows what a broken
 * collective has left on the GPUs, and those who are not to blame go on.
 */
#include "probes/engine/coord/collective.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

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

/** Is there a member whose agent says nothing of anything? */
static bool is_unheard(const struct collective_work *w, int64_t now_ns)
{
	for (int i = 0; i < w->n_members; i++) {
		if (!w->members[i].in &&
		    ranks_silent(&w->ranks, w->members[i].rank, now_ns)) {
			return true;
		}
	}
	return false;
}

static void collective_tick(void *work, int64_t now_ns)
{
	struct collective_work *w = work;

	if (!w->round || now_ns <= w->deadline_ns || is_unheard(w, now_ns)) {
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

static int read_options(struct collective_work *w, struct err *e)
{
	w->op = collective_parse(w->c->probe->name);
	w->dtype = dtype_find(w->c->spec.dtype);
	w->redop = redop_find(w->c->spec.redop);
	w->n_sizes = collective_sizes(&w->c->spec, w->sizes);
	w->n_variants = variants_make(&w->c->spec, w->variants, e);
	if (w->n_variants < 0) {
		return -1;
	}
	return w->dtype == NULL || w->redop == NULL || w->n_sizes < 0
		       ? err_set(e, EINVAL, "the options of the run are not "
					    "valid")
		       : 0;
}

static int make_members(struct collective_work *w, struct err *e)
{
	size_t n = (size_t)w->ranks.layout.n_ranks + 1;

	w->driver = &sizes_driver;
	w->bad_size = -1;
	w->notes = json_array();
	w->members = calloc(n, sizeof(*w->members));
	w->acts = calloc(n, sizeof(*w->acts));
	w->parts = calloc(3 * n, sizeof(*w->parts));
	w->bad_of = calloc(n, sizeof(*w->bad_of));
	if (w->parts != NULL) {
		w->room = w->parts + n;
		w->set = w->room + n;
	}
	return w->members == NULL || w->acts == NULL || w->parts == NULL ||
			       w->bad_of == NULL
		       ? err_set(e, ENOMEM, "no memory for %zu ranks", n - 1)
		       : 0;
}

static int collective_start(struct coord *c, struct err *e)
{
	struct collective_work *w = c->work;
	int code;

	w->c = c;
	w->pace.bytes_s = (double)c->spec.gentle_B;
	code = ranks_make(&w->ranks, c, &round_events, e);
	if (code != 0) {
		return code;
	}
	if (make_members(w, e) < 0) {
		return 3;
	}
	if (read_options(w, e) < 0 || ranks_drill(&w->ranks, e) < 0) {
		return 2; /* what the user asked for */
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
	bisect_free(w->bisect);
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
