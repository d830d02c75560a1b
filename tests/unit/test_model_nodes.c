/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/sim/model.h"

enum { NODES = 4096 };

static json_t *node(const char *name, int gpus, int nics)
{
	return json_pack("{s:s,s:i,s:i,s:i}", "name", name, "first_rank", 0,
			 "gpus", gpus, "nics", nics);
}

/** Most are alike; some are not, and one never came. */
static json_t *fleet(void)
{
	json_t *nodes = json_array();

	for (int i = 0; i < NODES; i++) {
		char name[64];

		snprintf(name, sizeof(name), "gpu%04d", i);
		json_array_append_new(nodes, node(i == 77 ? "rank 77" : name,
						  i == 9 ? 4 : 8,
						  i >= 4000 ? 2 : 8));
	}
	return nodes;
}

static void alike_nodes_are_one_entry(void **state)
{
	json_t *nodes = fleet(), *list = model_nodes_json(nodes);
	struct layout l;
	struct err e;

	(void)state;
	assert_int_equal(json_array_size(list), 6);
	assert_true(json_dumpb(list, NULL, 0, JSON_COMPACT) < 400);
	assert_int_equal(model_nodes_read(&l, list, &e), 0);
	assert_int_equal(l.n_nodes, NODES);
	assert_int_equal(l.n_ranks, NODES * 8 - 4);
	for (int i = 0; i < NODES; i++) {
		const json_t *is = json_array_get(nodes, (size_t)i);

		assert_string_equal(l.nodes[i].name, json_string_value(
			json_object_get(is, "name")));
		assert_int_equal(l.nodes[i].gpus, i == 9 ? 4 : 8);
		assert_int_equal(l.nodes[i].nics, i >= 4000 ? 2 : 8);
	}
	layout_release(&l);
	json_decref(list);
	json_decref(nodes);
}

/** NICs of GPUs that the nodes have named come along. */
static void nics_of_gpus_are_kept(void **state)
{
	json_t *nodes = json_pack(
		"[{s:s,s:i,s:i,s:[i,i],s:[s,s]},{s:s,s:i,s:i,s:[i,i],s:[s,s]}]",
		"name", "a", "gpus", 2, "nics", 2, "nic_of", 1, 0,
		"nic_names", "mlx5_0", "mlx5_1",
		"name", "b", "gpus", 2, "nics", 2, "nic_of", 0, 1,
		"nic_names", "mlx5_0", "mlx5_1");
	json_t *list = model_nodes_json(nodes);
	struct layout l;
	struct err e;

	(void)state;
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(model_nodes_read(&l, list, &e), 0);
	assert_int_equal(l.ranks[0].nic, 1);
	assert_int_equal(l.ranks[1].nic, 0);
	assert_int_equal(l.ranks[2].nic, 0);
	layout_release(&l);
	json_decref(list);
	json_decref(nodes);
}

static void what_is_no_list_is_refused(void **state)
{
	static const char *const lists[] = {
		"[{}]", "[7]", "[{\"names\":\"n[0-3\",\"gpus\":1,\"nics\":1}]",
		"[{\"names\":\"n1\",\"gpus\":-1,\"nics\":1}]",
		"[{\"names\":\"n[0-9999]\",\"gpus\":1,\"nics\":1}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		json_t *list = json_loads(lists[i], 0, NULL);
		struct layout l;
		struct err e = { 0 };

		assert_non_null(list);
		assert_int_equal(model_nodes_read(&l, list, &e), -1);
		assert_true(e.text[0]);
		layout_release(&l);
		json_decref(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alike_nodes_are_one_entry),
		cmocka_unit_test(nics_of_gpus_are_kept),
		cmocka_unit_test(what_is_no_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
