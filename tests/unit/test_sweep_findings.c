/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/judge/findings.h"

/** Up to the first 0: times of sizes from @from on, each twice the last. */
static void add(struct sweep *s, int64_t inplace, int64_t from,
		const double *times)
{
	for (size_t i = 0; times[i] > 0; i++) {
		struct collective_row row;

		record_init(&schema_collective, &row);
		STR_COPY(row.op, "allreduce");
		row.inplace = inplace;
		row.size_B = from << i;
		row.time_us = times[i];
		row.algbw_GB_s = (double)row.size_B / times[i] / 1e3;
		row.outcome = OUTCOME_OK;
		assert_int_equal(sweep_add(s, &row), 0);
	}
}

/** The codes of what is found, joined by blanks; @s is released. */
static const char *found(struct sweep *s)
{
	static char codes[256];
	struct verdict v = { 0 };

	codes[0] = '\0';
	assert_int_equal(sweep_group(s), 0);
	sweep_findings(s, &v);
	assert_false(v.failed);
	for (size_t i = 0; i < v.n; i++) {
		size_t len = strlen(codes);

		snprintf(codes + len, sizeof(codes) - len, "%s%s",
			 len ? " " : "", v.findings[i].code);
		assert_false(v.findings[i].fail);
	}
	verdict_release(&v);
	sweep_release(s);
	return codes;
}

static const char *found_in(int64_t from, const double *times)
{
	struct sweep s = { 0 };

	add(&s, 0, from, times);
	return found(&s);
}

static void steps_of_protocols_are_no_fault(void **state)
{
	/* NCCL Ring and Tree on 8 GPUs, where LL128 ends; two GPUs, 8
	 * threads */
	static const double ring[] = { 22.65, 23.09, 28.62, 61.90, 83.54,
				       129.3, 216.3, 0 };
	static const double tree[] = { 19.88, 24.06, 49.07, 56.21, 70.69,
				       94.50, 0 };
	static const double threads[] = { 41.2, 52.3, 98.1, 115.3, 190.2, 0 };

	(void)state;
	assert_string_equal(found_in(131072, ring), "");
	assert_string_equal(found_in(65536, tree), "");
	assert_string_equal(found_in(2097152, threads), "");
}

static void a_size_off_its_neighbours_is_found(void **state)
{
	static const double small[] = { 47.48, 64.17, 105.5, 65.22, 73.32, 0 };
	static const double large[] = { 100, 200, 800, 810, 1600, 0 };
	/* the first and the last have no neighbour on one side */
	static const double ends[] = { 90, 30, 31, 32, 90, 0 };
	/* a step of three times that stays */
	static const double step[] = { 10, 10, 10, 29, 29, 30, 0 };

	(void)state;
	assert_string_equal(found_in(4096, small), "size_off_curve");
	assert_string_equal(found_in(4194304, large), "size_off_curve");
	assert_string_equal(found_in(8, ends), "");
	assert_string_equal(found_in(8, step), "");
}

static void the_median_counts_where_it_is_known(void **state)
{
	static const double times[] = { 47.48, 64.17, 105.5, 65.22, 73.32, 0 };
	struct sweep s = { 0 };

	(void)state;
	add(&s, 0, 4096, times);
	s.rows[2].time_med_us = 65;
	assert_string_equal(found(&s), "");
}

static void in_place_beside_out_of_place(void **state)
{
	static const double out[] = { 71, 89, 123, 212, 279, 498, 0 };
	static const double in[] = { 122, 239, 495, 924, 1798, 3550, 0 };
	static const double once[] = { 71, 89, 123, 212, 279, 900, 0 };
	struct sweep s = { 0 };

	(void)state;
	add(&s, 0, 1 << 20, out);
	add(&s, 1, 1 << 20, in);
	assert_string_equal(found(&s), "inplace_differs");
	add(&s, 0, 1 << 20, out);
	add(&s, 1, 1 << 20, once);
	assert_string_equal(found(&s), "");
	/* latencies differ, and tell nothing of bandwidths */
	add(&s, 0, 1 << 10, out);
	add(&s, 1, 1 << 10, in);
	assert_string_equal(found(&s), "");
}

static void a_curve_that_falls(void **state)
{
	/* GB/s: 10 20 40 40 40 20 20 */
	static const double falls[] = { 105, 105, 105, 210, 420, 1680, 3360,
					0 };
	/* the same, and the last size is good */
	static const double comes_up[] = { 105, 105, 105, 210, 420, 1680, 1681,
					   0 };

	(void)state;
	assert_string_equal(found_in(1 << 20, falls), "curve_falls");
	assert_null(strstr(found_in(1 << 20, comes_up), "curve_falls"));
	assert_string_equal(found_in(1 << 10, falls), "");
}

static void rows_that_failed_are_left_out(void **state)
{
	static const double times[] = { 47.48, 64.17, 105.5, 65.22, 73.32, 0 };
	struct sweep s = { 0 };

	(void)state;
	add(&s, 0, 4096, times);
	s.rows[2].outcome = OUTCOME_CORRUPT;
	assert_string_equal(found(&s), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_protocols_are_no_fault),
		cmocka_unit_test(a_size_off_its_neighbours_is_found),
		cmocka_unit_test(the_median_counts_where_it_is_known),
		cmocka_unit_test(in_place_beside_out_of_place),
		cmocka_unit_test(a_curve_that_falls),
		cmocka_unit_test(rows_that_failed_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
