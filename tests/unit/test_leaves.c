/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/plan/layout.h"
#include "tests/layout.h"

/** Three nodes of two GPUs with a NIC each, on no leaf so far. */
static struct leaves make(struct layout *l)
{
	static const char *const names[] = { "n1", "n2", "n3" };
	static const char *const nics[] = { "m0", "m1", "m0", "m1", "m0",
					    "m1+m2" };
	const int two[] = { 2, 2, 2 };

	assert_int_equal(layout_of(l, 3, names, two, two), 0);
	return (struct leaves){ .layout = l, .nics = nics };
}

static void read_text(struct leaves *v, const char *text)
{
	assert_int_equal(leaves_read(v, text, strlen(text)), 0);
}

static void hear(struct leaves *v, int node, const char *nic,
		 const char *name)
{
	json_t *facts = json_pack("[{s:s,s:s,s:s},{s:s,s:s,s:s}]", "scope", nic,
				  "fact", "switch", "value", name, "scope", nic,
				  "fact", "switch_port", "value", "p1");

	assert_int_equal(leaves_hear(v, node, facts), 0);
	json_decref(facts);
}

static void crosses(const struct layout *l, int a, int b, bool does)
{
	assert_int_equal(layout_cross_leaves(l, a, b), does);
	assert_int_equal(layout_cross_leaves(l, b, a), does);
}

static void who_is_not_known_crosses(void **state)
{
	struct layout l;
	struct leaves v = make(&l);

	(void)state;
	crosses(&l, 0, 1, false);	/* inside a node */
	crosses(&l, 0, 2, true);
	read_text(&v, "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[8-9]\n");
	crosses(&l, 0, 2, true);	/* half of it is known */
	leaves_release(&v);
	layout_release(&l);
}

static void nodes_of_a_switch_do_not_cross(void **state)
{
	struct layout l;
	struct leaves v = make(&l);

	(void)state;
	read_text(&v, "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\n"
		      "SwitchName=top Switches=a,b\n");
	crosses(&l, 0, 3, false);
	crosses(&l, 0, 4, true);
	crosses(&l, 4, 5, false);
	leaves_release(&v);
	layout_release(&l);
}

static void rails_of_a_leaf_do_not_cross(void **state)
{
	struct layout l;
	struct leaves v = make(&l);

	(void)state;
	for (int node = 0; node < 3; node++) {
		hear(&v, node, "m0", "a");
		hear(&v, node, "m1", "b");
	}
	crosses(&l, 0, 2, false);
	crosses(&l, 1, 3, false);
	crosses(&l, 0, 3, true);
	hear(&v, 2, "m2", "a");		/* n3:1 has a port on each */
	crosses(&l, 3, 5, true);
	crosses(&l, 4, 0, false);
	leaves_release(&v);
	layout_release(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_not_known_crosses),
		cmocka_unit_test(nodes_of_a_switch_do_not_cross),
		cmocka_unit_test(rails_of_a_leaf_do_not_cross),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
