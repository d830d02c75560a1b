/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of the parts that a retest is about. */
#include "report/judge/retest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "report/judge/tell.h"

/** A part that was slow is slow still below this share of its controls; by the
 *  same 3 % a slow part is found.  Latency is twice that of them at most. */
#define LEAST_SHARE 0.97
#define MOST_LATER  1.3
/** Fewer tests of a class tell nothing of a few percent. */
#define LEAST_TESTS 4
#define MAX_ENDS    100000

static const json_t *parts_of(const struct run *run)
{
	return json_object_get(json_object_get(run->json, "retest"), "parts");
}

/* ---- which cells are whose ----------------------------------------------- */

/** The ranks of "NODE", GPU: *@first to *@last, none of a node that has not
 *  come. */
static void find_ranks(const struct run *run, const json_t *end, size_t at,
		       int *first, int *last)
{
	const char *name = json_string_value(json_array_get(end, at));
	int64_t gpu = json_integer_value(json_array_get(end, at + 1));
	int node = name ? run_find_node(run, name, -1) : -1;
	const struct run_node *n = node < 0 ? NULL : &run->nodes[node];

	*first = 0;
	*last = -1;
	if (n && gpu < n->gpus) {
		*first = n->first_rank + (gpu < 0 ? 0 : (int)gpu);
		*last = gpu < 0 ? n->first_rank + n->gpus - 1 : *first;
	}
}

/** Mark the cells of @part, both ways. */
static void mark(const struct run *run, const json_t *part, uint8_t *marks)
{
	const json_t *ends = json_object_get(part, "pairs"), *end;
	int a, b, last_a, last_b;
	size_t i;

	json_array_foreach(ends, i, end) {
		find_ranks(run, end, 0, &a, &last_a);
		for (; i < MAX_ENDS && a <= last_a; a++) {
			find_ranks(run, end, 2, &b, &last_b);
			for (; b <= last_b; b++) {
				marks[run_at(run, a, b)] = 1;
				marks[run_at(run, b, a)] = 1;
			}
		}
	}
	marks[run_n_cells(run)] = 0;
}

/* ---- slower than its controls? ------------------------------------------- */

static double median_of(const struct run *run, const uint8_t *marks,
			const uint8_t *all, bool part, enum path_class path,
			bool latency, size_t *n)
{
	double *values = calloc(run_n_cells(run) + 1, sizeof(*values));
	double median;

	*n = 0;
	for (size_t at = 0; values && at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];
		const double x = (double)(latency ? c->lat_us : c->bw_GB_s);

		if (run_good(c->class) && c->path == path && !isnan(x) &&
		    (part ? marks[at] : !all[at])) {
			values[(*n)++] = x;
		}
	}
	median = stats_median(values, *n);
	free(values);
	return median;
}

/** The worst ratio of any class of paths that has enough tests; NAN: none. */
static double ratio(const struct run *run, const uint8_t *marks,
		    const uint8_t *all, bool latency)
{
	double worst = NAN;

	for (enum path_class path = 0; path < PATH_CLASSES; path++) {
		size_t n, others;
		double x = median_of(run, marks, all, true, path, latency, &n);
		double y = median_of(run, marks, all, false, path, latency,
				     &others);
		double q = x / y;

		if (n >= LEAST_TESTS && others >= LEAST_TESTS &&
		    (isnan(worst) || (latency ? q > worst : q < worst))) {
			worst = q;
		}
	}
	return worst;
}

/* ---- one part ------------------------------------------------------------ */

/** Is a fault named now where it was? */
static bool is_named(const struct run *run, const struct verdict *v,
		     const struct retested *r)
{
	const int node = r->node[0] ? run_find_node(run, r->node, -1) : -1;

	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		if (node >= 0 ? finding_sits_in(f, node) &&
					(f->fail ||
					 strcmp(f->code, r->code) == 0) :
				f->fail) {
			return true;
		}
	}
	return false;
}

/** Of a collective: its nodes took part, or not. */
static void look_at_nodes(const struct run *run, const struct verdict *v,
			  struct retested *r)
{
	const json_t *nodes = json_object_get(run->json, "nodes"), *node;
	bool there = !r->node[0];
	size_t i;

	json_array_foreach(nodes, i, node) {
		there = there || strcmp(json_member(node, "name"),
					r->node) == 0;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		r->tests += run_measured(c) && there ? v->cells[c] : 0;
		r->bad += run_bad(c) && there ? v->cells[c] : 0;
	}
}

static void look_at_cells(const struct run *run, const json_t *part,
			  struct retested *r)
{
	const json_t *other;
	const bool later = strcmp(r->code, "latency") == 0;
	uint8_t *marks = calloc(run_n_cells(run) + 1, 1);
	uint8_t *all = calloc(run_n_cells(run) + 1, 1);
	double late;
	size_t i;

	if (marks && all) {
		mark(run, part, marks);
		json_array_foreach(parts_of(run), i, other) {
			mark(run, other, all);
		}
		for (size_t at = 0; at < run_n_cells(run); at++) {
			unsigned class = run->cells[at].class;

			r->tests += marks[at] && run_measured(class);
			r->bad += marks[at] && run_bad(class);
		}
		r->share = ratio(run, marks, all, false);
		late = later ? ratio(run, marks, all, true) : NAN;
		r->slow = later ? late > MOST_LATER :
				  strcmp(r->code, "slow") == 0 &&
					  r->share < LEAST_SHARE;
	}
	free(marks);
	free(all);
}

/** Was all that was planned tested, and is known what was bad then? */
static bool is_enough(const struct run *run, const struct verdict *v,
		      const struct retested *r)
{
	return !verdict_is_cut(run, v) &&
	       (run->n_ranks == 0 || strncmp(r->code, "slow", 4) != 0 ||
		!isnan(r->share));
}

bool retest_part(const struct run *run, const struct verdict *v, size_t i,
		 struct retested *r)
{
	const json_t *part = json_array_get(parts_of(run), i);

	if (!json_is_object(part)) {
		return false;
	}
	*r = (struct retested){
		.name = json_member(part, "name"),
		.node = json_member(part, "node"),
		.code = json_member(part, "code"),
		.failed = strcmp(json_member(part, "severity"), "fail") == 0,
		.drain = json_is_true(json_object_get(part, "drain")),
		.share = NAN,
	};
	if (run->n_ranks > 0 && run->cells) {
		look_at_cells(run, part, r);
	} else {
		look_at_nodes(run, v, r);
	}
	if (r->bad > 0 || r->slow || is_named(run, v, r)) {
		r->state = RETEST_FAILS;
	} else if (r->tests > 0 && is_enough(run, v, r)) {
		r->state = RETEST_PASSES;
	}
	return true;
}

void retest_findings(const struct run *run, struct verdict *v)
{
	struct retested r;

	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		const json_t *part = json_array_get(parts_of(run), i);
		const json_t *index = json_object_get(part, "index");
		struct part p = part_of_kind(0);
		struct finding *f;

		if (!r.slow || r.bad > 0 || is_named(run, v, &r)) {
			continue;
		}
		while (p.kind < PART_CONFIG &&
		       strcmp(part_kind_name(p.kind),
			      json_member(part, "kind")) != 0) {
			p.kind++;
		}
		p.node = run_find_node(run, r.node, -1);
		p.index = json_is_integer(index) ?
				  (int)json_integer_value(index) : -1;
		if (p.node < 0) {
			p = part_of_kind(PART_CONFIG);
		}
		f = finding_add(v, &p, "still_slow");
		f->fail = r.failed;
		f->cells = f->explained = r.tests;
		finding_say(f, "%s is still slower than its controls: %.0f %% "
			    "of their bandwidth in %zu tests", r.name,
			    100 * r.share, r.tests);
	}
}

/* ---- words --------------------------------------------------------------- */

bool retest_undrain(const struct run *run, const struct verdict *v,
		    const char *node, struct str *out)
{
	struct retested r;
	bool drained = false;

	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		if (strcmp(r.node, node) != 0) {
			continue;
		}
		if (r.state != RETEST_PASSES) {
			return false;
		}
		drained = drained || r.drain;
	}
	if (!drained || run->drill || !node[0] || node[0] == '-' ||
	    node[strspn(node, HOSTLIST_NAME_CHARS)]) {
		return false;
	}
	str_addf(out, "scontrol update nodename=%s state=resume", node);
	return true;
}

/** Has part @i a node that one before it has, too? */
static bool is_repeated(const struct run *run, const struct verdict *v,
			size_t i, const char *node)
{
	struct retested r;

	for (size_t k = 0; k < i && retest_part(run, v, k, &r); k++) {
		if (strcmp(r.node, node) == 0) {
			return true;
		}
	}
	return false;
}

static void say_part(const struct retested *r, struct str *out)
{
	str_addf(out, "\n%s (%s): ", r->name, r->code);
	if (r->state == RETEST_OPEN) {
		str_addf(out, r->tests > 0 ? "open: %zu good test%s, fewer "
			 "than it takes" : "was not tested", r->tests,
			 r->tests == 1 ? "" : "s");
		return;
	}
	if (r->bad > 0) {
		str_addf(out, "still there: %zu of %zu tests fail", r->bad,
			 r->tests);
	} else {
		str_addf(out, "%s%zu test%s pass%s",
			 r->state == RETEST_FAILS ? "still there: " : "",
			 r->tests, r->tests == 1 ? "" : "s",
			 r->tests == 1 ? "es" : "");
	}
	if (!isnan(r->share)) {
		str_addf(out, ", at %.0f %% of the bandwidth of the controls",
			 100 * r->share);
	}
}

void retest_words(const struct run *run, const struct verdict *v,
		  struct str *out)
{
	const json_t *retest = json_object_get(run->json, "retest");
	struct retested r;
	int lines = 0;

	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		if (i == 0) {
			str_addf(out, "%sretest of what '%s' has found:",
				 out->len ? "\n" : "",
				 json_member(retest, "dir"));
		}
		say_part(&r, out);
	}
	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		struct str line = STR_INIT;

		if (!is_repeated(run, v, i, r.node) &&
		    retest_undrain(run, v, r.node, &line)) {
			str_addf(out, "%s\n" TELL_COMMAND "%s", lines++ ? "" :
				 "\nundrain (needs Slurm operator rights):",
				 str_text(&line));
		}
		str_release(&line);
	}
}

json_t *retest_json(const struct run *run, const struct verdict *v)
{
	static const char *const states[] = {
		[RETEST_OPEN] = "open", [RETEST_PASSES] = "passes",
		[RETEST_FAILS] = "fails",
	};
	json_t *list = parts_of(run) ? json_array() : NULL;
	struct retested r;

	for (size_t i = 0; list && retest_part(run, v, i, &r); i++) {
		struct str line = STR_INIT;
		bool undrain = retest_undrain(run, v, r.node, &line);

		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:s}",
			"name", r.name, "node", r.node,
			"state", states[r.state],
			"tests", (json_int_t)r.tests,
			"bad", (json_int_t)r.bad,
			"share", isnan(r.share) ? json_null() :
				 json_real(round(r.share * 1000) / 1000),
			"undrain", undrain ? json_text(str_text(&line)) :
					     json_null(),
			"code", r.code));
		str_release(&line);
	}
	return list;
}
