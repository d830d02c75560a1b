/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NIC a GPU uses, by how far it is from each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "tests/layout.h"

#define NODES_MAX 4

/** A node: a line a GPU, "mlx5_0=PIX mlx5_1=NODE@200"; 400 Gb/s unless said. */
struct node {
	int gpus;
	const char *gpu[16];
};

/* NCCL has one word for PHB and NODE. */
static const struct {
	const char *name;
	enum affinity_way way;
} ways[] = {
	{ "PIX", WAY_PIX }, { "PXB", WAY_PXB }, { "PHB", WAY_PHB },
	{ "NODE", WAY_PHB }, { "SYS", WAY_SYS },
};

static void add(struct affinity *a, int gpu, const char *text)
{
	char name[32], way[8];
	int len, rate;

	for (; sscanf(text, " %31[^=]=%7[A-Z]%n", name, way, &len) == 2;
	     text += len) {
		int nic = affinity_add(a, name), w = 0;

		while (strcmp(ways[w].name, way) != 0) {
			w++;
		}
		a->paths[gpu][nic] = (struct affinity_path){
			.way = ways[w].way, .GB_s = 50,
		};
		if (sscanf(text + len, "@%d", &rate) == 1) {
			a->paths[gpu][nic].GB_s = rate / 8.0;
			len += 1 + (int)strspn(text + len + 1, "0123456789");
		}
	}
}

static void lay(struct layout *l, const struct node *nodes, int n)
{
	struct affinity of[NODES_MAX];

	assert_int_equal(layout_init(l, n), 0);
	for (int i = 0; i < n; i++) {
		snprintf(l->nodes[i].name, sizeof(l->nodes[i].name), "n%d", i);
		l->nodes[i].gpus = nodes[i].gpus;
	}
	assert_int_equal(layout_number(l), 0);
	for (int i = 0; i < n; i++) {
		assert_int_equal(affinity_init(&of[i], nodes[i].gpus), 0);
		for (int g = 0; g < nodes[i].gpus; g++) {
			const char *text = nodes[i].gpu[g];

			add(&of[i], g, text != NULL ? text : "");
		}
	}
	assert_int_equal(affinity_apply(l, of), 0);
	for (int i = 0; i < n; i++) {
		affinity_release(&of[i]);
	}
}

/** "0 0 1 1" and "mlx5_0 mlx5_1" of a node. */
static void expect(const struct layout *l, int node, const char *numbers,
		   const char *names)
{
	struct str nic = STR_INIT, name = STR_INIT;
	const struct cluster_node *n = &l->nodes[node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		str_addf(&nic, "%s%d", nic.len > 0 ? " " : "",
			 l->ranks[r].nic);
	}
	for (int i = 0; l->nic_names != NULL && i < n->nics; i++) {
		const char *text = l->nic_names[layout_nic_at(l, node, i)];

		str_addf(&name, "%s%s", i > 0 ? " " : "",
			 text[0] != '\0' ? text : "-");
	}
	assert_string_equal(str_text(&nic), numbers);
	assert_string_equal(str_text(&name), names);
	str_release(&nic);
	str_release(&name);
}

/* Two GPUs at each switch, with one NIC. */
#define FOUR_NICS { \
	.gpus = 8, .gpu = { \
	"a0=PIX a1=NODE a2=SYS a3=SYS s0=NODE@100", "a0=PIX a1=NODE a2=SYS a3=SYS", \
	"a0=NODE a1=PIX a2=SYS a3=SYS", "a0=NODE a1=PIX a2=SYS a3=SYS", \
	"a0=SYS a1=SYS a2=PIX a3=NODE", "a0=SYS a1=SYS a2=PIX a3=NODE", \
	"a0=SYS a1=SYS a2=NODE a3=PIX", "a0=SYS a1=SYS a2=NODE a3=PIX" } }

static void four_nics_for_eight_gpus(void **state)
{
	static const struct node nodes[] = { FOUR_NICS, FOUR_NICS };
	struct layout l;

	(void)state;
	lay(&l, nodes, 2);
	expect(&l, 0, "0 0 1 1 2 2 3 3", "a0 a1 a2 a3");
	expect(&l, 1, "0 0 1 1 2 2 3 3", "a0 a1 a2 a3");
	assert_int_equal(l.n_nics, 8);
	assert_int_equal(l.nodes[1].first_nic, 4);
	layout_release(&l);
}

static void never_both_gpus_of_a_nic(void **state)
{
	static const struct node nodes[] = { FOUR_NICS, FOUR_NICS };
	static const struct pairs inter = { .kind = PAIRS_INTER };
	struct task running[8], t;
	struct dispatch *d;
	struct plan plan;
	struct layout l;
	int n = 0, most = 0;

	(void)state;
	lay(&l, nodes, 2);
	assert_int_equal(plan_pairs(&l, &inter, &plan, NULL), 0);
	d = dispatch_new(&l, DISPATCH_NIC);
	assert_non_null(d);
	for (size_t i = 0; i < plan.n; i++) {
		assert_int_equal(dispatch_add(d, &plan.tasks[i]), 0);
	}
	for (int r = 0; r < l.n_ranks; r++) {
		dispatch_ready(d, r, true);
	}
	do {
		while (dispatch_next(d, &t)) {
			assert_in_range(n, 0, 3);
			for (int i = 0; i < n; i++) {
				assert_int_not_equal(l.ranks[t.a].nic,
						l.ranks[running[i].a].nic);
				assert_int_not_equal(l.ranks[t.b].nic,
						l.ranks[running[i].b].nic);
			}
			running[n++] = t;
			most = n > most ? n : most;
		}
		dispatch_done(d, &running[--n]);
	} while (n > 0 || dispatch_queued(d) > 0);
	assert_int_equal(most, 4);
	dispatch_free(d);
	plan_release(&plan);
	layout_release(&l);
}

static void ties_go_by_the_number_of_the_gpu(void **state)
{
	static const struct node nodes[] = {
		{ 4, { "a=NODE b=NODE", "a=NODE b=NODE", "a=NODE b=NODE",
		       "a=NODE b=NODE" } },
		/* three: no power of two */
		{ 3, { "a=NODE b=NODE c=NODE", "a=NODE b=NODE c=NODE",
		       "a=NODE b=NODE c=NODE" } },
		/* as NCCL: far apart first */
		{ 4, { "a=PHB b=PHB c=PHB d=PHB", "a=PHB b=PHB c=PHB d=PHB",
		       "a=PHB b=PHB c=PHB d=PHB", "a=PHB b=PHB c=PHB d=PHB" } },
	};
	struct layout l;

	(void)state;
	lay(&l, &nodes[0], 1);
	expect(&l, 0, "0 1 0 1", "a b");
	layout_release(&l);
	lay(&l, &nodes[1], 1);
	expect(&l, 0, "0 1 2", "a b c");
	layout_release(&l);
	lay(&l, &nodes[2], 1);
	expect(&l, 0, "0 2 1 3", "a b c d");
	layout_release(&l);
}

static void several_nics_of_a_gpu_are_one(void **state)
{
	static const struct node nodes[] = {
		{ 2, { "e0=PIX e1=PIX e2=NODE e3=NODE",
		       "e0=NODE e1=NODE e2=PIX e3=PIX" } },
		/* the first one of a group is missing */
		{ 2, { "e1=PIX e2=NODE e3=NODE",
		       "e1=NODE e2=PIX e3=PIX" } },
	};
	struct layout l;

	(void)state;
	lay(&l, nodes, 2);
	expect(&l, 0, "0 1", "e0+e1 e2+e3");
	expect(&l, 1, "0 1", "e1 e2+e3");
	layout_release(&l);
}

static void rate_decides_before_distance(void **state)
{
	static const struct node node = {
		2,
		{ "front=PIX@100 a=NODE b=SYS", "front=SYS@100 a=SYS b=NODE" }
	};
	/* ... but between sockets a fast one is no faster */
	static const struct node sockets = {
		1, { "near=NODE@200 far=SYS@176" }
	};
	struct layout l;

	(void)state;
	lay(&l, &node, 1);
	expect(&l, 0, "0 1", "a b");
	layout_release(&l);
	lay(&l, &sockets, 1);
	expect(&l, 0, "0", "near");
	layout_release(&l);
}

static void a_missing_hca_shifts_no_rail(void **state)
{
	static const struct node nodes[] = {
		{ 3, { "m0=PIX m1=NODE m2=NODE store=NODE@200",
		       "m0=NODE m1=PIX m2=NODE store=NODE@200",
		       "m0=NODE m1=NODE m2=PIX store=NODE@200" } },
		{ 3, { "m0=PIX m2=NODE store=NODE@200",
		       "m0=NODE m2=NODE store=NODE@200",
		       "m0=NODE m2=PIX store=NODE@200" } },
		/* NCCL takes a port for storage that is as good, too; it is
		 * still not one of the rails */
		{ 3, { "m0=PIX m2=NODE store=NODE", "m0=NODE m2=NODE store=NODE",
		       "m0=NODE m2=PIX store=NODE" } },
	};
	struct layout l;

	(void)state;
	lay(&l, nodes, 2);
	expect(&l, 0, "0 1 2", "m0 m1 m2");
	/* GPU 1 has lost its own: it starts at another one's */
	expect(&l, 1, "0 0 2", "m0 - m2");
	assert_int_equal(l.n_nics, 6);
	layout_release(&l);
	/* the first node is the one that lacks it */
	{
		struct node turned[] = { nodes[1], nodes[0], nodes[0] };

		lay(&l, turned, 3);
		expect(&l, 0, "0 0 2", "m0 - m2");
		expect(&l, 2, "0 1 2", "m0 m1 m2");
		layout_release(&l);
	}
	{
		struct node turned[] = { nodes[2], nodes[0], nodes[0] };

		lay(&l, turned, 3);
		expect(&l, 0, "0 0 2", "m0 - m2");
		layout_release(&l);
	}
}

/** What one node alone has is numbered last. */
static void a_rare_nic_is_last(void **state)
{
	static const struct node nodes[] = {
		{ 2, { "b=PIX", "c=PIX" } },
		{ 2, { "b=PIX", "c=PIX" } }, { 2, { "a=PIX", "b=PIX" } },
	};
	struct layout l;

	(void)state;
	lay(&l, nodes, 3);
	expect(&l, 0, "0 1", "b c -");
	expect(&l, 2, "2 0", "b - a");
	layout_release(&l);
}

/** Shares that overlap are several NICs, and none vanishes. */
static void overlapping_shares(void **state)
{
	static const struct node three = {
		2, { "a=PIX b=PIX c=PIX", "a=PIX b=PIX c=PIX" }
	};
	static const struct node six = {
		4, { "a=PIX b=PIX c=PIX d=PIX e=PIX f=PIX",
		     "a=PIX b=PIX c=PIX d=PIX e=PIX f=PIX",
		     "a=PIX b=PIX c=PIX d=PIX e=PIX f=PIX",
		     "a=PIX b=PIX c=PIX d=PIX e=PIX f=PIX" }
	};
	struct layout l;

	(void)state;
	lay(&l, &three, 1);
	expect(&l, 0, "0 1", "a b+c");
	layout_release(&l);
	lay(&l, &six, 1);
	/* NCCL gives GPU 3 d and e; f is for collectives */
	expect(&l, 0, "0 1 2 3", "a b c d+e f");
	layout_release(&l);
}

/** The number of a GPU counts among those that share its NICs. */
static void shares_go_by_local_gpus(void **state)
{
	struct affinity a;
	struct affinity_pick p;

	(void)state;
	assert_int_equal(affinity_init(&a, 5), 0);
	for (int g = 0; g < 5; g++) {
		add(&a, g, g < 2 ? "x=PIX" : "a=PIX b=PIX");
	}
	/* 4 mod 3 = 1; in a pair it is alone, and has both */
	affinity_pick(&a, 4, false, &p);
	assert_int_equal(p.sharers, 3);
	assert_int_equal(p.n_mine, 1);
	assert_string_equal(a.nics[p.mine[0]].name, "b");
	affinity_pick(&a, 4, true, &p);
	assert_int_equal(p.n_mine, 2);
	assert_string_equal(a.nics[p.mine[0]].name, "a");
	/* by the number that NVML has */
	a.dev[4] = 5;
	affinity_pick(&a, 4, false, &p);
	assert_string_equal(a.nics[p.mine[0]].name, "a");
	affinity_release(&a);
}

static void two_kinds_of_names(void **state)
{
	static const struct node nodes[] = {
		{ 2, { "mlx5_9=PIX", "mlx5_10=PIX" } },
		{ 2, { "ibp24s0=PIX", "ibp64s0=PIX" } },
		{ 2, { NULL, NULL } },
	};
	struct layout l;

	(void)state;
	lay(&l, nodes, 3);
	expect(&l, 0, "0 1", "mlx5_9 mlx5_10");
	expect(&l, 1, "0 1", "ibp24s0 ibp64s0");
	expect(&l, 2, "0 1", "- -");
	layout_release(&l);
}

static void nothing_known_is_as_it_was(void **state)
{
	static const struct node node = { 2, { "rxe0=PIX", NULL } };
	static const struct node none = { 2, { NULL, NULL } };
	struct affinity silent;
	struct layout l;
	char name[LAYOUT_NIC];

	(void)state;
	lay(&l, &none, 1);
	assert_null(l.nic_names);
	assert_int_equal(l.ranks[1].nic, 1);
	assert_string_equal(layout_nic(&l, 1, name), "nic1");
	layout_release(&l);
	/* of two GPUs one knows: the other has what is left */
	lay(&l, &node, 1);
	expect(&l, 0, "0 0", "rxe0");
	assert_string_equal(layout_nic(&l, 1, name), "rxe0");
	layout_release(&l);
	assert_int_equal(affinity_init(&silent, 0), 0);
	for (int i = 0; i < AFFINITY_NICS; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		assert_int_equal(affinity_add(&silent, name), i);
	}
	assert_int_equal(affinity_add(&silent, "n63"), 63);
	assert_int_equal(affinity_add(&silent, "one more"), -1);
	affinity_release(&silent);
	affinity_release(&silent);
}

static void believes_what_is_seen_most(void **state)
{
	static const struct node nodes[] = { FOUR_NICS };
	struct layout l;

	(void)state;
	lay(&l, nodes, 1);
	layout_hear_nic(&l, 0, "a2+a0");
	assert_false(layout_use_heard(&l, 0));	/* once is no proof */
	layout_hear_nic(&l, 0, "a1");
	layout_hear_nic(&l, 0, "a2");
	layout_hear_nic(&l, 0, "eth0");		/* nobody's NIC */
	layout_hear_nic(&l, 0, "");
	assert_false(layout_use_heard(&l, 0));
	layout_hear_nic(&l, 0, "a2");
	assert_true(layout_use_heard(&l, 0));
	assert_false(layout_use_heard(&l, 0));
	expect(&l, 0, "2 0 1 1 2 2 3 3", "a0 a1 a2 a3");
	assert_int_equal(l.own[0].planned, 0);
	/* with NCCL_CROSS_NIC=0 each is used as often as the others */
	for (int i = 0; i < 8; i++) {
		char name[8];

		snprintf(name, sizeof(name), "a%d", i % 4);
		layout_hear_nic(&l, 4, name);
		assert_false(layout_use_heard(&l, 4));
	}
	layout_release(&l);
}

static void run_json_has_them(void **state)
{
	static const struct node nodes[] = { FOUR_NICS, FOUR_NICS };
	json_t *list = json_array();
	struct layout l, back;

	(void)state;
	lay(&l, nodes, 2);
	for (int i = 0; i < 2; i++) {
		json_t *node = json_object();

		layout_put_nics(&l, i, node);
		assert_null(json_object_get(node, "nic_used"));
		json_array_append_new(list, node);
	}
	assert_int_equal(layout_of(&back, 2, (const char *const[]){ "a", "b" },
				   (const int[]){ 8, 8 },
				   (const int[]){ 0, 0 }), 0);
	assert_int_equal(layout_read_nics(&back, list), 2);
	expect(&back, 1, "0 0 1 1 2 2 3 3", "a0 a1 a2 a3");
	layout_release(&back);
	/* who was seen to use another one was planned as before */
	layout_hear_nic(&l, 15, "a0");
	layout_hear_nic(&l, 15, "a0");
	assert_true(layout_use_heard(&l, 15));
	layout_put_nics(&l, 1, json_array_get(list, 1));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(
		json_array_get(list, 1), "nic_of"), 7)), 3);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(
		json_array_get(list, 1), "nic_used"), 7)), 0);
	/* all or none */
	json_array_set_new(json_object_get(json_array_get(list, 0), "nic_of"),
			   7, json_integer(4));
	assert_int_equal(layout_of(&back, 2, (const char *const[]){ "a", "b" },
				   (const int[]){ 8, 8 },
				   (const int[]){ 0, 0 }), 0);
	assert_int_equal(layout_read_nics(&back, list), 1);
	assert_null(back.nic_names);
	assert_int_equal(back.ranks[15].nic, 7);
	layout_release(&back);
	layout_release(&l);
	json_decref(list);
}

/* ---- inventories --------------------------------------------------------- */

static json_t *inventory(const char *nccl)
{
	json_t *j = json_pack(
		"{s:[{s:s,s:s},{s:s,s:s},{s:s,s:s}],"
		"s:[{s:s,s:s,s:s},{s:s,s:s,s:s}],"
		"s:[{s:i},{},{},{},{s:i}],s:{s:f,s:[s,s,s,s,s],s:[{s:s,s:s},"
		"{s:s,s:s},{s:s,s:s}]}}",
		"ports", "name", "mlx5_0", "state", "ACTIVE",
		"name", "mlx5_1:2", "state", "ACTIVE",
		"name", "mlx5_2", "state", "DOWN", "facts",
		"scope", "mlx5_0", "fact", "rate", "value", "100",
		"scope", "mlx5_1:2", "fact", "rate", "value", "400",
		"gpus", "index", 0, "index", 6, "tree", "sys_GB_s", 22.0,
		"gpus", "", "", "", "", "0/0000:16:00.0=24/48", "nics",
		"name", "mlx5_1", "place", "1/48",
		"name", "mlx5_0", "place", "0/0000:16:00.0=24/48",
		"name", "mlx5_2", "place", "0/48");

	assert_non_null(j);
	if (nccl != NULL) {
		json_object_set_new(j, "nccl",
			json_pack("{s:{s:s,s:s}}", "NCCL_IB_HCA", "value", nccl,
				  "source", "/etc/nccl.conf"));
	}
	return j;
}

static void takes_what_nccl_may_use(void **state)
{
	static const struct {
		const char *nccl, *names, *hca;
	} cases[] = {
		{ NULL, "mlx5_1:2 mlx5_0 ", NULL },
		{ "", "mlx5_1:2 mlx5_0 ", NULL },
		{ "=mlx5_0", "mlx5_0 ", NULL },
		{ "^mlx5_0", "mlx5_1:2 ", NULL },
		{ "mlx5_2", "", NULL },
		/* who asks may know better */
		{ "mlx5_2", "mlx5_1:2 mlx5_0 ", "" },
	};
	static const int slots[] = { -1, 4 };
	struct affinity a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *j = inventory(cases[i].nccl);
		char names[64] = "";

		assert_int_equal(affinity_init(&a, 2), 0);
		affinity_add_inventory(&a, j, slots, cases[i].hca);
		for (int k = 0; k < a.n_nics; k++) {
			snprintf(names + strlen(names), 32, "%.30s ",
				 a.nics[k].name);
			assert_int_equal(a.paths[0][k].way, WAY_UNKNOWN);
		}
		assert_string_equal(names, cases[i].names);
		if (i == 0) {
			assert_int_equal(a.dev[1], 6);
			assert_int_equal(a.paths[1][1].way, WAY_PIX);
			assert_true(a.paths[1][1].GB_s == 12.5);
			assert_int_equal(a.paths[1][0].way, WAY_SYS);
			assert_true(a.paths[1][0].GB_s == 22);
			assert_true(a.nics[0].rate_Gb_s == 400);
		}
		affinity_release(&a);
		json_decref(j);
	}
}

/** Ports of one NIC are one, as NCCL has it; GPUs that share it share both. */
static void merges_ports_of_one_device(void **state)
{
	static const struct {
		const char *bus[5], *layer, *setting, *value, *nics;
		int rate_c;
	} cases[] = {
		{ { "0000:18:00.0", "0000:18:00.1", "0000:19:00.0" },
		  "InfiniBand", "", "", "a+b c ", 200 },
		{ { "0000:18:00.0", "0000:19:00.0", "0000:18:00.1" },
		  "Ethernet", "NCCL_NET_MERGE_LEVEL", "PORT", "a+c b ", 200 },
		{ { "0000:18:00.0", "0000:18:00.0", "0000:18:00.0" },
		  "Ethernet", "", "", "a+b+c ", 200 },
		/* virtual functions, on the bus of the physical one; no
		 * more than NCCL has room for */
		{ { "0000:4b:00.0", "0000:4b:00.7", "0000:4b:01.0",
		    "0000:4c:00.0" }, "InfiniBand", "", "", "a+b+c d ", 200 },
		{ { "0000:4b:00.0", "0000:4b:00.7", "0000:4b:01.0",
		    "0000:4b:01.1", "0000:4b:01.2" },
		  "Ethernet", "NCCL_IB_MERGE_VFS", "1", "a+b+c+d e ", 200 },
		{ { "0000:4b:00.0", "0000:4b:00.7", "0000:4b:01.0",
		    "0000:4b:01.1" },
		  "Ethernet", "NCCL_IB_MERGE_VFS", "0", "a+b c+d ", 200 },
		/* the user's word */
		{ { "0000:18:00.0", "0000:18:00.1", "0000:19:00.0" },
		  "InfiniBand", "NCCL_NET_MERGE_LEVEL", "LOC", "a b c ", 200 },
		{ { "0000:18:00.0", "0000:18:00.1", "0000:19:00.0" },
		  "InfiniBand", "NCCL_IB_MERGE_NICS", "0", "a b c ", 200 },
		/* another rate is no obstacle; an EFA, a port without a place
		 * are never merged */
		{ { "0000:18:00.0", "0000:19:00.0", "0000:18:00.1" },
		  "InfiniBand", "", "", "a+c b ", 100 },
		{ { "0000:18:00.0", "0000:18:00.1", "0000:18:00.2" },
		  "Unspecified", "", "", "a b c ", 200 },
		{ { "", "", "" }, "InfiniBand", "", "", "a b c ", 200 },
	};
	static const int slots[] = { 0, 1 };
	struct affinity a;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *j = json_pack("{s:[],s:[],s:{s:{s:s}}}", "ports",
				      "facts", "nccl", cases[i].setting,
				      "value", cases[i].value);
		char names[64] = "";

		for (int k = 0; k < 5 && cases[i].bus[k] != NULL; k++) {
			char name[2] = { (char)('a' + k), '\0' };

			json_array_append_new(json_object_get(j, "ports"),
				json_pack("{s:s,s:s,s:s,s:s}", "name", name,
					  "state", "ACTIVE", "link_layer",
					  cases[i].layer, "bus",
					  cases[i].bus[k]));
			json_array_append_new(json_object_get(j, "facts"),
				json_pack("{s:s,s:s,s:s}", "scope", name,
					  "fact", "rate", "value",
					  k == 2 && cases[i].rate_c == 100 ?
						  "100" : "200"));
		}
		assert_int_equal(affinity_init(&a, 2), 0);
		affinity_add_inventory(&a, j, slots, NULL);
		for (int k = 0; k < a.n_nics; k++) {
			snprintf(names + strlen(names), 32, "%.30s ",
				 a.nics[k].name);
		}
		assert_string_equal(names, cases[i].nics);
		affinity_release(&a);
		json_decref(j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_nics_for_eight_gpus),
		cmocka_unit_test(never_both_gpus_of_a_nic),
		cmocka_unit_test(ties_go_by_the_number_of_the_gpu),
		cmocka_unit_test(several_nics_of_a_gpu_are_one),
		cmocka_unit_test(rate_decides_before_distance),
		cmocka_unit_test(a_missing_hca_shifts_no_rail),
		cmocka_unit_test(a_rare_nic_is_last),
		cmocka_unit_test(overlapping_shares),
		cmocka_unit_test(shares_go_by_local_gpus),
		cmocka_unit_test(two_kinds_of_names),
		cmocka_unit_test(nothing_known_is_as_it_was),
		cmocka_unit_test(believes_what_is_seen_most),
		cmocka_unit_test(run_json_has_them),
		cmocka_unit_test(takes_what_nccl_may_use),
		cmocka_unit_test(merges_ports_of_one_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
