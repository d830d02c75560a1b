/* SPDX-License-Identifier: BSD-3-Clause */
/* What collectives are: shapes, types, and the data they are checked with. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/spec.h"
#include "probes/coll.h"
#include "probes/coll_data.h"
#include "probes/coll_kernels.h"
#include "probes/pattern.h"

#define N 4096
#define SEED 77

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
		struct coll_shape s;
		bool some = coll_shape(cases[i].op,
				       coll_dtype_find(cases[i].dtype),
				       cases[i].ranks, cases[i].size_B, &s);

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
		for (const struct coll_dtype *t = coll_dtypes;
		     strcmp(o->name, "dtype") == 0 && t->name; t++) {
			spec_init(&s);
			assert_int_equal(spec_set(&s, o, t->name, &e), 0);
		}
		for (int i = 0; strcmp(o->name, "dtype") == 0 && o->words[i];
		     i++) {
			assert_non_null(coll_dtype_find(o->words[i]));
		}
		for (int i = 0; strcmp(o->name, "redop") == 0 && o->words[i];
		     i++) {
			assert_non_null(coll_redop_find(o->words[i]));
		}
	}
	assert_null(coll_dtype_find("float128"));
	assert_null(coll_redop_find("none"));
}

static void sizes_rise_by_the_factor(void **state)
{
	int64_t sizes[8];

	(void)state;
	assert_int_equal(coll_sizes(8, 64, 2, sizes, 8), 4);
	assert_int_equal(sizes[3], 64);
	assert_int_equal(coll_sizes(8, 63, 2, sizes, 8), 3);
	assert_int_equal(coll_sizes(8, 8, 2, sizes, 8), 1);
	assert_int_equal(coll_sizes(1, INT64_MAX, 2, sizes, 8), -1);
	assert_int_equal(coll_sizes(INT64_MAX / 2, INT64_MAX, 1024, sizes, 8),
			 1);
}

static void small_numbers_have_the_bits_of_the_standard(void **state)
{
	static const struct {
		const char *dtype;
		double value;
		uint64_t bits;
	} cases[] = {
		{ "half", 1, 0x3c00 },	   { "half", 2, 0x4000 },
		{ "half", 7, 0x4700 },	   { "half", 2049, 0x6800 },
		{ "half", 2051, 0x6802 },  { "bfloat16", 3, 0x4040 },
		{ "bfloat16", 257, 0x4380 }, { "f8e4m3", 1, 0x38 },
		{ "f8e4m3", 7, 0x4e },	   { "f8e4m3", 17, 0x58 },
		{ "f8e5m2", 6, 0x46 },	   { "f8e5m2", -1, 0xbc },
		{ "float", 0, 0 },	   { "int8", 130, 130 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct coll_dtype *t = coll_dtype_find(cases[i].dtype);

		if (t) {
			assert_int_equal(coll_encode(t, cases[i].value),
					 cases[i].bits);
		}
	}
	for (double v = 0; v < 3000; v += 0.37) {
		float f = (float)v;
		uint32_t bits32;
		uint64_t bits64;

		memcpy(&bits32, &f, sizeof(bits32));
		memcpy(&bits64, &v, sizeof(bits64));
		assert_int_equal(coll_encode(coll_dtype_find("float"), f),
				 bits32);
		assert_int_equal(coll_encode(coll_dtype_find("double"), v),
				 bits64);
	}
}

static double reduce_two(int redop, double a, double b)
{
	switch (redop) {
	case 1:
		return a * b;
	case 2:
		return fmax(a, b);
	case 3:
		return fmin(a, b);
	default:
		return a + b;
	}
}

/** What @ranks ranks put in, reduced in double, is what is wanted. */
static void one_reduction(const struct coll_redop *r, int ranks)
{
	const struct coll_dtype *t = coll_dtype_find("double");
	double *out = calloc(N, sizeof(*out)), *in = calloc(N, sizeof(*in));
	struct coll_data d;

	for (int rank = 0; rank < ranks; rank++) {
		coll_data_init(&d, t, r, rank, ranks);
		coll_data_fill(&d, in, N, SEED);
		for (int i = 0; i < N; i++) {
			out[i] = rank == 0 ? in[i] :
					     reduce_two(r->nccl, out[i],
							in[i]);
		}
	}
	for (int i = 0; i < N && r->nccl == 4; i++) {
		out[i] /= ranks;
	}
	assert_int_equal(coll_data_wrong(&d, out, N, SEED), 0);
	/* every single change shows, at any place */
	out[N / 3] += 1;
	out[N - 1] = 1e9;
	assert_int_equal(coll_data_wrong(&d, out, N, SEED), 2);
	/* and so does what belongs elsewhere */
	assert_true(coll_data_wrong(&d, out, N, SEED + 1) > N / 4 ||
		    r->nccl == 1);
	free(in);
	free(out);
}

static void reductions_give_what_is_wanted(void **state)
{
	(void)state;
	for (const struct coll_redop *r = coll_redops; r->name; r++) {
		for (int ranks = 2; ranks < 20; ranks++) {
			one_reduction(r, ranks);
		}
		one_reduction(r, 1000);
	}
}

static void integers_wrap_as_they_do_on_the_gpu(void **state)
{
	const int ranks = 300;
	uint8_t out[64] = { 0 }, in[64];
	struct coll_data d;

	(void)state;
	for (int rank = 0; rank < ranks; rank++) {
		coll_data_init(&d, coll_dtype_find("uint8"),
			       coll_redop_find("sum"), rank, ranks);
		coll_data_fill(&d, in, 64, SEED);
		for (int i = 0; i < 64; i++) {
			out[i] = (uint8_t)(out[i] + in[i]);
		}
	}
	assert_int_equal(d.tolerance, 0);
	assert_int_equal(coll_data_wrong(&d, out, 64, SEED), 0);
}

/** The sum wraps as the type does, and is divided then. */
static void one_mean_of_bytes(int ranks)
{
	int8_t out[64] = { 0 }, in[64];
	uint8_t uout[64] = { 0 }, uin[64];
	struct coll_data d, u;

	for (int rank = 0; rank < ranks; rank++) {
		coll_data_init(&d, coll_dtype_find("int8"),
			       coll_redop_find("avg"), rank, ranks);
		coll_data_init(&u, coll_dtype_find("uint8"),
			       coll_redop_find("avg"), rank, ranks);
		coll_data_fill(&d, in, 64, SEED);
		coll_data_fill(&u, uin, 64, SEED);
		for (int i = 0; i < 64; i++) {
			out[i] = (int8_t)(out[i] + in[i]);
			uout[i] = (uint8_t)(uout[i] + uin[i]);
		}
	}
	for (int i = 0; i < 64; i++) {
		out[i] = (int8_t)(out[i] / ranks);
		uout[i] = (uint8_t)(uout[i] / ranks);
	}
	assert_int_equal(coll_data_wrong(&d, out, 64, SEED), 0);
	assert_int_equal(coll_data_wrong(&u, uout, 64, SEED), 0);
}

static void means_of_bytes_do_not_wrap(void **state)
{
	static const int ranks[] = { 2, 80, 81, 83, 84, 85, 168, 169, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		one_mean_of_bytes(ranks[i]);
	}
}

static void floats_may_round_only_where_they_must(void **state)
{
	struct coll_data d;

	(void)state;
	coll_data_init(&d, coll_dtype_find("float"), coll_redop_find("sum"), 0,
		       1000);
	assert_int_equal(d.tolerance, 0);
	coll_data_init(&d, coll_dtype_find("half"), coll_redop_find("max"), 0,
		       5000);
	assert_int_equal(d.tolerance, 0);
	coll_data_init(&d, coll_dtype_find("f8e4m3"), coll_redop_find("sum"),
		       0, 64);
	assert_true(d.tolerance > 0);
}

static void what_moves_keeps_every_bit(void **state)
{
	(void)state;
	for (const struct coll_dtype *t = coll_dtypes; t->name; t++) {
		size_t bytes = (size_t)N << t->width_log2;
		unsigned char *mem = calloc(1, bytes);
		struct coll_data d;
		uint64_t own = coll_data_seed(SEED, 3);

		coll_data_init(&d, t, NULL, 3, 8);
		coll_data_fill(&d, mem, N, own);
		assert_int_equal(coll_data_wrong(&d, mem, N, own), 0);
		/* a part begins where the seed says */
		assert_int_equal(coll_data_wrong(&d, mem + (bytes >> 1), N / 2,
						 own + N / 2), 0);
		mem[bytes / 2] ^= 1;
		assert_int_equal(coll_data_wrong(&d, mem, N, own), 1);
		/* another rank's data is nearly all wrong */
		assert_true(coll_data_wrong(&d, mem, N,
					    coll_data_seed(SEED, 4)) >
			    N * 9 / 10);
		free(mem);
	}
}

/** The kernels were written by hand: at least their constant is ours. */
static void kernels_know_the_pattern(void **state)
{
	char text[40];

	(void)state;
	snprintf(text, sizeof(text), "%%word, 0x%llx;",
		 (unsigned long long)PATTERN_MULTIPLIER);
	assert_non_null(strstr(coll_kernels_ptx, text));
	assert_non_null(strstr(coll_kernels_ptx, COLL_KERNEL_FILL));
	assert_non_null(strstr(coll_kernels_ptx, COLL_KERNEL_WRONG));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_those_of_nccl_tests),
		cmocka_unit_test(the_options_name_every_type),
		cmocka_unit_test(sizes_rise_by_the_factor),
		cmocka_unit_test(small_numbers_have_the_bits_of_the_standard),
		cmocka_unit_test(reductions_give_what_is_wanted),
		cmocka_unit_test(integers_wrap_as_they_do_on_the_gpu),
		cmocka_unit_test(means_of_bytes_do_not_wrap),
		cmocka_unit_test(floats_may_round_only_where_they_must),
		cmocka_unit_test(what_moves_keeps_every_bit),
		cmocka_unit_test(kernels_know_the_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
