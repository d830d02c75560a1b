/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plan/budget.h"

#include <math.h>
#include <string.h>

#include "cli/plan/forecast.h"
#include "cli/plan/plan.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"

/** Of the budget healthy tests may take so much by the forecast: second
 *  attempts and the follow-up add 40 % at most, and it is a guess ... */
#define FORECAST_SHARE 0.6
/** ... and at most so much of it until they are cut short; the rest is for the
 *  end of the run and its report. */
#define TESTS_SHARE 0.9

/** What can be left out, one on top of the other. */
static const struct cut {
	enum probe_kind kind;
	const char *option, *value;
} cuts[] = {
	{ PROBE_PAIRS, "sample", "512" },
	{ PROBE_PAIRS, "sample", "128" },
	{ PROBE_PAIRS, "sample", "32" },
	{ PROBE_PAIRS, "sample", "12" },
	{ PROBE_PAIRS, "sample", "8" },
	{ PROBE_PAIRS, "sample", "4" },
	{ PROBE_PAIRS, "sample", "3" },
	{ PROBE_PAIRS, "iters", "5" },
	{ PROBE_PAIRS, "sample", "2" },
	{ PROBE_PAIRS, "sample", "1" },
	{ PROBE_COLLECTIVE, "stepfactor", "4" },
	{ PROBE_COLLECTIVE, "stepfactor", "32" },
	{ PROBE_COLLECTIVE, "iters", "5" },
	{ PROBE_COLLECTIVE, "maxbytes", "1G" },
	{ PROBE_COLLECTIVE, "maxbytes", "64M" },
};
#define CUTS (sizeof(cuts) / sizeof(cuts[0]))

/** Seconds that healthy tests of @s take; NAN: nobody knows. */
static double need_s(const struct spec *s, const struct probe *probe,
		     const char *launcher, size_t *cells)
{
	struct forecast f;
	double time_s;

	forecast_make(s, probe, launcher, PLAN_RANKS, &f);
	*cells = f.cells;
	time_s = f.time_s;
	forecast_release(&f);
	return time_s;
}

/** Has somebody decided that, or what goes with it? */
static bool is_set(const struct spec *s, const char *option)
{
	return !spec_is_default(s, spec_find(option)) ||
	       (strcmp(option, "sample") == 0 &&
		(s->quick || !spec_is_default(s, spec_find("pairs")))) ||
	       (strcmp(option, "maxbytes") == 0 && s->size_begin_B > 0);
}

/** "--sample=12 --iters=5": what was cut. */
static void add_cuts(const struct spec *asked, const struct spec *s,
		     struct str *out)
{
	char text[64];

	for (const struct spec_option *o = spec_options; o->name; o++) {
		bool cut = false;

		for (size_t i = 0; i < CUTS; i++) {
			cut = cut || strcmp(cuts[i].option, o->name) == 0;
		}
		if (cut && !spec_same(asked, s, o)) {
			spec_text(s, o, text, sizeof(text));
			str_addf(out, " --%s=%s", o->name, text);
		}
	}
}

static void say(const struct spec *asked, const struct spec *s, double time_s,
		size_t all, size_t cells, struct str *says)
{
	struct str options = STR_INIT;
	char budget[32], time[32];

	units_duration_text(s->budget_ns, budget, sizeof(budget));
	add_cuts(asked, s, &options);
	str_addf(says, "to fit into %s:%s", budget,
		 options.len ? str_text(&options) :
			       " nothing can be left out that is not asked "
			       "for");
	str_release(&options);
	if (cells < all) {
		str_addf(says, ", %.0f %% of %zu tests are left out",
			 100.0 * (double)(all - cells) / (double)all, all);
	}
	if (time_s > FORECAST_SHARE * (double)s->budget_ns / 1e9) {
		str_addf(says, "; it may take %s: what is not done in time is "
			 "not run", forecast_time(time_s, time, sizeof(time)));
	}
}

void budget_fit(struct spec *s, const struct probe *probe,
		const char *launcher, struct str *says)
{
	const struct spec asked = *s;
	const int64_t most_ns = (int64_t)(TESTS_SHARE * (double)s->budget_ns);
	const double fits_s = FORECAST_SHARE * (double)s->budget_ns / 1e9;
	size_t all = 0, cells = 0;
	double now_s = NAN;

	if (s->budget_ns == 0) {
		return;
	}
	if (s->max_time_ns == 0 || s->max_time_ns > most_ns) {
		s->max_time_ns = most_ns;
	}
	if (probe) {
		now_s = need_s(s, probe, launcher, &all);
		cells = all;
	}
	for (size_t i = 0; i < CUTS && now_s > fits_s; i++) {
		const struct spec before = *s;
		double then_s;
		size_t left;

		if (cuts[i].kind != probe->kind ||
		    is_set(&asked, cuts[i].option)) {
			continue;
		}
		spec_set(s, spec_find(cuts[i].option), cuts[i].value, NULL);
		then_s = need_s(s, probe, launcher, &left);
		if (then_s < now_s) {
			now_s = then_s;
			cells = left;
		} else {
			*s = before;
		}
	}
	if (cells < all || now_s > fits_s || s->iters != asked.iters) {
		say(&asked, s, now_s, all, cells, says);
	}
}

int budget_check(const struct spec *s, int percent, struct err *e)
{
	const double share = TESTS_SHARE * percent / 100;
	const double least_s = ceil(1 / share);

	if (s->budget_ns == 0 ||
	    (double)s->budget_ns >= least_s * (double)NS_PER_S) {
		return 0;
	}
	return err_set(e, 0, "--budget: %g s is too short; at least %g s",
		       (double)s->budget_ns / (double)NS_PER_S, least_s);
}
