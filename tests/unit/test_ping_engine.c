/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of ping against a network that is a few lines long: no clock but
 * the test's, no packet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "probes/ping/ping.h"
#include "probes/ping/private.h"

#define RTT_NS (200 * NS_PER_US)

/** A network: which probes are lost. */
struct net {
	bool (*loses)(uint32_t path, int nth);
	int64_t now_ns, end_ns;
	size_t sent, peak;	/* peak: of any one second */
	size_t in_second;
	int64_t second;
};

struct way {
	uint32_t serial;
	int64_t back_ns;
};

static void count(struct net *n)
{
	int64_t second = n->now_ns / NS_PER_S;

	n->in_second = second == n->second ? n->in_second + 1 : 1;
	n->second = second;
	n->peak = n->in_second > n->peak ? n->in_second : n->peak;
	n->sent++;
}

/** Run until all is decided; paths in the order in which they were. */
static void run(struct ping_engine *g, struct net *n)
{
	size_t cap = 1 << 17, first = 0, last = 0;
	struct way *ways = calloc(cap, sizeof(*ways));
	int *nth = calloc(g->n, sizeof(*nth));

	assert_non_null(ways);
	assert_non_null(nth);
	ping_engine_start(g, n->now_ns);
	while (!ping_engine_done(g)) {
		int64_t wake;
		uint32_t path = ping_engine_next(g, n->now_ns, &wake);

		if (path != PING_NONE) {
			uint32_t serial = ping_engine_sent(g, path, n->now_ns);

			count(n);
			if (!n->loses || !n->loses(path, nth[path]++)) {
				ways[last++ % cap] = (struct way){
					serial, n->now_ns + RTT_NS,
				};
			}
			continue;
		}
		if (first != last && ways[first % cap].back_ns < wake) {
			wake = ways[first % cap].back_ns;
		}
		while (ping_engine_settled(g) != PING_NONE) {
		}
		if (ping_engine_done(g)) {
			break;
		}
		assert_true(wake < INT64_MAX);
		n->now_ns = wake > n->now_ns ? wake : n->now_ns;
		while (first != last &&
		       ways[first % cap].back_ns <= n->now_ns) {
			ping_engine_answer(g, ways[first++ % cap].serial,
					   n->now_ns, 0);
		}
	}
	n->end_ns = n->now_ns;
	free(ways);
	free(nth);
}

static struct ping_engine engine(size_t paths)
{
	struct ping_rules r = ping_rules_of(5, 100 * NS_PER_MS, NS_PER_S, 0,
					    paths);
	struct ping_engine g;

	assert_int_equal(ping_engine_init(&g, &r, (uint32_t)paths), 0);
	return g;
}

static void all_is_well(void **state)
{
	struct ping_engine g = engine(240);
	struct net n = { 0 };

	(void)state;
	run(&g, &n);
	assert_int_equal(n.sent, 5 * 240);
	for (uint32_t i = 0; i < 240; i++) {
		assert_int_equal(g.flows[i].received, 5);
		assert_true(g.flows[i].rtt_min_ns >= (float)RTT_NS);
	}
	/* five rounds, the first paced for neighbours */
	assert_true(n.end_ns < 600 * NS_PER_MS);
	ping_engine_release(&g);
}

static bool loses_all(uint32_t path, int nth)
{
	(void)path;
	(void)nth;
	return true;
}

static void the_dark_takes_two_timeouts(void **state)
{
	struct ping_engine g = engine(240);
	struct net n = { .loses = loses_all };

	(void)state;
	run(&g, &n);
	assert_int_equal(n.sent, 10 * 240);
	assert_int_equal(g.flows[7].received, 0);
	assert_true(n.end_ns < 2 * NS_PER_S + 700 * NS_PER_MS);
	ping_engine_release(&g);
}

static bool loses_first(uint32_t path, int nth)
{
	return path == 3 && nth == 0;
}

static void a_lost_one_is_sent_again(void **state)
{
	struct ping_engine g = engine(8);
	struct net n = { .loses = loses_first };

	(void)state;
	run(&g, &n);
	assert_int_equal(g.flows[3].sent, 6);
	assert_int_equal(g.flows[3].received, 5);
	assert_int_equal(g.flows[2].sent, 5);
	ping_engine_release(&g);
}

static void answers_count_once_and_in_time(void **state)
{
	struct ping_engine g = engine(1);
	int64_t wake;
	uint32_t serial;

	(void)state;
	ping_engine_start(&g, 0);
	assert_int_equal(ping_engine_next(&g, 0, &wake), 0);
	serial = ping_engine_sent(&g, 0, 0);
	assert_int_equal(ping_engine_answer(&g, serial + 1, 5, 0),
			 PING_NONE);
	assert_int_equal(ping_engine_path(&g, serial), 0);
	assert_int_equal(ping_engine_answer(&g, serial, 5, 2), 0);
	assert_true(g.flows[0].rtt_sum_ns > 2 && g.flows[0].rtt_sum_ns < 4);
	assert_int_equal(ping_engine_answer(&g, serial, 6, 0), PING_NONE);
	/* the next one comes back when it has been given up */
	assert_int_equal(ping_engine_next(&g, 100 * NS_PER_MS, &wake), 0);
	serial = ping_engine_sent(&g, 0, 100 * NS_PER_MS);
	ping_engine_next(&g, 2 * NS_PER_S, &wake);
	assert_int_equal(ping_engine_answer(&g, serial, 2 * NS_PER_S, 0),
			 PING_NONE);
	assert_int_equal(g.flows[0].received, 1);
	ping_engine_release(&g);
}

static void a_path_is_given_up_and_taken_up(void **state)
{
	struct ping_engine g = engine(2);
	int64_t wake;

	(void)state;
	ping_engine_start(&g, 0);
	assert_int_equal(ping_engine_next(&g, 0, &wake), 0);
	ping_engine_give_up(&g, 0);
	assert_int_equal(ping_engine_settled(&g), 0);
	assert_int_equal(ping_engine_settled(&g), PING_NONE);
	ping_engine_more(&g, 0, 1);
	assert_int_equal(ping_engine_next(&g, NS_PER_S, &wake), 0);
	ping_engine_refuse(&g, ping_engine_sent(&g, 0, NS_PER_S));
	assert_int_equal(ping_engine_settled(&g), 0);
	ping_engine_release(&g);
}

/** 1,000 nodes of 8 rails; @cross: every rail with every other. */
static json_t *thousand_nodes(int rails)
{
	json_t *nodes = json_array();

	for (int i = 0; i < 1000; i++) {
		json_t *list = json_array();
		char name[16];

		for (int r = 0; r < rails; r++) {
			char addr[32], rail[8];

			snprintf(addr, sizeof(addr), "10.%d.%d.%d/16", r + 1,
				 i / 250, i % 250 + 1);
			snprintf(rail, sizeof(rail), "eth%d", r);
			json_array_append_new(
				list, json_pack("{s:s,s:s,s:i}", "name", rail,
						"addr", addr, "mtu_B", 9000));
		}
		snprintf(name, sizeof(name), "n%d", i);
		json_array_append_new(
			nodes,
			json_pack("{s:s,s:{s:o},s:{s:s,s:i}}", "name", name,
				  "inventory", "interfaces", list, "ready",
				  "key", "00112233445566778899aabbccddeeff",
				  "udp4", 4000));
	}
	return nodes;
}

static long rss_KiB(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/** What is promised of a large run: the pace of a node and its memory. */
static void a_thousand_nodes_keep_the_pace(void **state)
{
	const size_t paths = 8 * 999;
	struct ping_engine g = engine(paths);
	struct net n = { 0 };

	(void)state;
	run(&g, &n);
	assert_int_equal(n.sent, 5 * paths);
	assert_true(n.peak <= PING_RATE + PING_RATE / 100);
	assert_true(n.end_ns < 10 * NS_PER_S);
	print_message("1,000 nodes of 8 rails: at most %zu probes a second and "
		      "node, %.1f s\n", n.peak, (double)n.end_ns * 1e-9);
	ping_engine_release(&g);
}

static void the_dark_keeps_the_pace_too(void **state)
{
	const size_t paths = 8 * 999;
	struct ping_engine g = engine(paths);
	struct net n = { .loses = loses_all };

	(void)state;
	run(&g, &n);
	assert_true(n.peak <= PING_RATE + PING_RATE / 100);
	assert_true(n.end_ns <= ping_rules_budget_ns(&g.rules, paths));
	ping_engine_release(&g);
}

static json_int_t planned(const json_t *plan, const char *member)
{
	return json_integer_value(json_object_get(
		json_object_get(json_object_get(plan, "run"), "planned"),
		member));
}

/** All to all where that is asked for; else groups of 32 at most, and two pairs
 *  of nodes between each two of them. */
static void the_plan_of_a_thousand_nodes(void **state)
{
	const json_int_t groups = 32;
	struct spec s;
	json_t *nodes = thousand_nodes(8), *plan, *tell;
	struct err e = { 0 };
	size_t i, most = 0, all = 0;

	(void)state;
	spec_init(&s);
	plan = ping_plan(nodes, &s, &e);
	assert_non_null(plan);
	assert_int_equal(planned(plan, "groups"), groups);
	/* 24 groups of 31, 8 of 32 */
	assert_int_equal(planned(plan, "cells"),
			 8 * (24 * 31 * 30 + 8 * 32 * 31 +
			      groups * (groups - 1) * 2));
	json_array_foreach(json_object_get(plan, "tell"), i, tell) {
		size_t bytes = json_dumpb(tell, NULL, 0, JSON_COMPACT);

		most = bytes > most ? bytes : most;
		all += bytes;
	}
	print_message("told: %zu KiB at most, %zu MiB in all\n", most >> 10,
		      all >> 20);
	assert_true(most < 64 << 10);
	json_decref(plan);
	/* no node sends so much that all of them are too many */
	assert_true(ping_rules_for(&s, 1000, 256).gap_ns >=
		    1000 * NS_PER_S / PING_FLEET_RATE);
	assert_true(ping_rules_for(&s, 16, 256).gap_ns ==
		    NS_PER_S / PING_RATE);

	if (!SANITIZED) {	/* they keep books of their own, and slowly */
		s.all_pairs = true;
		plan = ping_plan(nodes, &s, &e);
		assert_non_null(plan);
		assert_int_equal(planned(plan, "cells"), 8 * 1000 * 999);
		json_decref(plan);
		print_message("plan of 1,000 nodes of 8 rails: %ld KiB\n",
			      rss_KiB());
		assert_true(rss_KiB() < 64 * 1024);
	}
	json_decref(nodes);
}

/** Who is on whose list is on theirs, everybody has somebody in another group,
 *  and another seed has others. */
static void lists_are_mutual(void **state)
{
	static const int sizes[] = { 1, 2, 31, 32, 33, 64, 65, 100, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) - SANITIZED;
	     i++) {
		struct pinglist l = pinglist_make(sizes[i], false, 7);
		struct pinglist other = pinglist_make(sizes[i], false, 8);
		int differ = 0, most = 0;

		for (int a = 0; a < l.nodes; a++) {
			int beyond = 0;

			for (int b = 0; b < l.nodes; b++) {
				bool has = pinglist_has(&l, a, b);

				assert_int_equal(has, pinglist_has(&l, b, a));
				differ += has != pinglist_has(&other, a, b);
				beyond += has;
			}
			most = beyond > most ? beyond : most;
		}
		assert_int_equal(l.groups, (sizes[i] + 31) / 32);
		assert_int_equal(differ > 0, l.groups > 1);
		assert_true(most <= 32 + 2 * PINGLIST_PAIRS *
					    (1 + l.groups / 31));
		if (l.groups == 1) {
			assert_int_equal(most, l.nodes);
		}
	}
	assert_true(pinglist_has(&(struct pinglist){ .nodes = 99, .groups = 1 },
				 3, 98));
}

static void a_plan_that_no_message_holds(void **state)
{
	struct err e = { 0 };
	struct spec s;
	json_t *nodes;

	(void)state;
	if (SANITIZED) {	/* a list that grows is copied each time */
		return;
	}
	nodes = thousand_nodes(60);
	spec_init(&s);
	s.all_pairs = true;
	assert_null(ping_plan(nodes, &s, &e));
	assert_non_null(strstr(e.text, "60000 addresses"));
	assert_non_null(strstr(e.hint, "--subnet"));
	print_message("%s\n", e.text);
	json_decref(nodes);
}

/** What came while we did not run may be gone: no loss; what is lost when we
 *  listen is one. */
static void what_nobody_heard_is_not_lost(void **state)
{
	struct ping_engine g = engine(2);
	int64_t wake, now = 0;
	uint32_t serial;

	(void)state;
	g.rules.count = 1;
	g.flows[0].todo = g.flows[1].todo = 1;
	ping_engine_start(&g, now);
	assert_int_equal(ping_engine_next(&g, now, &wake), 0);
	ping_engine_sent(&g, 0, now);
	ping_engine_deaf(&g);
	now += 10 * NS_PER_MS;
	assert_int_equal(ping_engine_next(&g, now, &wake), 1);
	ping_engine_sent(&g, 1, now);
	now += 2 * NS_PER_S;
	/* both are tried again; one of them does not count */
	assert_int_equal(ping_engine_next(&g, now, &wake), 0);
	assert_int_equal(g.flows[0].sent, 0);
	assert_int_equal(g.flows[1].sent, 1);
	assert_true(g.flows[0].starved && !g.flows[1].starved);
	serial = ping_engine_sent(&g, 0, now);
	/* what has waited longer than it was away has a wrong clock */
	assert_int_equal(ping_engine_answer(&g, serial, now + 7, 9), 0);
	assert_true(g.flows[0].rtt_sum_ns > 6 && g.flows[0].rtt_sum_ns < 8);
	assert_int_equal(g.flows[0].sent, 1);
	assert_int_equal(g.flows[0].received, 1);
	/* one that was not taken is not taken back twice */
	now += 10 * NS_PER_MS;
	assert_int_equal(ping_engine_next(&g, now, &wake), 1);
	ping_engine_sent(&g, 1, now);
	ping_engine_unsent(&g, 1);
	ping_engine_deaf(&g);
	ping_engine_next(&g, now + 2 * NS_PER_S, &wake);
	assert_int_equal(g.flows[1].sent, 1);
	ping_engine_release(&g);
}

static void the_mtu_is_found(void **state)
{
	static const int truths[] = { 1280, 1500, 1501, 4092, 8999, 9000 };

	(void)state;
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		struct ping_mtu m;
		int steps = 0, size;

		ping_mtu_init(&m, 84, 9000, 9000);
		while ((size = ping_mtu_next(&m)) > 0) {
			ping_mtu_result(&m, size <= truths[i]);
			assert_true(++steps < 24);
		}
		assert_int_equal(m.passes, truths[i]);
	}
}

static void answers_to_strangers_have_a_limit(void **state)
{
	struct ping_echo b = { .tokens = PING_ECHO_BURST };
	size_t given = 0;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		given += ping_echo_take(&b, i * NS_PER_US);
	}
	assert_true(given <= PING_ECHO_BURST + PING_ECHO_RATE + 1);
	assert_true(given >= PING_ECHO_RATE);
}

/** By default: one packet where all is well; where not, no long search, and
 *  what was lost by chance passes in the end. */
static void the_mtu_is_checked(void **state)
{
	static const struct {
		int32_t truth, found;
		int tries, lost;
	} cases[] = {
		{ .truth = 9000, .found = 9000, .tries = 1 },
		{ .truth = 9000, .found = 9000, .tries = 7, .lost = 1 },
		{ .truth = 9000, .found = 9000, .tries = 3, .lost = 2 },
		{ .truth = 1500, .found = 1500, .tries = 6 },
		{ .truth = 1504, .found = 1500, .tries = 6 },
		{ .truth = 600, .found = 84, .tries = 3 },
		{ .truth = 8999, .found = 4092, .tries = 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ping_mtu m;
		int32_t size;
		int tries = 0;

		ping_mtu_init(&m, 84, 9000, 9000);
		m.check = true;
		while ((size = ping_mtu_next(&m)) > 0) {
			ping_mtu_result(&m, tries++ >= cases[i].lost &&
						    size <= cases[i].truth);
		}
		assert_int_equal(m.passes, cases[i].found);
		assert_int_equal(tries, cases[i].tries);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_well),
		cmocka_unit_test(the_dark_takes_two_timeouts),
		cmocka_unit_test(a_lost_one_is_sent_again),
		cmocka_unit_test(answers_count_once_and_in_time),
		cmocka_unit_test(a_path_is_given_up_and_taken_up),
		cmocka_unit_test(a_thousand_nodes_keep_the_pace),
		cmocka_unit_test(the_dark_keeps_the_pace_too),
		cmocka_unit_test(the_plan_of_a_thousand_nodes),
		cmocka_unit_test(lists_are_mutual),
		cmocka_unit_test(what_nobody_heard_is_not_lost),
		cmocka_unit_test(a_plan_that_no_message_holds),
		cmocka_unit_test(the_mtu_is_found),
		cmocka_unit_test(the_mtu_is_checked),
		cmocka_unit_test(answers_to_strangers_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
