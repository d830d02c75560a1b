/* SPDX-License-Identifier: BSD-3-Clause */
/* The network of the fake NCCL: who reaches whom, and what a NIC carries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fake/nccl/net.c"

/* Two nodes of four GPUs; a communicator of ranks 0 and 1, and a third. */
static const struct {
	const char *text;
	struct net_rank ranks[3];
	int n;
	bool pxn;
	const char *sends, *receives;	/* 0 -> 1; "" = cut */
} ways[] = {
	{ "", { { 0, 0 }, { 0, 1 } }, 2, true, "P2P/CUMEM", "P2P/CUMEM" },
	{ "", { { 0, 1 }, { 1, 1 } }, 2, true, "NET/IB/1/GDRDMA/Shared",
	  "NET/IB/1/GDRDMA/Shared" },
	{ "", { { 0, 1 }, { 1, 2 } }, 2, false, "NET/IB/1/GDRDMA/Shared",
	  "NET/IB/2/GDRDMA/Shared" },
	{ "gpus 4\nnics 2\n", { { 0, 1 }, { 1, 2 } }, 2, false,
	  "NET/IB/0/GDRDMA/Shared", "NET/IB/1/GDRDMA/Shared" },
	{ "no_gdr", { { 0, 1 }, { 1, 1 } }, 2, true, "NET/IB/1/Shared",
	  "NET/IB/1/Shared" },
	{ "network AWS Libfabric\n", { { 0, 1 }, { 1, 1 } }, 2, true,
	  "NET/AWS Libfabric/1/GDRDMA/Shared",
	  "NET/AWS Libfabric/1/GDRDMA/Shared" },
	{ "network Socket", { { 0, 0 }, { 1, 0 } }, 2, true,
	  "NET/Socket/0/Shared",
	  "NET/Socket/0/Shared" },
	{ "mnnvl 2\n", { { 0, 0 }, { 1, 3 } }, 2, true, "P2P/MNNVL",
	  "P2P/MNNVL" },
	{ "mnnvl 2", { { 1, 0 }, { 2, 0 } }, 2, true, "NET/IB/0/GDRDMA/Shared",
	  "NET/IB/0/GDRDMA/Shared" },
	/* a relay: on the sender's node, of the receiver's number */
	{ "rail_only", { { 0, 1 }, { 1, 2 } }, 2, true, "", "" },
	{ "rail_only", { { 0, 1 }, { 1, 2 }, { 1, 1 } }, 3, true, "", "" },
	{ "rail_only", { { 0, 1 }, { 1, 2 }, { 0, 2 } }, 3, false, "", "" },
	{ "rail_only", { { 0, 1 }, { 1, 2 }, { 0, 2 } }, 3, true,
	  "NET/IB/2(2)/GDRDMA/Shared", "NET/IB/2/GDRDMA/Shared" },
};

static void ranks_reach_each_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct net_way way;
		struct net net;
		char via[64];

		print_message("%zu %s\n", i, ways[i].text);
		assert_int_equal(net_parse(ways[i].text, &net), 0);
		way = net_way(&net, ways[i].ranks, ways[i].n, 0, 1,
			      ways[i].pxn);
		assert_int_equal(way.kind == NET_CUT, !ways[i].sends[0]);
		if (way.kind != NET_CUT) {
			net_via(&net, way, false, via, sizeof(via));
			assert_string_equal(via, ways[i].sends);
			way.nic = net_nic_of(&net, ways[i].ranks[1]);
			net_via(&net, way, true, via, sizeof(via));
			assert_string_equal(via, ways[i].receives);
		}
	}
}

static void a_nic_is_shared(void **state)
{
	atomic_llong nic = 0;
	struct net net;

	(void)state;
	assert_int_equal(net_parse("rate 1\n", &net), 0);
	assert_int_equal(net_take(&net, &nic, 5000, 1000), 6000);
	assert_int_equal(net_take(&net, &nic, 5000, 1000), 7000);
	assert_int_equal(net_take(&net, &nic, 9000, 1000), 10000);
	net.rate_GB_s = 0;
	assert_int_equal(net_take(&net, &nic, 5000, 1000), 5000);
}

static void rules_name_ranks(void **state)
{
	struct net net;

	(void)state;
	assert_int_equal(net_parse("# what breaks\nhang 0:1-1:2\n"
				   "crash 1:0-*\nslow 1:0-* 0.5\n", &net), 0);
	assert_string_equal(net_rule(&net, (struct net_rank){ 0, 1 },
				     (struct net_rank){ 1, 2 }), "hang");
	assert_string_equal(net_rule(&net, (struct net_rank){ 1, 2 },
				     (struct net_rank){ 0, 1 }), "");
	assert_string_equal(net_rule(&net, (struct net_rank){ 1, 0 },
				     (struct net_rank){ 0, 7 }), "crash");
	assert_true(net_share(&net, (struct net_rank){ 1, 0 },
			      (struct net_rank){ 0, 7 }) == 0.5);
	assert_true(net_share(&net, (struct net_rank){ 0, 7 },
			      (struct net_rank){ 1, 0 }) == 1);
	assert_int_equal(net_parse("slow 0:1-*\n", &net), 1);
	assert_int_equal(net_parse("gpus 4\nhang 0:1\n", &net), 2);
	assert_int_equal(net_parse("gpus none\n", &net), 1);
	assert_int_equal(net_parse("\n\nspeed 4\n", &net), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_reach_each_other),
		cmocka_unit_test(a_nic_is_shared),
		cmocka_unit_test(rules_name_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
