/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of collectives: failed sizes, curves, the smallest bad set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/limit.h"
#include "lib/base/units.h"
#include "lib/data/cells.h"
#include "lib/data/rundir.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"

/* ---- sweep findings ------------------------------------------------------ */

/*
 * Findings about a single sweep.  The limits lie between the values of healthy
 * sweeps, all of data/reference and those measured for this purpose, and those
 * of known faults:
 *
 *	                                       healthy, at most   fault
 *	time over that of the neighbours        1.37              1.63
 *	in place over out of place, twice       1.13              7.13
 *	bandwidth of the two largest sizes      0.94 of the best  -
 *
 * Healthy sweeps have steps where NCCL changes from LL to LL128 and to Simple,
 * or from tree to ring: there a size takes up to 2.2 times as long as the one
 * before.  After a step the time stays up; after a size that is off it falls
 * again.
 */

#define OFF_FACTOR	1.5	/* over the time between the neighbours */
#define APART_FACTOR	1.5	/* in place against out of place */
#define APART_SIZES	2
#define FALL_SHARE	0.75	/* of the second best bandwidth */
/** Below this size latency dominates, and says nothing about bandwidth. */
#define LARGE_B		(1024 * 1024)

/* Rows of a curve that went well and are alike in place are a curve as well:
 * each row stands for the point of its size. */

/** The median of the operations, if it is known: a single slow one does not
 *  make a size slow. */
static double time_of(const struct collective_row *r)
{
	return isfinite(r->time_med_us) ? r->time_med_us : r->time_us;
}

static double rate(const struct collective_row *r)
{
	return (double)r->size_B / time_of(r);
}

static const char *place_of(const struct collective_row *r)
{
	return r->inplace == 1 ? ", in place" :
	       r->inplace == 0 ? ", out of place" : "";
}

static struct finding *warn(struct verdict *v, const char *code, size_t cells,
			    size_t explained)
{
	struct finding *f = finding_add(v, part_of_kind(PART_CONFIG), code);

	f->cells = cells;
	f->explained = explained;
	return f;
}

static const char *size_text(const struct collective_row *r, char buf[32])
{
	return units_size_text((uint64_t)r->size_B, buf, 32);
}

/* ---- a size that is off -------------------------------------------------- */

/** Times what its neighbours give, on a line between them in logarithms: curves
 *  of time bend upwards, so that a good size lies below it. */
static double over_neighbours(const struct collective_row *const *p)
{
	double at = log((double)p[0]->size_B / (double)p[-1]->size_B) /
		    log((double)p[1]->size_B / (double)p[-1]->size_B);

	return time_of(p[0]) / (pow(time_of(p[-1]), 1 - at) *
				pow(time_of(p[1]), at));
}

bool sweep_row_is_off(const struct collective_row *const *p)
{
	return over_neighbours(p) > OFF_FACTOR &&
	       (time_of(p[0]) > time_of(p[1]) ||
		rate(p[-1]) > OFF_FACTOR * rate(p[0]));
}

static void find_off(const struct curve *c, const struct curve *s,
		     struct verdict *v)
{
	struct finding *f = NULL;
	char size[32], before[32], after[32];
	size_t off = 0;

	for (size_t i = 1; i + 1 < s->n; i++) {
		off += sweep_row_is_off(&s->rows[i]);
	}
	for (size_t i = 1; i + 1 < s->n; i++) {
		const struct collective_row *const *p = &s->rows[i];

		if (!sweep_row_is_off(p)) {
			continue;
		}
		if (!f) {
			f = warn(v, "size_off_curve", s->n, off);
			finding_say(f,
				    "%s%s: %s took %.4g us, %.1f times the "
				    "time that its neighbouring sizes suggest",
				    curve_words(c), place_of(p[0]),
				    size_text(p[0], size), time_of(p[0]),
				    over_neighbours(p));
		}
		finding_add_evidence(f, "%s: %.4g us; %s: %.4g us; %s: %.4g us",
				     size_text(p[-1], before), time_of(p[-1]),
				     size_text(p[0], size), time_of(p[0]),
				     size_text(p[1], after), time_of(p[1]));
	}
}

/* ---- in place and out of place ------------------------------------------- */

/** How many times as long the slower of both takes. */
static double apart_by(const struct collective_row *p,
		       const struct collective_row *q)
{
	double ratio = time_of(q) / time_of(p);

	return ratio < 1 ? 1 / ratio : ratio;
}

/** From a size on, up to the largest one that both have; one alone may be
 *  off. */
static void find_apart(const struct curve *c, const struct curve *out,
		       const struct curve *in, struct verdict *v)
{
	const struct collective_row *p = NULL, *q = NULL, *first = NULL;
	size_t apart = 0, both = 0, k = 0;
	char from[32], to[32];

	for (size_t i = 0; i < out->n; i++) {
		const struct collective_row *one = out->rows[i];

		while (k < in->n && in->rows[k]->size_B < one->size_B) {
			k++;
		}
		if (one->size_B < LARGE_B || k == in->n ||
		    in->rows[k]->size_B != one->size_B) {
			continue;
		}
		both++;
		p = one;
		q = in->rows[k];
		apart = apart_by(p, q) > APART_FACTOR ? apart + 1 : 0;
		first = apart == 1 ? p : first;
	}
	if (apart < APART_SIZES) {
		return;
	}
	finding_say(warn(v, "inplace_differs", 2 * both, apart),
		    "%s: in place is %.1f times as %s as out of place at %s, "
		    "and similarly from %s up: %.1f and %.1f GB/s",
		    curve_words(c), apart_by(p, q),
		    time_of(q) > time_of(p) ? "slow" : "fast", size_text(p, to),
		    size_text(first, from), row_bandwidth(q), row_bandwidth(p));
}

/* ---- a curve that falls -------------------------------------------------- */

/** The second best rate, which no single size makes, against the two largest
 *  sizes, for the same reason. */
static void find_fall(const struct curve *c, const struct curve *s,
		      struct verdict *v)
{
	const struct collective_row *best = NULL, *second = NULL;
	const struct collective_row *const *last =
		s->n > 3 ? &s->rows[s->n - 1] : NULL;
	char from[32], to[32];

	for (size_t i = 0; last && i + 2 < s->n; i++) {
		const struct collective_row *p = s->rows[i];

		if (p->size_B < LARGE_B) {
			continue;
		}
		if (!best || rate(p) > rate(best)) {
			second = best;
			best = p;
		} else if (!second || rate(p) > rate(second)) {
			second = p;
		}
	}
	if (!second || !(rate(last[0]) < FALL_SHARE * rate(second)) ||
	    !(rate(last[-1]) < FALL_SHARE * rate(second))) {
		return;
	}
	finding_say(warn(v, "curve_falls", s->n, 2),
		    "%s%s: bandwidth falls from %.1f GB/s at %s to %.1f GB/s "
		    "at %s", curve_words(c), place_of(last[0]),
		    row_bandwidth(second), size_text(second, from),
		    row_bandwidth(last[0]), size_text(last[0], to));
}

/* ---- sweep --------------------------------------------------------------- */

void sweep_findings(const struct sweep *s, struct verdict *v)
{
	static const int64_t places[] = { 0, 1, RECORD_NONE };

	for (size_t i = 0; i < s->n_curves; i++) {
		const struct curve *c = &s->curves[i];
		struct curve in[3] = { 0 };

		for (size_t k = 0; k < c->n; k++) {
			const struct collective_row *r = c->rows[k];
			struct curve *to = in;

			while (to < in + 3 && places[to - in] != r->inplace) {
				to++;
			}
			if (to == in + 3 || r->outcome != OUTCOME_OK ||
			    r->size_B <= 0 || !(time_of(r) > 0)) {
				continue;
			}
			if (to->n > 0 &&
			    to->rows[to->n - 1]->size_B == r->size_B) {
				to->rows[to->n - 1] = r; /* measured again */
			} else {
				v->failed |= !grow_add(&to->rows, &to->n, &r,
						       sizeof(r));
			}
		}
		for (size_t k = 0; k < 3; k++) {
			find_off(c, &in[k], v);
			find_fall(c, &in[k], v);
		}
		find_apart(c, &in[0], &in[1], v);
		for (size_t k = 0; k < 3; k++) {
			free(in[k].rows);
		}
	}
}

/* ---- collective ---------------------------------------------------------- */

/** Lines of evidence that words show. */
#define FIRST_LINES 3

/** A finding of @p that accounts for @cells. */
static struct finding *add(struct verdict *v, const struct part *p, bool fail,
			   const char *code, size_t cells)
{
	struct finding *f = finding_add(v, *p, code);

	f->fail = fail;
	f->cells = f->explained = cells;
	return f;
}

/** Maximum GPUs whose pairs are listed one by one in a command. */
#define LISTED 6

/** "n0" or "n0:1". */
static void add_name(const struct run_entry *part, struct str *out)
{
	str_add(out, part->node);
	if (part->gpu >= 0) {
		str_addf(out, ":%d", part->gpu);
	}
}

/** Nodes between each other, GPUs one with one; a GPU alone with its node, and
 *  a node alone in any way. */
static void add_pairs(const json_t *parts, struct str *out)
{
	size_t n = json_array_size(parts);
	const char *before = " --pairs=";
	struct str pair = STR_INIT;
	struct run_entry a = run_entry(parts, 0), b;

	if (a.gpu < 0) {
		str_add(out, n > 1 ? " --pairs=inter" : "");
		return;
	}
	if (n == 1 || n > LISTED) {
		str_add(out, n == 1 ? " --pairs=intra" : "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		a = run_entry(parts, i);
		for (size_t k = i + 1; k < n; k++) {
			b = run_entry(parts, k);
			str_add(out, before);
			str_reset(&pair);
			add_name(&a, &pair);
			str_addch(&pair, '-');
			add_name(&b, &pair);
			str_add_quoted(out, str_text(&pair));
			before = ",";
		}
	}
	str_release(&pair);
}

/** Adds the p2p command that tests the paths between the parts @parts of
 *  run.json one by one, which shows the bad one if they fail there as well. */
static void add_again(const struct run *run, const json_t *parts,
		      struct str *out)
{
	const bool local = tell_is_local(run);
	struct str list = STR_INIT;
	const char *last = "";
	int n = 0;

	/* the nodes of the parts, each once: they are in the order of ranks */
	for (size_t i = 0; i < json_array_size(parts); i++) {
		const char *node = run_entry(parts, i).node;

		if (strcmp(node, last) != 0) {
			str_addf(&list, "%s%s", n++ ? "," : "", node);
			last = node;
		}
	}
	/* a node has paths to others only */
	for (int i = 0; n == 1 && run_entry(parts, 0).gpu < 0 &&
			i < run->n_nodes; i++) {
		if (strcmp(run->nodes[i].name, last) != 0) {
			str_addf(&list, ",%s", run->nodes[i].name);
			n++;
		}
	}
	str_add(out, TELL_COMMAND);
	tell_probe(run, "p2p", out);
	if (!local) {
		tell_nodes(run, n, out);
	}
	str_add(out, " --transport=");
	str_add_quoted(out, run->transport);
	add_pairs(parts, out);
	if (!local) {
		str_add(out, " --nodelist=");
		str_add_quoted(out, str_text(&list));
	}
	tell_passed_on(run, out);
	str_release(&list);
}

/** Rows of @code, and the first one's detail. */
static size_t rows_of(const struct collective_row *rows, size_t n,
		      const char *code, const char **detail)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].code, code) == 0) {
			*detail = found++ == 0 ? rows[i].detail : *detail;
		}
	}
	return found;
}

/* ---- ranks that are to blame -------------------------------------------- */

static void add_dropped_one(const struct run *run, const struct sweep *s,
			    const struct run_entry *d, bool whole,
			    struct verdict *v)
{
	const char *node = d->node, *code = d->code, *detail = "";
	struct part p = part_at(whole ? PART_NODE : PART_GPU,
				run_find_node(run, node, -1),
				whole ? -1 : d->gpu);
	size_t cells = rows_of(s->rows, s->n, "rank_absent", &detail) +
		       rows_of(s->rows, s->n, code, &detail);
	bool fail = strcmp(code, RECORD_STARVED) != 0;
	struct finding *f = add(v, &p, fail, code, cells);

	if (whole) {
		finding_say(f, "%s was excluded with all its GPUs: %s", node,
			    d->detail);
	} else {
		finding_say(f, "%s (rank %d) was excluded: %s",
			    CLUSTER_GPU(node, p.index), d->rank, d->detail);
	}
	if (detail[0]) {
		finding_add_evidence(f, "%s", detail);
	}
}

static void add_dropped(const struct run *run, const struct sweep *s,
			struct verdict *v)
{
	const struct run_file file = run_file(run->json);
	const char *detail = "";
	struct gone_list gone;
	struct part p;
	size_t n, i = 0;
	int at = -1;

	/* why an agent never came is known of its node */
	v->failed |= gone_find(run, &gone) < 0;
	for (size_t k = 0; k < gone.n; k++) {
		const struct gone *g = &gone.list[k];

		if (g->part.kind == PART_NODE &&
		    gone_code(g->code)->unstarted) {
			finding_say(add(v, &g->part, true, g->code,
					rows_of(s->rows, s->n, "rank_absent",
						&detail)),
				    "Node %s %s (%s)",
				    run->nodes[g->part.node].name,
				    gone_code(g->says)->text, g->detail);
		}
	}
	gone_release(&gone);
	for (; i < json_array_size(file.dropped); i += n) {
		struct run_entry d = run_entry(file.dropped, i);
		const char *node = d.node;
		bool whole, seen = false;

		/* those of one node: they are in the order of ranks */
		for (n = 1; i + n < json_array_size(file.dropped) &&
			    strcmp(run_entry(file.dropped, i + n).node,
				   node) == 0; n++) {
		}
		at = run_find_node(run, d.node, at);
		p = part_at(PART_NODE, at, -1);
		if (at >= 0 && verdict_find(v, &p, NULL)) {
			continue;
		}
		whole = n > 1 && at >= 0 && (size_t)run_entry(
				file.nodes, (size_t)at).gpus == n;
		for (size_t k = i; k < i + n && !(whole && seen); k++) {
			d = run_entry(file.dropped, k);
			if (!limit_is(d.code)) {	/* limit_findings() */
				add_dropped_one(run, s, &d, whole, v);
				seen = true;
			}
		}
	}
}

/* ---- the smallest bad set ----------------------------------------------- */

/** The gpu command that tests the arithmetic of a part, for longer. */
static void add_compute(const struct run *run, const char *node,
			struct str *out)
{
	str_add(out, TELL_COMMAND);
	tell_probe(run, "gpu", out);
	if (run_is_model(run)) {
		str_addf(out, " --transport=%s", run->transport);
	}
	str_add(out, " --compute=60s");
	if (!tell_is_local(run)) {
		tell_nodes(run, 1, out);
		str_add(out, " --nodelist=");
		str_add_quoted(out, node);
	}
	tell_passed_on(run, out);
}

static void add_bisect(const struct run *run, const struct sweep *s, size_t bad,
		       struct verdict *v)
{
	const struct run_file file = run_file(run->json);
	const json_t *parts = file.bisect.parts;
	const struct run_entry a = run_entry(parts, 0);
	const struct run_entry b = run_entry(parts, 1);
	bool slow = strcmp(file.bisect.kind, "slow") == 0;
	bool gpus = a.gpu >= 0;
	size_t n = json_array_size(parts);
	struct part p = part_of_kind(n > 2 ? PART_CONFIG :
				     n == 1 ? (gpus ? PART_GPU : PART_NODE) :
				     gpus ? PART_PAIR : PART_NODE_PAIR);
	int64_t repeats = file.bisect.repeats;
	struct str names = STR_INIT, act = STR_INIT;
	const char *detail = "";
	char each[48] = "";
	struct finding *f;

	if (n == 0) {
		return;
	}
	if (n <= 2) {
		p.node = run_find_node(run, a.node, -1);
		p.index = a.gpu;
		p.peer_node = run_find_node(run, b.node, -1);
		p.peer_index = b.gpu;
	}
	if (p.node < 0 || (n == 2 && p.peer_node < 0)) {
		p = part_of_kind(PART_CONFIG);
	}
	for (size_t i = 0; i < n; i++) {
		const struct run_entry part = run_entry(parts, i);

		str_add(&names, i == 0 ? "" : i + 1 == n ? " and " : ", ");
		add_name(&part, &names);
	}
	str_addf(&act, "%s%s:\n", run_is_model(run) ? "(simulated) " : "",
		 n == 1 ? "Test it alone, and leave it out of other runs" :
			  "Test the connections between them");
	if (repeats > 0 && n == 1) {
		add_compute(run, a.node, &act);
	} else {
		add_again(run, parts, &act);
	}
	if (repeats > 0) {
		snprintf(each, sizeof(each), " of up to %lld operations",
			 (long long)repeats);
	}
	f = add(v, &p, true, slow ? "bisect_slow" : "bisect_bad", bad);
	finding_set_act(f, str_text(&act));
	finding_say(f, "%s %s the smallest set that %s, found in %d tests%s",
		    str_text(&names), n == 1 ? "is" : "are",
		    slow ? "is slow" : repeats > 0 ? "gives wrong results" :
						     "fails",
		    file.bisect.tests, each);
	if (repeats > 0 &&
	    rows_of(s->rows, s->n, "silent_corruption", &detail) > 0) {
		finding_add_evidence(f, "%s", detail);
	}
	str_release(&act);
	str_release(&names);
}

/* ---- rows without a culprit ---------------------------------------------- */

/** Add the first row that is bad and that no finding explains. */
static void add_first_bad(const struct run *run, const struct sweep *s,
			  struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);
	bool bisects = json_is_true(run_option(run, "bisect"));
	const struct collective_row *r = NULL;
	struct str act = STR_INIT;
	struct finding *f;
	size_t bad = 0;
	char size[32];

	for (size_t i = s->n; i-- > 0;) {
		const struct collective_row *of = &s->rows[i];
		bool told = !cells_outcome_failed(of->outcome);

		/* A rank that was lost explains failures, but no wrong result;
		 * lack of CPU explains only its own rows. */
		verdict_foreach(v, x) {
			told = told || (of->code[0] &&
					strcmp(x->code, of->code) == 0) ||
			       str_starts(x->code, "bisect_") ||
			       (x->fail && of->outcome != OUTCOME_CORRUPT);
		}
		r = told ? r : of;
		bad += !told;
	}
	if (!r) {
		return;
	}
	f = add(v, &p, true, r->code, bad);
	if (!bisects && !run_file(run->json).imported) {
		str_add(&act, "To find the smallest set of nodes that fails:\n"
			TELL_COMMAND);
		tell_again(run, NULL, &act);
		str_add(&act, " --bisect");
		tell_passed_on(run, &act);
	} else if (bisects && strcmp(r->code, "silent_corruption") == 0) {
		str_add(&act, "Run again with the --verify value of the note, "
			"so that --bisect can narrow it down.");
	}
	finding_set_act(f, str_text(&act));
	str_release(&act);
	if (r->size_B >= 0) {
		snprintf(size, sizeof(size), " of ");
		units_size_text((uint64_t)r->size_B, size + 4,
				sizeof(size) - 4);
	} else {
		size[0] = '\0';
	}
	finding_say(f, "%s%s%s%s%s: %s", r->op[0] ? r->op : run->probe, size,
		    r->variant[0] ? " (" : "", r->variant,
		    r->variant[0] ? ")" : "",
		    r->outcome == OUTCOME_CORRUPT ? "wrong result" :
		    r->outcome == OUTCOME_TIMEOUT ? COLLECTIVE_TIMEOUT :
						    COLLECTIVE_FAILED);
	if (r->detail[0]) {
		finding_add_evidence(f, "%s", r->detail);
	}
}

/** Variants of which nothing could be measured, each once. */
static void add_skipped(const struct sweep *s, size_t ok, struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);

	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *r = &s->rows[i];
		size_t cells = 1;

		if (r->outcome != OUTCOME_SKIPPED ||
		    (i > 0 && r[-1].outcome == OUTCOME_SKIPPED &&
		     strcmp(r[-1].variant, r->variant) == 0)) {
			continue;
		}
		while (i + cells < s->n &&
		       strcmp(r[cells].variant, r->variant) == 0) {
			cells++;
		}
		finding_say(add(v, &p, ok > 0, r->code, cells),
			    "%s%s%s was not measured: %s", r->op,
			    r->variant[0] ? " by " : "", r->variant,
			    r->detail);
	}
}

/** Variants that did not get what they asked for, each once. */
static void add_ignored(const struct sweep *s, struct verdict *v)
{
	const struct part p = part_of_kind(PART_CONFIG);
	const char *detail = "", *last = NULL;
	size_t cells = rows_of(s->rows, s->n, "not_as_asked", &detail);
	struct finding *f;

	if (cells == 0) {
		return;
	}
	f = add(v, &p, false, "not_as_asked", cells);
	finding_say(f, "%zu row%s not measured with the requested settings",
		    cells, cells == 1 ? " is" : "s are");
	for (size_t i = 0; i < s->n; i++) {
		const struct collective_row *r = &s->rows[i];

		if (strcmp(r->code, "not_as_asked") == 0 &&
		    (!last || strcmp(last, r->variant) != 0)) {
			last = r->variant;
			finding_add_evidence(f, "%s: %s", r->variant,
					     r->detail);
		}
	}
	f->n_first = f->n_evidence < FIRST_LINES ? f->n_evidence : FIRST_LINES;
}

/* ---- comparison with a reference and between nodes ----------------------- */

/** Add the curves that fall short of those of the reference. */
static void add_against(const struct sweep *s, const struct sweep *reference,
			struct verdict *v)
{
	for (size_t i = 0; i < s->n_curves; i++) {
		const struct curve *now = &s->curves[i];
		const int64_t nodes = now->first->nodes;
		const struct part p = part_of_kind(
			nodes == RECORD_NONE ? PART_CONFIG :
			nodes > 1	     ? PART_INTER_NODE :
					       PART_INTRA_NODE);
		struct str sizes = STR_INIT;
		struct curve_diff d;
		struct finding *f;
		int rc = curve_compare_with(now, s, reference, &d);

		if (rc < 0) {
			v->failed = true;
			return;
		}
		if (rc == 0) {
			continue;
		}
		if (d.count[POINT_WORSE] > 0) {
			f = add(v, &p, true, "below_reference", d.n);
			f->explained = d.count[POINT_WORSE];
			curve_diff_sizes(&d, POINT_WORSE, &sizes);
			finding_say(f, "%s %s the reference%s%s at %zu of %zu "
				    "sizes: %s", curve_words(now), d.shares ?
				    "reaches a smaller share of its ceiling "
				    "than" : "is slower than",
				    d.then->name[0] ? " " : "", d.then->name,
				    d.count[POINT_WORSE], d.n,
				    str_text(&sizes));
			str_release(&sizes);
		}
		curve_diff_release(&d);
	}
}

/** Facts in which nodes differ, and how much of what fails is about them. */
static void add_skew(const struct run *run, struct verdict *v)
{
	size_t first = v->n;

	skew_findings(run, v);
	for (size_t k = first; k < v->n; k++) {
		struct finding *f = &v->findings[k];
		size_t fails = 0, theirs = 0;

		for (size_t i = 0; i < first; i++) {
			const struct finding *x = &v->findings[i];
			const int node = x->part.node, peer = x->part.peer_node;

			fails += x->fail;
			theirs += x->fail &&
				  ((node >= 0 && finding_sits_in(f, node)) ||
				   (peer >= 0 && finding_sits_in(f, peer)));
		}
		finding_more(f, fails ? "; %zu of %zu failures %s on these "
				"nodes" : "; nothing failed", theirs, fails,
			     theirs == 1 ? "is" : "are");
	}
}

/* ---- the verdict -------------------------------------------------------- */

int collective_judge(const struct run *run, const struct sweep *s,
		     const struct sweep *reference, struct verdict *v)
{
	const struct part config = part_of_kind(PART_CONFIG);
	const char *detail = "";
	size_t ok = 0, bad = 0, starved;

	*v = (struct verdict){ 0 };
	for (size_t i = 0; i < s->n; i++) {
		v->cells[cells_class_of(s->rows[i].outcome)]++;
		bad += cells_outcome_failed(s->rows[i].outcome);
		ok += s->rows[i].outcome == OUTCOME_OK;
	}
	v->given_up = bad > 0 ? v->cells[CELL_NOT_RUN] : 0;
	add_dropped(run, s, v);
	/* rows that were lost because processes had no CPU, if no rank is named
	 * for that */
	starved = rows_of(s->rows, s->n, RECORD_STARVED, &detail);
	if (starved > 0 && !verdict_find(v, NULL, RECORD_STARVED)) {
		finding_say(add(v, &config, false, RECORD_STARVED, starved),
			    "Processes got no CPU time: %zu row%s not "
			    "measured; this does not show a hardware fault",
			    starved, starved == 1 ? "" : "s");
	}
	add_bisect(run, s, bad, v);
	add_first_bad(run, s, v);
	add_skipped(s, ok, v);
	add_ignored(s, v);
	/* Ranks that share the cores of a host disturb each other: their curves
	 * have any form. */
	if (!run->transport[0] || run_is_model(run) ||
	    spec_transport_is(run->transport, XPORT_GPU)) {
		sweep_findings(s, v);
		ceiling_findings(run, s, v);
	}
	if (reference) {
		add_against(s, reference, v);
	}
	collective_network_findings(run, s, v);
	accept_findings(run, s, v);
	add_skew(run, v);
	fabric_findings(run, v);
	untested_findings(run, v);
	retest_findings(run, v);
	return verdict_close(run, v);
}
