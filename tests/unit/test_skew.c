/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that differ in what they say about themselves. */
#include "report/judge/caption.h"
#include "report/judge/verdict.h"
#include "tests/unit/fake_judge.h"

/** A fact of @scope that nodes [0, n) have, "n3" being the odd one. */
static void put(struct run *r, const char *scope, const char *fact,
		const char *usual, int odd, const char *value)
{
	for (int i = 0; i < r->n_nodes; i++) {
		const char *text = i == odd ? value : usual;

		if (text) {
			fake_fact(r, r->nodes[i].name, scope, fact, text);
		}
	}
}

/** Eight nodes that say the same, as nodes of a healthy cluster do. */
static void make_run(struct run *r)
{
	fake_run(r, 8, 2, 2);
	for (int i = 0; i < r->n_nodes; i++) {
		const char *n = r->nodes[i].name;
		char text[32];

		fake_fact(r, n, "node", "host", n);
		fake_fact(r, n, "node", "kernel", "6.1.0");
		/* what is another on each node, rightly */
		snprintf(text, sizeof(text), "GPU-%d", i);
		fake_fact(r, n, "gpu0", "uuid", text);
		fake_fact(r, n, "gpu0", "ecc_corrected", text);
		fake_fact(r, n, "mlx5_0", "gid", text);
		fake_fact(r, n, "mlx5_0", "symbol_error", text);
		fake_fact(r, n, "node", "boot_id", text);
		fake_fact(r, n, "node", "NCCL_HOSTID", i % 2 ? "a" : "b");
		fake_fact(r, n, "node", "UCX_TAG", text);
		fake_fact(r, n, "veth1", "mtu", i % 2 ? "1500" : "9000");
		fake_fact(r, n, "wg0", "mtu", i == 3 ? "1420" : "8920");
	}
	put(r, "node", "driver", "570.86", -1, NULL);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		fail_msg("'%s' is not in '%s'", part, text);
	}
}

static void end(struct run *r, struct verdict *v)
{
	verdict_release(v);
	run_release(r);
}

static void alike_is_no_finding(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	/* what nobody knows of a node is no difference */
	put(&r, "node", "acs", "off", 3, NULL);
	v = judge(&r);
	assert_int_equal(v.n, 0);
	assert_int_equal(v.status, VERDICT_PASS);
	end(&r, &v);
}

static void the_odd_one_is_named(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	put(&r, "node", "cuda", "12.8", 3, "12.4");
	put(&r, "node", "NCCL_IB_HCA", NULL, 3, "mlx5_1");
	put(&r, "node", "NCCL_IB_GID_INDEX", "3", 3, NULL);
	put(&r, "node", "nofile_soft", "65536", 3, "1024");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.status, VERDICT_WARN);
	assert_int_equal(v.findings[0].part.kind, PART_CONFIG);
	assert_int_equal(v.findings[0].part.node, 3);
	assert_int_equal(v.findings[0].n_members, 1);
	assert_int_equal(v.findings[0].members[0], 3);
	assert_string_equal(v.findings[0].code, "config_skew");
	assert_false(v.findings[0].fail);
	assert_true(isnan(v.findings[0].score));	/* by no cell */
	assert_int_equal(v.findings[0].explained, 0);
	assert_int_equal(v.findings[0].n_evidence, 4);
	has(v.findings[0].says, "The set-up of n3 differs from that of 7 "
				"others: cuda 12.4 (others: 12.8); ");
	has(v.findings[0].says, "NCCL_IB_GID_INDEX not set (others: 3); "
				"NCCL_IB_HCA mlx5_1 (others: not set); 1 more "
				"fact; no test failed or was slow");
	has(v.findings[0].evidence[0], "cuda: 12.8 on n[0-2,4-7], 12.4 on n3");
	has(v.findings[0].act, "n3");
	assert_int_equal(v.n_exclude, 0);
	end(&r, &v);
}

static void parts_count_by_kind(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	for (int i = 0; i < r.n_nodes; i++) {
		const char *n = r.nodes[i].name;

		/* in another order, and of two kinds of board */
		fake_fact(&r, n, i % 2 ? "mlx5_0" : "mlx5_1", "firmware",
			  "28.39");
		fake_fact(&r, n, i % 2 ? "mlx5_0" : "mlx5_1", "board", "NDR");
		fake_fact(&r, n, i % 2 ? "mlx5_1" : "mlx5_0", "firmware",
			  i == 5 ? "20.37" : "20.40");
		fake_fact(&r, n, i % 2 ? "mlx5_1" : "mlx5_0", "board", "HDR");
		/* a port without a cable runs at no rate to speak of */
		fake_fact(&r, n, "mlx5_2", "port_state",
			  i == 2 ? "DOWN" : "ACTIVE");
		fake_fact(&r, n, "mlx5_2", "rate", i == 2 ? "10" : "400");
		fake_fact(&r, n, "ib0", "mtu", i == 5 || i == 6 ? "2044" :
								  "4092");
	}
	v = judge(&r);
	assert_int_equal(v.n, 2);
	has(v.findings[0].says, "The set-up of n[5,6] differs from that of 6 "
				"others: mtu of ib0 2044 (others: 4092)");
	assert_int_equal(v.findings[0].part.node, -1);
	assert_int_equal(v.findings[0].n_members, 2);
	has(v.findings[1].says, "The set-up of n5 differs from that of 7 "
				"others: firmware of HDR 20.37 (others: "
				"20.40)");
	end(&r, &v);
}

/** Two kinds of GPU: each is compared with its like. */
static void a_mixed_site_is_no_warning(void **state)
{
	char note[CAPTION_SIZE];
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	for (int i = 0; i < r.n_nodes; i++) {
		const char *n = r.nodes[i].name;

		fake_fact(&r, n, "gpu0", "name", i < 4 ? "H100" : "A100");
		fake_fact(&r, n, "node", "cuda", "12.8");
		fake_fact(&r, n, "gpu0", "vbios", i < 4 ? "96" : "92");
		fake_fact(&r, n, "gpu0", "nvlinks", i < 4 ? "18" : "12");
	}
	v = judge(&r);
	assert_int_equal(v.n, 0);
	assert_true(caption_note(&r, 0, false, note, sizeof(note)));
	has(note, "different GPU models (H100, A100): ");
	verdict_release(&v);
	/* and one is odd among its own */
	for (size_t i = 0; i < r.n_facts; i++) {
		struct fact_row *f = &r.facts[i];

		if (strcmp(f->fact, "vbios") == 0 &&
		    strcmp(f->node, "n6") == 0) {
			STR_COPY(f->value, "91");
		}
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	has(v.findings[0].says, "The set-up of n6 differs from that of 3 "
				"others: vbios of A100 91 (others: 92)");
	end(&r, &v);
}

static void an_even_split_names_both(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	for (int i = 0; i < r.n_nodes; i++) {
		fake_fact(&r, r.nodes[i].name, "gpu0", "nccl_version",
			  i < 4 ? "2.28.9" : "2.12.10");
	}
	/* all cells from one half to the other */
	for (int s = 0; s < r.n_ranks; s++) {
		for (int d = 0; d < r.n_ranks; d++) {
			if ((s < 8) != (d < 8)) {
				fake_cell(&r, s, d, OUTCOME_TIMEOUT, "t");
			}
		}
	}
	v = judge(&r);
	for (size_t i = 0; i < v.n; i++) {
		const struct finding *f = &v.findings[i];

		if (f->part.kind == PART_CONFIG) {
			has(f->says, "The set-ups of n[0-3] and n[4-7] "
				     "differ: nccl_version 2.28.9 against "
				     "2.12.10; all 128 failed or slow tests "
				     "are between the two sides");
			assert_int_equal(f->n_members, 8);
			assert_int_equal(f->explained, 128);
			end(&r, &v);
			return;
		}
	}
	fail_msg("not found");
}

static void odd_ones_need_not_be_alike(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	for (int i = 0; i < r.n_nodes; i++) {
		fake_fact(&r, r.nodes[i].name, "node", "libibverbs",
			  i < 6 ? "56" : i == 6 ? "41" : "44");
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	has(v.findings[0].says, "The set-up of n[6,7] differs from that of 6 "
				"others: libibverbs 41 or 44 (others: 56)");
	end(&r, &v);
}

/** Equal as far as a sentence goes, and as far as a table. */
static void long_values_show_what_differs(void **state)
{
	static const int lengths[] = { 40, 60, 300 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char usual[400], odd[400];
		struct run r;
		struct verdict v;

		make_run(&r);
		memset(usual, 'x', sizeof(usual));
		snprintf(usual + lengths[i], 100, ",mlx5_11,mlx5_13");
		STR_COPY(odd, usual);
		odd[lengths[i] + 7] = '2';
		put(&r, "node", "NCCL_IB_HCA", usual, 3, odd);
		v = judge(&r);
		assert_int_equal(v.n, 1);
		has(v.findings[0].says, "NCCL_IB_HCA ...mlx5_12,mlx5_13 "
					"(others: ...mlx5_11,mlx5_13)");
		has(v.findings[0].evidence[0], "...mlx5_12,mlx5_13 on n3");
		end(&r, &v);
	}
}

static void a_split_into_many_names_no_side(void **state)
{
	static const char *const mtus[] = { "1500", "2044", "4092", "9000" };
	struct run r;
	struct verdict v;

	(void)state;
	make_run(&r);
	for (int i = 0; i < r.n_nodes; i++) {
		fake_fact(&r, r.nodes[i].name, "ib0", "mtu", mtus[i / 2]);
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	has(v.findings[0].says, "The set-ups of n[0-7] differ: mtu of ib0 has "
				"4 different values: 1500, 2044, 4092 and 1 "
				"more; no test failed or was slow");
	has(v.findings[0].evidence[0], "9000 on n[6,7]");
	assert_int_equal(v.findings[0].n_members, 8);
	end(&r, &v);
}

static void it_says_whether_the_odd_one_fails(void **state)
{
	static const struct {
		int broken[2];	/* GPUs of nodes; -1 = none */
		const char *says;
	} cases[] = {
		{ { 3, -1 }, "all 30 failed or slow tests are tests of this "
			     "node" },
		{ { 3, 5 }, "32 of 58 failed or slow tests are tests of this "
			    "node" },
		{ { 5, -1 }, "4 of 30 failed or slow tests are tests of this "
			     "node" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r;
		struct verdict v;
		const struct finding *f;

		make_run(&r);
		put(&r, "node", "mlx5_driver", "24.10", 3, "23.07");
		for (int b = 0; b < 2 && cases[i].broken[b] >= 0; b++) {
			const struct fake_fault gpu = {
				.kind = PART_GPU, .a = cases[i].broken[b],
			};

			fake_break(&r, &gpu, OUTCOME_ERROR, "e");
		}
		v = judge(&r);
		f = &v.findings[v.n - 1];
		assert_int_equal(f->part.kind, PART_CONFIG);
		has(f->says, cases[i].says);
		assert_int_equal(f->explained, i == 0 ? 30 : 0);
		end(&r, &v);
	}
}

static void one_machine_is_no_cluster(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	fake_run(&r, 2, 2, 2);
	for (int i = 0; i < 2; i++) {
		fake_fact(&r, r.nodes[i].name, "node", "host", "vm");
		fake_fact(&r, r.nodes[i].name, "node", "boot_id", "1");
		fake_fact(&r, r.nodes[i].name, "eth0", "mtu",
			  i ? "1500" : "9000");
	}
	v = judge(&r);
	assert_int_equal(v.n, 0);
	end(&r, &v);
}

/** Each node another value of many facts: bounded. */
static void many_differences_are_few_findings(void **state)
{
	struct run r;
	struct verdict v;
	char name[32];

	(void)state;
	make_run(&r);
	for (int k = 0; k < 60; k++) {
		snprintf(name, sizeof(name), "NCCL_TEST_%d", k);
		for (int i = 0; i < r.n_nodes; i++) {
			fake_fact(&r, r.nodes[i].name, "node", name,
				  (k >> (i % 6)) % 2 ? "1" : "0");
		}
	}
	v = judge(&r);
	assert_int_equal(v.n, 8);
	has(v.findings[7].evidence[v.findings[7].n_evidence - 1],
	    "more facts differ");
	end(&r, &v);
}

/** The end of what is read goes through a node: it is not odd for that. */
static void what_was_not_read_is_not_odd(void **state)
{
	struct run r;
	struct verdict v;
	char note[CAPTION_SIZE];

	(void)state;
	fake_run(&r, 8, 2, 2);
	for (int i = 0; i < 4; i++) {
		const char *n = r.nodes[i].name;

		fake_fact(&r, n, "node", "host", n);
		if (i < 3) {	/* of n3, it is past the end */
			fake_fact(&r, n, "node", "NCCL_IB_HCA", "mlx5_1");
		}
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.node, 3);
	verdict_release(&v);
	r.facts_cut = 1;
	v = judge(&r);
	assert_int_equal(v.n, 0);
	assert_true(caption_note(&r, 0, false, note, sizeof(note)));
	has(note, "5 nodes were not compared");
	end(&r, &v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alike_is_no_finding),
		cmocka_unit_test(the_odd_one_is_named),
		cmocka_unit_test(parts_count_by_kind),
		cmocka_unit_test(a_mixed_site_is_no_warning),
		cmocka_unit_test(an_even_split_names_both),
		cmocka_unit_test(odd_ones_need_not_be_alike),
		cmocka_unit_test(long_values_show_what_differs),
		cmocka_unit_test(a_split_into_many_names_no_side),
		cmocka_unit_test(it_says_whether_the_odd_one_fails),
		cmocka_unit_test(one_machine_is_no_cluster),
		cmocka_unit_test(many_differences_are_few_findings),
		cmocka_unit_test(what_was_not_read_is_not_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
