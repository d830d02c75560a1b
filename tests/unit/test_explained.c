/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whatever is bad is said: random cells and rows, which no cluster would show,
 * through the judge of every probe.
 */
#include "tests/unit/fake_run.h"

#include "lib/data/record_rows.h"
#include "report/judge/findings.h"
#include "report/judge/memlock_verdict.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

#define CASES (SANITIZED ? 250 : 1000)

struct dice {
	uint64_t number, draws;
};

static double unit(struct dice *d)
{
	return hash_unit(20, d->number, ++d->draws, 0);
}

/** Below @n. */
static size_t below(struct dice *d, size_t n)
{
	return (size_t)(unit(d) * (double)n);
}

static const enum outcome outcomes[] = {
	OUTCOME_OK, OUTCOME_OK, OUTCOME_OK, OUTCOME_ERROR, OUTCOME_TIMEOUT,
	OUTCOME_CRASHED, OUTCOME_CORRUPT, OUTCOME_SKIPPED, OUTCOME_NOT_RUN,
};

#define ANY(list) list[below(d, sizeof(list) / sizeof(*(list)))]

/* ---- cells of pairs ------------------------------------------------------ */

static const char *const codes[] = {
	"", "", "nccl_error", "agent_lost", "rank_retired", RECORD_STARVED,
	PING_NO_REPLY, PING_SENDER, PING_NO_ROUTE, PING_DUPLICATE,
	PING_FOREIGN, PING_LOSS, PING_FILTERED, "one_way",
};

static void draw_cell(struct dice *d, struct run *r, size_t at, double share)
{
	struct cell *c = &r->cells[at];

	if (c->class == CELL_UNPLANNED || unit(d) > share) {
		return;
	}
	fake_cell(r, run_src(r, at), run_dst(r, at), ANY(outcomes), ANY(codes));
	c->flaky = unit(d) < 0.2;
	c->bw_GB_s *= unit(d) < 0.3 ? 0.4F : 1;
	if (r->mesh) {
		r->mesh->heard[at] = unit(d) < 0.5;
		r->mesh->loss[at] = (float)unit(d);
		if (c->class == CELL_PASS && unit(d) < 0.3) {
			c->class = CELL_SLOW;
		}
	}
}

static void draw_mesh(struct run *r)
{
	STR_COPY(r->probe, "ping");
	r->mesh = mesh_new((size_t)r->n_ranks, r->grid.n);
	for (size_t at = 0; at < run_n_cells(r); at++) {
		if (r->cells[at].path == PATH_INTRA) {
			r->cells[at].class = CELL_UNPLANNED;
		}
	}
	for (int i = 0; i < r->n_ranks; i++) {
		snprintf(r->mesh->ends[i].ip, sizeof(r->mesh->ends[i].ip),
			 "10.%d.0.%d", r->ranks[i].nic, r->ranks[i].node);
		snprintf(r->mesh->ends[i].ifname,
			 sizeof(r->mesh->ends[i].ifname), "rail%d",
			 r->ranks[i].nic);
		snprintf(r->mesh->ends[i].segment,
			 sizeof(r->mesh->ends[i].segment), "10.%d.0.0/16",
			 r->ranks[i].nic);
	}
}

static bool is_touched(const struct run *r, const struct finding *f, size_t at)
{
	bool is = part_touches_at(r, &f->part, at);

	for (size_t i = 0; i < f->n_or; i++) {
		is |= part_touches_at(r, &f->or_parts[i], at);
	}
	return is;
}

/** Is there a finding about the cell, or about the answers to it? */
static bool is_said(const struct run *r, const struct verdict *v, size_t at)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		if (is_touched(r, f, at) ||
		    (r->mesh && is_touched(r, f, run_back(r, at))) ||
		    (f->part.kind == PART_INTER_NODE && f->fail &&
		     v->cells[CELL_PASS] + v->cells[CELL_SLOW] == 0) ||
		    strcmp(f->code, RECORD_STARVED) == 0) {
			return true;
		}
	}
	return false;
}

static void check_pairs(uint64_t number, bool mesh)
{
	struct dice of = { .number = number }, *d = &of;
	static const double shares[] = { 0.02, 0.1, 0.5, 1 };
	struct verdict v;
	struct run r;

	fake_run(&r, 1 + (int)below(d, 4), 1 + (int)below(d, 4),
		 1 + (int)below(d, 2));
	if (mesh) {
		draw_mesh(&r);
	}
	for (size_t at = 0, n = run_n_cells(&r); at < n; at++) {
		draw_cell(d, &r, at, shares[number % 4]);
	}
	if (!mesh) {
		assert_int_equal(levels_mark_slow(&r), 0);
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		unsigned class = r.cells[at].class;

		if ((cells_failed(class) || class == CELL_SLOW) &&
		    !is_said(&r, &v, at)) {
			fail_msg("case %d: %s of %d -> %d (%s) is not said",
				 (int)number, cell_class_name(class),
				 run_src(&r, at), run_dst(&r, at),
				 run_cell_code(&r, at));
		}
	}
	/* a judge has explained it or forgiven it, before the last one asks */
	assert_int_equal(v.account.open, 0);
	verdict_release(&v);
	run_release(&r);
}

static void cells_of_pairs(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < CASES; i++) {
		check_pairs(i, false);
	}
}

static void cells_of_addresses(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < CASES; i++) {
		check_pairs(i, true);
	}
}

/* ---- rows ---------------------------------------------------------------- */

static const char *const row_codes[] = {
	"", "wrong", "rank_absent", RECORD_STARVED, "agent_lost", "timeout",
};

/** A bad row of @outcome is in the verdict: as a fault, unless processes did
 *  not run. */
static void expect_said(uint64_t number, const struct verdict *v, size_t bad,
			size_t starved)
{
	if (bad > starved ? v->status != VERDICT_FAIL :
	    bad > 0 && v->n == 0) {
		fail_msg("case %d: %zu bad rows, status %s", (int)number, bad,
			 verdict_status_name(v->status));
	}
}

static void check_collective(uint64_t number)
{
	struct dice of = { .number = number }, *d = &of;
	struct run r = { .json = json_object(), .ended = true,
			 .transport = "nccl", .probe = "allreduce" };
	struct sweep s = { .run = &r };
	size_t bad = 0, starved = 0;
	struct verdict v;

	for (size_t i = 0; i < 1 + number % 5; i++) {
		struct collective_row row;

		record_init(&schema_collective, &row);
		STR_COPY(row.op, "allreduce");
		STR_COPY(row.code, ANY(row_codes));
		row.outcome = ANY(outcomes);
		row.size_B = 8 << i;
		row.time_us = 10;
		if (cells_failed(cells_class_of(row.outcome))) {
			bad++;
			starved += strcmp(row.code, RECORD_STARVED) == 0;
		}
		assert_int_equal(sweep_add(&s, &row), 0);
	}
	assert_int_equal(sweep_group(&s), 0);
	if (unit(d) < 0.3) {
		json_object_set_new(r.json, "dropped", json_pack(
			"[{s:s,s:i,s:i,s:s,s:s}]", "node", "n0", "gpu", 0,
			"rank", 0, "code", RECORD_STARVED, "detail", "x"));
		run_add_node(&r, "n0");
	}
	assert_int_equal(collective_judge(&r, &s, NULL, &v), 0);
	expect_said(number, &v, bad, starved);
	verdict_release(&v);
	sweep_release(&s);
	run_release(&r);
}

static void rows_of_collectives(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < CASES; i++) {
		check_collective(i);
	}
}

static void check_memlock(uint64_t number)
{
	static const char *const checks[] = {
		CHECK_CQ, CHECK_QP, CHECK_MR, CHECK_MLOCK, CHECK_UNIT,
		CHECK_LIMITS_CONF,
	};
	static const char *const contexts[] = { "step", "here", "slurmd", "" };
	struct dice of = { .number = number }, *d = &of;
	struct run r = { .json = json_object(), .ended = true,
			 .probe = "memlock" };
	struct memlock_row row;
	struct verdict v;

	record_init(&schema_memlock, &row);
	STR_COPY(row.node, "n1");
	STR_COPY(row.check, ANY(checks));
	STR_COPY(row.context, ANY(contexts));
	row.outcome = ANY(outcomes);
	assert_int_equal(memlock_run_add(&r, &row), 0);
	assert_int_equal(memlock_judge(&r, &v), 0);
	if (cells_failed(cells_class_of(row.outcome)) && v.n == 0) {
		fail_msg("case %d: %s of %s (%s) is not said", (int)number,
			 outcome_name(row.outcome), row.check, row.context);
	}
	verdict_release(&v);
	run_release(&r);
}

static void rows_of_memlock(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < CASES; i++) {
		check_memlock(i);
	}
}

static void check_info(uint64_t number)
{
	struct dice of = { .number = number }, *d = &of;
	struct run r = { .json = json_object(), .ended = true,
			 .probe = "info" };
	struct info_row rows[4];
	size_t n = 1 + number % 4, bad = 0;
	struct verdict v;

	for (size_t i = 0; i < n; i++) {
		record_init(&schema_info, &rows[i]);
		snprintf(rows[i].node, sizeof(rows[i].node), "n%zu", i);
		run_add_node(&r, rows[i].node);
		STR_COPY(rows[i].code, ANY(row_codes));
		rows[i].outcome = ANY(outcomes);
		bad += cells_failed(cells_class_of(rows[i].outcome));
	}
	assert_int_equal(info_judge(&r, rows, n, &v), 0);
	if (v.n < bad) {
		fail_msg("case %d: %zu bad nodes, %zu findings", (int)number,
			 bad, v.n);
	}
	verdict_release(&v);
	run_release(&r);
}

static void rows_of_nodes(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < CASES; i++) {
		check_info(i);
	}
}

/* ---- two levels ---------------------------------------------------------- */

/** @percent of the pairs between nodes, here and there, at half speed. */
static void slow_down(struct run *r, unsigned percent)
{
	for (size_t at = 0; at < run_n_cells(r); at++) {
		int s = run_src(r, at), d = run_dst(r, at);
		uint64_t pair = (uint64_t)(s < d ? s : d) * 4096 +
				(uint64_t)(s < d ? d : s);

		if (r->cells[at].path == PATH_INTER &&
		    hash_unit(3, pair, 0, 0) * 100 < percent) {
			r->cells[at].bw_GB_s *= 0.5F;
		}
	}
}

/** The nodes of @r are one NVLink domain. */
static void join_nodes(struct run *r)
{
	r->n_domains = 1;
	for (int i = 0; i < r->n_ranks; i++) {
		r->ranks[i].domain = 1;
	}
	for (size_t at = 0; at < run_n_cells(r); at++) {
		if (r->cells[at].path == PATH_INTER) {
			r->cells[at].path = PATH_NVLINK;
		}
	}
}

static void check_levels(unsigned percent, bool nvlink,
			 enum verdict_status status, size_t n)
{
	struct verdict v;
	struct run r;

	fake_run(&r, 4, 8, 8);
	slow_down(&r, percent);
	if (nvlink) {
		join_nodes(&r);
	}
	assert_int_equal(levels_mark_slow(&r), 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	if (v.status != status || v.n != n) {
		fail_msg("%u %%: %s, %zu findings", percent,
			 verdict_status_name(v.status), v.n);
	}
	if (n == 1) {
		const struct finding *f = v.findings;

		/* below 70 % a share of the paths between nodes is slow */
		assert_string_equal(f->code, percent < 70 ? "slow" :
							    "two_levels");
		assert_int_equal(f->part.kind, nvlink ? PART_NVLINK_DOMAIN :
					       percent < 70 ?
						       PART_FABRIC_PATH :
						       PART_INTER_NODE);
		assert_non_null(strstr(f->says, nvlink ?
				       "inside an NVLink domain" :
				       "between nodes"));
		assert_int_equal(f->cells, 4 * 3 * 8 * 8);
		assert_true(f->explained > f->cells / 2);
		assert_true(f->n_evidence >= 2);
	}
	verdict_release(&v);
	run_release(&r);
}

static void most_pairs_are_slow(void **state)
{
	static const unsigned percents[] = { 60, 75, 93, 97 };

	(void)state;
	check_levels(0, false, VERDICT_PASS, 0);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		check_levels(percents[i], i % 2 > 0, VERDICT_WARN, 1);
	}
	/* nobody knows better */
	check_levels(100, false, VERDICT_PASS, 0);
}

/** The same, where it is known what is right. */
static void an_expectation_decides(void **state)
{
	(void)state;
	for (int bad = 0; bad < 2; bad++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 4, 8, 8);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			r.cells[at].expected_GB_s =
				r.cells[at].path == PATH_INTRA ? NAN :
				(float)(FAKE_INTER_GB_S * (bad ? 0.95 : 0.4));
		}
		slow_down(&r, 75);
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.status, bad ? VERDICT_FAIL : VERDICT_PASS);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Below the expected rate throughout, with nothing that is better. */
static void all_are_below(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 2, 2);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		r.cells[at].expected_GB_s =
			r.cells[at].path == PATH_INTRA ? NAN :
			(float)FAKE_INTER_GB_S * 1.2F;
	}
	assert_int_equal(levels_mark_slow(&r), 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_INTER_NODE);
	assert_string_equal(v.findings[0].code, "slow");
	verdict_release(&v);
	run_release(&r);
}

/** 1 % below the limit, which was lower before another pair was measured again;
 *  or 5 %, or below the limit of the first time as well. */
static void slow_is_slow_twice(void **state)
{
	static const struct {
		float share;
		int attempt, others;
		bool slow;
	} cases[] = {
		{ 0.795F, 1, 2, false }, { 0.795F, 2, 2, true },
		{ 0.795F, 1, 1, true }, { 0.75F, 1, 2, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run r;
		struct cell *c;

		fake_run(&r, 4, 4, 4);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			if (r.cells[at].path == PATH_INTER) {
				r.cells[at].bw_GB_s = (float)FAKE_INTER_GB_S;
			}
		}
		c = &r.cells[run_at(&r, 0, 8)];
		r.cells[run_at(&r, 1, 9)].attempt = cases[i].others;
		c->attempt = cases[i].attempt;
		c->bw_GB_s *= cases[i].share;
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(c->class, cases[i].slow ? CELL_SLOW :
							   CELL_PASS);
		run_release(&r);
	}
}

/** A lone test below the limit is a fault of its pair, in a quiet cluster. */
static void one_test_of_many(void **state)
{
	static const struct {
		float share;
		bool both;
	} cases[] = {
		{ .share = 0.75F }, { .share = 0.6F },
		{ .share = 0.75F, .both = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 4, 4, 4);
		r.cells[run_at(&r, 0, 8)].bw_GB_s =
			(float)FAKE_INTER_GB_S * cases[i].share;
		if (cases[i].both) {
			r.cells[run_at(&r, 8, 0)].bw_GB_s =
				(float)FAKE_INTER_GB_S * cases[i].share;
		}
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_true(v.findings[0].fail);
		verdict_release(&v);
		run_release(&r);
	}
}

/** GPUs 0 and 1, and 2 and 3, have a bridge: in each node, or in most. */
static void bridges_are_built_so(void **state)
{
	(void)state;
	for (int odd = 0; odd < 2; odd++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 4, 4, 4);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			const struct cluster_rank *s =
				&r.ranks[run_src(&r, at)];
			int peer = r.ranks[run_dst(&r, at)].gpu;
			bool swap = odd && s->node == 1;

			if (swap ? (s->gpu ^ peer) == 2 :
				   (s->gpu ^ peer) == 1) {
				r.cells[at].bw_GB_s *= 3;
			}
			if (r.cells[at].path == PATH_INTER) {
				r.cells[at].bw_GB_s = (float)FAKE_INTER_GB_S;
			}
		}
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.status, odd ? VERDICT_WARN : VERDICT_PASS);
		verdict_release(&v);
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_of_pairs),
		cmocka_unit_test(cells_of_addresses),
		cmocka_unit_test(rows_of_collectives),
		cmocka_unit_test(rows_of_memlock),
		cmocka_unit_test(rows_of_nodes),
		cmocka_unit_test(most_pairs_are_slow),
		cmocka_unit_test(an_expectation_decides),
		cmocka_unit_test(all_are_below),
		cmocka_unit_test(slow_is_slow_twice),
		cmocka_unit_test(one_test_of_many),
		cmocka_unit_test(bridges_are_built_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
