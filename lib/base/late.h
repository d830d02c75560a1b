/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_LATE_H
#define LIB_BASE_LATE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * How late somebody gets to look who should do so every now and then: he was
 * stopped, or others had the CPU.  What he has not seen meanwhile may well have
 * been there.  A zeroed one has not looked so far.
 */
struct late {
	int64_t looked_ns;	/* when that was last */
};

/** He looks, at @now_ns (clock_now_ns()), and should do so every @period_ns:
 *  how many nanoseconds late, 0: in time, or for the first time. */
static inline int64_t late_look(struct late *l, int64_t now_ns,
				int64_t period_ns)
{
	int64_t late_ns =
		l->looked_ns > 0 ? now_ns - l->looked_ns - period_ns : 0;

	l->looked_ns = now_ns;
	return late_ns > 0 ? late_ns : 0;
}

/** How long the first thread of @pid, since it began, could have run and had no
 *  CPU, in nanoseconds; 0 where the kernel does not say. */
int64_t late_waited_ns(pid_t pid);
/** The same of @text, as /proc/PID/schedstat has it. */
int64_t late_parse(const char *text);

#endif
