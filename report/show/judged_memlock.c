/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of memlock, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <stdlib.h>
#include <string.h>

#include "report/judge/memlock_verdict.h"

#define VALUE_MIN_WIDTH 70
#define TABLE_WIDTH	39 /* up to the names of the nodes */
#define NODES_WIDTH  13
#define PROOFS_MAX   16

/* ---- the table of limits ----------------------------------------------- */

/** A context on a node. */
struct judged_memlock_line {
	enum memlock_context context;
	const struct memlock_row *soft;
	int64_t hard;
	int cap;		/* 1 yes, 0 no, -1 unknown */
	char from[200];
	bool said;		/* with another node that has the same there */
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

/** The line of a context, and which setting the limit comes from, as far as
 *  that is known. */
static struct judged_memlock_line take_context(const struct memlock_rows *run,
					       const struct memlock_row *soft)
{
	static const char *const setters[] = { CHECK_UNIT, CHECK_LIMITS_CONF };
	const struct memlock_row *hard = find_row(run, soft, CHECK_HARD);
	const struct memlock_row *cap = find_row(run, soft, CHECK_CAP);
	struct judged_memlock_line line = {
		.context = memlock_context_parse(soft->context),
		.soft = soft,
		.hard = hard ? hard->limit_B : RECORD_NONE,
		.cap = !cap || cap->outcome != OUTCOME_OK ? -1 :
		       strcmp(cap->code, CODE_HAS_CAP) == 0,
	};

	if (soft->limit_B == RECORD_NONE) {
		STR_COPY(line.from, soft->detail);
		return line;
	}
	for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
		const struct memlock_row *r = find_row(run, soft, setters[i]);

		if (r && r->outcome != OUTCOME_SKIPPED &&
		    r->outcome != OUTCOME_NOT_RUN &&
		    strcmp(r->code, "unit_unused") != 0) {
			STR_COPY(line.from,
				 strcmp(r->code, "unit_not_in_force") == 0 ?
					 "an earlier unit" :
				 r->source[0] ? r->source : "a default");
		}
	}
	return line;
}

/** As the limit is handed on; on equal contexts as they came. */
static int by_context(const void *a, const void *b)
{
	const struct judged_memlock_line *x = a, *y = b;

	if (x->context != y->context) {
		return (int)x->context - (int)y->context;
	}
	return x->soft < y->soft ? -1 : x->soft > y->soft;
}

static void print_line(const struct judged_memlock_line *l, const char *nodes,
		       int width, struct str *out)
{
	static const char *const caps[] = { "-", "no", "yes" };
	int room = width - TABLE_WIDTH - NODES_WIDTH - 1;
	size_t len = strlen(l->from);
	char soft[32], hard[32];

	str_addf(out, "  %-9s %-10s %-10s %-4s ",
		 memlock_context_name(l->context),
		 l->soft->limit_B == RECORD_NONE ?
			 "unknown" :
			 memlock_bytes(l->soft->limit_B, soft, sizeof(soft)),
		 memlock_bytes(l->hard, hard, sizeof(hard)), caps[l->cap + 1]);
	if (len == 0) {
		str_addf(out, "%s\n", nodes);
	} else if ((int)len <= room) {
		str_addf(out, "%-*s %s\n", NODES_WIDTH, nodes, l->from);
	} else {
		/* the end of a path tells more than its beginning */
		str_addf(out, "%-*s ...%s\n", NODES_WIDTH, nodes,
			 l->from + len - (size_t)room + 3);
	}
}

/** The @n @lines, those that are the same on several nodes as one. */
static void print_lines(struct judged_memlock_line *lines, size_t n,
			char (*names)[64], int width, struct str *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct judged_memlock_line *l = &lines[i];
		struct str nodes = STR_INIT;
		char text[NODES_WIDTH + 1];
		size_t same = 0;

		for (size_t k = i; k < n; k++) {
			struct judged_memlock_line *m = &lines[k];

			if (m->said || l->context != m->context ||
			    l->hard != m->hard ||
			    l->soft->limit_B != m->soft->limit_B ||
			    l->cap != m->cap || strcmp(l->from, m->from) != 0) {
				continue;
			}
			str_copy(names[same++], sizeof(*names), m->soft->node);
			m->said = k > i;
		}
		if (same == 0) {
			continue;
		}
		/* "gcn1, gcn2", or, where that is too wide, "gcn1 +63" */
		memlock_names(names, same, &nodes);
		if (nodes.len >= sizeof(text) && same > 1) {
			str_reset(&nodes);
			str_addf(&nodes, "%.*s +%zu", (int)sizeof(text) - 8,
				 names[0], same - 1);
		}
		STR_COPY(text, str_text(&nodes));
		str_release(&nodes);
		print_line(l, text, width, out);
	}
}

static void add_table(const struct memlock_rows *run, int width,
		      struct str *out)
{
	struct judged_memlock_line *lines = calloc(run->n + 1, sizeof(*lines));
	char (*names)[64] = calloc(run->n + 1, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; lines && names && i < run->n; i++) {
		const struct memlock_row *r = &run->rows[i];

		if (strcmp(r->check, CHECK_SOFT) == 0 &&
		    r->outcome != OUTCOME_SKIPPED) {
			lines[n++] = take_context(run, r);
		}
	}
	if (n > 0) {
		qsort(lines, n, sizeof(*lines), by_context);
		str_addf(out, "\n  %-9s %-10s %-10s %-4s %-*s %s\n",
			 "context", "soft", "hard", "cap", NODES_WIDTH, "node",
			 "set by");
		print_lines(lines, n, names, width, out);
	}
	out->failed |= !lines || !names;
	free(names);
	free(lines);
}

/* ---- the proof --------------------------------------------------------- */

/** Add what failed first, then what did not fail. */
static void add_proof(const struct memlock_rows *run, struct str *out)
{
	static const enum outcome order[] = { OUTCOME_ERROR, OUTCOME_OK };
	size_t lines = 0;

	for (size_t o = 0; o < 2; o++) {
		for (size_t i = 0; i < run->n; i++) {
			const struct memlock_row *r = &run->rows[i];
			char limit[32], ok[32], fail[32], need[32];

			if (r->max_ok_B == RECORD_NONE ||
			    r->outcome != order[o] || lines++ >= PROOFS_MAX) {
				continue;
			}
			if (lines == 1) {
				str_addf(out, "\n  %-14s %-14s %-10s %-11s "
					 "%-11s %s\n", "tried", "on", "limit",
					 "works up to", "fails at", "needed");
			}
			str_addf(out,
				"  %-14s %-14.14s %-10s %-11s %-11s %s\n",
				r->check, r->hca[0] ? r->hca : r->node,
				memlock_bytes(r->limit_B, limit, sizeof(limit)),
				memlock_bytes(r->max_ok_B, ok, sizeof(ok)),
				memlock_bytes(r->min_fail_B, fail,
					      sizeof(fail)),
				memlock_bytes(r->needed_B, need, sizeof(need)));
		}
	}
	if (lines > PROOFS_MAX) {
		str_addf(out, "  %zu more are in results.csv\n",
			 lines - PROOFS_MAX);
	}
}

/* ---- the kind of run ---------------------------------------------------- */

static int judge(const char *dir, struct judged *j, struct err *e)
{
	return memlock_run_read(dir, &j->run, j->more, e) < 0 ?
		       -1 : memlock_judge(&j->run, j->more, &j->verdict);
}

static void release(void *more)
{
	memlock_rows_release(more);
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const struct memlock_rows *run = j->more;
	const size_t *cells = j->verdict.cells;
	int64_t needed = 0;
	char bytes[32];

	for (size_t k = 0; k < run->n; k++) {
		if (strcmp(run->rows[k].check, CHECK_SOFT) == 0 &&
		    run->rows[k].needed_B > needed) {
			needed = run->rows[k].needed_B;
		}
	}
	snprintf(buf, size, "memlock on %d node%s: %zu of %zu limits and "
		 "tests are sufficient; NCCL needs about %s a process",
		 j->run.n_nodes,
		 j->run.n_nodes == 1 ? "" : "s", cells[CELL_PASS],
		 cells[CELL_PASS] + cells[CELL_FAIL] + cells[CELL_NOT_RUN],
		 memlock_bytes(needed, bytes, sizeof(bytes)));
	return i == 0;
}

/** Columns of the tables in a file. */
#define FILE_WIDTH 120

static int below(const struct judged *j, int width, enum term_style style,
		 struct str *out)
{
	(void)style;
	width = width > 0 ? width : FILE_WIDTH;
	add_table(j->more, width < VALUE_MIN_WIDTH ? VALUE_MIN_WIDTH : width,
		  out);
	add_proof(j->more, out);
	return 0;
}

const struct judged_kind judged_memlock = {
	.probe = "memlock",
	.more_size = sizeof(struct memlock_rows),
	.judge = judge,
	.release = release,
	.head = head,
	.below = below,
};
