/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a run become one: no failure is lost, no older look undoes a newer
 * one. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/run/jobs.h"
#include "lib/data/json.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"

/* ---- a run with two parts ------------------------------------------------ */

static const char *const tries[] = { "parts/0001-1", "parts/0002-1",
				     "parts/0002-2" };
static const char *const files[] = { "run.json", "results.csv", "facts.csv",
				     "events.csv" };

struct fixture {
	struct jobs j;
	struct job parts[2];
	char root[64];
};

static void path_of(const struct fixture *f, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", f->root, name);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[128];

	STR_COPY(f->root, "/tmp/gpucheck-merge-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	path_of(f, "parts", path);
	assert_int_equal(mkdir(path, 0700), 0);
	f->j = (struct jobs){ .list = f->parts, .n = 2 };
	STR_COPY(f->j.left.dir, f->root);
	f->j.left.run = json_pack(
		"{s:i, s:s, s:{}, s:{s:s, s:s, s:[s, s, s]}}", "schema", 1,
		"probe", "p2p", "options", "jobs", "id", "ab", "kind", "all",
		"nodes", "a", "b", "c");
	assert_int_equal(rundir_write_json(f->root, RUN_JSON, f->j.left.run,
					   NULL), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char path[128], dir[128];

	for (size_t t = 0; t <= 3; t++) {
		path_of(f, t < 3 ? tries[t] : "", dir);
		for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
			snprintf(path, sizeof(path), "%.100s/%s", dir,
				 files[i]);
			unlink(path);
		}
		if (t < 3) {
			rmdir(dir);
		}
	}
	path_of(f, "parts", path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(f->root), 0);
	json_decref(f->j.left.run);
	free(f);
	return 0;
}

/** Try @t, of nodes a and @other, which ended as the @order-th and for the
 *  reason @why ("": by itself). */
static void add_try(struct fixture *f, size_t t, const char *other, int order,
		    const char *why)
{
	const struct timespec times[2] = { { .tv_sec = 1000 + order },
					   { .tv_sec = 1000 + order } };
	json_t *run = json_pack(
		"{s:i, s:s, s:[{s:s, s:i}, {s:s, s:i}], s:{s:s, s:i}, "
		"s:s, s:s}", "schema", 1, "probe", "p2p", "nodes", "name", "a",
		"gpus", 2, "name", other, "gpus", 2, "planned", "kind", "list",
		"cells", 1, "ended_utc", "2026-01-31T09:15:02Z", "stop_reason",
		why);
	char dir[128], path[160];

	path_of(f, tries[t], dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(rundir_write_json(dir, RUN_JSON, run, NULL), 0);
	snprintf(path, sizeof(path), "%s/" RUN_JSON, dir);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	json_decref(run);
	f->parts[t > 0].tries++;
	f->parts[t > 0].state = JOB_DONE;
	f->j.count[JOB_DONE] = 2;
}

struct given {
	int attempt, src, dst;	/* ranks of the part: 0 and 1 are those of a */
	enum outcome outcome;
};

static void add_rows(struct fixture *f, size_t t, const char *other, size_t n,
		     const struct given *rows)
{
	struct str text = STR_INIT;
	struct p2p_row row;
	char dir[128];

	record_add_header(&schema_p2p, &text);
	for (size_t i = 0; i < n; i++) {
		record_init(&schema_p2p, &row);
		row.attempt = rows[i].attempt;
		row.src_rank = rows[i].src;
		row.dst_rank = rows[i].dst;
		STR_COPY(row.src_node, rows[i].src < 2 ? "a" : other);
		STR_COPY(row.dst_node, rows[i].dst < 2 ? "a" : other);
		row.outcome = rows[i].outcome;
		row.size_B = 8;
		row.bw_GB_s = (double)t + 1;
		record_add_csv(&schema_p2p, &row, &text);
	}
	path_of(f, tries[t], dir);
	assert_int_equal(rundir_write_text(dir, "results.csv", str_text(&text),
					   0600, NULL), 0);
	str_release(&text);
}
#define ROWS(f, t, other, ...) add_rows(f, t, other, \
	sizeof((struct given[]){ __VA_ARGS__ }) / sizeof(struct given), \
	(struct given[]){ __VA_ARGS__ })

/* ---- the whole ----------------------------------------------------------- */

static int say_row(void *arg, const void *data, struct err *e)
{
	const struct p2p_row *row = data;

	(void)e;
	str_addf(arg, "%d %d>%d %s %g; ", (int)row->attempt, (int)row->src_rank,
		 (int)row->dst_rank, outcome_name(row->outcome), row->bw_GB_s);
	return RUNDIR_KEEP;
}

static void assert_rows(const struct fixture *f, const char *wanted)
{
	struct str text = STR_INIT;

	assert_int_equal(rundir_table_walk(f->root, &schema_p2p, false, say_row,
					   &text, NULL, NULL), 0);
	assert_string_equal(str_text(&text), wanted);
	str_release(&text);
}

static void merge(struct fixture *f)
{
	struct err e = { 0 };

	assert_int_equal(jobs_merge(&f->j, true, &e), 0);
	assert_string_equal(e.text, "");
}

static void ended(const struct fixture *f, char utc[64])
{
	json_t *run = rundir_read_json(f->root, RUN_JSON, NULL);

	snprintf(utc, 64, "%s", json_member(run, "ended_utc"));
	json_decref(run);
}

static void a_failure_that_a_later_job_does_not_see_is_kept(void **state)
{
	struct fixture *f = *state;

	add_try(f, 0, "b", 1, "");
	add_try(f, 1, "c", 2, "");
	/* inside of a: by both */
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_ERROR },
	     { 2, 0, 1, OUTCOME_CORRUPT }, { 1, 1, 0, OUTCOME_OK },
	     { 1, 0, 2, OUTCOME_OK });
	ROWS(f, 1, "c", { 1, 0, 1, OUTCOME_OK }, { 1, 1, 0, OUTCOME_OK },
	     { 1, 2, 0, OUTCOME_TIMEOUT });
	merge(f);
	assert_rows(f, "1 0>1 error 1; 2 0>1 corrupt 1; 1 0>2 ok 1; "
		       "3 0>1 ok 2; 1 1>0 ok 2; 1 4>0 timeout 2; ");
}

static void a_failure_that_came_later_decides(void **state)
{
	struct fixture *f = *state;

	add_try(f, 0, "b", 1, "");
	add_try(f, 1, "c", 2, "");
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_OK });
	ROWS(f, 1, "c", { 1, 0, 1, OUTCOME_ERROR }, { 2, 0, 1, OUTCOME_ERROR });
	merge(f);
	assert_rows(f, "1 0>1 error 2; 2 0>1 error 2; ");
}

static void a_job_that_was_cut_short_accuses_nobody(void **state)
{
	struct fixture *f = *state;

	add_try(f, 0, "b", 1, "");
	add_try(f, 1, "c", 2, "interrupted");
	add_try(f, 2, "c", 3, "");
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_OK }, { 1, 1, 0, OUTCOME_SKIPPED });
	ROWS(f, 1, "c", { 1, 0, 1, OUTCOME_CRASHED },
	     { 1, 0, 2, OUTCOME_CRASHED }, { 1, 2, 0, OUTCOME_OK },
	     { 1, 1, 0, OUTCOME_NOT_RUN });
	ROWS(f, 2, "c", { 1, 0, 2, OUTCOME_OK });
	merge(f);
	/* but what it alone has measured counts */
	assert_rows(f, "1 0>1 ok 1; 1 1>0 skipped 1; 1 4>0 ok 2; "
		       "1 0>4 ok 3; ");
}

static void an_older_look_undoes_nothing(void **state)
{
	struct fixture *f = *state;
	char first[64], utc[64], path[128];

	add_try(f, 0, "b", 1, "");
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_OK });
	merge(f);
	ended(f, first);
	assert_true(first[0]);

	/* who saw a job at work, before that */
	f->j.count[JOB_RUNS] = 1;
	merge(f);
	ended(f, utc);
	assert_string_equal(utc, first);

	/* it ended when it ended */
	f->j.count[JOB_RUNS] = 0;
	usleep(2000);
	merge(f);
	ended(f, utc);
	assert_string_equal(utc, first);

	/* it goes on: what was submitted meanwhile is no end */
	assert_int_equal(jobs_reopen(&f->j, NULL), 0);
	ended(f, utc);
	assert_string_equal(utc, "");
	path_of(f, tries[1], path);
	assert_int_equal(mkdir(path, 0700), 0);
	merge(f);
	ended(f, utc);
	assert_string_equal(utc, "");
	assert_int_equal(rmdir(path), 0);

	/* and who only looks says of no run that it has ended */
	assert_int_equal(jobs_merge(&f->j, false, NULL), 0);
	ended(f, utc);
	assert_string_equal(utc, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_failure_that_a_later_job_does_not_see_is_kept,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_failure_that_came_later_decides, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_job_that_was_cut_short_accuses_nobody, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(an_older_look_undoes_nothing,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
