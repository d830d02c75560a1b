/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a cell measured, as effects count it.  HCA ports of one run may be built
 * for different rates: those of storage beside those of computing, old nodes
 * beside new ones.  A pair is compared with those of its own rate, as the
 * slower of its ports has it.
 */
#include "report/judge/effect_table.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"

static float measured_log(const struct effect_work *w, size_t at)
{
	const struct cell *c = &w->run->cells[at];
	float v = w->of == EFFECTS_LATENCY ? 1 / c->lat_us : c->bw_GB_s;

	return run_good(c->class) && v > 0 && v < INFINITY &&
			       !(w->skip && (w->skip[at] & EFFECTS_SKIP)) ?
		       logf(v) : NAN;
}

static bool is_rate(const struct effect_speeds *s, size_t i, double rate)
{
	return s->GB_s[i] >= rate && s->GB_s[i] <= rate;
}

/** Its number; the last one is all that there is no place for. */
static size_t speed_of(const struct effect_work *w, size_t at)
{
	double rate = run_rate(w->run, at);
	size_t i = 0;

	while (i + 1 < w->speeds.n && !is_rate(&w->speeds, i, rate)) {
		i++;
	}
	return i;
}

static void list_speeds(struct effect_work *w)
{
	struct effect_speeds *s = &w->speeds;

	for (size_t at = 0; at < run_n_cells(w->run); at++) {
		double rate = run_rate(w->run, at);
		size_t i = 0;

		if (!run_good(w->run->cells[at].class)) {
			continue;
		}
		while (i < s->n && !is_rate(s, i, rate)) {
			i++;
		}
		if (i == s->n && s->n < EFFECT_SPEEDS) {
			s->GB_s[s->n++] = rate;
		}
	}
}

int effect_speeds_learn(struct effect_work *w)
{
	double *room;

	w->speeds = (struct effect_speeds){ 0 };
	if (!w->run->ports) {
		return 0;
	}
	room = calloc(run_n_cells(w->run) + 1, sizeof(*room));
	if (!room) {
		return -1;
	}
	list_speeds(w);
	for (size_t i = 0; i < w->speeds.n * PATH_CLASSES; i++) {
		size_t n = 0;

		for (size_t at = 0; at < run_n_cells(w->run); at++) {
			float v = measured_log(w, at);

			if (isfinite(v) &&
			    w->run->cells[at].path == i % PATH_CLASSES &&
			    speed_of(w, at) == i / PATH_CLASSES) {
				room[n++] = (double)v;
			}
		}
		w->speeds.usual[i / PATH_CLASSES][i % PATH_CLASSES] =
			n ? stats_select(room, n, n / 2) : 0;
	}
	free(room);
	return 0;
}

float effect_log(const struct effect_work *w, size_t at)
{
	float v = measured_log(w, at);

	return w->speeds.n == 0 ? v :
	       v - (float)w->speeds.usual[speed_of(w, at)]
					 [w->run->cells[at].path];
}
