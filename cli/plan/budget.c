/* SPDX-License-Identifier: BSD-3-Clause */
/* --time-budget: reduce the options of a run until it fits into a time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/plan/plan.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/schema.h"
#include "probes/plan/plan.h"

/* ---- tiers --------------------------------------------------------------- */

#define DAY_S 86400.0
#define RARE (1 / 3.0)		/* the tests that a part fails */
#define TIER_WORDS 32

static const struct tier {
	const char *words;		/* as typed */
	const char *pairs;
	int sample;
	bool quick;
	/** A run of it would be: */
	bool usual;		/* measured by default */
	bool typed;		/* this one */
	size_t tests, rounds;	/* 0: cannot be had */
	double time_s;
	double rare, uplink, nodes, pair;	/* seen with this chance */
} tiers[] = {
	{ .words = "--quick", .pairs = "default", .quick = true },
	{ .words = "--sample=12", .pairs = "default",
	  .sample = STRATA_DEFAULT },
	{ .words = "--pairs=nodes", .pairs = "nodes" },
	{ .words = "--pairs=all", .pairs = "all" },
};

#define TIERS (sizeof(tiers) / sizeof(*tiers))

/** Return @t as a run of it would be. */
static struct tier make_offer(const struct forecast *f, const struct tier *t)
{
	struct tier o = *t;
	bool many = f->layout.n_ranks > PAIRS_ALL_USUAL;
	struct spec s = f->spec;
	struct forecast other;

	s.quick = t->quick;
	s.sample = t->sample;
	snprintf(s.pairs, sizeof(s.pairs), "%s", t->pairs);
	other = forecast_of(f, &s);
	o.usual = strcmp(t->words, many ? "--sample=12" : "--pairs=all") == 0;
	o.typed = s.quick == f->spec.quick && s.sample == f->spec.sample &&
		  strcmp(s.pairs, f->spec.pairs) == 0;
	o.tests = other.cells;
	o.rounds = other.turns;
	o.time_s = other.time_s;
	o.rare = o.uplink = o.nodes = o.pair = 1;
	if (sampled_rounds(&other.plan.sample) > 0) {
		o.rare = sampled_part(&other.plan.sample, true, RARE);
		o.uplink = sampled_uplink(&other.plan.sample);
		o.nodes = sampled_node_pair(&other.plan.sample);
		o.pair = other.plan.sample.share;
	}
	return o;
}

/** Write all tiers, shortest first, and the sample of the run @f if it has
 *  another size, with @words for it; returns how many, 0 if there is nothing to
 *  choose. */
static size_t list_offers(const struct forecast *f, char words[TIER_WORDS],
			  struct tier list[TIERS + 1])
{
	struct tier own = { .words = words, .pairs = f->spec.pairs,
			    .sample = (int)f->spec.sample };
	const char *pairs = f->spec.pairs;
	const bool open = strcmp(pairs, "default") == 0 ||
			  strcmp(pairs, "nodes") == 0 ||
			  strcmp(pairs, "all") == 0;
	size_t n = 0;

	if (f->probe->kind != PROBE_PAIRS || f->probe->ports || !open ||
	    f->layout.n_nodes < 2 || f->layout.n_ranks <= STRATA_DEFAULT + 1) {
		return 0;
	}
	snprintf(words, TIER_WORDS, "--sample=%d", own.sample);
	own = make_offer(f, &own);
	for (size_t i = 0; i < TIERS; i++) {
		const struct tier o = make_offer(f, &tiers[i]);

		if (own.sample > 0 && own.tests < o.tests) {
			list[n++] = own;
			own.sample = 0;
		}
		list[n++] = o;
		own.sample = o.typed ? 0 : own.sample;
	}
	return n;
}

/* ---- in words ---------------------------------------------------------- */

static void add_offer(const struct tier *o, struct str *out)
{
	const double chances[] = { o->rare, o->uplink, o->nodes, o->pair };
	char text[48];

	str_addf(out, "%c %-14s", o->typed ? '>' : o->usual ? '*' : ' ',
		 o->words);
	if (o->rounds == 0) {
		str_addf(out, " not of more than %d ranks\n", PAIRS_ALL_MOST);
		return;
	}
	/* few users expect a day or more: capitals draw attention to it */
	if (isnan(o->time_s)) {
		snprintf(text, sizeof(text), "-");
	} else if (o->time_s >= DAY_S) {
		snprintf(text, sizeof(text), "%.1f DAYS", o->time_s / DAY_S);
	} else {
		forecast_time(o->time_s, text, sizeof(text));
	}
	str_addf(out, "%7zu %13s", o->rounds, text);
	for (size_t i = 0; i < sizeof(chances) / sizeof(*chances); i++) {
		str_addf(out, " %9s", chances[i] >= 1 ? "all" :
			 sampled_percent(chances[i], text, sizeof(text)));
	}
	str_addch(out, '\n');
}

void tiers_words(const struct forecast *f, struct str *out)
{
	char words[TIER_WORDS];
	struct tier list[TIERS + 1];
	const size_t n = list_offers(f, words, list);

	if (n == 0) {
		return;
	}
	str_addf(out, "\nChoices (> this run, * default). Each finds GPUs, "
		 "NICs, nodes and switches\nthat always fail, and with these "
		 "probabilities a NIC that fails a third of its\ntests, a dead "
		 "uplink among the %d of a leaf, a fault between two nodes, and "
		 "one\nbetween two GPUs:\n  %-14s %6s %13s %9s %9s %9s %9s\n",
		 SAMPLED_UPLINKS, "", "rounds", "time", "a third", "uplink",
		 "two nodes", "one pair");
	for (size_t i = 0; i < n; i++) {
		add_offer(&list[i], out);
	}
}

#define TIER(member, key, type) FIELD(tier, member, key, type, 0, 0, "")

static const struct field tier_fields[] = {
	TIER(words, "options", LINK), TIER(usual, "default", BOOL),
	TIER(tests, "cells", INT), TIER(rounds, "rounds", INT),
	FIELD(tier, time_s, "time_s", REAL, 0, 0, "", .optional = FIELD_NULL),
	TIER(rare, "seen_third", REAL), TIER(uplink, "seen_uplink", REAL),
	TIER(nodes, "seen_node_pair", REAL), TIER(pair, "seen_pair", REAL),
	{ 0 }
};

json_t *tiers_json(const struct forecast *f)
{
	char words[TIER_WORDS];
	struct tier offers[TIERS + 1];
	const size_t n = list_offers(f, words, offers);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list,
				      schema_json(tier_fields, &offers[i]));
	}
	return list;
}

/* ---- budget -------------------------------------------------------------- */

/** Share of the budget that the forecast for healthy tests may take: second
 *  attempts and the follow-up add 40 % at most, and the forecast is a guess. */
#define FORECAST_SHARE 0.6
/** Share of the budget after which tests are cut short; the rest is for the end
 *  of the run and its report. */
#define TESTS_SHARE 0.9

/** Cuts to make, one on top of the other. */
static const struct {
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

/** Returns the seconds that healthy tests of @s take; NAN: not known. */
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

/** Return true if the user or a file has set the option, or one tied to it. */
static bool is_set(const struct spec *s, const char *option)
{
	return !spec_is_default(s, spec_find(option)) ||
	       (strcmp(option, "sample") == 0 &&
		(s->quick || !spec_is_default(s, spec_find("pairs")))) ||
	       (strcmp(option, "maxbytes") == 0 && s->size_begin_B > 0);
}

static void say(const struct spec *asked, const struct spec *s, double time_s,
		size_t all, size_t cells, struct str *says)
{
	struct str options = STR_INIT;
	char budget[32], time[32], text[64];

	/* "--sample=12 --iters=5": what was cut */
	for (const struct spec_option *o = spec_options; o->name; o++) {
		bool cut = false;

		for (size_t i = 0; i < CUTS; i++) {
			cut = cut || strcmp(cuts[i].option, o->name) == 0;
		}
		if (cut && !spec_same(asked, s, o)) {
			spec_text(s, o, text, sizeof(text));
			str_addf(&options, " --%s=%s", o->name, text);
		}
	}
	units_duration_text(s->budget_ns, budget, sizeof(budget));
	str_addf(says, "to fit into %s:%s", budget,
		 options.len ? str_text(&options) :
			       " nothing can be reduced: every option "
			       "was given");
	str_release(&options);
	if (cells < all) {
		str_addf(says, ", %.0f %% of %s tests are left out",
			 100.0 * (double)(all - cells) / (double)all,
			 UNITS_COUNT(all));
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
	return err_set(e, 0, "--time-budget: %g s is too short; at least %g s",
		       (double)s->budget_ns / (double)NS_PER_S, least_s);
}
