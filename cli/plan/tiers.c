/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plan/tiers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "probes/plan/strata.h"

#define DAY_S 86400.0
#define RARE (1 / 3.0)		/* the tests that a part fails */

static const struct tier {
	const char *words;		/* as typed */
	const char *pairs;
	int sample;
	bool quick;
} tiers[] = {
	{ .words = "--quick", .pairs = "default", .quick = true },
	{ .words = "--sample=12", .pairs = "default",
	  .sample = STRATA_DEFAULT },
	{ .words = "--pairs=nodes", .pairs = "nodes" },
	{ .words = "--pairs=all", .pairs = "all" },
};

#define TIERS (sizeof(tiers) / sizeof(*tiers))

/** A tier as a run of it would be. */
struct offer {
	const struct tier *tier;
	bool usual;		/* what is measured without any option */
	size_t tests, rounds;	/* 0: cannot be had */
	double time_s;
	double rare, uplink, nodes, pair;	/* seen with this chance */
};

static bool is_choice(const struct forecast *f)
{
	const char *pairs = f->spec.pairs;
	bool open = strcmp(pairs, "default") == 0 ||
		    strcmp(pairs, "nodes") == 0 || strcmp(pairs, "all") == 0;

	return f->probe->kind == PROBE_PAIRS && !f->probe->ports && open &&
	       f->layout.n_nodes > 1 && f->layout.n_ranks > STRATA_DEFAULT + 1;
}

static struct offer make_offer(const struct forecast *f, const struct tier *t)
{
	struct offer o = { .tier = t, .rare = 1, .uplink = 1, .nodes = 1,
			   .pair = 1 };
	bool many = f->layout.n_ranks > PAIRS_ALL_USUAL;
	struct spec s = f->spec;
	struct forecast other;

	s.quick = t->quick;
	s.sample = t->sample;
	snprintf(s.pairs, sizeof(s.pairs), "%s", t->pairs);
	other = forecast_of(f, &s);
	o.usual = strcmp(t->words, many ? "--sample=12" : "--pairs=all") == 0;
	o.tests = other.cells;
	o.rounds = other.turns;
	o.time_s = other.time_s;
	if (sampled_rounds(&other.plan.sample) > 0) {
		o.rare = sampled_part(&other.plan.sample, true, RARE);
		o.uplink = sampled_uplink(&other.plan.sample);
		o.nodes = sampled_node_pair(&other.plan.sample);
		o.pair = other.plan.sample.share;
	}
	return o;
}

/* ---- in words ---------------------------------------------------------- */

/** "7 days" where nobody expects as much. */
static const char *time_text(double time_s, char *buf, size_t size)
{
	if (isnan(time_s)) {
		snprintf(buf, size, "-");
	} else if (time_s >= DAY_S) {
		snprintf(buf, size, "%.1f DAYS", time_s / DAY_S);
	} else {
		forecast_time(time_s, buf, size);
	}
	return buf;
}

static void add_chance(double p, struct str *out)
{
	char text[24];

	str_addf(out, " %9s", p >= 1 ? "all" : sampled_percent(p, text,
							       sizeof(text)));
}

static void add_offer(const struct offer *o, struct str *out)
{
	char text[48];

	str_addf(out, "%c %-14s", o->usual ? '*' : ' ', o->tier->words);
	if (o->rounds == 0) {
		str_addf(out, " not of more than %d ranks\n", PAIRS_ALL_MOST);
		return;
	}
	str_addf(out, "%7zu %13s", o->rounds,
		 time_text(o->time_s, text, sizeof(text)));
	add_chance(o->rare, out);
	add_chance(o->uplink, out);
	add_chance(o->nodes, out);
	add_chance(o->pair, out);
	str_addch(out, '\n');
}

void tiers_words(const struct forecast *f, struct str *out)
{
	if (!is_choice(f)) {
		return;
	}
	str_addf(out, "\nWhat can be measured (* without options). Each sees "
		 "GPUs, NICs, nodes and\nswitches that always fail, and with "
		 "this chance a NIC that fails a third of its\ntests, a dead "
		 "uplink of %d of a leaf, a fault of two nodes, of one pair of "
		 "GPUs:\n  %-14s %6s %13s %9s %9s %9s %9s\n",
		 SAMPLED_UPLINKS, "", "rounds", "time", "a third", "uplink",
		 "two nodes", "one pair");
	for (size_t i = 0; i < TIERS; i++) {
		struct offer o = make_offer(f, &tiers[i]);

		add_offer(&o, out);
	}
}

json_t *tiers_json(const struct forecast *f)
{
	json_t *list = json_array();

	for (size_t i = 0; is_choice(f) && i < TIERS; i++) {
		struct offer o = make_offer(f, &tiers[i]);

		json_array_append_new(list, json_pack(
			"{s:s, s:b, s:I, s:I, s:o, s:f, s:f, s:f, s:f}",
			"options", o.tier->words, "default", o.usual,
			"cells", (json_int_t)o.tests,
			"rounds", (json_int_t)o.rounds, "time_s",
			isnan(o.time_s) ? json_null() : json_real(o.time_s),
			"seen_third", o.rare, "seen_uplink", o.uplink,
			"seen_node_pair", o.nodes, "seen_pair", o.pair));
	}
	return list;
}
