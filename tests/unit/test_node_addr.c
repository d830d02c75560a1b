/* SPDX-License-Identifier: BSD-3-Clause */
/* Which address of a node comes first: the one that Slurm has for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probes/engine/agent/agent.h"

static void slurms_words(void **state)
{
	static const struct {
		const char *text, *host;	/* NULL: none */
	} cases[] = {
		/* Slurm 22.05, in one line and in several */
		{ "NodeName=gcn1 Arch=x86_64 CoresPerSocket=1 Gres=gpu:8 "
		  "NodeAddr=10.99.0.11 NodeHostName=gcn1 Version=22.05.8\n",
		  "10.99.0.11" },
		{ "NodeName=n1\n   NodeAddr=n1-ib.cluster NodeHostName=n1\n",
		  "n1-ib.cluster" },
		{ "NodeAddr=fd00::1", "fd00::1" },
		{ "Comment=MyNodeAddr=1.2.3.4 NodeAddr=5.6.7.8", "5.6.7.8" },
		{ "NodeName=n1 XNodeAddr=1.2.3.4", NULL },
		{ "NodeAddr= NodeHostName=gcn1", NULL },
		{ "Node gcn1 not found", NULL },
		{ "", NULL },
	};
	char host[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool has = node_addr_parse(cases[i].text, host, sizeof(host));

		assert_int_equal(has, cases[i].host != NULL);
		if (has) {
			assert_string_equal(host, cases[i].host);
		}
	}
	assert_false(node_addr_parse("NodeAddr=12345678", host, 8));
}

static struct boot_contact three(void)
{
	return (struct boot_contact){ .n_addrs = 3, .addrs = {
		"10.0.0.1:7000", "10.1.0.1:7000", "[fd00::1]:7000" } };
}

static void it_comes_first_and_once(void **state)
{
	struct boot_contact c = three();

	(void)state;
	node_addr_prefer(&c, "10.1.0.1");
	assert_int_equal(c.n_addrs, 3);
	assert_string_equal(c.addrs[0], "10.1.0.1:7000");
	assert_string_equal(c.addrs[1], "10.0.0.1:7000");
	assert_string_equal(c.addrs[2], "[fd00::1]:7000");
	node_addr_prefer(&c, "fd00::1");
	assert_string_equal(c.addrs[0], "[fd00::1]:7000");
	assert_string_equal(c.addrs[2], "10.0.0.1:7000");
	/* not one of its interfaces: behind a translation of addresses */
	node_addr_prefer(&c, "192.0.2.7");
	assert_int_equal(c.n_addrs, 4);
	assert_string_equal(c.addrs[0], "192.0.2.7:7000");
	assert_string_equal(c.addrs[3], "10.0.0.1:7000");
}

static void a_name_that_leads_to_loopback_says_nothing(void **state)
{
	static const char *const none[] = { "127.0.1.1", "::1", "localhost",
					    "nobody.invalid", "a b", "" };
	const struct boot_contact before = three();
	struct boot_contact c = before;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		node_addr_prefer(&c, none[i]);
		assert_memory_equal(&c, &before, sizeof(c));
	}
}

static void there_is_room_for_it(void **state)
{
	struct boot_contact c = { .n_addrs = NET_MAX_ADDRS };

	(void)state;
	for (int i = 0; i < NET_MAX_ADDRS; i++) {
		snprintf(c.addrs[i], sizeof(c.addrs[i]), "10.0.0.%d:7", i);
	}
	node_addr_prefer(&c, "192.0.2.7");
	assert_int_equal(c.n_addrs, NET_MAX_ADDRS);
	assert_string_equal(c.addrs[0], "192.0.2.7:7");
	assert_string_equal(c.addrs[NET_MAX_ADDRS - 1], "10.0.0.30:7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slurms_words),
		cmocka_unit_test(it_comes_first_and_once),
		cmocka_unit_test(a_name_that_leads_to_loopback_says_nothing),
		cmocka_unit_test(there_is_room_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
