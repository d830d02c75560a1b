/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/skew.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

/** More facts that differ than this tell nobody more. */
#define SKEW_MAX_DIFFS 256
/** Of these settings, nodes that each have another one may be meant so. */
#define SKEW_MIN_OWN 3

/** Bytes of a value that are shown before what is its own. */
#define SKEW_CONTEXT 16

/** What one node, or a part of it, says of one fact. */
struct said {
	const struct skew_fact *fact;
	const char *kind;	/* is compared with its like only; "" = all */
	const char *value, *source;
	int node;
};

/** What is known of one node. */
struct view {
	bool heard;		/* it said what it is, and no other one is its
				 * machine */
	const char *host, *boot;	/* NULL: not said */
	struct str text;	/* its values of one fact */
	bool seen;		/* it has one of those */
	int first;		/* node with the same; -1: not seen */
	size_t alike;		/* nodes that this is the first one of */
};

struct work {
	const struct run *run;
	struct said *said;
	size_t n_said;
	struct view *nodes;
	struct skew *out;
};

/* ---- who says what ------------------------------------------------------- */

static const char *machine_fact(const struct fact_row *f, const char *fact)
{
	return strcmp(f->scope, "node") == 0 && strcmp(f->fact, fact) == 0 ?
		       f->value :
		       NULL;
}

/** Who said what it is?  What else the node would have said that the end of
 *  the facts cuts, nobody knows.  NULL without memory. */
static struct view *hear_nodes(const struct run *run)
{
	struct view *nodes = calloc((size_t)run->n_nodes + 1, sizeof(*nodes));
	int node = -1;

	for (size_t i = 0; nodes && i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		const char *host = machine_fact(f, "host");
		const char *boot = machine_fact(f, "boot_id");

		node = run_find_node(run, f->node, node);
		if (node >= 0) {
			nodes[node].heard |= host || machine_fact(f, "kernel");
			nodes[node].host = host ? host : nodes[node].host;
			nodes[node].boot = boot ? boot : nodes[node].boot;
		}
	}
	if (nodes && run->facts_cut > 0 && node >= 0) {
		nodes[node].heard = false;
	}
	return nodes;
}

static bool one_machine(const struct view *a, const struct view *b)
{
	return a->host && b->host && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->boot ? a->boot : "", b->boot ? b->boot : "") == 0;
}

/** Nodes that are one machine say everything twice: the first one counts. */
static void find_machines(const struct work *w)
{
	for (int a = 1; a < w->run->n_nodes; a++) {
		for (int b = 0; b < a && w->nodes[a].heard; b++) {
			if (w->nodes[b].heard &&
			    one_machine(&w->nodes[a], &w->nodes[b])) {
				w->nodes[a].heard = false;
			}
		}
	}
}

/** The value of @f, or NULL, if it says @name of the part that @of is about. */
static const char *says(const struct fact_row *f, const struct fact_row *of,
			const char *name)
{
	return strcmp(f->fact, name) == 0 && strcmp(f->scope, of->scope) == 0 ?
		       f->value : NULL;
}

/** What the part that fact @i is about says of @name, mostly near it and in any
 *  case among the facts of its node, which stand together; NULL: nothing. */
static const char *beside(const struct run *run, size_t i, const char *name)
{
	const struct fact_row *facts = run->facts, *of = &facts[i];
	const char *value = NULL;
	bool back = true, ahead = true;

	for (size_t k = 0; !value && (back || ahead); k++) {
		back = back && k <= i &&
		       strcmp(facts[i - k].node, of->node) == 0;
		ahead = ahead && i + k < run->n_facts &&
			strcmp(facts[i + k].node, of->node) == 0;
		value = back ? says(&facts[i - k], of, name) : NULL;
		if (!value && ahead) {
			value = says(&facts[i + k], of, name);
		}
	}
	return value;
}

static const char *kind_of(const struct run *run, const struct skew_fact *k,
			   size_t i)
{
	const char *kind = NULL;

	if (!k->part) {
		return run->facts[i].fact;	/* "NCCL_*" are many */
	}
	if (k->by) {
		kind = k->by[0] ? beside(run, i, k->by) : run->facts[i].scope;
	}
	return kind ? kind : "";
}

static int hear(struct work *w)
{
	const struct run *run = w->run;
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		const struct skew_fact *k = skew_fact_of(run, f);
		const char *state;
		struct said said = {
			.fact = k, .value = f->value, .source = f->source,
		};

		said.node = node = run_find_node(run, f->node, node);
		if (!k || node < 0 || !w->nodes[node].heard || !f->value[0]) {
			continue;
		}
		state = k->active ? beside(run, i, "port_state") : NULL;
		if (state && strcmp(state, "ACTIVE") != 0) {
			continue;
		}
		said.kind = kind_of(run, k, i);
		if (!grow_add(&w->said, &w->n_said, &said, sizeof(said))) {
			return -1;
		}
	}
	return 0;
}

static int compare_said(const void *a, const void *b)
{
	const struct said *x = a, *y = b;
	int kind;

	if (x->fact != y->fact) {
		return x->fact < y->fact ? -1 : 1;
	}
	kind = strcmp(x->kind, y->kind);
	if (kind) {
		return kind;
	}
	return x->node != y->node ? (x->node < y->node ? -1 : 1) :
				    strcmp(x->value, y->value);
}

/* ---- who differs --------------------------------------------------------- */

/** The values of each node, each once, in its text. */
static void join_values(struct work *w, const struct said *s, size_t n)
{
	for (int i = 0; i < w->run->n_nodes; i++) {
		str_reset(&w->nodes[i].text);
		w->nodes[i].seen = false;
	}
	for (size_t i = 0; i < n; i++) {
		struct view *node = &w->nodes[s[i].node];

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
}

/** The first node that says the same as @node; -1: it says nothing. */
static int first_alike(const struct work *w, int node)
{
	int i = 0;

	if (!w->nodes[node].seen) {
		return -1;
	}
	while (!w->nodes[i].seen ||
	       strcmp(str_text(&w->nodes[i].text),
		      str_text(&w->nodes[node].text)) != 0) {
		i++;
	}
	return i;
}

/** How many bytes @a and @b begin with alike. */
static size_t alike(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n]) {
		n++;
	}
	return n;
}

/** Where to begin with @text so that byte @at of it is soon seen: behind a
 *  separator near it, if there is one. */
static size_t begin_near(const char *text, size_t at)
{
	size_t from = at;

	while (from > 0 && at - from < SKEW_CONTEXT &&
	       !strchr(" ,;:/=", text[from - 1])) {
		from--;
	}
	while (from > 0 && ((unsigned char)text[from] & 0xc0) == 0x80) {
		from--;	/* the middle of a character */
	}
	return from;
}

/** @text as it is shown: of a long one what tells it from all @n texts, where
 *  its beginning does not. */
static void show_value(const char *text, const char *const texts[], size_t n,
		       char value[SKEW_VALUE_SIZE])
{
	static const char left_out[] = "...";
	size_t same = 0, from, used;

	for (size_t i = 0; i < n; i++) {
		size_t k = strcmp(texts[i], text) == 0 ? 0 :
							 alike(texts[i], text);

		same = k > same ? k : same;
	}
	from = strlen(text) < SKEW_SHOWN || same < SKEW_CONTEXT ?
		       0 : begin_near(text, same);
	used = from ? strlen(left_out) : 0;
	memcpy(value, left_out, used);
	str_copy(value + used, SKEW_VALUE_SIZE - used, text + from);
}

/** The values, the most common first. */
static void take_values(const struct work *w, struct skew_diff *d)
{
	const char *texts[SKEW_VALUES];
	int n = w->run->n_nodes;
	size_t at;

	for (;;) {
		int best = 0;

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
}

static int rank_values(const struct work *w, struct skew_diff *d)
{
	int n = w->run->n_nodes;

	d->value_of = calloc((size_t)n + 1, sizeof(*d->value_of));
	for (int i = 0; d->value_of && i < n; i++) {
		int first = first_alike(w, i);

		w->nodes[i].first = first;
		w->nodes[i].alike = 0;
		d->value_of[i] = -1;
		if (first >= 0) {
			w->nodes[first].alike++;
		}
	}
	if (d->value_of) {
		take_values(w, d);
	}
	return d->value_of ? 0 : -1;
}

/** One more of w->out, which has @d->value_of from then on. */
static int add_diff(struct work *w, const struct said *s, struct skew_diff *d)
{
	bool part = s->fact->part;

	snprintf(d->name, sizeof(d->name), "%.40s%s%.48s",
		 part ? s->fact->fact : s->kind,
		 part && s->kind[0] ? " of " : "", part ? s->kind : "");
	STR_COPY(d->source, s->source);
	return grow_add(&w->out->list, &w->out->n, d, sizeof(*d)) ? 0 : -1;
}

/** @n rows of one fact, of one kind. */
static int compare(struct work *w, const struct said *s, size_t n)
{
	struct skew_diff d = { .fact = s->fact };
	bool differ;
	int rc;

	if (w->out->n == SKEW_MAX_DIFFS) {
		return 0;
	}
	join_values(w, s, n);
	rc = rank_values(w, &d);
	differ = d.n_values > 1 &&
		 !(s->fact->setting && d.count[0] == 1 &&
		   d.n_values >= SKEW_MIN_OWN);	/* meant so */
	if (rc == 0 && differ) {
		rc = add_diff(w, s, &d);
	}
	if (rc < 0 || !differ) {
		free(d.value_of);
	}
	return rc;
}

static int compare_all(struct work *w)
{
	size_t from = 0;

	if (w->n_said > 0) {
		qsort(w->said, w->n_said, sizeof(*w->said), compare_said);
	}
	for (size_t i = 1; i <= w->n_said; i++) {
		const struct said *a = &w->said[from];

		if (i < w->n_said && w->said[i].fact == a->fact &&
		    strcmp(w->said[i].kind, a->kind) == 0) {
			continue;
		}
		if (compare(w, a, i - from) < 0) {
			return -1;
		}
		from = i;
	}
	return 0;
}

int skew_find(const struct run *run, struct skew *s)
{
	struct work w = { .run = run, .out = s, .nodes = hear_nodes(run) };
	int rc = -1;

	*s = (struct skew){ 0 };
	if (w.nodes) {
		find_machines(&w);
		rc = hear(&w) < 0 ? -1 : compare_all(&w);
	}
	for (int i = 0; w.nodes && i < run->n_nodes; i++) {
		s->n_nodes += w.nodes[i].heard;
		str_release(&w.nodes[i].text);
	}
	free(w.said);
	free(w.nodes);
	return rc;
}

size_t skew_unheard(const struct run *run)
{
	struct view *nodes = run->facts_cut > 0 ? hear_nodes(run) : NULL;
	size_t n = 0;

	for (int i = 0; nodes && i < run->n_nodes; i++) {
		n += !nodes[i].heard;
	}
	free(nodes);
	return n;
}

void skew_release(struct skew *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->list[i].value_of);
	}
	free(s->list);
	*s = (struct skew){ 0 };
}
