/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: what both ends of a task say about one direction becomes one line of
 * results.csv, and what it means for its cell is remembered.
 */
#include "probes/engine/coord/pairs.h"

/* Messages of this size and more should fill the line. */
#define LINE_MIN_B 65536

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "probes/host/pcie.h"

static void row_init(struct pairs_work *w, struct p2p_row *r, int src, int dst,
		     int attempt)
{
	const struct layout_rank *s = &w->ranks.layout.ranks[src];
	const struct layout_rank *d = &w->ranks.layout.ranks[dst];

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

/*
 * What the slower of both ports carries.  Small messages cannot reach it:
 * nothing is expected of them.
 */
static void expect(struct pairs_work *w, struct p2p_row *r)
{
	double src = w->ranks.all[r->src_rank].line_GB_s;
	double dst = w->ranks.all[r->dst_rank].line_GB_s;

	if (w->c->probe->ports && r->size_B >= LINE_MIN_B && isfinite(src) &&
	    isfinite(dst)) {
		r->expected_GB_s = fmin(src, dst);
	}
}

void rows_note(struct pairs_work *w, const struct p2p_row *r)
{
	struct cell *cell = pairs_cell(w, (int)r->src_rank, (int)r->dst_rank);
	bool was_bad = cell->attempt > 0 && cell->class != CELL_PASS &&
		       cell->class != CELL_SLOW && cell->class != CELL_NOT_RUN;

	if (pairs_pass(w) != &w->passes[0] || cell == &w->cells[w->grid.n] ||
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
	cell->flaky = cell->flaky || (was_bad && r->outcome == OUTCOME_OK);
}

static void write_row(struct pairs_work *w, struct p2p_row *r)
{
	expect(w, r);
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

void rows_leave_out(struct pairs_work *w, const struct task *t, enum outcome o,
		    const char *code, const char *detail)
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
 * noticing that the other end left, only counts when nobody knows better.
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
	size_t at = strlen(r->detail);

	if (x->detail[0] != '\0') {
		snprintf(r->detail + at, sizeof(r->detail) - at,
			 "%s%.40s:%d %.*s", at > 0 ? "; " : "",
			 ranks_node(&w->ranks, rank),
			 w->ranks.layout.ranks[rank].gpu,
			 (int)(sizeof(r->detail) - at), x->detail);
	}
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
}

/* The GPU of @rank as the facts of its node call it. */
static const char *gpu_name(const struct pairs_work *w, int rank, char buf[24])
{
	snprintf(buf, 24, "gpu%d", w->ranks.all[rank].slot);
	return buf;
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
		gpu_name(w, peer, other);
	} else {
		return;
	}
	link = pcie_link(json_object_get(k->agent->inventory, "facts"),
			 gpu_name(w, rank, gpu), other);
	if (link != NULL && !str_starts(link, "NV") &&
	    strstr(x->path, "NVLink") == NULL) {
		snprintf(way, 64, "%.56s/%.6s", x->path, link);
	}
}

/* The NIC that @rank says it used; that of a relay is none of its own. */
static void take_nic(struct pairs_work *w, int rank,
		     const struct xport_result *x, char nic[64])
{
	if (x->nic[0] != '\0' && strstr(x->path, "+PXN") == NULL) {
		str_copy(nic, 64, x->nic);
		layout_hear_nic(&w->ranks.layout, rank, x->nic);
	}
}

/* The way as its ends know it; both where they see it differently. */
static void take_way(struct pairs_work *w, struct p2p_row *r,
		     const struct xport_result *s, const struct xport_result *d)
{
	bool real = strcmp(r->src_node, r->dst_node) != 0 &&
		    !ranks_pretend(&w->ranks);
	char out[64], in[64];

	end_way(w, (int)r->src_rank, (int)r->dst_rank, s, out);
	end_way(w, (int)r->dst_rank, (int)r->src_rank, d, in);
	if (out[0] != '\0' && in[0] != '\0' && strcmp(out, in) != 0) {
		snprintf(r->path, sizeof(r->path), "%.31s>%.31s", out, in);
	} else {
		STR_COPY(r->path, out[0] != '\0' ? out : in);
	}
	if (real) {
		take_nic(w, (int)r->src_rank, s, r->src_nic);
		take_nic(w, (int)r->dst_rank, d, r->dst_nic);
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

	take_numbers(r, d);
	take_numbers(r, s);
	take_way(w, r, s, d);
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

/* Has this end only waited, so that the other one may know better why? */
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
 * Did the end of the run cut the test short?  A failure that is told after that
 * may have come of it; what an end knew before stands, and so does wrong data.
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
 * Was the test waited for in vain, much of that time because its processes, or
 * those that look after them, did not run?  A failure that an end has seen
 * itself stands.
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

/* What @end says about direction @dir: nothing, all well, or a failure. */
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
 * is nobody to tell them apart, both have had their turn.
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
	struct p2p_row r;

	row_init(w, &r, active_rank(a, dir), active_rank(a, !dir),
		 a->task.attempt);
	r.size_B = size;
	r.wall_s = (double)(clock_now_ns() - a->start_ns) / 1e9;
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
	if (size == order_most_B(&w->how)) {
		relay_note(w, a, dir, r.outcome);
	}
	write_row(w, &r);
}
