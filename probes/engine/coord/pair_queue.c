/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/cluster/cluster.h"
#include "probes/engine/coord/pairs.h"
#include "probes/engine/net/door.h"
#include "probes/engine/net/message.h"
#include "probes/host/port.h"

/* ---- pair relay ---------------------------------------------------------- */

/*
 * A part that fails every time costs a timeout per pair, so a dozen failures
 * without a success are enough.  Between rails, with PXN, NCCL passes the data
 * of a GPU to a GPU of the same node that has a NIC on the other rail: that GPU
 * must be in the communicator, but does nothing else.
 */

static void rows_leave_out(struct pairs_work *w, const struct task *t,
			   enum outcome o, const char *code,
			   const char *detail);

/* ---- what fails every time ----------------------------------------------- */

/* Retries and the follow-up are few, and for what is not certain. */
static bool is_first(const struct pairs_work *w, const struct task *t)
{
	return t->attempt == 1 && w->stage != PAIRS_FOLLOW;
}

uint8_t relay_in_vain(struct pairs_work *w, const struct task *t, bool whole)
{
	/* a drill and a model show all that they touch */
	bool rails = !ranks_model(&w->ranks) && w->ranks.drill.n == 0;
	const char *code[2] = { NULL, NULL };
	char why[2][CONVICT_TEXT];
	const size_t todo = queue_size(w) + dispatch_running(w->dispatch);
	const size_t done = w->plan.n > todo ? w->plan.n - todo : 1;
	/* time to spare: a share of what the run takes, to judge by what is
	 * done; one deadline is no matter */
	const double run_ns = (double)(clock_now_ns() - w->start_ns) *
			      (double)w->plan.n / (double)done;
	const int64_t spare_ns = (int64_t)fmax(
		run_ns * CONVICT_SHARE, (double)order_budget_ns(&w->how));
	uint8_t vain = 0;

	for (int d = 0; is_first(w, t) && d < 2; d++) {
		int src = d == 0 ? t->a : t->b, dst = d == 0 ? t->b : t->a;

		code[d] = convict_of(w->convict, src, dst, spare_ns, rails,
				     why[d]);
		vain |= code[d] != NULL ? t->dirs & (uint8_t)(1 << d) : 0;
	}
	if (whole && vain != t->dirs) {
		return 0;
	}
	for (int d = 0; d < 2; d++) {
		struct task left = *t;

		left.dirs = vain & (uint8_t)(1 << d);
		if (left.dirs != 0) {
			rows_leave_out(w, &left, OUTCOME_SKIPPED, code[d],
				       why[d]);
		}
	}
	return vain;
}

/* ---- mates --------------------------------------------------------------- */

static bool is_ready(void *ctx, int rank)
{
	const struct pairs_work *w = ctx;

	return w->ranks.all[rank].state == RANK_READY;
}

bool relay_admit(struct pairs_work *w, struct task *t)
{
	const struct layout *l = &w->ranks.layout;
	const int ends[2] = { t->a, t->b };
	char why[120];

	if (!pairs_pass(w)->pxn || !plan_crosses(l, t->a, t->b) ||
	    w->ranks.ops->begin == NULL) {
		return true;
	}
	/* a rank for each direction */
	for (int i = 0; i < 2; i++) {
		bool any;	/* there might be one */
		int mate = plan_relay(l, ends[i], ends[!i], is_ready, w, &any);

		t->mates[i] = mate + 1;
		if (mate < 0 && any) {
			snprintf(why, sizeof(why), "no GPU of %.64s on rail %d "
				 "works, to relay",
				 ranks_node(&w->ranks, ends[i]),
				 l->ranks[ends[!i]].nic);
			rows_leave_out(w, t, OUTCOME_SKIPPED, "relay_missing",
				       why);
			return false;
		}
	}
	return true;
}

bool relay_is_mate(const struct task *t, int rank)
{
	return t->mates[0] == rank + 1 || t->mates[1] == rank + 1;
}

struct active *relay_find(const struct pairs_work *w, int rank, int64_t id)
{
	struct active *a = id < 0 ? w->active : active_find(w, id);

	while (id < 0 && a != NULL && !relay_is_mate(&a->task, rank)) {
		a = a->next;
	}
	return a != NULL && relay_is_mate(&a->task, rank) ? a : NULL;
}

void relay_end(struct pairs_work *w, const struct active *a)
{
	for (int i = 0; i < TASK_MATES; i++) {
		if (a->task.mates[i] > 0) {
			ranks_word(&w->ranks, a->task.mates[i] - 1, MSG_CANCEL,
				   a->task.id);
		}
	}
}

/* ---- pair rows ----------------------------------------------------------- */

/*
 * Rows: what both ends of a task say about one direction becomes one line of
 * results.csv, and what it means for its cell is remembered.
 */

/* Messages of this size and more should fill the line. */
#define LINE_MIN_B 65536

static void row_init(struct pairs_work *w, struct p2p_row *r, int src, int dst,
		     int attempt)
{
	const struct cluster_rank *s = &w->ranks.layout.ranks[src];
	const struct cluster_rank *d = &w->ranks.layout.ranks[dst];

	record_init(&schema_p2p, r);
	r->attempt = attempt;
	r->src_rank = src;
	r->dst_rank = dst;
	r->src_gpu = s->gpu;
	r->dst_gpu = d->gpu;
	STR_COPY(r->src_node, ranks_node(&w->ranks, src));
	STR_COPY(r->dst_node, ranks_node(&w->ranks, dst));
	if (w->ranks.all[src].part[0] != '\0') {
		STR_COPY(r->src_nic, w->ranks.all[src].part);
		STR_COPY(r->dst_nic, w->ranks.all[dst].part);
	} else if (s->node != d->node) {
		layout_nic(&w->ranks.layout, src, r->src_nic);
		layout_nic(&w->ranks.layout, dst, r->dst_nic);
	}
	STR_COPY(r->transport, w->ranks.ops->name);
	STR_COPY(r->schedule, pairs_pass(w)->name);
	STR_COPY(r->mode, w->c->spec.bidi ? "bidi" : "uni");
	if (w->c->probe->ports) {
		STR_COPY(r->op, spec_choice_name("op", w->c->spec.op));
		STR_COPY(r->memory,
			 spec_choice_name("memory", pairs_pass(w)->memory));
	} else {
		STR_COPY(r->op, "sendrecv");
		STR_COPY(r->memory,
			 xport_is(w->ranks.ops, XPORT_GPU) ? "gpu" : "host");
	}
}

void rows_note(struct pairs_work *w, const struct p2p_row *r)
{
	struct cell *cell = pairs_cell(w, (int)r->src_rank, (int)r->dst_rank);
	bool was_bad = cell->attempt > 0 && cell->class != CELL_PASS &&
		       cell->class != CELL_SLOW && cell->class != CELL_NOT_RUN;

	if (r->flow > 0 ||	/* less than the test */
	    pairs_pass(w) != &w->passes[0] || cell == &w->cells[w->grid.n] ||
	    !cells_decides((struct cell_say){.attempt = r->attempt,
					     .outcome = r->outcome},
			   r->size_B == order_most_B(&w->how),
			   (struct cell_say){.attempt = cell->attempt,
					     .outcome = cell->outcome})) {
		return;
	}
	cell->class = (uint8_t)cells_class_of(r->outcome);
	cell->outcome = (uint8_t)r->outcome;
	cell->bw_GB_s = (float)r->bw_GB_s;
	cell->lat_us = (float)r->lat_us;
	cell->expected_GB_s = (float)r->expected_GB_s;
	cell->attempt = (int32_t)r->attempt;
	if (cell->path == PATH_INTER && cluster_is_nvlink(r->path)) {
		cell->path = PATH_NVLINK;
	}
	cell->flaky = cell->flaky || (was_bad && r->outcome == OUTCOME_OK);
}

static void write_row(struct pairs_work *w, struct p2p_row *r)
{
	double src = w->ranks.all[r->src_rank].line_GB_s;
	double dst = w->ranks.all[r->dst_rank].line_GB_s;

	/* the slower of both ports; small messages cannot fill it */
	if (w->c->probe->ports && r->size_B >= LINE_MIN_B && isfinite(src) &&
	    isfinite(dst)) {
		r->expected_GB_s = fmin(src, dst);
	}
	/* a second attempt that came to nothing: the first one stands */
	if ((r->attempt > 1 || w->stage == PAIRS_FOLLOW) &&
	    (r->outcome == OUTCOME_NOT_RUN ||
			       r->outcome == OUTCOME_SKIPPED)) {
		return;
	}
	coord_write_row(w->c, r);
	if (r->outcome != OUTCOME_OK && r->outcome != OUTCOME_NOT_RUN) {
		coord_flush_rows(w->c);
	}
	rows_note(w, r);
	if (w->stage == PAIRS_FOLLOW) {
		ask_hear(&w->follow.ask, (int)r->src_rank, (int)r->dst_rank,
			 r->outcome);
	}
}

/* Rows of @t, which is not going to run. */
static void rows_leave_out(struct pairs_work *w, const struct task *t,
			   enum outcome o, const char *code, const char *detail)
{
	for (int d = 0; d < 2; d++) {
		int src = d == 0 ? t->a : t->b;
		int dst = d == 0 ? t->b : t->a;
		struct p2p_row r;

		if ((t->dirs & 1 << d) == 0) {
			continue;
		}
		row_init(w, &r, src, dst, t->attempt);
		r.size_B = order_most_B(&w->how);
		r.outcome = o;
		STR_COPY(r.code, code);
		STR_COPY(r.detail, detail);
		write_row(w, &r);
	}
}

void rows_drop_queue(struct pairs_work *w, int rank, enum outcome o,
		     const char *code, const char *detail)
{
	struct task t;

	while (dispatch_drop(w->dispatch, rank, &t) ||
	       (w->waiting != NULL && dispatch_drop(w->waiting, rank, &t))) {
		rows_leave_out(w, &t, o, code, detail);
	}
}

void rows_drop_stopped(struct pairs_work *w)
{
	rows_drop_queue(w, -1, OUTCOME_NOT_RUN, w->c->stop_code,
			"the run was stopped before this pair");
}

/*
 * Which end knows what happened: a crash tells more than wrong data, that more
 * than an error, that more than a known hang.  An echo, waiting in vain or
 * noticing that the other end left, only counts if the other end knows no
 * better.
 */
static int weight(const struct xport_result *r)
{
	static const int weights[OUTCOME_COUNT] = {
		[OUTCOME_CRASHED] = 7, [OUTCOME_CORRUPT] = 6,
		[OUTCOME_ERROR] = 5,   [OUTCOME_TIMEOUT] = 4,
	};

	if (limit_is(r->code)) {
		return 8;	/* whatever it did to the other end */
	}
	if (r->echo) {
		return r->outcome == OUTCOME_TIMEOUT ? 3 : 2;
	}
	return r->outcome == OUTCOME_OK ? 1 : weights[r->outcome];
}

const struct xport_result *rows_result(const struct active_end *end, int dir,
				       int64_t size)
{
	for (int i = 0; i < end->n; i++) {
		if (end->results[i].dir == dir &&
		    end->results[i].size_B == size) {
			return &end->results[i].r;
		}
	}
	return &end->otherwise;
}

static void add_words(struct pairs_work *w, struct p2p_row *r, int rank,
		      const struct xport_result *x)
{
	const char *detail = x->detail;
	size_t at = strlen(r->detail);
	struct drill_effect f;
	char says[DRILL_SAYS];

	if (detail[0] == '\0') {
		return;
	}
	f = drill_effect(&w->ranks.drill, &w->ranks.layout, (int)r->src_rank,
			 (int)r->dst_rank, (int)r->attempt,
			 (uint64_t)w->c->spec.seed);
	/* the end that acts it out does not know the part; the model does */
	if (f.fault && f.end == rank && x->outcome != OUTCOME_OK &&
	    !ranks_model(&w->ranks)) {
		detail = drill_says(f.fault, &w->ranks.layout, detail, says);
	}
	snprintf(r->detail + at, sizeof(r->detail) - at, "%s%.40s:%d %.*s",
		 at > 0 ? "; " : "", ranks_node(&w->ranks, rank),
		 w->ranks.layout.ranks[rank].gpu,
		 (int)(sizeof(r->detail) - at), detail);
}

/* Numbers from the end that took them. */
static void take_numbers(struct p2p_row *r, const struct xport_result *x)
{
	if (isfinite(x->bw_GB_s)) {
		r->bw_GB_s = x->bw_GB_s;
		r->bw_min_GB_s = x->bw_min_GB_s;
		r->bw_max_GB_s = x->bw_max_GB_s;
		r->iters = x->iters;
	}
	if (isfinite(x->lat_us)) {
		r->lat_us = x->lat_us;
		r->lat_p99_us = x->lat_p99_us;
	}
	if (x->wrong != RECORD_NONE) {
		r->wrong = x->wrong;
	}
	if (x->flows != RECORD_NONE) {
		r->flows = x->flows;
	}
	if (isfinite(x->flows_GB_s)) {
		r->flow_GB_s = x->flow_GB_s;
		r->flows_GB_s = x->flows_GB_s;
	}
}

/*
 * "NET/IB/0/GDRDMA" and "P2P/CUMEM" say how, not how far: over PCIe that
 * decides, so that its class follows, such as "/PIX".  Which NIC an end uses
 * it knows best itself; several are as far as the first.
 */
static void end_way(struct pairs_work *w, int rank, int peer,
		    const struct xport_result *x, char way[64])
{
	const struct rank *k = &w->ranks.all[rank];
	char gpu[24], other[64];
	const char *link = NULL;

	memcpy(way, x->path, sizeof(x->path));
	if (!xport_is(w->ranks.ops, XPORT_GPU) || k->agent == NULL) {
		return;
	}
	if (str_starts(x->path, "NET/")) {
		snprintf(other, sizeof(other), "%.*s",
			 (int)strcspn(x->nic, "+"), x->nic);
	} else if (k->agent == w->ranks.all[peer].agent && x->path[0] != '\0') {
		snprintf(other, sizeof(other), "gpu%d",
			 w->ranks.all[peer].slot);
	} else {
		return;
	}
	snprintf(gpu, sizeof(gpu), "gpu%d", k->slot);
	link = pcie_link(inventory_seen(k->agent->inventory).facts, gpu,
			 other);
	if (link != NULL && !str_starts(link, "NV") &&
	    strstr(x->path, "NVLink") == NULL) {
		snprintf(way, 64, "%.56s/%.6s", x->path, link);
	}
}

/* Both ends' reports on one direction and size become one row. */
static void merge_row(struct pairs_work *w, struct p2p_row *r,
		      const struct xport_result *s,
		      const struct xport_result *d)
{
	bool dst_knows = weight(d) > weight(s);
	const struct xport_result *main_end = dst_knows ? d : s;
	const struct xport_result *other = dst_knows ? s : d;
	int ranks[] = { (int)r->src_rank, (int)r->dst_rank };
	bool real = strcmp(r->src_node, r->dst_node) != 0 &&
		    !ranks_pretend(&w->ranks);
	char out[64], in[64];

	take_numbers(r, d);
	take_numbers(r, s);
	/* the way as its ends know it; both if they see it differently */
	end_way(w, ranks[0], ranks[1], s, out);
	end_way(w, ranks[1], ranks[0], d, in);
	if (out[0] != '\0' && in[0] != '\0' && strcmp(out, in) != 0) {
		snprintf(r->path, sizeof(r->path), "%.31s>%.31s", out, in);
	} else {
		STR_COPY(r->path, out[0] != '\0' ? out : in);
	}
	for (int i = 0; real && i < 2; i++) {
		const struct xport_result *x = i == 0 ? s : d;

		/* the NIC of a relay is none of its own */
		if (x->nic[0] != '\0' && strstr(x->path, "+PXN") == NULL) {
			str_copy(i == 0 ? r->src_nic : r->dst_nic,
				 sizeof(r->src_nic), x->nic);
			layout_hear_nic(&w->ranks.layout, ranks[i], x->nic);
		}
	}
	r->outcome = main_end->outcome;
	STR_COPY(r->code, main_end->code);
	if (limit_is(r->code)) {
		ranks_note_limit(&w->ranks, ranks[dst_knows], r->code,
				 main_end->detail);
	}
	add_words(w, r, ranks[dst_knows], main_end);
	if (!other->echo || main_end->echo) {
		add_words(w, r, ranks[!dst_knows], other);
	}
	if (r->outcome != OUTCOME_OK && r->outcome != OUTCOME_CORRUPT) {
		/* half a measurement is none */
		r->bw_GB_s = r->bw_min_GB_s = r->bw_max_GB_s = NAN;
		r->lat_us = r->lat_p99_us = NAN;
		r->iters = RECORD_NONE;
	}
}

/* Returns true if this end only timed out waiting, so that the other end may
 * know the cause. */
static bool in_vain(const struct xport_result *x)
{
	return x->echo || (x->outcome == OUTCOME_TIMEOUT &&
			   strcmp(x->code, "drill_hang") != 0);
}

/* It knows of a failure. */
static bool knows(const struct xport_result *x)
{
	return x->outcome != OUTCOME_OK && x->outcome != OUTCOME_NOT_RUN &&
	       !in_vain(x);
}

/*
 * Returns true if the end of the run cut the test short.  Failures reported
 * after that may be its result.  Wrong data and failures that an end reported
 * before still count.
 */
static bool was_cut(const struct active *a,
		    const struct xport_result *const said[2])
{
	bool cut = false;

	for (int i = 0; i < 2; i++) {
		enum outcome o = said[i]->outcome;

		if (o == OUTCOME_CORRUPT ||
		    (!a->ends[i].cut && knows(said[i]))) {
			return false;
		}
		cut = cut || (a->ends[i].cut && o != OUTCOME_OK);
	}
	return cut;
}

int64_t rows_late_ns(const struct pairs_work *w, const struct active *a)
{
	const struct coord_agent *one = w->ranks.all[a->task.a].agent;
	const struct coord_agent *other = w->ranks.all[a->task.b].agent;

	return w->c->late_ns + (one != NULL ? one->late_ns : 0) +
	       (other != NULL && other != one ? other->late_ns : 0);
}

/*
 * Returns true if the test timed out while its processes, or those that watch
 * them, did not run for much of the time.  A failure that an end observed
 * itself still counts.
 */
static bool was_starved(const struct pairs_work *w, const struct active *a,
			const struct xport_result *const said[2])
{
	int64_t late_ns = rows_late_ns(w, a) - a->late_ns +
			  a->ends[0].late_ns + a->ends[1].late_ns;
	int64_t wall_ns = clock_now_ns() - a->start_ns;
	bool late = ranks_starved(late_ns, wall_ns), vain = false;

	for (int i = 0; i < 2; i++) {
		if (strcmp(said[i]->code, RECORD_STARVED) == 0) {
			late = vain = true;	/* an end is out by that */
		} else if (knows(said[i])) {
			return false;
		} else {
			vain = vain || in_vain(said[i]);
		}
	}
	return vain && late;
}

/* Report of an end on one direction: none, all sizes good, or a failure. */
enum said { SAID_NOTHING, SAID_OK, SAID_FAILED };

static enum said end_said(const struct active_end *end, int dir)
{
	enum said said = SAID_NOTHING;

	for (int i = 0; i < end->n; i++) {
		if (end->results[i].dir != dir) {
			continue;
		}
		if (end->results[i].r.outcome != OUTCOME_OK) {
			return SAID_FAILED;
		}
		said = SAID_OK;
	}
	return said;
}

/*
 * Where a worker died, the direction that the other end saw break is known.
 * The other one is not: its report is lost, or it was not reached.  When there
 * is nothing to tell them apart, both have had their turn.
 */
uint8_t rows_dirs_known(const struct active *a)
{
	bool died = a->ends[0].died || a->ends[1].died;
	enum said enough = died ? SAID_FAILED : SAID_OK;
	uint8_t known = 0;

	for (int d = 0; d < 2; d++) {
		if (end_said(&a->ends[0], d) >= enough ||
		    end_said(&a->ends[1], d) >= enough) {
			known |= (uint8_t)(1 << d);
		}
	}
	known &= a->task.dirs;
	return known != 0 ? known : a->task.dirs;
}

void rows_finish_cell(struct pairs_work *w, struct active *a, int dir,
		      int64_t size)
{
	/* of a model the first end speaks for both */
	int src_end = ranks_model(&w->ranks) ? 0 : dir;
	const struct xport_result *const said[2] = {
		rows_result(&a->ends[0], dir, size),
		rows_result(&a->ends[1], dir, size),
	};
	int64_t cost_ns = clock_now_ns() - a->start_ns;
	struct p2p_row r;

	row_init(w, &r, active_rank(a, dir), active_rank(a, !dir),
		 a->task.attempt);
	r.size_B = size;
	r.wall_s = (double)cost_ns / 1e9;
	STR_COPY(r.start_utc, a->start_utc);
	if (was_cut(a, said)) {
		STR_COPY(r.code, w->c->stop_code);
		STR_COPY(r.detail, "the run was stopped during this test");
	} else if (was_starved(w, a, said)) {
		STR_COPY(r.code, RECORD_STARVED);
		STR_COPY(r.detail, "its processes did not get to run");
	} else {
		merge_row(w, &r, said[src_end], said[!src_end]);
	}
	/* convict.c hears of each direction that has ended */
	if (size == order_most_B(&w->how) && is_first(w, &a->task) &&
	    (a->task.dirs & 1 << dir) != 0) {
		if (r.outcome == OUTCOME_TIMEOUT && ranks_model(&w->ranks)) {
			/* it is that of a run */
			cost_ns = order_budget_ns(&w->how);
		}
		convict_hear(w->convict, active_rank(a, dir),
			     active_rank(a, !dir), r.outcome,
			     cost_ns / (a->task.dirs == (TASK_AB | TASK_BA) ?
						2 : 1));
	}
	write_row(w, &r);
}

void rows_flows(struct pairs_work *w, const struct active *a, int end,
		const json_t *flows)
{
	const json_t *entry;
	struct xport_flow f;
	struct p2p_row r;
	size_t i;

	json_array_foreach(flows, i, entry) {
		int src = 0;

		f = (struct xport_flow){ 0 };
		if (schema_read(order_flow_fields, &f, entry, NULL) < 0 ||
		    f.lost > f.sent) {
			continue;
		}
		src = f.sends ? end : !end;
		row_init(w, &r, active_rank(a, src), active_rank(a, !src),
			 a->task.attempt);
		r.flow = f.port;
		r.iters = f.sent;
		r.lost = f.lost;
		r.outcome = OUTCOME_ERROR;
		STR_COPY(r.code, PATH_FLOW);
		STR_COPY(r.detail, f.says);
		STR_COPY(r.start_utc, a->start_utc);
		coord_write_row(w->c, &r);
	}
}

/* ---- tasks that wait ---------------------------------------------------- */

int queue_add(struct pairs_work *w, const struct task *t)
{
	struct task alone = *t;

	memset(alone.mates, 0, sizeof(alone.mates));	/* found when it
							 * begins */
	return dispatch_add(w->waiting != NULL ? w->waiting : w->dispatch,
			    &alone);
}

int queue_new(struct pairs_work *w, struct task t)
{
	t.id = w->next_id++;
	return queue_add(w, &t);
}

size_t queue_size(const struct pairs_work *w)
{
	return dispatch_queued(w->dispatch) +
	       (w->waiting != NULL ? dispatch_queued(w->waiting) : 0);
}

void queue_ready(struct pairs_work *w, int rank, bool ready)
{
	dispatch_ready(w->dispatch, rank, ready);
	if (w->waiting != NULL) {
		dispatch_ready(w->waiting, rank, ready);
	}
}

/* ---- orders out --------------------------------------------------------- */

static struct active **place_of(const struct pairs_work *w, int64_t id)
{
	return &w->by_id[(size_t)id & (w->n_by_id - 1)];
}

struct active *active_find(const struct pairs_work *w, int64_t id)
{
	struct active *a = *place_of(w, id);

	while (a != NULL && a->task.id != id) {
		a = a->same;
	}
	return a;
}

struct active *active_new(struct pairs_work *w, const struct task *t)
{
	struct active *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		return NULL;
	}
	a->task = *t;
	xport_result_init(&a->ends[0].otherwise);
	xport_result_init(&a->ends[1].otherwise);
	door_nonce(a->nonce);
	a->next = w->active;
	a->at = &w->active;
	if (a->next != NULL) {
		a->next->at = &a->next;
	}
	w->active = a;
	a->same = *place_of(w, t->id);
	*place_of(w, t->id) = a;
	return a;
}

void active_free(struct pairs_work *w, struct active *a)
{
	struct active **at = place_of(w, a->task.id);

	while (*at != a) {
		at = &(*at)->same;
	}
	*at = a->same;
	*a->at = a->next;
	if (a->next != NULL) {
		a->next->at = a->at;
	}
	for (int i = 0; i < 2; i++) {
		free(a->ends[i].results);
	}
	free(a);
}

/* Sends the order of @a to its @end.  Those from 2 on are its mates, who are
 * told as its end b is. */
static void send_order(struct pairs_work *w, const struct active *a, int end,
		       bool now)
{
	int rank = end < 2 ? active_rank(a, end) : a->task.mates[end - 2] - 1;
	const char *ticket = w->ranks.all[a->task.a].ticket;
	struct order o = {
		.id = a->task.id,
		.attempt = a->task.attempt,
		.rank = rank,
		.peer = active_rank(a, end == 0),
		.seat = { .me = end, .ranks = 2 },
		.now = now,
	};

	STR_COPY(o.nonce, a->nonce);
	if (ticket != NULL) {
		STR_COPY(o.ticket, ticket);
	}
	for (int i = 0; i < TASK_MATES; i++) {
		if (end == 2 + i) {
			o.seat.me = o.seat.ranks;
		}
		o.seat.ranks += a->task.mates[i] > 0;
	}
	for (int d = 0; d < 2; d++) {
		int src = active_rank(a, d), dst = active_rank(a, !d);
		struct drill_effect f;

		o.dirs[d].wanted = (a->task.dirs & 1 << d) != 0;
		o.dirs[d].slow_factor = 1;
		if (!o.dirs[d].wanted) {
			continue;
		}
		f = drill_effect(&w->ranks.drill, &w->ranks.layout, src, dst,
				 a->task.attempt, (uint64_t)w->c->spec.seed);
		if (rank == f.end) {
			o.dirs[d].drill = drill_act(f.kind);
		}
		if (rank == src) {
			o.dirs[d].slow_factor = f.factor;
		}
	}
	ranks_order(&w->ranks, &o);
}

void active_orders(struct pairs_work *w, const struct active *a, bool now)
{
	/* of a model one agent answers for both */
	int ends = ranks_model(&w->ranks) ? 1 : 2;

	for (int mate = 0; mate < TASK_MATES; mate++) {
		if (a->task.mates[mate] > 0) {
			send_order(w, a, 2 + mate, false);
		}
	}
	for (int end = 0; end < ends; end++) {
		send_order(w, a, end, now);
	}
}

void active_cancel(struct pairs_work *w, const struct active *a)
{
	for (int end = 0; end < 2; end++) {
		ranks_word(&w->ranks, active_rank(a, end), MSG_CANCEL,
			   a->task.id);
	}
	relay_end(w, a);
}

void active_go(struct pairs_work *w, const struct active *a)
{
	struct order_word go = { .id = a->task.id };

	STR_COPY(go.text, a->nonce);
	for (int end = 0; end < 2; end++) {
		go.rank = active_rank(a, end);
		ranks_tell(&w->ranks, MSG_GO, &go);
	}
}
