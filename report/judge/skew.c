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

struct work {
	const struct run *run;
	struct said *said;
	size_t n_said;
	bool *heard;		/* of each node: did it say what it is, and is
				 * no other one its machine? */
	struct str *text;	/* of each node: its values of one fact */
	bool *seen;		/* of each node: it has one of those */
	struct skew *out;
};

/* ---- who says what --------------------------------------------------------- */

static const char *machine_fact(const struct fact_row *f, const char *fact)
{
	return strcmp(f->scope, "node") == 0 && strcmp(f->fact, fact) == 0 ?
		       f->value :
		       NULL;
}

/** Who said what it is?  What else the node would have said that the end of
 *  the facts cuts, nobody knows. */
static void mark_heard(const struct run *run, bool *heard)
{
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		node = run_find_node(run, f->node, node);
		if (node >= 0) {
			heard[node] |= machine_fact(f, "host") ||
				       machine_fact(f, "kernel");
		}
	}
	if (run->facts_cut > 0 && node >= 0) {
		heard[node] = false;
	}
}

/** Nodes that are one machine say everything twice: the first one counts. */
static int find_machines(struct work *w)
{
	size_t n = (size_t)w->run->n_nodes;
	const char **host = calloc(n + 1, sizeof(*host));
	const char **boot = calloc(n + 1, sizeof(*boot));
	int node = -1;

	for (size_t i = 0; host && boot && i < w->run->n_facts; i++) {
		const struct fact_row *f = &w->run->facts[i];
		const char *h = machine_fact(f, "host");
		const char *b = machine_fact(f, "boot_id");

		node = run_find_node(w->run, f->node, node);
		if (node >= 0) {
			host[node] = h ? h : host[node];
			boot[node] = b ? b : boot[node];
		}
	}
	for (size_t a = 1; host && boot && a < n; a++) {
		for (size_t b = 0; host[a] && b < a; b++) {
			if (w->heard[b] && host[b] &&
			    strcmp(host[a], host[b]) == 0 &&
			    strcmp(boot[a] ? boot[a] : "",
				   boot[b] ? boot[b] : "") == 0) {
				w->heard[a] = false;
				break;
			}
		}
	}
	free(host);
	free(boot);
	return host && boot ? 0 : -1;
}

static bool same_part(const struct fact_row *a, const struct fact_row *b)
{
	return strcmp(a->scope, b->scope) == 0 && strcmp(a->node, b->node) == 0;
}

static bool same_node(const struct fact_row *a, const struct fact_row *b)
{
	return strcmp(a->node, b->node) == 0;
}

/** Of the rows around fact @i that are all @of what it is of, the one that says
 *  @name of its part; NULL: none. */
static const char *among(const struct run *run, size_t i, const char *name,
			 bool (*of)(const struct fact_row *a,
				    const struct fact_row *b))
{
	const struct fact_row *f = &run->facts[i];
	size_t from = i;

	while (from > 0 && of(&run->facts[from - 1], f)) {
		from--;
	}
	for (; from < run->n_facts && of(&run->facts[from], f); from++) {
		if (strcmp(run->facts[from].fact, name) == 0 &&
		    same_part(&run->facts[from], f)) {
			return run->facts[from].value;
		}
	}
	return NULL;
}

/** What the part that fact @i is about says of @name: mostly beside it. */
static const char *beside(const struct run *run, size_t i, const char *name)
{
	const char *value = among(run, i, name, same_part);

	return value ? value : among(run, i, name, same_node);
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
		struct said *list;

		node = run_find_node(run, f->node, node);
		if (!k || node < 0 || !w->heard[node] || !f->value[0]) {
			continue;
		}
		state = k->active ? beside(run, i, "port_state") : NULL;
		if (state && strcmp(state, "ACTIVE") != 0) {
			continue;
		}
		list = grow(w->said, w->n_said, sizeof(*list));
		if (!list) {
			return -1;
		}
		w->said = list;
		list[w->n_said++] = (struct said){
			.fact = k, .kind = kind_of(run, k, i),
			.value = f->value, .source = f->source, .node = node,
		};
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

/* ---- who differs ------------------------------------------------------------- */

/** The values of each node, each once, in w->text. */
static void join_values(struct work *w, const struct said *s, size_t n)
{
	for (int i = 0; i < w->run->n_nodes; i++) {
		str_reset(&w->text[i]);
		w->seen[i] = false;
	}
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && s[i].node == s[i - 1].node &&
		    strcmp(s[i].value, s[i - 1].value) == 0) {
			continue;
		}
		str_addf(&w->text[s[i].node], "%s%s",
			 w->seen[s[i].node] ? " and " : "", s[i].value);
		w->seen[s[i].node] = true;
	}
	for (int i = 0; i < w->run->n_nodes && s->fact->absent; i++) {
		if (w->heard[i] && !w->seen[i]) {
			str_add(&w->text[i], s->fact->absent);
			w->seen[i] = true;
		}
	}
}

/** The first node that says the same as @node. */
static int first_alike(const struct work *w, int node)
{
	int i = 0;

	while (!w->seen[i] ||
	       strcmp(str_text(&w->text[i]), str_text(&w->text[node])) != 0) {
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

/** The values, the most common first.  @first: of each node, the first one with
 *  the same, or -1; @count: of those, how many. */
static void take_values(const struct work *w, struct skew_diff *d,
			const int *first, size_t *count)
{
	const char *texts[SKEW_VALUES];
	int n = w->run->n_nodes;
	size_t at;

	for (;;) {
		int best = 0;

		for (int i = 1; i < n; i++) {
			best = count[i] > count[best] ? i : best;
		}
		if (count[best] == 0) {
			break;
		}
		at = d->n_values++;
		at = at < SKEW_VALUES ? at : SKEW_VALUES - 1;
		texts[at] = str_text(&w->text[best]);
		d->count[at] += count[best];
		count[best] = 0;
		for (int i = 0; i < n; i++) {
			if (first[i] == best) {
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
	int n = w->run->n_nodes, *first = calloc((size_t)n, sizeof(*first));
	size_t *count = calloc((size_t)n, sizeof(*count));

	d->value_of = calloc((size_t)n, sizeof(*d->value_of));
	if (first && count && d->value_of) {
		for (int i = 0; i < n; i++) {
			first[i] = w->seen[i] ? first_alike(w, i) : -1;
			if (first[i] >= 0) {
				count[first[i]]++;
			} else {
				d->value_of[i] = -1;
			}
		}
		take_values(w, d, first, count);
	}
	free(first);
	free(count);
	return d->n_values ? 0 : -1;
}

static bool all_alike(const struct work *w)
{
	const char *first = NULL;

	for (int i = 0; i < w->run->n_nodes; i++) {
		const char *text = str_text(&w->text[i]);

		if (w->seen[i] && first && strcmp(text, first) != 0) {
			return false;
		}
		first = w->seen[i] ? text : first;
	}
	return true;
}

static int add_diff(struct work *w, const struct said *s,
		    const struct skew_diff *d)
{
	struct skew_diff *list = grow(w->out->list, w->out->n, sizeof(*list));
	bool part = s->fact->part;

	if (!list) {
		return -1;
	}
	w->out->list = list;
	list += w->out->n++;
	*list = *d;
	snprintf(list->name, sizeof(list->name), "%.40s%s%.48s",
		 part ? s->fact->fact : s->kind,
		 part && s->kind[0] ? " of " : "", part ? s->kind : "");
	STR_COPY(list->source, s->source);
	return 0;
}

/** @n rows of one fact, of one kind. */
static int compare(struct work *w, const struct said *s, size_t n)
{
	struct skew_diff d = { .fact = s->fact };
	bool meant;
	int rc;

	join_values(w, s, n);
	if (all_alike(w) || w->out->n == SKEW_MAX_DIFFS) {
		return 0;
	}
	rc = rank_values(w, &d);
	meant = s->fact->setting && d.count[0] == 1 &&
		d.n_values >= SKEW_MIN_OWN;
	if (rc == 0 && !meant) {
		rc = add_diff(w, s, &d);
	}
	if (rc < 0 || meant) {
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
	size_t n = (size_t)run->n_nodes;
	struct work w = { .run = run, .out = s };
	int rc = -1;

	*s = (struct skew){ 0 };
	w.heard = calloc(n + 1, sizeof(*w.heard));
	w.seen = calloc(n + 1, sizeof(*w.seen));
	w.text = calloc(n + 1, sizeof(*w.text));
	if (w.heard && w.seen && w.text) {
		mark_heard(run, w.heard);
		rc = find_machines(&w) < 0 || hear(&w) < 0 ? -1 :
							     compare_all(&w);
	}
	for (size_t i = 0; i < n; i++) {
		s->n_nodes += w.heard && w.heard[i];
		if (w.text) {
			str_release(&w.text[i]);
		}
	}
	free(w.said);
	free(w.heard);
	free(w.seen);
	free(w.text);
	return rc;
}

size_t skew_unheard(const struct run *run)
{
	bool *heard = calloc((size_t)run->n_nodes + 1, sizeof(*heard));
	size_t n = 0;

	if (heard && run->facts_cut > 0) {
		mark_heard(run, heard);
		for (int i = 0; i < run->n_nodes; i++) {
			n += !heard[i];
		}
	}
	free(heard);
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
