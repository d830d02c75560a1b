/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probes/host/port.h"

static void lists_of_the_kernel(void **state)
{
	cpu_set_t set;

	(void)state;
	assert_int_equal(pin_parse("0-3,8,10-11", &set), 7);
	assert_true(CPU_ISSET(3, &set) && CPU_ISSET(8, &set) &&
		    CPU_ISSET(11, &set));
	assert_false(CPU_ISSET(4, &set) || CPU_ISSET(9, &set));
	assert_int_equal(pin_parse("5", &set), 1);
	assert_int_equal(pin_parse("", &set), 0);
}

static void what_is_no_list(void **state)
{
	static const char *const bad[] = {
		"x",	"1-",	"-3",	 "4-2",	  "1,,2",  "1,",
		"1 2",	"0-1-2", "99999", "0-99999", "99999999999999999999",
	};
	cpu_set_t set;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(pin_parse(bad[i], &set), -1);
		assert_int_equal(CPU_COUNT(&set), 0);
	}
}

static void an_unknown_device_changes_nothing(void **state)
{
	cpu_set_t before, after;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	pin_to_device("ffff:ff:1f.7");
	pin_to_device("../../../etc");
	pin_to_hca("no_such_hca");
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_the_kernel),
		cmocka_unit_test(what_is_no_list),
		cmocka_unit_test(an_unknown_device_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
