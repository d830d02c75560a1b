/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/plan/layout.h"

static void add(json_t *facts, const char *scope, const char *fact,
		const char *value)
{
	json_array_append_new(facts, json_pack("{s:s,s:s,s:s}", "scope", scope,
					       "fact", fact, "value", value));
}

/** Two rails, of which the second is two ports in one, and storage. */
static const struct rail_nic nics[] = {
	{ .name = "a", .rail = 0 },
	{ .name = "b+c", .rail = 1 },
	{ .name = "s", .rail = 2, .group = 1 },
};

static void a_node_says(void **state)
{
	static const struct {
		const char *fact[3][3];
		int says;
	} cases[] = {
		{ { { "a", "no_route_to", "b c" } }, -1 },
		{ { { "a", "no_route_to", "b c" },
		    { "c", "no_route_to", "a" } }, -1 },
		/* one way is a way */
		{ { { "a", "no_route_to", "b" }, { "a", "route_to", "c" } },
		  1 },
		/* a rail may reach itself, and storage everybody */
		{ { { "a", "no_route_to", "b" }, { "b", "route_to", "c" },
		    { "s", "route_to", "a b c" } }, -1 },
		/* what is no rail, and what is no route */
		{ { { "x", "no_route_to", "a b c" } }, 0 },
		{ { { "a", "no_route_to", "x bc" } }, 0 },
		{ { { "a", "route", "b" }, { "a", "", "b" } }, 0 },
		{ { { "a", "no_route_to", "" } }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *facts = json_array();

		for (int k = 0; k < 3 && cases[i].fact[k][0]; k++) {
			add(facts, cases[i].fact[k][0], cases[i].fact[k][1],
			    cases[i].fact[k][2]);
		}
		assert_int_equal(rails_hear(facts, nics, 3), cases[i].says);
		assert_int_equal(rails_hear(NULL, nics, 3), 0);
		json_decref(facts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
