/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One direction of a pair.  The active end posts: the one that sends, or with
 * --op=read the one that receives.  Its peer is passive: it takes part in the
 * hand-shakes, lets data arrive, and answers pings.
 *
 *	passive          active
 *	  ready  ------>
 *	         <------  sent		one message, for the check
 *	 checked ------>
 *	         <------  streamed
 *	  ready  ------>		then pings, where wanted
 *	         <------  end
 *	   end   ------>
 */
#include "probes/verbs_measure.h"

#if HAVE_VERBS

#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/stats.h"
#include "lib/str.h"
#include "probes/samples.h"
#include "probes/worker.h"

#define SAMPLE_NS	(4 * NS_PER_MS)
/* Small messages complete in groups: a completion each would be measured. */
#define GROUP_BYTES	8192
#define GROUP		16

#define PINGS		1000
#define PINGS_WARMUP	20
/* So many make a median, where each takes its time; but not for ever, and not
 * for more than this share of what is left to the task. */
#define PINGS_MIN	100
#define PINGS_NS	(60 * NS_PER_MS)
#define PINGS_MAX_NS	NS_PER_S
#define PINGS_SHARE	4
#define PING_LAST	UINT64_MAX
#define PING_BYTES	8

/* ---- bandwidth ---------------------------------------------------------------- */

struct stream {
	struct xport_link *l;
	const struct xport_cell *c;
	int64_t deadline_ns;
	int group, depth;
	int64_t sent;			/* posted so far */
	int64_t post_ns;		/* when the last ones were */
	int64_t sample_ns;		/* when the sample began */
	int64_t counted;		/* done when the sample began */
	struct samples samples;
};

static void stream_init(struct stream *s, struct xport_link *l,
			const struct xport_cell *c, int64_t deadline_ns)
{
	*s = (struct stream){
		.l = l, .c = c, .deadline_ns = deadline_ns,
		.depth = l->tx_depth, .group = 1,
		.samples.sample_s = SAMPLE_NS / 1e9,
	};
	if (c->size_bytes <= GROUP_BYTES && s->depth >= 4) {
		s->group = s->depth / 4 < GROUP ? s->depth / 4 : GROUP;
	}
	if (c->slow_factor < 1) {
		s->depth = s->group = 1;	/* throttled one by one */
	}
	l->done = 0;
}

/* A throttled end makes each message last 1 / factor times as long. */
static void throttle(int64_t since_ns, double factor)
{
	double extra;

	if (factor < 1) {
		extra = (double)(clock_raw_ns() - since_ns) * (1 / factor - 1);
		nanosleep(&(struct timespec){
				  .tv_sec = (time_t)(extra / 1e9),
				  .tv_nsec = (long)extra % NS_PER_S },
			  NULL);
	}
}

/*
 * One more group, when it may be on its way; @limit messages in all, 0 = no
 * limit.  One at a time, as a driver may do the work while it is handed over:
 * what has completed meanwhile must be seen.
 */
static int stream_fill(struct stream *s, int64_t limit)
{
	int n = s->group;

	if (limit > 0 && limit - s->sent < n) {
		n = (int)(limit - s->sent);
	}
	if (n == 0 || s->l->posted + n > s->depth) {
		return 0;
	}
	s->sent += n;
	s->post_ns = s->c->slow_factor < 1 ? clock_raw_ns() : 0;
	return verbs_post(s->l, n, s->c->size_bytes);
}

static int stream_drain(struct stream *s)
{
	while (s->l->posted > 0) {
		if (verbs_poll(s->l) < 0 ||
		    verbs_wait(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return 0;
}

static int send_some(struct stream *s, int64_t n)
{
	s->sent = 0;
	while (s->sent < n) {
		if (stream_fill(s, n) < 0 || verbs_poll(s->l) < 0 ||
		    verbs_wait(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return stream_drain(s);
}

static void take_sample(struct stream *s, int64_t now_ns)
{
	samples_add(&s->samples, s->c, (int)(s->l->done - s->counted),
		    (double)(now_ns - s->sample_ns) / 1e9);
	s->counted = s->l->done;
	s->sample_ns = now_ns;
}

/* Small messages come in groups: they may be through before all samples. */
static bool stream_enough(const struct stream *s)
{
	return samples_enough(&s->samples, s->c) ||
	       (s->c->iters > 0 && s->l->done >= s->c->iters);
}

static bool sample_full(const struct stream *s, int64_t now_ns)
{
	int64_t count = s->l->done - s->counted;

	if (s->c->iters > 0) {
		return count >= samples_batch(&s->samples, s->c);
	}
	return count > 0 && now_ns - s->sample_ns >= SAMPLE_NS;
}

/* Post until the figure stands; then what is under way is let through. */
static int stream_run(struct stream *s)
{
	int64_t now, done = 0;

	s->sent = s->l->done = 0;
	s->counted = 0;
	s->sample_ns = now = clock_raw_ns();
	while (!stream_enough(s)) {
		if (stream_fill(s, s->c->iters) < 0 || verbs_poll(s->l) < 0 ||
		    verbs_wait(s->l, s->deadline_ns) < 0) {
			return -1;
		}
		/* not every machine tells the time for nothing */
		if (s->l->done == done) {
			continue;
		}
		done = s->l->done;
		if (s->l->posted == 0) {
			throttle(s->post_ns, s->c->slow_factor);
		}
		now = clock_raw_ns();
		if (sample_full(s, now)) {
			take_sample(s, now);
		}
	}
	if (s->l->done > s->counted) {
		take_sample(s, now);
	}
	return stream_drain(s);
}

/* The passive end of --bidi loads the way back until it hears a word. */
static int load_way_back(struct stream *s, uint64_t *word)
{
	while (!verbs_heard(s->l, word)) {
		if (stream_fill(s, 0) < 0 || verbs_poll(s->l) < 0 ||
		    verbs_wait(s->l, s->deadline_ns) < 0) {
			return -1;
		}
	}
	return stream_drain(s);
}

/* ---- latency -------------------------------------------------------------------- */

/* How an operation goes back and forth; 0 or -1. */
struct ping_ops {
	int (*go)(struct xport_link *l, uint64_t value);
	/* wait for the answer to, or as the peer for, number @value */
	int (*come)(struct xport_link *l, uint64_t value, bool *last,
		    int64_t deadline_ns);
	bool answered;		/* by the peer; else the HCA answers */
};

static int write_go(struct xport_link *l, uint64_t value)
{
	return verbs_write_ping(l, value);
}

static int write_come(struct xport_link *l, uint64_t value, bool *last,
		      int64_t deadline_ns)
{
	const volatile uint64_t *in = &l->x->box->ping_in;
	uint64_t got;

	while ((got = *in) != value && got != PING_LAST) {
		if (verbs_wait(l, deadline_ns) < 0) {
			return -1;
		}
		/* completions are only looked at while there is time */
		if (l->words_out > 0 && verbs_poll(l) < 0) {
			return -1;
		}
	}
	l->spins = 0;
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
		if (verbs_poll(l) < 0 || verbs_wait(l, deadline_ns) < 0) {
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
		if (verbs_poll(l) < 0 || verbs_wait(l, deadline_ns) < 0) {
			return -1;
		}
	}
	return 0;
}

static const struct ping_ops ping_ops[] = {
	[OP_WRITE] = { .go = write_go, .come = write_come, .answered = true },
	[OP_SEND] = { .go = send_go, .come = send_come, .answered = true },
	[OP_READ] = { .go = read_go, .come = read_come },
};

/* Words and messages of before are out of the way. */
static int settle(struct xport_link *l, int64_t deadline_ns)
{
	while (l->words_out > 0) {
		if (verbs_poll(l) < 0 || verbs_wait(l, deadline_ns) < 0) {
			return -1;
		}
	}
	l->received = 0;
	l->last_word = false;
	return 0;
}

static int send_pings(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	const struct ping_ops *p = &ping_ops[l->x->op];
	static double v[PINGS];
	int64_t begin = clock_raw_ns(), start = begin, now;
	int64_t most = (deadline_ns - clock_now_ns()) / PINGS_SHARE;
	bool last;
	size_t n = 0;

	most = most < PINGS_MAX_NS ? most : PINGS_MAX_NS;
	/* what the other direction left there looks like its end */
	l->x->box->ping_in = 0;
	for (uint64_t i = 1; i <= PINGS + PINGS_WARMUP; i++) {
		if (n > 0 && start - begin > (n < PINGS_MIN ? most : PINGS_NS)) {
			break;
		}
		if (p->go(l, i) < 0 || p->come(l, i, &last, deadline_ns) < 0) {
			return -1;
		}
		throttle(start, c->slow_factor);
		/* one look at the clock a ping: it takes its time, too */
		now = clock_raw_ns();
		if (i > PINGS_WARMUP) {
			v[n++] = (double)(now - start) / 2e3;
		}
		start = now;
	}
	r->lat_us = stats_median(v, n);
	r->lat_p99_us = stats_percentile(v, n, 99);
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

/* Pings go back and forth: @answer or send them. */
static int do_pings(struct xport_link *l, const struct xport_cell *c,
		    bool answer, int64_t deadline_ns, struct xport_result *r)
{
	int rc;

	l->eager = true;
	rc = answer ? answer_pings(l, deadline_ns) :
		      send_pings(l, c, deadline_ns, r);
	l->eager = false;
	return rc;
}

/* ---- the two ends ------------------------------------------------------------------ */

/* Look at what has arrived, when this end is where it arrives. */
static int check_data(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	struct verbs_memory *m = &l->x->memory;

	if (c->sender || !c->check) {
		return 0;
	}
	if (c->drill == XPORT_DRILL_CORRUPT) {
		verbs_memory_spoil(m, c->size_bytes);
	}
	r->wrong = verbs_memory_wrong(m, c->size_bytes, c->pattern_seed,
				      deadline_ns);
	return r->wrong < 0 ? -1 : 0;
}

static int run_active(struct xport_link *l, const struct xport_cell *c,
		      int64_t deadline_ns, struct xport_result *r)
{
	struct stream s;
	uint64_t word;

	stream_init(&s, l, c, deadline_ns);
	if (verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    send_some(&s, 1) < 0 || check_data(l, c, deadline_ns, r) < 0 ||
	    verbs_tell(l, 0) < 0 ||
	    verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    send_some(&s, c->warmup) < 0 || stream_run(&s) < 0 ||
	    verbs_tell(l, 0) < 0) {
		return -1;
	}
	samples_result(&s.samples, r);
	if (c->latency && (verbs_hear(l, &word, false, deadline_ns) < 0 ||
			   settle(l, deadline_ns) < 0 ||
			   do_pings(l, c, false, deadline_ns, r) < 0)) {
		return -1;
	}
	return verbs_tell(l, 0) < 0 ||
			       verbs_hear(l, &word, false, deadline_ns) < 0 ||
			       settle(l, deadline_ns) < 0 ?
		       -1 :
		       0;
}

static int run_passive(struct xport_link *l, const struct xport_cell *c,
		       int64_t deadline_ns, struct xport_result *r)
{
	/* data that only appears in memory needs no help to arrive */
	bool idle = l->x->op != OP_SEND;
	struct stream s;
	uint64_t word;
	int rc;

	stream_init(&s, l, c, deadline_ns);
	if (verbs_tell(l, 0) < 0 ||
	    verbs_hear(l, &word, false, deadline_ns) < 0 ||
	    check_data(l, c, deadline_ns, r) < 0 || verbs_tell(l, 0) < 0) {
		return -1;
	}
	rc = c->bidi ? load_way_back(&s, &word) :
			  verbs_hear(l, &word, idle, deadline_ns);
	if (rc < 0) {
		return -1;
	}
	if (c->latency) {
		l->x->box->ping_in = 0;
		if (settle(l, deadline_ns) < 0 || verbs_tell(l, 0) < 0 ||
		    do_pings(l, c, true, deadline_ns, r) < 0) {
			return -1;
		}
	}
	return verbs_hear(l, &word, false, deadline_ns) < 0 ||
			       verbs_tell(l, 0) < 0 ||
			       settle(l, deadline_ns) < 0 ?
		       -1 :
		       0;
}

static void name_path(const struct xport_link *l, struct xport_result *r)
{
	const struct verbs_device *d = &l->x->dev;

	if (d->ethernet) {
		snprintf(r->path, sizeof(r->path),
			 "RoCEv%d/gid%d/mtu%d%s", d->roce, d->gid_index.value,
			 l->mtu_B, l->x->memory.how);
	} else {
		snprintf(r->path, sizeof(r->path), "IB/mtu%d%s", l->mtu_B,
			 l->x->memory.how);
	}
}

static void tell_result(const struct xport_link *l,
			const struct xport_cell *c, struct xport_result *r)
{
	if (r->wrong != RECORD_NONE && r->wrong > 0) {
		xport_fail(r, OUTCOME_CORRUPT, "data_corrupt",
			   "%lld of %llu bytes arrived changed at %s",
			   (long long)r->wrong,
			   (unsigned long long)c->size_bytes, l->own.name);
	} else {
		r->outcome = OUTCOME_OK;
	}
}

void verbs_measure(struct xport_link *l, const struct xport_cell *c,
		   int64_t deadline_ns, struct xport_result *r)
{
	bool active = c->sender == (l->x->op != OP_READ);
	enum verbs_side side = c->sender ? VERBS_SEND : VERBS_RECV;
	int rc;

	name_path(l, r);
	if (xport_act_drill(l->x->self.worker, c, deadline_ns, r)) {
		l->fault = FAULT_CANCELLED;
		return;
	}
	worker_step(l->x->self.worker, "%s %llu bytes with %s",
		    c->sender ? "sending" : "receiving",
		    (unsigned long long)c->size_bytes, l->peer.name);
	rc = verbs_memory_fill(&l->x->memory, side, c->size_bytes,
			       c->pattern_seed, deadline_ns);
	if (rc == 0) {
		rc = active ? run_active(l, c, deadline_ns, r) :
			      run_passive(l, c, deadline_ns, r);
	}
	if (rc < 0 && l->x->memory.fault[0] != '\0') {
		xport_fail(r, OUTCOME_ERROR, "gpu_memory", "%s",
			   l->x->memory.fault);
		l->fault = FAULT_CANCELLED;	/* the peer waits in vain */
	} else if (rc < 0) {
		verbs_tell_fault(l, c->sender ? "sending" : "receiving", r);
	} else {
		tell_result(l, c, r);
	}
}

#endif
