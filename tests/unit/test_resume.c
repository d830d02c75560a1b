/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rows of a run that ended early leave to be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/plan/plan.h"

#define RANKS 4
#define TOP_B (4 << 20)

static const char *const names[] = { "serial", "parallel" };
static const struct task both = {
	.id = 7, .a = 1, .b = 2, .dirs = TASK_AB | TASK_BA, .attempt = 1,
};

static struct p2p_row row(int src, int dst, int attempt, enum outcome o)
{
	struct p2p_row r;

	record_init(&schema_p2p, &r);
	r.src_rank = src;
	r.dst_rank = dst;
	r.attempt = attempt;
	r.size_B = TOP_B;
	r.outcome = o;
	STR_COPY(r.schedule, "serial");
	return r;
}

static void add(struct resume *r, int src, int dst, int attempt,
		enum outcome o)
{
	const struct p2p_row x = row(src, dst, attempt, o);

	resume_row(r, &x);
}

static int setup(void **state)
{
	static struct resume r;
	static struct grid g;

	*state = &r;
	g = grid_square(RANKS);
	return resume_init(&r, &g, 2, names, TOP_B);
}

static int teardown(void **state)
{
	resume_release(*state);
	resume_release(*state);
	return 0;
}

/* What is left of `both` in pass 0: "dirs@attempt", new ground first. */
static void expect_left(const struct resume *r, const char *want)
{
	char text[64] = "";

	for (int tried = 0; tried < 2; tried++) {
		struct task left[2];
		int n = resume_left(r, 0, &both, tried, left);

		for (int i = 0; i < n; i++) {
			size_t at = strlen(text);

			assert_int_equal(left[i].id, both.id);
			assert_int_equal(left[i].a, both.a);
			assert_int_equal(left[i].b, both.b);
			snprintf(text + at, sizeof(text) - at, "%s%d@%d",
				 at ? " " : "", left[i].dirs,
				 left[i].attempt);
		}
	}
	assert_string_equal(text, want);
}

static void nothing_measured_is_all_left(void **state)
{
	expect_left(*state, "3@1");
	assert_int_equal(((struct resume *)*state)->done, 0);
}

static void good_cells_stay(void **state)
{
	struct resume *r = *state;

	add(r, 1, 2, 1, OUTCOME_OK);
	expect_left(r, "2@1");
	assert_int_equal(r->done, 1);
	add(r, 2, 1, 1, OUTCOME_OK);
	expect_left(r, "");
	assert_int_equal(r->done, 2);
}

static void bad_cells_get_their_next_attempt(void **state)
{
	static const enum outcome bad[] = {
		OUTCOME_ERROR, OUTCOME_TIMEOUT, OUTCOME_CRASHED,
		OUTCOME_CORRUPT,
	};
	struct resume *r = *state;

	for (int i = 0; i < 4; i++) {
		char want[16];

		add(r, 1, 2, i + 1, bad[i]);
		snprintf(want, sizeof(want), "2@1 1@%d", i + 2);
		expect_left(r, want);
	}
	add(r, 2, 1, 1, OUTCOME_ERROR);
	expect_left(r, "1@5 2@2");
	add(r, 2, 1, 4, OUTCOME_ERROR);
	expect_left(r, "3@5");
}

static void the_last_attempt_decides(void **state)
{
	struct resume *r = *state;

	add(r, 2, 1, 1, OUTCOME_OK);
	add(r, 1, 2, 1, OUTCOME_TIMEOUT);
	add(r, 1, 2, 2, OUTCOME_OK);
	expect_left(r, "");
	add(r, 1, 2, 3, OUTCOME_CORRUPT);
	expect_left(r, "1@4");
	/* late in the file, not in time */
	add(r, 1, 2, 2, OUTCOME_OK);
	expect_left(r, "1@4");
	assert_int_equal(r->done, 1);
}

static void not_measured_counts_as_no_attempt(void **state)
{
	struct resume *r = *state;
	struct p2p_row x = row(1, 2, 1, OUTCOME_NOT_RUN);

	add(r, 1, 2, 1, OUTCOME_NOT_RUN);
	add(r, 2, 1, 1, OUTCOME_SKIPPED);
	expect_left(r, "3@1");
	assert_false(resume_keeps(r, &x));
	x = row(2, 1, 1, OUTCOME_SKIPPED);
	assert_false(resume_keeps(r, &x));
}

static void what_was_measured_is_kept(void **state)
{
	struct resume *r = *state;
	struct p2p_row x = row(1, 2, 1, OUTCOME_ERROR);

	add(r, 1, 2, 1, OUTCOME_ERROR);
	assert_true(resume_keeps(r, &x));
	x = row(1, 2, 2, OUTCOME_NOT_RUN);
	assert_false(resume_keeps(r, &x));
	/* beside a size that failed: part of that attempt */
	x = row(1, 2, 1, OUTCOME_NOT_RUN);
	assert_true(resume_keeps(r, &x));
}

static void the_largest_size_decides(void **state)
{
	struct resume *r = *state;
	struct p2p_row x = row(1, 2, 1, OUTCOME_OK);

	add(r, 2, 1, 1, OUTCOME_OK);
	x.size_B = 8;
	resume_row(r, &x);
	expect_left(r, "1@2");
	x.size_B = TOP_B;
	resume_row(r, &x);
	expect_left(r, "");
	/* a flow of it is no test */
	x.flow = 49153;
	x.attempt = 2;
	x.outcome = OUTCOME_ERROR;
	resume_row(r, &x);
	expect_left(r, "");
}

static void a_bad_size_is_not_forgotten(void **state)
{
	struct resume *r = *state;
	struct p2p_row x = row(1, 2, 1, OUTCOME_CORRUPT);

	add(r, 2, 1, 1, OUTCOME_OK);
	x.size_B = 8;
	resume_row(r, &x);
	add(r, 1, 2, 1, OUTCOME_OK);
	expect_left(r, "1@2");
	assert_int_equal(r->done, 1);
	add(r, 1, 2, 2, OUTCOME_OK);
	expect_left(r, "");
}

static void a_follow_up_is_made_anew(void **state)
{
	struct resume *r = *state;
	struct p2p_row x = row(1, 2, 1, OUTCOME_OK);

	STR_COPY(x.schedule, P2P_FOLLOW_UP);
	resume_row(r, &x);
	assert_int_equal(r->done, 0);
	assert_false(resume_keeps(r, &x));
	STR_COPY(x.schedule, P2P_FAILOVER);
	assert_false(resume_keeps(r, &x));
	STR_COPY(x.schedule, "of another run");
	assert_true(resume_keeps(r, &x));
}

static void passes_are_apart(void **state)
{
	struct resume *r = *state;
	struct p2p_row x = row(1, 2, 1, OUTCOME_OK);
	struct task left[2];

	STR_COPY(x.schedule, "parallel");
	resume_row(r, &x);
	expect_left(r, "3@1");
	assert_int_equal(resume_left(r, 1, &both, false, left), 1);
	assert_int_equal(left[0].dirs, TASK_BA);
	assert_int_equal(r->done, 1);
}

static void what_is_no_cell_stays_and_counts_for_nothing(void **state)
{
	static const struct {
		int src, dst;
		int64_t attempt;
		const char *schedule;
	} odd[] = {
		{ -1, 2, 1, "serial" },
		{ 1, RANKS, 1, "serial" },
		{ 1, 2, 0, "serial" },
		{ 1, 2, RECORD_NONE, "serial" },
		{ 1, 2, RESUME_ATTEMPTS + 1, "serial" },
		{ 1, 2, 1, "nic" },
		{ 1, 2, 1, "" },
	};
	struct resume *r = *state;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct p2p_row x = row(odd[i].src, odd[i].dst, 1, OUTCOME_OK);

		x.attempt = odd[i].attempt;
		STR_COPY(x.schedule, odd[i].schedule);
		resume_row(r, &x);
		assert_true(resume_keeps(r, &x));
	}
	expect_left(r, "3@1");
	assert_int_equal(r->done, 0);
}

static void attempts_end_somewhere(void **state)
{
	struct resume *r = *state;

	add(r, 2, 1, 1, OUTCOME_OK);
	add(r, 1, 2, RESUME_ATTEMPTS, OUTCOME_ERROR);
	expect_left(r, "");
}

#define RESUME_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESUME_TEST(nothing_measured_is_all_left),
		RESUME_TEST(good_cells_stay),
		RESUME_TEST(bad_cells_get_their_next_attempt),
		RESUME_TEST(the_last_attempt_decides),
		RESUME_TEST(not_measured_counts_as_no_attempt),
		RESUME_TEST(what_was_measured_is_kept),
		RESUME_TEST(the_largest_size_decides),
		RESUME_TEST(a_bad_size_is_not_forgotten),
		RESUME_TEST(a_follow_up_is_made_anew),
		RESUME_TEST(passes_are_apart),
		RESUME_TEST(what_is_no_cell_stays_and_counts_for_nothing),
		RESUME_TEST(attempts_end_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
