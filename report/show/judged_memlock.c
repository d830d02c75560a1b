/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of memlock, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/judge/memlock_verdict.h"

#define MIN_WIDTH    70
#define TABLE_WIDTH  39	/* up to the names of the nodes */
#define NODES_WIDTH  13
#define PROOFS_MAX   16

struct words {
	const struct memlock_rows *run;
	int width;
	struct str *out;
};

/* ---- the table of limits ----------------------------------------------- */

/** One line: a context, as on every node that has the same there. */
struct line {
	enum memlock_context context;
	char (*nodes)[64];
	size_t n_nodes;
	const struct memlock_row *soft;	/* of the first of them */
	int64_t hard;
	int cap;		/* 1 yes, 0 no, -1 unknown */
	char from[200];
};

struct table {
	struct line *lines;
	size_t n;
	bool failed;
};

/** The row about @check behind row @like, among those of its context. */
static const struct memlock_row *find_row(const struct memlock_rows *run,
					  const struct memlock_row *like,
					  const char *check)
{
	for (const struct memlock_row *r = like + 1;
	     r < run->rows + run->n && strcmp(r->node, like->node) == 0; r++) {
		if (strcmp(r->check, check) == 0 &&
		    strcmp(r->context, like->context) == 0) {
			return r;
		}
	}
	return NULL;
}

/** Who set it, as far as that was found out. */
static void say_from(const struct memlock_rows *run,
		     const struct memlock_row *soft, char *buf, size_t size)
{
	static const char *const setters[] = { CHECK_UNIT, CHECK_LIMITS_CONF };

	if (soft->limit_B == RECORD_NONE) {
		str_copy(buf, size, soft->detail);
		return;
	}
	str_copy(buf, size, "");
	for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
		const struct memlock_row *r = find_row(run, soft, setters[i]);

		if (!r || r->outcome != OUTCOME_OK ||
		    strcmp(r->code, "unit_unused") == 0) {
			continue;
		}
		str_copy(buf, size,
			 strcmp(r->code, "unit_not_in_force") == 0 ?
				 "an earlier unit" :
			 r->source[0] ? r->source :
					"a default");
	}
}

static bool same_line(const struct line *l, const struct line *m)
{
	return l->context == m->context && l->hard == m->hard &&
	       l->soft->limit_B == m->soft->limit_B && l->cap == m->cap &&
	       strcmp(l->from, m->from) == 0;
}

static void add_to_line(struct table *t, struct line *l, const char *node)
{
	char (*nodes)[64] = grow(l->nodes, l->n_nodes, sizeof(*nodes));

	if (!nodes) {
		t->failed = true;
		return;
	}
	l->nodes = nodes;
	str_copy(nodes[l->n_nodes++], sizeof(*nodes), node);
}

static void add_line(struct table *t, const struct line *like,
		     const char *node)
{
	struct line *lines;
	size_t i = 0;

	while (i < t->n && !same_line(&t->lines[i], like)) {
		i++;
	}
	if (i == t->n) {
		lines = grow(t->lines, t->n, sizeof(*lines));
		if (!lines) {
			t->failed = true;
			return;
		}
		t->lines = lines;
		lines[t->n++] = *like;
	}
	add_to_line(t, &t->lines[i], node);
}

static void take_context(const struct memlock_rows *run,
			 const struct memlock_row *soft, struct table *t)
{
	const struct memlock_row *hard = find_row(run, soft, CHECK_HARD);
	const struct memlock_row *cap = find_row(run, soft, CHECK_CAP);
	struct line line = {
		.context = memlock_context_parse(soft->context),
		.soft = soft,
		.hard = hard ? hard->limit_B : RECORD_NONE,
		.cap = !cap || cap->outcome != OUTCOME_OK ? -1 :
		       strcmp(cap->code, CODE_HAS_CAP) == 0,
	};

	say_from(run, soft, line.from, sizeof(line.from));
	add_line(t, &line, soft->node);
}

/** As the limit is handed on; on equal contexts as they came. */
static int by_context(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->context != y->context) {
		return (int)x->context - (int)y->context;
	}
	return x->soft < y->soft ? -1 : x->soft > y->soft;
}

/** "gcn1, gcn2", or, where that is too wide, "gcn1 +63". */
static void short_names(struct line *l, char *buf, size_t size)
{
	struct str nodes = STR_INIT;

	memlock_sort_names(l->nodes, l->n_nodes);
	memlock_names(l->nodes, l->n_nodes, &nodes);
	if (nodes.len >= size && l->n_nodes > 1) {
		str_reset(&nodes);
		str_addf(&nodes, "%.*s +%zu", (int)size - 8, l->nodes[0],
			 l->n_nodes - 1);
	}
	str_copy(buf, size, str_text(&nodes));
	str_release(&nodes);
}

static void print_line(const struct words *w, struct line *l)
{
	static const char *const caps[] = { "-", "no", "yes" };
	char soft[32], hard[32], nodes[NODES_WIDTH + 1];
	int room = w->width - TABLE_WIDTH - NODES_WIDTH - 1;
	size_t len = strlen(l->from);

	short_names(l, nodes, sizeof(nodes));
	str_addf(w->out, "  %-9s %-10s %-10s %-4s ",
		 memlock_context_name(l->context),
		 l->soft->limit_B == RECORD_NONE ?
			 "unknown" :
			 memlock_bytes(l->soft->limit_B, soft, sizeof(soft)),
		 memlock_bytes(l->hard, hard, sizeof(hard)), caps[l->cap + 1]);
	if (len == 0) {
		str_addf(w->out, "%s\n", nodes);
	} else if ((int)len <= room) {
		str_addf(w->out, "%-*s %s\n", NODES_WIDTH, nodes, l->from);
	} else {
		/* the end of a path tells more than its beginning */
		str_addf(w->out, "%-*s ...%s\n", NODES_WIDTH, nodes,
			 l->from + len - (size_t)room + 3);
	}
}

static void add_table(const struct words *w)
{
	struct table t = { 0 };

	for (size_t i = 0; i < w->run->n; i++) {
		const struct memlock_row *r = &w->run->rows[i];

		if (strcmp(r->check, CHECK_SOFT) == 0 &&
		    r->outcome != OUTCOME_SKIPPED) {
			take_context(w->run, r, &t);
		}
	}
	if (t.n > 0) {
		qsort(t.lines, t.n, sizeof(*t.lines), by_context);
		str_addf(w->out, "\n  %-9s %-10s %-10s %-4s %-*s %s\n",
			 "context", "soft", "hard", "cap", NODES_WIDTH, "node",
			 "set by");
	}
	for (size_t i = 0; i < t.n; i++) {
		print_line(w, &t.lines[i]);
		free(t.lines[i].nodes);
	}
	free(t.lines);
	w->out->failed = w->out->failed || t.failed;
}

/* ---- the proof --------------------------------------------------------- */

static void print_proof(const struct words *w, const struct memlock_row *r)
{
	char limit[32], ok[32], fail[32], need[32];

	str_addf(w->out, "  %-14s %-14.14s %-10s %-11s %-11s %s\n", r->check,
		 r->hca[0] ? r->hca : r->node,
		 memlock_bytes(r->limit_B, limit, sizeof(limit)),
		 memlock_bytes(r->max_ok_B, ok, sizeof(ok)),
		 memlock_bytes(r->min_fail_B, fail, sizeof(fail)),
		 memlock_bytes(r->needed_B, need, sizeof(need)));
}

/** What broke first; then what did not. */
static void add_proof(const struct words *w)
{
	static const enum outcome order[] = { OUTCOME_ERROR, OUTCOME_OK };
	size_t lines = 0;

	for (size_t o = 0; o < 2; o++) {
		for (size_t i = 0; i < w->run->n; i++) {
			const struct memlock_row *r = &w->run->rows[i];

			if (r->max_ok_B == RECORD_NONE ||
			    r->outcome != order[o] || lines++ >= PROOFS_MAX) {
				continue;
			}
			if (lines == 1) {
				str_addf(w->out, "\n  %-14s %-14s %-10s %-11s "
					 "%-11s %s\n", "tried", "on", "limit",
					 "works up to", "fails at", "needed");
			}
			print_proof(w, r);
		}
	}
	if (lines > PROOFS_MAX) {
		str_addf(w->out, "  %zu more are in results.csv\n",
			 lines - PROOFS_MAX);
	}
}

/* ---- the kind of run ---------------------------------------------------- */

static int judge(const char *dir, const char *reference, struct judged *j,
		 struct err *e)
{
	struct memlock_rows *rows = calloc(1, sizeof(*rows));

	(void)reference;
	j->more = rows;
	if (!rows) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (memlock_run_read(dir, &j->run, rows, e) < 0) {
		return -1;
	}
	return memlock_judge(&j->run, rows, &j->verdict) < 0 ?
		       err_set(e, ENOMEM, "cannot judge the run") : 0;
}

static void release(void *more)
{
	memlock_rows_release(more);
	free(more);
}

static int64_t needed(const struct memlock_rows *run)
{
	int64_t most = 0;

	for (size_t i = 0; i < run->n; i++) {
		if (strcmp(run->rows[i].check, CHECK_SOFT) == 0 &&
		    run->rows[i].needed_B > most) {
			most = run->rows[i].needed_B;
		}
	}
	return most;
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const size_t *cells = j->verdict.cells;
	char bytes[32];

	snprintf(buf, size, "memlock on %d node%s: %zu of %zu limits and "
		 "tests are sufficient; NCCL needs about %s a process", j->run.n_nodes,
		 j->run.n_nodes == 1 ? "" : "s", cells[CELL_PASS],
		 cells[CELL_PASS] + cells[CELL_FAIL] + cells[CELL_NOT_RUN],
		 memlock_bytes(needed(j->more), bytes, sizeof(bytes)));
	return i == 0;
}

static void above(const struct judged *j, const struct wrap *wrap)
{
	const struct words w = {
		.run = j->more, .out = wrap->out,
		.width = wrap->width < MIN_WIDTH ? MIN_WIDTH : wrap->width,
	};

	add_table(&w);
	add_proof(&w);
}

const struct judged_kind judged_memlock = {
	.probe = "memlock",
	.judge = judge,
	.release = release,
	.head = head,
	.above = above,
};
