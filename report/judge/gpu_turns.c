/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/gpu_turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"

#define TURNS_MIN 6	/* fewer have no thirds to speak of */

int gpu_test_order(const struct gpu_row *r)
{
	static const char *const tests[] = {
		GPU_TEST_OPEN, GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH,
		GPU_TEST_FAR_H2D, GPU_TEST_FAR_D2H, GPU_TEST_ALL_H2D,
		GPU_TEST_ALL_D2H, GPU_TEST_COPY, GPU_TEST_PATTERN,
		GPU_TEST_COMPUTE, GPU_TEST_DCGM, NULL
	};

	return str_index(tests, r->test);
}

static int by_test(const struct gpu_row *a, const struct gpu_row *b)
{
	int by_node = strverscmp(a->node, b->node);
	int by_gpu = by_node ? by_node : a->gpu < b->gpu ? -1 : a->gpu > b->gpu;
	int order = by_gpu ? by_gpu : gpu_test_order(a) - gpu_test_order(b);

	/* what is found has as many rows as there are words for it */
	return order || gpu_test_order(a) < 0 || strcmp(a->test, GPU_TEST_DCGM)
		       ? order : strcmp(a->detail, b->detail);
}

static int by_turn(const void *x, const void *y)
{
	const struct gpu_row *a = x, *b = y;
	int order = by_test(a, b);

	return order ? order : a->turn < b->turn ? -1 : a->turn > b->turn;
}

static double rate_of(const struct gpu_row *r)
{
	return r->outcome != OUTCOME_OK ? NAN :
	       isnan(r->bw_GB_s)	? r->clock_MHz : r->bw_GB_s;
}

static double heat_of(const struct gpu_row *r)
{
	return r->temp_C;
}

/** Of @n rows from @r on, as far as they have it; NAN: none has. */
static double median(const struct gpu_row *r, size_t n,
		     double (*of)(const struct gpu_row *r), double *room)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		room[known] = of(&r[i]);
		known += !isnan(room[known]);
	}
	return known > 0 ? stats_median(room, known) : NAN;
}

/** The one of @n that says most of what is wrong. */
static const struct gpu_row *telling(const struct gpu_row *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (r[i].outcome != OUTCOME_OK) {
			return &r[i];
		}
	}
	for (size_t i = 1; i < n; i++) {
		if (strcmp(r[i].hash, r[0].hash) != 0) {
			return &r[i];
		}
	}
	return r;
}

/** How far apart they are, as stats_mad() has it. */
static double spread(const struct gpu_row *r, size_t n, double *room)
{
	size_t known = 0;
	double mid;

	for (size_t i = 0; i < n; i++) {
		room[known] = rate_of(&r[i]);
		known += !isnan(room[known]);
	}
	return known > 0 ? stats_mad(room, known, &mid) : NAN;
}

static void take(const struct gpu_row *r, size_t n, struct gpu_row *one,
		 struct gpu_trend *t, double *room)
{
	size_t third = n / 3;
	double usual = median(r, n, rate_of, room);

	if (n > 1 || one != r) {
		*one = *telling(r, n);
	}
	if (!isnan(one->bw_GB_s) && !isnan(usual)) {
		one->bw_GB_s = usual;
	}
	*t = (struct gpu_trend){ .n = n, .early = NAN, .late = NAN,
				 .early_C = NAN, .late_C = NAN };
	if (n >= TURNS_MIN) {
		t->early = median(r, third, rate_of, room);
		t->late = median(r + n - third, third, rate_of, room);
		t->noise = fmax(spread(r, third, room),
				spread(r + n - third, third, room));
		t->early_C = median(r, third, heat_of, room);
		t->late_C = median(r + n - third, third, heat_of, room);
	}
}

/** Has no test a second row? */
static bool is_one_turn(const struct gpu_rows *all)
{
	for (size_t i = 1; i < all->n; i++) {
		if (by_test(&all->list[i - 1], &all->list[i]) == 0) {
			return false;
		}
	}
	return all->n > 0;
}

int gpu_turns_make(struct gpu_rows *all, struct gpu_turns *t)
{
	double *room = calloc(all->n + 1, sizeof(*room));
	size_t end;

	if (all->n > 0) {
		qsort(all->list, all->n, sizeof(*all->list), by_turn);
	}
	*t = (struct gpu_turns){
		.trends = calloc(all->n + 1, sizeof(*t->trends)),
		.borrowed = is_one_turn(all),
	};
	t->one.list = t->borrowed ? all->list :
		      calloc(all->n + 1, sizeof(*t->one.list));
	if (!room || !t->one.list || !t->trends) {
		free(room);
		return -1;
	}
	for (size_t i = 0; i < all->n; i = end) {
		size_t k = t->one.n++;

		for (end = i + 1; end < all->n &&
				  by_test(&all->list[i], &all->list[end]) == 0;
		     end++) {
		}
		take(&all->list[i], end - i, &t->one.list[k], &t->trends[k],
		     room);
	}
	free(room);
	return 0;
}

void gpu_turns_release(struct gpu_turns *t)
{
	if (!t->borrowed) {
		free(t->one.list);
	}
	free(t->trends);
	*t = (struct gpu_turns){ 0 };
}
