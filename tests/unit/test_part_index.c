/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "report/model/part.h"

#define NODES 6

/** 6 nodes, the last of one GPU; NICs in order; leaves of two, the last two of
 *  nobody knows which. */
static void make_run(struct run *run)
{
	static const int gpus[NODES] = { 8, 8, 4, 4, 2, 1 };
	static const int nics[NODES] = { 8, 4, 4, 2, 8, 1 };
	static struct run_leaf leaves[2] = {
		{ .name = "a", .n_nodes = 2 }, { .name = "b", .n_nodes = 2 }
	};

	*run = (struct run){ .leaves = leaves, .n_leaves = 2 };
	run->nodes = calloc(NODES, sizeof(*run->nodes));
	run->ranks = calloc(64, sizeof(*run->ranks));
	run->n_nodes = NODES;
	assert_true(run->nodes && run->ranks);
	for (int n = 0; n < NODES; n++) {
		run->nodes[n].first_rank = run->n_ranks;
		run->nodes[n].gpus = gpus[n];
		run->nodes[n].nics = nics[n];
		run->nodes[n].leaf = n < 4 ? n / 2 + 1 : 0;
		for (int g = 0; g < gpus[n]; g++) {
			run->ranks[run->n_ranks++] = (struct cluster_rank){
				.node = n, .gpu = g,
				.nic = g * nics[n] / gpus[n],
			};
		}
	}
	run->grid = grid_square(run->n_ranks);
	run->cells = calloc(run_n_cells(run), sizeof(*run->cells));
	assert_non_null(run->cells);
	for (size_t at = 0; at < run_n_cells(run); at++) {
		run->cells[at].class = CELL_PASS;
		run->cells[at].path =
			run->ranks[run_src(run, at)].node ==
					run->ranks[run_dst(run, at)].node ?
				PATH_INTRA : PATH_INTER;
	}
}

static void free_run(struct run *run)
{
	free(run->nodes);
	free(run->ranks);
	free(run->cells);
}

static bool has(const size_t *ids, int n, size_t id)
{
	for (int i = 0; i < n; i++) {
		if (ids[i] == id) {
			return true;
		}
	}
	return false;
}

/** What is left out, as another part says the same. */
static bool is_left_out(const struct run *run, const struct part *p)
{
	const struct cluster_node *n =
		p->node >= 0 ? &run->nodes[p->node] : NULL;

	return (p->kind == PART_NODE_NETWORK &&
		(n->nics < 2 || n->gpus < 2)) ||
	       (p->kind == PART_GPU_NVLINK && n->gpus < 3) ||
	       (p->kind == PART_SOCKET && (n->nics < 4 || n->gpus < 4)) ||
	       (p->kind == PART_FABRIC_PATH && p->peer_index < 0);
}

static void cells_have_the_parts_that_touch_them(void **state)
{
	size_t ids[PART_INDEX_CELL_MAX], seen[PART_KINDS] = { 0 };
	struct part_index x;
	struct run run;

	(void)state;
	make_run(&run);
	assert_int_equal(part_index_init(&x, &run), 0);
	for (size_t at = 0; at < run_n_cells(&run); at++) {
		int s = run_src(&run, at), d = run_dst(&run, at), n;

		if (s == d) {
			continue;
		}
		n = part_index_cell(&x, s, d, ids);
		assert_in_range(n, 1, PART_INDEX_CELL_MAX);
		for (size_t id = 0; id < x.n; id++) {
			struct part p = part_index_part(&x, id);
			bool in = has(ids, n, id);

			seen[p.kind] += in;
			if (in != part_touches(&run.cluster, &p, s, d) &&
			    (in || !is_left_out(&run, &p))) {
				char name[PART_NAME_SIZE];

				fail_msg("%d -> %d, %s, %s: %s", s, d,
					 part_kind_name(p.kind),
					 part_name(&run, &p, name,
						   sizeof(name)),
					 in ? "listed" : "not listed");
			}
		}
	}
	for (int k = 0; k < PART_KINDS; k++) {
		bool numbered = k != PART_PAIR && k != PART_LIMIT &&
				k != PART_CONFIG && k != PART_NVLINK_DOMAIN &&
				k != PART_PROCESS;

		assert_int_equal(seen[k] > 0, numbered);
	}
	part_index_release(&x);
	free_run(&run);
}

/** Nobody can tell exchanged cables where no pair across rails was measured. */
static void cables_need_pairs_across_rails(void **state)
{
	struct part_index x;
	struct run run;

	(void)state;
	make_run(&run);
	for (size_t at = 0; at < run_n_cells(&run); at++) {
		if (run.ranks[run_src(&run, at)].nic !=
		    run.ranks[run_dst(&run, at)].nic) {
			run.cells[at].class = CELL_NOT_RUN;
		}
	}
	run.cells[run_at(&run, 0, 10)].class = CELL_FAIL;
	assert_int_equal(part_index_init(&x, &run), 0);
	/* of the first two nodes, eight NICs and four */
	assert_int_equal(x.at[PART_CABLE_SWAP + 1] - x.at[PART_CABLE_SWAP],
			 28 + 6);
	part_index_release(&x);
	free_run(&run);
}

/** Of a fleet every two nodes have a number, which leads back to them. */
static void two_of_many_nodes_come_back(void **state)
{
	enum { MANY = 4096 };
	struct run run = { .n_nodes = MANY, .n_ranks = MANY };
	size_t ids[PART_INDEX_NODES_MAX];
	struct part_index x;
	struct cell none = { .class = CELL_UNPLANNED };

	(void)state;
	run.nodes = calloc(MANY, sizeof(*run.nodes));
	run.ranks = calloc(MANY, sizeof(*run.ranks));
	run.cells = &none;
	assert_true(run.nodes && run.ranks);
	assert_int_equal(grid_of(&run.grid, MANY, NULL, 0), 0);
	for (int i = 0; i < MANY; i++) {
		run.nodes[i] = (struct cluster_node){
			.first_rank = i, .gpus = 1, .nics = 1,
		};
		run.ranks[i].node = i;
	}
	assert_int_equal(part_index_init(&x, &run), 0);
	for (int to = 1; to < MANY; to += 7) {
		for (int from = 0; from < to; from += from + 1) {
			int n = part_index_nodes(&x, from, to, PATH_NVLINK,
						 ids);
			struct part p = part_index_part(&x, ids[n - 2]);

			assert_int_equal(p.kind, PART_NODE_PAIR);
			assert_int_equal(p.node, from);
			assert_int_equal(p.peer_node, to);
		}
	}
	part_index_release(&x);
	grid_release(&run.grid);
	free(run.nodes);
	free(run.ranks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_have_the_parts_that_touch_them),
		cmocka_unit_test(two_of_many_nodes_come_back),
		cmocka_unit_test(cables_need_pairs_across_rails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
