/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "lib/base/hash.h"
#include "probes/plan/plan.h"

/* ---- sched --------------------------------------------------------------- */

/*
 * The circle method.  Seats 0 .. m-1 (m odd) stand on a circle and one more
 * seat, m, in its middle.  In round k the seats that add up to k modulo m
 * meet; the one seat that would meet itself meets the middle.  With an odd
 * number of ranks the middle is empty and that rank sits the round out.
 */

/** Seats on the circle: always odd. */
static int circle_of(int size)
{
	return size % 2 ? size : size - 1;
}

int sched_rounds(int size)
{
	return size < 2 ? 0 : circle_of(size);
}

int sched_partner(int size, int round, int rank)
{
	int m = circle_of(size);
	int partner;

	if (rank == m) {
		/* p + p = round modulo m; (m + 1) / 2 is the inverse of 2 */
		return (int)((int64_t)round * ((m + 1) / 2) % m);
	}
	partner = ((round - rank) % m + m) % m;
	if (partner != rank) {
		return partner;
	}
	return m < size ? m : -1;
}

int sched_round_of(int size, int a, int b)
{
	int m = circle_of(size);

	if (a == m) {
		a = b;
	} else if (b == m) {
		b = a;
	}
	return (a + b) % m;
}

/* ---- pace ---------------------------------------------------------------- */

/* No single test is waited for longer, however low the cap. */
#define LONGEST_NS (7 * 24 * 3600 * 1e9)

int64_t pace_left_ns(const struct pace *p, int64_t now_ns)
{
	int64_t left_ns = p->open_ns - now_ns - PACE_AHEAD_NS;

	return p->bytes_s > 0 && left_ns > 0 ? left_ns : 0;
}

void pace_spend(struct pace *p, int64_t now_ns, double bytes)
{
	double wait_ns = bytes / p->bytes_s * 1e9;

	if (p->bytes_s <= 0 || isnan(wait_ns)) {
		return;
	}
	/* what nobody used is not kept for later */
	if (wait_ns > 0 && p->open_ns < now_ns) {
		p->open_ns = now_ns;
	}
	p->open_ns += (int64_t)fmax(-LONGEST_NS, fmin(wait_ns, LONGEST_NS));
}

/* ---- dispatch ------------------------------------------------------------ */

#define FIRST_CAP 256
/** Up to this many ranks each pair has a place of its own, since all may be
 *  tested: pairs are found in a third of the time. */
#define SQUARE_RANKS 2048

/** Ways along the list of a rank. */
enum way { OLDER, YOUNGER };

/**
 * A queued task.  All of them stand in one ring in the order they came; slot
 * 0 is the head of the ring and holds no task, so 0 means "none" everywhere.
 * In that order they stand in the lists of both ranks and of their place, too.
 */
struct dispatch_slot {
	struct task task;
	uint32_t prev, next;	/* in the ring */
	uint32_t of[2][2];	/* in the list of task.a, of task.b: each way */
	uint32_t link;		/* the next one of its place */
	uint32_t age;		/* of dispatch_add(), small = old */
};

struct dispatch_rank {
	bool ready;
	int busy;		/* ends of tasks on its GPU now */
	bool waking;		/* is in the wake ring */
	int open_at;		/* where in open[], -1: not open */
	uint32_t ends[2];	/* of the list of its tasks: the last one, the
				 * first one */
	uint32_t queued;	/* how many */
};

struct dispatch {
	const struct layout *layout;
	enum dispatch_rule rule;
	size_t n_ranks;

	struct dispatch_slot *slots;
	uint32_t n_slots, cap_slots;
	uint32_t unused;	/* slots to use again, chained by next */
	uint32_t age;
	uint32_t *places;	/* place_of() */
	size_t n_places;	/* a square of few ranks, else cap_slots */
	size_t queued, running;
	bool has_mates;		/* a task has */
	bool held;		/* none between leaves */

	struct dispatch_rank *ranks;
	/* ranks that are free and whose NIC is too, any order: the peers of
	 * an inter-node task, few while the machine is at work */
	int *open;
	int n_open;
	/* ranks that may have become able to start something, oldest first */
	int *wake;
	size_t wake_head, n_wake;

	bool *nic_busy;
};

/** The first slot of the place where tasks of this pair stand, among others. */
static uint32_t *place_of(struct dispatch *d, int a, int b)
{
	size_t low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);
	size_t at = low * d->n_ranks + high;

	return &d->places[d->n_ranks > SQUARE_RANKS ?
				  hash_mix(at, 0, 0, 0) & (d->n_places - 1) :
				  at];
}

/** The oldest slot of a pair, 0 when there is none. */
static uint32_t pair_slot(struct dispatch *d, int a, int b)
{
	const int low = a < b ? a : b, high = a < b ? b : a;
	uint32_t i = *place_of(d, a, b);

	while (i) {
		const struct task *t = &d->slots[i].task;

		if ((t->a == low && t->b == high) ||
		    (t->a == high && t->b == low)) {
			break;
		}
		i = d->slots[i].link;
	}
	return i;
}

static bool *nic_of(struct dispatch *d, int rank)
{
	const struct cluster_rank *r = &d->layout->ranks[rank];

	return &d->nic_busy[d->layout->nodes[r->node].first_nic + r->nic];
}

static bool is_free(const struct dispatch *d, int rank)
{
	return d->ranks[rank].ready && d->ranks[rank].busy == 0;
}

/* Ranks: what they can do, and who should look at the queue again. */

static void wake_rank(struct dispatch *d, int rank)
{
	if (!is_free(d, rank) || d->ranks[rank].waking) {
		return;
	}
	d->ranks[rank].waking = true;
	d->wake[(d->wake_head + d->n_wake) % d->n_ranks] = rank;
	d->n_wake++;
}

/** Puts @rank into open[], or takes it out, after it or its NIC has changed. */
static void update_open(struct dispatch *d, int rank)
{
	struct dispatch_rank *r = &d->ranks[rank];
	bool should = is_free(d, rank) && !*nic_of(d, rank);

	if (should && r->open_at < 0) {
		r->open_at = d->n_open;
		d->open[d->n_open++] = rank;
		wake_rank(d, rank);
	} else if (!should && r->open_at >= 0) {
		int last = d->open[--d->n_open];

		d->open[r->open_at] = last;
		d->ranks[last].open_at = r->open_at;
		r->open_at = -1;
	}
}

#define TAKEN_MOST (2 + TASK_MATES)

/** The ends of @t and its mates; returns how many. */
static int ranks_of(const struct task *t, int ranks[TAKEN_MOST])
{
	int n = 0;

	ranks[n++] = t->a;
	ranks[n++] = t->b;
	for (int i = 0; i < TASK_MATES; i++) {
		if (t->mates[i] > 0) {
			ranks[n++] = t->mates[i] - 1;
		}
	}
	return n;
}

/** Take (@busy) or give back what @t needs: GPUs, and NICs.  The ranks that
 *  share them feel it too. */
static void set_taken(struct dispatch *d, const struct task *t, bool busy)
{
	const struct cluster_rank *of = d->layout->ranks;
	bool nics = d->rule == DISPATCH_NIC &&
		    !layout_same_node(d->layout, t->a, t->b);
	int ranks[TAKEN_MOST], n = ranks_of(t, ranks);

	for (int k = 0; k < n; k++) {
		const int rank = ranks[k];
		const struct cluster_node *node =
			&d->layout->nodes[of[rank].node];
		int i = rank;

		do {
			d->ranks[i].busy += busy ? 1 : -1;
			update_open(d, i);
			wake_rank(d, i);
			i = d->layout->own[i].twin;
		} while (i != rank);
		if (nics) {
			*nic_of(d, rank) = busy;
		}
		for (int x = 0; nics && x < node->gpus; x++) {
			if (of[node->first_rank + x].nic == of[rank].nic) {
				update_open(d, node->first_rank + x);
			}
		}
	}
}

static bool is_held(const struct dispatch *d, const struct task *t)
{
	return d->held && layout_cross_leaves(d->layout, t->a, t->b);
}

/* Queue. */

/** Behind all that stand in its place. */
static void put_in_place(struct dispatch *d, uint32_t i)
{
	struct dispatch_slot *s = &d->slots[i];
	uint32_t *end = place_of(d, s->task.a, s->task.b);

	while (*end) {
		end = &d->slots[*end].link;
	}
	*end = i;
	s->link = 0;
}

/** As many places as slots, where the pairs share them; -1 when memory runs
 *  out. */
static int make_places(struct dispatch *d)
{
	bool square = d->n_ranks <= SQUARE_RANKS;
	size_t n = square ? d->n_ranks * d->n_ranks : d->cap_slots;
	/* one more than needed: calloc(0) may be NULL with memory left */
	uint32_t *places = calloc(n + 1, sizeof(*places));

	if (!places) {
		return -1;
	}
	free(d->places);
	d->places = places;
	d->n_places = n;
	for (uint32_t i = d->slots[0].next; i; i = d->slots[i].next) {
		put_in_place(d, i);
	}
	return 0;
}

/** A slot nobody uses, 0 when memory runs out. */
static uint32_t get_slot(struct dispatch *d)
{
	uint32_t i = d->unused, cap = d->cap_slots * 2;
	struct dispatch_slot *slots;

	if (i) {
		d->unused = d->slots[i].next;
		return i;
	}
	if (d->n_slots == d->cap_slots) {	/* twice as many */
		slots = cap > d->cap_slots ?
				realloc(d->slots, cap * sizeof(*slots)) : NULL;
		if (!slots) {
			return 0;
		}
		d->slots = slots;
		d->cap_slots = cap;
		if (d->n_ranks > SQUARE_RANKS && make_places(d) < 0) {
			return 0;
		}
	}
	return d->n_slots++;
}

/** Where the list of @rank continues from slot @i, or begins for 0. */
static uint32_t *link_of(struct dispatch *d, int rank, uint32_t i, enum way way)
{
	struct dispatch_slot *s = &d->slots[i];

	return i ? &s->of[s->task.a == rank ? 0 : 1][way] :
		   &d->ranks[rank].ends[way];
}

/** Behind all tasks of @rank. */
static void put_in_list(struct dispatch *d, uint32_t i, int rank)
{
	uint32_t last = *link_of(d, rank, 0, OLDER);

	*link_of(d, rank, last, YOUNGER) = i;
	*link_of(d, rank, i, YOUNGER) = 0;
	*link_of(d, rank, i, OLDER) = last;
	*link_of(d, rank, 0, OLDER) = i;
	d->ranks[rank].queued++;
}

static void take_from_list(struct dispatch *d, uint32_t i, int rank)
{
	uint32_t before = *link_of(d, rank, i, OLDER);
	uint32_t behind = *link_of(d, rank, i, YOUNGER);

	*link_of(d, rank, before, YOUNGER) = behind;
	*link_of(d, rank, behind, OLDER) = before;
	d->ranks[rank].queued--;
}

int dispatch_add(struct dispatch *d, const struct task *t)
{
	uint32_t i = get_slot(d);
	uint32_t last;

	if (!i) {
		return -1;
	}
	last = d->slots[0].prev;
	d->slots[i] = (struct dispatch_slot){
		.task = *t,
		.prev = last,
		.age = d->age++,
	};
	d->slots[last].next = i;
	d->slots[0].prev = i;
	put_in_place(d, i);
	put_in_list(d, i, t->a);
	put_in_list(d, i, t->b);
	for (int m = 0; m < TASK_MATES; m++) {
		d->has_mates |= t->mates[m] > 0;
	}
	d->queued++;
	wake_rank(d, t->a);
	return 0;
}

/** Take the task of slot @i out of the queue. */
static void take_slot(struct dispatch *d, uint32_t i, struct task *out)
{
	struct dispatch_slot *s = &d->slots[i];
	uint32_t *at = place_of(d, s->task.a, s->task.b);

	while (*at != i) {
		at = &d->slots[*at].link;
	}
	*at = s->link;
	*out = s->task;
	take_from_list(d, i, out->a);
	take_from_list(d, i, out->b);
	d->slots[s->prev].next = s->next;
	d->slots[s->next].prev = s->prev;
	s->next = d->unused;
	d->unused = i;
	d->queued--;
}

/* Choice of the task to start. */

/** The older of slots @i and @j; 0 is no slot. */
static uint32_t older(const struct dispatch *d, uint32_t i, uint32_t j)
{
	if (!i || !j) {
		return i ? i : j;
	}
	return d->slots[i].age < d->slots[j].age ? i : j;
}

/** Return true if @t may go from node to node, as far as ranks other than its
 *  ends are needed: those that relay for it, and their NICs, are free. */
static bool may_cross(struct dispatch *d, const struct task *t)
{
	bool free_mates = !is_held(d, t);

	for (int i = 0; free_mates && i < TASK_MATES; i++) {
		int m = t->mates[i] - 1;

		free_mates = m < 0 || (d->ranks[m].busy == 0 &&
				       (d->rule != DISPATCH_NIC ||
					!*nic_of(d, m)));
	}
	return free_mates;
}

/** ... or by those who could be its peer, few while many tasks wait. */
static uint32_t oldest_met(struct dispatch *d, int rank)
{
	const struct layout *l = d->layout;
	const struct cluster_node *node = &l->nodes[l->ranks[rank].node];
	uint32_t best = 0, at;

	for (int i = 0; i < node->gpus; i++) {
		int peer = node->first_rank + i;

		if (is_free(d, peer)) {
			best = older(d, best, pair_slot(d, rank, peer));
		}
	}
	for (int i = 0; d->ranks[rank].open_at >= 0 && i < d->n_open; i++) {
		at = pair_slot(d, rank, d->open[i]);
		if (at && may_cross(d, &d->slots[at].task)) {
			best = older(d, best, at);
		}
	}
	return best;
}

/** The oldest task of @rank that may start, 0 when there is none: by its tasks,
 *  which are few in a sample, or by those who could be its peer, few while many
 *  tasks wait. */
static uint32_t oldest_of(struct dispatch *d, int rank)
{
	uint32_t i = *link_of(d, rank, 0, YOUNGER);

	if (!is_free(d, rank)) {
		return 0;
	}
	if (d->ranks[rank].queued > (uint32_t)d->n_open) {
		return oldest_met(d, rank);
	}
	for (; i; i = *link_of(d, rank, i, YOUNGER)) {
		const struct task *t = &d->slots[i].task;
		int peer = t->a == rank ? t->b : t->a;

		if (layout_same_node(d->layout, rank, peer) ? is_free(d, peer) :
		    d->ranks[rank].open_at >= 0 &&
		    d->ranks[peer].open_at >= 0 && may_cross(d, t)) {
			break;
		}
	}
	return i;
}

bool dispatch_next(struct dispatch *d, struct task *out)
{
	bool serial = d->rule == DISPATCH_SERIAL;
	uint32_t i = serial && !d->running ? d->slots[0].next : 0;

	/* one after the other, in the order they came */
	while (i && (!is_free(d, d->slots[i].task.a) ||
		     !is_free(d, d->slots[i].task.b) ||
		     is_held(d, &d->slots[i].task))) {
		i = d->slots[i].next;
	}
	while (!serial && !i && d->n_wake) {
		int rank = d->wake[d->wake_head];

		d->wake_head = (d->wake_head + 1) % d->n_ranks;
		d->n_wake--;
		d->ranks[rank].waking = false;
		i = oldest_of(d, rank);
	}
	if (!i) {
		return false;
	}
	take_slot(d, i, out);
	set_taken(d, out, true);
	d->running++;
	return true;
}

void dispatch_done(struct dispatch *d, const struct task *t)
{
	const struct layout *l = d->layout;
	int ranks[TAKEN_MOST], n = ranks_of(t, ranks);

	set_taken(d, t, false);
	/* wake whoever may have waited for one of them, or for what it shares,
	 * as a mate: ends on its node */
	for (int k = 0; d->has_mates && k < n; k++) {
		int i = ranks[k];

		do {
			const struct cluster_node *node =
				&l->nodes[l->ranks[i].node];

			for (int g = 0; g < node->gpus; g++) {
				wake_rank(d, node->first_rank + g);
			}
			i = l->own[i].twin;
		} while (i != ranks[k]);
	}
	d->running--;
}

void dispatch_ready(struct dispatch *d, int rank, bool ready)
{
	d->ranks[rank].ready = ready;
	update_open(d, rank);
	wake_rank(d, rank);
}

void dispatch_hold(struct dispatch *d, bool held)
{
	bool was = d->held;

	d->held = held;
	for (size_t i = 0; was && !held && i < d->n_ranks; i++) {
		wake_rank(d, (int)i);
	}
}

bool dispatch_drop(struct dispatch *d, int rank, struct task *out)
{
	uint32_t oldest = rank < 0 ? d->slots[0].next :
				     *link_of(d, rank, 0, YOUNGER);

	if (!oldest) {
		return false;
	}
	take_slot(d, oldest, out);
	return true;
}

size_t dispatch_queued(const struct dispatch *d)
{
	return d->queued;
}

size_t dispatch_running(const struct dispatch *d)
{
	return d->running;
}

/* Life. */

struct dispatch *dispatch_new(const struct layout *l, enum dispatch_rule rule)
{
	struct dispatch *d = calloc(1, sizeof(*d));

	if (!d) {
		return NULL;
	}
	d->layout = l;
	d->rule = rule;
	d->n_ranks = (size_t)l->n_ranks;
	d->n_slots = 1;
	d->cap_slots = FIRST_CAP;
	d->nic_busy = calloc((size_t)l->n_nics + 1, sizeof(*d->nic_busy));
	d->slots = calloc(d->cap_slots, sizeof(*d->slots));
	d->ranks = calloc(d->n_ranks + 1, sizeof(*d->ranks));
	d->open = calloc(d->n_ranks + 1, sizeof(*d->open));
	d->wake = calloc(d->n_ranks + 1, sizeof(*d->wake));
	if (!d->nic_busy || !d->slots || !d->ranks || !d->open || !d->wake ||
	    make_places(d) < 0) {
		dispatch_free(d);
		return NULL;
	}
	for (size_t i = 0; i < d->n_ranks; i++) {
		d->ranks[i].open_at = -1;
	}
	return d;
}

void dispatch_free(struct dispatch *d)
{
	if (d) {
		free(d->slots);
		free(d->places);
		free(d->ranks);
		free(d->open);
		free(d->wake);
		free(d->nic_busy);
		free(d);
	}
}
