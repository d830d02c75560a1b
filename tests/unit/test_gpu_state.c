/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel logs about GPUs, and what has grown during a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/facts.h"
#include "probes/gpu_state.h"

static const struct {
	const char *line;
	const char *bus;	/* NULL: no Xid */
	int xid;
} lines[] = {
	{ "", NULL, 0 },
	{ "4,1,2,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=7, GPU has fallen off",
	  "0000:1b:00", 79 },
	{ "4,1,2,-;NVRM: Xid (PCI:0000:1B:00): 31, pid='<unknown>'",
	  "0000:1b:00", 31 },
	{ "NVRM: Xid (PCI:0001:00:00): 94, Contained: SM", "0001:00:00", 94 },
	{ "NVRM: Xid (PCI:0000:1b:00): no number", NULL, 0 },
	{ "NVRM: Xid (PCI:0000:1b:00): 79", NULL, 0 },
	{ "NVRM: Xid (PCI:): 79, ", NULL, 0 },
	{ "NVRM: loading NVIDIA UNIX Open Kernel Module", NULL, 0 },
};

static void xids_are_read(void **state)
{
	char bus[32];
	int xid;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(gpu_xid_parse(lines[i].line, bus, &xid),
				 lines[i].bus != NULL);
		if (lines[i].bus != NULL) {
			assert_string_equal(bus, lines[i].bus);
			assert_int_equal(xid, lines[i].xid);
		}
	}
}

static const struct {
	const char *scope, *fact, *before, *after;
	const char *growth;	/* NULL: none is told */
} counters[] = {
	{ "gpu0", "xids", "3", "5", "2" },
	{ "gpu1", "xids", "0", "0", NULL },
	{ "gpu0", "nvlink_replays", "18446744073709551615", "1", NULL },
	{ "gpu0", "rows_remapped", "7", "6", NULL },	/* reset meanwhile */
	{ "gpu0", "ecc_corrected", "1", "9", NULL },
	{ "gpu1", "ecc_uncorrected", NULL, "1", NULL },
	{ "gpu1", "thermal_throttle", "10", "1000010", "1000000" },
	{ "gpu0", "uuid", "1", "2", NULL },
};

static void growth_is_told(void **state)
{
	json_t *before = json_array(), *after = json_array();
	json_t *out = json_array();
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (counters[i].before != NULL) {
			facts_add(before, counters[i].scope, counters[i].fact,
				  counters[i].before, "", "test");
		}
		facts_add(after, counters[i].scope, counters[i].fact,
			  counters[i].after, "", "test");
	}
	gpu_growth_facts(before, after, out);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		json_t *f = json_array_get(out, n);
		char name[64];

		if (counters[i].growth == NULL) {
			continue;
		}
		snprintf(name, sizeof(name), "%s_growth", counters[i].fact);
		assert_string_equal(
			json_string_value(json_object_get(f, "scope")),
			counters[i].scope);
		assert_string_equal(
			json_string_value(json_object_get(f, "fact")), name);
		assert_string_equal(
			json_string_value(json_object_get(f, "value")),
			counters[i].growth);
		n++;
	}
	assert_int_equal(json_array_size(out), n);
	json_decref(before);
	json_decref(after);
	json_decref(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xids_are_read),
		cmocka_unit_test(growth_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
