/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/hostlist.h"
#include "report/model/part.h"
#include "report/judge/says.h"
#include "report/judge/skew.h"
#include "report/judge/witness.h"
#include "report/judge/verdict.h"

/** Sets of nodes that each differ in their own way: more show no pattern. */
#define MAX_FINDINGS 8
/** Facts that a sentence names; all of them are evidence. */
#define MAX_NAMED    3
#define MAX_EVIDENCE 40
#define NAMES_SIZE   100	/* of the nodes of one side */

/** Is @node on side @side?  Of an even split, side k has the k-th value; else
 *  side 0 has the usual value and side 1 is odd. */
static bool on_side(const struct skew_diff *d, int node, int side)
{
	int value = d->value_of[node];

	return value >= 0 &&
	       (skew_is_even(d) ? value : value > 0) == side;
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

/** The nodes with value @value, "n[0-2,4]", cut when there are many. */
static const char *names_of(const struct run *run, const struct skew_diff *d,
			    bool (*has)(const struct skew_diff *d, int node,
					int which),
			    int which, char buf[NAMES_SIZE])
{
	char (*names)[64] = calloc((size_t)run->n_nodes, sizeof(*names));
	struct str list = STR_INIT;
	size_t n = 0;

	for (int i = 0; names && i < run->n_nodes; i++) {
		if (has(d, i, which)) {
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

static bool has_value(const struct skew_diff *d, int node, int value)
{
	return d->value_of[node] == value;
}

static bool has_any(const struct skew_diff *d, int node, int unused)
{
	(void)unused;
	return d->value_of[node] >= 0;
}

/** "570.86 on n[0-2], 550.54 on n3": all of one fact. */
static int add_fact(const struct run *run, const struct skew_diff *d,
		    struct finding *f)
{
	struct str out = STR_INIT;
	char names[NAMES_SIZE];
	int rc;

	str_addf(&out, "%s:", d->name);
	for (size_t i = 0; i < d->n_values && i < SKEW_VALUES; i++) {
		str_addf(&out, "%s%s%s on %s", i ? ", " : " ",
			 i == SKEW_VALUES - 1 ? "others like " : "",
			 d->values[i],
			 names_of(run, d, has_value, (int)i, names));
	}
	if (d->source[0]) {
		str_addf(&out, " (%s)", d->source);
	}
	rc = finding_add_evidence(f, str_text(&out));
	str_release(&out);
	return rc;
}

/* ---- does it go with what is bad? --------------------------------------------- */

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
	for (int s = 0; s < run->n_ranks; s++) {
		for (int t = 0; t < run->n_ranks; t++) {
			size_t at = run_at(run, s, t);
			bool with = goes_with(run, d, s, t);
			bool is_bad = witness_is_bad(run, ABOUT_FAULTS, at) ||
				      witness_is_bad(run, ABOUT_SLOW, at);

			f->cells += with && run_measured(run->cells[at].class);
			*all += is_bad;
			bad += is_bad && with;
		}
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
		str_addf(out, "; all %zu failed or slow tests are %s", all, where);
	} else {
		str_addf(out, "; %zu of %zu failed or slow tests are %s", bad, all,
			 where);
	}
}

/* ---- the sentence -------------------------------------------------------------- */

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
			 names_of(run, d, has_any, 0, a));
	} else if (skew_is_even(d)) {
		str_addf(out, "The set-ups of %s and %s differ: ",
			 names_of(run, d, on_side, 0, a),
			 names_of(run, d, on_side, 1, b));
	} else {
		str_addf(out, "The set-up of %s differs from that of %zu "
			 "others: ", names_of(run, d, on_side, 1, a),
			 d->count[0]);
	}
}

/** Who is named: the odd nodes, or all that an even split is between. */
static int take_members(const struct run *run, const struct skew_diff *d,
			struct finding *f)
{
	bool even = skew_is_even(d);

	f->members = calloc((size_t)run->n_nodes, sizeof(*f->members));
	if (!f->members) {
		return -1;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		if (d->value_of[i] >= 0 && (even || on_side(d, i, 1))) {
			f->members[f->n_members++] = i;
		}
	}
	if (f->n_members == 1) {
		f->part.node = f->members[0];
	}
	return 0;
}

static int add_skew(const struct run *run, const struct skew *s, size_t first,
		    bool *told, struct verdict *v)
{
	struct part p = part_of_kind(PART_CONFIG);
	const struct skew_diff *d = &s->list[first];
	struct finding *f = finding_add(v, &p);
	struct str out = STR_INIT;
	size_t n = 0;

	if (!f || take_members(run, d, f) < 0) {
		return -1;
	}
	add_subject(run, d, &out);
	for (size_t i = first; i < s->n; i++) {
		if (told[i] || !same_sides(run, d, &s->list[i])) {
			continue;
		}
		told[i] = true;
		if (n++ < MAX_NAMED) {
			str_add(&out, n > 1 ? "; " : "");
			add_values(&s->list[i], &out);
		}
		if (n <= MAX_EVIDENCE && add_fact(run, &s->list[i], f) < 0) {
			str_release(&out);
			return -1;
		}
	}
	if (n > MAX_NAMED) {
		str_addf(&out, "; %zu more fact%s", n - MAX_NAMED,
			 n - MAX_NAMED == 1 ? "" : "s");
	}
	add_match(run, d, f, &out);
	STR_COPY(f->code, "config_skew");
	STR_COPY(f->says, str_text(&out));
	says_act(run, f, -1, -1);
	str_release(&out);
	return 0;
}

/** Facts that no finding has room for. */
static int add_rest(const struct skew *s, const bool *told, struct verdict *v)
{
	size_t rest = 0;
	char text[120];

	for (size_t i = 0; i < s->n; i++) {
		rest += !told[i];
	}
	if (rest == 0) {
		return 0;
	}
	snprintf(text, sizeof(text), "%zu more fact%s between other sets of "
		 "nodes: see facts.csv", rest, rest == 1 ? " differs" : "s differ");
	return finding_add_evidence(&v->findings[v->n - 1], text);
}

int skew_findings(const struct run *run, struct verdict *v)
{
	struct skew s;
	bool *told = NULL;
	int rc = skew_find(run, &s), n = 0;

	if (rc == 0) {
		told = calloc(s.n + 1, sizeof(*told));
		rc = told ? 0 : -1;
	}
	for (size_t i = 0; rc == 0 && i < s.n && n < MAX_FINDINGS; i++) {
		if (!told[i]) {
			rc = add_skew(run, &s, i, told, v);
			n++;
		}
	}
	if (rc == 0) {
		rc = add_rest(&s, told, v);
	}
	free(told);
	skew_release(&s);
	return rc;
}
