/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that all ranks do together.  It goes in rounds: every member gets an
 * order, and the next one when all have answered or the deadline has passed.
 * Where one fails, all workers are renewed, because nobody knows what a broken
 * group has left on the GPUs, and those who are not to blame go on.
 */
#include "probes/engine/coord/group.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/str.h"

/* Beyond what a member was given: its agent has killed it by then. */
#define GRACE_NS  (COLL_LATE_NS + 5 * NS_PER_S)
/* After a word to give up. */
#define CANCEL_NS GRACE_NS
#define TICKET_NS (10 * NS_PER_S)
#define STEP_NS	  (30 * NS_PER_S)
/* A step may take this much longer than was promised; and this long at most,
 * as the promise is an agent's word: an order has no more than a week. */
#define PATIENCE  3
#define BUDGET_NS 6e14

void group_note(struct coord *c, const char *fmt, ...)
{
	struct group *g = c->group;
	char text[400];
	va_list ap;
	json_t *note, *old;
	size_t i;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note = json_text(text);
	json_array_foreach(g->notes, i, old) {
		if (json_equal(old, note)) {
			json_decref(note);
			return;
		}
	}
	json_array_append_new(g->notes, note);
	coord_event(c, NULL, -1, "note", "%s", text);
}

int64_t group_step_ns(const struct coord *c)
{
	return c->spec.timeout_ns > 0 ? c->spec.timeout_ns : STEP_NS;
}

int64_t group_patient_ns(const struct coord *c, double about_us)
{
	return (int64_t)fmin((double)group_step_ns(c) +
				     PATIENCE * about_us * 1e3,
			     BUDGET_NS);
}

int group_able(const struct coord *c, int *ranks)
{
	int n = 0;

	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state == RANK_READY) {
			ranks[n++] = r;
		}
	}
	return n;
}

/* ---- orders out ----------------------------------------------------------- */

void group_order(struct coord *c, enum coll_do what, int64_t budget_ns)
{
	struct group *g = c->group;
	struct coll_order *o = &g->order;
	int n = what == COLL_TICKET ? 1 : g->n_members;

	g->what = what;
	g->id = c->next_id++;
	g->round = true;
	g->failing = g->cancelled = false;
	g->deadline_ns = clock_now_ns() + budget_ns + GRACE_NS;
	o->what = what;
	o->id = g->id;
	o->budget_ns = budget_ns;
	o->slow_factor = g->slow_factor;
	for (int i = 0; i < g->n_members; i++) {
		struct member *m = &g->members[i];

		m->in = i >= n;
		m->absent = false;
		o->rank = m->rank;
		o->me = i;
		o->drill = g->acts[i].drill;
		o->silent = g->acts[i].silent;
		if (i < n) {
			coord_send(c, m->rank, coll_order_json(o));
		}
	}
}

void group_join(struct coord *c, const int *ranks, int n)
{
	struct group *g = c->group;
	const struct variant *v = &g->variants[g->variant];

	g->n_members = n;
	for (int i = 0; i < n; i++) {
		g->members[i].rank = ranks[i];
	}
	g->slow_factor = coll_drill(&c->drill, &c->layout, ranks, n,
				    ++g->made, (uint64_t)c->spec.seed,
				    g->acts);
	g->order = (struct coll_order){
		.ranks = n, .nodes = group_nodes(c), .op = g->op,
		.dtype = g->dtype, .redop = g->redop, .factor = 2,
		.seed = c->spec.seed,
	};
	door_nonce(g->order.nonce);
	STR_COPY(g->order.variant, v->name);
	STR_COPY(g->order.algo, v->algo);
	STR_COPY(g->order.proto, v->proto);
	group_order(c, COLL_TICKET, TICKET_NS);
}

void group_renew(struct coord *c)
{
	struct group *g = c->group;

	g->opening = true;
	g->round = false;
	for (int r = 0; r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state == RANK_READY) {
			c->ranks[r].state = RANK_OPENING;
		}
	}
	coord_start_agents(c, g->variants[g->variant].env);
	for (int r = 0; c->ops->caps & XPORT_MODEL &&
			r < c->layout.n_ranks; r++) {
		if (c->ranks[r].state == RANK_OPENING) {
			c->ranks[r].state = RANK_READY;
		}
	}
}

/* ---- the end of a round -------------------------------------------------- */

/** Who has not answered is told to give up. */
static void call_off(struct coord *c)
{
	struct group *g = c->group;

	g->cancelled = true;
	g->deadline_ns = clock_now_ns() + CANCEL_NS;
	for (int i = 0; i < g->n_members; i++) {
		int rank = g->members[i].rank;

		if (!g->members[i].in) {
			coord_send(c, rank,
				   json_pack("{s:s,s:I,s:i}", "t", "cancel",
					     "id", (json_int_t)g->id, "rank",
					     rank));
		}
	}
}

static void round_over(struct coord *c)
{
	struct group *g = c->group;
	struct group_end end = { .ok = true };

	g->round = false;
	c->tasks_done++;
	for (int i = 0; i < g->n_members; i++) {
		const struct member *m = &g->members[i];

		if (g->what == COLL_TICKET && i > 0) {
			break;
		}
		end.ok = end.ok && !m->absent && m->r.outcome == OUTCOME_OK;
	}
	if (!end.ok) {
		group_blame(c, &end);
	}
	g->driver->over(c, &end);
}

static bool all_in(const struct group *g)
{
	for (int i = 0; i < g->n_members; i++) {
		if (!g->members[i].in) {
			return false;
		}
	}
	return true;
}

void group_pump(struct coord *c)
{
	struct group *g = c->group;

	while (c->phase != COORD_LEAVE) {
		if (g->opening && coord_all_settled(c)) {
			g->opening = false;
			g->driver->ready(c);
		} else if (g->round && all_in(g)) {
			round_over(c);
		} else {
			break;
		}
	}
}

static void group_tick(struct coord *c, int64_t now_ns)
{
	struct group *g = c->group;

	if (g->round && now_ns > g->deadline_ns && g->failing &&
	    !g->cancelled) {
		call_off(c);
	}
	for (int i = 0; g->round && now_ns > g->deadline_ns &&
			i < g->n_members; i++) {
		struct member *m = &g->members[i];

		if (m->in) {
			continue;
		}
		m->in = m->absent = true;
		coll_result_init(&m->r, &g->order);
	}
	group_pump(c);
}

/* ---- the work ------------------------------------------------------------------ */

static int read_options(struct coord *c, struct err *e)
{
	struct group *g = c->group;

	g->op = collective_parse(c->probe->name);
	g->dtype = coll_dtype_find(c->spec.dtype);
	g->redop = coll_redop_find(c->spec.redop);
	g->n_sizes = coll_sweep_sizes(&c->spec, g->sizes);
	g->n_variants = variants_make(&c->spec, g->variants, e);
	if (g->n_variants < 0) {
		return -1;
	}
	return g->dtype == NULL || g->redop == NULL || g->n_sizes < 0 ?
		       err_set(e, EINVAL, "the options make no sense") :
		       0;
}

static int make_group(struct coord *c, struct err *e)
{
	struct group *g = calloc(1, sizeof(*g));
	size_t n = (size_t)c->layout.n_ranks + 1;

	c->group = g;
	if (g != NULL) {
		g->driver = &group_sweep;
		g->bad_size = -1;
		g->notes = json_array();
		g->members = calloc(n, sizeof(*g->members));
		g->acts = calloc(n, sizeof(*g->acts));
		g->parts = calloc(n, sizeof(*g->parts));
	}
	if (g == NULL || g->members == NULL || g->acts == NULL ||
	    g->parts == NULL) {
		return err_set(e, ENOMEM, "no memory for a group");
	}
	return 0;
}

static int group_start(struct coord *c, struct err *e)
{
	if (coord_make_layout(c, e) < 0 || make_group(c, e) < 0) {
		return -1;
	}
	c->error_exit = 2;	/* what follows is what the user asked for */
	if (read_options(c, e) < 0 || coord_make_drill(c, e) < 0) {
		return -1;
	}
	c->error_exit = 3;
	/* jobs let NCCL go by way of other GPUs: so do we */
	c->passes[0] = (struct pass){ .pxn = true };
	c->n_passes = 1;
	drill_allow_pxn(&c->drill);
	if (coord_write_run(c, false, e) < 0) {
		return -1;
	}
	c->error_exit = 0;
	coord_event(c, NULL, -1, "start", "%s, %d nodes, %d ranks, %d sizes, "
		    "%d variants", c->ops->name, c->layout.n_nodes,
		    c->layout.n_ranks, c->group->n_sizes,
		    c->group->n_variants);
	group_renew(c);
	group_pump(c);
	return 0;
}

static void group_stop(struct coord *c, const char *code)
{
	(void)code;	/* the round may end: over() sees the phase */
	group_pump(c);
}

static void group_cancel(struct coord *c)
{
	struct group *g = c->group;

	if (g->round && !g->cancelled) {
		for (int i = 0; i < g->n_members; i++) {
			struct member *m = &g->members[i];

			if (!m->in) {
				group_member_says(c, m, OUTCOME_NOT_RUN, true,
						  "interrupted",
						  "the run was stopped");
			}
		}
	}
	if (g->opening) {
		g->opening = false;
		g->driver->ready(c);
	}
	group_pump(c);
}

static void group_release(struct coord *c)
{
	struct group *g = c->group;

	if (g != NULL) {
		variants_release(g->variants, g->n_variants);
		bisect_free(g->bisect);
		json_decref(g->found);
		json_decref(g->notes);
		free(g->members);
		free(g->acts);
		free(g->parts);
		free(g);
	}
	coord_release_ranks(c);
}

const struct coord_work coord_work_group = {
	.start = group_start,
	.message = group_message,
	.agent_lost = group_agent_lost,
	.tick = group_tick,
	.stop = group_stop,
	.cancel = group_cancel,
	.write_facts = coord_write_rank_facts,
	.put_plan = group_put_plan,
	.release = group_release,
};
