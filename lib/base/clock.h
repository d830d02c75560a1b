/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- late ---------------------------------------------------------------- */

/**
 * Note a check at @now_ns (clock_now_ns()), which is due every @period_ns, in
 * *@looked_ns, the time of the last one, 0 at first.  Returns its lateness in
 * ns, 0 for the first check and one in time: the process was stopped, or had no
 * CPU, and what it did not see meanwhile may have been there.
 */
static inline int64_t late_look(int64_t *looked_ns, int64_t now_ns,
				int64_t period_ns)
{
	int64_t late_ns = *looked_ns > 0 ? now_ns - *looked_ns - period_ns : 0;

	*looked_ns = now_ns;
	return late_ns > 0 ? late_ns : 0;
}

/** Time in ns that the first thread of @pid has waited for a CPU since it
 *  began; 0 if the kernel does not report it. */
int64_t late_waited_ns(pid_t pid);
/** The same from @text, the contents of /proc/PID/schedstat. */
int64_t late_parse(const char *text);

/* ---- watchdog ------------------------------------------------------------ */

/**
 * End this process with @exit_code @wait_ns from now (at least 1 us) unless
 * this is called again before: for a process that must not outlive what it
 * waits for, even if its event loop is stuck.  Takes SIGALRM.
 */
void watchdog_set(int64_t wait_ns, int exit_code);

/* ---- clock --------------------------------------------------------------- */

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/** CLOCK_MONOTONIC, for deadlines and waiting (poll knows no other). */
int64_t clock_now_ns(void);
/** CLOCK_MONOTONIC_RAW, for measuring: not slewed by NTP. */
int64_t clock_raw_ns(void);
/**
 * A counter of the CPU, for short times: read in nanoseconds even where a clock
 * is a device that takes a microsecond (hpet).  What a tick is, clock_raw_ns()
 * tells over many of them; a difference below 0 means that it does not count on
 * this machine.
 */
int64_t clock_ticks(void);

#define CLOCK_UTC_SIZE 32
/** Now as RFC 3339 with milliseconds, "2026-01-31T09:15:02.123Z". */
const char *clock_utc(char buf[CLOCK_UTC_SIZE]);
/** The same of @s seconds since 1970. */
const char *clock_utc_of(int64_t s, char buf[CLOCK_UTC_SIZE]);
/** Seconds since 1970 of such a text; -1 where it is none. */
int64_t clock_utc_s(const char *utc);

/**
 * Milliseconds left until @deadline_ns for poll(2): rounded up, 0 when it has
 * passed, at most one hour.
 */
int clock_ms_left(int64_t deadline_ns);

/** Sleep for @ns; not at all for less than 1.  A signal ends the sleep. */
void clock_sleep(int64_t ns);

/**
 * Until the next look at what has been awaited since @since_ns: an eighth of
 * that time, at least 1 ms and at most @most_ns.  What is there soon is seen
 * soon, what takes long is not asked often.  A signal ends the sleep.
 */
void clock_nap(int64_t since_ns, int64_t most_ns);

#endif
