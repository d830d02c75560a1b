/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tests of a retest are those of a part. */
#include "report/judge/retest_look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/data/json.h"

/** Fewer tests of a class tell nothing of a few percent. */
#define LEAST_TESTS 4
#define MAX_ENDS    100000

const json_t *look_parts(const struct run *run)
{
	return json_object_get(json_object_get(run->json, "retest"), "parts");
}

int look_number(const json_t *json, const char *key)
{
	const json_t *n = json_object_get(json, key);

	return json_is_integer(n) && json_integer_value(n) >= 0 &&
			       json_integer_value(n) <= SPEC_MAX_RANKS ?
		       (int)json_integer_value(n) : -1;
}

int look_node(const struct run *run, const char *name)
{
	return name[0] ? run_find_node(run, name, -1) : -1;
}

/* ---- which cells are whose ----------------------------------------------- */

/** The ranks of "NODE", GPU: *@first to *@last, none of a node that has not
 *  come. */
static void find_ranks(const struct run *run, const json_t *end, size_t at,
		       int *first, int *last)
{
	const char *name = json_string_value(json_array_get(end, at));
	int64_t gpu = json_integer_value(json_array_get(end, at + 1));
	int node = name ? look_node(run, name) : -1;
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

/** Of the pair @end: was there a test, and was none left out? */
static bool is_whole(const struct look *l, const json_t *end)
{
	const struct run *run = l->run;
	size_t made = 0, left = 0;
	int a, b, last_a, last_b;

	find_ranks(run, end, 0, &a, &last_a);
	for (; a <= last_a; a++) {
		find_ranks(run, end, 2, &b, &last_b);
		for (; b <= last_b; b++) {
			size_t at[2] = { run_at(run, a, b), run_at(run, b, a) };

			for (int k = 0; k < 2; k++) {
				unsigned class = run->cells[at[k]].class;

				made += l->marks[at[k]] && run_measured(class);
				left += class != CELL_UNPLANNED &&
					(!l->marks[at[k]] ||
					 !run_measured(class));
			}
		}
	}
	return made > 0 && left == 0;
}

static void count_units(struct look *l)
{
	const json_t *ends = json_object_get(l->json, "pairs"), *end;
	size_t i;

	json_array_foreach(ends, i, end) {
		const char *a = json_string_value(json_array_get(end, 0));
		const char *b = json_string_value(json_array_get(end, 2));
		bool inter = a && b && strcmp(a, b) != 0;

		/* a node with a single GPU has none inside */
		if (i >= MAX_ENDS ||
		    (!inter && look_number(l->json, "gpus") == 1)) {
			continue;
		}
		l->units[inter]++;
		l->whole[inter] += is_whole(l, end);
	}
}

/* ---- who is at fault for what -------------------------------------------- */

bool look_covers(const struct look *l, const struct part *p)
{
	size_t n[PATH_CLASSES] = { 0 }, of[PATH_CLASSES] = { 0 };
	bool most = false;

	for (size_t at = 0; at < run_n_cells(l->run); at++) {
		const struct cell *c = &l->run->cells[at];

		if (l->marks[at] && run_measured(c->class)) {
			of[c->path]++;
			n[c->path] += part_touches_at(l->run, p, at);
		}
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		most = most || 2 * n[path] > of[path];
	}
	return most;
}

/** Is @f at fault for a test of the part at @at: its partner, or another one of
 *  its node? */
static bool is_of_other(const struct look *l, const struct finding *f,
			size_t at)
{
	return f->fail && f->explained > 0 && f->n_or == 0 &&
	       f->part.node >= 0 && part_is(&f->part, ON_ONE_NODE) &&
	       l->part.node >= 0 && f->part.node != l->part.peer_node &&
	       part_touches_at(l->run, &f->part, at) &&
	       (f->part.node != l->part.node || !look_covers(l, &f->part));
}

/** Tests that fail since something else is at fault say nothing of the part. */
static void excuse(struct look *l)
{
	uint8_t *excused = calloc(run_n_cells(l->run) + 1, 1);

	for (size_t at = 0; excused && at < run_n_cells(l->run); at++) {
		if (!l->marks[at] || !run_bad(l->run->cells[at].class)) {
			continue;
		}
		for (size_t i = 0; i < l->v->n && !excused[at]; i++) {
			excused[at] = is_of_other(l, &l->v->findings[i], at);
		}
	}
	for (size_t at = 0; excused && at < run_n_cells(l->run); at++) {
		l->marks[at] &= !excused[at];
	}
	free(excused);
}

/** Does @rank use another NIC than the one that was found? */
static bool is_other_nic(const struct look *l, int rank)
{
	const struct run_rank *r = &l->run->ranks[rank];
	const char *then = json_member(l->json, "nic");
	bool named = then[0] && run_number_in(then, "nic") < 0 &&
		     r->nic_name[0] && run_number_in(r->nic_name, "nic") < 0;

	return r->node == l->part.node &&
	       (named ? strcmp(r->nic_name, then) != 0 :
			r->nic != l->part.index);
}

/** Tests that another NIC has carried are none of the part. */
static void drop_other_nic(struct look *l)
{
	for (size_t at = 0; l->part.kind == PART_NIC &&
			    at < run_n_cells(l->run); at++) {
		if (l->marks[at] && l->run->cells[at].path != PATH_INTRA &&
		    (is_other_nic(l, run_src(l->run, at)) ||
		     is_other_nic(l, run_dst(l->run, at)))) {
			l->marks[at] = 0;
			l->other_nic++;
		}
	}
}

void look_at(struct look *l)
{
	const json_t *other;
	size_t i;

	mark(l->run, l->json, l->marks);
	json_array_foreach(look_parts(l->run), i, other) {
		mark(l->run, other, l->all);
	}
	drop_other_nic(l);
	excuse(l);
	count_units(l);
}

bool look_is_covered(const struct look *l)
{
	return l->run->n_ranks == 0 ||
	       (2 * l->whole[0] >= l->units[0] &&
		2 * l->whole[1] >= l->units[1]);
}

/* ---- slower than its controls? ------------------------------------------- */

static double median_of(const struct look *l, bool part, enum path_class path,
			bool latency, size_t *n)
{
	double *values = calloc(run_n_cells(l->run) + 1, sizeof(*values));
	double median;

	*n = 0;
	for (size_t at = 0; values && at < run_n_cells(l->run); at++) {
		const struct cell *c = &l->run->cells[at];
		const double x = (double)(latency ? c->lat_us : c->bw_GB_s);

		if (run_good(c->class) && c->path == path && !isnan(x) &&
		    (part ? l->marks[at] : !l->all[at])) {
			values[(*n)++] = x;
		}
	}
	median = stats_median(values, *n);
	free(values);
	return median;
}

double look_ratio(const struct look *l, bool latency)
{
	double worst = NAN;

	for (enum path_class path = 0; path < PATH_CLASSES; path++) {
		size_t n, others;
		double x = median_of(l, true, path, latency, &n);
		double y = median_of(l, false, path, latency, &others);
		double q = x / y;

		if (n >= LEAST_TESTS && others >= LEAST_TESTS && !isnan(q) &&
		    (isnan(worst) || (latency ? q > worst : q < worst))) {
			worst = q;
		}
	}
	return worst;
}
