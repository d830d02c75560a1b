/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of memlock, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/data/hosts.h"
#include "report/judge/memlock_verdict.h"

/** Tests that a screen shows. */
#define PROOFS_MAX 16

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
static const struct memlock_row *find_row(const struct run *run,
					  const struct memlock_row *like,
					  const char *check)
{
	const struct memlock_row *end = run->memlock + run->rows;

	for (const struct memlock_row *r = like + 1;
	     r < end && strcmp(r->node, like->node) == 0; r++) {
		if (strcmp(r->check, check) == 0 &&
		    strcmp(r->context, like->context) == 0) {
			return r;
		}
	}
	return NULL;
}

/** The line of a context, and which setting the limit comes from, as far as
 *  that is known. */
static struct judged_memlock_line take_context(const struct run *run,
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
		    strcmp(r->code, CODE_UNUSED) != 0) {
			STR_COPY(line.from,
				 strcmp(r->code, "unit_not_in_force") == 0 ?
					 "an earlier unit" :
				 r->source[0] ? r->source : "a default");
		}
	}
	return line;
}

/** As the limit is handed on; on equal contexts as they came. */
static const struct order_key by_context[] = {
	ORDER_UP(struct judged_memlock_line, context),
	ORDER_AS(struct judged_memlock_line, soft, ORDER_ADDRESS),
	ORDER_END
};

/** Add the @n @lines, those that are the same on several nodes as one. */
static void add_lines(struct judged_memlock_line *lines, size_t n,
		      char (*names)[64], struct table *t)
{
	static const char *const caps[] = { "-", "no", "yes" };

	for (size_t i = 0; i < n; i++) {
		const struct judged_memlock_line *l = &lines[i];
		const int64_t soft = l->soft->limit_B;
		struct str nodes = STR_INIT;
		size_t same = 0;
		char bytes[32];

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
		hostlist_add(&nodes, names[0], sizeof(*names), same);
		table_add(t, memlock_context_names[l->context]);
		table_add(t, soft == RECORD_NONE ? "unknown" :
			     memlock_bytes(soft, bytes, sizeof(bytes)));
		if (soft >= 0 && l->soft->needed_B > 0) {
			table_bar(t, (double)soft / (double)l->soft->needed_B);
		}
		table_add(t, memlock_bytes(l->hard, bytes, sizeof(bytes)));
		table_add(t, caps[l->cap + 1]);
		table_add(t, str_text(&nodes));
		table_add(t, l->from);
		t->text.failed |= nodes.failed;
		str_release(&nodes);
	}
}

/* ---- the proof --------------------------------------------------------- */

/** Add what failed first, then what did not fail. */
static void add_proof(const struct run *run, struct tables *to)
{
	static const enum outcome order[] = { OUTCOME_ERROR, OUTCOME_OK };
	static const struct table_column columns[] = {
		{ .name = "tried", .width = 14 },
		{ .name = "on", .width = 14, .most = 14 },
		{ .name = "limit", .width = 10 },
		{ .name = "works up to", .width = 11 },
		{ .name = "fails at", .width = 11 },
		{ .name = "needed" },
	};
	struct table *t = tables_add(to, &(struct table){
		.title = "Tests", .columns = columns, .n_columns = 6,
		.indent = 2, .shown = PROOFS_MAX });
	char bytes[32];

	for (size_t o = 0; o < 2; o++) {
		for (size_t i = 0; i < run->rows; i++) {
			const struct memlock_row *r = &run->memlock[i];
			const int64_t sizes[] = { r->limit_B, r->max_ok_B,
						  r->min_fail_B, r->needed_B };

			if (r->max_ok_B == RECORD_NONE ||
			    r->outcome != order[o]) {
				continue;
			}
			table_add(t, r->check);
			table_add(t, r->hca[0] ? r->hca : r->node);
			for (int k = 0; k < 4; k++) {
				table_add(t, memlock_bytes(sizes[k], bytes,
							   sizeof(bytes)));
			}
		}
	}
}

static void tables(const struct judged *j, struct tables *to)
{
	static const struct table_column columns[] = {
		{ .name = "context", .width = 9 },
		{ .name = "soft", .width = 10 },
		{ .name = "hard", .width = 10 },
		{ .name = "cap", .width = 4 },
		{ .name = "node", .width = 13, .most = 40 },
		{ .name = "set by", .tail = true },
	};
	const struct run *run = &j->run;
	struct judged_memlock_line *lines =
		calloc(run->rows + 1, sizeof(*lines));
	char (*names)[64] = calloc(run->rows + 1, sizeof(*names));
	struct table *t = tables_add(to, &(struct table){
		.title = "Limits by context", .columns = columns,
		.n_columns = 6, .indent = 2 });
	size_t n = 0;

	for (size_t i = 0; lines && names && i < run->rows; i++) {
		const struct memlock_row *r = &run->memlock[i];

		if (strcmp(r->check, CHECK_SOFT) == 0 &&
		    r->outcome != OUTCOME_SKIPPED) {
			lines[n++] = take_context(run, r);
		}
	}
	if (n > 0) {
		order_sort(lines, n, sizeof(*lines), by_context);
		add_lines(lines, n, names, t);
	}
	t->text.failed |= !lines || !names;
	free(names);
	free(lines);
	add_proof(run, to);
}

/* ---- the kind of run ---------------------------------------------------- */

static int judge(const char *dir, struct judged *j, struct err *e)
{
	return memlock_run_read(dir, &j->run, e) < 0 ?
		       -1 : memlock_judge(&j->run, &j->verdict);
}

/** Bytes that a process of NCCL needs; the lowest limit into *@least. */
static int64_t needed_B(const struct run *run, int64_t *least)
{
	int64_t needed = 0;

	*least = INT64_MAX;
	for (size_t k = 0; k < run->rows; k++) {
		const struct memlock_row *r = &run->memlock[k];

		if (strcmp(r->check, CHECK_SOFT) == 0) {
			needed = r->needed_B > needed ? r->needed_B : needed;
			*least = r->limit_B != RECORD_NONE &&
				 r->limit_B < *least ? r->limit_B : *least;
		}
	}
	return needed;
}

static const char *figure(const struct judged *j, int i, char *buf,
			  size_t size)
{
	int64_t least, needed = needed_B(&j->run, &least);

	memlock_bytes(i == 0 ? least : needed, buf, size);
	return i == 0 ? "lowest limit" : i == 1 ? "needed per process" : NULL;
}

static bool head(const struct judged *j, int i, char *buf, size_t size)
{
	const size_t *cells = j->verdict.cells;
	int64_t least, needed = needed_B(&j->run, &least);
	const bool known = least != INT64_MAX;
	char bytes[32], limit[32];

	if (needed == 0 && !known) {
		snprintf(buf, size, "memlock on %d node%s: nothing was "
			 "measured", j->run.n_nodes,
			 j->run.n_nodes == 1 ? "" : "s");
		return i == 0;
	}
	snprintf(buf, size, "memlock on %d node%s: %s%s%sNCCL needs about %s "
		 "per process; %zu of %zu limits and tests are sufficient",
		 j->run.n_nodes, j->run.n_nodes == 1 ? "" : "s",
		 known ? "locked memory is limited to " : "",
		 known ? memlock_bytes(least, limit, sizeof(limit)) : "",
		 known ? "; " : "", memlock_bytes(needed, bytes, sizeof(bytes)),
		 cells[CELL_PASS],
		 cells[CELL_PASS] + cells[CELL_FAIL] + cells[CELL_NOT_RUN]);
	return i == 0;
}

const struct judged_kind judged_memlock = {
	.probe = "memlock",
	.judge = judge,
	.head = head,
	.tables = tables,
	.figure = figure,
};
