/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/front/follow.h"
#include "lib/base/clock.h"
#include "lib/data/rundir.h"

static char dir[] = "/tmp/gpucheck-watch.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char path[PATH_MAX];

	(void)state;
	rundir_path(dir, RUN_JSON, path, NULL);
	unlink(path);
	rundir_path(dir, RUN_RESULTS, path, NULL);
	unlink(path);
	rundir_path(dir, RUN_EVENTS, path, NULL);
	unlink(path);
	return rmdir(dir);
}

/* run.json becomes @text in place, as of @when: same inode, same time. */
static void put(const char *text, struct timespec when)
{
	const struct timespec times[2] = { when, when };
	char path[PATH_MAX];
	int fd;

	assert_int_equal(rundir_path(dir, RUN_JSON, path, NULL), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* Plan and end fall into one tick of the file system's clock. */
static void an_end_within_a_tick_is_seen(void **state)
{
	struct timespec now;
	struct watch w;

	(void)state;
	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_nsec = 0;
	watch_init(&w, dir);
	put("{\"planned\": {\"cells\": 2}, \"still_\": \"now\"}", now);
	watch_look(&w);
	assert_true(w.planned);
	assert_false(w.ended);
	put("{\"planned\": {\"cells\": 2}, \"ended_utc\": \"2026\"}", now);
	watch_look(&w);
	assert_true(w.ended);
}

/* An old file is not read again and again. */
static void an_old_file_is_read_once(void **state)
{
	struct timespec then;
	struct watch w;

	(void)state;
	clock_gettime(CLOCK_REALTIME, &then);
	then.tv_sec -= 60;
	watch_init(&w, dir);
	put("{\"planned\": {\"cells\": 2}, \"ended_utc\": 1}", then);
	watch_look(&w);
	assert_int_equal(w.cells, 2);
	put("{\"planned\": {\"cells\": 3}, \"ended_utc\": 1}", then);
	watch_look(&w);
	assert_int_equal(w.cells, 2);
	then.tv_sec++;
	put("{\"planned\": {\"cells\": 3}, \"ended_utc\": 1}", then);
	watch_look(&w);
	assert_int_equal(w.cells, 3);
}

static void add_rows(const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	assert_int_equal(rundir_path(dir, RUN_RESULTS, path, NULL), 0);
	f = fopen(path, "ae");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Neither the header, nor half a line, nor a cell that has not run. */
static void rows_are_of_what_has_run(void **state)
{
	struct watch w;

	(void)state;
	watch_init(&w, dir);
	add_rows("src,dst,outcome,code\n");
	watch_look(&w);
	assert_int_equal(w.rows, 0);
	add_rows("0,1,ok,\n1,0,err");
	watch_look(&w);
	assert_int_equal(w.rows, 1);
	add_rows("or,timeout\n0,2,not_run,interrupted\n2,0,skipped,\n");
	watch_look(&w);
	assert_int_equal(w.rows, 3);
}

/* @s later, by a watch that looks in time. */
static void pass(struct watch *w, int s)
{
	for (int i = 0; i < s; i += 2) {
		w->looked_ns -= 2 * NS_PER_S;
		watch_look(w);
	}
}

/* Its coordinator gives a sign, by @fd of its events. */
static void sign(struct watch *w, int fd)
{
	static time_t when = 1000;
	const struct timespec at = { .tv_sec = ++when };
	const struct timespec times[2] = { at, at };

	assert_int_equal(futimens(fd, times), 0);
	pass(w, 2);
}

static int open_events(void)
{
	char path[PATH_MAX];
	int fd;

	assert_int_equal(rundir_path(dir, RUN_EVENTS, path, NULL), 0);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void a_silent_coordinator_is_lost(void **state)
{
	int fd = open_events();
	struct watch w;

	(void)state;
	watch_init(&w, dir);
	/* what stands there before is no sign, and none is none to miss */
	pass(&w, 600);
	assert_false(w.signs);
	assert_false(w.lost);
	sign(&w, fd);
	assert_true(w.signs);
	pass(&w, 58);
	assert_false(w.lost);
	sign(&w, fd);
	/* we were stopped, it was not */
	w.looked_ns -= 3600 * NS_PER_S;
	watch_look(&w);
	assert_false(w.lost);
	pass(&w, 54);
	assert_false(w.lost);
	pass(&w, 4);
	assert_true(w.lost);
	sign(&w, fd);
	assert_false(w.lost);
	close(fd);
}

static void a_coordinator_whose_process_is_gone_is_lost_sooner(void **state)
{
	int fd = open_events();
	struct watch w;

	(void)state;
	assert_int_equal(rundir_hold(fd, NULL), 0);
	watch_init(&w, dir);
	sign(&w, fd);
	if (!w.held) {
		skip();		/* /tmp is on a file system of a network */
	}
	pass(&w, 30);
	assert_false(w.lost);
	sign(&w, fd);
	close(fd);
	pass(&w, 8);
	assert_false(w.lost);
	pass(&w, 4);
	assert_true(w.lost);
}

/* 3 rows of an earlier run, then 2 of 10 in 20 s: 10 - 5 at that pace. */
static void what_is_left_is_told_by_the_pace(void **state)
{
	static const char begun[] =
		"{\"planned\": {\"cells\": 10}, \"measuring\": "
		"{\"since_utc\": \"2026-01-31T09:15:00.500Z\", "
		"\"after_B\": 45}}";
	const struct timespec last = { .tv_sec = 1769850920 };
	const struct timespec times[2] = { last, last };
	char path[PATH_MAX];
	struct watch w;

	(void)state;
	rundir_path(dir, RUN_RESULTS, path, NULL);
	unlink(path);
	rundir_path(dir, RUN_EVENTS, path, NULL);
	unlink(path);
	add_rows("src,dst,outcome,code\n0,1,ok,\n0,2,ok,\n0,3,ok,\n");
	watch_init(&w, dir);
	watch_look(&w);
	assert_int_equal(watch_left_ns(&w), -1);
	put(begun, last);
	watch_look(&w);
	assert_int_equal(w.kept, 3);
	assert_int_equal(watch_left_ns(&w), -1);
	add_rows("1,0,ok,\n2,0,ok,\n");
	rundir_path(dir, RUN_RESULTS, path, NULL);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	watch_look(&w);
	assert_int_equal(w.kept, 3);
	assert_int_equal(watch_left_ns(&w), 50 * NS_PER_S);
	/* of a clock that went astray nothing is told */
	w.since_ns = 1;
	w.cells = 1000000000;
	assert_int_equal(watch_left_ns(&w), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_within_a_tick_is_seen),
		cmocka_unit_test(an_old_file_is_read_once),
		cmocka_unit_test(rows_are_of_what_has_run),
		cmocka_unit_test(a_silent_coordinator_is_lost),
		cmocka_unit_test(
			a_coordinator_whose_process_is_gone_is_lost_sooner),
		cmocka_unit_test(what_is_left_is_told_by_the_pace),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
