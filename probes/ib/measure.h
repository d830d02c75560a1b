/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_MEASURE_H
#define PROBES_IB_MEASURE_H

#include "probes/ib/link.h"
#include "probes/transport/samples.h"

/**
 * What a pair measures.  Calls return 0, or -1 with the link's fault set.
 */

/** run() of the verbs transport: one direction at one size. */
bool verbs_measure(struct xport_link *l, const struct xport_cell *c,
		   int64_t deadline_ns, struct xport_result *r);

/* ping.c: latency, 8 bytes to and fro */

/** Words and messages of before are out of the way. */
int verbs_settle(struct xport_link *l, int64_t deadline_ns);
/** Send pings, and @r has their latency; or @answer them. */
int verbs_pings(struct xport_link *l, const struct xport_cell *c, bool answer,
		int64_t deadline_ns, struct xport_result *r);

/* stream.c */

#define VERBS_SAMPLE_S 4e-3	/* what a sample shall last */

/**
 * Bandwidth: messages one behind the other, as many on their way as the queue
 * holds, or as it takes to keep it filled.
 */
struct stream {
	struct xport_link *l;
	const struct xport_cell *c;
	int64_t deadline_ns;
	int group, depth;
	int window;			/* on their way, without a given end */
	int64_t begin_ns;
	int64_t sent;			/* posted so far */
	int64_t post_ns;		/* when the last ones were */
	int64_t sample_ns;		/* when the sample began */
	int64_t counted;		/* done when the sample began */
	struct samples samples;
};

void stream_init(struct stream *s, struct xport_link *l,
		 const struct xport_cell *c, int64_t deadline_ns);
/** @n messages that nobody times, until the last has completed. */
int stream_send(struct stream *s, int64_t n);
/** Post until the figure in s->samples stands; what is under way then is let
 *  through. */
int stream_run(struct stream *s);
/** The passive end of --bidi loads the way back until it hears @word. */
int stream_until_word(struct stream *s, uint64_t *word);

/** A drill: what began at @since_ns (clock_raw_ns()) shall last 1 / @factor
 *  times as long as it did. */
void verbs_throttle(int64_t since_ns, double factor);

#endif
