/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaf switches: which nodes hang on one, and when it is to blame. */
#include "tests/unit/fake_run.h"

#include "report/model/part.h"
#include "report/model/run.h"
#include "report/judge/verdict.h"
#include "report/judge/pairs.h"

/** Node k on leaf @leaves[k], a letter; '-': Slurm does not say. */
static void leafy_run(struct run *r, const char *leaves)
{
	fake_run(r, (int)strlen(leaves), 2, 2);
	for (int i = 0; i < r->n_nodes; i++) {
		const char leaf[] = { leaves[i], '\0' };

		if (leaves[i] != '-') {
			fake_fact(r, r->nodes[i].name, "node", "leaf_switch",
				  leaf);
		}
	}
	assert_int_equal(run_find_leaves(r), 0);
}

/** All cells between nodes with an end, or with @uplinks one end, on @leaf. */
static void break_leaf(struct run *r, const char *leaves, char leaf,
		       bool uplinks)
{
	for (int s = 0; s < r->n_ranks; s++) {
		for (int d = 0; d < r->n_ranks; d++) {
			int a = r->ranks[s].node, b = r->ranks[d].node;
			bool from = leaves[a] == leaf, to = leaves[b] == leaf;

			if (a != b && (uplinks ? from != to : from || to)) {
				fake_cell(r, s, d, OUTCOME_TIMEOUT, "t");
			}
		}
	}
}

static const struct {
	const char *leaves;
	char leaf;
	bool uplinks;
	enum part_kind kind;
	int n_leaves;		/* with two nodes or more */
	const char *name;	/* of the part */
	const char *or;		/* NULL: nothing explains the same */
} cases[] = {
	{ "aabbcc", 'b', false, PART_SWITCH, 3, "leaf switch b (n[2,3])",
	  NULL },
	{ "aabbcc", 'b', true, PART_SWITCH, 3,
	  "the uplinks of leaf switch b (n[2,3])", NULL },
	{ "aaabbb", 'a', true, PART_SWITCH, 2,
	  "the uplinks of leaf switch a (n[0-2])",
	  "the uplinks of leaf switch b (n[3-5])" },
	{ "aa-bbb", 'a', false, PART_SWITCH, 2, "leaf switch a (n[0,1])",
	  NULL },
	/* one node of the run is on it: that node, whatever fails in it */
	{ "aabccd", 'b', false, PART_NODE, 2, "node n2", NULL },
	{ "aaaaaa", 'a', false, PART_INTER_NODE, 1,
	  "the network between the nodes", "leaf switch a (n[0-5])" },
};

static void a_leaf_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run r;
		struct verdict v;
		const struct finding *f;
		char name[PART_NAME_SIZE];

		leafy_run(&r, cases[i].leaves);
		assert_int_equal(r.n_leaves, cases[i].n_leaves);
		break_leaf(&r, cases[i].leaves, cases[i].leaf,
			   cases[i].uplinks);
		if (cases[i].kind == PART_NODE) {
			/* its own traffic as well: the node explains more */
			fake_cell(&r, 4, 5, OUTCOME_TIMEOUT, "t");
			fake_cell(&r, 5, 4, OUTCOME_TIMEOUT, "t");
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		f = &v.findings[0];
		assert_int_equal(f->part.kind, cases[i].kind);
		assert_true(f->fail);
		assert_string_equal(part_name(&r, &f->part, name,
					      sizeof(name)), cases[i].name);
		/* of two leaves, the paths between them last */
		assert_int_equal(f->n_or, !cases[i].or		     ? 0 :
					  cases[i].kind == PART_SWITCH ? 2 : 1);
		if (cases[i].or) {
			assert_string_equal(part_name(&r, &f->or_parts[0],
						      name, sizeof(name)),
					    cases[i].or);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

static void a_lone_node_is_no_switch(void **state)
{
	struct run r;
	struct verdict v;

	(void)state;
	/* one GPU a node: node, NIC and GPU have the same cells as the leaf */
	fake_run(&r, 4, 1, 1);
	for (int i = 0; i < 4; i++) {
		fake_fact(&r, r.nodes[i].name, "node", "leaf_switch",
			  i == 3 ? "b" : "a");
	}
	assert_int_equal(run_find_leaves(&r), 0);
	for (int i = 0; i < 3; i++) {
		fake_cell(&r, i, 3, OUTCOME_TIMEOUT, "t");
		fake_cell(&r, 3, i, OUTCOME_TIMEOUT, "t");
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	/* nor are the uplinks of the leaf that has all others */
	assert_int_equal(v.findings[0].part.kind, PART_NODE);
	assert_int_equal(v.findings[0].part.node, 3);
	for (size_t i = 0; i < v.findings[0].n_or; i++) {
		assert_int_not_equal(v.findings[0].or_parts[i].kind,
				     PART_SWITCH);
	}
	verdict_release(&v);
	run_release(&r);
}

static void members_are_in_the_json(void **state)
{
	struct run r;
	struct verdict v;
	json_t *json, *f;
	char *members;

	(void)state;
	leafy_run(&r, "aabbcc");
	break_leaf(&r, "aabbcc", 'c', true);
	assert_int_equal(verdict_compute(&r, &v), 0);
	json = verdict_json(&r, &v);
	f = json_array_get(json_object_get(json, "findings"), 0);
	members = json_dumps(json_object_get(f, "members"), JSON_COMPACT);
	assert_string_equal(members, "[\"n4\",\"n5\"]");
	assert_string_equal(json_string_value(json_object_get(f, "kind")),
			    "switch");
	assert_string_equal(json_string_value(json_object_get(f, "name")),
			    "c");
	assert_true(json_is_true(json_object_get(f, "uplinks")));
	assert_true(json_is_null(json_object_get(f, "index")));
	assert_true(json_is_null(json_object_get(f, "node")));
	assert_int_equal(json_array_size(json_object_get(json, "exclude")), 0);
	free(members);
	json_decref(json);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leaf_is_found),
		cmocka_unit_test(a_lone_node_is_no_switch),
		cmocka_unit_test(members_are_in_the_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
