/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong where all cells pass: set-up, and counters that grew. */
#include "tests/unit/fake_judge.h"
#include "report/judge/verdict.h"

static uint16_t way(struct run *r, const char *path)
{
	for (size_t i = 0; i < r->n_paths; i++) {
		if (strcmp(r->paths[i], path) == 0) {
			return (uint16_t)i;
		}
	}
	assert_true(r->n_paths < 32);
	STR_COPY(r->paths[r->n_paths], path);
	return (uint16_t)r->n_paths++;
}

/** Two nodes of four, InfiniBand between them, NVLink inside. */
static void wired_run(struct run *r)
{
	fake_run(r, 2, 4, 4);
	for (int s = 0; s < r->n_ranks; s++) {
		for (int d = 0; d < r->n_ranks; d++) {
			bool inter = r->ranks[s].node != r->ranks[d].node;

			r->cell_way[run_at(r, s, d)] =
				s == d ? 0 :
					 way(r, inter ? "NET/IB/GDRDMA" :
							"P2P/CUMEM");
		}
	}
}

static void equal_ways_are_no_finding(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	wired_run(&r);
	/* seen by one end only, or not at all: nothing is known */
	r.cell_way[run_at(&r, 0, 1)] = 0;
	/* the ends differ, and do so both ways */
	r.cell_way[run_at(&r, 0, 4)] = way(&r, "NET/IB>NET/OFI");
	r.cell_way[run_at(&r, 4, 0)] = way(&r, "NET/OFI>NET/IB");
	/* a relay at the sending end */
	r.cell_way[run_at(&r, 1, 6)] =
		r.cell_way[run_at(&r, 6, 1)] =
			way(&r, "NET/IB/GDRDMA+PXN>NET/IB/GDRDMA");
	v = judge(&r);
	assert_int_equal(v.n, 0);
	assert_int_equal(v.status, VERDICT_PASS);
	verdict_release(&v);
	run_release(&r);
}

static void another_way_back_is_config(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	wired_run(&r);
	r.cell_way[run_at(&r, 1, 6)] = way(&r, "NET/Socket");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.status, VERDICT_WARN);
	assert_int_equal(v.findings[0].part.kind, PART_CONFIG);
	assert_int_equal(v.findings[0].part.node, -1);
	assert_string_equal(v.findings[0].code, "path_differs");
	assert_int_equal(v.findings[0].explained, 2);
	assert_int_equal(v.findings[0].cells, 56);
	assert_non_null(strstr(v.findings[0].says,
			       "n0:1 -> n1:2 over NET/Socket, reverse over "
			       "NET/IB/GDRDMA"));
	verdict_release(&v);
	run_release(&r);
}

static const struct {
	int first, last;	/* ranks without GPUDirect */
	int node, index;
} bare[] = {
	{ 6, 6, 1, 2 },		/* one GPU */
	{ 4, 5, 1, -1 },	/* two of a node */
};

static void gdr_at_one_end_is_config(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); i++) {
		struct run r;
		struct verdict v;

		wired_run(&r);
		for (int b = bare[i].first; b <= bare[i].last; b++) {
			for (int a = 0; a < 4; a++) {
				r.cell_way[run_at(&r, a, b)] =
					way(&r, "NET/IB/GDRDMA>NET/IB");
				r.cell_way[run_at(&r, b, a)] =
					way(&r, "NET/IB>NET/IB/GDRDMA");
			}
		}
		/* odd inside the node, so that the other node has none */
		r.cell_way[run_at(&r, 4, 5)] = way(&r, "NET/IB/GDRDMA>NET/IB");
		r.cell_way[run_at(&r, 5, 4)] = way(&r, "NET/IB>NET/IB/GDRDMA");
		if (bare[i].first == 6) {
			r.cell_way[run_at(&r, 4, 5)] =
				r.cell_way[run_at(&r, 5, 4)] =
					way(&r, "P2P/CUMEM");
		}
		v = judge(&r);
		assert_int_equal(v.n, 1);
		assert_string_equal(v.findings[0].code, "gdr_one_end");
		assert_int_equal(v.findings[0].part.kind, PART_CONFIG);
		assert_int_equal(v.findings[0].part.node, bare[i].node);
		assert_int_equal(v.findings[0].part.index, bare[i].index);
		assert_false(v.findings[0].fail);
		assert_int_equal(v.n_exclude, 0);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Ways between the GPUs of a node, a letter a peer: N NVLink, P PCIe, - none,
 *  and by which code the GPUs are odd, '.' where they are not. */
static const struct {
	const char *ways[4], *odd;
	const char *code;
} reaches[] = {
	{ { " NNN", "N NN", "NN N", "NNN " }, "....", NULL },
	{ { " PPP", "P PP", "PP P", "PPP " }, "....", NULL },
	{ { " ---", "- --", "-- -", "--- " }, "....", NULL },
	{ { " NN-", "N N-", "NN -", "--- " }, "...!", "no_peer_access" },
	{ { " PN-", "P P-", "NP -", "--- " }, "...!", "no_peer_access" },
	{ { " NPN", "N PN", "PP P", "NNP " }, "..!.", "no_nvlink" },
	/* islands */
	{ { " N--", "N --", "-- N", "--N " }, "....", NULL },
	{ { " NPP", "N PP", "PP P", "PPP " }, "....", NULL },
};

static void add_reaches(struct run *r, const char *const ways[4])
{
	char scope[16], fact[32];

	for (int a = 0; a < 4; a++) {
		snprintf(scope, sizeof(scope), "gpu%d", a);
		for (int b = 0; b < 4; b++) {
			snprintf(fact, sizeof(fact), "peer_access_gpu%d", b);
			if (a != b) {
				fake_fact(r, "n1", scope, fact,
					  ways[a][b] == 'N' ? "NVLink" :
					  ways[a][b] == 'P' ? "PCIe" : "none");
			}
		}
	}
}

static void a_gpu_that_others_do_not_reach_is_odd(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(reaches) / sizeof(reaches[0]); i++) {
		struct run r;
		struct verdict v;

		wired_run(&r);
		add_reaches(&r, reaches[i].ways);
		v = judge(&r);
		assert_int_equal(v.n, reaches[i].code != NULL);
		if (v.n > 0) {
			const struct part *p = &v.findings[0].part;

			assert_string_equal(v.findings[0].code,
					    reaches[i].code);
			assert_int_equal(p->kind, PART_GPU);
			assert_int_equal(p->node, 1);
			assert_int_equal(reaches[i].odd[p->index], '!');
		}
		verdict_release(&v);
		run_release(&r);
	}
}

static void what_grew_is_a_warning(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	wired_run(&r);
	fake_fact(&r, "n1", "gpu2", "xids_growth", "2");
	fake_fact(&r, "n1", "gpu2", "nvlink_replays_growth", "7");
	fake_fact(&r, "n0", "gpu0", "thermal_throttle_growth", "999");
	fake_fact(&r, "n0", "gpu9", "xids_growth", "1");
	fake_fact(&r, "n0", "node", "xids_growth", "1");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_GPU);
	assert_int_equal(v.findings[0].part.node, 1);
	assert_int_equal(v.findings[0].part.index, 2);
	assert_string_equal(v.findings[0].code, "xid");
	assert_false(v.findings[0].fail);
	assert_int_equal(v.findings[0].cells, 14);
	assert_int_equal(v.findings[0].explained, 0);
	/* its own sentence is not said again */
	assert_int_equal(v.findings[0].n_evidence, 1);
	verdict_release(&v);
	run_release(&r);
}

static void what_grew_is_evidence(void **state)
{
	const struct fake_fault dead = { .kind = PART_GPU, .a = 1, .b = 2 };
	struct run r;
	struct verdict v;
	size_t last;

	(void)state;
	wired_run(&r);
	fake_break(&r, &dead, OUTCOME_TIMEOUT, "nccl_timeout");
	fake_fact(&r, "n1", "gpu2", "xids_growth", "1");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_true(v.findings[0].fail);
	assert_string_equal(v.findings[0].code, "nccl_timeout");
	last = v.findings[0].n_evidence - 1;
	assert_non_null(strstr(v.findings[0].evidence[last],
			       "1 Xids in the kernel log"));
	verdict_release(&v);
	run_release(&r);
}

/* what the job has and nobody tests is said, as nobody's fault */
static void gpus_left_over_are_a_finding(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	fake_run(&r, 2, 4, 4);
	fake_fact(&r, "n0", "node", "gpus_allocated", "4");
	v = judge(&r);
	assert_int_equal(v.n, 0);
	verdict_release(&v);
	fake_fact(&r, "n1", "node", "gpus_allocated", "8");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.findings[0].code, "gpus_untested");
	assert_int_equal(v.findings[0].part.kind, PART_CONFIG);
	assert_int_equal(v.findings[0].part.node, 1);
	assert_non_null(strstr(v.findings[0].says,
			       "4 of 12 GPUs of the job were not tested "
			       "(n1 4)"));
	assert_int_equal(v.status, VERDICT_WARN);
	verdict_release(&v);
	/* no rank there */
	fake_fact(&r, "m1", "node", "gpus_allocated", "2");
	v = judge(&r);
	assert_non_null(strstr(v.findings[0].says, "6 of 14 GPUs of the job "
						   "were not tested "
						   "(n1 4, m1 2)"));
	assert_int_equal(v.findings[0].part.node, -1);
	verdict_release(&v);
	/* as many names as any sentence has */
	for (int i = 2; i <= 9; i++) {
		char name[8];

		snprintf(name, sizeof(name), "m%d", i);
		fake_fact(&r, name, "node", "gpus_allocated", "2");
	}
	v = judge(&r);
	assert_non_null(strstr(v.findings[0].says, "m7 2, ...)"));
	assert_null(strstr(v.findings[0].says, "m8"));
	verdict_release(&v);
	/* nobody minds what -G leaves */
	json_object_set_new(r.json, "options",
			    json_pack("{s:s}", "gpus-per-node", "4"));
	v = judge(&r);
	assert_int_equal(v.n, 0);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_ways_are_no_finding),
		cmocka_unit_test(another_way_back_is_config),
		cmocka_unit_test(gdr_at_one_end_is_config),
		cmocka_unit_test(a_gpu_that_others_do_not_reach_is_odd),
		cmocka_unit_test(what_grew_is_a_warning),
		cmocka_unit_test(what_grew_is_evidence),
		cmocka_unit_test(gpus_left_over_are_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
