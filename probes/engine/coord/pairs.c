/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that is a task between two ranks: which workers the agents start, what
 * is tried again, what the files say about it.
 */
#include "probes/engine/coord/pairs.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/collective/collective.h"
#include "probes/engine/coord/ranks.h"
#include "probes/engine/net/message.h"
#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"
#include "probes/plan/plan.h"
#include "probes/plan/retry.h"

/* ---- opinion ------------------------------------------------------------- */

/** Maximum output accepted from 'gpucheck judge'; more is an error. */
#define TEXT_MAX (1 << 20)

struct opinion {
	uv_process_t process;
	uv_pipe_t out;
	struct str text;
	char buf[4096];
	struct spawn_status end;
	int open;		/* handles, of process and pipe */
	bool dropped;
	void (*heard)(void *arg, const json_t *verdict, const struct err *why);
	void *arg;
};

static bool pairs_shared_cores(const struct pairs_work *w);

static void opinion_free(struct opinion *o)
{
	str_release(&o->text);
	free(o);
}

/* When both handles are closed, the judge has ended and all that it said is
 * here. */
static void closed(uv_handle_t *h)
{
	struct opinion *o = h->data;
	struct err e = { 0 };
	json_t *verdict = NULL;
	char how[80];

	if (--o->open > 0) {
		return;
	}
	if (o->dropped) {
		opinion_free(o);
		return;
	}
	if (o->end.exit_code != 0) {
		err_set(&e, 0, "the judge ended with %s",
			spawn_status_text(&o->end, how, sizeof(how)));
	} else {
		verdict = json_parse(str_text(&o->text), o->text.len, &e);
	}
	o->heard(o->arg, verdict, &e);	/* which may drop @o, now or later */
	json_decref(verdict);
}

static void ended(uv_process_t *p, int64_t code, int signo)
{
	struct opinion *o = p->data;

	o->end = (struct spawn_status){ .exit_code = signo ? -1 : (int)code,
					.signal = signo };
	uv_close((uv_handle_t *)p, closed);
}

static void room(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
	struct opinion *o = h->data;

	(void)size;
	*buf = uv_buf_init(o->buf, sizeof(o->buf));
}

static void said(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct opinion *o = s->data;

	if (n >= 0 && o->text.len + (size_t)n <= TEXT_MAX && !o->text.failed) {
		str_addmem(&o->text, buf->base, (size_t)n);
	} else if (!uv_is_closing((uv_handle_t *)s)) {
		uv_close((uv_handle_t *)s, closed);
	}
}

/* Ask for the verdict of @dir (borrowed).  @heard is called once, with the
 * verdict (borrowed) or NULL with @why; not after opinion_drop().  NULL with
 * @e; opinion_drop() frees. */
static struct opinion *opinion_ask(uv_loop_t *loop, const char *dir,
				   void (*heard)(void *arg,
						 const json_t *verdict,
						 const struct err *why),
				   void *arg, struct err *e)
{
	struct opinion *o = calloc(1, sizeof(*o));
	char self[PATH_MAX];
	char *args[] = { self, (char *)"judge", (char *)dir, NULL };
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = o != NULL ? (uv_stream_t *)&o->out : NULL },
		{ .flags = UV_IGNORE },
	};
	const uv_process_options_t options = {
		.file = self, .args = args, .exit_cb = ended,
		.stdio = stdio, .stdio_count = 3,
	};
	int rc;

	if (o == NULL) {
		err_set(e, ENOMEM, "no memory for a verdict");
		return NULL;
	}
	if (spawn_self(self, sizeof(self), e) < 0) {
		opinion_free(o);
		return NULL;
	}
	o->heard = heard;
	o->arg = arg;
	uv_pipe_init(loop, &o->out, 0);
	o->out.data = o->process.data = o;
	o->open = 2;
	rc = uv_spawn(loop, &o->process, &options);
	if (rc < 0) {
		o->dropped = true;
		uv_close((uv_handle_t *)&o->process, closed);
		uv_close((uv_handle_t *)&o->out, closed);
		err_set(e, -rc, "cannot start a judge");
		return NULL;
	}
	uv_read_start((uv_stream_t *)&o->out, room, said);
	return o;
}

/* It is of no use any more, heard or not; safe on NULL. */
static void opinion_drop(struct opinion *o)
{
	if (o == NULL) {
		return;
	}
	if (o->open == 0) {
		opinion_free(o);
		return;
	}
	o->dropped = true;
	if (!uv_is_closing((uv_handle_t *)&o->process)) {
		uv_process_kill(&o->process, SIGKILL);
	}
	if (!uv_is_closing((uv_handle_t *)&o->out)) {
		uv_close((uv_handle_t *)&o->out, closed);
	}
}

/* ---- pair follow --------------------------------------------------------- */

/*
 * The follow-up: after the planned tests, a few rounds of further tests resolve
 * what they leave open, each round after a look at the verdict so far.  It is
 * optional: an error ends the follow-up, and the run is complete without it.
 */

/** So many tests fit in any run; in a large one a share of its own. */
#define FOLLOW_TESTS 64

static void end(struct pairs_work *w)
{
	opinion_drop(w->follow.opinion);
	w->follow.opinion = NULL;
	w->follow.over = true;
}

static void give_up(struct pairs_work *w, const char *why)
{
	run_log_event(w->c->log, NULL, -1, "follow_up_end", "%s", why);
	end(w);
}

static bool works(void *ctx, int rank)
{
	const struct pairs_work *w = ctx;

	return w->ranks.all[rank].state <= RANK_READY;
}

static int queue(void *ctx, const struct task *t)
{
	struct pairs_work *w = ctx;

	if (queue_new(w, *t) < 0) {
		return -1;
	}
	if (w->stage == PAIRS_FOLLOW) {
		w->follow.tests += t->dirs == (TASK_AB | TASK_BA) ? 2 : 1;
	}
	return 0;
}

/* Second attempts, and tests of the follow-up. */
static const struct retry_ops more_ops = { .works = works, .queue = queue };

/* Takes the verdict so far, and plans a round of the follow-up by it. */
static void heard(void *arg, const json_t *verdict, const struct err *why)
{
	struct pairs_work *w = arg;
	struct follow *f = &w->follow;
	const size_t most =
		FOLLOW_TESTS + (size_t)(ASK_SHARE * (double)w->plan.n);
	const size_t before = f->tests;
	struct err e = { 0 };

	f->heard = true;
	follow_time_hear(f, clock_now_ns(),
			 w->c->end_ns - COORD_STOP_NS);
	if (verdict == NULL) {
		give_up(w, why->text);
	} else if (w->c->phase != COORD_RUN) {
		/* no further tests */
	} else if (ask_take(&f->ask, verdict, &e) < 0) {
		give_up(w, e.text);
	} else if (ask_next(&f->ask, most, &more_ops, w) == 0) {
		end(w);
	} else {
		f->round++;
		run_log_event(w->c->log, NULL, -1, "follow_up",
			      "round %d: %zu tests to settle %zu findings",
			      f->round, f->tests - before, f->ask.n);
		coord_write_run(w->c, false, NULL); /* for those who watch */
	}
	if (w->c->phase < COORD_SETTLE) {
		w->c->kind->go_on(w);
	}
}

/** Begins the next round of the follow-up by asking for the verdict so far.
 *  Returns false if no round or time is left, or with @e. */
static bool ask_again(struct pairs_work *w, struct err *e)
{
	struct follow *f = &w->follow;

	if (f->round >= ask_rounds(w->ranks.layout.n_ranks) ||
	    follow_time_over(f, clock_now_ns())) {
		return false;
	}
	coord_flush_rows(w->c);	/* which the judge reads */
	opinion_drop(f->opinion);
	f->heard = false;
	follow_time_ask(f, clock_now_ns());
	f->opinion = opinion_ask(w->c->tick.loop, w->c->log->dir, heard, w, e);
	return f->opinion != NULL;
}

/* Begins the follow-up after the planned tests, or its next round.  Returns
 * true while it is under way. */
static bool follow_goes_on(struct pairs_work *w)
{
	struct follow *f = &w->follow;
	int64_t now = clock_now_ns(), one, share;
	struct err e = { 0 };

	if (f->over || w->c->phase != COORD_RUN) {
		return false;
	}
	if (w->stage == PAIRS_FOLLOW && !f->heard) {
		return true;
	}
	if (w->stage != PAIRS_FOLLOW) {
		/* a look and a test, however short the run was */
		one = order_budget_ns(&w->how) + TASK_GRACE_NS +
		      pace_left_ns(&w->pace, now);
		share = (int64_t)((double)(now - w->start_ns) * ASK_SHARE);
		f->deadline_ns = now + (share > one ? share : one);
		if (f->deadline_ns > w->c->end_ns - COORD_STOP_NS) {
			f->deadline_ns = w->c->end_ns - COORD_STOP_NS;
		}
		/* it can add nothing to pairs that were listed one by one, or
		 * that share cores */
		if (w->c->spec.no_follow_up || w->pairs.kind == PAIRS_LIST ||
		    w->ranks.layout.n_ranks <= 2 || pairs_shared_cores(w) ||
		    f->deadline_ns <= now) {
			f->over = true;
			return false;
		}
		w->stage = PAIRS_FOLLOW;
		/* under the conditions of the first pass, or nothing could be
		 * compared */
		f->pass = w->passes[0];
		STR_COPY(f->pass.name, P2P_FOLLOW_UP);
		if (ask_init(&f->ask, &w->ranks.layout) < 0) {
			give_up(w, "no memory for a follow-up");
			return false;
		}
		f->ask.inside = xport_is(w->ranks.ops, XPORT_ONE_NODE);
		f->ask.rails_apart = w->pairs.rails_apart;
		f->ask.ports = w->c->probe->ports;
	}
	if (!ask_again(w, &e)) {
		if (e.text[0] != '\0') {
			give_up(w, e.text);
		}
		end(w);
	}
	return !f->over;
}

/* ---- pairs --------------------------------------------------------------- */

#define LAST_WORDS_NS (2 * NS_PER_S)
/* Places for tasks per rank.  Numbers are given one after the other: those of
 * some rounds ahead, each of half the ranks, are all apart. */
#define PLACES_PER_RANK 8

/* ---- the plan ---------------------------------------------------------- */

/* Returns true if the plan lists its pairs one by one instead of as a square
 * matrix. */
static bool is_listed(const struct pairs_work *w)
{
	return w->pairs.kind == PAIRS_LIST || w->pairs.rounds > 0 ||
	       w->ranks.layout.n_ranks > SPEC_MAX_SQUARE;
}

/* Makes the grid, a square if all pairs are planned, else the planned pairs;
 * and its cells: planned ones are "not run", all others "unplanned". */
static int make_cells(struct pairs_work *w)
{
	const size_t n = 2 * w->plan.n;
	struct grid_pair *pairs = NULL;
	int rc = 0;

	if (is_listed(w)) {
		pairs = calloc(n + 1, sizeof(*pairs));
		for (size_t i = 0; pairs != NULL && i < n; i++) {
			const struct task *t = &w->plan.tasks[i / 2];

			pairs[i] = i % 2 ? (struct grid_pair){ t->b, t->a } :
					   (struct grid_pair){ t->a, t->b };
		}
		rc = pairs == NULL ? -1 : grid_of(&w->grid,
						  w->ranks.layout.n_ranks,
						  pairs, n);
		free(pairs);
	} else {
		w->grid = grid_square(w->ranks.layout.n_ranks);
	}
	w->cells = rc == 0 ? calloc(w->grid.n + 1, sizeof(*w->cells)) : NULL;
	if (w->cells == NULL) {
		return -1;
	}
	for (size_t i = 0; i <= w->grid.n; i++) {
		bool inside = i < w->grid.n &&
			      layout_same_node(&w->ranks.layout,
					       grid_src(&w->grid, i),
					       grid_dst(&w->grid, i));

		w->cells[i].class = CELL_UNPLANNED;
		w->cells[i].bw_GB_s = w->cells[i].lat_us = NAN;
		w->cells[i].expected_GB_s = NAN;
		w->cells[i].path = inside ? PATH_INTRA : PATH_INTER;
	}
	w->ranks.layout.grid = w->grid;
	w->ranks.layout.cells = w->cells;
	for (size_t i = 0; i < w->plan.n; i++) {
		const struct task *t = &w->plan.tasks[i];

		pairs_cell(w, t->a, t->b)->class = CELL_NOT_RUN;
		pairs_cell(w, t->b, t->a)->class = CELL_NOT_RUN;
	}
	return 0;
}

static int make_pairs(struct pairs_work *w, struct err *e)
{
	const struct run_file before = run_file(w->c->before);
	bool unrouted;

	if (pairs_parse(w->c->spec.pairs, &w->pairs, e) < 0) {
		return -1;
	}
	/* whether rails have no route between them: a resumed run keeps the
	 * answer it was planned with, whatever the routes are now */
	unrouted = before.planned.given ?
			   before.planned.rails_apart :
			   ranks_unrouted(&w->ranks, &w->unrouted);
	w->pairs.rails_apart = plan_rails_apart(&w->c->spec, unrouted);
	/* what has not come back must not keep the others from it */
	w->pairs.what_is_there = w->c->spec.retest[0] != '\0';
	w->pairs.expected = w->c->spec.nodelist[0] ? w->c->spec.nodelist : NULL;
	if (xport_is(w->ranks.ops, XPORT_ONE_NODE) &&
	    pairs_keep_inside(&w->pairs, w->ranks.ops->name, e) < 0) {
		return -1;
	}
	pairs_settle(&w->pairs, &w->c->spec, &w->ranks.layout);
	return plan_pairs(&w->ranks.layout, &w->pairs, &w->plan, e);
}

/* ---- as it goes on ----------------------------------------------------- */

/*
 * Counters of ports and GPUs have grown or have not: ask once more before the
 * end.  Returns true while an answer is awaited.
 */
static bool await_last_words(struct pairs_work *w)
{
	int64_t now = clock_now_ns();
	struct coord_agent *a = NULL;
	bool waiting = false;

	if (!w->c->probe->ports && !xport_is(w->ranks.ops, XPORT_GPU)) {
		return false;
	}
	while ((a = agents_next(w->c->agents, a)) != NULL) {
		bool there = wire_is_open(&a->wire) && !a->lost;

		if (there && !w->asked) {
			agents_send(a, message_new(MSG_LAST_LOOK, NULL));
		}
		waiting = waiting || (there && a->last_words == NULL);
	}
	if (!w->asked) {
		w->ask_deadline_ns = now + LAST_WORDS_NS;
		w->asked = true;
	}
	/* a fault of all ranks is none of those that have reported it */
	return (waiting || !ranks_settled(&w->ranks)) &&
	       now < w->ask_deadline_ns;
}

/* Everything that could be measured has been: true when there is more. */
static bool find_more(struct pairs_work *w)
{
	struct slow_limit limits[PATH_CLASSES];
	int64_t now = clock_now_ns();
	size_t n = 0;

	if (w->c->phase == COORD_RUN && w->stage == PAIRS_FIRST) {
		int64_t share =
			(int64_t)((double)(now - w->start_ns) * RETRY_SHARE);
		int64_t one = order_budget_ns(&w->how) +
			      pace_left_ns(&w->pace, now);

		/* time for at least one attempt, however short the run */
		w->retry_ns = now + (share > one ? share : one);
		w->stage = PAIRS_RETRY;
		cells_mark_slow(w->cells, w->grid.n, order_most_B(&w->how),
				limits);
		cluster_find_domains(&w->ranks.layout.cluster);
		for (int bad = RETRY_BROKEN; bad <= RETRY_STARVED; bad++) {
			n += retry_choose(&w->ranks.layout, (enum retry_bad)bad,
					  &more_ops, w);
		}
		if (n > 0) {
			run_log_event(w->c->log, NULL, -1, "retry",
				      "retrying %zu pairs", queue_size(w));
			return true;
		}
	}
	if (follow_goes_on(w)) {
		return false;
	}
	if (pass_more(w)) {
		if (!ranks_settled(&w->ranks)) {
			return false;
		}
		pass_next(w);
		return true;
	}
	if (!await_last_words(w)) {
		coord_leave(w->c);
	}
	return false;
}

/* Start whatever may start now, or end. */
static void pairs_go_on(void *work)
{
	struct pairs_work *w = work;
	bool going, more;
	struct task t;

	do {
		going = w->c->phase < COORD_STOP;
		if (going && w->waiting != NULL && w->active == NULL &&
		    dispatch_queued(w->dispatch) == 0 &&
		    dispatch_queued(w->waiting) > 0 &&
		    ranks_settled(&w->ranks)) {
			join_wave(w);
		}
		while (going && join_quiet(w) &&
		       dispatch_next(w->dispatch, &t)) {
			task_start(w, &t);
		}
		more = dispatch_running(w->dispatch) == 0 &&
		       w->n_joining == 0 &&
		       (queue_size(w) == 0 || w->c->phase == COORD_STOP) &&
		       find_more(w);
	} while (more);
}

static void pairs_tick(void *work, int64_t now_ns)
{
	struct pairs_work *w = work;

	/* other tasks may begin where all is paid */
	dispatch_hold(w->dispatch, !pace_is_open(&w->pace, now_ns));
	task_tick(w, now_ns);
	if (w->stage == PAIRS_FOLLOW && !w->follow.over &&
	    follow_time_over(&w->follow, now_ns)) {
		join_undo(w, -1);
		rows_drop_queue(w, -1, OUTCOME_NOT_RUN, "out_of_time",
				"no time for a follow-up");
		give_up(w, "no time for more");
	}
	if (w->c->phase == COORD_RUN && w->stage == PAIRS_RETRY &&
	    now_ns > w->retry_ns) {
		join_undo(w, -1);
		rows_drop_queue(w, -1, OUTCOME_NOT_RUN, "out_of_time",
				"no time for a retry");
	}
}

static void pairs_stop(void *work)
{
	struct pairs_work *w = work;

	join_undo(w, -1);
	rows_drop_stopped(w);
	if (w->stage != PAIRS_FOLLOW) {
		return;
	}
	end(w);
	if (!pass_more(w) && w->c->error.text[0] == '\0') {
		/* nothing that was planned is missing */
		w->c->stop_reason[0] = '\0';
	}
}

/* ---- the beginning ----------------------------------------------------- */

/* Sets the environment of the workers from the first value of a setting that a
 * collective would vary, such as --nccl-lib. */
static int take_library(struct pairs_work *w, struct err *e)
{
	struct variant *v = calloc(VARIANTS_MAX, sizeof(*v));
	int n = v != NULL ? variants_make(&w->c->spec, v, e) : 0;

	if (n > 0 && json_object_size(v[0].env) > 0) {
		w->env = json_incref(v[0].env);
	}
	variants_release(v, n);
	free(v);
	return n < 0 ? -1 : 0;
}

/* Return true if tests that fail are repeated with port failover: jobs of a
 * node have it, while all other tests are without, or the user asks. */
static bool is_confirmed(const struct coord *c, const struct xport_ops *ops)
{
	const struct coord_agent *a = NULL;
	bool set = c->spec.contrast == CONTRAST_FAILOVER;

	while ((a = agents_next(c->agents, a)) != NULL) {
		const char *value = nccl_conf_get(
			inventory_seen(a->inventory).nccl,
			NCCL_FAILOVER, NULL);

		set = set || (value != NULL && strcmp(value, "0") != 0 &&
			      c->spec.contrast == CONTRAST_NONE);
	}
	return set && xport_is(ops, XPORT_SETTINGS) &&
	       !c->spec.production_settings;
}

static int make_plan(struct pairs_work *w, struct err *e)
{
	struct coord *c = w->c;
	const struct xport_ops *ops = w->ranks.ops;
	int64_t size = (int64_t)ops->default_size_bytes;

	/* -b -e -f: rising sizes */
	w->how = (struct order_how){
		.setup_ns = ops->setup_timeout_ns,
		.run_ns = plan_task_ns(&c->spec, ops),
		.iters = c->spec.iters,
		.warmup = c->spec.warmup,
		.check = c->spec.check,
	};
	w->how.n_sizes = spec_sizes(&c->spec, size, size, w->how.sizes);
	if (w->how.n_sizes < 0) {
		err_set(e, 0, "more than %d sizes", SPEC_MAX_SIZES);
		return 2;
	}
	/* what is wrong here is what the user asked for */
	if (ranks_drill(&w->ranks, e) < 0 || make_pairs(w, e) < 0 ||
	    take_library(w, e) < 0) {
		return 2;
	}
	w->pace.bytes_s = (double)c->spec.gentle_B;
	if (c->spec.gentle_B > 0 && ranks_find_leaves(&w->ranks, e) < 0) {
		return 3;
	}
	w->n_passes = pass_list(&c->spec, w->passes);
	w->confirms = w->n_passes == 1 && is_confirmed(c, ops);
	w->at_work = calloc((size_t)w->ranks.layout.n_ranks + 1,
			    sizeof(struct active *));
	w->n_by_id = 1;
	while (w->n_by_id < PLACES_PER_RANK * (size_t)w->ranks.layout.n_ranks) {
		w->n_by_id *= 2;
	}
	w->by_id = calloc(w->n_by_id, sizeof(struct active *));
	if (w->at_work == NULL || w->by_id == NULL || make_cells(w) < 0) {
		err_set(e, ENOMEM, "no memory for the plan");
		return 3;
	}
	if (c->before != NULL && pass_resume(w, e) < 0) {
		return 3;
	}
	return pass_open(w, e) < 0 || coord_write_run(c, false, e) < 0 ? 3 : 0;
}

static int pairs_start(struct coord *c, struct err *e)
{
	struct pairs_work *w = c->work;
	int code;

	w->c = c;
	w->start_ns = clock_now_ns();
	code = ranks_make(&w->ranks, c, &task_events, e);
	code = code == 0 ? make_plan(w, e) : code;
	if (code != 0) {
		return code;
	}
	run_log_event(c->log, NULL, -1, "start",
		      "%s, %d nodes, %d ranks, %zu tests", w->ranks.ops->name,
		      w->ranks.layout.n_nodes, w->ranks.layout.n_ranks,
		      w->plan.cells);
	ranks_start(&w->ranks, pairs_pass(w), w->env, &w->how);
	pass_settle_ranks(w);
	return 0;
}

/* ---- files ------------------------------------------------------------- */

static json_t *planned_json(struct pairs_work *w)
{
	const struct ranks *r = &w->ranks;
	const struct run_file before = run_file(w->c->before);
	bool listed = is_listed(w), grouped = r->ports.n_groups > 1;
	json_t *list = listed ? json_array() : NULL, *json;
	json_t *groups = grouped ? json_array() : NULL;	/* of each rank */
	json_t *fabrics = grouped ? json_array() : NULL; /* in words */
	json_t *sample = sampled_json(&w->plan.sample);
	char text[PORT_GROUP_TEXT], hca[PORTS_FILTER_TEXT] = "";
	char rails_by[64];
	const char *by = "";

	for (size_t i = 0; listed && i < w->plan.n; i++) {
		json_array_append_new(list,
				      json_pack("[i,i]", w->plan.tasks[i].a,
						w->plan.tasks[i].b));
	}
	for (int i = 0; grouped && i < r->layout.n_ranks; i++) {
		json_array_append_new(groups,
				      json_integer(r->layout.ranks[i].group));
	}
	for (int g = 0; grouped && g < r->ports.n_groups; g++) {
		port_group_text(&r->ports, g, text);
		json_array_append_new(fabrics, json_string(text));
	}
	/* how it is known that rails do not meet, unless it is an option */
	if (w->pairs.rails_apart && w->c->spec.fabric == FABRIC_AUTO) {
		snprintf(rails_by, sizeof(rails_by), "%d of %d nodes",
			 w->unrouted, r->layout.n_nodes);
		by = before.planned.rails_by[0] != '\0' ?
			     before.planned.rails_by : rails_by;
	}
	if (w->c->probe->ports) {
		ports_filter_text(w->c, hca);
	}
	json = run_part_json("planned", &(struct run_file){ .planned = {
		.kind = listed ? "list" : pairs_kinds[w->pairs.kind],
		.rails_apart = w->pairs.rails_apart, .rails_by = by,
		.cells = (int64_t)w->plan.cells, .passes = w->n_passes,
		.pairs = list, .groups = groups, .fabrics = fabrics,
		.hca = hca, .sample = sample } });
	json_decref(list);
	json_decref(groups);
	json_decref(fabrics);
	json_decref(sample);
	return json;
}

/* Returns true if local ranks disturb each other, so that slowness proves
 * little. */
static bool pairs_shared_cores(const struct pairs_work *w)
{
	bool by_cpu = xport_is(w->ranks.ops, XPORT_SHARED_CORES);

	for (int r = 0; !by_cpu && r < w->ranks.layout.n_ranks; r++) {
		by_cpu = w->ranks.all[r].software;
	}
	return by_cpu ? ranks_share_machine(&w->ranks)
		      : ranks_pretend(&w->ranks) &&
				xport_is(w->ranks.ops, XPORT_GPU);
}

/* Returns true if the earlier part of the run does not fit this plan, so that
 * its files must stay as they are. */
static bool is_misfit(const struct pairs_work *w)
{
	return w->c->before != NULL && !w->fits;
}

static void pairs_write_facts(void *work)
{
	struct pairs_work *w = work;

	if (!is_misfit(w)) {
		ranks_write_facts(&w->ranks);
	}
}

static void pairs_put_plan(void *work, json_t *run)
{
	struct pairs_work *w = work;

	if (is_misfit(w) || w->ranks.layout.n_ranks == 0) {
		return;		/* stopped before there was one */
	}
	ranks_put_plan(&w->ranks, run, w->how.sizes, w->how.n_sizes,
		       w->settings);
	json_object_set_new(run, "schedule", json_string(w->passes[0].name));
	if (w->n_passes > 1) {
		/* cells are of that schedule; the ratio is of this pass to it
		 */
		json_object_set_new(
			run, "contrast", run_part_json(
				"contrast", &(struct run_file){ .contrast = {
					.kind = spec_choice_name(
						"compare",
						w->c->spec.contrast),
					.pass = w->passes[1].name } }));
	}
	if (w->how.n_sizes > 0) {
		json_object_set_new(run, "size_B",
				    json_integer(order_most_B(&w->how)));
	}
	json_object_set_new(run, "planned", planned_json(w));
	if (w->follow.round > 0) {
		json_object_set_new(run, "follow_up", run_part_json(
			"follow_up", &(struct run_file){ .follow_up = {
				.rounds = w->follow.round,
				.tests = (int64_t)w->follow.tests } }));
	}
	json_object_set_new(run, "shared_cores",
			    json_boolean(pairs_shared_cores(w)));
}

/* ---- the end ----------------------------------------------------------- */

static void pairs_end(void *work)
{
	struct pairs_work *w = work;

	opinion_drop(w->follow.opinion);
	ask_release(&w->follow.ask);
	convict_free(w->convict);
	json_decref(w->env);
	json_decref(w->settings);
	dispatch_free(w->dispatch);
	dispatch_free(w->waiting);
	resume_release(&w->left);
	plan_release(&w->plan);
	pairs_release(&w->pairs);
	free(w->cells);
	grid_release(&w->grid);
	free(w->at_work);
	free(w->by_id);
	ranks_release(&w->ranks);
}

const struct coord_work coord_work_pairs = {
	.size = sizeof(struct pairs_work),
	.start = pairs_start,
	.go_on = pairs_go_on,
	.message = ranks_message,
	.entry = ranks_entry,
	.agent_lost = ranks_agent_lost,
	.agent_late = ranks_agent_late,
	.tick = pairs_tick,
	.stop = pairs_stop,
	.cancel = task_cancel_all,
	.write_facts = pairs_write_facts,
	.put_plan = pairs_put_plan,
	.release = pairs_end,
};
