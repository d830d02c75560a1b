/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/collective/collective.h"

#include <math.h>
#include <string.h>

#include "lib/base/stats.h"

/*
 * A sample lasts this long at least: a stamp between two kernels costs them
 * 2.4 us on an H200, because the second one then cannot begin to start before
 * the first has ended.
 */
#define SAMPLE_US   500.0
#define STEP_US	    3e4		/* what is taken without asking again */
#define ENOUGH_US   3e5		/* measured for so long: not steady, then */
#define MIN_SAMPLES 6
#define STEADY	    0.01	/* of the median */
#define FIXED_MIN   2		/* samples of a given number of operations */
#define SHORT_US    1e3		/* worth looking at more than once */

static int clamp(double v, int low, int high)
{
	return v < low ? low : v > high ? high : (int)v;
}

int collective_samples_room(int64_t nodes)
{
	return nodes > 1 ? 60 : 200;
}

int collective_samples_first(double about_us)
{
	return about_us < SHORT_US ? 3 : 1;
}

void collective_samples_begin(struct collective_samples *s, int64_t wanted,
			      double one_us, int64_t nodes)
{
	*s = (struct collective_samples){ .wanted = wanted,
			     .one_us = one_us > 0.1 ? one_us : 0.1,
			     .room = collective_samples_room(nodes) };
	s->batch = clamp(ceil(SAMPLE_US / s->one_us), 1,
			 clamp(s->room / 3, 1, COLLECTIVE_BATCH));
	if (wanted > 0) {
		int most =
			clamp((double)wanted / FIXED_MIN, 1, COLLECTIVE_BATCH);
		int least = clamp(ceil((double)wanted / COLLECTIVE_SAMPLES), 1,
				  1 << 20);

		s->batch = s->batch < most ? s->batch : most;
		s->batch = s->batch > least ? s->batch : least;
	}
	s->now = s->batch;
}

/** Return true if both halves of the samples have the same median. */
static bool steady(const struct collective_samples *s)
{
	double half[COLLECTIVE_SAMPLES], a, b;
	int n = s->n / 2;

	memcpy(half, s->us, (size_t)n * sizeof(*half));
	a = stats_median(half, (size_t)n);	/* sorts */
	memcpy(half, s->us + s->n - n, (size_t)n * sizeof(*half));
	b = stats_median(half, (size_t)n);
	return fabs(a - b) <= STEADY * fmax(a, b);
}

int collective_samples_next(struct collective_samples *s)
{
	double sample_us = s->one_us * s->batch;
	int held = clamp(s->room / (s->batch + 1), 1, COLLECTIVE_STEP_SAMPLES);
	int wish = clamp(STEP_US / sample_us, MIN_SAMPLES,
			 COLLECTIVE_STEP_SAMPLES);
	int step = wish < held ? wish : held;
	int64_t left = s->wanted - s->done;

	s->now = s->batch;
	if (s->wanted > 0 && left < s->batch) {
		s->now = (int)left;
		return left > 0;
	}
	if (s->wanted > 0) {
		return left / s->batch < step ? (int)(left / s->batch) : step;
	}
	if (s->n >= MIN_SAMPLES &&
	    (s->n + step > COLLECTIVE_SAMPLES || s->n * sample_us > ENOUGH_US ||
	     steady(s))) {
		return 0;
	}
	return step;
}

void collective_samples_add(struct collective_samples *s, const double *us,
			    int n_ranks)
{
	double sum = 0;

	for (int i = 0; i < n_ranks; i++) {
		sum += us[i];
	}
	if (s->n < COLLECTIVE_SAMPLES && n_ranks > 0) {
		s->us[s->n++] = sum / n_ranks;
		s->done += s->now;
		s->spent_us += s->now * sum / n_ranks;
	}
}

int64_t collective_samples_ops(double one_us, int64_t wanted, int64_t nodes,
			       int *steps)
{
	int64_t ops = collective_samples_first(one_us);
	struct collective_samples s;
	int n;

	collective_samples_begin(&s, wanted, one_us, nodes);
	for (*steps = 1; (n = collective_samples_next(&s)) > 0; (*steps)++) {
		while (n-- > 0) {
			collective_samples_add(&s, &s.one_us, 1);
		}
	}
	return ops + s.done;
}

void collective_samples_result(struct collective_samples *s,
			       struct collective_row *row)
{
	if (s->n == 0) {
		return;
	}
	row->iters = s->done;
	row->time_us = s->spent_us / (double)s->done;
	row->time_med_us = stats_median(s->us, (size_t)s->n);	/* sorts */
	row->time_p99_us = stats_percentile(s->us, (size_t)s->n, 99);
	row->time_min_us = s->us[0];
	row->time_max_us = s->us[s->n - 1];
	row->algbw_GB_s = (double)row->size_B / row->time_us / 1e3;
	row->busbw_GB_s = row->algbw_GB_s *
			  collective_bus_factor(collective_parse(row->op),
						row->ranks);
}
