/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work that all ranks do together.  It goes in rounds: every member gets an
 * order, and the next one when all have answered or the deadline has passed.
 * A round that fails says who is to blame: who died, who said so, who did not
 * answer; those who only waited in vain are not.  Then all workers are renewed,
 * because nobody knows what a broken group has left on the GPUs, and the others
 * go on.
 */
#include "probes/coord_group.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/hash.h"
#include "lib/json.h"
#include "lib/str.h"

/* Beyond what a member was given: its agent has killed it by then. */
#define GRACE_NS    (COLL_LATE_NS + 5 * NS_PER_S)
/* What fails everywhere does so at about the same time: who is told to give up
 * sooner cannot say it any more. */
#define LISTEN_NS   (1 * NS_PER_S)
/* After a word to give up. */
#define CANCEL_NS   GRACE_NS
#define TICKET_NS   (10 * NS_PER_S)
#define JOIN_NS	    (60 * NS_PER_S)
#define STEP_NS	    (30 * NS_PER_S)
/* A step may take this much longer than was promised; and this long at most,
 * as the promise is an agent's word: an order has no more than a week. */
#define PATIENCE    3
#define BUDGET_NS   6e14

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

/* ---- answers in ------------------------------------------------------------- */

static void rank_down(struct coord *c, int rank, enum rank_state state,
		      const char *code, const char *detail)
{
	struct coord_rank *r = &c->ranks[rank];

	if (r->state > RANK_READY) {
		return;
	}
	r->state = state;
	STR_COPY(r->code, code);
	STR_COPY(r->detail, detail);
	coord_event(c, coord_node(c, rank), rank, code, "%s", detail);
}

static struct member *member_of(struct group *g, int rank)
{
	for (int i = 0; g->round && i < g->n_members; i++) {
		if (g->members[i].rank == rank && !g->members[i].in) {
			return &g->members[i];
		}
	}
	return NULL;
}

static bool failed(const struct coll_result *r)
{
	return r->outcome != OUTCOME_OK;
}

/** One is in; where it failed, the others wait in vain, or fail as well. */
static void answered(struct coord *c, struct member *m)
{
	struct group *g = c->group;
	int64_t listen_ns = clock_now_ns() + LISTEN_NS;

	m->in = true;
	if (failed(&m->r) && !g->failing && g->deadline_ns > listen_ns) {
		g->failing = true;
		g->deadline_ns = listen_ns;
	}
}

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

static void member_says(struct coord *c, struct member *m, enum outcome o,
			bool echo, const char *code, const char *detail)
{
	coll_result_init(&m->r, &c->group->order);
	m->r.rank = m->rank;
	coll_fail(&m->r, o, code, "%s", detail);
	m->r.echo = echo;
	answered(c, m);
}

static void add_rank(struct coord *c, int rank, char *text, size_t size)
{
	size_t at = strlen(text);

	snprintf(text + at, size - at, "%srank %d (%.40s:%d)",
		 at > 0 ? ", " : "", rank, coord_node(c, rank),
		 c->layout.ranks[rank].gpu);
}

/** Who is to blame?  Nobody, where all say the same: it is no rank's fault. */
static int name_culprits(struct coord *c, bool *culprit)
{
	struct group *g = c->group;
	int n = 0, expected = g->what == COLL_TICKET ? 1 : g->n_members;

	for (int i = 0; i < expected; i++) {
		const struct member *m = &g->members[i];

		culprit[i] = m->absent || (failed(&m->r) && !m->r.echo);
		n += culprit[i];
	}
	if (n == expected && expected > 1) {
		memset(culprit, 0, (size_t)g->n_members * sizeof(*culprit));
		n = 0;
	}
	return n;
}

/** The first answer that tells most: not an echo, then any. */
static const struct coll_result *telling(const struct group *g)
{
	const struct coll_result *best = NULL;

	for (int i = 0; i < g->n_members; i++) {
		const struct coll_result *r = &g->members[i].r;

		if (g->members[i].absent || !failed(r)) {
			continue;
		}
		if (best == NULL || (best->echo && !r->echo) ||
		    (best->echo && strcmp(best->code, "cancelled") == 0)) {
			best = r;
		}
	}
	return best;
}

static void describe_failure(struct coord *c, struct group_end *end,
			     const bool *culprit)
{
	struct group *g = c->group;
	const struct coll_result *r = telling(g);
	char who[200] = "";
	bool absent = false;

	for (int i = 0; i < g->n_members; i++) {
		if (culprit[i]) {
			add_rank(c, g->members[i].rank, who, sizeof(who));
			absent = absent || g->members[i].absent ||
				 g->members[i].r.outcome == OUTCOME_TIMEOUT;
		}
	}
	end->outcome = r != NULL ? r->outcome : OUTCOME_TIMEOUT;
	STR_COPY(end->code, absent	? "rank_absent" :
			    r != NULL	? r->code :
					  "worker_hung");
	if (end->n_culprits > 0) {
		snprintf(end->detail, sizeof(end->detail), "%s %s%s%.180s",
			 absent ? "did not arrive:" : "failed:", who,
			 r != NULL ? ": " : "", r != NULL ? r->detail : "");
	} else {
		snprintf(end->detail, sizeof(end->detail),
			 "no single rank is to blame, all %d arrived: %.250s",
			 g->n_members, r != NULL ? r->detail : "");
	}
}

/** Out with those who are to blame; the rest goes on without them. */
static void drop_culprits(struct coord *c, const struct group_end *end,
			  const bool *culprit)
{
	struct group *g = c->group;

	for (int i = 0; i < g->n_members; i++) {
		int rank = g->members[i].rank;
		const struct coll_result *r = &g->members[i].r;

		if (!culprit[i]) {
			continue;
		}
		rank_down(c, rank, RANK_RETIRED,
			  g->members[i].absent ? "rank_absent" : r->code,
			  g->members[i].absent ? "no answer in time" :
						 r->detail);
		coord_send(c, rank, json_pack("{s:s,s:i}", "t", "kill", "rank",
					      rank));
	}
	coord_event(c, NULL, -1, "group_failed", "%s", end->detail);
}

static void round_over(struct coord *c)
{
	struct group *g = c->group;
	struct group_end end = { .ok = true };
	bool *culprit = calloc((size_t)g->n_members + 1, sizeof(*culprit));

	g->round = false;
	c->tasks_done++;
	for (int i = 0; i < g->n_members; i++) {
		const struct member *m = &g->members[i];

		if (g->what == COLL_TICKET && i > 0) {
			break;
		}
		end.ok = end.ok && !m->absent && !failed(&m->r);
	}
	if (!end.ok && culprit != NULL) {
		end.n_culprits = name_culprits(c, culprit);
		describe_failure(c, &end, culprit);
		drop_culprits(c, &end, culprit);
	}
	free(culprit);
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

/** Is there something to do?  Call after anything that may have changed. */
static void pump(struct coord *c)
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

static void said_done(struct coord *c, int rank, json_t *msg)
{
	struct group *g = c->group;
	struct member *m = member_of(g, rank);
	int64_t id = -1;
	struct err e = { 0 };

	json_opt_int(msg, "id", 0, UINT32_MAX, &id, NULL);
	if (m == NULL || id != g->id) {
		return;		/* of an earlier round */
	}
	if (coll_result_parse(msg, &m->r, &e) < 0) {
		member_says(c, m, OUTCOME_ERROR, false, "bad_answer", e.text);
		return;
	}
	answered(c, m);
}

static void said_died(struct coord *c, int rank, json_t *msg)
{
	struct member *m = member_of(c->group, rank);
	char step[256] = "", how[400];
	int64_t sig = 0, code = 0;
	bool hung = false, retired = false;

	json_opt_int(msg, "signal", 0, 1000, &sig, NULL);
	json_opt_int(msg, "exit", -1000, 1000, &code, NULL);
	json_opt_bool(msg, "hung", &hung, NULL);
	json_opt_bool(msg, "retired", &retired, NULL);
	json_opt_text(msg, "step", step, sizeof(step), NULL);
	snprintf(how, sizeof(how), "worker %s %d while %.200s",
		 sig != 0 ? "ended by signal" : "ended with exit code",
		 (int)(sig != 0 ? sig : code), step[0] ? step : "starting");
	if (hung) {
		snprintf(how, sizeof(how), "worker hung while %.200s", step);
	}
	coord_event(c, coord_node(c, rank), rank, "worker_died", "%s", how);
	if (c->ranks[rank].state == RANK_READY) {
		c->ranks[rank].state = RANK_OPENING;
	}
	if (m != NULL) {
		member_says(c, m, hung ? OUTCOME_TIMEOUT : OUTCOME_CRASHED,
			    false, hung ? "worker_hung" : "worker_crashed",
			    how);
	}
	if (retired) {
		rank_down(c, rank, RANK_RETIRED, "rank_retired", how);
	}
}

static void said_ready(struct coord *c, int rank, json_t *msg)
{
	struct coord_rank *r = &c->ranks[rank];

	if (r->state == RANK_OPENING) {
		json_decref(r->facts);
		r->facts = json_incref(json_object_get(msg, "facts"));
		r->state = RANK_READY;
	}
}

static void said_unusable(struct coord *c, int rank, json_t *msg)
{
	char code[48] = "open_failed", detail[300] = "";

	json_opt_text(msg, "code", code, sizeof(code), NULL);
	str_copy(detail, sizeof(detail),
		 json_string_value(json_object_get(msg, "detail")) ?
			 json_string_value(json_object_get(msg, "detail")) :
			 "");
	rank_down(c, rank, RANK_UNUSABLE, code, detail);
}

/** Its worker was about to leave: as good as gone. */
static void said_refused(struct coord *c, int rank, json_t *msg)
{
	struct member *m = member_of(c->group, rank);

	(void)msg;
	if (m != NULL) {
		member_says(c, m, OUTCOME_ERROR, true, "refused",
			    "the worker could not take the order");
	}
}

static void group_message(struct coord *c, struct coord_agent *a, json_t *msg)
{
	static const struct {
		const char *type;
		void (*said)(struct coord *c, int rank, json_t *msg);
	} words[] = {
		{ .type = "done", .said = said_done },
		{ .type = "died", .said = said_died },
		{ .type = "ready", .said = said_ready },
		{ .type = "unusable", .said = said_unusable },
		{ .type = "refused", .said = said_refused },
		{ 0 }
	};
	int64_t rank = -1;

	json_opt_int(msg, "rank", 0, INT32_MAX, &rank, NULL);
	if (c->ranks == NULL || rank < 0 || rank >= c->layout.n_ranks ||
	    c->ranks[rank].agent != a) {
		return;
	}
	for (int i = 0; words[i].type != NULL; i++) {
		if (strcmp(wire_type(msg), words[i].type) == 0) {
			words[i].said(c, (int)rank, msg);
		}
	}
	pump(c);
}

static void group_agent_lost(struct coord *c, struct coord_agent *a,
			     const char *detail)
{
	for (int r = 0; r < c->layout.n_ranks; r++) {
		struct member *m = member_of(c->group, r);

		if (c->ranks[r].agent != a) {
			continue;
		}
		rank_down(c, r, RANK_LOST, "agent_lost", detail);
		if (m != NULL) {
			member_says(c, m, OUTCOME_ERROR, false, "agent_lost",
				    detail);
		}
	}
	pump(c);
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
	pump(c);
}

/* ---- the work ------------------------------------------------------------------ */

static int read_options(struct coord *c, struct err *e)
{
	struct group *g = c->group;
	int64_t begin = c->spec.size_begin_B > 0 ? c->spec.size_begin_B : 8;
	int64_t end = c->spec.size_end_B > 0 ? c->spec.size_end_B :
		      c->spec.size_begin_B > 0 ? begin :
						 (INT64_C(8) << 30);

	g->op = collective_parse(c->probe->name);
	g->dtype = coll_dtype_find(c->spec.dtype);
	g->redop = coll_redop_find(c->spec.redop);
	g->n_sizes = coll_sizes(begin, end, c->spec.size_factor, g->sizes,
				GROUP_SIZES);
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
	pump(c);
	return 0;
}

static void group_stop(struct coord *c, const char *code)
{
	(void)code;	/* the round may end: over() sees the phase */
	pump(c);
}

static void group_cancel(struct coord *c)
{
	struct group *g = c->group;

	if (g->round && !g->cancelled) {
		for (int i = 0; i < g->n_members; i++) {
			struct member *m = &g->members[i];

			if (!m->in) {
				member_says(c, m, OUTCOME_NOT_RUN, true,
					    "interrupted",
					    "the run was stopped");
			}
		}
	}
	if (g->opening) {
		g->opening = false;
		g->driver->ready(c);
	}
	pump(c);
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
