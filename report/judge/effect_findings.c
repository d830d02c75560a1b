/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Findings about parts that are slightly slow in all of their tests while no
 * single test is bad enough.  They are warnings, unless the part is slow enough
 * and the follow-up confirms it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/judge/effects.h"
#include "report/judge/findings.h"

/* ---- effect confirm ------------------------------------------------------ */



static bool touches_any(const struct run *run, const struct effects *all,
			size_t at)
{
	for (size_t i = 0; i < all->n; i++) {
		if (part_touches_at(run, &all->list[i].part, at) ||
		    part_touches_at(run, &all->list[i].also, at)) {
			return true;
		}
	}
	return false;
}

/** Returns true if all tests of @p are inside a node. */
static bool is_inside(const struct part *p)
{
	return part_is(p, KIND(GPU_NVLINK) | KIND(INTRA_NODE));
}

/** Minimum pairs of healthy ports for a usual value. */
#define LEAST_ALIKE 3
/** Maximum pairs looked at for it. */
#define MOST_ALIKE  256

static double log_value(double bw_GB_s, double lat_us, enum effects_of of)
{
	return log(of == EFFECTS_LATENCY ? 1 / lat_us : bw_GB_s);
}

/** Returns the usual value, a logarithm, of the two ports of the cell at @at:
 *  the median of the same ports on other nodes at the same rate, without cells
 *  that touch parts of @all; NAN if there are too few.  @room has space for a
 *  value of each two nodes. */
static double usual_of(const struct run *run, const struct effects *all,
		       size_t at, enum effects_of of, double *room)
{
	const struct cluster_rank *s = &run->ranks[run_src(run, at)];
	const struct cluster_rank *d = &run->ranks[run_dst(run, at)];
	double rate = run_rate(run, at);
	int nodes = run->n_nodes, step = (nodes * nodes / MOST_ALIKE) | 1;
	size_t n = 0;

	for (int i = 0; i < nodes * nodes; i += step) {
		const struct cluster_node *from = &run->nodes[i / nodes];
		const struct cluster_node *to = &run->nodes[i % nodes];
		size_t k;
		double v;

		if (s->gpu >= from->gpus || d->gpu >= to->gpus) {
			continue;
		}
		k = run_at(run, from->first_rank + s->gpu,
			   to->first_rank + d->gpu);
		v = log_value((double)run->cells[k].bw_GB_s,
			      (double)run->cells[k].lat_us, of);
		if (run_good(run->cells[k].class) && isfinite(v) &&
		    run->cells[k].path == run->cells[at].path &&
		    run_rate(run, k) >= rate && run_rate(run, k) <= rate &&
		    !touches_any(run, all, k)) {
			room[n++] = v;
		}
	}
	return n >= LEAST_ALIKE ? stats_select(room, n, n / 2) : NAN;
}

/* Returns the share of effect number @i of @all (selected by @of) that the
 * follow-up measures again; NAN with too few tests, or if those of a part were
 * all with one other node. */
static double effect_again(const struct run *run, const struct effects *all,
			   size_t i, enum effects_of of)
{
	const struct effect *e = &all->list[i];
	unsigned path = is_inside(&e->part) ? PATH_INTRA : PATH_INTER;
	size_t nodes = run->ports ? (size_t)run->n_nodes : 0;
	size_t n_tests = 0, n_controls = 0;
	/* logarithms, above 0 = better; room for those of usual_of() */
	double *tests = calloc(2 * run->n_follow + nodes * nodes + 1,
			       sizeof(*tests));
	double *controls = tests ? tests + run->n_follow : NULL;
	double share = NAN;
	int partner = -1;
	bool partners = false;	/* were different nodes */

	for (size_t k = 0; tests && k < run->n_follow; k++) {
		const struct run_follow *f = &run->follow[k];
		double v = log_value((double)f->bw_GB_s, (double)f->lat_us,
				     of);
		int from = run->ranks[run_src(run, f->at)].node;
		int to = run->ranks[run_dst(run, f->at)].node;

		/* ports of one run may be built for different rates */
		if (run->ports) {
			v -= usual_of(run, all, f->at, of,
				      controls + run->n_follow);
		}
		if (f->outcome != OUTCOME_OK || !isfinite(v) ||
		    run->cells[f->at].path != path) {
			continue;
		}
		if (part_touches_at(run, &e->part, f->at)) {
			from = from == e->part.node ? to : from;
			partners |= partner >= 0 && partner != from;
			partner = partner < 0 ? from : partner;
			tests[n_tests++] = v;
		} else if (!touches_any(run, all, f->at)) {
			controls[n_controls++] = v;
		}
	}
	if (n_tests >= EFFECT_CONFIRM_TESTS &&
	    n_controls >= EFFECT_CONFIRM_TESTS &&
	    (partners || is_inside(&e->part) ||
	     e->part.kind == PART_NODE_PAIR)) {
		share = (stats_median(tests, n_tests) -
			 stats_median(controls, n_controls)) /
			(of == EFFECTS_LATENCY ? -log(e->ratio) :
						 log(e->ratio));
	}
	free(tests);
	return share;
}

/* ---- depth findings ------------------------------------------------------ */

/*
 * Two faults at one place: a GPU or node whose tests with other nodes lose much
 * more than those inside its node.  A GPU that is slow by itself loses less,
 * never more, next to a slower network, so the rest is due to its NIC or the
 * node's network.
 */

/** Maximum share of its value inside the node that a part reaches outside, for
 *  the outside to be at fault. */
#define DEEPER 0.85
/** Fewer tests are chance. */
#define LEAST_TESTS 3

/** Tests of one part by how they go: inside its node, and, outside, as sender
 *  and as receiver. */
enum { INSIDE, SENDS, RECEIVES, DEPTH_WAYS };

struct depth {
	const struct verdict *v;
	size_t found, self;	/* slow parts, and which of them is asked */
	double *of[DEPTH_WAYS]; /* share of the usual value */
	size_t n[DEPTH_WAYS];
};

/** Adds the share of the usual value that the slow cell from @src to @dst
 *  reaches, unless another slow part is on the path, which may be the cause. */
static void add_cell(const struct run *run, const struct part *p, int src,
		     int dst, struct depth *d)
{
	const struct cell *c = run_cell(run, src, dst);
	const struct slow_limit *usual = &run->slow[c->path];
	double share = (double)c->bw_GB_s / usual->median_GB_s;
	int way = c->path == PATH_INTRA		      ? INSIDE :
		  run->ranks[src].node == p->node ? SENDS : RECEIVES;

	if (c->class != CELL_SLOW || c->path == PATH_NVLINK ||
	    usual->peers < CELLS_SLOW_PEERS || !isfinite(share) ||
	    !part_touches(&run->cluster, p, src, dst)) {
		return;
	}
	for (size_t i = 0; i < d->found; i++) {
		const struct finding *f = &d->v->findings[i];

		if (i != d->self && strcmp(f->code, "slow") == 0 &&
		    part_touches(&run->cluster, &f->part, src, dst)) {
			return;
		}
	}
	d->of[way][d->n[way]++] = share;
}

static bool is_deeper(struct depth *d, int way, double inside)
{
	return d->n[way] >= LEAST_TESTS &&
	       stats_median(d->of[way], d->n[way]) < DEEPER * inside;
}

/** Adds a finding about the part that the network traffic of @p passes, if that
 *  is slow by itself: not if several GPUs share the NIC. */
static void judge_depth(const struct run *run, const struct part *p,
			struct depth *d, struct verdict *v)
{
	const struct cluster_node *n = &run->nodes[p->node];
	struct part out = part_at(PART_NODE_NETWORK, p->node, -1);
	struct finding *f;
	double inside, outside;
	int users = 0;
	bool tx, rx;

	if (p->kind == PART_GPU) {
		out = part_at(PART_NIC, p->node,
			      run->ranks[n->first_rank + p->index].nic);
		for (int i = 0; i < n->gpus; i++) {
			users += run->ranks[n->first_rank + i].nic ==
				 out.index;
		}
	}
	if (d->n[INSIDE] < LEAST_TESTS || users > 1) {
		return;
	}
	inside = stats_median(d->of[INSIDE], d->n[INSIDE]);
	tx = is_deeper(d, SENDS, inside);
	rx = is_deeper(d, RECEIVES, inside);
	if (!tx && !rx) {
		return;
	}
	outside = stats_median(d->of[tx ? SENDS : RECEIVES],
			       d->n[tx ? SENDS : RECEIVES]);
	out.direction = tx && (rx || p->direction == PART_TX) ? p->direction :
			tx			       ? PART_TX : PART_RX;
	f = finding_add(v, out, "slow");
	f->fail = !run->shared_cores;
	f->score = 0;
	f->cells = part_tests(run, &out, NULL);
	f->explained = (tx ? d->n[SENDS] : 0) + (rx ? d->n[RECEIVES] : 0);
	finding_say(f, "%s is slow as well: tests with other nodes reach %.0f "
		    "%% of the usual bandwidth, tests of %s inside the node "
		    "%.0f %%",
		    PART_NAME(run, &out), 100 * outside, PART_NAME(run, p),
		    100 * inside);
}

void depth_findings(const struct run *run, struct verdict *v)
{
	size_t found = v->n;

	if (run->mesh || run->ports) {
		return;
	}
	for (size_t i = 0; i < found; i++) {
		const struct part p = v->findings[i].part;
		const struct cluster_node *n;
		struct depth d = { .v = v, .found = found, .self = i };
		size_t most;

		if (!part_is(&p, KIND(NODE) | KIND(GPU)) ||
		    strcmp(v->findings[i].code, "slow") != 0 ||
		    v->findings[i].n_or > 0) {
			continue;
		}
		n = &run->nodes[p.node];
		most = (size_t)(n->gpus * run->n_ranks);
		d.of[INSIDE] = calloc(DEPTH_WAYS * most + 1, sizeof(double));
		d.of[SENDS] = d.of[INSIDE] + most;
		d.of[RECEIVES] = d.of[SENDS] + most;
		if (!d.of[INSIDE]) {
			v->failed = true;
			return;
		}
		for (size_t k = 0; k < most; k++) {
			int r = n->first_rank + (int)k / run->n_ranks;
			int peer = (int)k % run->n_ranks;

			if (peer != r) {
				add_cell(run, &p, r, peer, &d);
			}
			if (run->ranks[peer].node != p.node) {
				add_cell(run, &p, peer, r, &d);
			}
		}
		judge_depth(run, &p, &d, v);
		free(d.of[INSIDE]);
	}
}

/* ---- effect findings ----------------------------------------------------- */

/** Smaller effects are not reported. */
#define LEAST_SLOWER 0.03
#define LEAST_LATER  0.3



/** Latency in multiples of that of its peers from which it is a fault. */
#define FAIL_LATER 2.0
/** The interval of a fault is beyond this share of the line. */
#define FAIL_BOUND 0.7

/** A part that is slower than this has tests that are slow each by itself. */
#define SLOW_ITSELF CELLS_SLOW_RATIO

static struct finding *add(const struct run *run, const struct effect *e,
			   enum effects_of of, struct verdict *v)
{
	struct part shown = part_shown(run, &e->part);
	struct part also = part_shown(run, &e->also);
	struct finding *f = finding_add(v, shown, of == EFFECTS_LATENCY ?
						  "latency" : "slow");
	const char *with = e->inside ? "GPUs" : "nodes";
	char name[PART_NAME_SIZE];

	f->cells = part_tests(run, &e->part, NULL);
	f->judged = e->tests;
	if (also.kind != shown.kind) {
		finding_add_or(f, &also);
	}
	part_name(run, &f->part, name, sizeof(name));
	if (of == EFFECTS_LATENCY) {
		finding_say(f, "%s: latency is %.1f times that of its peers "
			    "(%.1f to %.1f, %zu tests with %zu %s)", name,
			    e->ratio, e->low, e->high, e->tests, e->partners,
			    with);
	} else {
		finding_say(f, "%s is %.0f %% slower than its peers (%.0f to "
			    "%.0f %%, %zu tests with %zu %s)", name,
			    100 * (1 - e->ratio), 100 * (1 - e->high),
			    100 * (1 - e->low), e->tests, e->partners, with);
	}
	return f;
}

static bool can_judge(const struct run *run)
{
	return !run->mesh && !run->shared_cores;
}

/** Returns true if the cell at @at is fast enough once the parts of @e that it
 *  touches are taken into account. */
static bool is_fine(const struct run *run, const struct effects *e, size_t at)
{
	const struct cell *c = &run->cells[at];
	double ratio = 1;

	for (size_t i = 0; i < e->n; i++) {
		if (e->list[i].ratio > SLOW_ITSELF &&
		    e->list[i].part.kind != PART_FABRIC_PATH &&
		    part_touches_at(run, &e->list[i].part, at)) {
			ratio *= e->list[i].ratio;
		}
	}
	return ratio < 1 &&
	       !((double)c->bw_GB_s < CELLS_LINE_RATIO * ratio *
					      (double)c->expected_GB_s) &&
	       !(cells_beside(c, &run->slow[c->path]) <
		 ratio * run->slow[c->path].limit_GB_s);
}

static bool is_slow(const struct run *run, const uint8_t *skip, size_t at)
{
	return run->cells[at].class == CELL_SLOW &&
	       !(skip[at] & EFFECTS_SKIP);
}

void effects_spare(const struct run *run, uint8_t *explained,
		   struct verdict *v)
{
	struct effects e;
	size_t at = 0, kept = 0;

	while (at < run_n_cells(run) && !is_slow(run, explained, at)) {
		at++;
	}
	if (!can_judge(run) || at == run_n_cells(run)) {
		return;
	}
	if (effects_find(run, explained, EFFECTS_BANDWIDTH, LEAST_SLOWER, &e) <
	    0) {
		v->failed = true;
		return;
	}
	for (size_t i = 0; i < e.n; i++) {
		size_t below = 0, all = 0;

		/* a part that misses its line rate in most tests is slow
		 * whatever its peers do, and each test shows it */
		part_foreach_cell(run, &e.list[i].part, k) {
			const struct cell *c = &run->cells[k];

			if (c->expected_GB_s > 0 && run_good(c->class)) {
				below += cells_below_line(c);
				all++;
			}
		}
		if (2 * below <= all) {
			e.list[kept++] = e.list[i];
		}
	}
	e.n = kept;
	for (; e.n > 0 && at < run_n_cells(run); at++) {
		if (is_slow(run, explained, at) && is_fine(run, &e, at)) {
			explained[at] |= SPARED;
		}
	}
	effects_release(&e);
}

/** Returns true if the effect, and nearly all of its confidence interval, is
 *  beyond the line between a warning and a fault. */
static bool is_beyond(const struct run *run, const struct effect *e,
		      enum effects_of of)
{
	double line = run_slow_share(run);

	return of == EFFECTS_LATENCY ?
		       e->ratio >= FAIL_LATER &&
			       e->bound > 1 + FAIL_BOUND * (FAIL_LATER - 1) :
		       e->ratio <= 1 - line && e->bound < 1 - FAIL_BOUND * line;
}

/** Cells that were spared on account of @e: it is slow by them.  Returns how
 *  many. */
static size_t claim(const struct run *run, const struct effect *e,
		    const uint8_t *explained, uint8_t *claimed)
{
	size_t n = 0;

	part_foreach_cell(run, &e->part, at) {
		if (explained[at] & SPARED) {
			claimed[at] = 1;
			n++;
		}
	}
	return n;
}

/** NICs of one rail at a switch (if not known: anywhere) that are more than
 *  chance. */
#define MANY_NICS 3

/** Fewer have too few paths between two of them to compare. */
#define LEAST_LEAVES 4

/** Returns true if the switch may be at fault instead: @p is the network of the
 *  only node there, or all nodes there are as bad, or several NICs are. */
static bool may_be_switch(const struct run *run, const struct effects *found,
			  const struct part *p)
{
	size_t alike = 0, nodes = 0;

	if (!part_is(p, KIND(NODE_NETWORK) | KIND(NIC))) {
		return false;
	}
	for (size_t i = 0; i < found->n; i++) {
		const struct part *of = &found->list[i].part;

		/* on another node at the same switch, or on any where that is
		 * not known */
		alike += of->kind == p->kind && of->index == p->index &&
			 run->nodes[of->node].leaf == run->nodes[p->node].leaf;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		nodes += run->nodes[i].leaf > 0 &&
			 run->nodes[i].leaf == run->nodes[p->node].leaf;
	}
	return p->kind == PART_NIC ? alike >= MANY_NICS : alike >= nodes;
}

/** With fewer partner nodes it may as well be what leads to these. */
#define LEAST_PARTNERS 3

/** Returns true if @e may be a fault: it has enough similar parts, and enough
 *  partners in its tests.  A link between switches needs enough leaf switches,
 *  and a single path of the fabric is never a fault. */
static bool can_fail(const struct run *run, const struct effect *e)
{
	const struct part *p = &e->part;

	return p->kind != PART_FABRIC_PATH &&
	       (p->kind != PART_LEAF_PAIR || run->n_leaves >= LEAST_LEAVES) &&
	       (!part_is(p, KIND(NODE) | KIND(NODE_NETWORK) | KIND(NIC) |
				    KIND(GPU)) ||
		e->partners >= LEAST_PARTNERS);
}

void effect_findings(const struct run *run, uint8_t *explained,
		     struct verdict *v)
{
	static const enum effects_of kinds[] = { EFFECTS_BANDWIDTH,
						 EFFECTS_LATENCY };
	uint8_t *claimed = calloc(run_n_cells(run) + 1, 1);

	v->failed = v->failed || !claimed;
	for (size_t i = 0; can_judge(run) && claimed &&
			   i < sizeof(kinds) / sizeof(*kinds); i++) {
		enum effects_of of = kinds[i];
		struct effects found;

		if (effects_find(run, explained, of, of == EFFECTS_LATENCY ?
				 LEAST_LATER : LEAST_SLOWER, &found) < 0) {
			v->failed = true;
			break;
		}
		for (size_t n = 0; n < found.n; n++) {
			const struct effect *e = &found.list[n];
			double again = effect_again(run, &found, n, of);
			bool beyond = is_beyond(run, e, of);
			struct finding *f;

			/* a little slow for a while, as when clocks settle */
			if (again < EFFECT_GONE && !beyond) {
				continue;
			}
			f = add(run, e, of, v);
			f->explained = of == EFFECTS_LATENCY ? 0 :
				claim(run, e, explained, claimed);
			f->fail = can_fail(run, e) && beyond &&
				  again >= EFFECT_AGAIN;
			if (may_be_switch(run, &found, &e->part)) {
				f->fail = false;
				finding_add_evidence(f, "its switch may be the "
						     "cause: only a warning");
			}
		}
		effects_release(&found);
	}
	for (size_t at = 0; claimed && at < run_n_cells(run); at++) {
		if (!claimed[at]) {
			explained[at] &= (uint8_t)~SPARED;
		}
	}
	free(claimed);
}
