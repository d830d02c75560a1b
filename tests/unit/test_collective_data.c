/* SPDX-License-Identifier: BSD-3-Clause */
/* The data that collectives are checked with, and the kernels that make
 * them. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/base/hash.h"
#include "probes/collective/collective.h"
#include "probes/collective/gpu.h"
#include "probes/host/gpu.h"

#define N 4096
#define SEED 77

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
		/* too small for a leading 1 */
		{ "f8e4m3", 0.01, 0x05 },  { "f8e4m3", 0.0019, 0x01 },
		{ "f8e4m3", 0.0009765625, 0 }, { "f8e5m2", 0.00003, 0x02 },
		{ "half", 0.00001, 0x00a8 }, { "f8e4m3", 0.0155, 0x08 },
		{ "float", 0, 0 },	   { "int8", 130, 130 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct dtype *t = dtype_find(cases[i].dtype);

		if (t) {
			assert_int_equal(collective_encode(t, cases[i].value),
					 cases[i].bits);
		}
	}
	for (double v = 0; v < 3000; v += 0.37) {
		float f = (float)v;
		uint32_t bits32;
		uint64_t bits64;

		memcpy(&bits32, &f, sizeof(bits32));
		memcpy(&bits64, &v, sizeof(bits64));
		assert_int_equal(collective_encode(dtype_find("float"), f),
				 bits32);
		assert_int_equal(collective_encode(dtype_find("double"), v),
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
static void one_reduction(const struct redop *r, int ranks)
{
	const struct dtype *t = dtype_find("double");
	double *out = calloc(N, sizeof(*out)), *in = calloc(N, sizeof(*in));
	struct collective_data d;

	for (int rank = 0; rank < ranks; rank++) {
		collective_data_init(&d, t, r, rank, ranks);
		collective_data_fill(&d, in, N, SEED);
		for (int i = 0; i < N; i++) {
			out[i] = rank == 0 ? in[i] :
					     reduce_two(r->nccl, out[i],
							in[i]);
		}
	}
	for (int i = 0; i < N && r->nccl == 4; i++) {
		out[i] /= ranks;
	}
	assert_int_equal(collective_data_wrong(&d, out, N, SEED), 0);
	/* every single change shows, at any place */
	out[N / 3] += 1;
	out[N - 1] = 1e9;
	assert_int_equal(collective_data_wrong(&d, out, N, SEED), 2);
	/* and so does what belongs elsewhere */
	assert_true(collective_data_wrong(&d, out, N, SEED + 1) > N / 4);
	free(in);
	free(out);
}

static void reductions_give_what_is_wanted(void **state)
{
	(void)state;
	for (const struct redop *r = redops; r->name; r++) {
		for (int ranks = 2; ranks < 20;
		     ranks += SANITIZED ? 5 : 1) {
			one_reduction(r, ranks);
		}
		one_reduction(r, 1000);
	}
}

static void integers_wrap_as_they_do_on_the_gpu(void **state)
{
	const int ranks = 300;
	uint8_t out[64] = { 0 }, in[64];
	struct collective_data d;

	(void)state;
	for (int rank = 0; rank < ranks; rank++) {
		collective_data_init(&d, dtype_find("uint8"), redop_find("sum"),
				     rank, ranks);
		collective_data_fill(&d, in, 64, SEED);
		for (int i = 0; i < 64; i++) {
			out[i] = (uint8_t)(out[i] + in[i]);
		}
	}
	assert_int_equal(collective_data_wrong(&d, out, 64, SEED), 0);
}

/** The sum wraps as the type does, and is divided then. */
static void one_mean_of_bytes(int ranks)
{
	int8_t out[64] = { 0 }, in[64];
	uint8_t uout[64] = { 0 }, uin[64];
	struct collective_data d, u;

	for (int rank = 0; rank < ranks; rank++) {
		collective_data_init(&d, dtype_find("int8"), redop_find("avg"),
				     rank, ranks);
		collective_data_init(&u, dtype_find("uint8"), redop_find("avg"),
				     rank, ranks);
		collective_data_fill(&d, in, 64, SEED);
		collective_data_fill(&u, uin, 64, SEED);
		for (int i = 0; i < 64; i++) {
			out[i] = (int8_t)(out[i] + in[i]);
			uout[i] = (uint8_t)(uout[i] + uin[i]);
		}
	}
	for (int i = 0; i < 64; i++) {
		out[i] = (int8_t)(out[i] / ranks);
		uout[i] = (uint8_t)(uout[i] / ranks);
	}
	assert_int_equal(collective_data_wrong(&d, out, 64, SEED), 0);
	assert_int_equal(collective_data_wrong(&u, uout, 64, SEED), 0);
}

static void means_of_bytes_do_not_wrap(void **state)
{
	static const int ranks[] = { 2, 80, 81, 83, 84, 85, 168, 169, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		one_mean_of_bytes(ranks[i]);
	}
}

/** The number of the bits @bits; of whole numbers as the type has them. */
static double decode(const struct dtype *t, uint64_t bits)
{
	int bias, exp, width;
	uint64_t part, one;

	if (!t->is_float) {
		width = 8 << t->width_log2;
		return t->is_signed && bits >> (width - 1) ?
			-(double)((UINT64_MAX >> (64 - width)) - bits + 1) :
			(double)bits;
	}
	bias = (1 << (t->exponent - 1)) - 1;
	one = UINT64_C(1) << t->mantissa;
	part = bits & (one - 1);
	exp = (int)(bits >> t->mantissa) & ((1 << t->exponent) - 1);
	return exp > 0 ? ldexp((double)(part + one), exp - bias - t->mantissa) :
			 ldexp((double)part, 1 - bias - t->mantissa);
}

/** @value in the bits of a whole number, which wraps. */
static uint64_t wrapped(const struct dtype *t, int64_t value)
{
	int width = 8 << t->width_log2;

	return (uint64_t)value & (UINT64_MAX >> (64 - width));
}

/** NCCL's own mean of the sum @sum, exact or as the type rounds. */
static uint64_t mean_of(const struct dtype *t, double sum, int ranks)
{
	double share = t->mantissa > 23 ? 1.0 / ranks :
					  (double)(float)(1.0 / ranks);

	share = decode(t, collective_encode(t, share));
	return collective_encode(t, t->is_float ? sum * share :
						  trunc(sum / ranks));
}

/** What comes out at places of the bits @h where @owner is in turn, of all
 *  ranks or, with @missing, of all but the owner. */
static uint64_t result_of(const struct dtype *t, const struct redop *r,
			  const struct collective_data *all, int ranks, int h,
			  int owner, bool missing)
{
	double exact = ldexp(1, t->mantissa + 1), out = NAN;

	for (int k = 0; k < ranks; k++) {
		double in = decode(t, all[k].given[2 * h + (k == owner)]);

		if (!(missing && k == owner)) {
			out = isnan(out) ? in : reduce_two(r->nccl, out, in);
		}
	}
	if (r->nccl == 4) {
		return mean_of(t, out, ranks);
	}
	/* all are of one sign: no order of adding comes higher */
	assert_true(!t->is_float || out <= exact);
	return t->is_float ? collective_encode(t, out) :
			     wrapped(t, (int64_t)out);
}

/** A mean of which the type has nothing but 0; see collective/data.c. */
static bool always_0(const struct dtype *t, const struct redop *r, int ranks)
{
	double most = ldexp(1, (8 << t->width_log2) - t->is_signed) - 1;

	return r->nccl == 4 &&
	       (t->is_float ? t->exponent == 4 && ranks >= 1024 :
			      most < ranks);
}

/** Every result is exact, and without the one in turn it is another. */
static void one_exact(const struct dtype *t, const struct redop *r, int ranks)
{
	struct collective_data *all = calloc((size_t)ranks, sizeof(*all));
	const int owners[] = { 0, ranks / 2, ranks - 1 };

	for (int k = 0; k < ranks; k++) {
		collective_data_init(&all[k], t, r, k, ranks);
	}
	for (int i = 0; i < 12; i++) {
		int h = i % 4, owner = owners[i / 4];
		uint64_t got = result_of(t, r, all, ranks, h, owner, false);

		assert_int_equal(got, all[0].wanted[h]);
		assert_true(always_0(t, r, ranks) ||
			    got != result_of(t, r, all, ranks, h, owner,
					     true));
	}
	free(all);
}

static void results_are_exact_and_miss_who_is_missing(void **state)
{
	static const int ranks[] = {
		65, 72, 80, 96, 116, 117, 127, 128, 129, 169, 173, 255, 256,
		257, 300, 511, 512, 513, 640, 1000, 1023, 1024,
	};

	(void)state;
	for (const struct dtype *t = dtypes; t->name; t++) {
		for (const struct redop *r = redops; r->name; r++) {
			for (int k = 2; k <= 64; k += SANITIZED ? 9 : 1) {
				one_exact(t, r, k);
			}
			for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks);
			     i += SANITIZED ? 7 : 1) {
				one_exact(t, r, ranks[i]);
			}
		}
	}
}

/** One element that is the next number of its type, up or down. */
static void the_next_number_is_wrong(void **state)
{
	(void)state;
	for (const struct dtype *t = dtypes; t->name; t++) {
		for (const struct redop *r = redops; r->name; r++) {
			for (int ranks = 2; ranks <= 1024;
			     ranks += SANITIZED ? 73 : 1) {
				struct collective_data d;
				uint64_t h = (SEED * PATTERN_MULTIPLIER) >> 62;
				uint64_t v;

				collective_data_init(&d, t, r, 0, ranks);
				v = d.wanted[h];
				assert_int_equal(
					collective_data_wrong(&d, &v, 1, SEED),
					0);
				v = d.wanted[h] + 1;
				assert_int_equal(
					collective_data_wrong(&d, &v, 1, SEED),
					1);
				v = d.wanted[h] - 1;
				assert_int_equal(
					collective_data_wrong(&d, &v, 1, SEED),
					1);
			}
		}
	}
}

static void what_moves_keeps_every_bit(void **state)
{
	(void)state;
	for (const struct dtype *t = dtypes; t->name; t++) {
		size_t bytes = (size_t)N << t->width_log2;
		unsigned char *mem = calloc(1, bytes);
		struct collective_data d;
		uint64_t own = collective_data_seed(SEED, 3);

		collective_data_init(&d, t, NULL, 3, 8);
		collective_data_fill(&d, mem, N, own);
		assert_int_equal(collective_data_wrong(&d, mem, N, own), 0);
		/* a part begins where the seed says */
		assert_int_equal(collective_data_wrong(&d, mem + (bytes >> 1),
						       N / 2, own + N / 2),
				 0);
		mem[bytes / 2] ^= 1;
		assert_int_equal(collective_data_wrong(&d, mem, N, own), 1);
		/* another rank's data is nearly all wrong */
		assert_true(collective_data_wrong(
				    &d, mem, N, collective_data_seed(SEED, 4)) >
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
	assert_non_null(strstr(collective_kernels_ptx, text));
	assert_non_null(strstr(collective_kernels_ptx, COLLECTIVE_KERNEL_FILL));
	assert_non_null(
		strstr(collective_kernels_ptx, COLLECTIVE_KERNEL_WRONG));
}

/** The assembler takes them as the driver does, where there is one. */
static void kernels_assemble(void **state)
{
	const char *const texts[] = { collective_kernels_ptx, gpu_kernels_ptx };
	char ptxas[PATH_MAX] = "/usr/local/cuda/bin/ptxas";
	char arch[] = "-arch=sm_90", o[] = "-o", null[] = "/dev/null";
	char path[] = "/tmp/gpucheck-ptx-XXXXXX";
	int fd;

	(void)state;
	if (!spawn_find("ptxas", ptxas, sizeof(ptxas)) &&
	    access(ptxas, X_OK) != 0) {
		skip();
	}
	fd = mkstemp(path);
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *argv[] = { ptxas, arch, o, null, path, NULL };
		size_t len = strlen(texts[i]);
		struct str words = STR_INIT;
		struct spawn_status st;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, texts[i], len, 0), (ssize_t)len);
		assert_int_equal(spawn_capture(argv, NULL, &words, 4096,
					       clock_now_ns() + 60 * NS_PER_S,
					       &st, NULL), 0);
		assert_string_equal(str_text(&words), "");
		assert_int_equal(st.exit_code, 0);
		str_release(&words);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_numbers_have_the_bits_of_the_standard),
		cmocka_unit_test(reductions_give_what_is_wanted),
		cmocka_unit_test(integers_wrap_as_they_do_on_the_gpu),
		cmocka_unit_test(means_of_bytes_do_not_wrap),
		cmocka_unit_test(results_are_exact_and_miss_who_is_missing),
		cmocka_unit_test(the_next_number_is_wrong),
		cmocka_unit_test(what_moves_keeps_every_bit),
		cmocka_unit_test(kernels_know_the_pattern),
		cmocka_unit_test(kernels_assemble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
