/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include "report/judge/pairs.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"
#include "report/judge/verdict.h"

struct quarrel {
	int nodes;
	struct fake_fault faults[8];
	int n_faults;
	const char *good;	/* a letter a node that must stay, a dot one
				 * that must not; "" = no advice */
};

#define PATH(x, y) { .kind = PART_NODE_PAIR, .a = x, .b = y }

static const struct quarrel quarrels[] = {
	{ .nodes = 4, .good = "" },
	{ .nodes = 4, .n_faults = 1, .good = "n.nn",
	  .faults = { { .kind = PART_NIC, .a = 1, .b = 0 } } },
	{ .nodes = 4, .n_faults = 1, .good = "nnn.",
	  .faults = { { .kind = PART_INTRA_NODE, .a = 3 } } },
	{ .nodes = 3, .n_faults = 1, .good = "",
	  .faults = { { .kind = PART_INTER_NODE } } },
	/* the end of a chain is not what to take out */
	{ .nodes = 5, .n_faults = 4, .good = "n.n.n",
	  .faults = { PATH(0, 1), PATH(1, 2), PATH(2, 3), PATH(3, 4) } },
	/* the worst node stays: greed takes out n0, and then three more */
	{ .nodes = 7, .n_faults = 6, .good = "n...nnn",
	  .faults = { PATH(0, 1), PATH(0, 2), PATH(0, 3), PATH(1, 4),
		      PATH(2, 5), PATH(3, 6) } },
	/* two groups that do not reach each other: the larger one */
	{ .nodes = 5, .n_faults = 6, .good = "nnn..",
	  .faults = { PATH(0, 3), PATH(0, 4), PATH(1, 3), PATH(1, 4),
		      PATH(2, 3), PATH(2, 4) } },
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(quarrels) / sizeof(*quarrels); i++) {
		const struct quarrel *q = &quarrels[i];
		struct verdict v;
		struct run r;
		size_t n = 0;

		print_message("case %zu\n", i);
		fake_run(&r, q->nodes, 2, 2);
		for (int k = 0; k < q->n_faults; k++) {
			fake_break(&r, &q->faults[k], OUTCOME_ERROR, "x");
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		for (int k = 0; q->good[0] && k < q->nodes; k++) {
			if (q->good[k] == 'n') {
				assert_true(n < v.n_good);
				assert_string_equal(v.good[n++],
						    r.nodes[k].name);
			}
		}
		assert_int_equal(v.n_good, n);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Everybody with a few others: an answer, if not always the best one. */
static void test_many_quarrels(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, SANITIZED ? 60 : 200, 1, 1);
	for (int s = 0; s < r.n_ranks; s++) {
		for (int d = 0; d < r.n_ranks; d++) {
			if (hash_unit(5, (uint64_t)s, (uint64_t)d, 0) < 0.02) {
				fake_cell(&r, s, d, OUTCOME_ERROR, "x");
			}
		}
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_true(v.n_good > (size_t)r.n_ranks / 5);
	for (size_t i = 0; i < v.n_good; i++) {
		for (size_t k = 0; k < v.n_good; k++) {
			int s = (int)strtol(v.good[i] + 1, NULL, 10);
			int d = (int)strtol(v.good[k] + 1, NULL, 10);

			assert_true(s == d || run_cell(&r, s, d)->class ==
						      CELL_PASS);
		}
	}
	verdict_release(&v);
	run_release(&r);
}

/** To copy, and harmless where somebody has said something already. */
static void test_drain(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 3 };
	struct str line = STR_INIT;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	fake_break(&r, &gpu, OUTCOME_TIMEOUT, "task_timeout");
	json_object_set_new(r.json, "launcher", json_string("sbatch"));
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n_exclude, 1);
	assert_true(next_drain(&r, &v, 0, &line));
	assert_string_equal(str_text(&line),
			    "scontrol -o show node n1 | grep -q Reason= || "
			    "scontrol update nodename=n1 state=drain "
			    "reason='gpucheck: gpu 3 task_timeout'");
	str_release(&line);

	/* a row may say anything, and a shell would do it */
	STR_COPY(v.findings[0].code, "x';reboot;'");
	assert_false(next_drain(&r, &v, 0, &line));
	STR_COPY(v.findings[0].code, "x");
	assert_true(next_drain(&r, &v, 0, &line));
	str_release(&line);
	v.findings[0].drain = false;
	assert_false(next_drain(&r, &v, 0, &line));
	v.findings[0].drain = true;
	r.drill = true;
	assert_false(next_drain(&r, &v, 0, &line));
	r.drill = false;
	json_object_set_new(r.json, "launcher", json_string("local"));
	assert_false(next_drain(&r, &v, 0, &line));
	verdict_release(&v);
	run_release(&r);
}

/** Who must say so before a node is drained; all of one GPU, but for those that
 *  fail inside. */
static const struct {
	const char *name;
	int nodes, gpus;
	struct fake_fault faults[4];
	int n_faults;
	const char *who;	/* did not reach it; NULL: it is to be
				 * drained */
} proofs[] = {
	{ .name = "three that pass with each other", .nodes = 4, .gpus = 1,
	  .n_faults = 1, .faults = { { .kind = PART_NODE, .a = 1 } } },
	{ .name = "two", .nodes = 3, .gpus = 1, .n_faults = 1,
	  .faults = { { .kind = PART_NODE, .a = 1 } }, .who = "n0, n2" },
	{ .name = "one", .nodes = 2, .gpus = 4, .n_faults = 1,
	  .faults = { { .kind = PART_NIC, .a = 1, .b = 2 } }, .who = "n0" },
	{ .name = "three for a NIC", .nodes = 4, .gpus = 4, .n_faults = 1,
	  .faults = { { .kind = PART_NIC, .a = 1, .b = 2 } } },
	{ .name = "a GPU fails beside the others", .nodes = 2, .gpus = 4,
	  .n_faults = 1, .faults = { { .kind = PART_GPU, .a = 1, .b = 2 } } },
	{ .name = "a node fails inside", .nodes = 2, .gpus = 4, .n_faults = 1,
	  .faults = { { .kind = PART_NODE, .a = 1 } } },
	/* n0 and n2 do not get on either: no three are left */
	{ .name = "quarrel", .nodes = 4, .gpus = 2, .n_faults = 2,
	  .faults = { { .kind = PART_NIC, .a = 1, .b = 0 }, PATH(0, 2) },
	  .who = "n0, n2, n3" },
};

static void test_proof(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(proofs) / sizeof(*proofs); i++) {
		const struct finding *f;
		struct str line = STR_INIT;
		char who[80] = "";
		struct verdict v;
		struct run r;

		print_message("%s\n", proofs[i].name);
		fake_run(&r, proofs[i].nodes, proofs[i].gpus, proofs[i].gpus);
		for (int k = 0; k < proofs[i].n_faults; k++) {
			fake_break(&r, &proofs[i].faults[k], OUTCOME_ERROR,
				   "x");
		}
		json_object_set_new(r.json, "launcher", json_string("srun"));
		assert_int_equal(verdict_compute(&r, &v), 0);
		f = &v.findings[0];
		while (f->part.node != 1 || f->part.peer_node >= 0) {
			f++;
		}
		assert_true(f->fail);
		assert_int_equal(v.n_exclude, 1);
		assert_string_equal(v.exclude[0], "n1");
		assert_int_equal(f->drain, !proofs[i].who);
		assert_int_equal(next_drain(&r, &v, 0, &line), f->drain);
		if (proofs[i].who) {
			snprintf(who, sizeof(who),
				 "; could not be reached by %s",
				 proofs[i].who);
		}
		assert_int_equal(!strstr(f->says, "; could not be reached"),
				 !proofs[i].who);
		assert_non_null(strstr(f->says, who));
		assert_int_equal(!!strstr(f->act, "-N 4 --nodelist=n1"),
				 proofs[i].who && proofs[i].nodes < 4);
		str_release(&line);
		verdict_release(&v);
		run_release(&r);
	}
}

/** What a node says of itself drains it; that it says nothing does not. */
static void test_silence(void **state)
{
	static const struct {
		const char *code, *why;
		bool drain;
		bool reached;		/* nothing is said of that */
	} cases[] = {
		{ "agent_missing", NULL, false, false },
		{ "agent_missing", "srun: error: launch failed", false, true },
		{ "agent_lost", NULL, false, false },
		{ "agent_lost", "no message for 15 s", false, false },
		{ "agent_lost", "closed by the other end", true, true },
		{ "worker_crashed", NULL, true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 5, 1, 1);
		fake_fact(&r, "n1", "node", "state", cases[i].code);
		if (cases[i].why) {
			fake_event(&r, "2026-01-31T09:15:02.123Z", "n1",
				   cases[i].code, cases[i].why);
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].drain, cases[i].drain);
		assert_int_equal(!strstr(v.findings[0].says, "could not be "
					 "reached by the coordinator"),
				 cases[i].reached);
		assert_int_equal(v.n_exclude, 1);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Nodes of two GPUs, and what is said of leaving some out. */
static const struct {
	int nodes;
	struct fake_fault faults[3];
	int n_faults;
	const char *options;	/* of the run; NULL: none */
	const char *says;	/* NULL: nothing */
} left_out[] = {
	{ .nodes = 4, .says = NULL },
	/* out of a list of nodes, not beside it */
	{ .nodes = 4, .n_faults = 1,
	  .faults = { { .kind = PART_GPU, .a = 1, .b = 0 } },
	  .options = "{\"nodelist\": \"n[0-4]\", \"exclude\": \"n4\"}",
	  .says = "to skip this node:\n"
		  "    gpucheck p2p --nodelist 'n[0,2,3]'" },
	{ .nodes = 4, .n_faults = 1,
	  .faults = { { .kind = PART_GPU, .a = 1, .b = 0 } },
	  .options = "{\"nodes\": 4, \"nodelist\": \"n0,n1,n2,n3\"}",
	  .says = "to skip this node:\n"
		  "    gpucheck p2p -N 3 --nodelist 'n[0,2,3]'" },
	{ .nodes = 4, .n_faults = 1,
	  .faults = { { .kind = PART_GPU, .a = 1, .b = 0 } },
	  .options = "{\"nodes\": 4, \"exclude\": \"n4\"}",
	  .says = "to skip this node:\n"
		  "    gpucheck p2p -N 3 -x n4,n1" },
	{ .nodes = 4, .n_faults = 1,
	  .faults = { { .kind = PART_GPU, .a = 1, .b = 0 } },
	  .says = "to skip this node:\n"
		  "    gpucheck p2p -x n1" },
	/* it is of a node that goes */
	{ .nodes = 5, .n_faults = 2,
	  .faults = { { .kind = PART_GPU, .a = 1, .b = 0 }, PATH(1, 3) },
	  .says = "to skip this node:\n"
		  "    gpucheck p2p -x n1" },
	{ .nodes = 5, .n_faults = 2,
	  .faults = { { .kind = PART_GPU, .a = 1, .b = 0 }, PATH(0, 2) },
	  .says = "to skip some of these nodes:\n"
		  "    gpucheck p2p -x n1\n"
		  "these faults would remain: the path n0 - n2" },
	{ .nodes = 6, .n_faults = 2,
	  .faults = { { .kind = PART_RAIL, .a = 1 },
		      { .kind = PART_INTRA_NODE, .a = 4 } },
	  .says = "to skip some of these nodes:\n"
		  "    gpucheck p2p -x n4\n"
		  "these faults would remain: rail 1 (NIC 1 of every node)" },
	{ .nodes = 4, .n_faults = 1, .faults = { PATH(0, 2) }, .says = NULL },
	/* none would be left */
	{ .nodes = 1, .n_faults = 1,
	  .faults = { { .kind = PART_INTRA_NODE, .a = 0 } }, .says = NULL },
	{ .nodes = 2, .n_faults = 2,
	  .faults = { { .kind = PART_INTRA_NODE, .a = 0 },
		      { .kind = PART_INTRA_NODE, .a = 1 } }, .says = NULL },
};

static void test_exclude(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++) {
		struct str out = STR_INIT;
		struct verdict v;
		struct run r;

		print_message("case %zu\n", i);
		fake_run(&r, left_out[i].nodes, 4, 4);
		if (left_out[i].options) {
			json_object_set_new(r.json, "options", json_loads(
				left_out[i].options, 0, NULL));
		}
		for (int k = 0; k < left_out[i].n_faults; k++) {
			fake_break(&r, &left_out[i].faults[k], OUTCOME_ERROR,
				   "x");
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		v.n_good = 0;
		next_words(&r, &v, &out);
		assert_string_equal(str_text(&out), left_out[i].says ?
						    left_out[i].says : "");
		str_release(&out);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Codes of one node, or of all, and if an operator would act on them at night;
 *  the first four were drained once and should not have been. */
static const struct {
	const char *code;
	enum part_kind kind;
	bool all;		/* nodes have it */
	bool drain;
} acts[] = {
	{ "gpu_missing", PART_NODE, true, false },	/* no NVML anywhere */
	{ "icmp_filtered", PART_NODE, false, false },
	{ "memlock_slurmd", PART_LIMIT, false, false },
	{ "memlock_container", PART_LIMIT, true, false },
	{ "duplicate_address", PART_NIC, false, false },
	{ "interface_missing", PART_NIC, false, false },
	{ "limit_nofile", PART_NODE, false, false },
	{ "unheard_of", PART_NODE, false, false },
	{ "still_missing", PART_CONFIG, false, false },
	{ "gpu_missing", PART_NODE, false, true },
	{ "port_down", PART_NIC, false, true },
	{ "port_down", PART_NIC, true, false },		/* a switch */
	{ "xid_48", PART_GPU, true, true },
	{ "gpu_slow", PART_GPU, false, true },
};

/** The finding of @i on @node, as by a judge, or as by a step of "all" or by an
 *  earlier run that found it reason enough. */
static void add_act(struct verdict *v, size_t i, int node, bool of_other)
{
	struct finding *f = finding_add(v, part_at(acts[i].kind, node, 0),
					acts[i].code);

	f->fail = true;
	f->drain = of_other;
	f->cells = f->explained = 1;
	if (of_other) {
		finding_add_probe(f, "memlock");
	}
}

/** Each path to a drain line asks the same: a finding of its own, one of a step
 *  of "all", one read from a file; and the plan of a retest follows. */
static void test_night(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(acts) / sizeof(*acts); i++) {
		const bool of_other = i % 2;
		const size_t at = i / 2;
		/* what the tests of a step have proved is not asked again */
		const bool drains = acts[at].drain ||
			(of_other && strcmp(acts[at].code, "unheard_of") == 0);
		struct retest_plan plan = { 0 };
		struct str words = STR_INIT, line = STR_INIT;
		struct verdict v = { 0 };
		json_t *part;
		struct run r;

		print_message("%s\n", acts[at].code);
		fake_run(&r, 3, 1, 1);
		json_object_set_new(r.json, "launcher", json_string("srun"));
		for (int n = 0; n < (acts[at].all ? 3 : 1); n++) {
			add_act(&v, at, n, of_other);
		}
		v.cells[CELL_FAIL] = v.n;
		assert_int_equal(verdict_close(&r, &v), 0);
		assert_int_equal(v.findings[0].drain, drains);
		assert_int_equal(v.n_exclude > 0 && next_drain(&r, &v, 0,
				 &line), drains);
		next_words(&r, &v, &words);
		assert_int_equal(!!strstr(str_text(&words), "state=drain"),
				 drains);
		assert_null(strstr(v.findings[0].act, "state=drain"));
		assert_int_equal(retest_plan(&r, &v, &plan), 0);
		part = json_array_get(plan.parts, 0);
		assert_int_equal(json_is_true(json_object_get(part, "drain")),
				 drains);
		retest_plan_release(&plan);
		str_release(&words);
		str_release(&line);
		verdict_release(&v);
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_many_quarrels),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_night),
		cmocka_unit_test(test_proof),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_exclude),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
