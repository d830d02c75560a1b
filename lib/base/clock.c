/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

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

/* The last digits of @value, as many as there are between @from and @end. */
static void put_digits(int value, char *from, char *end)
{
	while (end > from) {
		*--end = (char)('0' + value % 10);
		value /= 10;
	}
}

static const char *utc_text(struct timespec ts, char buf[CLOCK_UTC_SIZE])
{
	static const char shape[] = "0000-00-00T00:00:00.000Z";
	struct tm tm = { 0 };

	gmtime_r(&ts.tv_sec, &tm);
	memcpy(buf, shape, sizeof(shape));
	put_digits(tm.tm_year + 1900, buf, buf + 4);
	put_digits(tm.tm_mon + 1, buf + 5, buf + 7);
	put_digits(tm.tm_mday, buf + 8, buf + 10);
	put_digits(tm.tm_hour, buf + 11, buf + 13);
	put_digits(tm.tm_min, buf + 14, buf + 16);
	put_digits(tm.tm_sec, buf + 17, buf + 19);
	put_digits((int)(ts.tv_nsec / NS_PER_MS), buf + 20, buf + 23);
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

/* ---- late ---------------------------------------------------------------- */

int64_t late_parse(const char *text)
{
	uint64_t ran_ns, waited_ns;

	return sscanf(text, "%20" SCNu64 " %20" SCNu64, &ran_ns, &waited_ns) ==
					       2 &&
			       waited_ns <= INT64_MAX ?
		       (int64_t)waited_ns : 0;
}

int64_t late_waited_ns(pid_t pid)
{
	char path[40], text[80];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return 0;
	}
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return late_parse(text);
}

/* ---- watchdog ------------------------------------------------------------ */

/** Exit code for the signal handler. */
static volatile sig_atomic_t watchdog_code;

static void end_by_alarm(int signum)
{
	(void)signum;
	_exit(watchdog_code);
}

void watchdog_set(int64_t wait_ns, int exit_code)
{
	const struct itimerval wait = {
		.it_value = { .tv_sec = wait_ns / NS_PER_S,
			      .tv_usec = wait_ns % NS_PER_S / 1000 },
	};

	watchdog_code = exit_code;
	signal(SIGALRM, end_by_alarm);
	setitimer(ITIMER_REAL, &wait, NULL);
}
