/* SPDX-License-Identifier: BSD-3-Clause */
/* What one run compares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/nccl/log.h"
#include "probes/plan/plan.h"

static struct variant v[VARIANTS_MAX];
static struct err e;

static int make(const char *algo, const char *proto, const char *libs,
		const char *env)
{
	struct spec s;

	spec_init(&s);
	STR_COPY(s.algo, algo);
	STR_COPY(s.proto, proto);
	/* lines, which STR_COPY takes for dirt */
	snprintf(s.nccl_libs, sizeof(s.nccl_libs), "%s", libs);
	snprintf(s.env, sizeof(s.env), "%s", env);
	e = (struct err){ 0 };
	return variants_make(&s, v, &e);
}

static const char *value(int i, const char *name)
{
	const char *s = json_string_value(json_object_get(v[i].env, name));

	return s ? s : "";
}

static void nothing_asked_is_one_variant_without_a_name(void **state)
{
	(void)state;
	assert_int_equal(make("", "", "", ""), 1);
	assert_string_equal(v[0].name, "");
	assert_int_equal(json_object_size(v[0].env), 0);
	variants_release(v, 1);
}

static void every_combination_is_a_variant(void **state)
{
	(void)state;
	assert_int_equal(make("ring,Tree", "LL,simple,LL128", "", ""), 6);
	assert_string_equal(v[0].name, "Ring LL");
	assert_string_equal(v[1].name, "Ring Simple");
	assert_string_equal(v[5].name, "Tree LL128");
	assert_string_equal(value(5, "NCCL_ALGO"), "Tree");
	assert_string_equal(value(5, "NCCL_PROTO"), "LL128");
	assert_string_equal(v[5].algo, "Tree");
	assert_string_equal(v[5].proto, "LL128");
	variants_release(v, 6);
}

static void libraries_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(make("", "", "/a/libnccl.so.2\n/b/libnccl.so.2", ""),
			 2);
	assert_string_equal(v[0].name, "a/libnccl.so.2");
	assert_string_equal(v[1].name, "b/libnccl.so.2");
	assert_string_equal(v[1].lib, "/b/libnccl.so.2");
	assert_string_equal(value(1, "GPUCHECK_NCCL_LIB"), "/b/libnccl.so.2");
	variants_release(v, 2);
	assert_int_equal(make("", "", "/a/lib/libnccl.so.2\nb/lib/libnccl.so.2\n"
			      "/c/libmscclpp_nccl.so", ""), 3);
	assert_string_equal(v[0].name, "a/lib/libnccl.so.2");
	assert_string_equal(v[1].name, "b/lib/libnccl.so.2");
	assert_string_equal(v[2].name, "libmscclpp_nccl.so");
	variants_release(v, 3);
	/* the same one twice measures how much two turns differ */
	assert_int_equal(make("", "", "libnccl.so.2\nlibnccl.so.2", ""), 2);
	assert_string_equal(v[0].name, "libnccl.so.2");
	assert_string_equal(v[1].name, "libnccl.so.2~2");
	variants_release(v, 2);
}

static void variables_and_commas(void **state)
{
	(void)state;
	assert_int_equal(make("", "", "",
			      "NCCL_IB_HCA=mlx5_0\\,mlx5_1,mlx5_2\nX=1"), 2);
	assert_string_equal(value(0, "NCCL_IB_HCA"), "mlx5_0,mlx5_1");
	assert_string_equal(value(1, "NCCL_IB_HCA"), "mlx5_2");
	assert_string_equal(v[1].name, "NCCL_IB_HCA=mlx5_2 X=1");
	variants_release(v, 2);
}

/** Those of --variant, @lines. */
static int named(const char *lines)
{
	struct spec s;

	spec_init(&s);
	snprintf(s.variants, sizeof(s.variants), "%s", lines);
	e = (struct err){ 0 };
	return variants_make(&s, v, &e);
}

static void a_named_variant_is_several_variables(void **state)
{
	static const char *const wrong[] = {
		"NCCL_ALGO=Ring", ":A=1", "a", "a:B", "a:=1", "a:1B=2", "a:B=",
		"a:,B=1", "a:B=1\na:B=2", "a:NCCL_ALGO=Ringg",
		"a name that is so long that no table has room for it:A=1",
	};

	(void)state;
	assert_int_equal(named("nccl:\n"
			       "msccl:GPUCHECK_NCCL_LIB=/msccl/libnccl.so,"
			       "MSCCL_XML_FILES=/a.xml\\,/b.xml,NCCL_ALGO=msccl"),
			 2);
	assert_string_equal(v[0].name, "nccl");
	assert_int_equal(json_object_size(v[0].env), 0);
	assert_string_equal(v[1].name, "msccl");
	assert_string_equal(v[1].lib, "/msccl/libnccl.so");
	assert_string_equal(v[1].algo, "MSCCL");
	assert_string_equal(value(1, "MSCCL_XML_FILES"), "/a.xml,/b.xml");
	variants_release(v, 2);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (named(wrong[i]) != -1 || !e.text[0]) {
			fail_msg("'%s' is taken", wrong[i]);
		}
	}
}

static void registered_buffers_stand_beside_plain_ones(void **state)
{
	struct spec s;

	(void)state;
	spec_init(&s);
	s.reg = REGISTER_SYMMETRIC;
	STR_COPY(s.algo, "Ring");
	assert_int_equal(variants_make(&s, v, &e), 2);
	assert_string_equal(v[1].name, "Ring symmetric");
	assert_string_equal(value(0, REGISTER_ENV), "plain");
	assert_string_equal(value(1, REGISTER_ENV), "symmetric");
	variants_release(v, 2);
}

static void what_makes_no_sense_is_refused(void **state)
{
	(void)state;
	assert_int_equal(make("Ringg", "", "", ""), -1);
	assert_non_null(strstr(e.text, "Tree, Ring, "));
	assert_non_null(strstr(e.hint, "'Ring'"));
	assert_int_equal(make("Ring,,Tree", "", "", ""), -1);
	assert_int_equal(make("", "LL129", "", ""), -1);
	assert_int_equal(make("", "", "", "NCCL"), -1);
	assert_int_equal(make("", "", "", "=1"), -1);
	assert_int_equal(make("", "", "", "1A=1"), -1);
	assert_int_equal(make("", "", "", "A="), -1);
	assert_int_equal(make("", "", "", "A=1,2,3,4,5,6,7,8,9\n"
					  "B=1,2,3,4,5,6,7,8,9"), -1);
	assert_non_null(strstr(e.text, "more than 64 variants"));
}

/* ---- what NCCL took ------------------------------------------------------ */

static bool chosen(const char *text, const char *function, char *both,
		   size_t size)
{
	char algo[NCCL_CHOSEN_ALGO] = "", proto[NCCL_CHOSEN_PROTO] = "";
	bool found = nccl_chosen_find(text, strlen(text), function, algo,
				      proto);

	snprintf(both, size, "%s %s", algo, proto);
	return found;
}

static void the_last_line_about_the_operation_counts(void **state)
{
	static const char log[] =
		"n0:1:9 [0] NCCL INFO AllReduce: 4 Bytes -> Algo TREE proto LL "
		"channel{Lo..Hi}={0..0}\n"
		"n0:1:9 [0] NCCL INFO AllGather: 1024 Bytes -> Algo Ring proto "
		"LL128 channel{Lo..Hi}={0..15}\n"
		"n0:1:9 [0] NCCL INFO AllGather: 1024 Bytes -> Algo NVLS proto "
		"SIMPLE channel{Lo..Hi}={0..15}\n"
		"n0:1:9 [0] NCCL INFO AllReduce: 4 Bytes -> Algo Tre";
	char both[64];

	(void)state;
	assert_true(chosen(log, "AllGather", both, sizeof(both)));
	assert_string_equal(both, "NVLS Simple");
	assert_true(chosen(log, "AllReduce", both, sizeof(both)));
	assert_string_equal(both, "Tree LL");
	assert_false(chosen(log, "Reduce", both, sizeof(both)));
	assert_false(chosen(log, "AlltoAll", both, sizeof(both)));
	assert_false(chosen("", "AllReduce", both, sizeof(both)));
}

static void newer_versions_say_capitals(void **state)
{
	static const char *const pairs[][2] = {
		{ "RING proto SIMPLE", "Ring Simple" },
		{ "NVLS_TREE proto LL128", "NVLSTree LL128" },
		{ "COLLNET_DIRECT proto SIMPLE", "CollNetDirect Simple" },
		{ "COLLNET_CHAIN proto LL", "CollNetChain LL" },
		{ "NEW_ONE proto LL", "NEW_ONE LL" },
	};
	char both[64], line[160];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		snprintf(line, sizeof(line), "h:1:1 [0] NCCL INFO AllReduce: 8 "
			 "Bytes -> Algo %s channel{Lo..Hi}={0..0}\n",
			 pairs[i][0]);
		assert_true(chosen(line, "AllReduce", both, sizeof(both)));
		assert_string_equal(both, pairs[i][1]);
	}
}

static void older_versions_say_numbers(void **state)
{
	char both[64];

	(void)state;
	assert_true(chosen("h:1:1 [0] NCCL INFO 8192 Bytes -> Algo 1 proto 2 "
			   "time 12.3\n", "AllReduce", both, sizeof(both)));
	assert_string_equal(both, "Ring Simple");
	assert_true(chosen("h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 99 "
			   "proto 0 time 1\n", "AllReduce", both,
			   sizeof(both)));
	assert_string_equal(both, "99 LL");
	assert_true(chosen("h:1:1 [0] NCCL INFO AllReduce [Symmetric]: 8 Bytes "
			   "-> Kernel AllReduce_AGxLL_R nchannels 1\n",
			   "AllReduce", both, sizeof(both)));
	assert_string_equal(both, "AllReduce_AGxLL_R ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_asked_is_one_variant_without_a_name),
		cmocka_unit_test(every_combination_is_a_variant),
		cmocka_unit_test(libraries_are_told_apart),
		cmocka_unit_test(variables_and_commas),
		cmocka_unit_test(a_named_variant_is_several_variables),
		cmocka_unit_test(registered_buffers_stand_beside_plain_ones),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(the_last_line_about_the_operation_counts),
		cmocka_unit_test(newer_versions_say_capitals),
		cmocka_unit_test(older_versions_say_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
