/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the verbs transport that need no HCA. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/host/port.h"

#if HAVE_VERBS
#include <infiniband/verbs.h>

#include "probes/ib/link.h"
#endif

#define IPV6	   { 0x20, 0x01, [15] = 1 }
#define IPV4(last) { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (last) }

/** A GID by its address: "10.7.0.1/24 v2", in a table of such. */
static size_t table_of(const char *const *texts, struct gid_entry *table)
{
	size_t n = 0;

	for (; texts[n] != NULL; n++) {
		struct gid_entry *g = &table[n];
		char address[64];
		struct ip_net net;
		int roce = 0;

		*g = (struct gid_entry){ .index = (int)n };
		assert_true(sscanf(texts[n], "%63s v%d", address, &roce) >= 1);
		assert_int_equal(ip_net_parse(address, &net, NULL), 0);
		if (net.ip.family == AF_INET) {
			memset(g->raw + 10, 0xff, 2);
			memcpy(g->raw + 12, net.ip.bytes, 4);
		} else {
			memcpy(g->raw, net.ip.bytes, GID_BYTES);
		}
		g->roce = roce;
		g->prefix = strchr(address, '/') != NULL ? net.prefix : 0;
	}
	return n;
}

#define TABLE_MAX 8

static void gid_in_order(void **state)
{
	static const struct {
		const char *table[TABLE_MAX];
		int best;
	} cases[] = {
		/* as a port with one address has it */
		{ { "fe80::1 v1", "fe80::1 v2", "10.0.0.1 v1", "10.0.0.1 v2" },
		  3 },
		/* v2 of the link before v1 of an address */
		{ { "10.0.0.1 v1", "fe80::1 v2" }, 1 },
		/* IPv6 only: routed before of the link */
		{ { "fe80::1 v1", "fe80::1 v2", "fd00::1 v1", "fd00::1 v2" },
		  3 },
		{ { "fd00::1 v2", "10.0.0.1 v2", "10.0.1.1 v2" }, 1 },
		{ { "fe80::1 v2", "169.254.3.4 v2", "fd00::1 v2" }, 2 },
		/* an old kernel does not say */
		{ { "fe80::1", "10.0.0.1" }, 1 },
		{ { "fe80::1 v2" }, 0 },
	};
	struct gid_entry table[TABLE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		gid_order(table, table_of(cases[i].table, table));
		assert_int_equal(table[0].index, cases[i].best);
	}
	assert_int_equal(gid_parse_type("RoCE v2"), 2);
	assert_int_equal(gid_parse_type("IB/RoCE v1"), 1);
	assert_int_equal(gid_parse_type(""), 0);
}

/** Two tables, and the indices that both ends come to; -1: to none. */
static void gid_of_both_ends(void **state)
{
	static const struct {
		const char *lead[TABLE_MAX], *other[TABLE_MAX];
		int a, b;
	} cases[] = {
		/* the subnet that both have, of several rails or VLANs */
		{ { "10.1.0.1/24 v2", "10.2.0.1/24 v2" },
		  { "10.2.0.2/24 v2", "10.1.0.2/24 v2" }, 0, 1 },
		{ { "10.1.0.1/24 v2", "10.2.0.1/24 v2" },
		  { "10.3.0.2/24 v2", "10.2.0.2/24 v2" }, 1, 1 },
		{ { "10.1.0.1/24 v2", "fd00:2::1/64 v2" },
		  { "10.9.0.2/24 v2", "fd00:2::2/64 v2" }, 1, 1 },
		/* within a larger subnet, not only beside each other */
		{ { "10.1.0.1/25 v2", "10.2.2.3/16 v2" },
		  { "10.1.0.130/25 v2", "10.2.200.4/16 v2" }, 1, 1 },
		/* routed fabrics: no subnet is shared, so the first ones */
		{ { "fe80::1 v2", "10.1.0.1/31 v2" },
		  { "fe80::2 v2", "10.2.0.1/31 v2" }, 1, 1 },
		/* nobody knows the masks */
		{ { "10.1.0.1 v2", "10.2.0.1 v2" },
		  { "10.2.0.2 v2", "10.1.0.2 v2" }, 0, 1 },
		/* routed before the same link, v2 before v1 */
		{ { "fe80::1/64 v2", "fd00:1::1/64 v2" },
		  { "fe80::2/64 v2", "fd00:2::1/64 v2" }, 1, 1 },
		{ { "10.1.0.1/24 v1", "10.1.0.1/24 v2" },
		  { "10.1.0.2/24 v1", "10.1.0.2/24 v2" }, 1, 1 },
		/* one family and version, if it is a lesser one */
		{ { "fe80::1 v2", "10.1.0.1/24 v2" }, { "fe80::2 v2" }, 0, 0 },
		{ { "fe80::1 v1", "fd00::1 v2" }, { "fe80::2 v1" }, 0, 0 },
		{ { "10.1.0.1/24 v2" }, { "10.1.0.2/24 v1" }, -1, -1 },
		{ { "10.1.0.1/24 v2" }, { "fd00::1 v2" }, -1, -1 },
		{ { "10.1.0.1/24 v2" }, { NULL }, -1, -1 },
		/* InfiniBand, two subnets of it */
		{ { "fe80::1" }, { "fec0::1" }, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gid_entry a[TABLE_MAX], b[TABLE_MAX];
		size_t n = table_of(cases[i].lead, a);
		size_t m = table_of(cases[i].other, b);
		size_t at_a = 0, at_b = 0;

		assert_int_equal(gid_agree(a, n, b, m, &at_a, &at_b),
				 cases[i].a >= 0);
		if (cases[i].a >= 0) {
			assert_int_equal(at_a, cases[i].a);
			assert_int_equal(at_b, cases[i].b);
		}
	}
}

static void gid_as_jobs_want_it(void **state)
{
	static const char *const texts[] = {
		"fe80::1 v1", "fe80::1 v2", "10.1.0.1 v1", "10.1.0.1 v2",
		"fd00::1 v2", NULL
	};
	static const struct {
		sa_family_t family;
		const char *range;
		int roce;
		const char *left;
	} cases[] = {
		{ 0, "::/0", 0, "01234" },	{ AF_INET, "::/0", 0, "23" },
		{ AF_INET6, "::/0", 2, "14" },	{ 0, "fd00::/8", 0, "4" },
		{ 0, "10.1.0.0/16", 2, "3" },	{ 0, "10.2.0.0/16", 0, "" },
	};
	sa_family_t family = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ip_net range;
		struct gid_entry table[TABLE_MAX];
		size_t n = table_of(texts, table);
		char left[TABLE_MAX] = "";

		assert_int_equal(ip_net_parse(cases[i].range, &range, NULL),
				 0);
		n = gid_allowed(table, n, cases[i].family, cases[i].roce,
				&range);
		for (size_t k = 0; k < n; k++) {
			left[k] = (char)('0' + table[k].index);
		}
		assert_string_equal(left, cases[i].left);
	}
	assert_int_equal(gid_parse_family("AF_INET6", &family, NULL), 0);
	assert_int_equal(family, AF_INET6);
	assert_int_equal(gid_parse_family("inet", &family, NULL), -1);
	assert_int_equal(family, AF_INET6);
}

static void gid_as_people_write_it(void **state)
{
	static const uint8_t v4[GID_BYTES] = IPV4(7), v6[GID_BYTES] = IPV6;
	char text[GID_TEXT];

	(void)state;
	assert_string_equal(gid_text(v4, text), "10.0.0.7");
	assert_string_equal(gid_text(v6, text), "2001::1");
}

static void ticket_there_and_back(void **state)
{
	struct verbs_ticket t = {
		.name = "mlx5_0:2", .link_layer = "InfiniBand", .lid = 77,
		.qpns = { 0xffffff, 7 }, .n_qpns = 2, .psn = 1, .mtu_B = 4096,
		 .n_gids = 2,
		.gids = { { .raw = IPV4(9), .roce = 2, .prefix = 24 },
			  { .raw = IPV6, .roce = 1 } },
		.read_depth = 16, .data_addr = INT64_MAX, .data_key = 5,
		.box_addr = 4096, .box_key = UINT32_MAX, .cm_port = 65535,
		.ip = "fd00:7::1", .flow_qpns = { 8, 9 }, .n_flow_qpns = 2,
	}, back;
	char text[XPORT_TICKET_MAX], small[16];

	(void)state;
	assert_int_equal(verbs_ticket_format(&t, text, sizeof(text), NULL), 0);
	assert_int_equal(verbs_ticket_parse(text, &back, NULL), 0);
	assert_memory_equal(&t, &back, sizeof(t));
	assert_int_equal(verbs_ticket_format(&t, small, sizeof(small), NULL),
			 -1);
}

/** The longest ticket there is. */
static void ticket_of_all_flows(void **state)
{
	struct verbs_ticket t = { .mtu_B = 4096, .n_qpns = QPS_MAX,
				  .n_gids = GID_OFFERS,
				  .n_flow_qpns = FLOWS_MAX,
				  .data_addr = INT64_MAX,
				  .box_addr = INT64_MAX };
	char text[XPORT_TICKET_MAX];

	(void)state;
	memset(t.name, 'a', sizeof(t.name) - 1);
	memset(t.ip, 'a', sizeof(t.ip) - 1);
	memset(t.link_layer, 'a', sizeof(t.link_layer) - 1);
	t.lid = t.psn = t.data_key = t.box_key = 65535;
	for (int i = 0; i < FLOWS_MAX; i++) {
		t.flow_qpns[i] = t.qpns[i % QPS_MAX] = 0xffffff;
	}
	for (int i = 0; i < GID_OFFERS; i++) {
		t.gids[i].prefix = 8 * GID_BYTES;
	}
	assert_int_equal(verbs_ticket_format(&t, text, sizeof(text), NULL), 0);
}

/** Each label has a UDP source port of its own, as Linux computes it, and none
 *  is 0, by which a driver takes another. */
static void flows_have_ports(void **state)
{
	bool seen[65536] = { false };

	(void)state;
	assert_int_equal(flow_port(1), 0xc001);
	assert_int_equal(flow_port(0x3fff), 0xffff);
	assert_int_equal(flow_port(0x4000), 0xc001);
	assert_int_equal(flow_port(0xfffff), 0xffc0);
	for (int i = 0; i < FLOWS_MAX; i++) {
		uint32_t label = flow_label(i);

		assert_true(label > 0 && label < 1 << 20);
		assert_true(flow_port(label) >= 0xc000);
		assert_false(seen[flow_port(label)]);
		seen[flow_port(label)] = true;
	}
}

/* The first @from of a good ticket replaced by @to is none. */
static void strange_tickets(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "\"cm_port\":0", "\"cm_port\":65536" },
		{ "\"ip\":\"\"", "\"ip\":0" },
		{ "\"qpns\":[1", "\"qpns\":[16777216" },
		{ "\"qpns\":[1", "\"qpns\":[-1" },
		{ "\"qpns\":[1", "\"qpns\":[" },
		{ "\"qpns\":[1",
		  "\"qpns\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1" },
		{ "\"mtu_B\":1024", "\"mtu_B\":8192" },
		{ "\"lid\":1", "\"lid\":-1" },
		{ "\"box_key\":1", "\"box_key\":\"1\"" },
		{ "\"gid\":\"00", "\"gid\":\"0x" },
		{ "\"gid\":\"00", "\"gid\":\"" },
		{ "\"roce\":2", "\"roce\":3" },
		{ "\"prefix\":0", "\"prefix\":129" },
		{ "\"gids\":[", "\"gids\":[7," },
		{ "\"name\":\"a\"", "\"name\":7" },
		{ "{", "[" },
	};
	struct verbs_ticket t = {
		.name = "a", .link_layer = "Ethernet", .lid = 1, .qpns = { 1 },
		.n_qpns = 1,
		.mtu_B = 1024, .box_key = 1, .n_gids = 1,
		.gids = { { .roce = 2 } },
	};
	char good[2048], bad[2100];

	(void)state;
	assert_int_equal(verbs_ticket_format(&t, good, sizeof(good), NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *at = strstr(good, cases[i].from);
		struct verbs_ticket out;
		struct err e = { 0 };

		assert_non_null(at);
		snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - good), good,
			 cases[i].to, at + strlen(cases[i].from));
		assert_int_equal(verbs_ticket_parse(bad, &out, &e), -1);
		assert_true(e.text[0] != '\0');
	}
}

/** Each failure has a code and a cause. */
static void words_of_failures(void **state)
{
	static const struct {
		enum verbs_call call;
		int err;
		bool limited;
		const char *code;
	} calls[] = {
		{ VERBS_OPEN, EACCES, false, "device_permission" },
		{ VERBS_OPEN, EPERM, false, "device_permission" },
		{ VERBS_OPEN, ENOENT, false, "device_missing" },
		{ VERBS_REG_MR, ENOMEM, true, "memlock" },
		{ VERBS_CREATE_CQ, ENOMEM, true, "memlock" },
		{ VERBS_CREATE_CQ, ENOMEM, false, "no_memory" },
		{ VERBS_TO_RTR, ETIMEDOUT, false, "rtr_timeout" },
		{ VERBS_TO_RTR, ENETUNREACH, true, "rtr_no_route" },
		{ VERBS_TO_RTR, EINVAL, false, "rtr_invalid" },
		{ VERBS_TO_INIT, EINVAL, false, "init_invalid" },
		{ VERBS_POST, EIO, false, "device_error" },
		{ VERBS_POLL, 4711, true, "verbs_error" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		assert_string_equal(verbs_call_words(calls[i].call,
						     calls[i].err,
						     calls[i].limited)->code,
				    calls[i].code);
	}
	assert_string_equal(verbs_wc_words(12)->code, "wc_retry_exc");
	assert_non_null(strstr(verbs_wc_words(4)->says, "ACS"));
	for (int status = -1; status < 30; status++) {
		assert_true(strlen(verbs_wc_words(status)->says) > 10);
	}
	for (int call = 0; call < VERBS_CALLS; call++) {
		assert_non_null(verbs_call_names[call]);
	}
}

#if HAVE_VERBS

static struct {
	int refused;		/* errno of who asks for relaxed ordering */
	int calls, access;	/* of the last call */
} hca;

static struct ibv_mr *reg(int access)
{
	static struct ibv_mr mr = { .lkey = 1, .rkey = 2 };

	hca.calls++;
	hca.access = access;
	errno = access & IBV_ACCESS_RELAXED_ORDERING ? hca.refused : 0;
	return errno == 0 ? &mr : NULL;
}

static struct ibv_mr *fake_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				  int access)
{
	(void)pd;
	(void)addr;
	(void)length;
	assert_int_equal(access & IBV_ACCESS_RELAXED_ORDERING, 0);
	return reg(access);
}

static struct ibv_mr *fake_reg_mr_iova2(struct ibv_pd *pd, void *addr,
					size_t length, uint64_t iova,
					unsigned int access)
{
	(void)pd;
	(void)length;
	assert_int_equal((uint64_t)(uintptr_t)addr, iova);
	return reg((int)access);
}

static struct ibv_mr *fake_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					 size_t length, uint64_t iova, int fd,
					 int access)
{
	(void)pd;
	(void)length;
	(void)iova;
	assert_int_equal(offset, 64);
	assert_int_equal(fd, 9);
	return reg(access);
}

/** As jobs register, but strict where that is refused, where the library is too
 *  old, and where nobody asks for it. */
static void relaxed_where_it_can_be(void **state)
{
	static const struct {
		bool wanted, old_library;
		int refused, fd;
		bool relaxed;
		int calls;
	} cases[] = {
		{ .wanted = true, .fd = -1, .relaxed = true, .calls = 1 },
		{ .wanted = true, .fd = 9, .relaxed = true, .calls = 1 },
		{ .wanted = true, .fd = -1, .refused = EINVAL, .calls = 2 },
		{ .wanted = true, .fd = 9, .refused = EOPNOTSUPP, .calls = 2 },
		{ .wanted = true, .fd = -1, .old_library = true, .calls = 1 },
		{ .wanted = false, .fd = -1, .calls = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verbs v = {
			.reg_mr = fake_reg_mr,
			.reg_mr_iova2 = cases[i].old_library ?
						NULL : fake_reg_mr_iova2,
			.reg_dmabuf_mr = fake_reg_dmabuf_mr,
		};
		struct verbs_device d = { .v = &v };
		bool relaxed = cases[i].wanted;
		struct verbs_area area;

		hca.refused = cases[i].refused;
		hca.calls = 0;
		assert_int_equal(verbs_register(&d, 4096, 64, cases[i].fd,
						cases[i].fd < 0 ? 0 : 64,
						&relaxed, &area), 0);
		assert_int_equal(relaxed, cases[i].relaxed);
		assert_int_equal(hca.calls, cases[i].calls);
		assert_int_equal(hca.access,
				 VERBS_ALL_ACCESS |
					 (cases[i].relaxed ?
						  IBV_ACCESS_RELAXED_ORDERING :
						  0));
		assert_int_equal(area.addr, 4096);
		assert_int_equal(area.remote_key, 2);
	}
}

/* A queue pair that remembers what was posted to it. */
struct fake_qp {
	struct ibv_qp qp;
	int posts, messages;
	uint64_t last_id;
};

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad)
{
	struct fake_qp *f = (struct fake_qp *)qp;

	(void)bad;
	f->posts++;
	for (; wr != NULL; wr = wr->next) {
		f->messages++;
		f->last_id = wr->wr_id;
	}
	return 0;
}

static struct ibv_wc completed;

static int fake_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int n = completed.wr_id != 0 || completed.status != 0;

	(void)cq;
	assert_true(max > 0);
	*wc = completed;
	completed = (struct ibv_wc){ 0 };
	return n;
}

/** Each group goes to the queue with the least on its way; words to the first
 *  one. */
static void queues_share(void **state)
{
	static struct ibv_context ctx = {
		.ops = { .post_send = fake_post_send,
			 .poll_cq = fake_poll_cq },
	};
	struct fake_qp qps[3] = {
		{ .qp.context = &ctx }, { .qp.context = &ctx },
		{ .qp.context = &ctx },
	};
	struct ibv_cq cq = { .context = &ctx };
	struct verbs_box box = { .ping_in = 0 };
	struct xport x = { .op = OP_WRITE, .box = &box };
	struct xport_link l = { .x = &x, .cq = &cq, .n_queues = 3 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		l.queue[i].qp = &qps[i].qp;
	}
	for (int i = 0; i < 6; i++) {
		assert_int_equal(verbs_post(&l, 4, 1024), 0);
	}
	assert_int_equal(l.posted, 24);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(qps[i].messages, 8);
	}
	/* the second one is through, and gets what comes next */
	for (int i = 0; i < 2; i++) {
		completed.wr_id = qps[1].last_id;
		completed.opcode = IBV_WC_RDMA_WRITE;
		assert_int_equal(verbs_poll(&l), 0);
	}
	assert_int_equal(l.posted, 16);
	assert_int_equal(l.done, 8);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(verbs_post(&l, 4, 1024), 0);
	}
	assert_int_equal(qps[1].messages, 16);
	assert_int_equal(verbs_ping(&l, 7), 0);
	assert_int_equal(qps[0].posts, 3);
}

#endif

static void common_way(void **state)
{
	(void)state;
	assert_int_equal(pcie_common("/sys/d/p0/b1/g", "/sys/d/p0/b1/h"),
			 5);
	assert_int_equal(pcie_common("/sys/d/p0/b1/g", "/sys/d/p0/b2/h"),
			 4);
	assert_true(pcie_common("/sys/d/p0/b1/g", "/sys/d/p0/b10/h") <
		    pcie_common("/sys/d/p0/b1/g", "/sys/d/p0/b1/h"));
	assert_int_equal(pcie_common("/a/b", "/a/b"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gid_in_order),
		cmocka_unit_test(gid_of_both_ends),
		cmocka_unit_test(gid_as_jobs_want_it),
		cmocka_unit_test(gid_as_people_write_it),
		cmocka_unit_test(ticket_there_and_back),
		cmocka_unit_test(ticket_of_all_flows),
		cmocka_unit_test(flows_have_ports),
		cmocka_unit_test(strange_tickets),
		cmocka_unit_test(words_of_failures),
#if HAVE_VERBS
		cmocka_unit_test(relaxed_where_it_can_be),
		cmocka_unit_test(queues_share),
#endif
		cmocka_unit_test(common_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
