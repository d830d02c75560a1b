/* SPDX-License-Identifier: BSD-3-Clause */
/* What collectives are: shapes, types and sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/spec/spec.h"
#include "probes/collective/collective.h"

/** GetCollByteCount() of each program of nccl-tests, worked out by hand. */
static void shapes_are_those_of_nccl_tests(void **state)
{
	static const struct {
		enum collective op;
		const char *dtype;
		int ranks;
		int64_t size_B, count, send, recv, printed_B;
	} cases[] = {
		{ COLLECTIVE_ALLREDUCE, "float", 8, 1024, 256, 256, 256,
		  1024 },
		{ COLLECTIVE_ALLREDUCE, "half", 6, 1000, 500, 500, 500, 1000 },
		{ COLLECTIVE_ALLGATHER, "float", 8, 1024, 32, 32, 256, 1024 },
		{ COLLECTIVE_ALLGATHER, "float", 6, 1000, 40, 40, 240, 960 },
		{ COLLECTIVE_REDUCESCATTER, "float", 6, 1000, 40, 240, 40,
		  960 },
		{ COLLECTIVE_REDUCESCATTER, "int8", 8, 256, 32, 256, 32, 256 },
		{ COLLECTIVE_ALLTOALL, "double", 3, 1000, 40, 120, 120, 960 },
		{ COLLECTIVE_BROADCAST, "float", 7, 12, 3, 3, 3, 12 },
		{ COLLECTIVE_REDUCE, "uint64", 7, 24, 3, 3, 3, 24 },
		{ COLLECTIVE_SENDRECV, "bfloat16", 5, 10, 5, 5, 5, 10 },
		{ COLLECTIVE_ALLGATHER, "float", 8, 64, 0, 0, 0, 0 },
		{ COLLECTIVE_ALLREDUCE, "double", 8, 7, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct collective_shape s;
		bool some = collective_shape(
			cases[i].op, dtype_find(cases[i].dtype), cases[i].ranks,
			cases[i].size_B, &s);

		assert_int_equal(some, cases[i].count > 0);
		assert_int_equal(s.count, cases[i].count);
		assert_int_equal(s.send, cases[i].send);
		assert_int_equal(s.recv, cases[i].recv);
		assert_int_equal(s.size_B, cases[i].printed_B);
	}
}

static void the_options_name_every_type(void **state)
{
	struct spec s;
	struct err e = { 0 };

	(void)state;
	for (const struct spec_option *o = spec_options; o->name; o++) {
		for (const struct dtype *t = dtypes;
		     strcmp(o->name, "dtype") == 0 && t->name; t++) {
			spec_init(&s);
			assert_int_equal(spec_set(&s, o, t->name, &e), 0);
		}
		for (int i = 0;
		     strcmp(o->name, "dtype") == 0 && o->words[i].name; i++) {
			assert_non_null(dtype_find(o->words[i].name));
		}
		for (int i = 0;
		     strcmp(o->name, "redop") == 0 && o->words[i].name; i++) {
			assert_non_null(redop_find(o->words[i].name));
		}
	}
	assert_null(dtype_find("float128"));
	assert_null(redop_find("none"));
}

static void sizes_rise_by_the_factor(void **state)
{
	int64_t sizes[SPEC_MAX_SIZES];
	struct spec s;

	(void)state;
	spec_init(&s);
	assert_int_equal(spec_sizes(&s, 8, 64, sizes), 4);
	assert_int_equal(sizes[3], 64);
	assert_int_equal(spec_sizes(&s, 8, 63, sizes), 3);
	assert_int_equal(collective_sizes(&s, sizes), 31);
	s.size_begin_B = 8;
	assert_int_equal(spec_sizes(&s, 1, 64, sizes), 1);
	s.size_end_B = 32;
	assert_int_equal(collective_sizes(&s, sizes), 3);
	s.size_begin_B = INT64_MAX / 2;
	s.size_end_B = INT64_MAX;
	s.size_factor = 1024;
	assert_int_equal(spec_sizes(&s, 0, 0, sizes), 1);
}

static void more_sizes_than_fit_are_none(void **state)
{
	int64_t sizes[SPEC_MAX_SIZES];
	struct spec s;

	(void)state;
	spec_init(&s);
	s.size_factor = 1;	/* no option allows it */
	assert_int_equal(spec_sizes(&s, 8, 8, sizes), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_those_of_nccl_tests),
		cmocka_unit_test(the_options_name_every_type),
		cmocka_unit_test(sizes_rise_by_the_factor),
		cmocka_unit_test(more_sizes_than_fit_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
