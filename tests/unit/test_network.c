/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs that pass by another way than the hardware has for them. */
#include "tests/unit/fake_run.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"

/** What the facts of both nodes say, and what comes of it. */
static const struct wiring {
	const char *what, *path;
	const char *facts[10][3];	/* scope, fact, value */
	const char *code;		/* NULL: no finding */
	bool fail;
	const char *says;
	const char *nics[2];		/* planned, where that is known */
} wirings[] = {
#define PORT(state, rate) \
	{ "mlx5_0", "port_state", state }, \
	{ "mlx5_0", "link_layer", "InfiniBand" }, \
	{ "mlx5_0", "line_rate", rate }
#define ETH(rate) \
	{ "gpu0", "network_nic", "eth0" }, { "eth0", "line_rate", rate }
#define UNKNOWN { NULL, NULL }
#define NEAR(gpu) { gpu, "link", "PIX" }
	{ "sockets beside a free port", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125"),
	    { "gpu0", "network_why", "NET/IB : No device found." } },
	  "net_socket", true,
	  "Jobs run over TCP between nodes: 8 of 8 tests used sockets by eth0 "
	  "at 2.4 GB/s, 4.8 % of the 50 GB/s of the active RDMA port mlx5_0; "
	  "NCCL: NET/IB : No device found.", UNKNOWN },
	{ "the user wants no RDMA", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125"),
	    { "node", "NCCL_IB_DISABLE", "1" } },
	  "net_socket_set", false, "; NCCL_IB_DISABLE=1 is set", UNKNOWN },
	{ "the user wants sockets", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125"),
	    { "node", "NCCL_NET", "Socket" } },
	  "net_socket_set", false, "; NCCL_NET=Socket is set", UNKNOWN },
	{ "the user wants RDMA", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125"),
	    { "node", "NCCL_NET", "IB" }, { "node", "NCCL_IB_DISABLE", "0" } },
	  "net_socket", true, "", UNKNOWN },
	{ "IPoIB takes from the port", "NET/Socket",
	  { PORT("ACTIVE", "50"), { "gpu0", "network_nic", "ib0" },
	    { "ib0", "line_rate", "50" }, { "ib0", "ipoib", "yes" } },
	  "net_socket", true, "by ib0", UNKNOWN },
	{ "an EFA needs its plugin", "NET/Socket",
	  { { "rdmap79s0", "port_state", "ACTIVE" },
	    { "rdmap79s0", "link_layer", "Unspecified" },
	    { "rdmap79s0", "line_rate", "12.5" }, ETH("3.125") },
	  "net_socket_efa", true, "RDMA port rdmap79s0", UNKNOWN },
	{ "nobody knows how fast the interface is", "NET/Socket",
	  { PORT("ACTIVE", "50"), { "gpu0", "network_nic", "veth0" } },
	  "net_socket", true, "", UNKNOWN },
	{ "the ConnectX of the management", "NET/Socket",
	  { PORT("ACTIVE", "3.125"), ETH("3.125") }, NULL, false, "", UNKNOWN },
	{ "unknown, and the port is no faster", "NET/Socket",
	  { PORT("ACTIVE", "3.125") }, NULL, false, "", UNKNOWN },
	{ "a port that is down", "NET/Socket",
	  { PORT("DOWN", "50"), ETH("3.125") }, NULL, false, "", UNKNOWN },
	{ "software plays the port", "NET/Socket",
	  { { "rxe0", "port_state", "ACTIVE" }, { "rxe0", "software", "yes" },
	    { "rxe0", "line_rate", "50" }, ETH("3.125") }, NULL, false, "",
	    UNKNOWN },
	{ "no port", "NET/Socket", { ETH("3.125") }, NULL, false, "", UNKNOWN },
	{ "our own sockets", "NET/TCP", { PORT("ACTIVE", "50") }, NULL, false,
	  "", UNKNOWN },
	{ "all is well", "NET/IB/GDRDMA",
	  { PORT("ACTIVE", "50"), NEAR("gpu0-mlx5_0"), NEAR("gpu1-mlx5_0") },
	  NULL, false, "", UNKNOWN },
	{ "host memory between neighbours", "NET/IB",
	  { PORT("ACTIVE", "50"), NEAR("gpu0-mlx5_0"), NEAR("gpu1-mlx5_0") },
	  "gpudirect_missing", false, "8 of 8 tests did not use "
	  "GPUDirect",
	  UNKNOWN },
	{ "the user wants it so", "NET/IBext_v8+PXN",
	  { PORT("ACTIVE", "50"), NEAR("gpu0-mlx5_0"), NEAR("gpu1-mlx5_0"),
	    { "node", "NCCL_NET_GDR_LEVEL", "LOC" } },
	  "gpudirect_missing", false, "; set: NCCL_NET_GDR_LEVEL", UNKNOWN },
	{ "what the user has set lets it be", "NET/IB",
	  { PORT("ACTIVE", "50"), NEAR("gpu0-mlx5_0"), NEAR("gpu1-mlx5_0"),
	    { "node", "NCCL_NET_GDR_LEVEL", "PHB" } },
	  "gpudirect_missing", false, "share a PCIe switch", UNKNOWN },
	{ "as far as this link goes", "NET/IB",
	  { PORT("ACTIVE", "50"), NEAR("gpu0-mlx5_0"), NEAR("gpu1-mlx5_0"),
	    { "node", "NCCL_NET_GDR_LEVEL", "1" },
	    { "node", "NCCL_NET_GDR_READ", "1" } },
	  "gpudirect_missing", false, "share a PCIe switch", UNKNOWN },
	{ "and no farther", "NET/IB",
	  { PORT("ACTIVE", "50"), { "gpu0-mlx5_0", "link", "PXB" },
	    { "gpu1-mlx5_0", "link", "PXB" },
	    { "node", "NCCL_NET_GDR_LEVEL", "PIX" } },
	  "gpudirect_missing", false, "; set: NCCL_NET_GDR_LEVEL", UNKNOWN },
	{ "GPU and NIC are far from each other", "NET/IB",
	  { PORT("ACTIVE", "50"), { "gpu0-mlx5_0", "link", "SYS" },
	    { "gpu1-mlx5_0", "link", "PHB" }, { "gpu0-gpu1", "link", "PIX" } },
	  NULL, false, "", UNKNOWN },
	{ "GPUs that no NIC can read", "NET/IB",
	  { PORT("ACTIVE", "50"), NEAR("gpu0-mlx5_0"), NEAR("gpu1-mlx5_0"),
	    { "gpu0", "name", "NVIDIA GeForce RTX 4090" },
	    { "gpu1", "name", "NVIDIA GeForce RTX 4090" } },
	  NULL, false, "", UNKNOWN },
	{ "a port of storage is none of the layout", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125") }, NULL, false, "",
	  { "mlx5_10", "mlx5_1+mlx5_2" } },
	{ "one that is", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125"), { "big", "port_state",
	    "ACTIVE" }, { "big", "line_rate", "100" } },
	  "net_socket", true, "of the 50 GB/s of the active RDMA port mlx5_0",
	  { "mlx5_1", "mlx5_2+mlx5_0" } },
	{ "a port that NCCL is told to leave", "NET/Socket",
	  { PORT("ACTIVE", "50"), { "mlx5_1", "port_state", "ACTIVE" },
	    { "mlx5_1", "line_rate", "3.125" }, ETH("3.125"),
	    { "node", "NCCL_IB_HCA", "^=mlx5_0" } }, NULL, false, "",
	  UNKNOWN },
	{ "one that it is told to use", "NET/Socket",
	  { PORT("ACTIVE", "50"), { "mlx5_1", "port_state", "ACTIVE" },
	    { "mlx5_1", "line_rate", "100" }, ETH("3.125"),
	    { "node", "NCCL_IB_HCA", "mlx5_0" } },
	  "net_socket", true, "of the 50 GB/s of the active RDMA port mlx5_0",
	  UNKNOWN },
	{ "it is told to use what is not there", "NET/Socket",
	  { PORT("ACTIVE", "50"), ETH("3.125"),
	    { "node", "NCCL_IB_HCA", "mlx4" } },
	  "net_socket_set", false, "; NCCL_IB_HCA=mlx4 is set", UNKNOWN },
};

/** Two nodes of two GPUs. */
static void wire(struct run *r, const struct wiring *w)
{
	fake_run(r, 2, 2, 2);
	STR_COPY(r->paths[1], w->path);
	STR_COPY(r->paths[2], "P2P/CUMEM");
	r->n_paths = 3;
	for (size_t at = 0; at < run_n_cells(r); at++) {
		bool inter = r->cells[at].path == PATH_INTER &&
			     run_src(r, at) != run_dst(r, at);

		r->cell_way[at] = run_src(r, at) == run_dst(r, at) ? 0 :
				  inter ? 1 : 2;
		if (inter && strstr(w->path, "Socket")) {
			r->cells[at].bw_GB_s = (float)2.4;
		}
	}
	if (w->nics[0]) {
		json_object_set_new(r->json, "nodes", json_pack(
			"[{s:[s,s]},{s:[s,s]}]", "nic_names", w->nics[0],
			w->nics[1], "nic_names", w->nics[0], w->nics[1]));
	}
	for (int node = 0; node < 2; node++) {
		for (int i = 0; i < 10 && w->facts[i][0]; i++) {
			fake_fact(r, r->nodes[node].name, w->facts[i][0],
				  w->facts[i][1], w->facts[i][2]);
		}
	}
}

/** Ports without an IPv4 address: what NCCL takes there by itself. */
static void addresses_are_judged(void **state)
{
	static const struct {
		const char *kinds, *fact, *value, *nic;
		bool warns;
	} cases[] = {
		{ "0:link 1:link 2:IPv6 3:IPv6", "-", "", "mlx5_0", true },
		{ "0:link 2:IPv6", "NCCL_IB_ADDR_FAMILY", "AF_INET", "mlx5_0",
		  true },
		{ "0:link 2:IPv6", "NCCL_IB_GID_INDEX", "-1", "mlx5_0", true },
		/* the user knows */
		{ "0:link 2:IPv6", "NCCL_IB_ADDR_FAMILY", "AF_INET6", "mlx5_0",
		  false },
		{ "0:link 2:IPv6", "NCCL_IB_GID_INDEX", "2", "mlx5_0", false },
		{ "0:link 2:IPv6", "NCCL_IB_DISABLE", "1", "mlx5_0", false },
		/* nothing better there, or taken already */
		{ "0:link 1:link", "-", "", "mlx5_0", false },
		{ "0:link 2:IPv6 3:IPv4", "-", "", "mlx5_0", false },
		{ "0:IPv6 1:IPv6", "-", "", "mlx5_0", false },
		/* a port for storage, or nobody knows what it is for */
		{ "0:link 2:IPv6", "-", "", "mlx5_7", false },
		{ "0:link 2:IPv6", "-", "", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct wiring w = {
			.path = "NET/IB/GDRDMA",
			.facts = { { "mlx5_0", "port_state", "ACTIVE" },
				   { "mlx5_0", "gid_kinds", cases[i].kinds },
				   { "node", cases[i].fact, cases[i].value } },
			.nics = { cases[i].nic, "mlx5_1" },
		};
		struct verdict v;
		struct run r;

		wire(&r, &w);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, cases[i].warns);
		if (cases[i].warns) {
			assert_string_equal(v.findings[0].code, "gid_ipv6");
			assert_false(v.findings[0].fail);
			assert_non_null(strstr(v.findings[0].says,
				"on 2 RoCE ports of 2 nodes, for example "
				"mlx5_0 of n0"));
			assert_int_equal(v.n_exclude, 0);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** RoCE ports whose flow control is for other packets than NCCL's. */
static void priorities_without_flow_control(void **state)
{
	static const struct {
		const char *pfc, *priority, *state, *fact, *nic;
		bool warns;
	} cases[] = {
		{ "3", "0", "ACTIVE", "-", "mlx5_0", true },
		{ "3 4", "0", "ACTIVE", "-", "mlx5_0", true },
		{ "3 4", "4", "ACTIVE", "-", "mlx5_0", false },
		/* lossy by design; down; not RDMA; for storage; not known */
		{ "none", "0", "ACTIVE", "-", "mlx5_0", false },
		{ "3", "0", "DOWN", "-", "mlx5_0", false },
		{ "3", "0", "ACTIVE", "NCCL_IB_DISABLE", "mlx5_0", false },
		{ "3", "0", "ACTIVE", "-", "mlx5_7", false },
		{ "3", "0", "ACTIVE", "-", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct wiring w = {
			.path = "NET/IB/GDRDMA",
			.facts = { { "mlx5_0", "port_state", cases[i].state },
				   { "mlx5_0", "pfc", cases[i].pfc },
				   { "mlx5_0", "roce_priority",
				     cases[i].priority },
				   { "node", cases[i].fact, "1" } },
			.nics = { cases[i].nic, "mlx5_1" },
		};
		size_t found = 0;
		struct verdict v;
		struct run r;

		wire(&r, &w);
		assert_int_equal(verdict_compute(&r, &v), 0);
		for (size_t k = 0; k < v.n; k++) {
			found += strcmp(v.findings[k].code,
					"pfc_priority") == 0;
			assert_false(v.findings[k].fail);
		}
		assert_int_equal(found, cases[i].warns);
		verdict_release(&v);
		run_release(&r);
	}
}

static void ways_are_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wirings) / sizeof(*wirings); i++) {
		const struct wiring *w = &wirings[i];
		struct verdict v;
		struct run r;

		print_message("%s\n", w->what);
		wire(&r, w);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, w->code != NULL);
		if (w->code) {
			assert_string_equal(v.findings[0].code, w->code);
			assert_int_equal(v.findings[0].fail, w->fail);
			assert_non_null(strstr(v.findings[0].says, w->says));
			assert_int_equal(!strstr(v.findings[0].says, "; set: "),
					 !strstr(w->says, "; set: "));
			assert_int_equal(v.findings[0].part.kind, PART_CONFIG);
			assert_int_equal(v.findings[0].explained, 8);
			assert_int_equal(v.n_exclude, 0);
			assert_true(v.findings[0].act[0] != '\0');
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** One node without a port: its pairs have nothing better. */
static void both_ends_must_have_better(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	wire(&r, &wirings[0]);
	for (size_t i = 0; i < r.n_facts; i++) {
		if (strcmp(r.facts[i].node, "n1") == 0 &&
		    strcmp(r.facts[i].fact, "port_state") == 0) {
			STR_COPY(r.facts[i].value, "DOWN");
		}
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	for (size_t i = 0; i < v.n; i++) {
		assert_string_not_equal(v.findings[i].code, "net_socket");
	}
	verdict_release(&v);
	run_release(&r);
}

/** One machine that plays nodes has to use sockets between them. */
static void pretend_nodes_are_not_accused(void **state)
{
	struct verdict v;
	struct run r;

	(void)state;
	wire(&r, &wirings[0]);
	json_object_set_new(r.json, "options",
			    json_pack("{s:s}", "local", "2x2"));
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 0);
	verdict_release(&v);
	run_release(&r);
}

/** Collectives have no cells: their processes say which network they use. */
static void collectives_are_judged(void **state)
{
	static const struct {
		const char *network[2], *variant, *code;
		int64_t nodes;
		const char *local;
	} cases[] = {
		{ { "Socket", "Socket" }, "", "net_socket", 2, "" },
		{ { "Socket", "Socket" }, "algo=Ring", "net_socket", 2, "" },
		{ { "IB", "IB" }, "", NULL, 2, "" },
		{ { "IB", "Socket" }, "", NULL, 2, "" },
		{ { NULL, NULL }, "", NULL, 2, "" },
		/* inside a node nothing is sent by it, and pretend nodes have
		 * nothing else */
		{ { "Socket", "Socket" }, "", NULL, 1, "" },
		{ { "Socket", "Socket" }, "", NULL, 2, "2x2" },
		{ { "Socket", "Socket" }, "NCCL_NET=Socket", NULL, 2, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct collective_row row;
		struct sweep s = { 0 };
		struct verdict v;
		struct run r;

		wire(&r, &wirings[0]);
		STR_COPY(r.probe, "allreduce");
		json_object_set_new(r.json, "options", json_pack(
			"{s:s}", cases[i].local[0] ? "local" : "x",
			cases[i].local));
		for (int n = 0; n < 2 && cases[i].network[n]; n++) {
			fake_fact(&r, r.nodes[n].name, "gpu0", "network",
				  cases[i].network[n]);
		}
		record_init(&schema_collective, &row);
		STR_COPY(row.op, "allreduce");
		STR_COPY(row.variant, cases[i].variant);
		row.outcome = OUTCOME_OK;
		row.nodes = cases[i].nodes;
		row.size_B = 8;
		row.time_us = 10;
		row.busbw_GB_s = 2.5;
		s.run = &r;
		assert_int_equal(sweep_add(&s, &row), 0);
		assert_int_equal(sweep_group(&s), 0);
		assert_int_equal(collective_judge(&r, &s, NULL, &v), 0);
		assert_int_equal(v.n, cases[i].code != NULL);
		if (cases[i].code) {
			assert_string_equal(v.findings[0].code, cases[i].code);
			assert_true(v.findings[0].fail);
			assert_non_null(strstr(v.findings[0].says, "NCCL on 2 "
				"of 2 nodes used sockets by eth0 at 2.5 GB/s"));
		}
		verdict_release(&v);
		sweep_release(&s);
		run_release(&r);
	}
}

/** Four trays of two GPUs in two domains, by MNNVL inside these, by NICs from
 *  one to the other; and what is dead. */
static const struct {
	int a, b;		/* nodes: all between them */
	int rank;		/* or all of it; -1 */
	enum part_kind kind;
	int node, index;
} broken[] = {
	{ 0, 1, -1, PART_NVLINK_DOMAIN, -1, 0 },
	{ 2, 3, -1, PART_NVLINK_DOMAIN, -1, 1 },
	{ -1, -1, 3, PART_GPU, 1, 1 },
};

static void join_racks(struct run *r)
{
	fake_run(r, 4, 2, 2);
	STR_COPY(r->paths[1], "P2P/MNNVL");
	STR_COPY(r->paths[2], "NET/IB/GDRDMA");
	r->n_paths = 3;
	for (size_t at = 0; at < run_n_cells(r); at++) {
		int s = r->ranks[run_src(r, at)].node;
		int d = r->ranks[run_dst(r, at)].node;

		r->cell_way[at] = s / 2 == d / 2 ? 1 : 2;
		if (s / 2 == d / 2) {
			r->cells[at].bw_GB_s = (float)FAKE_INTRA_GB_S;
		}
	}
	for (int node = 0; node < 4; node++) {
		for (int gpu = 0; gpu < 2; gpu++) {
			char scope[16];

			snprintf(scope, sizeof(scope), "gpu%d", gpu);
			fake_fact(r, r->nodes[node].name, scope,
				  "fabric_cluster", node < 2 ? "c0" : "c1");
			fake_fact(r, r->nodes[node].name, scope,
				  "fabric_clique", "1");
		}
	}
}

static void domains_are_no_network(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		struct verdict v;
		struct run r;

		join_racks(&r);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			int s = run_src(&r, at), d = run_dst(&r, at);
			int from = r.ranks[s].node, to = r.ranks[d].node;

			if (s == broken[i].rank || d == broken[i].rank ||
			    (from == broken[i].a && to == broken[i].b) ||
			    (from == broken[i].b && to == broken[i].a)) {
				fake_cell(&r, s, d, OUTCOME_TIMEOUT, "x");
				r.cell_way[at] = 0;
			}
		}
		/* one pair has worked: what the domain is, is known */
		if (broken[i].rank < 0) {
			int s = broken[i].a * 2;

			r.cell_way[run_at(&r, s, s + 2)] = 1;
		}
		assert_int_equal(nvlink_find(&r), 0);
		assert_int_equal(r.n_domains, 2);
		assert_int_equal(r.cells[run_at(&r, 0, 2)].path, PATH_NVLINK);
		assert_int_equal(r.cells[run_at(&r, 0, 4)].path, PATH_INTER);
		/* slower than the domain is no fault of the network */
		assert_int_equal(cells_mark_slow(r.cells, run_n_cells(&r),
						 r.size_B, r.slow), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_true(v.n >= 1);
		assert_int_equal(v.findings[0].part.kind, broken[i].kind);
		assert_int_equal(v.findings[0].part.node, broken[i].node);
		assert_int_equal(v.findings[0].part.index, broken[i].index);
		assert_int_equal(v.cells[CELL_SLOW], 0);
		verdict_release(&v);
		run_release(&r);
	}
}

/** Where bytes went another way, the facts alone prove none. */
static void cliques_alone_are_no_domain(void **state)
{
	struct run r;

	(void)state;
	join_racks(&r);
	STR_COPY(r.paths[1], "P2P/CUMEM");
	assert_int_equal(nvlink_find(&r), 0);
	assert_int_equal(r.n_domains, 0);
	run_release(&r);
}

/** A domain that is dead from the first pair on is one by its facts. */
static void a_dead_domain_is_known_by_facts(void **state)
{
	static const struct {
		const char *transport, *fact, *value;
		int domains;
	} cases[] = {
		{ "nccl", "imex", "running", 2 },
		{ "nccl", "imex", "not running", 1 },
		{ "nccl", "NCCL_MNNVL_ENABLE", "0", 1 },
		{ "tcp", "imex", "running", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run r;

		join_racks(&r);
		STR_COPY(r.transport, cases[i].transport);
		fake_fact(&r, "n0", "node", cases[i].fact, cases[i].value);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			r.cell_way[at] = 0;
		}
		assert_int_equal(nvlink_find(&r), 0);
		assert_int_equal(r.n_domains, cases[i].domains);
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_are_judged),
		cmocka_unit_test(addresses_are_judged),
		cmocka_unit_test(priorities_without_flow_control),
		cmocka_unit_test(both_ends_must_have_better),
		cmocka_unit_test(pretend_nodes_are_not_accused),
		cmocka_unit_test(collectives_are_judged),
		cmocka_unit_test(domains_are_no_network),
		cmocka_unit_test(cliques_alone_are_no_domain),
		cmocka_unit_test(a_dead_domain_is_known_by_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
