/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_FOLLOW_TIME_H
#define PROBES_ENGINE_COORD_FOLLOW_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"

/**
 * The time of a follow-up: that of its tests has a deadline, in which looks at
 * the verdict do not count, for these take seconds each of a fleet.  They have
 * a minute of their own, all together.  Pure.
 */
struct follow_time {
	int64_t deadline_ns;
	int64_t asked_ns;	/* when the look that goes on began; 0: none */
	int64_t looks_ns;	/* of those before it, that did not count */
};

#define FOLLOW_LOOKS_NS (60 * NS_PER_S)

/** What of the look that goes on does not count, at @now_ns. */
static inline int64_t follow_time_look(const struct follow_time *t,
				       int64_t now_ns)
{
	const int64_t look_ns = t->asked_ns ? now_ns - t->asked_ns : 0;
	const int64_t left_ns = FOLLOW_LOOKS_NS - t->looks_ns;

	return look_ns < left_ns ? look_ns : left_ns;
}

/** Is it over at @now_ns? */
static inline bool follow_time_over(const struct follow_time *t, int64_t now_ns)
{
	return now_ns > t->deadline_ns + follow_time_look(t, now_ns);
}

/** A look begins at @now_ns. */
static inline void follow_time_ask(struct follow_time *t, int64_t now_ns)
{
	t->asked_ns = now_ns;
}

/** It has ended; the run has to by @end_ns. */
static inline void follow_time_hear(struct follow_time *t, int64_t now_ns,
				    int64_t end_ns)
{
	const int64_t look_ns = follow_time_look(t, now_ns);

	t->looks_ns += look_ns;
	t->deadline_ns += look_ns;
	t->asked_ns = 0;
	if (t->deadline_ns > end_ns) {
		t->deadline_ns = end_ns;
	}
}

#endif
