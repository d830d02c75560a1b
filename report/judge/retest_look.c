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

/** Kinds that are on one node alone, and can be at fault for a test with
 *  another part. */
#define ON_ONE_NODE (KIND(NODE) | KIND(NODE_NETWORK) | KIND(INTRA_NODE) | \
		     KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) | \
		     KIND(GPU) | KIND(GPU_NVLINK))
/** Those that have tests, of one node or between two. */
#define WITH_CELLS (ON_ONE_NODE | KIND(NODE_PAIR) | KIND(PAIR))
/** Kinds of part with a number that must match. */
#define NUMBERED (KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) | KIND(GPU) | \
		  KIND(GPU_NVLINK) | KIND(PAIR))

/** A part of which the tests are looked at. */
struct retest_look {
	const struct run *run;
	const struct verdict *v;
	struct run_entry then;	/* the part in run.json */
	struct part part;	/* as this run numbers it */
	uint8_t *marks;		/* a cell each: a test of it ... */
	uint8_t *all;		/* ... of any part */
	size_t units[2], whole[2];	/* pairs that were planned, inside a
					 * node and between two, and those of
					 * which each test was made */
	size_t other_nic;
};

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

/** Unmark tests that fail because a fault of the partner, or of another part of
 *  the node, explains them: they say nothing of the part. */
static void excuse(struct retest_look *l)
{
	const struct part *part = &l->part;
	uint8_t *excused = calloc(run_n_cells(l->run) + 1, 1);

	for (size_t at = 0; excused && at < run_n_cells(l->run); at++) {
		if (!l->marks[at] || part->node < 0 ||
		    !cells_failed(l->run->cells[at].class)) {
			continue;
		}
		verdict_foreach(l->v, f) {
			const struct part *p = &f->part;

			if (f->fail && f->explained > 0 && f->n_or == 0 &&
			    p->node >= 0 && part_is(p, ON_ONE_NODE) &&
			    p->node != part->peer_node &&
			    part_touches_at(l->run, p, at) &&
			    (p->node != part->node || !look_covers(l, p))) {
				excused[at] = 1;
				break;
			}
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

void retest_findings(const struct run *run, struct verdict *v)
{
	struct retested r;

	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		const struct run_entry then = run_entry(
			run_file(run->json).retest.parts, i);
		const struct part place = place_of(run, &then, &r);
		/* a part that is confirmed, and slow enough for a fault; of
		 * ranks that share cores nothing is one by its speed */
		const bool beyond = r.slow && !run->shared_cores &&
				    (r.late >= FAIL_LATER ||
				     r.share <= 1 - run_slow_share(run));
		struct finding *f = NULL;

		if (r.state == RETEST_MISSING) {
			f = finding_add(v, place, "still_missing");
			f->fail = r.failed;
			finding_say(f, "%s cannot be tested: %s", r.name,
				    r.why);
		} else if (r.again) {
			f = &v->findings[r.again - v->findings];
			if (f->fail || run->shared_cores ||
			    !(r.failed || beyond)) {
				continue;
			}
			f->fail = true;
			finding_add_evidence(f, "the earlier run found %s, and "
					     "this run finds it again", r.name);
		} else if (r.slow && r.bad == 0) {
			f = finding_add(v, place, "still_slow");
			f->fail = r.failed || beyond;
			f->drain = r.drain;	/* its node was proved then */
			f->cells = f->explained = r.tests;
			finding_say(f, r.late > 1 ?
				    "%s: latency is still %.1f times that of "
				    "the controls in %zu tests" :
				    "%s is still slower than the controls: "
				    "%.0f %% of their bandwidth in %zu tests",
				    r.name, r.late > 1 ? r.late : 100 * r.share,
				    r.tests);
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

/** Append the line that has Slurm use @node again.  Returns false unless it was
 *  proved to be at fault, all that was found there passes, it has no fault now,
 *  and it still is drained for that. */
static bool undrain(const struct run *run, const struct verdict *v,
		    const struct retested *list, size_t n, const char *node,
		    struct str *out)
{
	const int at = run_find_node(run, node, -1);
	const char *state = "";		/* at the end of the run */
	bool drained = false;

	for (size_t i = 0; i < n; i++) {
		const bool own = strcmp(list[i].node, node) == 0;

		if ((own || strcmp(list[i].peer, node) == 0) &&
		    list[i].state != RETEST_PASSES) {
			return false;
		}
		drained = drained || (own && list[i].drain);
	}
	verdict_foreach(v, f) {
		if (at >= 0 && f->fail && (finding_sits_in(f, at) ||
					   f->part.peer_node == at)) {
			return false;
		}
	}
	run_foreach_event(run, e) {
		if (strcmp(e->event, "slurm_state") == 0 &&
		    strcmp(e->node, node) == 0) {
			state = e->detail;
		}
	}
	/* with a reason from a drain line of gpucheck */
	if (!drained || run->drill || !strstr(state, " drain") ||
	    !strstr(state, ": gpucheck") || !hostlist_is_name(node)) {
		return false;
	}
	str_addf(out, "scontrol update nodename=%s state=resume", node);
	return true;
}

static void say_part(const struct retested *r, struct str *out)
{
	const char *many = r->tests == 1 ? "" : "s";

	str_addf(out, "\n%s (%s): ", r->name, r->code);
	if (r->state == RETEST_MISSING) {
		str_addf(out, "still missing: %s", r->why);
	} else if (r->state == RETEST_OPEN && r->why[0]) {
		str_addf(out, "open: %s", r->why);
	} else if (r->state == RETEST_OPEN && r->tests > 0) {
		str_addf(out, "open: %zu test%s passed, too few to decide",
			 r->tests, many);
	} else if (r->state == RETEST_OPEN) {
		str_add(out, "was not tested");
	} else if (r->bad > 0) {
		str_addf(out, "still faulty: %zu of %zu tests failed", r->bad,
			 r->tests);
	} else if (r->state == RETEST_PASSES) {
		str_addf(out, "%zu test%s pass%s", r->tests, many,
			 r->tests == 1 ? "es" : "");
	} else {
		str_addf(out, "still slow: none of %zu test%s failed",
			 r->tests, many);
	}
	if (r->state == RETEST_FAILS && r->again) {
		str_addf(out, ", found again (%s)", r->again->code);
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
			str_addf(out, "%sretest of the findings of '%s':",
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
				 "sinfo -R shows other drain reasons):",
				 str_text(&line));
		}
		str_release(&line);
	}
	free(list);
}

#define RETESTED(member, type, absence) \
	FIELD(retested, member, #member, type, 0, INT64_MAX, "", \
	      .optional = FIELD_##absence)

json_t *retest_json(const struct run *run, const struct verdict *v)
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
	json_t *json = run_file(run->json).retest.parts ? json_array() : NULL;
	size_t n;
	struct retested *list = all_parts(run, v, &n);

	for (size_t i = 0; json && i < n; i++) {
		struct str line = STR_INIT;
		struct retested out = list[i];

		undrain(run, v, list, n, out.node, &line);
		out.share = round(out.share * 1000) / 1000;
		out.undrain = str_text(&line);
		json_array_append_new(json, schema_json(fields, &out));
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

/** Return true if @f is about the part, as a whole or as one of its
 *  alternatives. */
static bool names(const struct retest_look *l, const struct retested *r,
		  const struct finding *f)
{
	const int node = l->part.node, peer = l->part.peer_node;
	const bool same_code = strcmp(f->code, r->code) == 0;
	const bool measured = f->fail || f->cells > 0 || f->explained > 0;
	/* the set-up of a node is not a part of the earlier fault */
	bool same = (measured || same_code ||
		     part_is(&f->part, ON_ONE_NODE & ~KIND(NODE))) &&
		    is_same(l, r, &f->part);

	for (size_t i = 0; i < f->n_or; i++) {
		same = same || is_same(l, r, &f->or_parts[i]);
	}
	if (same || node < 0) {
		return same || (r->node[0] ? false : f->fail || same_code ||
				(measured && f->part.node < 0));
	}
	/* on the node of the part, or on one of its two nodes */
	if (!finding_sits_in(f, node) && f->part.peer_node != node &&
	    (peer < 0 || !finding_sits_in(f, peer))) {
		return false;
	}
	/* without cells the node is all that there is to go by */
	return r->tests == 0 || l->run->n_ranks == 0 ||
			       !part_is(&l->part, WITH_CELLS) ?
		       f->fail || same_code :
		       (measured && look_covers(l, &f->part)) ||
			       (f->fail && !part_is(&f->part, WITH_CELLS));
}

/** Return the finding that names the part again, a fault rather than a warning;
 *  NULL: none. */
static const struct finding *find_again(const struct retest_look *l,
					const struct retested *r)
{
	const bool speed = is_speed(r->code) || is_late(r->code);
	const struct finding *found = NULL;

	verdict_foreach(l->v, f) {
		/* a retest's own, or about the speed of ranks that share cores
		 * while the earlier finding was not about speed */
		if (strncmp(f->code, RETEST_OWN, strlen(RETEST_OWN)) == 0 ||
		    (l->run->shared_cores && !f->fail && !speed &&
		     (is_speed(f->code) || is_late(f->code)))) {
			continue;
		}
		if ((!found || (f->fail && !found->fail)) && names(l, r, f)) {
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

/** Find the tests of the part, without those that say nothing of it, and count
 *  them into @r; @l is set but for what follows from that. */
static void look_at_cells(struct retest_look *l, struct retested *r)
{
	const json_t *parts = run_file(l->run->json).retest.parts, *end;
	const struct run *run = l->run;
	size_t i;

	mark(l->run, l->then.pairs, l->marks);
	for (i = 0; i < json_array_size(parts); i++) {
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
	json_array_foreach(l->then.pairs, i, end) {
		const char *a = json_string_value(json_array_get(end, 0));
		const char *b = json_string_value(json_array_get(end, 2));
		bool inter = a && b && strcmp(a, b) != 0;

		/* a node with a single GPU has no tests inside */
		if (i < MAX_ENDS && (inter || l->then.gpus != 1)) {
			l->units[inter]++;
			l->whole[inter] += is_whole(l, end);
		}
	}
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

/** Compare the GPUs of the node that is called @node in the part with those of
 *  then; RETEST_PASSES: there is nothing to say. */
static enum retest_state count_gpus(const struct retest_look *l,
				    const char *name, int then,
				    struct retested *r)
{
	const char *what = l->run->ports ? "port" : "GPU";
	int at = run_find_node(l->run, name, -1), now = retest_gpus(l->run, at);

	if (name[0] && at < 0) {
		snprintf(r->why, sizeof(r->why), "%.64s has not connected",
			 name);
		return RETEST_MISSING;
	}
	if (then <= 0 || now == then ||
	    (now > then && !part_is(&l->part, NUMBERED))) {
		return RETEST_PASSES;
	}
	if (now < then && json_integer_value(run_option(
				  l->run, "gpus-per-node")) > 0) {
		snprintf(r->why, sizeof(r->why), "--gpus-per-node selects %d "
			 "of the %d %ss of %.64s", now, then, what, name);
		return RETEST_OPEN;
	}
	snprintf(r->why, sizeof(r->why), "%.64s now has %d %s%s; it had %d%s",
		 name, now, what, now == 1 ? "" : "s", then, now < then ? "" :
		 ": it is not known which one it was");
	return now < then ? RETEST_MISSING : RETEST_OPEN;
}

/** Decide on a part that nothing shows to be at fault. */
static enum retest_state weigh(const struct retest_look *l, struct retested *r)
{
	enum retest_state gpus = count_gpus(l, l->then.node, l->then.gpus, r);
	const json_t *note;
	bool compared = strcmp(r->code, "bisect_slow") != 0;
	size_t i;

	if (gpus == RETEST_PASSES) {
		gpus = count_gpus(l, l->then.peer_node, l->then.peer_gpus, r);
	}
	if (gpus != RETEST_PASSES) {
		return gpus;
	}
	/* of a collective: bisect notes that it found no node slower */
	json_array_foreach(run_file(l->run->json).notes, i, note) {
		const char *text = json_string_value(note);

		compared = compared || (text && str_starts(text, RECORD_ALIKE));
	}
	if (!compared) {
		snprintf(r->why, sizeof(r->why), "its nodes were not compared");
		return RETEST_OPEN;
	}
	if (l->other_nic > 0 && !look_is_covered(l)) {
		snprintf(r->why, sizeof(r->why), "%zu of its tests used "
			 "another NIC", l->other_nic);
		return RETEST_OPEN;
	}
	if (r->flaky > 0) {
		snprintf(r->why, sizeof(r->why), "%zu of %zu tests passed only "
			 "when retried", r->flaky, r->tests);
		return RETEST_OPEN;
	}
	/* all planned tests were made, and the value that was bad is known */
	return r->tests > 0 && !verdict_is_cut(l->run, l->v) &&
			       look_is_covered(l) &&
			       (l->run->n_ranks == 0 ||
				((!is_speed(r->code) || !isnan(r->share)) &&
				 (!is_late(r->code) || !isnan(r->late)))) ?
		       RETEST_PASSES : RETEST_OPEN;
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
