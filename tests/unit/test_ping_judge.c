/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/ping/private.h"

/** Two nodes, one address each. */
static struct ping_node nodes[] = {
	{ .name = "n1", .here = true, .first = 0, .n = 1 },
	{ .name = "n2", .here = true, .first = 1, .n = 1 },
};
static struct ping_end ends[] = {
	{ .node = 0, .at = { .name = "eth0", .mtu_B = 9000, .state = "up",
			     .net = { .ip = { .family = AF_INET,
					      .bytes = { 10, 1, 0, 1 } },
				      .prefix = 24 } } },
	{ .node = 1, .at = { .name = "eth0", .mtu_B = 9000, .state = "up",
			     .net = { .ip = { .family = AF_INET,
					      .bytes = { 10, 1, 0, 2 } },
				      .prefix = 24 } } },
};
static struct ping_mesh mesh = {
	.nodes = nodes, .ends = ends, .n_nodes = 2, .n_ends = 2,
};

/** The code of a path of which this was seen; its sentence holds @said. */
static const char *code(enum ping_method method, uint16_t received,
			const struct ping_sights *sights, enum outcome outcome,
			const char *said)
{
	static struct ping_row row;
	const struct ping_flow flow = {
		.sent = 5, .received = received, .rtt_sum_ns = 1e6,
	};
	const struct ping_case c = {
		.mesh = &mesh, .src = 0, .dst = 1, .method = method,
		.own_port = true, .flow = &flow, .sights = sights,
	};

	record_init(&schema_ping, &row);
	ping_judge(&c, &row);
	assert_int_equal(row.outcome, outcome);
	assert_int_equal(row.sent, 5);
	assert_true(received > 0 || row.rtt_avg_us != row.rtt_avg_us);
	if (!strstr(row.detail, said)) {
		fail_msg("no '%s' in '%s'", said, row.detail);
	}
	return row.code;
}

#define IS(method, received, outcome, wanted, said, ...) \
	assert_string_equal(code(method, received, \
				 &(struct ping_sights){ __VA_ARGS__ }, \
				 outcome, said), wanted)

static const struct ip_addr router = {
	.family = AF_INET, .bytes = { 10, 1, 0, 254 },
};
static const struct ip_addr self = {
	.family = AF_INET, .bytes = { 10, 1, 0, 1 },
};

static void answers(void **state)
{
	(void)state;
	IS(PING_RAW, 5, OUTCOME_OK, "", "", 0);
	IS(PING_RAW, 4, OUTCOME_OK, PING_LOSS, "1 of 5", 0);
	IS(PING_RAW, 0, OUTCOME_TIMEOUT, PING_NO_REPLY, "10.1.0.2", 0);
	IS(PING_RAW, 5, OUTCOME_OK, PING_FLUX, "ARP",
	   .owner = OWNER_FLUX);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_DUPLICATE, "no node of this run",
	   .owner = OWNER_OTHER, .owner_node = -1);
	/* it answers: no accusation, and over UDP a proof */
	IS(PING_RAW, 5, OUTCOME_OK, PING_FOREIGN, "no node of this run",
	   .owner = OWNER_OTHER, .owner_node = -1);
	IS(PING_UDP, 5, OUTCOME_OK, "", "",
	   .owner = OWNER_OTHER, .owner_node = -1);
	IS(PING_RAW, 5, OUTCOME_ERROR, PING_DUPLICATE, "that of n1",
	   .owner = OWNER_OTHER, .owner_node = 0);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_WRONG, "came from 10.1.0.254",
	   .wrong = true, .wrong_by = router);
	/* the right one answers too: not worth a word */
	IS(PING_RAW, 5, OUTCOME_OK, "", "", .wrong = true,
	   .wrong_by = router);
}

static void errors(void **state)
{
	(void)state;
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_ICMP,
	   "10.1.0.254 reports \"net unreachable\"", .icmp = true,
	   .icmp_by = router, .icmp_type = 3, .icmp_code = 0);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_ARP, "ARP", .icmp = true,
	   .icmp_by = self, .icmp_type = 3, .icmp_code = 1);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_ARP, "ARP",
	   .owner = OWNER_NOBODY);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_NEIGH_FULL, "gc_thresh3",
	   .send_code = ENOBUFS);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_NO_ROUTE, "unreachable",
	   .send_code = ENETUNREACH);
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_FILTERED, "ICMP is filtered",
	   .traced_back = true);
	IS(PING_UDP, 0, OUTCOME_SKIPPED, PING_ECHO_GONE, "agent has ended",
	   .icmp = true, .icmp_by = router, .icmp_type = 3, .icmp_code = 3);
	IS(PING_UDP, 0, OUTCOME_SKIPPED, "agent_missing", "n2",
	   .no_door = true);
	IS(PING_RAW, 5, OUTCOME_ERROR, PING_MTU, "1500", .mtu_B = 1500);
	IS(PING_RAW, 5, OUTCOME_OK, "", "", .mtu_B = 9000);
}

/** A filter on the way out: the packet never left, whatever else is seen. */
static void what_the_sender_rejects(void **state)
{
	(void)state;
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_SENDER,
	   "filter of n1 rejects what it sends to 10.1.0.2",
	   .send_code = EPERM);
	/* "reject" sends an error as well, from the own address */
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_SENDER, "filter of n1",
	   .send_code = EPERM, .icmp = true, .icmp_by = self, .icmp_type = 3,
	   .icmp_code = 3);
	IS(PING_UDP, 0, OUTCOME_ERROR, PING_SENDER, "filter of n1",
	   .send_code = EPERM, .owner = OWNER_NOBODY);
	IS(PING_RAW, 3, OUTCOME_OK, PING_LOSS, "a packet filter of the sender",
	   .send_code = EPERM);
}

/** A fault on the own wire; what need not be, to another. */
static void without_a_route(void **state)
{
	(void)state;
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_NO_ROUTE,
	   "no route of n1 leads to 10.1.0.2 through eth0", .unrouted = true);
	ends[1].segment = ends[1].rail = 1;
	IS(PING_RAW, 0, OUTCOME_SKIPPED, PING_NO_ROUTE, "no route of n1",
	   .unrouted = true);
	/* where each has a segment of its own, rails are wires */
	mesh.by_rail = true;
	IS(PING_RAW, 0, OUTCOME_SKIPPED, PING_NO_ROUTE, "", .unrouted = true);
	ends[1].rail = 0;
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_NO_ROUTE, "", .unrouted = true);
	mesh.by_rail = false;
	ends[1].segment = 0;
}

static void on_the_wire_of_another_interface(void **state)
{
	(void)state;
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_ARP,
	   "ARP or ND for 10.1.0.2; it answers on eth0", .found_on = 1,
	   .owner = OWNER_NOBODY);
	IS(PING_RAW, 0, OUTCOME_TIMEOUT, PING_NO_REPLY, "; it answers on eth0",
	   .found_on = 1, .owner = OWNER_FLUX);
	IS(PING_RAW, 5, OUTCOME_OK, "", "", .found_on = 1);
}

static void what_was_never_sent(void **state)
{
	const struct ping_flow flow = { .sent = 0 };
	const struct ping_sights sights = { .send_code = EAGAIN };
	const struct ping_case c = {
		.mesh = &mesh, .src = 0, .dst = 1, .method = PING_RAW,
		.flow = &flow, .sights = &sights,
	};
	struct ping_row row;

	(void)state;
	record_init(&schema_ping, &row);
	ping_judge(&c, &row);
	assert_int_equal(row.outcome, OUTCOME_SKIPPED);
	assert_string_equal(row.code, PING_UNSENT);
	/* and what was, while nobody listened */
	ping_judge(&(struct ping_case){
		.mesh = &mesh, .src = 0, .dst = 1, .method = PING_RAW,
		.flow = &(struct ping_flow){ .starved = true },
		.sights = &(struct ping_sights){ 0 } }, &row);
	assert_int_equal(row.outcome, OUTCOME_NOT_RUN);
	assert_string_equal(row.code, RECORD_STARVED);
	/* one that left, and no answer, is silence */
	IS(PING_RAW, 0, OUTCOME_TIMEOUT, PING_NO_REPLY, "none of 5",
	   .send_code = EAGAIN);
}

static void interfaces_that_are_down(void **state)
{
	(void)state;
	STR_COPY(ends[1].at.state, "down");
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_IF_DOWN, "eth0 of n2 is down", 0);
	STR_COPY(ends[0].at.state, "no_carrier");
	IS(PING_RAW, 0, OUTCOME_ERROR, PING_IF_DOWN,
	   "eth0 of n1 is without a link", 0);
	/* what answers is up, whatever it was when it was looked at */
	IS(PING_RAW, 5, OUTCOME_OK, "", "", 0);
	STR_COPY(ends[0].at.state, "up");
	STR_COPY(ends[1].at.state, "up");
}

static void connections(void **state)
{
	(void)state;
	IS(PING_TCP, 1, OUTCOME_OK, PING_TCP_OPEN, "", .connected = true);
	IS(PING_TCP, 1, OUTCOME_ERROR, PING_TCP_CLOSED, "a firewall?",
	   .refused_code = ECONNREFUSED);
	IS(PING_TCP, 0, OUTCOME_TIMEOUT, PING_TCP_SILENT, "filtered", 0);
	IS(PING_TCP, 0, OUTCOME_ERROR, PING_NO_ROUTE, "No route to host",
	   .refused_code = EHOSTUNREACH);
	IS(PING_TCP, 0, OUTCOME_ERROR, PING_ARP, "answers ARP",
	   .refused_code = EHOSTUNREACH, .owner = OWNER_NOBODY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(errors),
		cmocka_unit_test(what_the_sender_rejects),
		cmocka_unit_test(without_a_route),
		cmocka_unit_test(on_the_wire_of_another_interface),
		cmocka_unit_test(what_was_never_sent),
		cmocka_unit_test(interfaces_that_are_down),
		cmocka_unit_test(connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
