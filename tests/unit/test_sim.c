/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/sim/model.h"
#include "tests/layout.h"

#define MIB	(UINT64_C(1) << 20)
#define SIZE	(64 * MIB)
#define NODES	4
#define GPUS	4
#define RANKS	(NODES * GPUS)
#define NOISE	0.02

static struct layout layout;
static const struct drill no_drill = DRILL_INIT;

static int make_layout(void **state)
{
	static const char *const names[] = { "n0", "n1", "n2", "n3" };
	static const int gpus[] = { GPUS, GPUS, GPUS, GPUS };
	static const int nics[] = { 2, 2, 2, 2 };

	(void)state;
	return layout_of(&layout, NODES, names, gpus, nics);
}

static int drop_layout(void **state)
{
	(void)state;
	layout_release(&layout);
	return 0;
}

/** The cluster of the tests, seed 1. */
static struct sim model(const struct drill *d, double noise)
{
	return (struct sim){
		.layout = &layout, .drill = d, .seed = 1, .noise = noise,
	};
}

static void cell(double noise, int src, int dst, int attempt,
		 struct xport_result *r)
{
	struct sim m = model(&no_drill, noise);

	sim_cell(&m, src, dst, attempt, SIZE, r);
}

/** Cell @src -> @dst under the drill of @text, without noise. */
static struct xport_result drilled(const char *text, int src, int dst)
{
	struct sim m = model(NULL, 0);
	struct xport_result r;
	struct drill d;

	assert_int_equal(drill_parse(text, strlen(text), &d, NULL), 0);
	m.drill = &d;
	sim_cell(&m, src, dst, 1, SIZE, &r);
	drill_release(&d);
	return r;
}

static void assert_near(double x, double want, double share)
{
	if (!(fabs(x - want) <= share * want)) {
		fail_msg("%g is not within %g of %g", x, share, want);
	}
}

static void check_cell(const struct xport_result *r,
		       const struct xport_result *ideal)
{
	assert_int_equal(r->outcome, OUTCOME_OK);
	assert_string_equal(r->path, ideal->path);
	assert_string_equal(r->code, "");
	assert_string_equal(r->detail, "");
	assert_int_equal(r->wrong, 0);
	assert_true(r->iters > 0);
	assert_near(r->bw_GB_s, ideal->bw_GB_s, NOISE * 1.0001);
	assert_near(r->lat_us, ideal->lat_us, NOISE * 1.0001);
	assert_true(r->bw_min_GB_s <= r->bw_GB_s);
	assert_true(r->bw_max_GB_s >= r->bw_GB_s);
	assert_true(r->lat_p99_us >= r->lat_us);
}

static void healthy_cells_are_within_noise(void **state)
{
	struct xport_result intra, inter, r;

	(void)state;
	cell(0, 0, 1, 1, &intra);
	cell(0, 0, 4, 1, &inter);
	assert_string_equal(intra.path, "SIM/intra");
	assert_string_equal(inter.path, "SIM/inter");
	assert_true(intra.bw_GB_s > 2 * inter.bw_GB_s);
	assert_true(intra.lat_us < inter.lat_us);
	for (int src = 0; src < RANKS; src++) {
		for (int dst = 0; dst < RANKS; dst++) {
			if (src == dst) {
				continue;
			}
			cell(NOISE, src, dst, 1, &r);
			check_cell(&r, src / GPUS == dst / GPUS ? &intra :
								  &inter);
		}
	}
}

static void noise_is_seeded_and_even(void **state)
{
	double sum = 0, least = INFINITY, most = 0, ideal;
	struct sim seed_2 = model(&no_drill, NOISE);
	struct xport_result r, again, other;
	int n = 4000;

	(void)state;
	cell(0, 0, 4, 1, &r);
	ideal = r.bw_GB_s;
	for (int i = 1; i <= n; i++) {
		cell(NOISE, 0, 4, i, &r);
		sum += r.bw_GB_s / ideal;
		least = fmin(least, r.bw_GB_s / ideal);
		most = fmax(most, r.bw_GB_s / ideal);
	}
	assert_near(sum / n, 1, 0.001);
	assert_true(least < 1 - 0.95 * NOISE && most > 1 + 0.95 * NOISE);

	cell(NOISE, 0, 4, 1, &r);
	cell(NOISE, 0, 4, 1, &again);
	seed_2.seed = 2;
	sim_cell(&seed_2, 0, 4, 1, SIZE, &other);
	assert_true(r.bw_GB_s == again.bw_GB_s && r.lat_us == again.lat_us);
	assert_true(r.bw_GB_s != other.bw_GB_s);
	/* two numbers of a cell do not move together */
	assert_true(fabs(r.bw_GB_s / ideal - r.lat_us / 6) > 1e-6);
}

static void noise_of_the_drill_wins(void **state)
{
	struct drill d;
	struct sim m = model(&d, NOISE);
	struct xport_result r, ideal;
	double worst = 0;

	(void)state;
	assert_int_equal(drill_parse("noise percent=30", 16, &d, NULL), 0);
	cell(0, 0, 4, 1, &ideal);
	for (int i = 1; i <= 100; i++) {
		sim_cell(&m, 0, 4, i, SIZE, &r);
		worst = fmax(worst, fabs(r.bw_GB_s / ideal.bw_GB_s - 1));
	}
	assert_true(worst > 0.2 && worst <= 0.3);
	drill_release(&d);
}

/** Of all cells between nodes: how many lost more than the model's noise, and
 *  the most that one lost. */
static int disturbed(const char *text, double *most)
{
	struct drill d;
	struct sim m = model(&d, NOISE);
	struct xport_result r, ideal;
	int n = 0;

	assert_int_equal(drill_parse(text, strlen(text), &d, NULL), 0);
	*most = 0;
	for (int s = 0; s < layout.n_ranks; s++) {
		for (int t = 0; t < layout.n_ranks; t++) {
			if (s == t) {
				continue;
			}
			cell(0, s, t, 1, &ideal);
			sim_cell(&m, s, t, 1, SIZE, &r);
			n += r.bw_GB_s < ideal.bw_GB_s * (1 - NOISE);
			*most = fmax(*most, 1 - r.bw_GB_s / ideal.bw_GB_s);
		}
	}
	drill_release(&d);
	return n;
}

static void noise_has_shapes(void **state)
{
	int cells = layout.n_ranks * (layout.n_ranks - 1);
	double most;

	(void)state;
	assert_int_equal(disturbed("noise percent=2", &most), 0);
	assert_int_equal(disturbed("noise percent=40 shape=outlier", &most), 1);
	assert_true(most > 0.38 && most < 0.42);
	assert_in_range(disturbed("noise percent=10 shape=heavy", &most), 1,
			cells / 10);
	assert_true(most > 0.05);
	/* late rounds lose up to the percentage */
	assert_in_range(disturbed("noise percent=10 shape=drift", &most),
			cells / 10, cells);
	assert_true(most > 0.02 && most < 0.13);
}

static void bandwidth_grows_with_size(void **state)
{
	struct sim m = model(&no_drill, 0);
	double last = 0;

	(void)state;
	for (uint64_t size = 8; size <= UINT64_C(1) << 34; size *= 4) {
		struct xport_result r;

		sim_cell(&m, 0, 1, 1, size, &r);
		assert_true(r.bw_GB_s > last);
		last = r.bw_GB_s;
	}
}

static void drill_becomes_outcome(void **state)
{
	static const struct {
		const char *text;
		enum outcome outcome;
		const char *code, *detail;
	} cases[] = {
		{ .text = "dead gpu=1:0", .outcome = OUTCOME_ERROR,
		  .code = "drill_dead",
		  .detail = "(drill) GPU 0 of n1 does not respond" },
		{ .text = "flaky gpu=1:0 rate=1", .outcome = OUTCOME_ERROR,
		  .code = "drill_dead",
		  .detail = "(drill) GPU 0 of n1 does not respond" },
		{ .text = "hang pair=0-4", .outcome = OUTCOME_TIMEOUT,
		  .code = "drill_hang",
		  .detail = "(drill) the path between GPU 0 of n0 and GPU 0 of "
			    "n1 hangs" },
		{ .text = "dead nic=1:0", .outcome = OUTCOME_ERROR,
		  .code = "drill_dead",
		  .detail = "(drill) NIC 0 of n1 does not respond" },
		{ .text = "dead cross_rail\ndead rail=0",
		  .outcome = OUTCOME_ERROR, .code = "drill_dead",
		  .detail = "(drill) rail 0 does not respond" },
		{ .text = "crash rank=0", .outcome = OUTCOME_CRASHED,
		  .code = "worker_crashed",
		  .detail = "(drill) GPU 0 of n0 crashes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct xport_result r = drilled(cases[i].text, 0, 4);

		assert_int_equal(r.outcome, cases[i].outcome);
		assert_string_equal(r.code, cases[i].code);
		assert_string_equal(r.detail, cases[i].detail);
		assert_string_equal(r.path, "SIM/inter");
		assert_true(isnan(r.bw_GB_s) && isnan(r.bw_min_GB_s));
		assert_true(isnan(r.lat_us) && isnan(r.lat_p99_us));
		assert_true(r.iters == RECORD_NONE && r.wrong == RECORD_NONE);
		r = drilled(cases[i].text, 8, 9);
		assert_int_equal(r.outcome, OUTCOME_OK);
	}
}

static void corrupt_is_measured_and_wrong(void **state)
{
	struct xport_result r = drilled("corrupt pair=0-1", 1, 0);

	(void)state;
	assert_int_equal(r.outcome, OUTCOME_CORRUPT);
	assert_string_equal(r.code, "data_corrupt");
	assert_string_equal(r.detail,
			    "(drill) the path between GPU 0 of n0 and GPU 1 of n0 "
			    "changes bytes");
	assert_true(r.wrong > 0 && r.wrong <= (int64_t)SIZE);
	assert_true(r.bw_GB_s > 0);
}

static void nobody_sees_what_is_not_checked(void **state)
{
	struct sim m = model(NULL, 0);
	struct xport_result r;
	struct drill d;

	(void)state;
	assert_int_equal(drill_parse("corrupt pair=0-1", 16, &d, NULL), 0);
	m.drill = &d;
	m.unchecked = true;
	for (int src = 1; src < 3; src++) {	/* corrupt, and not */
		sim_cell(&m, src, 0, 1, SIZE, &r);
		assert_int_equal(r.outcome, OUTCOME_OK);
		assert_string_equal(r.code, "");
		assert_true(r.wrong == RECORD_NONE);
		assert_true(r.bw_GB_s > 0);
	}
	drill_release(&d);
}

static void slow_scales_both_numbers(void **state)
{
	struct xport_result r = drilled("slow node=1 factor=0.5\n"
					"slow pair=0-4 factor=0.5", 0, 4);
	struct xport_result ideal = drilled("", 0, 4);

	(void)state;
	assert_int_equal(r.outcome, OUTCOME_OK);
	assert_near(r.bw_GB_s, ideal.bw_GB_s / 4, 1e-9);
	assert_near(r.lat_us, ideal.lat_us * 4, 1e-9);
}

/** Two GPUs a NIC here: half of its bandwidth each, and NVLink is no NIC. */
static void who_shares_a_nic_shares_its_bandwidth(void **state)
{
	struct sim m = model(&no_drill, 0);
	struct xport_result alone, r;

	(void)state;
	m.crowded = true;
	cell(0, 0, 5, 1, &alone);
	sim_cell(&m, 0, 5, 1, SIZE, &r);
	assert_near(r.bw_GB_s, alone.bw_GB_s / 2, 0.01);
	assert_near(r.lat_us, alone.lat_us, 1e-9);
	cell(0, 0, 1, 1, &alone);
	sim_cell(&m, 0, 1, 1, SIZE, &r);
	assert_near(r.bw_GB_s, alone.bw_GB_s, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_cells_are_within_noise),
		cmocka_unit_test(noise_is_seeded_and_even),
		cmocka_unit_test(noise_of_the_drill_wins),
		cmocka_unit_test(noise_has_shapes),
		cmocka_unit_test(bandwidth_grows_with_size),
		cmocka_unit_test(drill_becomes_outcome),
		cmocka_unit_test(corrupt_is_measured_and_wrong),
		cmocka_unit_test(nobody_sees_what_is_not_checked),
		cmocka_unit_test(slow_scales_both_numbers),
		cmocka_unit_test(who_shares_a_nic_shares_its_bandwidth),
	};

	return cmocka_run_group_tests(tests, make_layout, drop_layout);
}
