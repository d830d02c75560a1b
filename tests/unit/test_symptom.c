/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/symptoms/symptom.h"

static const struct symptom *match(const struct symptoms *s, const char *line)
{
	return symptom_match_any(s, line, strlen(line), line);
}

static void wrong(const char *text, const char *part)
{
	struct symptoms s;
	struct err e = { 0 };

	assert_int_equal(symptoms_parse(text, &s, &e), -1);
	if (!strstr(e.text, part)) {
		fail_msg("no '%s' in '%s'", part, e.text);
	}
}

static void a_symptom_has_its_parts(void **state)
{
	struct symptoms s;
	const struct symptom *x;

	(void)state;
	assert_int_equal(symptoms_parse("[a]\nmatch=alone * two\nmatch=three\n"
					"cause=why\n  and why\nremedy=do\n"
					"source=X-1\n[b]\ncause=c\n",
					&s, NULL), 0);
	assert_int_equal(s.n, 2);
	x = symptom_find(&s, "a");
	assert_int_equal(x->n_matches, 2);
	assert_string_equal(str_text(&x->cause), "why and why");
	assert_string_equal(str_text(&x->remedy), "do");
	assert_string_equal(str_text(&x->source), "X-1");
	assert_ptr_equal(match(&s, "zero alone or two"), x);
	assert_ptr_equal(match(&s, "three"), x);
	assert_null(match(&s, "two one"));
	assert_null(match(&s, ""));
	assert_null(symptom_find(&s, "c"));
	symptoms_release(&s);
}

static void bad_files_say_where(void **state)
{
	(void)state;
	wrong("[a]\ncause=1\ncolour=blue\n", "line 3: no such key");
	wrong("[a]\ncause=1\nnonsense\n", "line 3");
	wrong("[a]\ncause=1\n[b]\ncause=1\n[a]\ncause=1\n",
	      "line 6: section twice");
	wrong("[a]\nmatch=\n", "line 2");
	wrong("[a]\nmatch=a*b\n", "line 2: a match has no five letters");
	wrong("[a]\nmatch=abc*%+\n", "line 2: a part of a match begins");
	wrong("[a]\nmatch=abcd%x\n", "line 2: % is followed by none");
	wrong("[a]\nmatch=abcd%\n", "line 2: % is followed by none");
	wrong("[a]\neffect=none\n", "line 2: no such effect");
}

static bool in(const char *pattern, const char *line)
{
	return symptom_pattern_in(pattern, line, strlen(line));
}

static void patterns_have_stars_and_numbers(void **state)
{
	(void)state;
	assert_true(in("one*two", "zero one and two"));
	assert_false(in("one*two", "two one"));
	assert_true(in("count%~%+", "count ... 0 count: 12"));
	assert_false(in("count%~%+", "count: 0"));
	assert_true(in("count%~%+", "count: 010"));
	assert_false(in("count%~%+", "count of 5"));
	assert_true(in("Xid *: 79%|", "Xid (a): 79"));
	assert_true(in("Xid *: 79%|", "Xid (a): 790, Xid (b): 79,"));
	assert_false(in("Xid *: 79%|", "Xid (a): 790"));
	assert_true(symptom_pattern_in("b\0c", "a\0b", 3));
}

/** What people paste, and what it is. */
static const struct known {
	const char *line, *code;
} known[] = {
	{ "ibv_create_cq(cqe=4096) failed: Cannot allocate memory",
	  "memlock_cq" },
	{ "[1] NCCL WARN Call to ibv_create_cq failed with error Cannot "
	  "allocate memory", "memlock_cq" },
	{ "NCCL WARN Call to ibv_create_cq failed", "memlock_cq" },
	{ "mlx5_0: ibv_create_cq() failed: Cannot allocate memory. Please set "
	  "max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)",
	  "memlock_cq" },
	{ "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot "
	  "allocate memory", "memlock_mr" },
	{ "NCCL WARN Call to ibv_create_qp failed", "memlock_qp" },
	{ "libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.",
	  "memlock_warning" },
	{ "slurmstepd: error: Can't propagate RLIMIT_MEMLOCK of 64 bytes from "
	  "submit host: Operation not permitted", "memlock_cannot_propagate" },
	/* look-alikes */
	{ "RuntimeError: a work item failed: status 12 (Ib failure: Cannot "
	  "allocate memory)", "wc_retry_exceeded" },
	{ "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address",
	  "gpu_memory_unregistrable" },
};

static void messages_are_recognised(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct symptom *s =
			match(symptoms_builtin(), known[i].line);

		assert_non_null(s);
		assert_string_equal(s->code, known[i].code);
	}
	assert_null(match(symptoms_builtin(), "all is well"));
}

static void a_telling_message_beats_a_plain_code(void **state)
{
	const char *both = "ncclSystemError; rank 8: NCCL WARN NET/IB : Got "
			   "completion with error 12, opcode 0";

	(void)state;
	assert_string_equal(symptom_refine("nccl_system_error", both),
			    "wc_retry_exceeded");
	assert_string_equal(symptom_refine("nccl_timeout", both),
			    "wc_retry_exceeded");
	/* wherever it stands, and whatever NCCL says of each end */
	assert_string_equal(symptom_refine("nccl_system_error",
		"n1:0: unhandled system error ; NCCL: Call to ibv_create_cq "
		"failed with error Cannot allocate memory; n0:0: unhandled "
		"system error ; NCCL: socketProgress: Connection closed"),
			    "memlock_cq");
	/* one that is known by its message already stays */
	assert_string_equal(symptom_refine("rtr_timeout", both),
			    "rtr_timeout");
	/* echoes and facts tell nothing more */
	assert_string_equal(symptom_refine("nccl_timeout",
					   "Connection closed by remote peer"),
			    "nccl_timeout");
	assert_string_equal(symptom_refine("drill_dead", ""), "drill_dead");
	assert_true(symptom_echoes("peer_closed"));
	assert_true(symptom_echoes("nccl_remote_error"));
	assert_false(symptom_echoes("nccl_timeout"));
}

/** A pattern that an earlier section takes away would never be found. */
static void every_pattern_finds_its_section(void **state)
{
	const struct symptoms *s = symptoms_builtin();

	(void)state;
	assert_true(s->n > 20);
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->list[i].n_matches; k++) {
			struct str text = STR_INIT;

			symptom_pattern_sample(str_text(&s->list[i].match[k]),
					       &text);
			if (match(s, str_text(&text)) != &s->list[i]) {
				fail_msg("[%s] does not find '%s'",
					 s->list[i].code, str_text(&text));
			}
			str_release(&text);
		}
	}
}

static void wrong_xids(const char *text, const char *part)
{
	struct symptoms s;
	struct err e = { 0 };

	assert_int_equal(symptoms_parse("[xid]\ncause=c\n[xid do]\nremedy=r\n",
					&s, NULL), 0);
	assert_int_equal(xids_add(&s, text, &e), -1);
	if (!strstr(e.text, part)) {
		fail_msg("no '%s' in '%s'", part, e.text);
	}
	symptoms_release(&s);
}

static void xids_have_a_table(void **state)
{
	struct symptoms s;
	const struct symptom *x;

	(void)state;
	assert_int_equal(symptoms_parse(
		"[xid_7]\ncause=own\n[xid]\nmatch=Xid (\nnumbered=xid\ncause=c\n"
		"source=S\n[xid do]\neffect=slow\nremedy=reset {gpu}\n",
		&s, NULL), 0);
	assert_int_equal(xids_add(&s, "# no\n\nxid 7-9,31 do what it is\n",
				  NULL), 0);
	assert_int_equal(s.n, 6);
	x = match(&s, "NVRM: Xid (PCI:0000:2a:00): 31, pid=1");
	assert_string_equal(x->code, "xid_31");
	assert_string_equal(str_text(&x->cause), "what it is");
	assert_string_equal(str_text(&x->remedy), "reset {gpu}");
	assert_string_equal(str_text(&x->source), "S");
	assert_int_equal(x->effect, EFFECT_SLOW);
	assert_string_equal(str_text(&symptom_find(&s, "7")->cause), "own");
	assert_string_equal(symptom_find(&s, "9")->code, "xid_9");
	assert_string_equal(symptom_find(&s, "10")->code, "xid");
	/* a number that is not there, none at all, one cut off */
	assert_string_equal(match(&s, "Xid (a): 310, ")->code, "xid");
	assert_string_equal(match(&s, "Xid (a): x")->code, "xid");
	assert_string_equal(match(&s, "Xid (a): ")->code, "xid");
	assert_string_equal(match(&s, "Xid (")->code, "xid");
	assert_string_equal(match(&s, "Xid (a): 31")->code, "xid_31");
	assert_string_equal(match(&s, "Xid (a): 3100000000000000")->code,
			    "xid");
	symptoms_release(&s);
	wrong_xids("xid 1 do it\nxid 2 nothing it\n", "line 2");
	wrong_xids("gid 1 do it\n", "line 1");
	wrong_xids("xid 1- do it\n", "line 1");
	wrong_xids("xid 9-1 do it\n", "line 1");
	wrong_xids("xid 1,,2 do it\n", "line 1");
	wrong_xids("xid 1-500 do it\n", "line 1");
	wrong_xids("xid 123456 do it\n", "line 1");
	wrong_xids("xid 1 do\n", "line 1");
	wrong_xids("xid\n", "line 1");
	/* the table of the program is whole */
	assert_string_equal(symptom_find(symptoms_builtin(), "172")->code,
			    "xid_172");
	assert_string_equal(symptom_find(symptoms_builtin(), "24007")->code,
			    "sxid_24007");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symptom_has_its_parts),
		cmocka_unit_test(bad_files_say_where),
		cmocka_unit_test(patterns_have_stars_and_numbers),
		cmocka_unit_test(messages_are_recognised),
		cmocka_unit_test(a_telling_message_beats_a_plain_code),
		cmocka_unit_test(every_pattern_finds_its_section),
		cmocka_unit_test(xids_have_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
