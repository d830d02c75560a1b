/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/data/hosts.h"
#include "report/base/wrap.h"
#include "report/judge/findings.h"
#include "report/show/judged.h"

/* ---- node line ----------------------------------------------------------- */

/** At most as many as fit; ", and 12 more" always fits. */
#define MORE_MAX 20

static const char *const heads[] = {
	[VERDICT_PASS] = "ok",
	[VERDICT_WARN] = "warn",
	[VERDICT_FAIL] = "FAIL",
	[VERDICT_PARTIAL] = "partial",
	[VERDICT_RUNNING] = "partial",
	[VERDICT_PENDING] = "partial",
	[VERDICT_UNKNOWN] = "unknown",
};

static const char *node_name(const struct run *run)
{
	return run->n_nodes > 0 ? run->nodes[0].name : "-";
}

static void add_findings(const struct run *run, const struct verdict *v,
			 struct str *out)
{
	const char *node = node_name(run);
	const size_t len = strlen(node);
	char of[80];

	snprintf(of, sizeof(of), " of %.64s: ", node);
	for (size_t i = 0; i < v->n; i++) {
		const char *says = v->findings[i].says, *at;
		struct str one = STR_INIT;
		size_t room;

		str_addf(&one, "%s%s: ", i > 0 ? "; " : " ",
			 v->findings[i].code);
		/* "GPU 3 of n1: lost" is "GPU 3: lost" where only n1 reports,
		 * and "n1: full" is "full" */
		if (strncmp(says, node, len) == 0 &&
		    str_starts(says + len, ": ")) {
			says += len + 2;
		}
		at = strstr(says, of);
		if (at) {
			str_addmem(&one, says, (size_t)(at - says));
			str_add(&one, ": ");
			says = at + strlen(of);
		}
		str_add(&one, says);
		room = NODE_LINE_MAX - MORE_MAX > out->len ?
			       NODE_LINE_MAX - MORE_MAX - out->len : 0;
		if (one.len > room && i > 0) {
			str_release(&one);
			str_addf(out, "; and %zu more", v->n - i);
			return;
		}
		str_addmem(out, str_text(&one),
			   one.len < room ? one.len : room);
		str_release(&one);
	}
}

void node_line(const struct run *run, const struct verdict *v,
	       struct str *out)
{
	static const struct {
		const char *fact, *one, *many;
	} parts[] = {
		{ "uuid", "GPU", "GPUs" },
		{ "port_state", "HCA port", "HCA ports" },
		{ "link", "interface", "interfaces" },
	};
	size_t from = out->len;

	str_addf(out, "%s %s", heads[v->status], node_name(run));
	if (v->n > 0) {
		add_findings(run, v, out);
	}
	for (size_t i = 0; v->n == 0 && i < sizeof(parts) / sizeof(*parts);
	     i++) {
		size_t n = 0;

		run_foreach_fact(run, f) {
			n += strcmp(f->fact, parts[i].fact) == 0;
		}
		str_addf(out, "%s %zu %s", i > 0 ? "," : "", n,
			 n == 1 ? parts[i].one : parts[i].many);
	}
	/* one line, whatever a driver says */
	str_harmless_from(out, from, 0);
	str_addch(out, '\n');
}

static void add_lines(const char *text, const char *first, struct str *out)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		str_addf(out, "  %s%.*s\n", first, (int)n, text);
		first = "";
		text += n + (text[n] == '\n');
	}
}

void node_details(const struct run *run, const struct verdict *v,
		  struct str *out)
{
	verdict_foreach(v, f) {
		str_addf(out, "\n%s %s: %s\n", f->fail ? "FAIL" : "warn",
			 f->code, f->says);
		for (size_t k = 0; k < f->n_evidence; k++) {
			add_lines(f->evidence[k], "", out);
		}
		add_lines(f->act, "do: ", out);
	}
	str_add(out, "\n");
	run_foreach_fact(run, f) {
		str_addf(out, "%-12s %-24s %s%s%s\n", f->scope, f->fact,
			 f->value, f->unit[0] ? " " : "", f->unit);
	}
}

/* ---- info table ---------------------------------------------------------- */

#define SCOPE_INDENT 2
#define FACT_INDENT  4
#define FACT_WIDTH   22
#define FILE_WIDTH   10000	/* nothing is broken there */

/** One node's word. */
struct word {
	const struct fact_row *fact;
	size_t at;		/* its place in facts.csv */
	int node;
};

/** The same of one part, by all nodes that say so. */
struct claim {
	const struct word *words;	/* by node, a node once */
	size_t n;
	uint64_t who;		/* the set of these nodes */
	size_t at;		/* where it is said first */
};

/** The same of several parts, by the same nodes. */
struct info_table_line {
	const struct claim *claims;	/* by the name of the part */
	size_t n;
	uint64_t parts;		/* the set of these parts */
};

struct info_table_table {
	const struct run *run;
	struct word *words;
	struct claim *claims;
	struct info_table_line *lines;
	size_t n_words, n_claims;
};

static int by_number(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* ---- who says the same ------------------------------------------------- */

static int compare_fact(const struct fact_row *a, const struct fact_row *b)
{
	int rc = strcmp(a->fact, b->fact);

	rc = rc ? rc : strcmp(a->value, b->value);
	return rc ? rc : strcmp(a->unit, b->unit);
}

static int compare_words(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int rc = strcmp(x->fact->scope, y->fact->scope);

	rc = rc ? rc : compare_fact(x->fact, y->fact);
	rc = rc ? rc : x->node - y->node;
	return rc ? rc : by_number(x->at, y->at);
}

/** Most nodes first, then the first node; what the same nodes say stands
 *  together, and in it what they say alike of several parts. */
static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;
	int rc = by_number(y->n, x->n);

	rc = rc ? rc : x->words[0].node - y->words[0].node;
	if (rc == 0 && x->who != y->who) {
		rc = x->who < y->who ? -1 : 1;
	}
	rc = rc ? rc : compare_fact(x->words[0].fact, y->words[0].fact);
	return rc ? rc : strverscmp(x->words[0].fact->scope,
				    y->words[0].fact->scope);
}

/** Words that are one claim; of a node that says it twice once. */
static void find_claims(struct info_table_table *t)
{
	size_t kept = 0;
	struct claim *c = NULL;

	for (size_t i = 0; i < t->n_words; i++) {
		const struct word w = t->words[i];

		if (!c ||
		    strcmp(c->words->fact->scope, w.fact->scope) != 0 ||
		    compare_fact(c->words->fact, w.fact) != 0) {
			c = &t->claims[t->n_claims++];
			*c = (struct claim){ .words = &t->words[kept],
					     .at = w.at };
		} else if (c->words[c->n - 1].node == w.node) {
			continue;
		}
		t->words[kept++] = w;
		c->n++;
		c->at = w.at < c->at ? w.at : c->at;
		c->who = hash_mix(c->who, (uint64_t)w.node, c->n, 0);
	}
	qsort(t->claims, t->n_claims, sizeof(*t->claims), compare_claims);
}

/* ---- the same of several parts ----------------------------------------- */

/** As facts.csv has them; those of the same parts stand together. */
static int compare_lines(const void *a, const void *b)
{
	const struct info_table_line *x = a, *y = b;
	const char *p = x->claims[0].words[0].fact->scope;
	const char *q = y->claims[0].words[0].fact->scope;

	if (x->parts == y->parts) {
		return by_number(x->claims[0].at, y->claims[0].at);
	}
	/* those that begin with the same part: more parts first */
	if (strcmp(p, q) == 0) {
		int rc = by_number(y->n, x->n);

		return rc ? rc : x->parts < y->parts ? -1 : 1;
	}
	return strcmp(p, "node") == 0 ? -1 : strcmp(q, "node") == 0 ? 1 :
	       strverscmp(p, q);
}

/** As one word the @nodes that claim @c, or else the parts of the @n claims
 *  from there on; -1 without memory. */
static int add_names(const struct info_table_table *t, const struct claim *c,
		     size_t n, bool nodes, struct str *out)
{
	char (*names)[64] = calloc(n, sizeof(*names));

	if (!names) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		STR_COPY(names[i], nodes ?
			 t->run->nodes[c->words[i].node].name :
			 c[i].words[0].fact->scope);
	}
	hostlist_add(out, names[0], sizeof(*names), n);
	free(names);
	return 0;
}

/* ---- words ------------------------------------------------------------- */

static const struct table_column columns[] = {
	{ .name = "nodes" }, { .name = "part" }, { .name = "fact" },
	{ .name = "value" },
};

/** Add the rows of one set of nodes: @n claims. */
static int add_block(const struct info_table_table *t, const struct claim *c,
		     size_t n, struct table *to)
{
	struct str nodes = STR_INIT, parts = STR_INIT;
	int rc = add_names(t, c, c->n, true, &nodes);
	struct info_table_line *line = NULL;
	size_t n_lines = 0;

	/* the claims about one fact become a line */
	for (size_t i = 0; i < n; i++) {
		const struct fact_row *f = c[i].words[0].fact;
		uint64_t scope = 0;

		if (!line ||
		    compare_fact(line->claims[0].words[0].fact, f) != 0) {
			line = &t->lines[n_lines++];
			*line = (struct info_table_line){ .claims = &c[i] };
		}
		line->n++;
		for (const char *p = f->scope; *p; p++) {
			scope = hash_mix(scope, (unsigned char)*p, 0, 0);
		}
		line->parts = hash_mix(line->parts, scope, line->n, 0);
	}
	qsort(t->lines, n_lines, sizeof(*t->lines), compare_lines);
	for (size_t i = 0; rc == 0 && i < n_lines; i++) {
		const struct info_table_line *l = &t->lines[i];
		const struct fact_row *f = l->claims[0].words[0].fact;

		if (i == 0 || l->parts != l[-1].parts) {
			str_reset(&parts);
			rc = add_names(t, l->claims, l->n, false, &parts);
		}
		table_add(to, str_text(&nodes));
		table_add(to, str_text(&parts));
		table_add(to, f->fact);
		table_addf(to, "%s%s%s", f->value[0] ? f->value : "-",
			   f->unit[0] ? " " : "", f->unit);
	}
	rc = nodes.failed || parts.failed ? -1 : rc;
	str_release(&nodes);
	str_release(&parts);
	return rc;
}

static int add_blocks(const struct info_table_table *t, size_t first,
		      size_t most, struct table *to)
{
	size_t from = 0, n = 0;
	int rc = 0;

	for (size_t i = 1; rc == 0 && i <= t->n_claims; i++) {
		if (i < t->n_claims &&
		    t->claims[i].who == t->claims[from].who) {
			continue;
		}
		if (n >= first && n - first < most) {
			rc = add_block(t, &t->claims[from], i - from, to);
		}
		to->left += n >= first && n - first >= most;
		n++;
		from = i;
	}
	return rc;
}

int info_facts(const struct run *run, size_t first, size_t most,
	       struct table *to)
{
	struct info_table_table t = {
		.run = run,
		.words = calloc(run->n_facts + 1, sizeof(*t.words)),
		.claims = calloc(run->n_facts + 1, sizeof(*t.claims)),
		.lines = calloc(run->n_facts + 1, sizeof(*t.lines)),
	};
	int rc = -1, node = -1;

	*to = (struct table){ .columns = columns, .n_columns = 4 };
	if (t.words && t.claims && t.lines) {
		for (size_t i = 0; i < run->n_facts; i++) {
			const struct fact_row *f = &run->facts[i];

			node = run_find_node(run, f->node, node);
			/* not those about the run, nor counters of what has
			 * not happened */
			if (node >= 0 && strcmp(f->fact, "state") != 0 &&
			    (strcmp(f->value, "0") != 0 ||
			     skew_fact_of(run, f))) {
				t.words[t.n_words++] = (struct word){
					.fact = f, .at = i, .node = node,
				};
			}
		}
		qsort(t.words, t.n_words, sizeof(*t.words), compare_words);
		find_claims(&t);
		rc = add_blocks(&t, first, most, to);
	}
	free(t.lines);
	free(t.claims);
	free(t.words);
	return rc < 0 || to->text.failed ? -1 : 0;
}

int info_table(const struct run *run, int width, size_t first, size_t most,
	       struct str *out)
{
	const struct wrap w = { .out = out,
				.width = width > 0 ? width : FILE_WIDTH };
	struct table t;
	int rc = info_facts(run, first, most, &t);

	for (size_t row = 0; rc == 0 && row < table_rows(&t); row++) {
		bool same = row > 0;

		/* nodes and parts are headings of the rows that they share */
		for (size_t c = 0; c < 2; c++) {
			same = same && strcmp(table_cell(&t, row, c),
					      table_cell(&t, row - 1, c)) == 0;
			if (!same) {
				const int indent = c == 0 ? 0 : SCOPE_INDENT;

				str_addf(out, "%s%*s", c == 0 ? "\n" : "",
					 indent, "");
				wrap_text(&w, indent + 2,
					  table_cell(&t, row, c));
			}
		}
		str_addf(out, "%*s%-*s ", FACT_INDENT, "", FACT_WIDTH,
			 table_cell(&t, row, 2));
		wrap_text(&w, FACT_INDENT + FACT_WIDTH + 1,
			  table_cell(&t, row, 3));
	}
	if (rc == 0 && t.left) {
		str_addf(out, "\n%zu more facts: -v shows them, "
			 "facts.csv has all\n", t.left);
	}
	table_release(&t);
	return rc < 0 || out->failed ? -1 : 0;
}
