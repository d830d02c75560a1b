/* SPDX-License-Identifier: BSD-3-Clause */
/* Two parts explain the same cells: which test would tell them apart? */
#include "tests/unit/fake_run.h"

#include "report/model/part.h"
#include "report/model/run.h"
#include "report/judge/tell.h"
#include "report/judge/verdict.h"
#include "report/judge/pairs.h"

static struct part part(enum part_kind kind, int node, int index)
{
	struct part p = part_of_kind(kind);

	p.node = node;
	p.index = index;
	return p;
}

static struct part path(enum part_kind kind, int a, int ai, int b, int bi,
			enum part_direction direction)
{
	struct part p = part(kind, a, ai);

	p.peer_node = b;
	p.peer_index = bi;
	p.direction = direction;
	return p;
}

/** Cells inside nodes, or all but those of rank 0 to rank n/2, are left out. */
enum left_out { NOTHING, INTRA, WAY_BACK };

static void leave_out(struct run *r, enum left_out what)
{
	for (int s = 0; s < r->n_ranks; s++) {
		for (int d = 0; d < r->n_ranks; d++) {
			bool inside = r->ranks[s].node == r->ranks[d].node;
			bool back = s == r->n_ranks / 2 && d == 0;

			if ((what == INTRA && inside) ||
			    (what == WAY_BACK && back)) {
				r->cells[run_at(r, s, d)].class =
					CELL_UNPLANNED;
			}
		}
	}
}

static void check(struct run *r, const struct part *a, const struct part *b,
		  const char *wanted)
{
	struct str out = STR_INIT;
	int dst = r->n_ranks / 2;

	/* either way round, it is the same test */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tell_apart(r, i ? b : a, i ? a : b, 0, dst,
					    &out), wanted != NULL);
		assert_string_equal(str_text(&out), wanted ? wanted : "");
		str_reset(&out);
	}
	str_release(&out);
}

static const struct {
	int nodes, gpus, nics;
	const char *transport, *launcher;
	enum left_out left_out;
	struct part a, b;
	const char *test;	/* NULL: nobody knows one */
} cases[] = {
	/* a cell that only one of them touches, and that nobody tried */
	{ 2, 2, 2, "nccl", "srun", INTRA,
	  { PART_NIC, 0, 0, -1, -1, PART_BOTH, 0 },
	  { PART_GPU, 0, 0, -1, -1, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is GPU 0 of n0):\n"
	  "    gpucheck p2p -N 1 --transport=nccl --pairs=n0:0-n0:1 "
	  "--nodelist=n0" },
	{ 2, 2, 2, "nccl", "local", INTRA,
	  { PART_NIC, 0, 0, -1, -1, PART_BOTH, 0 },
	  { PART_GPU, 0, 0, -1, -1, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is GPU 0 of n0):\n"
	  "    gpucheck p2p --local=2x2 --transport=nccl --pairs=n0:0-n0:1" },
	{ 2, 1, 1, "nccl", "srun", WAY_BACK,
	  { PART_PAIR, 0, 0, 1, 0, PART_TX, 0 },
	  { PART_PAIR, 0, 0, 1, 0, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is the path n0:0 - "
	  "n1:0):\n"
	  "    gpucheck p2p --transport=nccl --pairs=n1:0-n0:0 "
	  "--nodelist=n1,n0" },
	/* all was tried: another layer, another partner */
	{ 2, 1, 1, "nccl", "srun", NOTHING,
	  { PART_NIC, 0, 0, -1, -1, PART_BOTH, 0 },
	  { PART_GPU, 0, 0, -1, -1, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is NIC 0 of n0):\n"
	  "    gpucheck ib --pairs=n0:0-n1:0 --nodelist=n0,n1" },
	{ 2, 1, 1, "nccl", "srun", NOTHING,
	  { PART_NODE, 0, -1, -1, -1, PART_BOTH, 0 },
	  { PART_NIC, 0, 0, -1, -1, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is node n0):\n"
	  "    gpucheck p2p --transport=tcp --pairs=n0:0-n1:0 "
	  "--nodelist=n0,n1" },
	{ 2, 1, 1, "nccl", "srun", NOTHING,
	  { PART_NODE_PAIR, 0, -1, 1, -1, PART_BOTH, 0 },
	  { PART_PAIR, 0, 0, 1, 0, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is the path n0 - n1):\n"
	  "    gpucheck p2p --transport=tcp --pairs=n0:0-n1:0 "
	  "--nodelist=n0,n1" },
	{ 2, 1, 1, "tcp", "srun", NOTHING,
	  { PART_INTER_NODE, -1, -1, -1, -1, PART_BOTH, 0 },
	  { PART_NODE, 1, -1, -1, -1, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is node n1; NODE: any "
	  "other node):\n"
	  "    gpucheck p2p -N 2 --nodelist=n1,NODE" },
	/* a model has no network but its own */
	{ 2, 1, 1, "sim", "srun", NOTHING,
	  { PART_NODE_PAIR, 0, -1, 1, -1, PART_BOTH, 0 },
	  { PART_PAIR, 0, 0, 1, 0, PART_BOTH, 0 }, NULL },
	{ 2, 1, 1, "tcp", "local", NOTHING,
	  { PART_NODE_PAIR, 0, -1, 1, -1, PART_BOTH, 0 },
	  { PART_GPU, 1, 0, -1, -1, PART_BOTH, 0 },
	  "To tell them apart (if this fails too, it is GPU 0 of n1; check "
	  "n1 and the new node):\n"
	  "    gpucheck p2p --local=3x1" },
	/* the same two ranks by sockets: nothing is left to take away */
	{ 2, 1, 1, "tcp", "srun", NOTHING,
	  { PART_NODE_PAIR, 0, -1, 1, -1, PART_BOTH, 0 },
	  { PART_PAIR, 0, 0, 1, 0, PART_BOTH, 0 }, NULL },
};

static void kinds_have_a_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r;

		fake_run(&r, cases[i].nodes, cases[i].gpus, cases[i].nics);
		STR_COPY(r.transport, cases[i].transport);
		json_object_set_new(r.json, "launcher",
				    json_string(cases[i].launcher));
		leave_out(&r, cases[i].left_out);
		check(&r, &cases[i].a, &cases[i].b, cases[i].test);
		run_release(&r);
	}
}

static void the_sending_end_or_the_receiving_one(void **state)
{
	struct run r;
	struct part tx = part(PART_NODE, 0, -1), rx = part(PART_NODE, 1, -1);

	(void)state;
	fake_run(&r, 2, 1, 1);
	json_object_set_new(r.json, "launcher", json_string("srun"));
	tx.direction = PART_TX;
	rx.direction = PART_RX;
	for (int i = 0; i < 2; i++) {
		struct str out = STR_INIT;

		assert_true(tell_apart(&r, i ? &rx : &tx, i ? &tx : &rx, 0, 1,
				       &out));
		assert_string_equal(str_text(&out), i ?
			"To tell them apart (if this fails too, it is node n1 "
			"when it receives; "
			"NODE: any other node):\n"
			"    gpucheck p2p -N 2 --nodelist=n1,NODE" :
			"To tell them apart (if this fails too, it is node n0 "
			"when it sends; NODE: "
			"any other node):\n"
			"    gpucheck p2p -N 2 --nodelist=n0,NODE");
		str_release(&out);
	}
	run_release(&r);
}

static void all_nodes_on_one_leaf(void **state)
{
	struct run r;
	struct part net = part_of_kind(PART_INTER_NODE);
	struct part leaf = part(PART_SWITCH, -1, 0);

	(void)state;
	fake_run(&r, 4, 1, 1);
	json_object_set_new(r.json, "launcher", json_string("srun"));
	for (int i = 0; i < 4; i++) {
		fake_fact(&r, r.nodes[i].name, "node", "leaf_switch", "s1");
	}
	assert_int_equal(run_find_leaves(&r), 0);
	check(&r, &net, &leaf,
	      "To tell them apart (if this fails too, it is the network "
	      "between the nodes; NODE: a "
	      "node on another leaf switch):\n"
	      "    gpucheck p2p -N 2 --nodelist=n0,NODE");
	run_release(&r);
}

/** mlx5_0 is for storage and has no GPU; ib knows ports by their order. */
static void ports_are_named_as_ib_does(void **state)
{
	struct part nic = part(PART_NIC, 0, 0), gpu = part(PART_GPU, 0, 0);
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	json_object_set_new(r.json, "launcher", json_string("srun"));
	for (int i = 0; i < 2; i++) {
		const char *n = r.nodes[i].name;

		fake_fact(&r, n, "mlx5_0", "port_state", "ACTIVE");
		fake_fact(&r, n, "mlx5_1", "port_state", "ACTIVE");
		STR_COPY(r.ranks[i].nic_name, "mlx5_1");
	}
	check(&r, &nic, &gpu,
	      "To tell them apart (if this fails too, it is NIC 0 of n0 "
	      "(mlx5_1)):\n"
	      "    gpucheck ib --pairs=n0:1-n1:1 --nodelist=n0,n1");
	run_release(&r);
}

/** On a login node srun is for jobs, and a step of "all" ran in one. */
static void how_slurm_is_asked_is_seen_again(void **state)
{
	static const struct {
		const char *launcher, *command;
	} ways[] = {
		{ "srun", "gpucheck p2p --nodes=2" },
		{ "sbatch", "gpucheck p2p --launcher=sbatch --nodes=2" },
		{ "ssh", "gpucheck p2p --launcher=ssh --nodes=2" },
	};
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		json_object_set_new(r.json, "launcher",
				    json_string(ways[i].launcher));
		json_object_set_new(r.json, "options",
				    json_pack("{s:s, s:i}", "launcher",
					      ways[i].launcher, "nodes", 2));
		tell_again(&r, NULL, &out);
		assert_string_equal(str_text(&out), ways[i].command);
		str_reset(&out);
	}
	str_release(&out);
	run_release(&r);
}

/** What a step is told is not what was typed; what stood behind "--" was typed
 *  for the whole. */
static void a_step_is_told_as_its_whole_was(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 2, 2);
	json_object_set_new(r.json, "launcher", json_string("srun"));
	json_object_set_new(r.json, "argv", json_pack("[s, s]", "gpucheck",
						      "p2p"));
	json_object_set_new(r.json, "options", json_pack(
		"{s:s, s:i, s:s, s:s, s:s, s:s}", "launcher", "srun",
		"nodes", 2, "boot-timeout", "10020ms", "start-timeout", "15m",
		"max-time", "590s", "iters", "5"));
	json_object_set_new(r.json, "whole", json_pack(
		"{s:[s, s, s, s], s:{s:i, s:s}}", "argv", "gpucheck", "all",
		"--", "--partition=debug", "options", "nodes", 2, "max-time",
		"10m"));
	tell_again(&r, NULL, &out);
	tell_passed_on(&r, &out);
	assert_string_equal(str_text(&out),
			    "gpucheck p2p --nodes=2 --time-limit=10m --iters=5 "
			    "-- --partition=debug");
	str_release(&out);
	run_release(&r);
}

/** Without it the retest would ask real ports. */
static void a_model_of_ib_stays_one(void **state)
{
	static const struct {
		const char *transport, *command;
	} ways[] = {
		{ "sim", "gpucheck ib --transport=sim --pairs=n0:0-n1:0" },
		{ "verbs", "gpucheck ib --pairs=n0:0-n1:0" },
	};
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	STR_COPY(r.probe, "ib");
	r.ports = true;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		tell_command(&r, ways[i].transport, 0, 1, &out);
		assert_int_equal(strncmp(str_text(&out), ways[i].command,
					 strlen(ways[i].command)), 0);
		str_reset(&out);
	}
	str_release(&out);
	run_release(&r);
}

static void the_sentence_names_it(void **state)
{
	const struct fake_fault nic = { .kind = PART_NIC, .a = 0, .b = 1 };
	struct part way = path(PART_PAIR, 0, 0, 1, 0, PART_TX);
	struct run r;
	struct verdict v;
	struct str out = STR_INIT;

	(void)state;
	fake_run(&r, 3, 2, 2);
	leave_out(&r, INTRA);
	fake_break(&r, &nic, OUTCOME_TIMEOUT, "t");
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_non_null(strstr(v.findings[0].says, "could also be GPU 1 of "
						   "n0"));
	assert_non_null(strstr(v.findings[0].act,
			       "\nTo tell them apart (if this fails too, it is "
			       "GPU 1 of n0):\n"
			       "    gpucheck p2p -N 1 --transport=nccl "
			       "--pairs=n0:0-n0:1 --nodelist=n0\n"));
	verdict_release(&v);
	/* no bad cell to speak of: no test */
	assert_false(tell_apart(&r, &way, &way, -1, -1, &out));
	str_release(&out);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_have_a_test),
		cmocka_unit_test(the_sending_end_or_the_receiving_one),
		cmocka_unit_test(all_nodes_on_one_leaf),
		cmocka_unit_test(ports_are_named_as_ib_does),
		cmocka_unit_test(how_slurm_is_asked_is_seen_again),
		cmocka_unit_test(a_step_is_told_as_its_whole_was),
		cmocka_unit_test(a_model_of_ib_stays_one),
		cmocka_unit_test(the_sentence_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
