/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_judge.h"
#include "report/judge/findings.h"
#include "report/judge/verdict.h"

/** What a run must be judged to be. */
struct wanted {
	struct fake_fault part;
	size_t cells;	/* and as many explained */
	size_t n_or;
};

struct scenario {
	const char *name;
	int nodes, gpus, nics;
	struct fake_fault faults[3];
	int n_faults;
	struct wanted found[3];
	int n_found;
};

static void expect_part(const struct run *r, const struct part *p,
			const struct fake_fault *f)
{
	assert_int_equal(p->kind, f->kind);
	assert_int_equal(p->direction, f->direction);
	switch (f->kind) {
	case PART_RAIL:
		assert_int_equal(p->index, f->a);
		break;
	case PART_NODE_PAIR:
		assert_int_equal(p->node, f->a);
		assert_int_equal(p->peer_node, f->b);
		break;
	case PART_PAIR:
		assert_int_equal(p->node, r->ranks[f->a].node);
		assert_int_equal(p->index, r->ranks[f->a].gpu);
		assert_int_equal(p->peer_node, r->ranks[f->b].node);
		assert_int_equal(p->peer_index, r->ranks[f->b].gpu);
		break;
	case PART_NIC:
	case PART_GPU:
		assert_int_equal(p->index, f->b);
		/* fall through */
	default:
		assert_int_equal(p->node,
				 f->kind == PART_INTER_NODE ||
				 f->kind == PART_CROSS_RAIL ? -1 : f->a);
	}
}

static const struct scenario scenarios[] = {
	{ .name = "dead node", .nodes = 4, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_NODE, .a = 3 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NODE, .a = 3 },
				     .cells = 2 * 8 * 24 + 56 } } },
	{ .name = "dead GPU", .nodes = 2, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_GPU, .a = 1, .b = 4 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_GPU, .a = 1,
					       .b = 4 }, .cells = 30 } } },
	{ .name = "dead GPU that sends only", .nodes = 2, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_GPU, .a = 1, .b = 4,
				       .direction = PART_TX } },
	  .n_found = 1, .found = { { .part = { .kind = PART_GPU, .a = 1,
					       .b = 4, .direction = PART_TX },
				     .cells = 15 } } },
	{ .name = "dead node that receives only", .nodes = 4, .gpus = 4,
	  .nics = 4, .n_faults = 1,
	  .faults = { { .kind = PART_NODE, .a = 2, .direction = PART_RX } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NODE, .a = 2,
					       .direction = PART_RX },
				     .cells = 4 * 12 + 12 } } },
	{ .name = "dead NIC of two GPUs", .nodes = 2, .gpus = 8, .nics = 4,
	  .n_faults = 1, .faults = { { .kind = PART_NIC, .a = 0, .b = 2 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NIC, .a = 0,
					       .b = 2 }, .cells = 32 } } },
	{ .name = "dead NIC of one GPU", .nodes = 2, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_NIC, .a = 0, .b = 2 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NIC, .a = 0,
					       .b = 2 }, .cells = 16 } } },
	{ .name = "dead NIC among very many nodes", .nodes = 40, .gpus = 8,
	  .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_NIC, .a = 7, .b = 5 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NIC, .a = 7,
					       .b = 5 },
				     .cells = 2 * 39 * 8 } } },
	{ .name = "dead rail", .nodes = 4, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_RAIL, .a = 1 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_RAIL, .a = 1 },
				     .cells = 4 * 3 * (8 + 7) } } },
	{ .name = "rails that are not connected", .nodes = 2, .gpus = 8,
	  .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_CROSS_RAIL } },
	  .n_found = 1, .found = { { .part = { .kind = PART_CROSS_RAIL },
				     .cells = 112 } } },
	{ .name = "dead node pair", .nodes = 3, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_NODE_PAIR, .a = 0,
				       .b = 2 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NODE_PAIR, .a = 0,
					       .b = 2 }, .cells = 128 } } },
	{ .name = "dead node pair, one way", .nodes = 3, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_NODE_PAIR, .a = 0, .b = 2,
				       .direction = PART_RX } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NODE_PAIR, .a = 0,
					       .b = 2, .direction = PART_RX },
				     .cells = 64 } } },
	{ .name = "dead network", .nodes = 4, .gpus = 2, .nics = 2,
	  .n_faults = 1, .faults = { { .kind = PART_INTER_NODE } },
	  .n_found = 1, .found = { { .part = { .kind = PART_INTER_NODE },
				     .cells = 48 } } },
	{ .name = "two nodes, dead network", .nodes = 2, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_INTER_NODE } },
	  .n_found = 1, .found = { { .part = { .kind = PART_INTER_NODE },
				     /* the pair, the network of each */
				     .cells = 128, .n_or = 3 } } },
	{ .name = "dead inside all nodes", .nodes = 3, .gpus = 4, .nics = 4,
	  .n_faults = 1, .faults = { { .kind = PART_INTRA_NODE, .a = -1 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_INTRA_NODE,
					       .a = -1 }, .cells = 36 } } },
	{ .name = "dead inside one node", .nodes = 3, .gpus = 4, .nics = 4,
	  .n_faults = 1, .faults = { { .kind = PART_INTRA_NODE, .a = 1 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_INTRA_NODE,
					       .a = 1 }, .cells = 12 } } },
	{ .name = "dead pair", .nodes = 2, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_PAIR, .a = 0, .b = 9 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_PAIR, .a = 0,
					       .b = 9 }, .cells = 2 } } },
	{ .name = "dead pair, one way", .nodes = 2, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_PAIR, .a = 2, .b = 12,
				       .direction = PART_RX } },
	  .n_found = 1, .found = { { .part = { .kind = PART_PAIR, .a = 2,
					       .b = 12, .direction = PART_RX },
				     .cells = 1 } } },
	{ .name = "a node and a GPU elsewhere", .nodes = 4, .gpus = 8,
	  .nics = 8, .n_faults = 2,
	  .faults = { { .kind = PART_NODE, .a = 0 },
		      { .kind = PART_GPU, .a = 2, .b = 7 } },
	  .n_found = 2,
	  .found = { { .part = { .kind = PART_NODE, .a = 0 },
		       .cells = 2 * 8 * 24 + 56 },
		     { .part = { .kind = PART_GPU, .a = 2, .b = 7 },
		       .cells = 62 } } },
	{ .name = "two nodes of three", .nodes = 3, .gpus = 8, .nics = 8,
	  .n_faults = 2,
	  .faults = { { .kind = PART_NODE, .a = 1 },
		      { .kind = PART_NODE, .a = 2 } },
	  .n_found = 2,
	  .found = { { .part = { .kind = PART_NODE, .a = 1 }, .cells = 312 },
		     { .part = { .kind = PART_NODE, .a = 2 },
		       .cells = 312 } } },
	{ .name = "a rail, a GPU of it and a pair", .nodes = 4, .gpus = 4,
	  .nics = 4, .n_faults = 3,
	  .faults = { { .kind = PART_RAIL, .a = 3 },
		      { .kind = PART_GPU, .a = 1, .b = 3 },
		      { .kind = PART_PAIR, .a = 0, .b = 5 } },
	  .n_found = 3,
	  .found = { { .part = { .kind = PART_RAIL, .a = 3 },
		       .cells = 4 * 3 * (4 + 3) },
		     /* the rail has its other cells: those inside are left */
		     { .part = { .kind = PART_GPU, .a = 1, .b = 3 },
		       .cells = 30, .n_or = 1 },
		     { .part = { .kind = PART_PAIR, .a = 0, .b = 5 },
		       .cells = 2 } } },
	{ .name = "one GPU a node, dead node", .nodes = 3, .gpus = 1,
	  .nics = 1,
	  .n_faults = 1, .faults = { { .kind = PART_NODE, .a = 1 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NODE, .a = 1 },
				     .cells = 4, .n_or = 2 } } },
	{ .name = "two nodes of one GPU", .nodes = 2, .gpus = 1, .nics = 1,
	  .n_faults = 1, .faults = { { .kind = PART_PAIR, .a = 0, .b = 1 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_INTER_NODE },
				     .cells = 2, .n_or = 9 } } },
	{ .name = "one node of two GPUs", .nodes = 1, .gpus = 2, .nics = 2,
	  .n_faults = 1, .faults = { { .kind = PART_PAIR, .a = 0, .b = 1 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_NODE, .a = 0 },
				     .cells = 2, .n_or = 6 } } },
	{ .name = "one node, dead GPU", .nodes = 1, .gpus = 8, .nics = 8,
	  .n_faults = 1, .faults = { { .kind = PART_GPU, .a = 0, .b = 5 } },
	  .n_found = 1, .found = { { .part = { .kind = PART_GPU, .a = 0,
					       .b = 5 }, .cells = 14 } } },
	{ .name = "healthy", .nodes = 3, .gpus = 5, .nics = 2 },
};

static void test_scenarios(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		struct verdict v;
		struct run r;

		print_message("%s\n", s->name);
		fake_run(&r, s->nodes, s->gpus, s->nics);
		for (int k = 0; k < s->n_faults; k++) {
			fake_break(&r, &s->faults[k], OUTCOME_TIMEOUT,
				   "task_timeout");
		}
		v = judge(&r);
		assert_int_equal(v.n, s->n_found);
		for (int k = 0; k < s->n_found; k++) {
			const struct finding *f = &v.findings[k];

			expect_part(&r, &f->part, &s->found[k].part);
			assert_int_equal(f->cells, s->found[k].cells);
			assert_int_equal(f->explained, s->found[k].cells);
			assert_int_equal(f->n_or, s->found[k].n_or);
			assert_string_equal(f->code, "task_timeout");
			assert_true(f->fail);
			assert_true(strlen(f->says) > 20);
			assert_true(strlen(f->act) > 20);
		}
		assert_int_equal(v.status, s->n_faults ? VERDICT_FAIL :
							 VERDICT_PASS);
		assert_int_equal(verdict_exit(&r, &v), s->n_faults ? 1 : 0);
		verdict_release(&v);
		run_release(&r);
	}
}

/** One passing cell among many does not turn a dead NIC into 95 pairs. */
static void test_nearly_all(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 2,
					       .b = 3 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	fake_break(&r, &nic, OUTCOME_ERROR, "no_route");
	fake_cell(&r, 0, 19, OUTCOME_OK, "");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_NIC);
	assert_int_equal(v.findings[0].cells, 112);
	assert_int_equal(v.findings[0].explained, 111);
	verdict_release(&v);
	run_release(&r);
}

/** ... and neither does it turn a dead network into all that is in it. */
static void test_network_nearly_all(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 8, 8);
	fake_break(&r, &all, OUTCOME_ERROR, "no_route");
	fake_cell(&r, 0, 8, OUTCOME_OK, "");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_INTER_NODE);
	assert_int_equal(v.findings[0].cells, 768);
	assert_int_equal(v.findings[0].explained, 767);
	verdict_release(&v);
	run_release(&r);
}

/** A GPU that fails in every other cell is one GPU. */
static void test_bad_in_half(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 5 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 8, 8);
	fake_break(&r, &gpu, OUTCOME_TIMEOUT, "task_timeout");
	for (int peer = 0; peer < r.n_ranks; peer += 2) {
		fake_cell(&r, 13, peer, OUTCOME_OK, "");
		fake_cell(&r, peer + 1, 13, OUTCOME_OK, "");
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect_part(&r, &v.findings[0].part, &gpu);
	assert_int_equal(v.findings[0].cells, 62);
	assert_int_equal(v.findings[0].explained, 31);
	verdict_release(&v);
	run_release(&r);
}

/** All that a node of two GPUs has of its own are two tests inside it.  Where a
 *  third of the others failed, that these passed may be chance. */
static void test_nearly_as_well(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 9, 2, 2);
	for (int i = 0; i < 2 * (r.n_ranks - 2); i++) {
		int peer = 2 + i / 2, own = i % 2, third = (peer + own) % 3;

		if (third == 0) {
			fake_cell(&r, own, peer, OUTCOME_ERROR, "no_route");
		} else if (third == 1) {
			fake_cell(&r, peer, own, OUTCOME_ERROR, "no_route");
		}
	}
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_NODE_NETWORK);
	assert_int_equal(v.findings[0].n_or, 1);
	assert_int_equal(v.findings[0].or_parts[0].kind, PART_NODE);
	assert_int_equal(v.findings[0].or_parts[0].node, 0);
	verdict_release(&v);
	run_release(&r);
}

/** A node that nobody knows the switch of, slow by more than single tests may
 *  be: its network is, wherever that begins, and jobs on it are as slow. */
static void test_slow_network(void **state)
{
	static const struct fake_fault network = { .kind = PART_NODE_NETWORK,
						   .a = 3 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 6, 8, 8);
	fake_slow(&r, &network, 0.7);
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect_part(&r, &v.findings[0].part, &network);
	assert_true(v.findings[0].fail && v.findings[0].drain);
	verdict_release(&v);
	run_release(&r);
}

/** The tests between two of its three witnesses are slow: it is cut off all the
 *  same. */
static void test_dead_network_beside_slow(void **state)
{
	static const struct fake_fault dead = { .kind = PART_NODE_NETWORK,
						.a = 3 };
	static const struct fake_fault slow = { .kind = PART_NODE_PAIR,
						.a = 0, .b = 2 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 2, 2);
	fake_slow(&r, &slow, 0.4);
	fake_break(&r, &dead, OUTCOME_ERROR, "connect_refused");
	v = judge(&r);
	assert_int_equal(v.n, 2);
	expect_part(&r, &v.findings[0].part, &dead);
	assert_true(v.findings[0].drain);
	expect_part(&r, &v.findings[1].part, &slow);
	assert_false(v.findings[1].drain);
	verdict_release(&v);
	run_release(&r);
}

/** Two dead NICs of one rail: most of its cells are bad, and it is not it. */
static void test_nics_of_a_rail(void **state)
{
	static const struct fake_fault nics[] = {
		{ .kind = PART_NIC, .a = 0, .b = 1 },
		{ .kind = PART_NIC, .a = 2, .b = 1 },
	};
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 8, 2);
	fake_break(&r, &nics[0], OUTCOME_ERROR, "no_route");
	fake_break(&r, &nics[1], OUTCOME_ERROR, "no_route");
	v = judge(&r);
	assert_int_equal(v.n, 2);
	expect_part(&r, &v.findings[0].part, &nics[0]);
	expect_part(&r, &v.findings[1].part, &nics[1]);
	verdict_release(&v);
	run_release(&r);
}

/** No pattern: every bad pair is named, each once. */
/** Where only pairs inside rails were measured, two dead NICs look like two
 *  exchanged cables. */
static void test_nics_of_a_node_in_rails(void **state)
{
	static const struct fake_fault nics[] = {
		{ .kind = PART_NIC, .a = 1, .b = 0 },
		{ .kind = PART_NIC, .a = 1, .b = 2 },
	};
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 4, 4);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		int src = run_src(&r, at), dst = run_dst(&r, at);

		if (r.cells[at].path == PATH_INTER &&
		    r.ranks[src].nic != r.ranks[dst].nic) {
			r.cells[at].class = CELL_UNPLANNED;
		}
	}
	for (int i = 0; i < 2; i++) {
		fake_break(&r, &nics[i], OUTCOME_TIMEOUT, "stalled");
	}
	v = judge(&r);
	assert_int_equal(v.n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(v.findings[i].part.kind, PART_NIC);
		assert_int_equal(v.findings[i].part.node, 1);
	}
	verdict_release(&v);
	run_release(&r);
}

static void test_scattered(void **state)
{
	struct verdict v;
	size_t explained = 0;
	struct run r;

	(void)state;
	fake_run(&r, 4, 8, 8);
	for (int i = 0; i < 5; i++) {
		fake_cell(&r, 3 * i, 30 - 2 * i, OUTCOME_CORRUPT,
			  "data_corrupt");
	}
	v = judge(&r);
	assert_int_equal(v.n, 5);
	for (size_t i = 0; i < v.n; i++) {
		assert_int_equal(v.findings[i].part.kind, PART_PAIR);
		assert_int_equal(v.findings[i].part.direction, PART_TX);
		explained += v.findings[i].explained;
	}
	assert_int_equal(explained, 5);
	assert_int_equal(v.n_exclude, 0);
	verdict_release(&v);
	run_release(&r);
}

/** Too many to name: one finding, whose remedy is not that of a part. */
static void test_scattered_widely(void **state)
{
	const struct finding *f;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 16, 8, 8);
	for (int s = 0; s < r.n_ranks; s++) {
		for (int d = 0; d < r.n_ranks; d++) {
			if (r.ranks[s].node == r.ranks[d].node && s != d &&
			    hash_unit(3, (uint64_t)s, (uint64_t)d, 0) < 0.05) {
				fake_cell(&r, s, d, OUTCOME_ERROR, "error");
			}
		}
	}
	v = judge(&r);
	f = v.findings;
	while (f < v.findings + v.n && !strstr(f->says, "no part explains")) {
		f++;
	}
	assert_true(f < v.findings + v.n);
	assert_true(f->scatter);
	assert_true(str_starts(f->act, "These pairs have no part in common"));
	verdict_release(&v);
	run_release(&r);
}

/** Of a path 20 flows lose packets, and @known are known to do so or not. */
static void look_at_flows(int64_t known, const char *says)
{
	struct verdict v;
	struct run r;

	fake_run(&r, 2, 1, 1);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(run_add_flow(&r, 0, 1, 8, 0, "flow"), 0);
	}
	assert_int_equal(run_count_flows(&r, run_at(&r, 0, 1), known, 0), 0);
	assert_int_equal(run_count_flows(&r, run_at(&r, 1, 0), 32, 0), 0);
	v = judge(&r);
	assert_int_equal(v.n, says ? 1 : 0);
	if (says) {
		assert_string_equal(v.findings[0].code, PATH_FLOW);
		assert_memory_equal(v.findings[0].says, says, strlen(says));
	}
	verdict_release(&v);
	run_release(&r);
}

static void flows_that_are_not_known_are_not_good(void **state)
{
	(void)state;
	look_at_flows(32, "20 of the 32 UDP flows of 1 path lose all packets");
	look_at_flows(20, NULL);
	look_at_flows(RECORD_NONE, NULL);
}

/** What a name saves against a list of cells. */
static void test_scores(void **state)
{
	static const struct {
		struct fake_fault fault;
		double part;	/* of its cells that are bad */
		double low, high;
	} cases[] = {
		{ { .kind = PART_NODE, .a = 1 }, 1, 0.98, 1 },
		{ { .kind = PART_GPU, .a = 1, .b = 3 }, 1, 0.95, 0.98 },
		{ { .kind = PART_NODE, .a = 1 }, 0.4, 0.6, 0.93 },
		{ { .kind = PART_PAIR, .a = 1, .b = 9 }, 1, 0, 0 },
	};
	struct verdict v;
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_run(&r, 4, 8, 8);
		for (int s = 0; s < r.n_ranks; s++) {
			for (int d = 0; d < r.n_ranks; d++) {
				if (fake_hits(&r, &cases[i].fault, s, d) &&
				    hash_unit(5, (uint64_t)s, (uint64_t)d, 0) <
					    cases[i].part) {
					fake_cell(&r, s, d, OUTCOME_ERROR, "e");
				}
			}
		}
		v = judge(&r);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].part.kind, cases[i].fault.kind);
		assert_true(v.findings[0].score >= cases[i].low);
		assert_true(v.findings[0].score <= cases[i].high);
		verdict_release(&v);
		run_release(&r);
	}
}

static void test_too_many_pairs(void **state)
{
	size_t bad = 0;
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 16, 8, 8);
	for (int s = 0; s < r.n_ranks; s++) {
		for (int d = 0; d < r.n_ranks; d++) {
			if (hash_unit(3, (uint64_t)s, (uint64_t)d, 0) < 0.3) {
				fake_cell(&r, s, d, OUTCOME_ERROR, "no_route");
			}
		}
	}
	v = judge(&r);
	bad = v.cells[CELL_FAIL];
	assert_int_equal(v.n, 2);
	assert_int_equal(v.findings[0].part.kind, PART_FABRIC_PATH);
	assert_int_equal(v.findings[1].part.kind, PART_INTRA_NODE);
	assert_int_equal(v.findings[0].explained + v.findings[1].explained,
			 bad);
	assert_true(v.findings[0].cells > v.findings[0].explained);
	verdict_release(&v);
	run_release(&r);
}

static void test_slow(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 1,
					       .b = 3 };
	struct verdict v;
	struct run r;

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		fake_run(&r, 2, 8, 8);
		r.shared_cores = shared;
		fake_slow(&r, &gpu, 0.5);
		v = judge(&r);
		assert_int_equal(v.cells[CELL_SLOW], 30);
		assert_int_equal(v.n, 1);
		expect_part(&r, &v.findings[0].part, &gpu);
		assert_string_equal(v.findings[0].code, "slow");
		assert_int_equal(v.findings[0].fail, !shared);
		assert_int_equal(v.status,
				 shared ? VERDICT_WARN : VERDICT_FAIL);
		assert_int_equal(verdict_exit(&r, &v), shared ? 0 : 1);
		r.strict = true;
		assert_int_equal(verdict_exit(&r, &v), 1);
		verdict_release(&v);
		run_release(&r);
	}
}

/** A slow GPU next to a dead one: two findings, neither hides the other. */
static void test_slow_and_dead(void **state)
{
	static const struct fake_fault dead = { .kind = PART_GPU, .a = 0,
						.b = 3 };
	static const struct fake_fault slow = { .kind = PART_GPU, .a = 1,
						.b = 6 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	fake_slow(&r, &slow, 0.5);
	fake_break(&r, &dead, OUTCOME_TIMEOUT, "task_timeout");
	v = judge(&r);
	assert_int_equal(v.n, 2);
	expect_part(&r, &v.findings[0].part, &dead);
	expect_part(&r, &v.findings[1].part, &slow);
	assert_int_equal(v.findings[1].cells, 30);
	assert_int_equal(v.findings[1].judged, 28);
	assert_int_equal(v.findings[1].explained, 28);
	verdict_release(&v);
	run_release(&r);
}

/** A part that is gone takes its cells with it and accuses no one else. */
static void test_retired_rank(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 0,
					       .b = 7 };
	struct verdict v;
	struct run r;

	(void)state;
	for (int with_fact = 0; with_fact < 2; with_fact++) {
		fake_run(&r, 2, 8, 8);
		fake_break(&r, &gpu, OUTCOME_SKIPPED, "rank_retired");
		fake_cell(&r, 7, 0, OUTCOME_CRASHED, "worker_crashed");
		fake_cell(&r, 0, 7, OUTCOME_CRASHED, "worker_crashed");
		if (with_fact) {
			fake_fact(&r, "n0", "gpu7", "state", "retired");
			fake_fact(&r, "n0", "gpu7", "state_detail",
				  "signal 11 (SIGSEGV) twice");
		}
		v = judge(&r);
		assert_int_equal(v.n, 1);
		expect_part(&r, &v.findings[0].part, &gpu);
		assert_string_equal(v.findings[0].code, "rank_retired");
		assert_int_equal(v.findings[0].cells, 30);
		assert_int_equal(v.findings[0].explained, 30);
		assert_int_equal(v.n_exclude, 1);
		assert_string_equal(v.exclude[0], "n0");
		verdict_release(&v);
		run_release(&r);
	}
}

static void test_gone_nodes(void **state)
{
	static const struct fake_fault node = { .kind = PART_NODE, .a = 1 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 3, 4, 4);
	fake_break(&r, &node, OUTCOME_SKIPPED, "agent_missing");
	fake_fact(&r, "n1", "node", "state", "agent_missing");
	fake_fact(&r, "n1", "gpu2", "state", "gpu_missing");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	expect_part(&r, &v.findings[0].part, &node);
	assert_string_equal(v.findings[0].code, "agent_missing");
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_int_equal(verdict_exit(&r, &v), 1);
	verdict_release(&v);
	run_release(&r);
}

/** All is lost: that is no node's fault. */
static void test_nothing_passes(void **state)
{
	static const struct fake_fault nodes[] = {
		{ .kind = PART_NODE, .a = 0 }, { .kind = PART_NODE, .a = 1 },
	};
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	fake_break(&r, &nodes[0], OUTCOME_ERROR, "drill_dead");
	fake_break(&r, &nodes[1], OUTCOME_ERROR, "drill_dead");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_INTER_NODE);
	assert_int_equal(v.findings[0].cells, 128);
	assert_int_equal(v.findings[0].explained, 128);
	assert_non_null(strstr(v.findings[0].says, "No test passed, not even "
			       "inside a node: settings, drivers or "
			       "launcher; "));
	assert_non_null(strstr(v.findings[0].says, "0 of the other 112"));
	assert_false(v.findings[0].drain);
	assert_int_equal(v.n_exclude, 0);
	verdict_release(&v);

	/* one is good inside: the other is not */
	fake_cell(&r, 0, 1, OUTCOME_OK, "");
	v = judge(&r);
	assert_true(v.n_exclude > 0);
	verdict_release(&v);
	run_release(&r);
}

/** The cause wins over what its echo looked like from the other end. */
static void test_echo_code(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 0,
					       .b = 1 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 4, 4);
	fake_break(&r, &gpu, OUTCOME_ERROR, "peer_closed");
	fake_cell(&r, 1, 5, OUTCOME_ERROR, "nccl_system_error");
	v = judge(&r);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.findings[0].code, "nccl_system_error");
	verdict_release(&v);
	run_release(&r);
}

static void test_exit_codes(void **state)
{
	static const struct fake_fault all = { .kind = PART_INTER_NODE };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 1, 1);
	fake_break(&r, &all, OUTCOME_NOT_RUN, "");
	v = judge(&r);
	assert_int_equal(v.status, VERDICT_UNKNOWN);
	assert_int_equal(verdict_exit(&r, &v), 3);
	verdict_release(&v);

	fake_cell(&r, 0, 1, OUTCOME_TIMEOUT, "task_timeout");
	v = judge(&r);
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_int_equal(verdict_exit(&r, &v), 4);
	verdict_release(&v);

	fake_cell(&r, 0, 1, OUTCOME_OK, "");
	fake_cell(&r, 1, 0, OUTCOME_OK, "");
	v = judge(&r);
	assert_int_equal(v.status, VERDICT_PASS);
	assert_int_equal(verdict_exit(&r, &v), 0);
	verdict_release(&v);
	r.ended = false;
	v = judge(&r);
	assert_int_equal(v.status, VERDICT_PARTIAL);
	assert_int_equal(verdict_exit(&r, &v), 4);
	verdict_release(&v);
	r.ended = true;
	STR_COPY(r.stop_reason, "max_time");
	v = judge(&r);
	assert_int_equal(v.status, VERDICT_PARTIAL);
	assert_int_equal(verdict_exit(&r, &v), 4);
	verdict_release(&v);
	run_release(&r);
}

static void test_nothing(void **state)
{
	struct run r = { .ended = true };
	struct verdict v = judge(&r);

	(void)state;
	assert_int_equal(v.status, VERDICT_UNKNOWN);
	assert_int_equal(verdict_exit(&r, &v), 3);
	verdict_release(&v);
	verdict_release(NULL);
}

static void test_json(void **state)
{
	static const char expected[] =
		"{\"schema\":1,\"probe\":\"p2p\",\"status\":\"fail\","
		"\"drill\":true,\"simulated\":false,"
		"\"cells\":{\"pass\":11,\"slow\":0,\"fail\":0,"
		"\"timeout\":1,\"corrupt\":0,\"skipped\":0,\"not_run\":0},"
		"\"findings\":[{\"kind\":\"pair\",\"node\":\"n0\",\"index\":1,"
		"\"peer_node\":\"n1\",\"peer_index\":0,\"direction\":\"tx\","
		"\"severity\":\"fail\",\"code\":\"task_timeout\",\"cells\":1,"
		"\"explained\":1,\"or\":[],\"says\":\"The path n0:1 -> n1:0: "
		"the only test of this pair failed (1 timeout); the other 11 "
		"passed\",\"do\":";
	struct verdict v;
	json_t *json;
	struct run r;
	char *text;

	(void)state;
	fake_run(&r, 2, 2, 2);
	r.drill = true;
	fake_cell(&r, 1, 2, OUTCOME_TIMEOUT, "task_timeout");
	v = judge(&r);
	json = verdict_json(&r, &v);
	text = json_dumps(json, JSON_COMPACT);
	assert_non_null(text);
	assert_memory_equal(text, expected, sizeof(expected) - 1);
	free(text);
	json_decref(json);
	verdict_release(&v);
	run_release(&r);
}

/** Of two nodes a sample has one pair of GPUs: that it failed says nothing of
 *  the others.  Many that have nothing in common are one finding, and no switch
 *  is made of them. */
static void pairs_of_a_sample_are_pairs(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 40, 8, 8);
	fake_sample(&r);
	for (int i = 0; i < 14; i++) {
		int node = 2 * i, gpu = i % 8;

		fake_cell(&r, node * 8 + gpu, (node + 3) * 8 + gpu,
			  OUTCOME_ERROR, "no_route");
	}
	assert_int_equal(leaves_infer(&r), 0);
	assert_int_equal(r.n_leaves, 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_non_null(strstr(v.findings[0].says, "no part explains"));
	verdict_release(&v);
	run_release(&r);
}

/** NICs of one rail that fail with all of their few partners are on one switch,
 *  and so are nodes that fail with those of another alone. */
static void switches_of_a_sample(void **state)
{
	static const struct {
		bool rail;
		enum part_kind kind;
	} cases[] = {
		{ true, PART_RAIL_LEAF }, { false, PART_LEAF_PAIR },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 40, 8, 8);
		fake_sample(&r);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			int src = run_src(&r, at), dst = run_dst(&r, at);
			int s = r.ranks[src].node, d = r.ranks[dst].node;
			bool rail = (s < 6 && r.ranks[src].nic == 2) ||
				    (d < 6 && r.ranks[dst].nic == 2);
			bool two = (s < 8 && d >= 8 && d < 16) ||
				   (d < 8 && s >= 8 && s < 16);

			if (s != d && (cases[i].rail ? rail : two)) {
				fake_cell(&r, src, dst, OUTCOME_ERROR, "");
			}
		}
		assert_int_equal(leaves_infer(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].part.kind, cases[i].kind);
		verdict_release(&v);
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_nearly_all),
		cmocka_unit_test(test_network_nearly_all),
		cmocka_unit_test(test_bad_in_half),
		cmocka_unit_test(test_nearly_as_well),
		cmocka_unit_test(test_slow_network),
		cmocka_unit_test(test_dead_network_beside_slow),
		cmocka_unit_test(test_nics_of_a_rail),
		cmocka_unit_test(test_nics_of_a_node_in_rails),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_scattered_widely),
		cmocka_unit_test(test_scores),
		cmocka_unit_test(test_too_many_pairs),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_slow_and_dead),
		cmocka_unit_test(test_retired_rank),
		cmocka_unit_test(test_gone_nodes),
		cmocka_unit_test(test_nothing_passes),
		cmocka_unit_test(test_echo_code),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_json),
		cmocka_unit_test(flows_that_are_not_known_are_not_good),
		cmocka_unit_test(pairs_of_a_sample_are_pairs),
		cmocka_unit_test(switches_of_a_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
