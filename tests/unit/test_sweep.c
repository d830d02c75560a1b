/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/show/judged.h"

/** A row that was repeated: its mean, shortest and 99th percentile; 0: not
 *  known. */
static void add(struct sweep *s, const char *variant, int64_t size_B,
		double mean, double min, double p99)
{
	struct collective_row row;

	record_init(&schema_collective, &row);
	STR_COPY(row.op, "allreduce");
	STR_COPY(row.variant, variant);
	row.ranks = 8;
	row.size_B = size_B;
	row.inplace = 0;
	row.outcome = OUTCOME_OK;
	row.time_us = mean;
	row.time_min_us = min > 0 ? min : NAN;
	row.time_p99_us = p99 > 0 ? p99 : NAN;
	row.busbw_GB_s = 1 / mean;
	assert_int_equal(sweep_add(s, &row), 0);
}

/** What is said of @s, which is freed. */
static void says(struct sweep *s, const char *want)
{
	struct str out = STR_INIT;

	assert_int_equal(sweep_group(s), 0);
	assert_true(sweep_leads(s, 0));
	collective_crossovers(s, &s->curves[0], &out);
	assert_string_equal(str_text(&out), want);
	str_release(&out);
	sweep_release(s);
}

static void a_clear_lead_is_named(void **state)
{
	struct sweep s = { 0 };

	(void)state;
	add(&s, "Ring", 1024, 20, 19, 21);
	add(&s, "Tree", 1024, 10, 9, 11);
	add(&s, "Ring", 2048, 20, 19, 21);
	add(&s, "Tree", 2048, 15, 14, 16);
	add(&s, "Ring", 4096, 20, 19, 21);
	add(&s, "Tree", 4096, 30, 29, 31);
	says(&s, "fastest at 1 KiB to 2 KiB: Tree; 4 KiB: Ring");
}

static void within_the_spread_of_either_nobody_is(void **state)
{
	struct sweep s = { 0 };

	(void)state;
	add(&s, "Ring", 1024, 20, 19, 21);
	add(&s, "Tree", 1024, 10, 9, 11);
	add(&s, "Ring", 2048, 20, 19, 21);	/* Tree varies that much */
	add(&s, "Tree", 2048, 15, 14, 20);
	add(&s, "Ring", 4096, 20, 15, 21);	/* Ring does */
	add(&s, "Tree", 4096, 15, 14, 16);
	add(&s, "Ring", 8192, 20.1, 20.1, 20.1);	/* below 1 % */
	add(&s, "Tree", 8192, 20, 20, 20);
	add(&s, "Ring", 16384, 20.3, 20.2, 20.4);
	add(&s, "Tree", 16384, 20, 19.9, 20.1);
	says(&s, "fastest at 1 KiB: Tree; 2 KiB to 8 KiB: Ring and Tree alike; "
	     "16 KiB: Tree");
}

static void means_alone_have_to_differ_as_runs_do(void **state)
{
	struct sweep s = { 0 };

	(void)state;
	add(&s, "a", 1024, 10, 0, 0);
	add(&s, "b", 1024, 11.9, 0, 0);
	add(&s, "a", 2048, 10, 0, 0);
	add(&s, "b", 2048, 12.1, 0, 0);
	add(&s, "a", 1 << 20, 10, 0, 0);
	add(&s, "b", 1 << 20, 10.6, 0, 0);
	add(&s, "a", 2 << 20, 10.4, 0, 0);
	add(&s, "b", 2 << 20, 10, 9, 11);
	says(&s, "fastest at 1 KiB: a and b alike; 2 KiB to 1 MiB: a; 2 MiB: a "
	     "and b alike");
}

static void imported_tables_are_runs_apart(void **state)
{
	struct sweep s = { 0 };

	(void)state;
	add(&s, "a", 1024, 10, 9.9, 10.1);
	add(&s, "b", 1024, 11, 10.9, 11.1);
	STR_COPY(s.rows[0].table, "Monday");
	STR_COPY(s.rows[1].table, "Tuesday");
	says(&s, "fastest at 1 KiB: Monday a and Tuesday b alike");
}

static void one_that_was_not_measured_takes_no_part(void **state)
{
	struct sweep s = { 0 };

	(void)state;
	add(&s, "a", 1024, 10, 9, 11);
	add(&s, "b", 1024, 10, 9, 11);
	add(&s, "c", 1024, 10, 9, 11);
	add(&s, "a", 2048, 10, 9, 11);
	add(&s, "b", 2048, NAN, NAN, NAN);
	add(&s, "c", 2048, NAN, NAN, NAN);
	add(&s, "a", 4096, 10, 9, 11);
	add(&s, "b", 4096, NAN, NAN, NAN);
	add(&s, "c", 4096, 10, 9, 11);
	says(&s, "fastest at 1 KiB: 3 alike; 4 KiB: a and c alike");
}

static void no_time_at_all_is_the_fastest(void **state)
{
	struct sweep s = { 0 };

	(void)state;
	add(&s, "a", 8, 0, 0, 0);
	add(&s, "b", 8, 10, 0, 0);
	add(&s, "a", 16, 0, 0, 0);
	add(&s, "b", 16, 0, 0, 0);
	says(&s, "fastest at 8 B: a; 16 B: a and b alike");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clear_lead_is_named),
		cmocka_unit_test(within_the_spread_of_either_nobody_is),
		cmocka_unit_test(means_alone_have_to_differ_as_runs_do),
		cmocka_unit_test(imported_tables_are_runs_apart),
		cmocka_unit_test(one_that_was_not_measured_takes_no_part),
		cmocka_unit_test(no_time_at_all_is_the_fastest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
