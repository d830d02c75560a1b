/* SPDX-License-Identifier: BSD-3-Clause */
/* The same run again and again: what is counted, what waits, what systemd
 * reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/front/help.h"
#include "cli/run/chain.h"
#include "sbatch/slurm.h"

static char *words[] = { (char *)"gpucheck", (char *)"p2p", NULL };

static const struct chain hourly = {
	.name = "w", .timer = true, .every_s = 3600, .max_time_s = 60,
	.words = words, .slurm = words + 2,
};

/* ---- units --------------------------------------------------------------- */

/** Does @text have the line @line? */
static void assert_line(const struct str *text, const char *line)
{
	struct str all = STR_INIT, wanted = STR_INIT;

	str_addf(&all, "\n%s", str_text(text));
	str_addf(&wanted, "\n%s\n", line);
	if (!strstr(str_text(&all), str_text(&wanted))) {
		fail_msg("no line '%s' in:\n%s", line, str_text(text));
	}
	str_release(&all);
	str_release(&wanted);
}

static void units_have_place_and_environment(void **state)
{
	char *env[] = { (char *)"GPUCHECK_HISTORY=50% of \"a\\b\" $HOME",
			NULL };
	const struct chain_place p = {
		.self = "/opt/$x/50%/gpucheck", .dir = "/run $s/50%/\"w\"",
		.cwd = "/home/a b/50%/\"c\\d", .env = env,
	};
	struct str service = STR_INIT, timer = STR_INIT;

	(void)state;
	assert_int_equal(chain_units(&hourly, &p, &service, &timer, NULL), 0);
	/* a path is the whole line, the others are words; a variable is one in
	 * a word of a command alone, but for the program */
	assert_line(&service, "WorkingDirectory=/home/a b/50%%/\"c\\d");
	assert_line(&service, "Environment=\"GPUCHECK_HISTORY=50%% of "
		    "\\\"a\\\\b\\\" $HOME\"");
	assert_line(&service, "ExecStart=\"/opt/$x/50%%/gpucheck\" turn "
		    "\"/run $$s/50%%/\\\"w\\\"\"");
	assert_line(&timer, "OnUnitActiveSec=3600");
	str_release(&service);
	str_release(&timer);
}

static void what_no_unit_can_have_is_refused(void **state)
{
	char *env[2] = { NULL, NULL };
	static const struct {
		const char *self, *dir, *cwd, *variable, *says;
	} cases[] = {
		{ "/g\nx", "/w", "/", "A=b", "program" },
		{ "/g", "/w\x01", "/", "A=b", "directory" },
		{ "/g", "/w", "/a\tb", "A=b", "working directory" },
		{ "/g", "/w", "/a ", "A=b", "working directory" },
		{ "/g", "/w", "/a\\", "A=b", "working directory" },
		{ "/g", "/w", "/a\xff", "A=b", "working directory" },
		{ "/g", "/w", "/", "A=b\nExecStart=x", "variable" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct chain_place p = {
			.self = cases[i].self, .dir = cases[i].dir,
			.cwd = cases[i].cwd, .env = env,
		};
		struct str service = STR_INIT, timer = STR_INIT;
		struct err e = { 0 };

		env[0] = (char *)cases[i].variable;
		assert_int_equal(chain_units(&hourly, &p, &service, &timer, &e),
				 -1);
		assert_true(str_starts(e.text, cases[i].says));
		assert_int_equal(service.len + timer.len, 0);
		str_release(&service);
		str_release(&timer);
	}
}

static bool has(const struct args *env, const char *start)
{
	for (size_t i = 0; i < env->n; i++) {
		if (str_starts(env->argv[i], start)) {
			return true;
		}
	}
	return false;
}

static void only_what_a_run_goes_by_is_kept(void **state)
{
	static const struct command p2p = { .takes = SPEC_CMD_P2P };
	struct args env = { 0 };

	(void)state;
	setenv("GPUCHECK_HISTORY", "past", 1);
	setenv("GPUCHECK_NCCL_LIB", "torch", 1);
	setenv("GPUCHECK_CONFIG", "none", 1);
	setenv("GPUCHECK_TIMEOUT", "", 1);	/* as if it were not there */
	setenv("GPUCHECK_EVERY", "2h", 1);	/* of another command */
	setenv("GPUCHECK_TOKEN", "secret", 1);
	setenv("GPUCHECK_MASTER", "n1:1", 1);
	setenv("GPUCHECK_BOOT_RANK", "1", 1);
	setenv("GPUCHECK_BATCH_MEMLOCK", "n1 1 1", 1);
	setenv("SLURM_JOB_ID", "7", 1);
	chain_environment(&p2p, &env);
	assert_true(has(&env, "GPUCHECK_HISTORY=past"));
	assert_true(has(&env, "GPUCHECK_NCCL_LIB=torch"));
	assert_true(has(&env, "GPUCHECK_CONFIG=none"));
	assert_false(has(&env, "GPUCHECK_TIMEOUT"));
	assert_false(has(&env, "GPUCHECK_EVERY"));
	assert_false(has(&env, "GPUCHECK_TOKEN"));
	assert_false(has(&env, "GPUCHECK_MASTER"));
	assert_false(has(&env, "GPUCHECK_BOOT"));
	assert_false(has(&env, "GPUCHECK_BATCH"));
	assert_false(has(&env, "SLURM"));
	args_release(&env);
}

/* ---- what was, what waits ------------------------------------------------ */

static void a_run_counts_once_it_begins(void **state)
{
	char dir[] = "/tmp/gpucheck-chain-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chain_begin(dir, 1, NULL), -1);	/* no logs/ */
	assert_int_equal(chain_done(dir), 0);
	snprintf(path, sizeof(path), "%s/logs", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chain_begin(dir, 1, NULL), 0);
	assert_int_equal(chain_begin(dir, 12, NULL), 0);
	assert_int_equal(chain_done(dir), 12);
	snprintf(path, sizeof(path), "%s/run-0013", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chain_done(dir), 13);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/logs/run-0001.txt", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/logs/run-0012.txt", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/logs", dir);
	rmdir(path);
	assert_int_equal(rmdir(dir), 0);
}

static void the_next_turn_is_of_this_watch_and_waits(void **state)
{
	static const char queue[] =
		"error: a plugin talks\n"
		"7|RUNNING|None|/w/job.sbatch\n"
		"8|PENDING|BeginTime|/other/w/job.sbatch\n"
		"9|PENDING|BeginTime|/w/job.sbatch\n"
		"10|PENDING|Dependency|/w/job.sbatch\n";
	const char *at = queue;
	char job[SLURM_JOB_SIZE];

	(void)state;
	assert_true(chain_parse_waiting(&at, "/w/job.sbatch", NULL, job));
	assert_string_equal(job, "9");
	assert_true(chain_parse_waiting(&at, "/w/job.sbatch", NULL, job));
	assert_string_equal(job, "10");
	assert_false(chain_parse_waiting(&at, "/w/job.sbatch", NULL, job));
	at = queue;
	assert_true(chain_parse_waiting(&at, "/w/job.sbatch", "9", job));
	assert_string_equal(job, "10");
	at = queue;
	assert_false(chain_parse_waiting(&at, "/x/job.sbatch", NULL, job));
}

static void a_claim_names_its_job(void **state)
{
	char job[SLURM_JOB_SIZE];

	(void)state;
	assert_true(chain_holder_job("process 5 on n1, job 42", job));
	assert_string_equal(job, "42");
	assert_false(chain_holder_job("process 5 on n1", job));
	assert_false(chain_holder_job("another process", job));
	assert_false(chain_holder_job("process 5 on n1, job x", job));
	assert_false(chain_holder_job("process 5 on n1, job ", job));
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
		cmocka_unit_test(units_have_place_and_environment),
		cmocka_unit_test(what_no_unit_can_have_is_refused),
		cmocka_unit_test(only_what_a_run_goes_by_is_kept),
		cmocka_unit_test(a_run_counts_once_it_begins),
		cmocka_unit_test(the_next_turn_is_of_this_watch_and_waits),
		cmocka_unit_test(a_claim_names_its_job),
		cmocka_unit_test(a_job_is_over_when_slurm_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
