/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a run become one: no failure is lost, and what is missing has a
 * reason. */
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
	char utc[32], dir[128];
	json_t *run;

	snprintf(utc, sizeof(utc), "2026-01-31T09:15:0%dZ", order % 10);
	run = json_pack(
		"{s:i, s:s, s:[{s:s, s:i}, {s:s, s:i}], s:{s:s, s:i}, "
		"s:s, s:s}", "schema", 1, "probe", "p2p", "nodes", "name", "a",
		"gpus", 2, "name", other, "gpus", 2, "planned", "kind", "list",
		"cells", 1, "ended_utc", utc, "stop_reason", why);
	path_of(f, tries[t], dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(rundir_write_json(dir, RUN_JSON, run, NULL), 0);
	json_decref(run);
	f->parts[t > 0].nodes = t > 0 ? "a,c" : "a,b";
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

	assert_int_equal(jobs_merge(&f->j, &e), 0);
	assert_string_equal(e.text, "");
}

/** A member of run.json of the whole. */
static void assert_whole(const struct fixture *f, const char *member,
			 const char *wanted)
{
	json_t *run = rundir_read_json(f->root, RUN_JSON, NULL);

	assert_string_equal(json_member(run, member), wanted);
	json_decref(run);
}

static void a_failure_that_another_job_does_not_see_is_kept(void **state)
{
	struct fixture *f = *state;

	f->j.count[JOB_RUNS] = 1;
	add_try(f, 0, "b", 1, "");
	add_try(f, 1, "c", 2, "");
	/* inside of a: by both */
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_ERROR },
	     { 2, 0, 1, OUTCOME_CORRUPT }, { 1, 1, 0, OUTCOME_OK },
	     { 1, 0, 2, OUTCOME_OK });
	ROWS(f, 1, "c", { 1, 0, 1, OUTCOME_OK }, { 1, 1, 0, OUTCOME_OK },
	     { 1, 2, 0, OUTCOME_TIMEOUT });
	merge(f);
	assert_rows(f, "1 0>1 error 1; 2 0>1 corrupt 1; 1 1>0 ok 1; "
		       "1 0>2 ok 1; 3 0>1 ok 2; 1 4>0 timeout 2; ");
	assert_whole(f, "ended_utc", "");
}

static void a_failure_that_came_later_is_kept_too(void **state)
{
	struct fixture *f = *state;

	f->j.count[JOB_RUNS] = 1;
	add_try(f, 0, "b", 1, "");
	add_try(f, 1, "c", 2, "");
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_OK });
	ROWS(f, 1, "c", { 1, 0, 1, OUTCOME_ERROR }, { 2, 0, 1, OUTCOME_ERROR });
	merge(f);
	assert_rows(f, "1 0>1 ok 1; 2 0>1 error 2; 3 0>1 error 2; ");
}

static void a_job_that_was_cut_short_accuses_no_part(void **state)
{
	struct fixture *f = *state;

	f->j.count[JOB_RUNS] = 1;
	add_try(f, 0, "b", 1, "");
	add_try(f, 1, "c", 2, "interrupted");
	add_try(f, 2, "c", 3, "");
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_OK }, { 1, 1, 0, OUTCOME_SKIPPED });
	ROWS(f, 1, "c", { 1, 0, 1, OUTCOME_CRASHED },
	     { 1, 0, 2, OUTCOME_CRASHED }, { 1, 2, 0, OUTCOME_OK },
	     { 1, 1, 0, OUTCOME_NOT_RUN });
	ROWS(f, 2, "c", { 1, 0, 2, OUTCOME_OK });
	merge(f);
	/* but what it alone has measured well counts */
	assert_rows(f, "1 0>1 ok 1; 1 1>0 skipped 1; 1 4>0 ok 2; "
		       "1 0>4 ok 3; ");
}

static int count_row(void *arg, const void *data, struct err *e)
{
	const struct p2p_row *row = data;
	size_t *n = arg;

	(void)e;
	if (row->outcome == OUTCOME_NOT_RUN) {
		assert_string_equal(row->detail, "job 7 was cancelled");
		assert_string_equal(row->code, "job_lost");
		++*n;
	}
	return RUNDIR_KEEP;
}

/** The same parts always give the same run. */
static void what_is_missing_has_the_reason(void **state)
{
	struct fixture *f = *state;
	size_t n = 0;

	add_try(f, 0, "b", 1, "");
	ROWS(f, 0, "b", { 1, 0, 1, OUTCOME_OK }, { 1, 1, 0, OUTCOME_OK });
	STR_COPY(f->parts[0].why, "job 7 was cancelled");
	f->parts[1].nodes = "a,c";
	f->parts[1].state = JOB_LOST;
	STR_COPY(f->parts[1].why, "job 7 was cancelled");
	for (int i = 0; i < 2; i++) {
		n = 0;
		merge(f);
		assert_int_equal(rundir_table_walk(f->root, &schema_p2p, false,
						   count_row, &n, NULL, NULL),
				 0);
		/* of 22 planned tests between and inside a, b and c */
		assert_int_equal(n, 2 * 4 * 2 + 2 * 2);
		assert_whole(f, "ended_utc", "2026-01-31T09:15:01Z");
		assert_whole(f, "stop_reason", "2 of 2 jobs without a result: "
			     "job 7 was cancelled");
		assert_int_equal(f->parts[0].state, JOB_LOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_failure_that_another_job_does_not_see_is_kept,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_failure_that_came_later_is_kept_too, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_job_that_was_cut_short_accuses_no_part, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_is_missing_has_the_reason,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
