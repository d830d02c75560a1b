/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ping/ping.h"

#include <stdlib.h>

#include "lib/base/clock.h"

/* A late wake-up may catch up so much. */
#define CATCH_UP_NS (5 * NS_PER_MS)
#define WINDOW_MIN  64
#define WINDOW_MAX  65536

/** One probe on its way. */
struct ping_flight {
	int64_t sent_ns;
	uint32_t path;
	uint32_t serial;
	bool awaited;
	bool unsent;		/* it does not count as sent */
	bool second;		/* lost once more, it is lost */
};

struct ping_rules ping_rules_of(int count, int64_t interval_ns,
				int64_t timeout_ns, int64_t gap_ns,
				size_t paths)
{
	const int64_t first_ns = NS_PER_S / PING_FIRST_RATE;
	const int64_t later_ns = NS_PER_S / PING_RATE;
	struct ping_rules r = {
		.count = count,
		.retries = 1,
		.interval_ns = interval_ns,
		.timeout_ns = timeout_ns,
		.first_gap_ns = gap_ns > first_ns ? gap_ns : first_ns,
		.gap_ns = gap_ns > later_ns ? gap_ns : later_ns,
		.window = WINDOW_MIN,
	};
	/* all that the rate lets out before the first one times out */
	int64_t wanted = timeout_ns / r.gap_ns + 1;

	if (wanted > (int64_t)paths * count) {
		wanted = (int64_t)paths * count;
	}
	while (r.window < WINDOW_MAX && (int64_t)r.window < wanted) {
		r.window *= 2;
	}
	return r;
}

int64_t ping_rules_budget_ns(const struct ping_rules *r, size_t paths)
{
	int64_t n = (int64_t)paths;
	int64_t round = n * r->gap_ns > r->interval_ns ? n * r->gap_ns :
							 r->interval_ns;

	/* every probe twice, as if all were lost */
	return 2 * (n * r->first_gap_ns + r->count * round + r->timeout_ns);
}

int ping_engine_init(struct ping_engine *g, const struct ping_rules *r,
		     uint32_t paths)
{
	*g = (struct ping_engine){ .rules = *r, .n = paths, .open = paths };
	g->flows = calloc((size_t)paths + 1, sizeof(*g->flows));
	g->again.paths = calloc((size_t)paths + 1, sizeof(paths));
	g->settled.paths = calloc((size_t)paths + 1, sizeof(paths));
	g->flights = calloc(r->window, sizeof(*g->flights));
	if (!g->flows || !g->again.paths || !g->settled.paths || !g->flights) {
		ping_engine_release(g);
		return -1;
	}
	for (uint32_t i = 0; i < paths; i++) {
		g->flows[i].todo = (uint16_t)r->count;
		g->flows[i].tries_left = (uint16_t)(r->count * r->retries);
	}
	return 0;
}

void ping_engine_release(struct ping_engine *g)
{
	free(g->flows);
	free(g->again.paths);
	free(g->settled.paths);
	free(g->flights);
	*g = (struct ping_engine){ 0 };
}

void ping_engine_start(struct ping_engine *g, int64_t now_ns)
{
	g->start_ns = g->free_ns = now_ns;
}

static struct ping_flight *flight_of(const struct ping_engine *g,
				     uint32_t serial)
{
	return &g->flights[serial & (g->rules.window - 1)];
}

void ping_ring_push(struct ping_ring *r, uint32_t size, uint32_t path)
{
	r->paths[(r->at + r->n++) % size] = path;
}

uint32_t ping_ring_pop(struct ping_ring *r, uint32_t size)
{
	uint32_t path = r->paths[r->at];

	r->at = (r->at + 1) % size;
	r->n--;
	return path;
}

static void push_again(struct ping_engine *g, uint32_t path)
{
	if (!g->flows[path].queued) {
		g->flows[path].queued = true;
		ping_ring_push(&g->again, g->n, path);
	}
}

/* Settle the path if all of its answers are known. */
static void settle(struct ping_engine *g, uint32_t path)
{
	struct ping_flow *f = &g->flows[path];

	if (!f->settled && f->todo == 0 && f->owed == 0 && f->flying == 0) {
		f->settled = true;
		g->open--;
		ping_ring_push(&g->settled, g->n, path);
	}
}

/* The oldest ones that are still awaited after too long are lost. */
static void expire(struct ping_engine *g, int64_t now_ns)
{
	while (g->head != g->tail) {
		struct ping_flight *p = flight_of(g, g->head);
		struct ping_flow *f = &g->flows[p->path];

		if (p->awaited) {
			if (p->sent_ns + g->rules.timeout_ns > now_ns) {
				return;
			}
			p->awaited = false;
			f->flying--;
			if ((int32_t)(p->serial - g->deaf) < 0) {
				f->sent -= !p->unsent;
				f->starved = true;
			}
			if (f->tries_left > 0 && !p->second) {
				f->tries_left--;
				f->owed++;
				push_again(g, p->path);
			}
			settle(g, p->path);
		}
		g->head++;
	}
}

void ping_engine_deaf(struct ping_engine *g)
{
	g->deaf = g->tail;
}

/* The next path of the round that is due; PING_NONE, with the time when one
 * will be. */
static uint32_t next_first(struct ping_engine *g, int64_t now_ns,
			   int64_t *due_ns)
{
	for (; g->round < g->rules.count; g->round++, g->at = 0) {
		*due_ns = g->start_ns + g->round * g->rules.interval_ns;
		if (*due_ns > now_ns) {
			return PING_NONE;
		}
		for (; g->at < g->n; g->at++) {
			if (g->flows[g->at].todo > 0) {
				return g->at;
			}
		}
	}
	*due_ns = INT64_MAX;
	return PING_NONE;
}

uint32_t ping_engine_next(struct ping_engine *g, int64_t now_ns,
			  int64_t *wake_ns)
{
	uint32_t path = PING_NONE;
	struct ping_flow *f;
	int64_t due_ns;

	expire(g, now_ns);
	*wake_ns = g->head != g->tail ?
			   flight_of(g, g->head)->sent_ns +
				   g->rules.timeout_ns :
			   INT64_MAX;
	if (g->tail - g->head >= g->rules.window) {
		return PING_NONE;
	}
	if (g->again.n == 0) {
		path = next_first(g, now_ns, &due_ns);
		if (path == PING_NONE) {
			*wake_ns = due_ns < *wake_ns ? due_ns : *wake_ns;
			return PING_NONE;
		}
	}
	if (g->free_ns > now_ns) {
		*wake_ns = g->free_ns < *wake_ns ? g->free_ns : *wake_ns;
		return PING_NONE;
	}
	g->second = false;
	if (path != PING_NONE) {
		g->flows[path].todo--;
		g->at++;
		return path;
	}
	path = ping_ring_pop(&g->again, g->n);
	f = &g->flows[path];
	f->queued = false;
	g->second = !f->first;
	f->first = false;
	f->owed--;
	if (f->owed > 0) {
		push_again(g, path);
	}
	return path;
}

uint32_t ping_engine_serial(const struct ping_engine *g)
{
	return g->tail;
}

uint32_t ping_engine_sent(struct ping_engine *g, uint32_t path, int64_t now_ns)
{
	uint32_t serial = g->tail++;
	int64_t gap = g->round == 0 ? g->rules.first_gap_ns : g->rules.gap_ns;

	*flight_of(g, serial) = (struct ping_flight){
		.sent_ns = now_ns,
		.path = path,
		.serial = serial,
		.awaited = true,
		.second = g->second,
	};
	g->flows[path].sent++;
	g->flows[path].flying++;
	if (g->free_ns < now_ns - CATCH_UP_NS) {
		g->free_ns = now_ns - CATCH_UP_NS;
	}
	g->free_ns += gap;
	return serial;
}

void ping_engine_unsent(struct ping_engine *g, uint32_t path)
{
	g->flows[path].sent--;
	flight_of(g, g->tail - 1)->unsent = true;
}

uint32_t ping_engine_path(const struct ping_engine *g, uint32_t serial)
{
	const struct ping_flight *p = flight_of(g, serial);

	return p->awaited && p->serial == serial ? p->path : PING_NONE;
}

/* Number @serial, if it is still awaited: now no more. */
static struct ping_flight *land(struct ping_engine *g, uint32_t serial)
{
	struct ping_flight *p = flight_of(g, serial);

	if (ping_engine_path(g, serial) == PING_NONE) {
		return NULL;
	}
	p->awaited = false;
	g->flows[p->path].flying--;
	return p;
}

uint32_t ping_engine_answer(struct ping_engine *g, uint32_t serial,
			    int64_t now_ns, int64_t waited_ns)
{
	struct ping_flight *p = land(g, serial);
	struct ping_flow *f;
	float rtt;

	if (p == NULL) {
		return PING_NONE;
	}
	f = &g->flows[p->path];
	/* what had come before it was asked for has a clock that was set */
	now_ns -= waited_ns < now_ns - p->sent_ns ? waited_ns : 0;
	rtt = (float)(now_ns - p->sent_ns);
	f->rtt_min_ns = f->received == 0 || rtt < f->rtt_min_ns ?
				rtt : f->rtt_min_ns;
	f->rtt_max_ns = rtt > f->rtt_max_ns ? rtt : f->rtt_max_ns;
	f->rtt_sum_ns += (double)rtt;
	f->received++;
	settle(g, p->path);
	return p->path;
}

void ping_engine_refuse(struct ping_engine *g, uint32_t serial)
{
	struct ping_flight *p = land(g, serial);

	if (p != NULL) {
		settle(g, p->path);
	}
}

void ping_engine_give_up(struct ping_engine *g, uint32_t path)
{
	struct ping_flow *f = &g->flows[path];

	f->todo = 0;
	f->tries_left = 0;
	/* a place in the queue stays its own until its turn comes */
	if (f->queued) {
		f->owed = 1;
	}
	settle(g, path);
}

void ping_engine_more(struct ping_engine *g, uint32_t path, int tries)
{
	struct ping_flow *f = &g->flows[path];

	if (f->settled) {
		f->settled = false;
		g->open++;
	}
	f->owed = 1;
	f->tries_left = (uint16_t)tries;
	f->first = true;
	push_again(g, path);
}

uint32_t ping_engine_settled(struct ping_engine *g)
{
	return g->settled.n > 0 ? ping_ring_pop(&g->settled, g->n) : PING_NONE;
}
