/* SPDX-License-Identifier: BSD-3-Clause */
/* What an interface has counted, below a root in the form of the kernel's. */
#include <stdlib.h>

#include "lib/base/clock.h"
#include "probes/engine/coord/agents.h"
#include "probes/host/port.h"
#include "tests/unit/tree.h"

#define ETH "/sys/class/net/eth0/"

static char root[] = "/tmp/gpucheck-link.XXXXXX";
static const struct interface eth0 = {
	.name = "eth0", .mac = { 2, 0x42, 10, 0, 0, 0xff }, .mac_len = 6
};

static int make_tree(void **state)
{
	(void)state;
	if (!mkdtemp(root)) {
		return -1;
	}
	tree_file(root, ETH "address", "02:42:0a:00:00:ff\n");
	tree_file(root, ETH "carrier_changes", "3\n");
	tree_file(root, ETH "statistics/rx_errors", "18446744073709551616\n");
	tree_file(root, ETH "statistics/tx_errors", "-1\n");
	tree_file(root, ETH "statistics/rx_dropped", "7\n");
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	return tree_remove(root);
}

static void counts_are_read(void **state)
{
	static const int64_t want[LINK_COUNTS] = { 3, -1, -1, 7, -1 };
	int64_t c[LINK_COUNTS];

	(void)state;
	link_counts_read(root, &eth0, c);
	assert_memory_equal(c, want, sizeof(want));
}

/* of the same name, in another namespace */
static void another_interface_is_not_read(void **state)
{
	struct interface other = eth0, none = { .name = "eth1" };
	int64_t c[LINK_COUNTS];

	(void)state;
	other.mac[5]++;
	link_counts_read(root, &other, c);
	assert_int_equal(c[0], -1);
	link_counts_read(root, &none, c);
	assert_int_equal(c[0], -1);
}

static void growth_is_told(void **state)
{
	static const struct {
		int64_t before[LINK_COUNTS], now[LINK_COUNTS];
		const char *text;
		bool flapped;
	} cases[] = {
		{ { 3, 0, 0, 7, 0 }, { 3, 0, 0, 7, 0 }, "", false },
		{ { 3, 0, 0, 7, 0 }, { 5, 0, 1, 9, 0 },
		  "carrier_changes +2, tx_errors +1, rx_dropped +2", true },
		{ { 3, 4, 0, 7, 0 }, { 3, 6, 0, 0, 0 },
		  "rx_errors +2", false },
		/* what was not known has not grown */
		{ { -1, -1, -1, -1, -1 }, { 3, 0, 1, 7, 0 }, "",
		  false },
		{ { 3, 1, 0, 7, 0 }, { -1, -1, -1, -1, -1 }, "",
		  false },
	};
	char buf[200], tiny[8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(link_counts_grown(cases[i].before,
						   cases[i].now, buf,
						   sizeof(buf)),
				 cases[i].flapped);
		assert_string_equal(buf, cases[i].text);
	}
	assert_true(link_counts_grown(cases[1].before, cases[1].now, tiny,
				      sizeof(tiny)));
	assert_string_equal(tiny, "carrier");
}

/** A flap that an agent was heard after did it no harm; all agents share what
 *  is read of the interface that they come to. */
static void what_is_counted_until_one_is_heard_did_no_harm(void **state)
{
	struct own_port port = { .at = eth0 };
	int64_t silent[LINK_COUNTS], heard[LINK_COUNTS];

	(void)state;
	own_link_note(&port, silent, root, NS_PER_S);
	own_link_note(&port, heard, root, NS_PER_S);
	tree_file(root, ETH "carrier_changes", "5\n");
	own_link_note(&port, heard, root, NS_PER_S + 1);
	assert_int_equal(heard[0], 3);
	own_link_note(&port, heard, root, 2 * NS_PER_S);
	assert_int_equal(heard[0], 5);
	assert_int_equal(silent[0], 3);
	own_link_note(NULL, heard, root, 2 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_read),
		cmocka_unit_test(another_interface_is_not_read),
		cmocka_unit_test(growth_is_told),
		cmocka_unit_test(
			what_is_counted_until_one_is_heard_did_no_harm),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
