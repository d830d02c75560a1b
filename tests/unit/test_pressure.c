/* SPDX-License-Identifier: BSD-3-Clause */
/* What a machine says of how busy it is, below a root of ours. */
#include <stdlib.h>

#include "probes/host/sysfile.h"
#include "tests/unit/tree.h"

static char root[] = "/tmp/gpucheck-press.XXXXXX";

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	return tree_remove(root);
}

static void is_pressure_or_load(void **state)
{
	char buf[120], tiny[10];

	(void)state;
	pressure_text(root, buf, sizeof(buf));
	assert_string_equal(buf, "");
	assert_int_equal(pressure_waited_ns(root), -1);
	tree_file(root, "/proc/loadavg", "12.30 9.00 8.00 3/400 1\n");
	tree_file(root, "/proc/pressure/memory", "some avg10=lots\n");
	pressure_text(root, buf, sizeof(buf));
	assert_int_equal(strncmp(buf, "load 12.30 on ", 14), 0);
	tree_file(root, "/proc/pressure/cpu",
		  "some avg10=34.08 avg60=33.14 avg300=39.47 total=2093\n"
		  "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	tree_file(root, "/proc/pressure/io",
		  "some avg10=1.20 avg60=0.00 avg300=0.00 total=0\n");
	pressure_text(root, buf, sizeof(buf));
	assert_string_equal(buf, "waited in the last 10 s: cpu 34.08 %, "
				 "io 1.20 %");
	assert_int_equal(pressure_waited_ns(root), 2093000);
	tree_file(root, "/proc/pressure/cpu",
		  "some avg10=34.08 total=\nfull avg10=0.00 total=7\n");
	assert_int_equal(pressure_waited_ns(root), -1);
	pressure_text(root, tiny, sizeof(tiny));
	assert_string_equal(tiny, "waited in");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_pressure_or_load),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
