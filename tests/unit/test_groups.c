/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, leaf switches and rails at two levels. */
#include "tests/unit/fake_run.h"

#include "report/judge/findings.h"
#include "report/judge/pairs.h"

#define NODES 8
#define GPUS  8

/** Slows each test between nodes for which @slow is true of its ends. */
static void slow_if(struct run *r, bool (*slow)(const struct cluster_rank *a,
						const struct cluster_rank *b),
		    double factor)
{
	for (size_t at = 0; at < run_n_cells(r); at++) {
		if (r->cells[at].path == PATH_INTER &&
		    slow(&r->ranks[run_src(r, at)],
			 &r->ranks[run_dst(r, at)])) {
			r->cells[at].bw_GB_s *= (float)factor;
		}
	}
	assert_int_equal(levels_mark_slow(r), 0);
}

static bool other_leaf(const struct cluster_rank *a,
		       const struct cluster_rank *b)
{
	return a->node / 4 != b->node / 4;
}

static bool upper_node(const struct cluster_rank *a,
		       const struct cluster_rank *b)
{
	return a->node >= 4 || b->node >= 4;
}

static bool upper_rail(const struct cluster_rank *a,
		       const struct cluster_rank *b)
{
	return a->nic >= 2 || b->nic >= 2;
}

static bool any(const struct cluster_rank *a, const struct cluster_rank *b)
{
	(void)a;
	(void)b;
	return true;
}

static void each_structure(void **state)
{
	static const struct {
		bool (*slow)(const struct cluster_rank *a,
			     const struct cluster_rank *b);
		double factor;
		bool found;
		size_t n;	/* findings */
		enum part_kind kind;
		const char *code;
	} cases[] = {
		{ other_leaf, 0.5, true, 1, PART_LEAF_PAIR, "leaf_ratio" },
		{ upper_node, 0.5, true, 4, PART_NODE_NETWORK, "slow" },
		{ upper_rail, 0.5, true, 6, PART_RAIL, "slow" },
		{ any, 0.5, false, 0, PART_NODE, "" },	/* one level */
		{ any, 1, false, 0, PART_NODE, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;
		bool found;

		fake_run(&r, NODES, GPUS, GPUS);
		slow_if(&r, cases[i].slow, cases[i].factor);
		assert_int_equal(groups_mark_slow(&r, &found), 0);
		assert_int_equal(found, cases[i].found);
		assert_int_equal(verdict_compute(&r, &v), 0);
		if (v.n != cases[i].n) {
			fail_msg("case %zu: %zu findings", i, v.n);
		}
		for (size_t k = 0; k < v.n; k++) {
			assert_int_equal(v.findings[k].part.kind,
					 cases[i].kind);
			assert_string_equal(v.findings[k].code, cases[i].code);
			/* no rate is expected that they miss */
			assert_false(v.findings[k].fail);
		}
		assert_int_equal(v.account.named, v.account.bad);
		verdict_release(&v);
		run_release(&r);
	}
}

/** The uplinks of both switches have the same tests as their pair. */
static void leaf_switches_are_inferred(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	for (int told = 0; told < 2; told++) {
		fake_run(&r, NODES, GPUS, GPUS);
		for (int i = 0; told && i < NODES; i++) {
			run_join_leaf(&r, i, i < 4 ? "leaf0" : "leaf1");
		}
		slow_if(&r, other_leaf, 0.5);
		assert_true(r.oversubscribed);
		assert_int_equal(r.n_leaves, 2);
		assert_int_equal(r.leaves_inferred, !told);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].n_or, 2);
		assert_non_null(strstr(v.findings[0].says, "(2:1)"));
		assert_int_equal(v.findings[0].explained, 2 * 32 * 32);
		verdict_release(&v);
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_structure),
		cmocka_unit_test(leaf_switches_are_inferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
