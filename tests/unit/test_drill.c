/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "tests/unit/drill_case.h"

#define RANKS (NODES * GPUS)
#define SEED  1

static int node(int rank)
{
	return rank / GPUS;
}

static int gpu(int rank)
{
	return rank % GPUS;
}

static int nic(int rank)
{
	return gpu(rank) / 2;
}

static bool inter(int src, int dst)
{
	return node(src) != node(dst);
}

/* What each line of the grammar touches, in the words of the manual. */

static bool node_3(int s, int t)
{
	return node(s) == 3 || node(t) == 3;
}

static bool gpu_1_3(int s, int t)
{
	return s == 7 || t == 7;
}

static bool gpu_1_3_tx(int s, int t)
{
	(void)t;
	return s == 7;
}

static bool gpu_1_3_rx(int s, int t)
{
	(void)s;
	return t == 7;
}

static bool nic_0_1(int s, int t)
{
	return inter(s, t) && (s == 2 || s == 3 || t == 2 || t == 3);
}

static bool nic_0_1_tx(int s, int t)
{
	return inter(s, t) && (s == 2 || s == 3);
}

static bool nic_0_1_rx(int s, int t)
{
	return inter(s, t) && (t == 2 || t == 3);
}

static bool pair_9_0(int s, int t)
{
	return (s == 0 && t == 9) || (s == 9 && t == 0);
}

static bool pair_9_0_tx(int s, int t)
{
	return s == 9 && t == 0;
}

static bool pair_9_0_rx(int s, int t)
{
	return s == 0 && t == 9;
}

static bool node_pair_2_0(int s, int t)
{
	return (node(s) == 0 && node(t) == 2) || (node(s) == 2 && node(t) == 0);
}

static bool node_pair_2_0_tx(int s, int t)
{
	return node(s) == 2 && node(t) == 0;
}

static bool node_pair_2_0_rx(int s, int t)
{
	return node(s) == 0 && node(t) == 2;
}

static bool node_3_tx(int s, int t)
{
	(void)t;
	return node(s) == 3;
}

static bool node_3_rx(int s, int t)
{
	(void)s;
	return node(t) == 3;
}

static bool rail_1(int s, int t)
{
	return inter(s, t) && (nic(s) == 1 || nic(t) == 1);
}

static bool cross_rail(int s, int t)
{
	return inter(s, t) && nic(s) != nic(t);
}

static bool network_3(int s, int t)
{
	return inter(s, t) && node_3(s, t);
}

static bool network_3_rx(int s, int t)
{
	return inter(s, t) && node(t) == 3;
}

static bool inside_1(int s, int t)
{
	return !inter(s, t) && node(s) == 1;
}

static bool nvlink_1_3(int s, int t)
{
	return !inter(s, t) && gpu_1_3(s, t);
}

static bool nvlink_1_3_tx(int s, int t)
{
	return !inter(s, t) && s == 7;
}

static bool leaf_of_rail(int rank)
{
	return nic(rank) == 1 && node(rank) >= 1 && node(rank) <= 2;
}

static bool rail_leaf_1_1_2(int s, int t)
{
	return inter(s, t) && (leaf_of_rail(s) || leaf_of_rail(t));
}

static bool leaves_0_1_2(int s, int t)
{
	return (node(s) <= 1 && node(t) == 2) || (node(s) == 2 && node(t) <= 1);
}

static bool between_nodes(int s, int t)
{
	return node(s) != node(t);
}

static bool swapped(int s, int t)
{
	return inter(s, t) && nic(s) == nic(t) &&
	       (node(s) == 2 || node(t) == 2);
}

static bool socket_2_1(int s, int t)
{
	return inter(s, t) && ((node(s) == 2 && gpu(s) >= 2) ||
			       (node(t) == 2 && gpu(t) >= 2));
}

static bool domain_1_3(int s, int t)
{
	return inter(s, t) && node(s) >= 1 && node(t) >= 1;
}

/* What the probe of single GPUs alone knows. */
static bool nothing(int s, int t)
{
	(void)s;
	(void)t;
	return false;
}

static const struct part_case {
	const char *part;
	bool (*touches)(int src, int dst);
} part_cases[] = {
	{ .part = "node=3", .touches = node_3 },
	{ .part = "node=3 direction=tx", .touches = node_3_tx },
	{ .part = "node=3 direction=rx", .touches = node_3_rx },
	{ .part = "node=3 direction=both", .touches = node_3 },
	{ .part = "gpu=1:3", .touches = gpu_1_3 },
	{ .part = "gpu=1:3 direction=tx", .touches = gpu_1_3_tx },
	{ .part = "direction=rx gpu=1:3", .touches = gpu_1_3_rx },
	{ .part = "nic=0:1", .touches = nic_0_1 },
	{ .part = "nic=0:1 direction=tx", .touches = nic_0_1_tx },
	{ .part = "nic=0:1 direction=rx", .touches = nic_0_1_rx },
	{ .part = "pair=9-0", .touches = pair_9_0 },
	{ .part = "pair=9-0 direction=tx", .touches = pair_9_0_tx },
	{ .part = "pair=9-0 direction=rx", .touches = pair_9_0_rx },
	{ .part = "node_pair=2-0", .touches = node_pair_2_0 },
	{ .part = "node_pair=2-0 direction=tx", .touches = node_pair_2_0_tx },
	{ .part = "node_pair=2-0 direction=rx", .touches = node_pair_2_0_rx },
	{ .part = "rail=1", .touches = rail_1 },
	{ .part = "cross_rail", .touches = cross_rail },
	{ .part = "rank=7", .touches = gpu_1_3 },
	{ .part = "node_network=3", .touches = network_3 },
	{ .part = "node_network=3 direction=rx", .touches = network_3_rx },
	{ .part = "intra_node=1", .touches = inside_1 },
	{ .part = "gpu_nvlink=1:3", .touches = nvlink_1_3 },
	{ .part = "gpu_nvlink=1:3 direction=tx", .touches = nvlink_1_3_tx },
	{ .part = "rail_leaf=1:1-2", .touches = rail_leaf_1_1_2 },
	{ .part = "leaf_pair=0-1:2-2", .touches = leaves_0_1_2 },
	{ .part = "fabric_path=0-1:2-2 fraction=1", .touches = leaves_0_1_2 },
	{ .part = "paths fraction=1", .touches = between_nodes },
	{ .part = "cable_swap=2:0-1", .touches = swapped },
	{ .part = "socket=2:1", .touches = socket_2_1 },
	{ .part = "nvlink_domain=1-3", .touches = domain_1_3 },
	{ .part = "h2d=1:3", .touches = nothing },
	{ .part = "d2h=1:3", .touches = nothing },
	{ .part = "compute=1:3", .touches = nothing },
};

static const struct kind_case {
	const char *kind, *value;
	enum drill_kind effect;
	double factor;
} kind_cases[] = {
	{ .kind = "dead", .value = "", .effect = DRILL_DEAD, .factor = 1 },
	{ .kind = "hang", .value = "", .effect = DRILL_HANG, .factor = 1 },
	{ .kind = "crash", .value = "", .effect = DRILL_CRASH, .factor = 1 },
	{ .kind = "corrupt", .value = "", .effect = DRILL_CORRUPT,
	  .factor = 1 },
	{ .kind = "flaky", .value = "rate=1", .effect = DRILL_DEAD,
	  .factor = 1 },
	{ .kind = "slow", .value = "factor=0.25", .effect = DRILL_NONE,
	  .factor = 0.25 },
	{ .kind = "wrong", .value = "rate=1", .factor = 1 },
	{ .kind = "busy", .value = "", .factor = 1 },
};

static void check_cells(const struct kind_case *k, const struct part_case *p)
{
	char text[128];
	struct layout l;
	struct drill d;

	make_layout(&l);
	snprintf(text, sizeof(text), "%s %s %s\n", k->kind, p->part, k->value);
	parse(&d, text);
	assert_int_equal(d.n, 1);
	assert_int_equal(drill_check(&d, &l, NULL), 0);
	for (int s = 0; s < RANKS; s++) {
		for (int t = 0; t < RANKS; t++) {
			bool hit = p->touches(s, t);
			struct drill_effect f;

			if (s == t) {
				continue;
			}
			f = drill_effect(&d, &l, s, t, 1, SEED);
			if (f.kind != (hit ? k->effect : DRILL_NONE) ||
			    f.factor != (hit ? k->factor : 1)) {
				fail_msg("%s: %d -> %d: %s, factor %g", text, s,
					 t, drill_kinds[f.kind].name, f.factor);
			}
		}
	}
	drill_release(&d);
	layout_release(&l);
}

static void every_line_touches_its_cells(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kind_cases) / sizeof(*kind_cases); k++) {
		for (size_t p = 0; p < sizeof(part_cases) / sizeof(*part_cases);
		     p++) {
			check_cells(&kind_cases[k], &part_cases[p]);
		}
	}
}

static void touched_end_acts(void **state)
{
	static const struct {
		const char *text;
		int src, dst, end;
	} cases[] = {
		{ .text = "dead node=1", .src = 4, .dst = 0, .end = 4 },
		{ .text = "dead node=1", .src = 0, .dst = 4, .end = 4 },
		{ .text = "dead node=1", .src = 6, .dst = 4, .end = 6 },
		{ .text = "dead node=1", .src = 4, .dst = 6, .end = 6 },
		{ .text = "dead node=1 direction=rx", .src = 6, .dst = 4,
		  .end = 4 },
		{ .text = "hang gpu=0:1", .src = 1, .dst = 9, .end = 1 },
		{ .text = "hang gpu=0:1", .src = 9, .dst = 1, .end = 1 },
		{ .text = "crash rank=7", .src = 12, .dst = 7, .end = 7 },
		{ .text = "crash rank=7", .src = 7, .dst = 12, .end = 7 },
		{ .text = "dead nic=0:0", .src = 0, .dst = 9, .end = 0 },
		{ .text = "dead rail=0", .src = 0, .dst = 10, .end = 0 },
		{ .text = "dead rail=0", .src = 9, .dst = 0, .end = 9 },
		{ .text = "dead rail=1", .src = 0, .dst = 10, .end = 10 },
		{ .text = "dead cross_rail", .src = 10, .dst = 0, .end = 10 },
		{ .text = "hang pair=2-5", .src = 2, .dst = 5, .end = 5 },
		{ .text = "hang pair=2-5", .src = 5, .dst = 2, .end = 5 },
		{ .text = "dead node_pair=0-2", .src = 9, .dst = 1, .end = 9 },
		{ .text = "corrupt pair=0-1", .src = 1, .dst = 0, .end = 0 },
		{ .text = "corrupt gpu=0:1", .src = 1, .dst = 9, .end = 9 },
		{ .text = "flaky gpu=0:1 rate=1", .src = 1, .dst = 9,
		  .end = 1 },
		{ .text = "slow gpu=0:1 factor=0.5", .src = 9, .dst = 1,
		  .end = 9 },
		{ .text = "", .src = 3, .dst = 1, .end = 3 },
	};
	struct layout l;

	(void)state;
	make_layout(&l);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct drill d;
		int end;

		parse(&d, cases[i].text);
		end = drill_effect(&d, &l, cases[i].src, cases[i].dst, 1, SEED)
			      .end;
		if (end != cases[i].end) {
			fail_msg("'%s', %d -> %d: end %d", cases[i].text,
				 cases[i].src, cases[i].dst, end);
		}
		drill_release(&d);
	}
	layout_release(&l);
}

/** Any two kinds on one cell, in either order: the earlier kind wins. */
static void precedence(void **state)
{
	static const size_t n = sizeof(kind_cases) / sizeof(*kind_cases);
	struct layout l;

	(void)state;
	make_layout(&l);
	for (size_t i = 0; i < n * n; i++) {
		const struct kind_case *x = &kind_cases[i / n];
		const struct kind_case *y = &kind_cases[i % n];
		const struct kind_case *first = x < y ? x : y;
		struct drill_effect f;
		struct drill d;
		char text[128];

		if (x == y) {
			continue;
		}
		snprintf(text, sizeof(text), "%s pair=0-5 %s\n%s node=1 %s\n",
			 x->kind, x->value, y->kind, y->value);
		parse(&d, text);
		f = drill_effect(&d, &l, 0, 5, 1, SEED);
		assert_int_equal(f.kind, first->effect);
		assert_true(f.factor == first->factor);
		drill_release(&d);
	}
	layout_release(&l);
}

static void slow_faults_multiply(void **state)
{
	struct drill_effect f;
	struct layout l;
	struct drill d;

	(void)state;
	make_layout(&l);
	parse(&d, "slow node=0 factor=0.5\nslow rail=1 factor=0.5\n"
		  "slow pair=2-9 factor=0.2\nslow gpu=3:3 factor=0.1\n"
		  "flaky pair=2-9 rate=0.0000001");
	f = drill_effect(&d, &l, 2, 9, 1, SEED);
	assert_int_equal(f.kind, DRILL_NONE);
	assert_true(f.factor > 0.0499 && f.factor < 0.0501);
	drill_release(&d);

	parse(&d, "slow node=0 factor=1e-200\nslow node=0 factor=1e-200\n");
	f = drill_effect(&d, &l, 2, 9, 1, SEED);
	assert_true(f.factor == DRILL_MIN_FACTOR);
	drill_release(&d);
	layout_release(&l);
}

/** The least factor counts where the slowest part of a path is all of it. */
static void slow_faults_meet(void **state)
{
	struct layout l;
	struct drill d;

	(void)state;
	make_layout(&l);
	parse(&d, "slow node=0 factor=0.5\nslow rail=1 factor=0.4\n"
		  "noise percent=2 meet=min");
	assert_true(drill_effect(&d, &l, 2, 9, 1, SEED).factor == 0.4);
	assert_true(drill_effect(&d, &l, 0, 1, 1, SEED).factor == 0.5);
	drill_release(&d);
	layout_release(&l);
}

/** The same paths each time, about as many as was said, others of another
 *  line. */
static void hashed_paths_stay(void **state)
{
	int hits[2] = { 0 }, both = 0;
	struct layout l;
	struct drill d;

	(void)state;
	make_layout(&l);
	parse(&d, "slow fabric_path=0-1:2-3 factor=0.5 fraction=0.25\n"
		  "slow fabric_path=0-1:2-3 factor=0.3 fraction=0.25\n");
	for (int at = 0; at < RANKS * RANKS; at++) {
		int s = at / RANKS, t = at % RANKS;
		double f = drill_effect(&d, &l, s, t, 1, SEED).factor;

		assert_true(f == drill_effect(&d, &l, s, t, 2, SEED).factor);
		assert_true(f == 1 || (node(s) < 2) != (node(t) < 2));
		hits[0] += f == 0.5 || f < 0.2;
		hits[1] += f == 0.3 || f < 0.2;
		both += f < 0.2;
	}
	/* of 128 */
	assert_in_range(hits[0], 20, 44);
	assert_in_range(hits[1], 20, 44);
	assert_in_range(both, 1, 20);
	drill_release(&d);
	parse(&d, "dead paths fraction=1");	/* of any leaf switch */
	for (int at = 0; at < RANKS * RANKS; at++) {
		int s = at / RANKS, t = at % RANKS;

		assert_int_equal(drill_effect(&d, &l, s, t, 1, SEED).kind ==
					 DRILL_DEAD, node(s) != node(t));
	}
	drill_release(&d);
	parse(&d, "dead fabric_path=0-1:2-3");
	assert_true(d.faults[0].fraction == 0.125);
	drill_release(&d);
	layout_release(&l);
}

/** The attempts that fail are those that the formula of the manual says. */
static void flaky_follows_the_hash(void **state)
{
	struct layout l;
	struct drill d;
	int hits = 0;

	(void)state;
	make_layout(&l);
	parse(&d, "flaky pair=1-6 rate=0.3");
	for (int attempt = 1; attempt <= 2000; attempt++) {
		bool hit = hash_unit(42, 6, 1, (uint64_t)attempt) < 0.3;
		struct drill_effect f =
			drill_effect(&d, &l, 6, 1, attempt, 42);

		assert_int_equal(f.kind, hit ? DRILL_DEAD : DRILL_NONE);
		hits += hit;
	}
	assert_in_range(hits, 500, 700);
	drill_release(&d);
	layout_release(&l);
}

static void layout_of_a_file_is_free(void **state)
{
	static const char text[] =
		"# a whole line\n"
		"\n"
		"   \t \n"
		"\tdead   node=3   # the last\r\n"
		"noise percent=5\n"
		"slow factor=0.5 direction=tx nic=1:0#no blank\r\n"
		"hang pair=2-5";
	struct drill d;

	(void)state;
	parse(&d, text);
	assert_int_equal(d.n, 3);
	assert_true(d.noise == 0.05);
	assert_int_equal(d.faults[0].kind, DRILL_DEAD);
	assert_int_equal(d.faults[0].line, 4);
	assert_int_equal(d.faults[0].column, 9);
	assert_int_equal(d.faults[1].part, DRILL_NIC);
	assert_int_equal(d.faults[1].direction, DRILL_TX);
	assert_true(d.faults[1].value == 0.5);
	assert_int_equal(d.faults[1].column, 30);
	assert_int_equal(d.faults[2].at[0], 2);
	assert_int_equal(d.faults[2].at[1], 5);
	drill_release(&d);
	drill_release(&d);
	drill_release(NULL);
}

static void empty_drill_does_nothing(void **state)
{
	struct layout l;
	struct drill d;

	(void)state;
	make_layout(&l);
	parse(&d, "");
	assert_int_equal(d.n, 0);
	assert_true(d.noise < 0);
	assert_int_equal(drill_effect(&d, &l, 0, 1, 1, SEED).kind, DRILL_NONE);
	parse(&d, "noise percent=0\n");
	assert_true(d.noise == 0);
	drill_release(&d);
	layout_release(&l);
}

static void layer_of_a_run(void **state)
{
	const struct spec s = { 0 }, gpu = { .memory = MEMORY_GPU };
	const struct spec tcp = { .layer = LAYER_TCP };

	(void)state;
	assert_int_equal(drill_layer_of("tcp", false, &s), DRILL_TCP);
	assert_int_equal(drill_layer_of("verbs", true, &s), DRILL_VERBS);
	assert_int_equal(drill_layer_of("sim", true, &s), DRILL_VERBS);
	assert_int_equal(drill_layer_of("sim", true, &gpu), DRILL_VERBS_GPU);
	assert_int_equal(drill_layer_of("cuda", false, &s), DRILL_CUDA);
	assert_int_equal(drill_layer_of("nccl", false, &s), DRILL_NCCL);
	assert_int_equal(drill_layer_of("sim", false, &s), DRILL_NCCL);
	assert_int_equal(drill_layer_of("sim", false, &tcp), DRILL_TCP);
}

static char *fake_env(const char *name)
{
	static char three[] = "3";

	return strcmp(name, "SET") == 0 ? three : NULL;
}

static void faults_are_there_from_a_layer_unless_set(void **state)
{
	static const struct {
		const char *text;
		enum drill_layer layer;
		bool there;
	} cases[] = {
		{ "dead pair=0-1", DRILL_TCP, true },
		{ "dead pair=0-1 from=tcp", DRILL_TCP, true },
		{ "dead pair=0-1 from=verbs", DRILL_TCP, false },
		{ "dead pair=0-1 from=verbs", DRILL_VERBS, true },
		{ "dead pair=0-1 from=verbs", DRILL_NCCL, true },
		{ "dead from=verbs_gpu pair=0-1", DRILL_VERBS, false },
		{ "dead pair=0-1 from=nccl", DRILL_CUDA, false },
		{ "dead gpu=0:1", DRILL_VERBS, false },
		{ "dead gpu=0:1", DRILL_VERBS_GPU, true },
		{ "dead nic=0:1", DRILL_VERBS, true },
		{ "dead pair=0-1 unless=SET=3", DRILL_TCP, false },
		{ "dead pair=0-1 unless=SET=1", DRILL_TCP, true },
		{ "dead pair=0-1 unless=UNSET=3", DRILL_TCP, true },
		{ "dead unless=SET=2 pair=0-1 from=nccl", DRILL_TCP, false },
		{ "dead unless=SET=2 pair=0-1 from=nccl", DRILL_NCCL, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct drill d;

		parse(&d, "hang node=0\nslow node=1 factor=0.5\n");
		drill_settle(&d, DRILL_TCP, fake_env);
		assert_int_equal(d.n, 2);
		drill_release(&d);
		parse(&d, cases[i].text);
		drill_settle(&d, cases[i].layer, fake_env);
		if (d.n != (size_t)cases[i].there) {
			fail_msg("'%s' on %s", cases[i].text,
				 drill_layers[cases[i].layer]);
		}
		drill_release(&d);
	}
}

/** A row added to the tables of the grammar needs its cells here too. */
static void every_word_has_its_cells(void **state)
{
	bool kinds[DRILL_NOISE + 1] = { [DRILL_NONE] = true,
					[DRILL_NOISE] = true };
	bool parts[DRILL_COMPUTE + 1] = { 0 };

	(void)state;
	for (size_t k = 0; k < sizeof(kind_cases) / sizeof(*kind_cases); k++) {
		for (size_t p = 0; p < sizeof(part_cases) / sizeof(*part_cases);
		     p++) {
			char text[128];
			struct drill d;

			snprintf(text, sizeof(text), "%s %s %s",
				 kind_cases[k].kind, part_cases[p].part,
				 kind_cases[k].value);
			parse(&d, text);
			kinds[d.faults[0].kind] = true;
			parts[d.faults[0].part] = true;
			drill_release(&d);
		}
	}
	for (int k = 0; drill_kinds[k].name; k++) {
		assert_in_range(k, 0, DRILL_NOISE);
		assert_true(kinds[k]);
	}
	for (int p = 0; drill_parts[p].name; p++) {
		assert_in_range(p, 0, DRILL_COMPUTE);
		assert_true(parts[p]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_touches_its_cells),
		cmocka_unit_test(touched_end_acts),
		cmocka_unit_test(precedence),
		cmocka_unit_test(slow_faults_multiply),
		cmocka_unit_test(slow_faults_meet),
		cmocka_unit_test(hashed_paths_stay),
		cmocka_unit_test(flaky_follows_the_hash),
		cmocka_unit_test(layout_of_a_file_is_free),
		cmocka_unit_test(empty_drill_does_nothing),
		cmocka_unit_test(every_word_has_its_cells),
		cmocka_unit_test(layer_of_a_run),
		cmocka_unit_test(faults_are_there_from_a_layer_unless_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
