/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes say about themselves: who says the same, and what is wrong. */
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "report/show/judged.h"
#include "tests/unit/fake_run.h"

/** @n nodes without ranks, with @gpus GPUs each. */
static void make_run(struct run *r, int n, int gpus)
{
	fake_run(r, n, 1, 1);
	r->n_ranks = 0;
	r->grid = grid_square(0);
	for (int i = 0; i < n; i++) {
		const char *name = r->nodes[i].name;

		r->nodes[i].gpus = 0;
		fake_fact(r, name, "node", "host", name);
		fake_fact(r, name, "node", "kernel", "6.1.0");
		for (int g = 0; g < gpus; g++) {
			char scope[16], uuid[32];

			snprintf(scope, sizeof(scope), "gpu%d", g);
			snprintf(uuid, sizeof(uuid), "GPU-%d-%d", i, g);
			fake_fact(r, name, scope, "uuid", uuid);
			fake_fact(r, name, scope, "name", "H200");
			fake_fact(r, name, scope, "ecc_corrected", "0");
		}
	}
	STR_COPY(r->probe, "info");
}

static void expect_table(const struct run *r, size_t first, size_t most,
			 const char *wanted)
{
	struct str out = STR_INIT;

	assert_int_equal(info_table(r, 80, first, most, &out), 0);
	assert_string_equal(str_text(&out), wanted);
	str_release(&out);
}

#define COMMON \
	"\n" \
	"n[0,1]\n" \
	"  node\n" \
	"    kernel                 6.1.0\n" \
	"  gpu[0,1]\n" \
	"    name                   H200\n"
#define OWN(n) \
	"\n" \
	"n" #n "\n" \
	"  node\n" \
	"    host                   n" #n "\n" \
	"  gpu0\n" \
	"    uuid                   GPU-" #n "-0\n" \
	"  gpu1\n" \
	"    uuid                   GPU-" #n "-1\n"

static void what_all_say_comes_first_and_once(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 2, 2);
	expect_table(&r, 0, 9, COMMON OWN(0) OWN(1));
	expect_table(&r, 1, 9, OWN(0) OWN(1));
	expect_table(&r, 0, 2, COMMON OWN(0) "\n1 more facts: -v shows them, "
					     "facts.csv has all\n");
	run_release(&r);
}

static void a_fact_that_is_said_twice_is_one(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 1, 0);
	fake_fact(&r, "n0", "eth0", "address", "10.0.0.1/24");
	fake_fact(&r, "n0", "eth0", "address", "10.0.0.1/24");
	fake_fact(&r, "n0", "eth0", "address", "fd00::1/64");
	fake_fact(&r, "n0", "eth0", "note", "");
	/* of no node of the run */
	fake_fact(&r, "n7", "eth0", "address", "10.0.0.7/24");
	expect_table(&r, 0, 9,
		     "\n"
		     "n0\n"
		     "  node\n"
		     "    host                   n0\n"
		     "    kernel                 6.1.0\n"
		     "  eth0\n"
		     "    address                10.0.0.1/24\n"
		     "    address                fd00::1/64\n"
		     "    note                   -\n");
	run_release(&r);
}

static void a_zero_that_nodes_should_share_is_shown(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 1, 0);
	fake_fact(&r, "n0", "node", "NCCL_NVLS_ENABLE", "0");
	fake_fact(&r, "n0", "mlx5_0", "symbol_error", "0");
	expect_table(&r, 0, 9,
		     "\n"
		     "n0\n"
		     "  node\n"
		     "    host                   n0\n"
		     "    kernel                 6.1.0\n"
		     "    NCCL_NVLS_ENABLE       0\n");
	run_release(&r);
}

static void no_facts_are_no_table(void **state)
{
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	expect_table(&r, 0, 9, "");
	run_release(&r);
}

/** The finding of @r, its code @code, about node @node. */
static void expect_finding(const struct run *r, const char *code, bool fail,
			   int node, const char *says)
{
	struct verdict v;

	assert_int_equal(verdict_compute(r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.findings[0].code, code);
	assert_int_equal(v.findings[0].fail, fail);
	assert_int_equal(v.findings[0].part.node, node);
	if (!strstr(v.findings[0].says, says)) {
		fail_msg("'%s' is not in '%s'", says, v.findings[0].says);
	}
	verdict_release(&v);
}

static void fewer_gpus_than_most_is_a_warning(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 4, 2);
	fake_fact(&r, "n2", "gpu2", "uuid", "GPU-2-2");
	/* one more than most is none */
	for (size_t i = 0; i < r.n_facts; i++) {
		if (strcmp(r.facts[i].value, "GPU-1-1") == 0) {
			STR_COPY(r.facts[i].fact, "gone");
		}
	}
	expect_finding(&r, "gpu_missing", false, 1, "1 of 2 GPUs, as most");
	run_release(&r);
}

static void fewer_gpus_than_expected_is_a_fault(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 2, 2);
	fake_fact(&r, "n1", "node", "gpus_expected", "4");
	expect_finding(&r, "gpu_missing", true, 1, "2 of 4 GPUs, expected");
	/* a number that no node can have is none */
	fake_fact(&r, "n1", "node", "gpus_expected", "4294967298");
	expect_finding(&r, "gpu_missing", true, 1, "2 of 4 GPUs, expected");
	/* what is not read of the last node is not missing */
	r.facts_cut = 1;
	{
		struct verdict v;

		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 0);
		verdict_release(&v);
	}
	run_release(&r);
}

static void a_link_below_what_it_could_be_is_a_warning(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 2, 0);
	for (int i = 0; i < 2; i++) {
		const char *name = r.nodes[i].name;

		fake_fact(&r, name, "mlx5_0", "port_state", "ACTIVE");
		fake_fact(&r, name, "mlx5_0", "pcie_width", "16");
		fake_fact(&r, name, "mlx5_0", "pcie_width_max", "16");
		fake_fact(&r, name, "mlx5_1", "port_state", "ACTIVE");
		fake_fact(&r, name, "mlx5_1", "pcie_width_max", "16");
		fake_fact(&r, name, "mlx5_1", "pcie_width", "16");
	}
	for (size_t i = 0; i < r.n_facts; i++) {
		if (strcmp(r.facts[i].fact, "pcie_width") == 0 &&
		    strcmp(r.facts[i].scope, "mlx5_1") == 0) {
			STR_COPY(r.facts[i].value, "8");
		}
	}
	/* alike on all nodes, so that no skew says it */
	{
		struct verdict v;

		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 2);
		assert_string_equal(v.findings[1].code, "pcie_downgraded");
		assert_int_equal(v.findings[1].part.kind, PART_NIC);
		assert_int_equal(v.findings[1].part.index, 1);
		assert_non_null(strstr(v.findings[1].says,
				       "mlx5_1 of n1: its PCIe link runs on 8 "
				       "of 16 lanes"));
		verdict_release(&v);
	}
	run_release(&r);
}

static void nodes_that_differ_are_a_warning(void **state)
{
	struct run r;

	(void)state;
	make_run(&r, 3, 0);
	for (int i = 0; i < 3; i++) {
		fake_fact(&r, r.nodes[i].name, "node", "driver",
			  i == 1 ? "550.54" : "570.86");
	}
	expect_finding(&r, "config_skew", false, 1, "driver 550.54");
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_all_say_comes_first_and_once),
		cmocka_unit_test(a_fact_that_is_said_twice_is_one),
		cmocka_unit_test(a_zero_that_nodes_should_share_is_shown),
		cmocka_unit_test(no_facts_are_no_table),
		cmocka_unit_test(fewer_gpus_than_most_is_a_warning),
		cmocka_unit_test(fewer_gpus_than_expected_is_a_fault),
		cmocka_unit_test(a_link_below_what_it_could_be_is_a_warning),
		cmocka_unit_test(nodes_that_differ_are_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
