/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cli/run/repeat.h"
#include "lib/base/str.h"
#include "sbatch/slurm.h"

/** 2026-01-31 09:15:30 UTC, a Saturday. */
#define FIRST_S 1769850930

static void cron_has_intervals_that_divide_an_hour_or_a_day(void **state)
{
	static const struct {
		int64_t every_s;
		const char *fields;	/* NULL: there are none */
	} cases[] = {
		{ 60, "* * * * *" },
		{ 900, "0,15,30,45 * * * *" },
		{ 1200, "15,35,55 * * * *" },
		{ 3600, "15 * * * *" },
		{ 6 * 3600, "15 3,9,15,21 * * *" },
		{ 24 * 3600, "15 9 * * *" },
		{ 168 * 3600, "15 9 * * 6" },
		{ 30, NULL }, { 61, NULL }, { 420, NULL }, { 5400, NULL },
		{ 5 * 3600, NULL }, { 48 * 3600, NULL },
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct str out = STR_INIT;
		struct err e = { 0 };
		const int rc = repeat_schedule(cases[i].every_s, FIRST_S, &out,
					       &e);

		assert_int_equal(rc, cases[i].fields ? 0 : -1);
		assert_string_equal(str_text(&out),
				    cases[i].fields ? cases[i].fields : "");
		str_release(&out);
	}
}

static void a_crontab_loses_the_entry_of_the_watch_alone(void **state)
{
	struct repeat r = { .name = "n", .how = REPEAT_SCRONTAB,
			    .every_s = 3600, .first_s = FIRST_S };
	struct str table = STR_INIT, out = STR_INIT;
	struct err e = { 0 };

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	str_add(&table, "#SCRON --mem=1\n1 2 * * * gpucheck turn /w\n");
	assert_int_equal(repeat_entry(&r, "/bin/gpucheck", "/a b/w",
				      "#SCRON -p x\n#SCRON -N 2\n", &table,
				      &e), 0);
	str_add(&table, "# the last");
	assert_string_equal(str_text(&table),
			    "#SCRON --mem=1\n1 2 * * * gpucheck turn /w\n"
			    "#SCRON -p x\n#SCRON -N 2\n"
			    "15 * * * * /bin/gpucheck turn '/a b/w' >>'/a b/w'"
			    "/turns.log 2>&1 # gpucheck watch\n# the last");
	assert_false(repeat_cut(str_text(&table), "/w", &out));
	str_reset(&out);
	assert_true(repeat_cut(str_text(&table), "/a b/w", &out));
	assert_string_equal(str_text(&out),
			    "#SCRON --mem=1\n1 2 * * * gpucheck turn /w\n"
			    "# the last\n");
	str_release(&table);
	str_release(&out);
}

static void paths_that_an_entry_cannot_have_are_refused(void **state)
{
	static const char *const paths[] = { "/a%b", "/a\nb", "/$HOME", "/a\"",
					     "/a\\", "/\xff", NULL };
	struct repeat r = { .name = "n", .every_s = 3600 };

	(void)state;
	for (size_t i = 0; paths[i]; i++) {
		for (int way = 0; way < 2; way++) {
			struct str out = STR_INIT;
			struct err e = { 0 };

			r.how = i % 2 ? REPEAT_SYSTEMD : REPEAT_CRONTAB;
			assert_int_equal(repeat_entry(
				&r, way ? "/bin/g" : paths[i],
				way ? paths[i] : "/w", "", &out, &e), -1);
			assert_int_equal(out.len, 0);
			str_release(&out);
		}
	}
}

static const char good[] =
	"{\"schema\":2,\"name\":\"gpucheck-watch-w-1\",\"how\":\"crontab\","
	"\"queue\":true,\"every_s\":3600,\"first_s\":1,\"max_time_s\":60,"
	"\"runs\":2,\"until_s\":9,\"folder\":\"\",\"cwd\":\"/\",\"env\":[\"A=b\"],"
	"\"words\":[\"gpucheck\",\"p2p\"],\"slurm\":[]}";

static void a_file_that_is_no_watch_is_refused(void **state)
{
	static const struct {
		const char *from, *to;
	} bad[] = {
		{ ":2,", ":3," }, { "gpucheck-watch-w-1", "../x" },
		{ "gpucheck-watch-w-1", "-x" }, { "\"crontab\"", "\"cron\"" },
		{ ":3600", ":0" }, { "[\"A=b\"]", "[1]" },
		{ ",\"p2p\"", "" }, { "\"slurm\":[]", "\"slurm\":{}" },
		{ "{\"schema", "[\"schema" },
	};
	struct repeat r;
	struct err e;

	(void)state;
	assert_int_equal(repeat_parse(good, strlen(good), &r, &e), 0);
	assert_int_equal(r.runs, 2);
	assert_true(r.queue);
	repeat_release(&r);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *at = strstr(good, bad[i].from);
		struct str text = STR_INIT;

		assert_non_null(at);
		str_addf(&text, "%.*s%s%s", (int)(at - good), good, bad[i].to,
			 at + strlen(bad[i].from));
		if (repeat_parse(str_text(&text), text.len, &r, &e) == 0) {
			fail_msg("%s is taken", str_text(&text));
		}
		str_release(&text);
	}
}

static bool has(const json_t *env, const char *start)
{
	for (size_t i = 0; i < json_array_size(env); i++) {
		if (str_starts(json_string_value(json_array_get(env, i)),
			       start)) {
			return true;
		}
	}
	return false;
}

static void only_what_a_run_uses_is_kept_of_the_environment(void **state)
{
	static const struct command p2p = { .takes = SPEC_CMD_P2P };
	json_t *env;

	(void)state;
	setenv("GPUCHECK_HISTORY", "past", 1);
	setenv("GPUCHECK_NCCL_LIB", "torch", 1);
	setenv("GPUCHECK_CONFIG", "none", 1);
	setenv("GPUCHECK_TIMEOUT", "", 1);	/* as if it were not there */
	setenv("GPUCHECK_EVERY", "2h", 1);	/* of another command */
	setenv("GPUCHECK_TOKEN", "secret", 1);
	setenv("GPUCHECK_MASTER", "n1:1", 1);
	setenv("GPUCHECK_BOOT_RANK", "1", 1);
	setenv("SLURM_JOB_ID", "7", 1);
	env = repeat_environment(&p2p);
	assert_true(has(env, "GPUCHECK_HISTORY=past"));
	assert_true(has(env, "GPUCHECK_NCCL_LIB=torch"));
	assert_true(has(env, "GPUCHECK_CONFIG=none"));
	assert_true(has(env, "PATH="));
	assert_false(has(env, "GPUCHECK_TIMEOUT"));
	assert_false(has(env, "GPUCHECK_EVERY"));
	assert_false(has(env, "GPUCHECK_TOKEN"));
	assert_false(has(env, "GPUCHECK_MASTER"));
	assert_false(has(env, "GPUCHECK_BOOT"));
	assert_false(has(env, "SLURM_JOB"));
	json_decref(env);
}

static void a_job_is_over_when_slurm_says_so(void **state)
{
	const struct err gone = { .text = "slurm_load_jobs error: Invalid job "
					  "id specified" };
	const struct err away = { .text = "slurm_load_jobs error: Unable to "
					  "contact slurm controller" };

	(void)state;
	assert_int_equal(slurm_parse_standing("", &gone), SLURM_JOB_OVER);
	assert_int_equal(slurm_parse_standing("", &away), SLURM_JOB_UNKNOWN);
	assert_int_equal(slurm_parse_standing("", NULL), SLURM_JOB_OVER);
	assert_int_equal(slurm_parse_standing("NODE_FAIL\n", NULL),
			 SLURM_JOB_OVER);
	assert_int_equal(slurm_parse_standing("COMPLETED\n", NULL),
			 SLURM_JOB_OVER);
	assert_int_equal(slurm_parse_standing("COMPLETING\n", NULL),
			 SLURM_JOB_ENDS);
	assert_int_equal(slurm_parse_standing("RUNNING\n", NULL),
			 SLURM_JOB_GOES_ON);
	assert_int_equal(slurm_parse_standing("PENDING\n", NULL),
			 SLURM_JOB_GOES_ON);
	assert_int_equal(slurm_parse_standing("NEW_STATE\n", NULL),
			 SLURM_JOB_GOES_ON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			cron_has_intervals_that_divide_an_hour_or_a_day),
		cmocka_unit_test(a_crontab_loses_the_entry_of_the_watch_alone),
		cmocka_unit_test(paths_that_an_entry_cannot_have_are_refused),
		cmocka_unit_test(a_file_that_is_no_watch_is_refused),
		cmocka_unit_test(
			only_what_a_run_uses_is_kept_of_the_environment),
		cmocka_unit_test(a_job_is_over_when_slurm_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
