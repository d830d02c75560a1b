/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/symptom.h"

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
	assert_int_equal(symptoms_parse("[a]\nmatch=one * two\nmatch=three\n"
					"cause=why\n  and why\nremedy=do\n"
					"source=X-1\n[b]\ncause=c\n",
					&s, NULL), 0);
	assert_int_equal(s.n, 2);
	x = symptom_find(&s, "a");
	assert_int_equal(x->n_matches, 2);
	assert_string_equal(str_text(&x->cause), "why and why");
	assert_string_equal(str_text(&x->remedy), "do");
	assert_string_equal(str_text(&x->source), "X-1");
	assert_ptr_equal(symptom_match(&s, "zero one or two"), x);
	assert_ptr_equal(symptom_match(&s, "three"), x);
	assert_null(symptom_match(&s, "two one"));
	assert_null(symptom_match(&s, ""));
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
			symptom_match(symptoms_builtin(), known[i].line);

		assert_non_null(s);
		assert_string_equal(s->code, known[i].code);
	}
	assert_null(symptom_match(symptoms_builtin(), "all is well"));
}

/** A pattern that an earlier section takes away would never be found. */
static void every_pattern_finds_its_section(void **state)
{
	const struct symptoms *s = symptoms_builtin();

	(void)state;
	assert_true(s->n > 20);
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->list[i].n_matches; k++) {
			const char *text = str_text(&s->list[i].match[k]);

			assert_ptr_equal(symptom_match(s, text), &s->list[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symptom_has_its_parts),
		cmocka_unit_test(bad_files_say_where),
		cmocka_unit_test(messages_are_recognised),
		cmocka_unit_test(every_pattern_finds_its_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
