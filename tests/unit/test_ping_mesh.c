/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "probes/ping/ping.h"
#include "probes/ping/private.h"

/** The columns of ping are the contract with other tools. */
static void header_is_the_contract(void **state)
{
	struct str out = STR_INIT;

	(void)state;
	record_add_header(&schema_ping, &out);
	assert_string_equal(str_text(&out),
			    "src_node,src_if,src_ip,dst_node,dst_if,dst_ip,"
			    "segment,method,sent,received,rtt_min_us,"
			    "rtt_avg_us,rtt_max_us,mtu_B,outcome,code,detail,"
			    "start_utc,flow,flows\n");
	str_release(&out);
}

/* ---- addresses ----------------------------------------------------------- */

static void net_is(const char *text, const char *wanted)
{
	struct ip_net net;
	char buf[IP_TEXT + 8];

	assert_int_equal(ip_net_parse(text, &net, NULL), 0);
	assert_string_equal(ip_net_text(&net, buf, sizeof(buf)), wanted);
}

static void subnets_are_read(void **state)
{
	static const char *const bad[] = {
		"", "10.1.2", "10.1.2.3/33", "10.1.2.3/", "10.1.2.3/x",
		"fd00::1/129", "::/0/1", "10.1.2.3 ", NULL
	};
	struct ip_net net;

	(void)state;
	net_is("10.1.2.3/16", "10.1.0.0/16");
	net_is("10.1.2.3", "10.1.2.3/32");
	net_is("10.1.2.3/0", "0.0.0.0/0");
	net_is("10.1.2.255/25", "10.1.2.128/25");
	net_is("fd00:1::7/64", "fd00:1::/64");
	net_is("fd00::1", "fd00::1/128");
	for (int i = 0; bad[i]; i++) {
		assert_int_equal(ip_net_parse(bad[i], &net, NULL), -1);
	}
}

static bool takes(const char *ifname, const char *subnet, const char *skip,
		  const char *name, const char *addr)
{
	struct spec s;
	struct ip_addr ip;

	spec_init(&s);
	STR_COPY(s.ifname, ifname);
	STR_COPY(s.subnet, subnet);
	STR_COPY(s.skip, skip);
	assert_int_equal(ping_select_check(&s, NULL), 0);
	assert_int_equal(ip_parse(addr, &ip, NULL), 0);
	return ping_select(&s, name, &ip);
}

static void interfaces_are_chosen_as_nccl_does(void **state)
{
	(void)state;
	assert_true(takes("", "", "", "eth0", "10.1.0.1"));
	assert_false(takes("", "", "", "docker0", "172.17.0.1"));
	assert_true(takes("docker", "", "", "docker0", "172.17.0.1"));
	assert_true(takes("eth,ib", "", "", "ib3", "10.1.0.1"));
	assert_true(takes("eth1", "", "", "eth10", "10.1.0.1"));
	assert_false(takes("=eth1", "", "", "eth10", "10.1.0.1"));
	assert_false(takes("^eth", "", "", "eth1", "10.1.0.1"));
	assert_true(takes("^=eth1", "", "", "eth10", "10.1.0.1"));
	assert_true(takes("", "10.1.0.0/16,fd00::/8", "", "eth0", "fd00::2"));
	assert_false(takes("", "10.1.0.0/16", "", "eth0", "10.2.0.1"));
	assert_false(takes("", "", "10.1.0.1", "eth0", "10.1.0.1"));
	assert_false(takes("", "", "eth0,ib0", "eth0", "10.1.0.1"));
	assert_false(takes("", "", "eth0", "eth0", "10.1.0.1"));
	assert_true(takes("", "", "eth", "eth0", "10.1.0.1"));
}

static void lists_that_make_no_sense(void **state)
{
	struct spec s;
	struct err e = { 0 };

	(void)state;
	spec_init(&s);
	STR_COPY(s.ifname, "^=");
	assert_int_equal(ping_select_check(&s, &e), -1);
	assert_true(e.hint[0]);
	STR_COPY(s.ifname, "");
	STR_COPY(s.subnet, "10.1.0.0/16,ten");
	assert_int_equal(ping_select_check(&s, &e), -1);
}

/* ---- the plan ------------------------------------------------------------ */

/** "n1 10.1.0.1/24 10.2.0.1/24": a node, ready, with these addresses. */
static void add_node(json_t *nodes, const char *name, const char *a,
		     const char *b)
{
	json_t *node = json_pack(
		"{s:s,s:{s:[{s:s,s:s},{s:s,s:s}]},s:{s:s}}", "name", name,
		"inventory", "interfaces", "name", "eth0", "addr", a, "name",
		"eth1", "addr", b, "ready", "key",
		"00112233445566778899aabbccddeeff");

	assert_non_null(node);
	json_array_append_new(nodes, node);
}

static int64_t cells(const json_t *nodes, bool cross)
{
	struct spec s;
	struct err e = { 0 };
	json_t *plan;
	int64_t n = -1;

	spec_init(&s);
	s.cross = cross;
	plan = ping_plan(nodes, &s, &e);
	if (plan) {
		n = json_integer_value(json_object_get(
			json_object_get(json_object_get(plan, "run"),
					"planned"), "cells"));
	} else {
		assert_true(e.text[0]);
	}
	json_decref(plan);
	return n;
}

static void who_asks_whom(void **state)
{
	json_t *nodes = json_array();

	(void)state;
	assert_int_equal(cells(nodes, true), -1);
	add_node(nodes, "n1", "10.1.0.1/24", "10.2.0.1/24");
	assert_int_equal(cells(nodes, true), -1);
	add_node(nodes, "n2", "10.1.0.2/24", "10.2.0.2/24");
	add_node(nodes, "n3", "10.1.0.3/24", "fd00::3/64");
	assert_int_equal(cells(nodes, false), 3 * 2 + 2);
	assert_int_equal(cells(nodes, true), 8 + 4 + 4);
	json_decref(nodes);
}

/** Routed rails, /31 each: position tells which belong together. */
static void rails_by_position(void **state)
{
	json_t *nodes = json_array();

	(void)state;
	add_node(nodes, "n1", "10.1.0.1/31", "10.2.0.1/31");
	add_node(nodes, "n2", "10.1.0.3/31", "10.2.0.3/31");
	assert_int_equal(cells(nodes, false), 4);
	assert_int_equal(cells(nodes, true), 8);
	json_decref(nodes);
}

/** A child does not live for ever, so nothing longer is planned. */
static void more_than_there_is_time_for(void **state)
{
	json_t *nodes = json_array(), *plan;
	struct err e = { 0 };
	struct spec s;

	(void)state;
	spec_init(&s);
	add_node(nodes, "n1", "10.1.0.1/24", "10.2.0.1/24");
	add_node(nodes, "n2", "10.1.0.2/24", "10.2.0.2/24");
	s.count = 1000;
	plan = ping_plan(nodes, &s, &e);
	assert_non_null(plan);
	json_decref(plan);
	s.interval_ns = 5 * NS_PER_S;
	assert_null(ping_plan(nodes, &s, &e));
	assert_non_null(strstr(e.hint, "--interval"));
	s.max_time_ns = 600 * NS_PER_S;
	plan = ping_plan(nodes, &s, &e);
	assert_non_null(plan);
	json_decref(plan);
	json_decref(nodes);
}

static void a_child_reads_what_it_is_told(void **state)
{
	json_t *nodes = json_array(), *plan, *tell;
	struct ping_mesh m;
	struct spec s;

	(void)state;
	spec_init(&s);
	add_node(nodes, "n1", "10.1.0.1/24", "10.2.0.1/24");
	add_node(nodes, "n2", "10.2.0.2/24", "10.1.0.2/24");
	plan = ping_plan(nodes, &s, NULL);
	tell = json_array_get(json_object_get(plan, "tell"), 1);
	assert_int_equal(ping_mesh_parse(json_object_get(tell, "mesh"), &m,
					 NULL), 0);
	assert_int_equal(m.n_ends, 4);
	assert_int_equal(m.ends[2].rail, 1);
	assert_int_equal(m.ends[3].segment, m.ends[0].segment);
	assert_int_equal(ping_mesh_paths(&m, 1), 2);
	assert_true(ping_mesh_path(&m, 3, 0));
	assert_false(ping_mesh_path(&m, 3, 1));
	ping_mesh_release(&m);
	json_decref(plan);
	json_decref(nodes);
}

/* ---- packets ------------------------------------------------------------- */

static void marks_come_back(void **state)
{
	struct ping_mark mark = { .type = PING_ECHO, .tag = 7, .serial = 9 };
	struct ping_mark read = { 0 };
	uint8_t buf[128];
	size_t n = ping_icmp_write(AF_INET, 1, 2, &mark, 56, buf);

	(void)state;
	assert_int_equal(n, 64);
	assert_false(ping_icmp_read(AF_INET, false, true, buf, n, &read));
	buf[0] = 0;	/* an echo reply */
	assert_true(ping_icmp_read(AF_INET, false, true, buf, n, &read));
	assert_int_equal(read.tag, 7);
	assert_int_equal(read.serial, 9);
	for (size_t cut = 0; cut < PING_ICMP_BYTES + PING_MARK_BYTES; cut++) {
		assert_false(ping_icmp_read(AF_INET, false, true, buf, cut,
					    &read));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_the_contract),
		cmocka_unit_test(subnets_are_read),
		cmocka_unit_test(interfaces_are_chosen_as_nccl_does),
		cmocka_unit_test(lists_that_make_no_sense),
		cmocka_unit_test(who_asks_whom),
		cmocka_unit_test(rails_by_position),
		cmocka_unit_test(more_than_there_is_time_for),
		cmocka_unit_test(a_child_reads_what_it_is_told),
		cmocka_unit_test(marks_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
