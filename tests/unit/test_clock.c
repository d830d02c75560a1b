/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"

static void clocks_run_forward(void **state)
{
	int64_t now_ns = clock_now_ns(), raw_ns = clock_raw_ns();
	const struct timespec pause = { .tv_nsec = 2 * NS_PER_MS };

	(void)state;
	nanosleep(&pause, NULL);
	assert_true(clock_now_ns() - now_ns >= 2 * NS_PER_MS);
	assert_true(clock_raw_ns() - raw_ns >= 1 * NS_PER_MS);
}

/* Ticks of a nanosecond, over 20 ms or more. */
static double rate(void)
{
	const struct timespec pause = { .tv_nsec = 20 * NS_PER_MS };
	int64_t ns = clock_raw_ns(), ticks = clock_ticks();

	nanosleep(&pause, NULL);
	return (double)(clock_ticks() - ticks) / (double)(clock_raw_ns() - ns);
}

static void ticks_are_as_long_each_time(void **state)
{
	double a = rate(), b = rate();

	(void)state;
	assert_true(a > 0 && b > 0);
	/* the two are not read at the same moment */
	assert_true(a < 2 * b && b < 2 * a);
}

static void utc_is_rfc_3339_with_milliseconds(void **state)
{
	char buf[CLOCK_UTC_SIZE], year[5];
	time_t now = time(NULL);
	struct tm tm;

	(void)state;
	clock_utc(buf);
	assert_int_equal(strlen(buf), 24);
	for (size_t i = 0; i < 24; i++) {
		char want = "dddd-dd-ddTdd:dd:dd.dddZ"[i];

		assert_true(want == 'd' ? buf[i] >= '0' && buf[i] <= '9' :
					  buf[i] == want);
	}
	gmtime_r(&now, &tm);
	strftime(year, sizeof(year), "%Y", &tm);
	assert_memory_equal(buf, year, 4);
}

static void time_left_is_rounded_up_and_bounded(void **state)
{
	int left_ms;

	(void)state;
	assert_int_equal(clock_ms_left(clock_now_ns()), 0);
	assert_int_equal(clock_ms_left(INT64_MIN), 0);
	assert_int_equal(clock_ms_left(INT64_MAX), 3600 * 1000);
	left_ms = clock_ms_left(clock_now_ns() + 10 * NS_PER_S);
	assert_in_range(left_ms, 9000, 10000);
	/* never 0 while there is time: poll(0) in a loop would spin */
	assert_in_range(clock_ms_left(clock_now_ns() + 900 * NS_PER_US), 1, 1);
}

static void *hang(void *arg)
{
	clock_sleep(*(int64_t *)arg);
	return NULL;
}

/** One that hangs is left behind. */
static void a_call_that_hangs_is_not_waited_for(void **state)
{
	static int64_t none_ns, long_ns = 60 * NS_PER_S;
	int64_t begin_ns = clock_now_ns();

	(void)state;
	assert_true(within(60, hang, &none_ns));
	assert_false(within(0, hang, &long_ns));
	assert_true(clock_now_ns() - begin_ns < 50 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_hangs_is_not_waited_for),
		cmocka_unit_test(clocks_run_forward),
		cmocka_unit_test(ticks_are_as_long_each_time),
		cmocka_unit_test(utc_is_rfc_3339_with_milliseconds),
		cmocka_unit_test(time_left_is_rounded_up_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
