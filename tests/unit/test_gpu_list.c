/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/host/gpu_state.h"

/** Four GPUs whose UUIDs begin with GPU-a1, GPU-a2, GPU-b3, GPU-c4. */
static struct gpu_list four_gpus(void)
{
	static const char *const uuids[] = { "GPU-a1", "GPU-a2", "GPU-b3",
					     "GPU-c4" };
	struct gpu_list l = { .n = 4, .source = "nvml" };

	for (size_t i = 0; i < l.n; i++) {
		snprintf(l.gpus[i].uuid, sizeof(l.gpus[i].uuid),
			 "%s-0000-0000", uuids[i]);
		snprintf(l.gpus[i].bus, sizeof(l.gpus[i].bus),
			 "0000:%02zx:00.0", i);
	}
	return l;
}

static const struct {
	const char *text;
	const char *order;	/* third digit of the UUIDs, visible first */
	size_t visible;
} visibles[] = {
	{ NULL, "1234", 4 },
	{ "", "1234", 0 },
	{ "-1", "1234", 0 },
	{ "0,1,2,3", "1234", 4 },
	{ "2", "3124", 1 },
	{ "3,1", "4213", 2 },
	{ " 3 , 1 ", "4213", 2 },
	{ "1,-1,2", "2134", 1 },	/* CUDA stops at the first wrong one */
	{ "1,9,2", "2134", 1 },
	{ "1,,2", "2134", 1 },
	{ "GPU-b3", "3124", 1 },
	{ "GPU-c,GPU-b", "4312", 2 },
	{ "GPU-a", "1234", 0 },		/* two begin so */
	{ "GPU-a2,0", "2134", 2 },
	{ "GPU-", "1234", 0 },
	{ "MIG-a1", "1234", 0 },
	{ "1,1", "1234", 0 },		/* twice: CUDA shows none */
	{ "0x1", "1234", 0 },
};

static void visible_devices_as_cuda_reads_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(visibles) / sizeof(visibles[0]); i++) {
		struct gpu_list l = four_gpus();
		char order[5] = "";

		gpu_list_apply_visible(&l, visibles[i].text);
		for (size_t k = 0; k < l.n; k++) {
			order[k] = l.gpus[k].uuid[5];
		}
		assert_string_equal(order, visibles[i].order);
		assert_int_equal(gpu_list_visible(&l), visibles[i].visible);
	}
}

/* MIG on 1 and 2: CUDA counts 0 and 3 as 0 and 1. */
static const struct {
	const char *text, *order;
	size_t visible;
} divided[] = {
	{ NULL, "1423", 2 },
	{ "1", "4123", 1 },
	{ "2", "1423", 0 },
	{ "GPU-a2", "1423", 0 },
	{ "GPU-c", "4123", 1 },
	{ "MIG-1", "1423", 0 },
};

static void divided_gpus_are_not_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(divided) / sizeof(divided[0]); i++) {
		struct gpu_list l = four_gpus();
		char order[5] = "";

		l.gpus[1].divided = l.gpus[2].divided = true;
		gpu_list_apply_visible(&l, divided[i].text);
		for (size_t k = 0; k < l.n; k++) {
			order[k] = l.gpus[k].uuid[5];
		}
		/* of GPU-b3 the digit is 3, of GPU-c4 it is 4 */
		assert_string_equal(order, divided[i].order);
		assert_int_equal(gpu_list_visible(&l), divided[i].visible);
		assert_true(l.gpus[2].hidden && l.gpus[3].hidden);
	}
}

static void bus_ids_are_spelled_one_way(void **state)
{
	char bus[32];

	(void)state;
	gpu_list_plain_bus("00000000:1B:00.0", bus);
	assert_string_equal(bus, "0000:1b:00.0");
	gpu_list_plain_bus("0000:1b:00.0", bus);
	assert_string_equal(bus, "0000:1b:00.0");
	gpu_list_plain_bus("00010000:1B:00.0", bus);	/* a large domain */
	assert_string_equal(bus, "00010000:1b:00.0");
}

static void json_comes_back(void **state)
{
	struct gpu_list l = four_gpus(), back;
	json_t *json;

	(void)state;
	gpu_list_apply_visible(&l, "2,0");
	STR_COPY(l.why, "GPU 4 of 5 cannot be used");
	json = schema_json(gpu_list_fields, &l);
	assert_int_equal(gpu_list_parse(json, &back, NULL), 0);
	assert_int_equal(back.n, 4);
	assert_int_equal(gpu_list_visible(&back), 2);
	assert_string_equal(back.gpus[0].uuid, l.gpus[0].uuid);
	assert_string_equal(back.why, l.why);
	json_decref(json);
}

static void bad_json_is_refused_whole(void **state)
{
	struct gpu_list l = { .n = 7 };
	json_t *json = json_pack("{s:s,s:s,s:[{s:s}]}", "source", "nvml", "why",
				 "", "gpus", "uuid", "GPU-1");
	struct err e = { 0 };

	(void)state;
	assert_int_equal(gpu_list_parse(json, &l, &e), -1);
	assert_int_equal(l.n, 7);
	assert_non_null(strstr(e.text, "bus"));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(visible_devices_as_cuda_reads_them),
		cmocka_unit_test(divided_gpus_are_not_counted),
		cmocka_unit_test(bus_ids_are_spelled_one_way),
		cmocka_unit_test(json_comes_back),
		cmocka_unit_test(bad_json_is_refused_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
