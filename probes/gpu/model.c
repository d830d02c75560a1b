/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/model.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "probes/host/gpu_holders.h"
#include "probes/node/child.h"

#define NOISE 0.005
#define RESULTS 200000	/* of 2 s */

/* Of an H200 as measured; the rest is in the drill. */
static const struct test {
	const char *name;
	double bw_GB_s, expected_GB_s, lat_us;
	int64_t size_B, count;
	char only;		/* with --far f, --contrast=parallel p, without
				 * --quick d */
} tests[] = {
	{ GPU_TEST_OPEN, NAN, NAN, NAN, RECORD_NONE, RECORD_NONE, 0 },
	{ GPU_TEST_H2D, 55.3, 54.8, 1.4, 64 << 20, 56, 0 },
	{ GPU_TEST_D2H, 55.3, 54.8, 1.6, 64 << 20, 56, 0 },
	{ GPU_TEST_BOTH, 100, NAN, NAN, 64 << 20, 56, 0 },
	{ GPU_TEST_FAR_H2D, 52, NAN, 1.7, 64 << 20, 56, 'f' },
	{ GPU_TEST_FAR_D2H, 52, NAN, 1.9, 64 << 20, 56, 'f' },
	{ GPU_TEST_ALL_H2D, 54, 54.8, NAN, 64 << 20, 56, 'p' },
	{ GPU_TEST_ALL_D2H, 54, 54.8, NAN, 64 << 20, 56, 'p' },
	{ GPU_TEST_COPY, 3900, NAN, NAN, 1 << 30, 40, 'd' },
	{ GPU_TEST_PATTERN, 4200, NAN, NAN, INT64_C(137) << 30, 2, 'd' },
	{ GPU_TEST_COMPUTE, NAN, NAN, NAN, RECORD_NONE, 200, 'd' },
};

static bool is_wanted(const struct test *t, const struct spec *s)
{
	return t->only == 'f' ? s->far :
	       t->only == 'p' ? s->contrast == CONTRAST_PARALLEL :
	       t->only == 'd' ? !s->quick : true;
}

static double factor_of(const char *name, const struct gpu_drill *d)
{
	return str_starts(name, GPU_TEST_H2D)   ? d->h2d :
	       str_starts(name, GPU_TEST_D2H)   ? d->d2h :
	       strcmp(name, GPU_TEST_BOTH) == 0 ? fmin(d->h2d, d->d2h) :
	       strcmp(name, GPU_TEST_COPY) == 0 ? d->copy : 1;
}

static void say_test(const struct gpu_row *of, const struct test *t,
		     const struct gpu_drill *d, double draw)
{
	struct gpu_row row = *of;

	STR_COPY(row.test, t->name);
	clock_utc(row.start_utc);
	row.bw_GB_s = t->bw_GB_s * factor_of(t->name, d) *
		      (1 + NOISE * (2 * draw - 1));
	row.expected_GB_s = t->expected_GB_s;
	row.lat_us = t->lat_us * (1 + NOISE * (2 * draw - 1));
	row.size_B = t->size_B;
	row.count = t->count;
	row.outcome = OUTCOME_OK;
	if (!isnan(t->expected_GB_s)) {
		STR_COPY(row.link, "32.0 GT/s x16");
	}
	if (strcmp(t->name, GPU_TEST_PATTERN) == 0) {
		row.wrong = 0;
	}
	if (strcmp(t->name, GPU_TEST_COMPUTE) == 0) {
		STR_COPY(row.hash, "0123456789abcdef");
		row.wrong = (int64_t)ceil(d->wrong * RESULTS);
		row.power_W = 650;
		row.temp_C = 55;
	}
	if (row.wrong > 0) {
		row.outcome = OUTCOME_CORRUPT;
		row.sm = 17;
		STR_COPY(row.code, "wrong_result");
		STR_COPY(row.detail, "a drill");
	}
	node_task_row(&schema_gpu, &row);
}

void gpu_model_rows(const struct gpu_row *row, const struct gpu_drill *d,
		    const struct spec *s, uint64_t seed)
{
	struct gpu_row open = *row;

	STR_COPY(open.test, GPU_TEST_OPEN);
	clock_utc(open.start_utc);
	if (d->busy || d->dead) {
		open.outcome = d->busy ? OUTCOME_SKIPPED : OUTCOME_ERROR;
		STR_COPY(open.code, d->busy ? GPU_BUSY : "drill_dead");
		STR_COPY(open.detail, d->busy ? "held by a drill" : "a drill");
		node_task_row(&schema_gpu, &open);
		return;
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (is_wanted(&tests[i], s)) {
			say_test(row, &tests[i], d,
				 hash_unit(seed, (uint64_t)row->gpu, i,
					   (uint64_t)row->turn));
		}
	}
}
