/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/sampled.h"

#include <math.h>
#include <stdio.h>

#include "lib/data/json.h"

/* More rounds than any run has. */
#define ROUNDS_MOST 1000000

int sampled_rounds(const struct sampled *s)
{
	return s->rail + s->inside + s->cross;
}

json_t *sampled_json(const struct sampled *s)
{
	return sampled_rounds(s) == 0 ? NULL :
		json_pack("{s:i,s:i,s:i,s:b,s:i,s:i,s:i,s:f}",
			  "rail", s->rail, "inside", s->inside,
			  "cross", s->cross, "nodes", s->nodes,
			  "n_nodes", s->n_nodes, "n_ranks", s->n_ranks,
			  "rails", s->rails, "share", s->share);
}

bool sampled_read(const json_t *planned, struct sampled *s)
{
	const json_t *json = json_object_get(planned, "sample");
	const struct {
		const char *key;
		int *to;
	} members[] = {
		{ "rail", &s->rail }, { "inside", &s->inside },
		{ "cross", &s->cross }, { "n_nodes", &s->n_nodes },
		{ "n_ranks", &s->n_ranks }, { "rails", &s->rails },
	};
	const json_t *share = json_object_get(json, "share");
	int64_t n;

	*s = (struct sampled){
		.nodes = json_is_true(json_object_get(json, "nodes")),
		.share = json_number_value(share),
	};
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		if (!json || json_get_int(json, members[i].key, 0, ROUNDS_MOST,
					  &n, NULL) < 0) {
			return false;
		}
		*members[i].to = (int)n;
	}
	return sampled_rounds(s) > 0 && s->share >= 0 && s->share <= 1;
}

/* ---- how likely -------------------------------------------------------- */

/** At least one of @n, each with chance @p. */
static double any_of(double n, double p)
{
	return 1 - pow(1 - fmin(p, 1), n);
}

double sampled_part(const struct sampled *s, bool nic, double rate)
{
	int rounds = s->rail + s->cross + (nic ? 0 : s->inside);

	return any_of(2.0 * rounds, rate);	/* both ways */
}

double sampled_uplink(const struct sampled *s)
{
	return any_of((double)SAMPLED_FLOWS * (s->rail + s->cross),
		      1.0 / SAMPLED_UPLINKS);
}

double sampled_node_pair(const struct sampled *s)
{
	double others = s->n_nodes - 1;
	double missed = 1 - fmin(1, s->cross / others);

	/* each rail has its own order of the nodes, and all across one */
	missed *= pow(1 - fmin(1, s->rail / others), s->rails);
	return s->nodes ? 1 : 1 - missed;
}

/* ---- in words ---------------------------------------------------------- */

const char *sampled_percent(double p, char *buf, size_t size)
{
	double percent = 100 * p;
	int digits = percent >= 99.9 ? 2 : percent >= 99 ? 1 : 0;
	double grain = pow(10, digits);

	if (percent < 10) {
		snprintf(buf, size, "%.2g %%", percent);
	} else {
		snprintf(buf, size, "%.*f %%", digits,
			 fmin(floor(percent * grain) / grain, 99.99));
	}
	return buf;
}

void sampled_rounds_text(const struct sampled *s, struct str *out)
{
	const struct {
		int rounds;
		const char *what;
	} kinds[] = {
		{ s->rail, "on rails" }, { s->inside, "inside nodes" },
		{ s->cross, "across rails" },
	};
	const char *sep = "(";
	int n = sampled_rounds(s);

	str_addf(out, "%d round%s ", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].rounds > 0) {
			str_addf(out, "%s%d %s", sep, kinds[i].rounds,
				 kinds[i].what);
			sep = ", ";
		}
	}
	str_add(out, ")");
	if (s->nodes) {
		str_add(out, " and one pair between any two nodes");
	}
}

void sampled_sure_text(const struct sampled *s, struct str *out)
{
	str_add(out, s->rail + s->cross == 0 ? "any GPU that always fails" :
		     "any GPU, NIC, node or switch that always fails");
	if (s->nodes) {
		str_add(out, ", any two nodes that do not reach each other");
	}
}

void sampled_chance_text(const struct sampled *s, struct str *out)
{
	bool out_of_node = s->rail + s->cross > 0;
	char text[24];

	str_addf(out, "%s that fails a third of its tests %s",
		 out_of_node ? "a NIC" : "a GPU",
		 sampled_percent(sampled_part(s, out_of_node, 1 / 3.0), text,
				 sizeof(text)));
	if (out_of_node) {
		str_addf(out, ", a dead uplink of %d of a leaf %s",
			 SAMPLED_UPLINKS, sampled_percent(sampled_uplink(s),
							  text, sizeof(text)));
	}
	if (out_of_node && !s->nodes) {
		str_addf(out, ", a fault between two nodes alone %s",
			 sampled_percent(sampled_node_pair(s), text,
					 sizeof(text)));
	}
	str_addf(out, ", a fault of one pair alone %s",
		 sampled_percent(s->share, text, sizeof(text)));
}
