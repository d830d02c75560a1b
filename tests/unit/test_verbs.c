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
#include "probes/ib/gid.h"
#include "probes/host/pcie.h"
#include "probes/ib/ticket.h"
#include "probes/ib/words.h"

#define LINK_LOCAL { 0xfe, 0x80, [15] = 1 }
#define IPV6	   { 0x20, 0x01, [15] = 1 }
#define IPV4(last) { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (last) }

/** The choice of NCCL: IPv4 and RoCE v2, then IPv4, then the first one. */
static void gid_as_nccl(void **state)
{
	static const struct {
		struct gid_entry table[4];
		size_t n;
		int index;
	} cases[] = {
		{ { { 0, LINK_LOCAL, 1 }, { 1, LINK_LOCAL, 2 },
		    { 2, IPV4(1), 1 }, { 3, IPV4(1), 2 } }, 4, 3 },
		{ { { 0, LINK_LOCAL, 2 }, { 1, IPV4(1), 1 } }, 2, 1 },
		{ { { 0, IPV6, 2 }, { 5, IPV4(1), 2 }, { 7, IPV4(2), 2 } },
		  3, 5 },
		{ { { 2, LINK_LOCAL, 2 }, { 3, IPV6, 2 } }, 2, 2 },
		{ { { 0, LINK_LOCAL, 0 } }, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(gid_choose(cases[i].table, cases[i].n)->index,
				 cases[i].index);
	}
	assert_null(gid_choose(cases[0].table, 0));
	assert_int_equal(gid_parse_type("RoCE v2"), 2);
	assert_int_equal(gid_parse_type("IB/RoCE v1"), 1);
	assert_int_equal(gid_parse_type(""), 0);
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
		.qpn = 0xffffff, .psn = 1, .gid = IPV4(9), .mtu_B = 4096,
		.read_depth = 16, .data_addr = INT64_MAX, .data_key = 5,
		.box_addr = 4096, .box_key = UINT32_MAX,
	}, back;
	char text[2048], small[16];

	(void)state;
	assert_int_equal(verbs_ticket_format(&t, text, sizeof(text), NULL), 0);
	assert_int_equal(verbs_ticket_parse(text, &back, NULL), 0);
	assert_memory_equal(&t, &back, sizeof(t));
	assert_int_equal(verbs_ticket_format(&t, small, sizeof(small), NULL),
			 -1);
}

/* The first @from of a good ticket replaced by @to is none. */
static void strange_tickets(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "\"qpn\":1", "\"qpn\":16777216" },
		{ "\"mtu_B\":1024", "\"mtu_B\":8192" },
		{ "\"lid\":1", "\"lid\":-1" },
		{ "\"box_key\":1", "\"box_key\":\"1\"" },
		{ "\"gid\":\"00", "\"gid\":\"0x" },
		{ "\"gid\":\"00", "\"gid\":\"" },
		{ "\"name\":\"a\"", "\"name\":7" },
		{ "{", "[" },
	};
	struct verbs_ticket t = {
		.name = "a", .link_layer = "Ethernet", .lid = 1, .qpn = 1,
		.mtu_B = 1024, .box_key = 1,
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
		assert_non_null(verbs_call_name((enum verbs_call)call));
	}
}

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
		cmocka_unit_test(gid_as_nccl),
		cmocka_unit_test(gid_as_people_write_it),
		cmocka_unit_test(ticket_there_and_back),
		cmocka_unit_test(strange_tickets),
		cmocka_unit_test(words_of_failures),
		cmocka_unit_test(common_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
