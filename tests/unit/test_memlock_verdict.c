/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/judge/memlock_verdict.h"
#include "report/judge/tell.h"
#include "report/judge/verdict.h"
#include "report/model/part.h"
#include "report/show/judged.h"
#include "report/symptoms/symptom.h"

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define MAX MEMLOCK_UNLIMITED
#define NEED (33 * MIB)

static struct judged judged;
static struct run *const run = &judged.run;
static struct verdict *const verdict = &judged.verdict;

static int setup(void **state)
{
	(void)state;
	judged = (struct judged){ .kind = &judged_memlock };
	run->ended = true;
	STR_COPY(run->probe, "memlock");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	run_release(run);
	verdict_release(verdict);
	return 0;
}

static struct memlock_row *add(const char *node, const char *context,
			       const char *check, enum outcome outcome)
{
	struct memlock_row row;

	record_init(&schema_memlock, &row);
	STR_COPY(row.node, node);
	STR_COPY(row.context, context);
	STR_COPY(row.check, check);
	row.outcome = outcome;
	assert_int_equal(memlock_run_add(run, &row), 0);
	return &run->memlock[run->rows - 1];
}

static void limits(const char *node, const char *context, int64_t soft,
		   int64_t hard)
{
	struct memlock_row *r = add(node, context, CHECK_SOFT,
				    soft < NEED ? OUTCOME_ERROR : OUTCOME_OK);

	r->limit_B = soft;
	r->needed_B = NEED;
	r = add(node, context, CHECK_HARD, OUTCOME_OK);
	r->limit_B = hard;
}

static void proof(const char *node, const char *hca, const char *check,
		  int64_t ok, int64_t fail, const char *code)
{
	struct memlock_row *r = add(node, "step", check,
				    ok < NEED ? OUTCOME_ERROR : OUTCOME_OK);

	STR_COPY(r->hca, hca);
	run_add_name(run, hca);
	STR_COPY(r->code, code);
	r->max_ok_B = ok;
	r->min_fail_B = fail;
	r->needed_B = NEED;
}

static void propagation(const char *code)
{
	struct memlock_row *r = add("login1", "login", CHECK_PROPAGATION,
				    OUTCOME_OK);

	STR_COPY(r->code, code);
	STR_COPY(r->detail, "PropagateResourceLimits=ALL");
}

static void judge(enum verdict_status status, size_t findings, int code)
{
	assert_int_equal(memlock_judge(run, verdict), 0);
	assert_int_equal(verdict->status, status);
	assert_int_equal(verdict->n, findings);
	assert_int_equal(verdict_exit(run, verdict), code);
}

static bool has_evidence(const struct finding *f, const char *part)
{
	for (size_t i = 0; i < f->n_evidence; i++) {
		if (strstr(f->evidence[i], part)) {
			return true;
		}
	}
	return false;
}

static void one_cause_is_one_finding(void **state)
{
	const struct finding *f;

	(void)state;
	limits("login1", "login", 64 * KIB, MAX);
	propagation(CODE_PROPAGATED);
	limits("n10", "slurmd", MAX, MAX);
	limits("n10", "batch", 64 * KIB, MAX);
	limits("n10", "step", 64 * KIB, MAX);
	proof("n10", "mlx5_0", CHECK_CQ, 60 * KIB, 64 * KIB, CODE_ENOMEM);
	limits("n2", "slurmd", MAX, MAX);
	limits("n2", "step", 64 * KIB, MAX);
	judge(VERDICT_FAIL, 1, 1);
	f = &verdict->findings[0];
	assert_string_equal(f->code, "memlock_propagated");
	assert_int_equal(f->part.kind, PART_CONFIG);
	assert_int_equal(f->n_members, 2);
	assert_int_equal(f->cells, 3);		/* two chains, one proof */
	assert_true(has_evidence(f, "login 64 KiB, slurmd unlimited"));
	assert_true(has_evidence(f, "PropagateResourceLimits=ALL"));
	/* n2 before n10 */
	assert_non_null(strstr(f->says, "n2, n10: jobs are limited to 64 KiB"));
	assert_non_null(strstr(f->act,
			       "PropagateResourceLimitsExcept=MEMLOCK"));
}

static void a_low_login_shell_harms_nobody_by_itself(void **state)
{
	(void)state;
	limits("login1", "login", 64 * KIB, MAX);
	propagation(CODE_KEPT);
	limits("n1", "slurmd", MAX, MAX);
	limits("n1", "step", MAX, MAX);
	proof("n1", "", CHECK_MLOCK, NEED, RECORD_NONE, "");
	judge(VERDICT_PASS, 0, 0);
	assert_int_equal(verdict->cells[CELL_PASS], 2);
	assert_int_equal(verdict->cells[CELL_FAIL], 0);
}

static void the_next_link_is_told(void **state)
{
	(void)state;
	limits("login1", "login", 8 * MIB, MAX);
	propagation(CODE_PROPAGATED);
	limits("n1", "slurmd", 64 * KIB, 64 * KIB);
	limits("n1", "step", 64 * KIB, 64 * KIB);
	judge(VERDICT_FAIL, 1, 1);
	assert_string_equal(verdict->findings[0].code, "memlock_slurmd");
	assert_true(has_evidence(&verdict->findings[0], "the next limit"));
}

/** 8 MiB lets the queues pass, and not the first registration. */
static void eight_megabytes_are_too_little(void **state)
{
	(void)state;
	limits("n1", "here", 8 * MIB, 8 * MIB);
	proof("n1", "mlx5_0", CHECK_CQ, NEED, RECORD_NONE, "");
	proof("n1", "mlx5_0", CHECK_MR, 8 * MIB, 8 * MIB + 4096, CODE_ENOMEM);
	judge(VERDICT_FAIL, 1, 1);
	assert_string_equal(verdict->findings[0].code, "memlock_shell");
	assert_true(has_evidence(&verdict->findings[0],
				 "mlx5_0 ibv_reg_mr: works up to 8 MiB, fails "
				 "at 8.004 MiB"));
}

static void a_line_of_limits_conf_is_named(void **state)
{
	struct memlock_row *r;

	(void)state;
	limits("n1", "here", 64 * KIB, MAX);
	r = add("n1", "here", CHECK_LIMITS_CONF, OUTCOME_OK);
	r->limit_B = 64 * KIB;
	STR_COPY(r->source, "/etc/security/limits.conf:12");
	judge(VERDICT_FAIL, 1, 1);
	assert_string_equal(verdict->findings[0].code, "memlock_limits_conf");
	assert_non_null(strstr(verdict->findings[0].says, "limits.conf:12"));
}

/** Systemd passes over the line that was to raise the limit. */
static void unit_row(const char *node)
{
	struct memlock_row *r = add(node, "slurmd", CHECK_UNIT, OUTCOME_ERROR);

	STR_COPY(r->code, CODE_IGNORED);
	STR_COPY(r->detail, "systemd ignores /etc/x.conf:2: no size");
}

static void a_line_that_systemd_ignores_is_named(void **state)
{
	(void)state;
	limits("n1", "slurmd", 8 * MIB, 8 * MIB);
	unit_row("n1");
	limits("n2", "slurmd", 8 * MIB, 8 * MIB);
	unit_row("n2");
	limits("n2", "step", 8 * MIB, 8 * MIB);
	proof("n2", "mlx5_0", CHECK_MR, 8 * MIB, 9 * MIB, CODE_ENOMEM);
	judge(VERDICT_FAIL, 1, 1);
	assert_string_equal(verdict->findings[0].code, CODE_IGNORED);
	assert_int_equal(verdict->findings[0].n_members, 2);
	assert_non_null(strstr(verdict->findings[0].says, "/etc/x.conf:2"));
}

/** It will once slurmd is restarted, which is a warning; what breaks is not. */
static void an_ignored_line_that_does_no_harm_yet(void **state)
{
	(void)state;
	limits("n1", "slurmd", MAX, MAX);
	unit_row("n1");
	judge(VERDICT_WARN, 1, 0);
	assert_string_equal(verdict->findings[0].code, CODE_IGNORED);
	verdict_release(verdict);
	limits("n1", "step", MAX, MAX);
	proof("n1", "", CHECK_MLOCK, 8 * MIB, 9 * MIB, CODE_ENOMEM);
	judge(VERDICT_FAIL, 2, 1);
}

static void a_shell_that_is_nobodys_job_proves_nothing(void **state)
{
	struct memlock_row *r;

	(void)state;
	propagation(CODE_KEPT);
	limits("n1", "slurmd", MAX, MAX);
	limits("n1", "here", 64 * KIB, 64 * KIB);
	r = add("n1", "here", CHECK_MLOCK, OUTCOME_ERROR);
	STR_COPY(r->code, CODE_ENOMEM);
	judge(VERDICT_PASS, 0, 0);
	verdict_release(verdict);
	/* what is not the limit is no matter of that shell */
	STR_COPY(run->memlock[run->rows - 1].code, "device_full");
	judge(VERDICT_FAIL, 1, 1);
}

static void look_alikes_are_not_memlock(void **state)
{
	struct memlock_row *r;

	(void)state;
	limits("n1", "step", MAX, MAX);
	proof("n1", "mlx5_0", CHECK_CQ, 0, 4096, "device_full");
	r = &run->memlock[run->rows - 1];
	STR_COPY(r->detail, "not memlock: the device has none left");
	judge(VERDICT_FAIL, 1, 1);
	assert_int_equal(verdict->findings[0].part.kind, PART_NIC);
	assert_string_equal(run->names[verdict->findings[0].part.name - 1],
			    "mlx5_0");
	assert_string_equal(verdict->findings[0].code, "device_full");
	assert_non_null(strstr(verdict->findings[0].says, "not memlock"));
}

static void neighbours_are_warnings(void **state)
{
	(void)state;
	limits("n1", "step", MAX, MAX);
	STR_COPY(add("n1", "step", "stack", OUTCOME_ERROR)->code,
		 "stack_unlimited");
	judge(VERDICT_WARN, 1, 0);
	run->strict = true;
	assert_int_equal(verdict_exit(run, verdict), 1);
}

static void unknown_is_never_pass(void **state)
{
	(void)state;
	limits("n1", "here", MAX, MAX);
	STR_COPY(add("n1", "slurmd", CHECK_SOFT, OUTCOME_NOT_RUN)->code,
		 CODE_UNKNOWN);
	judge(VERDICT_PARTIAL, 1, 4);
	assert_string_equal(verdict->findings[0].code, CODE_UNKNOWN);
	assert_int_equal(verdict->cells[CELL_NOT_RUN], 1);
}

static void a_proof_that_proves_nothing_is_no_pass(void **state)
{
	(void)state;
	limits("n1", "step", MAX, MAX);
	STR_COPY(add("n1", "step", CHECK_MLOCK, OUTCOME_NOT_RUN)->code,
		 CODE_UNKNOWN);
	judge(VERDICT_PARTIAL, 1, 4);
}

static void no_rows_are_unknown(void **state)
{
	(void)state;
	judge(VERDICT_UNKNOWN, 0, 3);
}

static void nodes_that_say_nothing(void **state)
{
	json_t *json;

	(void)state;
	limits("n1", "step", MAX, MAX);
	STR_COPY(add("n2", "", "", OUTCOME_SKIPPED)->code, "agent_missing");
	STR_COPY(add("n3", "", "", OUTCOME_TIMEOUT)->code, "worker_hung");
	judge(VERDICT_FAIL, 2, 1);
	assert_int_equal(verdict->cells[CELL_SKIPPED], 1);
	assert_int_equal(verdict->cells[CELL_TIMEOUT], 1);
	json = verdict_json(run, verdict);
	assert_int_equal(json_array_size(json_object_get(json, "exclude")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "good")), 0);
	json_decref(json);
}

/** A limit is left behind with its nodes; how Slurm is set up is not. */
static void what_to_leave_out(void **state)
{
	struct str text = STR_INIT;

	(void)state;
	for (int i = 1; i <= 5; i++) {
		char node[32];

		snprintf(node, sizeof(node), "n%d", i);
		limits(node, "step", i <= 2 ? 64 * KIB : MAX, MAX);
	}
	STR_COPY(add("n3", "step", CHECK_MLOCK, OUTCOME_ERROR)->code,
		 "fd_limit");
	judge(VERDICT_FAIL, 2, 1);
	assert_int_equal(verdict->n_exclude, 2);
	assert_string_equal(verdict->exclude[1], "n2");
	assert_int_equal(verdict->n_good, 2);
	assert_string_equal(verdict->good[0], "n4");
	run->json = json_pack("{s:[s, s]}", "argv", "gpucheck", "memlock");
	next_words(run, verdict, &text);
	assert_non_null(strstr(str_text(&text), "these faults would remain"));
	str_release(&text);
}

static void a_stopped_run_is_partial(void **state)
{
	(void)state;
	limits("n1", "step", MAX, MAX);
	add("n2", "", "", OUTCOME_NOT_RUN);
	STR_COPY(run->stop_reason, "interrupted");
	judge(VERDICT_PARTIAL, 0, 4);
}

/** Every code that a finding can have is explained. */
static void findings_are_in_the_symptoms(void **state)
{
	static const char *const codes[] = {
		"memlock_slurmd", "memlock_propagated", "memlock_batch",
		"memlock_step", "memlock_container", "memlock_shell",
		"memlock_limits_conf", "memlock_enomem", "slurmd_unseen",
		"device_full", "enomem_not_memlock", "cgroup_memory",
		"map_count", "fd_limit", "infiniband_missing",
		"infiniband_denied", "refused", "nofile_low", "nproc_low",
		"stack_unlimited", "shm_missing", "shm_small",
		"map_count_low", "overcommit_strict", "shmmax_low",
		"gpudirect_missing", "acs_on", "iommu_translates",
		"fabricmanager_down", "agent_missing", "agent_lost",
		"worker_hung", "worker_crashed",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const struct symptom *s =
			symptom_find(symptoms_builtin(), codes[i]);

		if (!s || !s->remedy.len || !s->cause.len) {
			fail_msg("%s", codes[i]);
		}
	}
}

/** No line of the words is wider than the terminal, but for a command. */
static void words_fit_the_terminal(void **state)
{
	struct str out = STR_INIT;
	char *at, *line;

	(void)state;
	limits("a-login-node-of-the-cluster", "login", 64 * KIB, MAX);
	propagation(CODE_PROPAGATED);
	for (int i = 0; i < 40; i++) {
		char node[32];

		snprintf(node, sizeof(node), "rather-long-name-%d", i);
		limits(node, "slurmd", MAX, MAX);
		STR_COPY(add(node, "slurmd", CHECK_UNIT, OUTCOME_OK)->source,
			 "/etc/systemd/system/slurmd.service.d/memlock.conf:2");
		limits(node, "step", 64 * KIB, MAX);
		proof(node, "mlx5_bond_0", CHECK_CQ, 60 * KIB, 64 * KIB,
		      CODE_ENOMEM);
	}
	assert_int_equal(memlock_judge(run, verdict), 0);
	show_words(&judged, 80, false, &out);
	at = out.data;
	while ((line = strsep(&at, "\n"))) {
		if (strlen(line) > 80 && !str_starts(line, "          ")) {
			fail_msg("%s", line);
		}
	}
	str_release(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_cause_is_one_finding),
		TEST(a_low_login_shell_harms_nobody_by_itself),
		TEST(the_next_link_is_told),
		TEST(eight_megabytes_are_too_little),
		TEST(a_line_of_limits_conf_is_named),
		TEST(a_line_that_systemd_ignores_is_named),
		TEST(an_ignored_line_that_does_no_harm_yet),
		TEST(a_shell_that_is_nobodys_job_proves_nothing),
		TEST(look_alikes_are_not_memlock),
		TEST(neighbours_are_warnings),
		TEST(unknown_is_never_pass),
		TEST(a_proof_that_proves_nothing_is_no_pass),
		TEST(no_rows_are_unknown),
		TEST(nodes_that_say_nothing),
		TEST(what_to_leave_out),
		TEST(a_stopped_run_is_partial),
		TEST(findings_are_in_the_symptoms),
		TEST(words_fit_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
