/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a context on a GPU was refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/host/gpu_state.h"

static const struct {
	int rc;
	const char *mode;
	const char *code, *says;	/* NULL: not known */
} refusals[] = {
	{ 46, "exclusive_process", "gpu_exclusive", "one process at a time" },
	{ 46, "default", "gpu_exclusive", "one process at a time" },
	{ 46, "", "gpu_exclusive", "one process at a time" },
	{ 46, "prohibited", "gpu_exclusive", "no process may use it" },
	{ 101, "exclusive_process", "gpu_exclusive", "one process" },
	{ 101, "default", NULL, NULL },
	{ 999, "prohibited", "gpu_exclusive", "prohibited" },
	{ 999, "exclusive_process", NULL, NULL },
	{ 804, "", NULL, NULL },
	{ 805, "", "gpu_mps", "MPS" },
	{ 810, "exclusive_process", "gpu_mps", "MPS" },
	{ 811, "", NULL, NULL },
	{ 2, "exclusive_process", NULL, NULL },	/* its memory is full */
	{ 100, "", NULL, NULL },
};

static void what_is_known_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct err_words *r = gpu_refusal_of(
			(CUresult)refusals[i].rc, refusals[i].mode);

		assert_int_equal(r != NULL, refusals[i].code != NULL);
		if (r != NULL) {
			assert_string_equal(r->code, refusals[i].code);
			assert_non_null(strstr(r->says, refusals[i].says));
		}
	}
}

static void modes_have_words(void **state)
{
	(void)state;
	assert_string_equal(gpu_mode_word(0), "default");
	assert_string_equal(gpu_mode_word(3), GPU_MODE_EXCLUSIVE_PROCESS);
	assert_string_equal(gpu_mode_word(4), "");
	assert_string_equal(gpu_mode_word(-1), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_said),
		cmocka_unit_test(modes_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
