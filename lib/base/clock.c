/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_raw_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_RAW);
}

int64_t clock_ticks(void)
{
#if defined(__x86_64__)
	return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	int64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return clock_raw_ns();
#endif
}

static const char *utc_text(struct timespec ts, char buf[CLOCK_UTC_SIZE])
{
	struct tm tm;
	size_t n;

	gmtime_r(&ts.tv_sec, &tm);
	n = strftime(buf, CLOCK_UTC_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, CLOCK_UTC_SIZE - n, ".%03uZ",
		 (unsigned)(ts.tv_nsec / NS_PER_MS) % 1000);
	return buf;
}

const char *clock_utc(char buf[CLOCK_UTC_SIZE])
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return utc_text(ts, buf);
}

const char *clock_utc_of(int64_t s, char buf[CLOCK_UTC_SIZE])
{
	return utc_text((struct timespec){ .tv_sec = s }, buf);
}

int64_t clock_utc_s(const char *utc)
{
	struct tm tm = { 0 };

	return strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : -1;
}

int clock_ms_left(int64_t deadline_ns)
{
	const int64_t hour_ms = 3600 * 1000;
	const int64_t now_ns = clock_now_ns();
	int64_t left_ms = 0;

	if (deadline_ns > now_ns) {
		left_ms = (deadline_ns - now_ns - 1) / NS_PER_MS + 1;
	}
	return (int)(left_ms < hour_ms ? left_ms : hour_ms);
}

void clock_sleep(int64_t ns)
{
	if (ns > 0) {
		nanosleep(&(struct timespec){
				  .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) },
			  NULL);
	}
}

void clock_nap(int64_t since_ns, int64_t most_ns)
{
	int64_t ns = (clock_now_ns() - since_ns) / 8;

	ns = ns < NS_PER_MS ? NS_PER_MS : ns;
	clock_sleep(ns < most_ns ? ns : most_ns);
}
