/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "probes/engine/net/door.h"
#include "probes/engine/net/message.h"

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

/* What the drill makes @rank do in the direction src -> dst. */
static void drill_dir(struct pairs_work *w, const struct active *a, int rank,
		      int src, int dst, struct order_dir *dir)
{
	struct drill_effect f =
		drill_effect(&w->ranks.drill, &w->ranks.layout, src, dst,
			     a->task.attempt, (uint64_t)w->c->spec.seed);

	if (rank == f.end) {
		dir->drill = drill_act(f.kind);
	}
	if (rank == src) {
		dir->slow_factor = f.factor;
	}
}

static struct xport_seat seat_of(const struct active *a, int end)
{
	struct xport_seat seat = { .me = end, .ranks = 2 };

	for (int i = 0; i < TASK_MATES; i++) {
		if (end == 2 + i) {
			seat.me = seat.ranks;
		}
		seat.ranks += a->task.mates[i] > 0;
	}
	return seat;
}

/* @end 2 and above are its mates, who are told as its end b is. */
static void fill_order(struct pairs_work *w, const struct active *a, int end,
		       struct order *o)
{
	int rank = end < 2 ? active_rank(a, end) : a->task.mates[end - 2] - 1;
	const char *ticket = w->ranks.all[a->task.a].ticket;

	memset(o, 0, sizeof(*o));
	o->id = a->task.id;
	o->attempt = a->task.attempt;
	STR_COPY(o->nonce, a->nonce);
	o->rank = rank;
	o->peer = active_rank(a, end == 0);
	o->seat = seat_of(a, end);
	if (ticket != NULL) {
		str_copy(o->ticket, sizeof(o->ticket), ticket);
	}
	for (int d = 0; d < 2; d++) {
		int src = active_rank(a, d), dst = active_rank(a, !d);

		o->dirs[d].wanted = (a->task.dirs & 1 << d) != 0;
		o->dirs[d].slow_factor = 1;
		if (o->dirs[d].wanted && w->ranks.drill.n > 0) {
			drill_dir(w, a, rank, src, dst, &o->dirs[d]);
		}
	}
}

/* Numbers are given one after the other: those of some rounds ahead, each of
 * half the ranks, are all apart. */
#define PLACES_A_RANK 8

int active_init(struct pairs_work *w)
{
	size_t most = PLACES_A_RANK * (size_t)w->ranks.layout.n_ranks;

	w->n_by_id = 1;
	while (w->n_by_id < most) {
		w->n_by_id *= 2;
	}
	w->by_id = calloc(w->n_by_id, sizeof(struct active *));
	return w->by_id != NULL ? 0 : -1;
}

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
	door_nonce(&w->nonces, a->nonce);
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

static void send_order(struct pairs_work *w, const struct active *a, int end,
		       bool now)
{
	struct order o;

	fill_order(w, a, end, &o);
	o.now = now;
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
