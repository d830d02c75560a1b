/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts in which nodes differ that should be configured alike. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/order.h"
#include "lib/data/hosts.h"
#include "report/judge/findings.h"

/* ---- skew findings ------------------------------------------------------- */

/** Sets of nodes that each differ in their own way: more show no pattern. */
#define MAX_FINDINGS 8
/** Facts that a sentence names; all of them are evidence. */
#define MAX_NAMED    3
#define MAX_EVIDENCE 40
#define NAMES_SIZE   100	/* of the nodes of one side */

/** Maximum values of a fact that are distinguished. */
#define SKEW_VALUES 8
#define SKEW_VALUE_SIZE 80
/** Maximum characters of a value in a sentence: longer values with a common
 *  beginning are shown from "..." near the difference. */
#define SKEW_SHOWN 48

/** One fact in which nodes differ. */
struct skew_diff {
	const struct skew_fact *fact;
	char name[96];		/* "driver", "mtu of ib0" */
	char source[80];
	/* the most common first, those as common as nodes come */
	char values[SKEW_VALUES][SKEW_VALUE_SIZE];
	size_t count[SKEW_VALUES];	/* nodes of each */
	size_t n_values;	/* different ones; more than fit are the last */
	int *value_of;		/* of each node, -1 = it did not say */
	bool told;		/* a finding has it */
};

/** The value that a node, or a part of it, has for one fact. */
struct skew_said {
	const struct skew_fact *fact;
	const char *kind;	/* is compared with its like only; "" = all */
	const char *value, *source;
	int node;
};

/** State of one node while facts are compared. */
struct skew_view {
	bool heard;		/* it said what it is, and no other one is its
				 * machine */
	const char *host, *boot;	/* "": not said */
	struct str text;	/* its values of one fact */
	bool seen;		/* it has one of those */
	int first;		/* node with the same; -1: not seen */
	size_t alike;		/* nodes that this is the first one of */
};

struct skew_work {
	const struct run *run;
	struct skew_said *said;
	size_t n_said;
	struct skew_view *nodes;
	struct skew_diff *list;	/* in the order of the table */
	size_t n;
};

static int skew_find(struct skew_work *w);

/** Returns true if the two most common values are equally common. */
static bool skew_is_even(const struct skew_diff *d)
{
	return d->count[0] == d->count[1];
}

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

/** Returns true if the same nodes differ in the same way. */
static bool same_sides(const struct run *run, const struct skew_diff *a,
		       const struct skew_diff *b)
{
	bool even = skew_is_even(a);

	if (even != skew_is_even(b) || (even && a->n_values != b->n_values)) {
		return false;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		if (even ? a->value_of[i] != b->value_of[i] :
			   has(a, i, of_side(a, 1)) !=
				    has(b, i, of_side(b, 1))) {
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

/* ---- correlation with faults -------------------------------------------- */

/** Counts the measured cells of odd nodes, or between sides of an even split,
 *  in f->cells, and adds how many of the bad ones these are; f->explained, if
 *  they are all of them. */
static void add_match(const struct run *run, const struct skew_diff *d,
		      struct finding *f)
{
	bool even = skew_is_even(d);
	unsigned odd = of_side(d, 1);
	size_t all = 0, bad = 0;
	const char *where = even ? d->n_values > 2 ?
				    "between nodes that differ" :
				    "between the two sides" :
			    f->part.node >= 0 ? "tests of this node" :
						"tests of these nodes";

	run_foreach_cell(run, at) {
		int a = run->ranks[run_src(run, at)].node;
		int b = run->ranks[run_dst(run, at)].node;
		bool with = even ? d->value_of[a] >= 0 &&
					   d->value_of[b] >= 0 &&
					   d->value_of[a] != d->value_of[b] :
				   has(d, a, odd) || has(d, b, odd);
		bool is_bad = witness_is_bad(run, ABOUT_FAULTS, at) ||
			      witness_is_bad(run, ABOUT_SLOW, at);

		f->cells += with && run_measured(run->cells[at].class);
		all += is_bad;
		bad += is_bad && with;
	}
	f->explained = bad == all ? bad : 0;
	if (!run->cells) {
		return;		/* collectives have no cells */
	}
	if (all == 0) {
		finding_more(f, "; no test failed or was slow");
	} else if (bad == all) {
		finding_more(f, "; all %zu failed or slow tests are %s", all,
			     where);
	} else {
		finding_more(f, "; %zu of %zu failed or slow tests are %s", bad,
			     all, where);
	}
}

/* ---- the sentence -------------------------------------------------------- */

static void add_value(const struct skew_diff *d, size_t i, struct finding *f)
{
	char value[SKEW_SHOWN];

	STR_COPY(value, d->values[i]);
	finding_more(f, "%s", value);
}

/** Values from @from on, with @between, as far as a sentence holds them; then
 *  @more and how many are left. */
static void add_list(const struct skew_diff *d, size_t from,
		     const char *between, const char *more, struct finding *f)
{
	size_t to = d->n_values < from + MAX_NAMED ? d->n_values :
						     from + MAX_NAMED;

	for (size_t i = from; i < to; i++) {
		finding_more(f, "%s", i > from ? between : "");
		add_value(d, i, f);
	}
	if (d->n_values > to) {
		finding_more(f, "%s%zu more", more, d->n_values - to);
	}
}

/** Adds "driver 550.54 or none (others: 570.86)" with the odd values first; for
 *  an even split in two "driver 550.54 against 570.86", in more "driver has 3
 *  different values: 550.54, 570.86, none". */
static void add_values(const struct skew_diff *d, const char *before,
		       struct finding *f)
{
	finding_more(f, "%s%s ", before, d->name);
	if (!skew_is_even(d)) {
		add_list(d, 1, " or ", " or ", f);
		finding_more(f, " (others: ");
		add_value(d, 0, f);
		finding_more(f, ")");
	} else if (d->n_values > 2) {
		finding_more(f, "has %zu different values: ", d->n_values);
		add_list(d, 0, ", ", " and ", f);
	} else {
		add_list(d, 0, " against ", "", f);
	}
}

/** Adds a finding for difference @first, and those after it that are between
 *  the same nodes: "The set-up of n3 differs from that of 7 others: ...". */
static struct finding *add_skew(struct skew_work *s, size_t first,
				struct verdict *v)
{
	const struct run *run = s->run;
	const struct skew_diff *d = &s->list[first];
	struct finding *f =
		finding_add(v, part_of_kind(PART_CONFIG), "config_skew");
	bool even = skew_is_even(d);
	char a[NAMES_SIZE], b[NAMES_SIZE];
	size_t n = 0;

	/* The odd nodes are named, or all that an even split is between. */
	for (int i = 0; i < run->n_nodes; i++) {
		if (has(d, i, even ? ~0U : of_side(d, 1))) {
			finding_add_member(f, i);
		}
	}
	if (f->n_members == 1) {
		f->part.node = f->members[0];
	}
	if (even && d->n_values > 2) {
		finding_more(f, "The set-ups of %s differ: ",
			     names_of(run, d, ~0U, a));
	} else if (even) {
		finding_more(f, "The set-ups of %s and %s differ: ",
			     names_of(run, d, of_side(d, 0), a),
			     names_of(run, d, of_side(d, 1), b));
	} else {
		finding_more(f, "The set-up of %s differs from that of %zu "
			     "others: ", names_of(run, d, of_side(d, 1), a),
			     d->count[0]);
	}
	for (size_t i = first; i < s->n; i++) {
		if (s->list[i].told || !same_sides(run, d, &s->list[i])) {
			continue;
		}
		s->list[i].told = true;
		if (n++ < MAX_NAMED) {
			add_values(&s->list[i], n > 1 ? "; " : "", f);
		}
		if (n <= MAX_EVIDENCE) {
			add_fact(run, &s->list[i], f);
		}
	}
	if (n > MAX_NAMED) {
		finding_more(f, "; %zu more fact%s", n - MAX_NAMED,
			     n - MAX_NAMED == 1 ? "" : "s");
	}
	add_match(run, d, f);
	return f;
}

void skew_findings(const struct run *run, struct verdict *v)
{
	struct finding *last = NULL;
	size_t rest = 0;
	struct skew_work s = { .run = run };
	int n = 0;

	v->failed = skew_find(&s) < 0 || v->failed;
	for (size_t i = 0; i < s.n; i++) {
		if (!s.list[i].told && n < MAX_FINDINGS) {
			last = add_skew(&s, i, v);
			n++;
		}
	}
	for (size_t i = 0; i < s.n; i++) {
		rest += !s.list[i].told;
	}
	if (rest > 0) {
		finding_add_evidence(last, "%zu more fact%s between other "
				     "groups of nodes: see facts.csv", rest,
				     rest == 1 ? " differs" : "s differ");
	}
	for (size_t i = 0; i < s.n; i++) {
		free(s.list[i].value_of);
	}
	free(s.list);
}

/* ---- skew ---------------------------------------------------------------- */

/** Maximum facts that differ; more are of no use. */
#define SKEW_MAX_DIFFS 256
/** Minimum nodes that each have their own value of such a setting for it to be
 *  intended. */
#define SKEW_MIN_OWN 3

/** Bytes of a value shown before the part that differs. */
#define SKEW_CONTEXT 16

/* ---- values by node ------------------------------------------------------ */

/** Returns the fact @name of node @i; "": none. */
static const char *of_node(const struct run *run, int i, const char *name)
{
	const struct fact_row *f = run_find_fact(run, run->nodes[i].name,
						 "node", name);

	return f ? f->value : "";
}

/** Returns true if node @i said what it is.  If the facts were cut, the last
 *  node counts as not heard, since more of its facts may be missing. */
static bool is_heard(const struct run *run, int i)
{
	return (of_node(run, i, "host")[0] || of_node(run, i, "kernel")[0]) &&
	       (run->facts_cut == 0 ||
		strcmp(run->facts[run->n_facts - 1].node,
		       run->nodes[i].name) != 0);
}

static int hear(struct skew_work *w)
{
	const struct run *run = w->run;
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		const struct skew_fact *k = skew_fact_of(run, f);
		const char *state;
		struct skew_said said = {	/* "NCCL_*" are many */
			.fact = k, .value = f->value, .source = f->source,
			.kind = k && !k->part ? f->fact : "",
		};

		said.node = node = run_find_node(run, f->node, node);
		if (!k || node < 0 || !w->nodes[node].heard || !f->value[0]) {
			continue;
		}
		state = k->active ? run_fact_beside(run, f, "port_state") : "";
		if (state[0] && strcmp(state, "ACTIVE") != 0) {
			continue;
		}
		if (k->part && k->by) {
			said.kind = k->by[0] ? run_fact_beside(run, f, k->by) :
					       f->scope;
		}
		if (!grow_add(&w->said, &w->n_said, &said, sizeof(said))) {
			return -1;
		}
	}
	return 0;
}

static const struct order_key by_fact[] = {
	ORDER_AS(struct skew_said, fact, ORDER_ADDRESS),
	ORDER_UP(struct skew_said, kind),
	ORDER_UP(struct skew_said, node),
	ORDER_UP(struct skew_said, value),
	ORDER_END
};

/* ---- differences --------------------------------------------------------- */

/** Writes @text for display: a long one from where it differs from the other @n
 *  texts, if its beginning is common. */
static void show_value(const char *text, const char *const texts[], size_t n,
		       char value[SKEW_VALUE_SIZE])
{
	static const char left_out[] = "...";
	size_t same = 0, from, used;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (texts[i][k] && texts[i][k] == text[k]) {
			k++;
		}
		/* a text is no other one than itself */
		same = k > same && (texts[i][k] || text[k]) ? k : same;
	}
	from = strlen(text) < SKEW_SHOWN || same < SKEW_CONTEXT ? 0 : same;
	/* so that what differs is soon seen: behind a separator near it */
	while (from > 0 && same - from < SKEW_CONTEXT &&
	       !strchr(" ,;:/=", text[from - 1])) {
		from--;
	}
	while (from > 0 && ((unsigned char)text[from] & 0xc0) == 0x80) {
		from--;	/* the middle of a character */
	}
	used = from ? strlen(left_out) : 0;
	memcpy(value, left_out, used);
	str_copy(value + used, SKEW_VALUE_SIZE - used, text + from);
}

/** Fills in the values of @d, the most common first, and which each node has.
 *  Returns 0, or -1 when memory runs out. */
static int rank_values(const struct skew_work *w, struct skew_diff *d)
{
	const char *texts[SKEW_VALUES];
	int n = w->run->n_nodes, best;
	size_t at;

	d->value_of = calloc((size_t)n + 1, sizeof(*d->value_of));
	if (!d->value_of) {
		return -1;
	}
	for (int i = 0; i < n; i++) {
		int first = w->nodes[i].seen ? 0 : -1;

		/* the first node that says the same */
		while (first >= 0 &&
		       (!w->nodes[first].seen ||
			strcmp(str_text(&w->nodes[first].text),
			       str_text(&w->nodes[i].text)) != 0)) {
			first++;
		}
		w->nodes[i].first = first;
		w->nodes[i].alike = 0;
		d->value_of[i] = -1;
		if (first >= 0) {
			w->nodes[first].alike++;
		}
	}
	for (;;) {
		best = 0;
		for (int i = 1; i < n; i++) {
			best = w->nodes[i].alike > w->nodes[best].alike ? i :
									  best;
		}
		if (w->nodes[best].alike == 0) {
			break;
		}
		at = d->n_values++;
		at = at < SKEW_VALUES ? at : SKEW_VALUES - 1;
		texts[at] = str_text(&w->nodes[best].text);
		d->count[at] += w->nodes[best].alike;
		w->nodes[best].alike = 0;
		for (int i = 0; i < n; i++) {
			if (w->nodes[i].first == best) {
				d->value_of[i] = (int)at;
			}
		}
	}
	at = d->n_values < SKEW_VALUES ? d->n_values : SKEW_VALUES;
	for (size_t i = 0; i < at; i++) {
		show_value(texts[i], texts, at, d->values[i]);
	}
	return 0;
}

/** @n rows of one fact, of one kind. */
static int compare(struct skew_work *w, const struct skew_said *s, size_t n)
{
	struct skew_diff d = { .fact = s->fact };
	bool differ, part = s->fact->part;
	int rc;

	if (w->n == SKEW_MAX_DIFFS) {
		return 0;
	}
	/* the values of each node, each once, in its text */
	for (int i = 0; i < w->run->n_nodes; i++) {
		str_reset(&w->nodes[i].text);
		w->nodes[i].seen = false;
	}
	for (size_t i = 0; i < n; i++) {
		struct skew_view *node = &w->nodes[s[i].node];

		if (i > 0 && s[i].node == s[i - 1].node &&
		    strcmp(s[i].value, s[i - 1].value) == 0) {
			continue;
		}
		str_addf(&node->text, "%s%s", node->seen ? " and " : "",
			 s[i].value);
		node->seen = true;
	}
	for (int i = 0; i < w->run->n_nodes && s->fact->absent; i++) {
		if (w->nodes[i].heard && !w->nodes[i].seen) {
			str_add(&w->nodes[i].text, s->fact->absent);
			w->nodes[i].seen = true;
		}
	}
	rc = rank_values(w, &d);
	differ = d.n_values > 1 &&
		 !(s->fact->setting && d.count[0] == 1 &&
		   d.n_values >= SKEW_MIN_OWN);	/* meant so */
	if (rc == 0 && differ) {
		snprintf(d.name, sizeof(d.name), "%.40s%s%.48s",
			 part ? s->fact->fact : s->kind,
			 part && s->kind[0] ? " of " : "",
			 part ? s->kind : "");
		STR_COPY(d.source, s->source);
		rc = grow_add(&w->list, &w->n, &d, sizeof(d)) ? 0 : -1;
	}
	if (rc < 0 || !differ) {
		free(d.value_of);
	}
	return rc;
}

/** Fills in w->list, which the caller frees.  0, or -1 when memory runs out. */
static int skew_find(struct skew_work *w)
{
	size_t from = 0;
	int rc;

	w->nodes = calloc((size_t)w->run->n_nodes + 1, sizeof(*w->nodes));
	if (!w->nodes) {
		return -1;
	}
	for (int i = 0; i < w->run->n_nodes; i++) {
		struct skew_view *a = &w->nodes[i];

		a->heard = is_heard(w->run, i);
		a->host = of_node(w->run, i, "host");
		a->boot = of_node(w->run, i, "boot_id");
		/* nodes that are one machine say everything twice: the first
		 * one counts */
		for (int k = 0; k < i && a->heard && a->host[0]; k++) {
			const struct skew_view *b = &w->nodes[k];

			a->heard = !b->heard || !b->host[0] ||
				   strcmp(a->host, b->host) != 0 ||
				   strcmp(a->boot, b->boot) != 0;
		}
	}
	rc = hear(w);
	if (rc == 0) {
		order_sort(w->said, w->n_said, sizeof(*w->said), by_fact);
	}
	for (size_t i = 1; rc == 0 && i <= w->n_said; i++) {
		const struct skew_said *a = &w->said[from];

		if (i == w->n_said || w->said[i].fact != a->fact ||
		    strcmp(w->said[i].kind, a->kind) != 0) {
			rc = compare(w, a, i - from);
			from = i;
		}
	}
	for (int i = 0; i < w->run->n_nodes; i++) {
		str_release(&w->nodes[i].text);
	}
	free(w->said);
	free(w->nodes);
	return rc;
}

size_t skew_unheard(const struct run *run)
{
	size_t n = 0;

	for (int i = 0; run->facts_cut > 0 && i < run->n_nodes; i++) {
		n += !is_heard(run, i);
	}
	return n;
}
