/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/measure.h"

#if HAVE_VERBS

#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/stats.h"

#define PINGS		1000
#define PINGS_WARMUP	20
/* So many make a median, where each takes its time; but not for ever, and not
 * for more than this share of what is left to the task. */
#define PINGS_MIN	100
#define PINGS_NS	(30 * NS_PER_MS)
#define PINGS_MAX_NS	NS_PER_S
#define PINGS_SHARE	4
#define PINGS_A_LOOK	16	/* at the clock */
#define UNEVEN		0.05	/* that a counter may be off */
#define PING_LAST	UINT64_MAX
#define SPINS_A_POLL	128

/* How an operation goes back and forth; 0 or -1. */
struct ping_ops {
	int (*go)(struct xport_link *l, uint64_t value);
	/* wait for the answer to, or as the peer for, number @value */
	int (*come)(struct xport_link *l, uint64_t value, bool *last,
		    int64_t deadline_ns);
	bool answered;		/* by the peer; else the HCA answers */
};

static int write_come(struct xport_link *l, uint64_t value, bool *last,
		      int64_t deadline_ns)
{
	const volatile uint64_t *in = &l->x->box->ping_in;
	uint64_t got;

	while ((got = *in) != value && got != PING_LAST) {
		/* a completion that is due; now and then, whether one failed */
		bool look = l->words_out > 0 ||
			    (l->spins + 1) % SPINS_A_POLL == 0;

		if ((look && verbs_poll(l) < 0) ||
		    verbs_wait(l, deadline_ns) < 0) {
			return -1;
		}
	}
	l->spins = 0;
	if (l->words_out > 1 && verbs_poll(l) < 0) {
		return -1;	/* there was never time for it */
	}
	*last = got == PING_LAST;
	return 0;
}

static int send_go(struct xport_link *l, uint64_t value)
{
	return verbs_post_ping(l, value == PING_LAST);
}

static int send_come(struct xport_link *l, uint64_t value, bool *last,
		     int64_t deadline_ns)
{
	(void)value;
	while (l->received == 0) {
		if (verbs_turn(l, deadline_ns) < 0) {
			return -1;
		}
	}
	l->received--;
	*last = l->last_word;
	return 0;
}

static int read_go(struct xport_link *l, uint64_t value)
{
	return value == PING_LAST ? 0 : verbs_read_ping(l);
}

static int read_come(struct xport_link *l, uint64_t value, bool *last,
		     int64_t deadline_ns)
{
	(void)value;
	*last = false;
	while (l->words_out > 0) {
		if (verbs_turn(l, deadline_ns) < 0) {
			return -1;
		}
	}
	return 0;
}

static const struct ping_ops ping_ops[] = {
	[OP_WRITE] = { .go = verbs_write_ping, .come = write_come,
		       .answered = true },
	[OP_SEND] = { .go = send_go, .come = send_come, .answered = true },
	[OP_READ] = { .go = read_go, .come = read_come },
};

int verbs_settle(struct xport_link *l, int64_t deadline_ns)
{
	/* once in any case: who heard of the end by memory may not have looked
	 * for what arrived before it, and would take it for pings */
	do {
		if (verbs_poll(l) < 0) {
			return -1;
		}
	} while (l->words_out > 0 && verbs_wait(l, deadline_ns) == 0);
	if (l->words_out > 0) {
		return -1;
	}
	l->received = 0;
	l->last_word = false;
	return 0;
}

/** The same moment by the clock and by the CPU's counter. */
struct moment {
	int64_t ns, ticks;
};

/* Of a few tries the one that nothing came between. */
static struct moment moment_now(void)
{
	struct moment best = { 0 };
	int64_t least = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		int64_t before = clock_ticks(), ns = clock_raw_ns();
		int64_t after = clock_ticks();

		if (after - before < least) {
			least = after - before;
			best = (struct moment){ ns, before + least / 2 };
		}
	}
	return best;
}

/** Nanoseconds a tick; 0 where the counter went backwards or stood. */
static double tick_ns(const struct moment *from, const struct moment *to)
{
	const double ns = (double)(to->ns - from->ns);

	return to->ticks > from->ticks ?
		       ns / (double)(to->ticks - from->ticks) :
		       0;
}

/*
 * @v are round trips in ticks.  A counter that does not go evenly, as where a
 * process moves between CPUs whose counters differ, tells nothing: then the
 * mean by the clock is all there is.
 */
static void tell_latency(struct xport_result *r, double *v, size_t n,
			 const struct moment at[3])
{
	double early = tick_ns(&at[0], &at[1]), late = tick_ns(&at[1], &at[2]);
	double half_us = tick_ns(&at[0], &at[2]) / 2e3;
	bool even = at[1].ns == 0 ||	/* too few to have a middle */
		    (early > 0 && fabs(early - late) <= UNEVEN * late);

	if (half_us > 0 && even) {
		r->lat_us = stats_median(v, n) * half_us;
		r->lat_p99_us = stats_percentile(v, n, 99) * half_us;
	} else {
		r->lat_us = (double)(at[2].ns - at[0].ns) / 2e3 /
			    (double)(n + PINGS_WARMUP);
	}
}

/* Looked at between pings: what a clock takes is in none of them. */
static bool enough(size_t n, int64_t since_ns, int64_t most_ns)
{
	return n > 0 &&
	       clock_raw_ns() - since_ns > (n < PINGS_MIN ? most_ns : PINGS_NS);
}

static int send_pings(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	const struct ping_ops *p = &ping_ops[l->x->op];
	static double v[PINGS];		/* ticks */
	int64_t most = (deadline_ns - clock_now_ns()) / PINGS_SHARE;
	/* beginning, somewhere in the middle, end */
	struct moment at[3] = { moment_now() };
	int64_t start = clock_ticks();
	bool last;
	size_t n = 0;

	most = most < PINGS_MAX_NS ? most : PINGS_MAX_NS;
	/* what the other direction left there looks like its end */
	l->x->box->ping_in = 0;
	for (uint64_t i = 1; i <= PINGS + PINGS_WARMUP; i++) {
		int64_t slow_ns = c->slow_factor < 1 ? clock_raw_ns() : 0;
		int64_t now;

		if (p->go(l, i) < 0 || p->come(l, i, &last, deadline_ns) < 0) {
			return -1;
		}
		verbs_throttle(slow_ns, c->slow_factor);
		now = clock_ticks();
		if (i > PINGS_WARMUP) {
			v[n++] = (double)(now - start);
		}
		start = now;
		if (i % PINGS_A_LOOK == 0) {
			if (at[1].ns == 0 && n >= PINGS_MIN / 2) {
				at[1] = moment_now();
			}
			if (enough(n, at[0].ns, most)) {
				break;
			}
			start = clock_ticks();
		}
	}
	at[2] = moment_now();
	tell_latency(r, v, n, at);
	return p->go(l, PING_LAST);
}

static int answer_pings(struct xport_link *l, int64_t deadline_ns)
{
	const struct ping_ops *p = &ping_ops[l->x->op];
	bool last = !p->answered;

	for (uint64_t i = 1; !last; i++) {
		if (p->come(l, i, &last, deadline_ns) < 0 ||
		    (!last && p->go(l, i) < 0)) {
			return -1;
		}
	}
	return 0;
}

int verbs_pings(struct xport_link *l, const struct xport_cell *c,
		    bool answer, int64_t deadline_ns, struct xport_result *r)
{
	int rc;

	l->pace = PACE_PING;
	rc = answer ? answer_pings(l, deadline_ns) :
		      send_pings(l, c, deadline_ns, r);
	l->pace = PACE_WORD;
	return rc;
}

#endif
