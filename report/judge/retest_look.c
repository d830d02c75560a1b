/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of the tests of a retest for each of its parts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/data/hosts.h"
#include "lib/data/record_rows.h"
#include "lib/data/schema.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"

/* ---- retest marks -------------------------------------------------------- */

/* Which tests of a retest are those of a part. */

/** Minimum tests of a class to judge a few percent. */
#define LEAST_TESTS 4
#define MAX_ENDS    100000

/* ---- cells of each part -------------------------------------------------- */

/** Sets *@first and *@last to the ranks of "NODE", GPU; an empty range if the
 *  node is missing. */
static void find_ranks(const struct run *run, const json_t *end, size_t at,
		       int *first, int *last)
{
	const char *name = json_string_value(json_array_get(end, at));
	int64_t gpu = json_integer_value(json_array_get(end, at + 1));
	int node = run_find_node(run, name, -1);
	const struct cluster_node *n = node < 0 ? NULL : &run->nodes[node];

	*first = 0;
	*last = -1;
	if (n && gpu < n->gpus) {
		*first = n->first_rank + (gpu < 0 ? 0 : (int)gpu);
		*last = gpu < 0 ? n->first_rank + n->gpus - 1 : *first;
	}
}

/** Mark the cells of @part, both ways. */
static void mark(const struct run *run, const json_t *ends, uint8_t *marks)
{
	const json_t *end;
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

/** Returns true if all planned tests of the pair @end were made, and there was
 *  at least one. */
static bool is_whole(const struct retest_look *l, const json_t *end)
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

static void count_units(struct retest_look *l)
{
	const json_t *end;
	size_t i;

	json_array_foreach(l->then.pairs, i, end) {
		const char *a = json_string_value(json_array_get(end, 0));
		const char *b = json_string_value(json_array_get(end, 2));
		bool inter = a && b && strcmp(a, b) != 0;

		/* a node with a single GPU has no tests inside */
		if (i >= MAX_ENDS ||
		    (!inter && l->then.gpus == 1)) {
			continue;
		}
		l->units[inter]++;
		l->whole[inter] += is_whole(l, end);
	}
}

/* ---- attribution of bad tests -------------------------------------------- */

/* Returns true if @p has most of the marked tests of at least one kind of
 * path. */
static bool look_covers(const struct retest_look *l, const struct part *p)
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

/** Returns true if @f, a fault of the partner or of another part of the node,
 *  explains the test of the part at @at. */
static bool is_of_other(const struct retest_look *l, const struct finding *f,
			size_t at)
{
	return f->fail && f->explained > 0 && f->n_or == 0 &&
	       f->part.node >= 0 && part_is(&f->part, ON_ONE_NODE) &&
	       l->part.node >= 0 && f->part.node != l->part.peer_node &&
	       part_touches_at(l->run, &f->part, at) &&
	       (f->part.node != l->part.node || !look_covers(l, &f->part));
}

/** Tests that fail since something else is at fault say nothing of the part. */
static void excuse(struct retest_look *l)
{
	uint8_t *excused = calloc(run_n_cells(l->run) + 1, 1);

	for (size_t at = 0; excused && at < run_n_cells(l->run); at++) {
		if (!l->marks[at] || !cells_failed(l->run->cells[at].class)) {
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

/** Returns true if @rank uses another NIC than the one in the earlier
 *  finding. */
static bool is_other_nic(const struct retest_look *l, int rank)
{
	const struct cluster_rank *r = &l->run->ranks[rank];
	const char *then = l->then.nic;
	bool named = then[0] && run_number_in(then, "nic") < 0 &&
		     r->nic_name[0] && run_number_in(r->nic_name, "nic") < 0;

	return r->node == l->part.node &&
	       (named ? strcmp(r->nic_name, then) != 0 :
			r->nic != l->part.index);
}

void look_at(struct retest_look *l)
{
	const json_t *parts = run_file(l->run->json).retest.parts;
	const struct run *run = l->run;

	mark(l->run, l->then.pairs, l->marks);
	for (size_t i = 0; i < json_array_size(parts); i++) {
		mark(l->run, run_entry(parts, i).pairs, l->all);
	}
	/* tests that another NIC has carried are none of the part */
	for (size_t at = 0; l->part.kind == PART_NIC && at < run_n_cells(run);
	     at++) {
		if (l->marks[at] && run->cells[at].path != PATH_INTRA &&
		    (is_other_nic(l, run_src(run, at)) ||
		     is_other_nic(l, run_dst(run, at)))) {
			l->marks[at] = 0;
			l->other_nic++;
		}
	}
	excuse(l);
	count_units(l);
}

/* Returns true if at least half of the pairs of each kind of path were tested
 * completely. */
static bool look_is_covered(const struct retest_look *l)
{
	return l->run->n_ranks == 0 ||
	       (2 * l->whole[0] >= l->units[0] &&
		2 * l->whole[1] >= l->units[1]);
}

/* ---- comparison with controls ------------------------------------------- */

static double median_of(const struct retest_look *l, bool part,
			enum path_class path, bool latency, size_t *n)
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

/* Returns the worst ratio to the controls among the classes of paths with
 * enough tests, of bandwidth or @latency; NAN: none. */
static double look_ratio(const struct retest_look *l, bool latency)
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

/* ---- retest results ------------------------------------------------------ */

/* Results for the parts that a retest is about. */

/** Latency in multiples of that of the controls from which it is a fault. */
#define FAIL_LATER 2.0

/** A part of the kind @name; of one that is not known, a set-up. */
static struct part part_called(const char *name)
{
	enum part_kind kind = part_kind_of(name);

	return part_of_kind(kind < PART_KINDS ? kind : PART_CONFIG);
}

/** Returns the part for a finding of its own.  It has no number if the part is
 *  no longer there, or is on no node. */
static struct part place_of(const struct run *run, const struct run_entry *then,
			    const struct retested *r)
{
	struct part p = part_called(then->kind);

	p.node = run_find_node(run, r->node, -1);
	if (p.node < 0) {
		return part_of_kind(PART_CONFIG);
	}
	if (r->state == RETEST_MISSING ||
	    part_is(&p, KIND(PAIR) | KIND(NODE_PAIR))) {
		p.kind = PART_NODE;
	} else {
		p.index = then->index;
	}
	return p;
}

/** Returns true if the confirmed part is slow enough for a fault. */
static bool is_beyond(const struct run *run, const struct retested *r)
{
	return r->slow && (r->late >= FAIL_LATER ||
			   r->share <= 1 - run_slow_share(run));
}

static void add_slow(const struct run *run, const struct run_entry *then,
		     const struct retested *r, struct verdict *v)
{
	const struct part p = place_of(run, then, r);
	struct finding *f = finding_add(v, p, "still_slow");

	f->fail = r->failed || (is_beyond(run, r) && !run->shared_cores);
	f->drain = r->drain;	/* that it is its node was proved then */
	f->cells = f->explained = r->tests;
	if (r->late > 1) {
		finding_say(f, "%s: latency is still %.1f times that of its "
			    "controls in %zu tests", r->name, r->late,
			    r->tests);
	} else {
		finding_say(f, "%s is still slower than its controls: %.0f %% "
			    "of their bandwidth in %zu tests", r->name,
			    100 * r->share, r->tests);
	}
}

void retest_findings(const struct run *run, struct verdict *v)
{
	struct retested r;

	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		const struct run_entry then = run_entry(
			run_file(run->json).retest.parts, i);
		struct finding *f = NULL;

		if (r.state == RETEST_MISSING) {
			f = finding_add(v, place_of(run, &then, &r),
					"still_missing");
			f->fail = r.failed;
			finding_say(f, "%s cannot be tested: %s", r.name,
				    r.why);
		} else if (r.again) {
			f = &v->findings[r.again - v->findings];
			/* of ranks that share cores nothing is a fault by its
			 * speed */
			if (f->fail || run->shared_cores ||
			    !(r.failed || is_beyond(run, &r))) {
				continue;
			}
			f->fail = true;
			finding_add_evidence(f, "the run before has found %s, "
					     "and this one, at another time, "
					     "finds it again", r.name);
		} else if (r.slow && r.bad == 0) {
			add_slow(run, &then, &r, v);
		}
	}
}

void retest_weigh(const struct run *run, struct verdict *v)
{
	struct retested r;

	v->still = v->open = false;
	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		v->still |= r.state == RETEST_FAILS ||
			    r.state == RETEST_MISSING;
		v->open |= r.state == RETEST_OPEN;
	}
}

/* ---- words --------------------------------------------------------------- */

/** Returns all parts, each judged once; the caller frees with free().  NULL:
 *  there are none, or no memory. */
static struct retested *all_parts(const struct run *run,
				  const struct verdict *v, size_t *n)
{
	const json_t *parts = run_file(run->json).retest.parts;
	struct retested *list = calloc(json_array_size(parts) + 1,
				       sizeof(*list));

	*n = 0;
	while (list && retest_part(run, v, *n, &list[*n])) {
		(*n)++;
	}
	return list;
}

static bool is_of(const struct retested *r, const char *node)
{
	return strcmp(r->node, node) == 0 || strcmp(r->peer, node) == 0;
}

/** Returns true if @v has any fault on @node. */
static bool has_fault(const struct run *run, const struct verdict *v,
		      const char *node)
{
	const int at = run_find_node(run, node, -1);
	bool has = false;

	for (size_t i = 0; at >= 0 && i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		has = has || (f->fail && (finding_sits_in(f, at) ||
					  f->part.peer_node == at));
	}
	return has;
}

/** Returns true if Slurm had the node drained at the end of the run, with a
 *  reason from a drain line of gpucheck. */
static bool is_drained_by_us(const struct run *run, const char *node)
{
	const char *last = "";

	for (size_t i = 0; i < run->n_events; i++) {
		const struct event_row *e = &run->events[i];

		if (strcmp(e->event, "slurm_state") == 0 &&
		    strcmp(e->node, node) == 0) {
			last = e->detail;
		}
	}
	return strstr(last, " drain") && strstr(last, ": gpucheck");
}

/** The line that has Slurm use @node again: it was proved to be at fault, all
 *  that was found there passes, and it still is drained for that; else
 *  false. */
static bool undrain(const struct run *run, const struct verdict *v,
		    const struct retested *list, size_t n, const char *node,
		    struct str *out)
{
	bool drained = false;

	for (size_t i = 0; i < n; i++) {
		if (is_of(&list[i], node) && list[i].state != RETEST_PASSES) {
			return false;
		}
		drained = drained || (strcmp(list[i].node, node) == 0 &&
				      list[i].drain);
	}
	if (!drained || run->drill || !is_drained_by_us(run, node) ||
	    has_fault(run, v, node) || !hostlist_is_name(node)) {
		return false;
	}
	str_addf(out, "scontrol update nodename=%s state=resume", node);
	return true;
}

static void say_state(const struct retested *r, struct str *out)
{
	const char *many = r->tests == 1 ? "" : "s";

	if (r->state == RETEST_MISSING) {
		str_addf(out, "still missing: %s", r->why);
	} else if (r->state == RETEST_OPEN && r->why[0]) {
		str_addf(out, "open: %s", r->why);
	} else if (r->state == RETEST_OPEN && r->tests > 0) {
		str_addf(out, "open: %zu good test%s, fewer than it takes",
			 r->tests, many);
	} else if (r->state == RETEST_OPEN) {
		str_add(out, "was not tested");
	} else if (r->bad > 0) {
		str_addf(out, "still there: %zu of %zu tests fail", r->bad,
			 r->tests);
	} else if (r->state == RETEST_PASSES) {
		str_addf(out, "%zu test%s pass%s", r->tests, many,
			 r->tests == 1 ? "es" : "");
	} else {
		str_addf(out, "still there: %zu test%s, of which none fails",
			 r->tests, many);
	}
}

static void say_part(const struct retested *r, struct str *out)
{
	str_addf(out, "\n%s (%s): ", r->name, r->code);
	say_state(r, out);
	if (r->state == RETEST_FAILS && r->again) {
		str_addf(out, ", is found again (%s)", r->again->code);
	}
	if (r->state != RETEST_PASSES && r->state != RETEST_FAILS) {
		return;
	}
	if (r->late > 0) {
		str_addf(out, ", at %.1f times the latency of the controls",
			 r->late);
	}
	if (r->share > 0) {
		str_addf(out, ", at %.0f %% of the bandwidth of the controls",
			 100 * r->share);
	}
}

void retest_words(const struct run *run, const struct verdict *v,
		  struct str *out)
{
	size_t n;
	struct retested *list = all_parts(run, v, &n);
	int lines = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == 0) {
			str_addf(out, "%sretest of what '%s' has found:",
				 out->len ? "\n" : "",
				 run_file(run->json).retest.dir);
		}
		say_part(&list[i], out);
	}
	for (size_t i = 0; i < n; i++) {
		struct str line = STR_INIT;
		size_t k = 0;	/* the first part of this node */

		while (strcmp(list[k].node, list[i].node) != 0) {
			k++;
		}
		if (k == i &&
		    undrain(run, v, list, n, list[i].node, &line)) {
			str_addf(out, "%s\n" TELL_COMMAND "%s", lines++ ? "" :
				 "\nundrain (needs Slurm operator rights; "
				 "sinfo -R shows other reasons):",
				 str_text(&line));
		}
		str_release(&line);
	}
	free(list);
}

#define RETESTED(member, type, absence) \
	FIELD(retested, member, #member, type, 0, INT64_MAX, "", \
	      .optional = FIELD_##absence)

static json_t *part_json(const struct retested *r, const char *line)
{
	static const char *const states[] = {
		[RETEST_OPEN] = "open", [RETEST_PASSES] = "passes",
		[RETEST_FAILS] = "fails", [RETEST_MISSING] = "missing",
	};
	static const struct field fields[] = {
		RETESTED(name, LINK, KEPT), RETESTED(node, LINK, KEPT),
		FIELD_WORDS(retested, state, "state", states, ""),
		RETESTED(tests, INT, KEPT), RETESTED(bad, INT, KEPT),
		RETESTED(share, REAL, NULL), RETESTED(undrain, LINK, NULL),
		RETESTED(why, TEXT, NULL), RETESTED(code, LINK, KEPT), { 0 }
	};
	struct retested out = *r;

	out.share = round(r->share * 1000) / 1000;
	out.undrain = line;
	return schema_json(fields, &out);
}

json_t *retest_json(const struct run *run, const struct verdict *v)
{
	json_t *json = run_file(run->json).retest.parts ? json_array() : NULL;
	size_t n;
	struct retested *list = all_parts(run, v, &n);

	for (size_t i = 0; json && i < n; i++) {
		struct str line = STR_INIT;

		undrain(run, v, list, n, list[i].node, &line);
		json_array_append_new(json, part_json(&list[i],
						      str_text(&line)));
		str_release(&line);
	}
	free(list);
	return json;
}

/* ---- retest look --------------------------------------------------------- */

/** A part that was slow is slow still below this share of its controls; by the
 *  same 3 % a slow part is found.  Latency is late from 30 % more on. */
#define LEAST_SHARE 0.97
#define MOST_LATER  1.3

int retest_gpus(const struct run *run, int node)
{
	const json_t *nodes = run_file(run->json).nodes;
	const char *name = node >= 0 ? run->nodes[node].name : "";

	if (node >= 0 && run->n_ranks > 0) {
		return run->nodes[node].gpus;
	}
	/* of a collective */
	for (size_t i = 0; name[0] && i < json_array_size(nodes); i++) {
		const struct run_entry at = run_entry(nodes, i);

		if (strcmp(at.name, name) == 0) {
			return at.gpus;
		}
	}
	return 0;
}

/* ---- repeated findings -------------------------------------------------- */

static bool is_speed(const char *code)
{
	return strncmp(code, "slow", 4) == 0 || strcmp(code, "still_slow") == 0;
}

static bool is_late(const char *code)
{
	return strcmp(code, "latency") == 0;
}

static bool is_same(const struct retest_look *l, const struct retested *r,
		    const struct part *p)
{
	char name[PART_NAME_SIZE];

	return strcmp(part_name(l->run, p, name, sizeof(name)), r->name) == 0 ||
	       (l->part.node >= 0 && part_same_place(p, &l->part));
}

/** Returns true if @f is on the node of the part, or on one of its two
 *  nodes. */
static bool is_here(const struct retest_look *l, const struct finding *f)
{
	return (l->part.node >= 0 && finding_sits_in(f, l->part.node)) ||
	       (l->part.peer_node >= 0 &&
		finding_sits_in(f, l->part.peer_node)) ||
	       (l->part.node >= 0 && f->part.peer_node == l->part.node);
}

static bool names(const struct retest_look *l, const struct retested *r,
		  const struct finding *f)
{
	const bool same_code = strcmp(f->code, r->code) == 0;
	const bool measured = f->fail || f->cells > 0 || f->explained > 0;
	/* the set-up of a node is not a part of the earlier fault */
	bool same = (measured || same_code ||
		     part_is(&f->part, ON_ONE_NODE & ~KIND(NODE))) &&
		    is_same(l, r, &f->part);

	for (size_t i = 0; i < f->n_or; i++) {
		same = same || is_same(l, r, &f->or_parts[i]);
	}
	if (same || l->part.node < 0) {
		return same || (r->node[0] ? false : f->fail || same_code ||
				(measured && f->part.node < 0));
	}
	if (!is_here(l, f)) {
		return false;
	}
	/* without cells the node is all that there is to go by */
	return r->tests == 0 || l->run->n_ranks == 0 ||
			       !part_is(&l->part, WITH_CELLS) ?
		       f->fail || same_code :
		       (measured && look_covers(l, &f->part)) ||
			       (f->fail && !part_is(&f->part, WITH_CELLS));
}

/** Returns true if @f is unrelated to the earlier finding: it is a retest's
 *  own, or about the speed of ranks that share cores while the earlier finding
 *  was not about speed. */
static bool is_idle(const struct retest_look *l, const struct retested *r,
		    const struct finding *f)
{
	return strncmp(f->code, RETEST_OWN, strlen(RETEST_OWN)) == 0 ||
	       (l->run->shared_cores && !f->fail &&
		(is_speed(f->code) || is_late(f->code)) &&
		!is_speed(r->code) && !is_late(r->code));
}

static const struct finding *find_again(const struct retest_look *l,
					const struct retested *r)
{
	const struct finding *found = NULL;

	for (size_t i = 0; i < l->v->n; i++) {
		const struct finding *f = &l->v->findings[i];

		if ((!found || (f->fail && !found->fail)) &&
		    !is_idle(l, r, f) && names(l, r, f)) {
			found = f;
		}
	}
	return found;
}

/* ---- one part ------------------------------------------------------------ */

/** For a collective: takes the counts of the run if the node of the part took
 *  part. */
static void look_at_nodes(const struct retest_look *l, struct retested *r)
{
	const json_t *nodes = run_file(l->run->json).nodes;
	bool there = !r->node[0];

	for (size_t i = 0; !there && i < json_array_size(nodes); i++) {
		there = strcmp(run_entry(nodes, i).name, r->node) == 0;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		r->tests += run_measured(c) && there ? l->v->cells[c] : 0;
		r->bad += cells_failed(c) && there ? l->v->cells[c] : 0;
	}
}

static void look_at_cells(struct retest_look *l, struct retested *r)
{
	const struct run *run = l->run;

	look_at(l);
	for (size_t at = 0; at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];

		r->tests += l->marks[at] && run_measured(c->class);
		r->bad += l->marks[at] && cells_failed(c->class);
		r->flaky += l->marks[at] && run_good(c->class) && c->flaky;
	}
	r->share = look_ratio(l, false);
	r->late = is_late(r->code) ? look_ratio(l, true) : NAN;
	r->slow = r->late > MOST_LATER ||
		  (!run->shared_cores && r->share < 1 - run_slow_share(run)) ||
		  (is_speed(r->code) && r->share < LEAST_SHARE);
}

/** Returns true if all planned tests were made, and the value that was bad
 *  before is known. */
static bool is_enough(const struct retest_look *l, const struct retested *r)
{
	return r->tests > 0 && !verdict_is_cut(l->run, l->v) &&
	       look_is_covered(l) &&
	       (l->run->n_ranks == 0 ||
		((!is_speed(r->code) || !isnan(r->share)) &&
		 (!is_late(r->code) || !isnan(r->late))));
}

/** Compare the GPUs of the node that is called @node in the part with those of
 *  then; RETEST_PASSES: there is nothing to say. */
static enum retest_state count_gpus(const struct retest_look *l,
				    const char *name, int then,
				    struct retested *r)
{
	const char *what = l->run->ports ? "port" : "GPU";
	int at = run_find_node(l->run, name, -1), now = retest_gpus(l->run, at);

	if (name[0] && at < 0) {
		snprintf(r->why, sizeof(r->why), "%.64s has not come", name);
		return RETEST_MISSING;
	}
	if (then <= 0 || now == then ||
	    (now > then && !part_is(&l->part, NUMBERED))) {
		return RETEST_PASSES;
	}
	if (now < then && json_integer_value(run_option(
				  l->run, "gpus-per-node")) > 0) {
		snprintf(r->why, sizeof(r->why), "--gpus-per-node leaves %d of "
			 "the %d %ss of %.64s", now, then, what, name);
		return RETEST_OPEN;
	}
	snprintf(r->why, sizeof(r->why), "%.64s has %d %s%s now, and had %d%s",
		 name, now, what, now == 1 ? "" : "s", then, now < then ? "" :
		 ": which of them it was is not known");
	return now < then ? RETEST_MISSING : RETEST_OPEN;
}

/** For a collective: returns true if bisect compared nodes and found none
 *  slower. */
static bool was_compared(const struct run *run)
{
	const json_t *notes = run_file(run->json).notes, *note;
	bool was = false;
	size_t i;

	json_array_foreach(notes, i, note) {
		const char *text = json_string_value(note);

		was = was || (text && str_starts(text, RECORD_ALIKE));
	}
	return was;
}

/** Nothing says that it is at fault. */
static enum retest_state weigh(const struct retest_look *l, struct retested *r)
{
	enum retest_state gpus = count_gpus(l, l->then.node, l->then.gpus, r);

	if (gpus == RETEST_PASSES) {
		gpus = count_gpus(l, l->then.peer_node, l->then.peer_gpus, r);
	}
	if (gpus != RETEST_PASSES) {
		return gpus;
	}
	if (strcmp(r->code, "bisect_slow") == 0 && !was_compared(l->run)) {
		snprintf(r->why, sizeof(r->why), "its nodes were not compared "
			 "with each other");
		return RETEST_OPEN;
	}
	if (l->other_nic > 0 && !look_is_covered(l)) {
		snprintf(r->why, sizeof(r->why), "%zu of its tests went by "
			 "another NIC", l->other_nic);
		return RETEST_OPEN;
	}
	if (r->flaky > 0) {
		snprintf(r->why, sizeof(r->why), "%zu of %zu tests passed only "
			 "when they were tried again", r->flaky, r->tests);
		return RETEST_OPEN;
	}
	return is_enough(l, r) ? RETEST_PASSES : RETEST_OPEN;
}

bool retest_part(const struct run *run, const struct verdict *v, size_t i,
		 struct retested *r)
{
	const json_t *parts = run_file(run->json).retest.parts;
	struct retest_look l = { .run = run, .v = v,
				 .then = run_entry(parts, i) };

	if (i >= json_array_size(parts)) {
		return false;
	}
	l.part = part_called(l.then.kind);
	l.part.node = run_find_node(run, l.then.node, -1);
	l.part.peer_node = run_find_node(run, l.then.peer_node, -1);
	l.part.index = l.then.index;
	l.part.peer_index = l.then.peer_index;
	*r = (struct retested){
		.name = l.then.name, .node = l.then.node, .code = l.then.code,
		.peer = l.then.peer_node,
		.failed = l.then.fail, .drain = l.then.drain,
		.share = NAN, .late = NAN,
	};
	l.marks = calloc(run_n_cells(run) + 1, 1);
	l.all = calloc(run_n_cells(run) + 1, 1);
	if (l.marks && l.all) {
		if (run->n_ranks > 0 && run->cells) {
			look_at_cells(&l, r);
		} else {
			look_at_nodes(&l, r);
		}
		r->again = find_again(&l, r);
		r->state = r->bad > 0 || r->slow || r->again ? RETEST_FAILS :
			   weigh(&l, r);
	}
	free(l.marks);
	free(l.all);
	return true;
}
