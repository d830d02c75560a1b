/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/hostlist.h"
#include "report/judge/skew.h"
#include "report/judge/witness.h"

/** Sets of nodes that each differ in their own way: more show no pattern. */
#define MAX_FINDINGS 8
/** Facts that a sentence names; all of them are evidence. */
#define MAX_NAMED    3
#define MAX_EVIDENCE 40
#define NAMES_SIZE   100	/* of the nodes of one side */

/** The values of side @side, 1 << value each.  Of an even split, side k has the
 *  k-th value; else side 0 has the usual value and side 1 is odd. */
static unsigned of_side(const struct skew_diff *d, int side)
{
	return skew_is_even(d) ? 1U << side : side ? ~1U : 1U;
}

static bool has(const struct skew_diff *d, int node, unsigned values)
{
	return d->value_of[node] >= 0 && (values >> d->value_of[node] & 1) != 0;
}

static bool on_side(const struct skew_diff *d, int node, int side)
{
	return has(d, node, of_side(d, side));
}

/** Do the same nodes differ in the same way? */
static bool same_sides(const struct run *run, const struct skew_diff *a,
		       const struct skew_diff *b)
{
	bool even = skew_is_even(a);

	if (even != skew_is_even(b) || (even && a->n_values != b->n_values)) {
		return false;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		if (even ? a->value_of[i] != b->value_of[i] :
			   on_side(a, i, 1) != on_side(b, i, 1)) {
			return false;
		}
	}
	return true;
}

/** The nodes with one of @values, "n[0-2,4]", cut when there are many. */
static const char *names_of(const struct run *run, const struct skew_diff *d,
			    unsigned values, char buf[NAMES_SIZE])
{
	char (*names)[64] = calloc((size_t)run->n_nodes, sizeof(*names));
	struct str list = STR_INIT;
	size_t n = 0;

	for (int i = 0; names && i < run->n_nodes; i++) {
		if (has(d, i, values)) {
			STR_COPY(names[n++], run->nodes[i].name);
		}
	}
	if (n > 0) {
		hostlist_add(&list, names[0], sizeof(*names), n);
	}
	if (list.len >= NAMES_SIZE) {
		snprintf(buf, NAMES_SIZE, "%zu nodes from %s on", n, names[0]);
	} else {
		str_copy(buf, NAMES_SIZE, str_text(&list));
	}
	str_release(&list);
	free(names);
	return buf;
}

/** "570.86 on n[0-2], 550.54 on n3": all of one fact. */
static void add_fact(const struct run *run, const struct skew_diff *d,
		     struct finding *f)
{
	struct str out = STR_INIT;
	char names[NAMES_SIZE];

	for (size_t i = 0; i < d->n_values && i < SKEW_VALUES; i++) {
		str_addf(&out, "%s%s%s on %s", i ? ", " : " ",
			 i == SKEW_VALUES - 1 ? "others like " : "",
			 d->values[i], names_of(run, d, 1U << i, names));
	}
	if (d->source[0]) {
		str_addf(&out, " (%s)", d->source);
	}
	finding_add_evidence(f, "%s:%s", d->name, str_text(&out));
	str_release(&out);
}

/* ---- does it go with what is bad? ---------------------------------------- */

/** Cells that go with the difference: of an odd node, or from one side of an
 *  even split to another. */
static bool goes_with(const struct run *run, const struct skew_diff *d,
		      int src, int dst)
{
	int a = run->ranks[src].node, b = run->ranks[dst].node;

	if (!skew_is_even(d)) {
		return on_side(d, a, 1) || on_side(d, b, 1);
	}
	return d->value_of[a] >= 0 && d->value_of[b] >= 0 &&
	       d->value_of[a] != d->value_of[b];
}

/** f->cells; f->explained when these are all the bad ones.  Returns how many
 *  are bad, of @all that are. */
static size_t count_cells(const struct run *run, const struct skew_diff *d,
			  struct finding *f, size_t *all)
{
	size_t bad = 0;

	*all = 0;
	for (size_t at = 0; at < run_n_cells(run); at++) {
		bool with = goes_with(run, d, run_src(run, at),
				      run_dst(run, at));
		bool is_bad = witness_is_bad(run, ABOUT_FAULTS, at) ||
			      witness_is_bad(run, ABOUT_SLOW, at);

		f->cells += with && run_measured(run->cells[at].class);
		*all += is_bad;
		bad += is_bad && with;
	}
	f->explained = bad == *all ? bad : 0;
	return bad;
}

static void add_match(const struct run *run, const struct skew_diff *d,
		      struct finding *f, struct str *out)
{
	size_t all, bad = count_cells(run, d, f, &all);
	const char *where = skew_is_even(d) ?
				    d->n_values > 2 ?
				    "between nodes that differ" :
				    "between the two sides" :
			    f->part.node >= 0 ? "tests of this node" :
						"tests of these nodes";

	if (!run->cells) {
		return;		/* a run of collectives has none */
	}
	if (all == 0) {
		str_add(out, "; no test failed or was slow");
	} else if (bad == all) {
		str_addf(out, "; all %zu failed or slow tests are %s", all,
			 where);
	} else {
		str_addf(out, "; %zu of %zu failed or slow tests are %s", bad,
			 all, where);
	}
}

/* ---- the sentence -------------------------------------------------------- */

static void add_value(const struct skew_diff *d, size_t i, struct str *out)
{
	char value[SKEW_SHOWN];

	STR_COPY(value, d->values[i]);
	str_add(out, value);
}

/** Values from @from on, with @between, as far as a sentence holds them; then
 *  @more and how many are left. */
static void add_list(const struct skew_diff *d, size_t from,
		     const char *between, const char *more, struct str *out)
{
	size_t to = d->n_values < from + MAX_NAMED ? d->n_values :
						     from + MAX_NAMED;

	for (size_t i = from; i < to; i++) {
		str_add(out, i > from ? between : "");
		add_value(d, i, out);
	}
	if (d->n_values > to) {
		str_addf(out, "%s%zu more", more, d->n_values - to);
	}
}

/** "driver 550.54 or none (others: 570.86)": the odd values first; "driver
 *  550.54 against 570.86" of an even split, "driver has 3 different values:
 *  550.54, 570.86, none" of one into more. */
static void add_values(const struct skew_diff *d, struct str *out)
{
	str_addf(out, "%s ", d->name);
	if (!skew_is_even(d)) {
		add_list(d, 1, " or ", " or ", out);
		str_add(out, " (others: ");
		add_value(d, 0, out);
		str_add(out, ")");
	} else if (d->n_values > 2) {
		str_addf(out, "has %zu different values: ", d->n_values);
		add_list(d, 0, ", ", " and ", out);
	} else {
		add_list(d, 0, " against ", "", out);
	}
}

/** "The set-up of n3 differs from that of the other 7 nodes: " */
static void add_subject(const struct run *run, const struct skew_diff *d,
			struct str *out)
{
	char a[NAMES_SIZE], b[NAMES_SIZE];

	if (d->n_values > 2 && skew_is_even(d)) {
		str_addf(out, "The set-ups of %s differ: ",
			 names_of(run, d, ~0U, a));
	} else if (skew_is_even(d)) {
		str_addf(out, "The set-ups of %s and %s differ: ",
			 names_of(run, d, of_side(d, 0), a),
			 names_of(run, d, of_side(d, 1), b));
	} else {
		str_addf(out, "The set-up of %s differs from that of %zu "
			 "others: ", names_of(run, d, of_side(d, 1), a),
			 d->count[0]);
	}
}

/** Who is named: the odd nodes, or all that an even split is between. */
static void take_members(const struct run *run, const struct skew_diff *d,
			 struct finding *f)
{
	for (int i = 0; i < run->n_nodes; i++) {
		if (has(d, i, skew_is_even(d) ? ~0U : of_side(d, 1))) {
			finding_add_member(f, i);
		}
	}
	if (f->n_members == 1) {
		f->part.node = f->members[0];
	}
}

/** Difference @first, and those after it that are between the same nodes. */
static struct finding *add_skew(const struct run *run, struct skew *s,
				size_t first, struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	const struct skew_diff *d = &s->list[first];
	struct finding *f = finding_add(v, &p, "config_skew");
	struct str out = STR_INIT;
	size_t n = 0;

	take_members(run, d, f);
	add_subject(run, d, &out);
	for (size_t i = first; i < s->n; i++) {
		if (s->list[i].told || !same_sides(run, d, &s->list[i])) {
			continue;
		}
		s->list[i].told = true;
		if (n++ < MAX_NAMED) {
			str_add(&out, n > 1 ? "; " : "");
			add_values(&s->list[i], &out);
		}
		if (n <= MAX_EVIDENCE) {
			add_fact(run, &s->list[i], f);
		}
	}
	if (n > MAX_NAMED) {
		str_addf(&out, "; %zu more fact%s", n - MAX_NAMED,
			 n - MAX_NAMED == 1 ? "" : "s");
	}
	add_match(run, d, f, &out);
	finding_say(f, "%s", str_text(&out));
	str_release(&out);
	return f;
}

void skew_findings(const struct run *run, struct verdict *v)
{
	struct finding *last = NULL;
	size_t rest = 0;
	struct skew s;
	int n = 0;

	v->failed = skew_find(run, &s) < 0 || v->failed;
	for (size_t i = 0; i < s.n; i++) {
		if (!s.list[i].told && n < MAX_FINDINGS) {
			last = add_skew(run, &s, i, v);
			n++;
		}
	}
	for (size_t i = 0; i < s.n; i++) {
		rest += !s.list[i].told;
	}
	if (rest > 0) {
		finding_add_evidence(last, "%zu more fact%s between other sets "
				     "of nodes: see facts.csv", rest,
				     rest == 1 ? " differs" : "s differ");
	}
	skew_release(&s);
}
