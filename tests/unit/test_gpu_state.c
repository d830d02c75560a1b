/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel logs about GPUs, and what has grown during a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/host/gpu_state.h"
#include "probes/host/inventory.h"

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
	{ "gpu0", "thermal_throttle", "18446744073709551615", "1", NULL },
	{ "gpu1", "nvlink_replays", "0", "500", NULL },	/* links may differ */
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

static const struct {
	const char *before, *after;
	const char *growth;	/* what is told of it */
} links[] = {
	{ "0-17:0/0/0", "0-17:0/0/0", "" },
	{ "0-3:7/0/0", "0-2:7/0/0 3:9/1/0",
	  "nvlink_replays_growth=2 nvlink_recoveries_growth=1" },
	/* down: the others still count */
	{ "0-6:0/0/0 7:500/0/0", "0-5:0/0/0 6:0/0/4",
	  "nvlinks_lost_growth=1 nvlink_crc_errors_growth=4" },
	{ "0-3:0/0/0", "none", "nvlinks_lost_growth=4" },
	/* up: what it has counted is history */
	{ "0-6:0/0/0", "0-6:0/0/0 7:500/0/0", "" },
	{ "none", "0:1/1/1", "" },
	/* reset, not known, not to be read */
	{ "0:9/0/0", "0:1/0/0", "" },
	{ "0:9/-/0", "0:9/3/0", "" },
	{ "0:9/0", "0:10/0/0", "" },
	{ NULL, "0:10/0/0", "" },
};

static void links_are_compared_one_by_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		json_t *before = json_array(), *after = json_array();
		json_t *out = json_array(), *f;
		struct str told = STR_INIT;
		size_t k;

		if (links[i].before != NULL) {
			facts_add(before, "gpu1", "nvlinks_up",
				  links[i].before, "", "nvml");
		}
		facts_add(after, "gpu1", "nvlinks_up", links[i].after, "",
			  "nvml");
		gpu_growth_facts(before, after, out);
		json_array_foreach(out, k, f) {
			str_addf(&told, "%s%s=%s", k > 0 ? " " : "",
				 json_string_value(json_object_get(f, "fact")),
				 json_string_value(
					 json_object_get(f, "value")));
		}
		assert_string_equal(str_text(&told), links[i].growth);
		str_release(&told);
		json_decref(before);
		json_decref(after);
		json_decref(out);
	}
}

static const char *const not_links[] = {
	"", " ", "0", "0:1/2", "0:1/2/3 ", "18:0/0/0", "0-18:0/0/0", "x:0/0/0",
	"0:0/0/0x", "0:0/0/-1", "0:0/0/99999999999999999999", "-1:0/0/0",
};

static void links_are_written_and_read(void **state)
{
	struct gpu_links l = { .up = 0x3e0ff }, back;
	char buf[400], small[40];

	(void)state;
	l.counts[7][0] = 500;
	l.counts[8][0] = 1;	/* which is down */
	l.counts[17][2] = GPU_LINK_UNKNOWN;
	gpu_links_text(&l, buf, sizeof(buf));
	assert_string_equal(buf, "0-6:0/0/0 7:500/0/0 13-16:0/0/0 17:0/0/-");
	assert_int_equal(gpu_links_parse(buf, &back), 0);
	assert_int_equal(back.up, l.up);
	assert_memory_equal(back.counts[7], l.counts[7], sizeof(l.counts[7]));
	assert_int_equal(back.counts[17][2], GPU_LINK_UNKNOWN);
	/* no half of it where there is no room */
	assert_string_equal(gpu_links_text(&l, small, sizeof(small)),
			    "0-7:-/-/- 13-17:-/-/-");
	for (size_t i = 0; i < sizeof(not_links) / sizeof(not_links[0]); i++) {
		assert_int_equal(gpu_links_parse(not_links[i], &back), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xids_are_read),
		cmocka_unit_test(growth_is_told),
		cmocka_unit_test(links_are_compared_one_by_one),
		cmocka_unit_test(links_are_written_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
