/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How small a fault may be: clusters of another model than probes/sim, healthy
 * or with a part that is a little slow, late or unreliable.  Neither drill nor
 * sim is used, and no rate is expected of any cell.
 * usage: reach [SEEDS [FIRST [NAME]]]	NAME: of a line's begin; prints a table,
 * and TAP; V=1: what was missed
 */
#include <stdlib.h>
#include <string.h>

#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "tests/verdict/cluster.h"
#include "tests/verdict/dice.h"
#include "tests/verdict/table.h"
#include "tests/layout.h"

#define GPUS 8
#define MAX_NODES 64
#define MAX_FAULTS 3
#define INTRA_GB_S 300.0
#define INTER_GB_S 45.0
#define ROUNDS 64		/* moments of a run that share their noise */

/* ---- the cluster --------------------------------------------------------- */

enum model { PRODUCT, LEAST, MODELS };
static const char *const model_names[] = { "product", "min" };

enum what { SLOW, LATE, FLAKY };

struct fault {
	enum what what;
	struct part part;
	double by;		/* slow: factor of the bandwidth; late: of the
				 * latency; flaky: share of tests */
};

struct world {
	int nodes, nics, leaf_size;	/* leaf_size 0: one class */
	bool leaves_known;
	enum model model;
	double noise;			/* of each test, sigma */
	double tail_share, tail_mean;	/* tests that something disturbs */
	double moment;			/* of a node in a moment, sigma */
	double drift;			/* over the run, at most */
	double far;			/* factor between leaves */
	double collide_share;
	double spread;			/* of parts of a kind, sigma */
	double gpu_index[GPUS], nic_index[GPUS];	/* offsets, as
							 * factors */
	double gpu[MAX_NODES * GPUS], nic[MAX_NODES * GPUS], node[MAX_NODES];
	double node_drift[MAX_NODES];
	float (*moments)[ROUNDS];	/* of each node */
	struct fault faults[MAX_FAULTS];
	int n_faults;
};

/** Nodes, as many small clusters as large ones. */
static void draw_size(struct dice *d, struct world *w)
{
	*w = (struct world){
		.nodes = (int)(2 * pow((MAX_NODES + 1) / 2.0, dice_unit(d))),
		.nics = dice_unit(d) < 0.7 ? GPUS : GPUS / 2,
		.model = (enum model)dice_below(d, MODELS),
		.far = 1,
	};
	for (int i = 0; i < GPUS; i++) {
		w->gpu_index[i] = w->nic_index[i] = 1;
	}
}

static void draw_parts(struct dice *d, struct world *w)
{
	w->moments = calloc((size_t)w->nodes, sizeof(*w->moments));
	for (int i = 0; i < w->nodes * GPUS; i++) {
		w->gpu[i] = exp(w->spread * dice_normal(d));
		w->nic[i] = exp(w->spread * dice_normal(d));
	}
	for (int i = 0; i < w->nodes; i++) {
		w->node[i] = exp(w->spread * dice_normal(d));
		w->node_drift[i] = w->drift * dice_between(d, 0, 1);
		for (int r = 0; r < ROUNDS; r++) {
			w->moments[i][r] = (float)(w->moment * dice_normal(d));
		}
	}
}

/** Noise that every test has for itself, of any strength, and what disturbs a
 *  few tests. */
static void alone(struct dice *d, struct world *w)
{
	w->noise = dice_between(d, 0.01, 0.08);
	w->tail_share = dice_unit(d) < 0.5 ? dice_between(d, 0, 0.05) : 0;
	w->tail_mean = dice_between(d, 0.05, 0.3);
}

/** Noise that tests of a node share, and what changes while the run goes on. */
static void shared(struct dice *d, struct world *w)
{
	w->noise = dice_between(d, 0.005, 0.03);
	w->moment = dice_between(d, 0.005, 0.03);
	w->drift = dice_between(d, 0, 0.03);
	w->spread = dice_between(d, 0.001, 0.006);
}

/** What is built so, and flows that meet by chance. */
static void built(struct dice *d, struct world *w)
{
	w->noise = dice_between(d, 0.005, 0.02);
	w->leaf_size = 2 + dice_below(d, 8);
	w->leaves_known = dice_unit(d) < 0.5;
	w->collide_share = dice_between(d, 0, 0.03);
	w->spread = 0.002;
	w->far = dice_between(d, 0.8, 1);
	for (int i = 0; i < GPUS; i++) {
		w->gpu_index[i] = dice_unit(d) < 0.3 ?
				  dice_between(d, 0.9, 1) : 1;
		w->nic_index[i] = dice_unit(d) < 0.3 ?
				  dice_between(d, 0.9, 1) : 1;
	}
}

static void plain(struct dice *d, struct world *w)
{
	(void)d;
	w->noise = 0.02;
	w->spread = 0.002;
}

static double factor_of(const struct world *w, const struct run *run,
			enum what what, int src, int dst)
{
	double f = 1;

	for (int i = 0; i < w->n_faults; i++) {
		if (w->faults[i].what == what &&
		    part_touches(&run->cluster, &w->faults[i].part, src, dst)) {
			f *= w->faults[i].by;
		}
	}
	return f;
}

static double end_of(const struct world *w, const struct run *run, int rank,
		     bool inter)
{
	const struct cluster_rank *r = &run->ranks[rank];

	return w->node[r->node] * w->gpu[rank] * w->gpu_index[r->gpu] *
	       (inter ? w->nic[r->node * GPUS + r->nic] * w->nic_index[r->nic] :
			1);
}

static double bandwidth(const struct world *w, const struct run *run,
			struct dice *d, int src, int dst, int attempt)
{
	int from = run->ranks[src].node, to = run->ranks[dst].node;
	bool inter = from != to;
	double when = attempt > 1 ? 1 : (dst - src + run->n_ranks) %
					run->n_ranks / (double)run->n_ranks;
	int round = (int)(when * (ROUNDS - 1));
	double a = end_of(w, run, src, inter), b = end_of(w, run, dst, inter);
	double f = factor_of(w, run, SLOW, src, dst);
	double bw = inter ? INTER_GB_S : INTRA_GB_S;

	bw *= w->model == PRODUCT ? a * b * f :
				    fmin(fmin(a, b), fmin(f, 1.01));
	if (inter && w->leaf_size && from / w->leaf_size != to / w->leaf_size) {
		bw *= w->far;
	}
	if (inter && attempt == 1 && dice_unit(d) < w->collide_share) {
		bw *= dice_between(d, 0.5, 0.95);
	}
	/* the second time nothing else is running */
	if (dice_unit(d) < w->tail_share / (attempt > 1 ? 10 : 1)) {
		bw *= exp(w->tail_mean * log(1 - dice_unit(d)));
	}
	return bw * exp(w->noise * dice_normal(d) +
			(double)w->moments[from][round] +
			(double)w->moments[to][round] -
			when * (w->node_drift[from] + w->node_drift[to]) / 2);
}

/** The share of its tests that fail. */
static double fail_share(const struct world *w, const struct run *run, int src,
			 int dst)
{
	double share = 0;

	for (int i = 0; i < w->n_faults; i++) {
		if (w->faults[i].what == FLAKY) {
			share = fmax(share, 0.001);
			share = part_touches(&run->cluster,
					     &w->faults[i].part, src, dst) ?
					w->faults[i].by : share;
		}
	}
	return share;
}

struct site {
	const struct world *w;
	const struct run *places;
	struct dice *d;
};

static int test(void *ctx, int src, int dst, int attempt,
		struct xport_result *r)
{
	const struct site *s = ctx;
	bool intra = s->places->ranks[src].node == s->places->ranks[dst].node;
	double share = fail_share(s->w, s->places, src, dst);

	xport_result_init(r);
	if (share > 0 && dice_unit(s->d) < share) {
		xport_fail(r, OUTCOME_ERROR, "error", "it went wrong");
		return dst;
	}
	r->outcome = OUTCOME_OK;
	r->bw_GB_s = bandwidth(s->w, s->places, s->d, src, dst, attempt);
	r->lat_us = (intra ? 4 : 8) *
		    factor_of(s->w, s->places, LATE, src, dst) *
		    exp(0.05 * dice_normal(s->d));
	return dst;
}

static void make_places(const struct world *w, struct layout *l, int *leaf_of,
			struct run *places)
{
	static char names[MAX_NODES][16];
	const char *list[MAX_NODES];
	int gpus[MAX_NODES], nics[MAX_NODES];

	for (int i = 0; i < w->nodes; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		list[i] = names[i];
		gpus[i] = GPUS;
		nics[i] = w->nics;
		leaf_of[i] = w->leaf_size && w->leaves_known ?
				     i / w->leaf_size : -1;
	}
	if (layout_of(l, w->nodes, list, gpus, nics) < 0) {
		abort();
	}
	cluster_layout(l, leaf_of, places);
}

/* ---- what is asked ------------------------------------------------------- */

struct question {
	struct row row;
	void (*world)(struct dice *d, struct world *w);
	int n_faults;
	enum what what;
	double by;		/* of the drawn parts */
	enum severity severity;
	bool link;		/* of nodes, as a part */
	int model;		/* -1: any */
};

static struct part draw_part(struct dice *d, const struct world *w,
			     const struct question *q)
{
	static const enum part_kind kinds[] = {
		PART_GPU, PART_NIC, PART_NODE, PART_NODE_PAIR,
	};
	enum part_kind kind = kinds[dice_below(d, q->link ? 4 : 3)];
	struct part p = part_at(kind, dice_below(d, w->nodes), -1);

	if (kind == PART_NODE_PAIR) {
		p.peer_node = dice_below(d, w->nodes - 1);
		p.peer_node += p.peer_node >= p.node;
		if (p.peer_node < p.node) {
			int other = p.node;

			p.node = p.peer_node;
			p.peer_node = other;
		}
		return p;
	}
	if (kind != PART_NODE) {
		p.index = dice_below(d, kind == PART_GPU ? GPUS : w->nics);
	}
	if (q->what == SLOW && dice_unit(d) < 0.4) {
		p.direction = dice_unit(d) < 0.5 ? PART_TX : PART_RX;
	}
	return p;
}

/** Tests fail here and there in such a world, so that it is true of a pair, or
 *  of all together. */
static bool is_background(const void *ctx, const struct finding *f)
{
	const struct question *q = ctx;

	return q->n_faults > 0 && q->what == FLAKY &&
	       part_is(&f->part, KIND(PAIR) | KIND(INTER_NODE) |
			       KIND(INTRA_NODE));
}

static void grade(const struct question *q, const struct world *w,
		  const struct run *run, const struct verdict *v,
		  uint64_t seed, struct score *s)
{
	struct part parts[MAX_FAULTS];
	const struct truth truth = {
		.parts = parts, .n = (size_t)w->n_faults,
		.severity = q->severity, .is_site = is_background, .ctx = q,
	};

	for (int i = 0; i < w->n_faults; i++) {
		parts[i] = w->faults[i].part;
	}
	if (!score_add(s, &truth, run, v) && getenv("V")) {
		printf("# seed %llu, %s: %d nodes, %d NICs, %s, noise %.3f\n",
		       (unsigned long long)seed, q->row.name, w->nodes,
		       w->nics, model_names[w->model], w->noise);
	}
}

/** Fewer tests of a part that fail say of nobody that it is this part. */
#define LEAST_FAILED 4

static bool is_fair(const struct world *w, const struct run *run)
{
	for (int i = 0; i < w->n_faults; i++) {
		size_t failed = 0;

		for (size_t at = 0; at < run_n_cells(run); at++) {
			failed += rates_failed(run, at) &&
				  part_touches_at(run, &w->faults[i].part, at);
		}
		if (w->faults[i].what == FLAKY && failed < LEAST_FAILED) {
			return false;
		}
	}
	return true;
}

static void ask(const void *question, uint64_t seed, struct score *s)
{
	const struct question *q = question;
	struct dice d = { .of = 0x5eed, .more = 7, .seed = seed };
	struct run places, run;
	int leaf_of[MAX_NODES];
	struct verdict v;
	struct layout l;
	struct world w;
	struct site site = { .w = &w, .places = &places, .d = &d };
	const struct cluster_model model = { .test = test, .ctx = &site };

	draw_size(&d, &w);
	if (q->n_faults > 0) {
		/* below, a part has no peers, or most of these are bad */
		int least = q->n_faults > 1 ? 2 * q->n_faults + 1 : 4;

		w.nodes = w.nodes < least ? least : w.nodes;
	}
	w.model = q->model >= 0 ? (enum model)q->model : w.model;
	q->world(&d, &w);
	draw_parts(&d, &w);
	make_places(&w, &l, leaf_of, &places);
	w.n_faults = q->n_faults;
	for (int i = 0; i < w.n_faults; i++) {
		bool again = true;

		while (again) {
			w.faults[i] = (struct fault){
				.what = q->what, .by = q->by,
				.part = draw_part(&d, &w, q),
			};
			again = false;
			for (int k = 0; k < i; k++) {
				again |= w.faults[k].part.node ==
					 w.faults[i].part.node;
			}
		}
	}
	cluster_run_of(&l, leaf_of, &model, &run);
	cluster_follow(&l, &model, &run);
	cluster_judge(&run, false, &v);
	if (is_fair(&w, &run)) {
		grade(q, &w, &run, &v, seed, s);
	}
	verdict_release(&v);
	cluster_release(&run);
	cluster_release(&places);
	layout_release(&l);
	free(w.moments);
}

static const struct question questions[] = {
	{ { "healthy: noise alone", 99 }, .world = alone, .model = -1 },
	{ { "healthy: shared noise", 99 }, .world = shared, .model = -1 },
	{ { "healthy: built so", 99 }, .world = built, .model = -1 },
#define SLOWER_IN(percent, enough, how_bad, word, how) \
	{ { "slow by " #percent " %, " word, enough }, .world = plain, \
	  .n_faults = 1, .by = 1 - percent / 100.0, .model = how, \
	  .severity = how_bad }
#define SLOWER(percent, enough, how_bad) \
	SLOWER_IN(percent, enough, how_bad, "product", PRODUCT), \
	SLOWER_IN(percent, enough, how_bad, "min", LEAST)
	SLOWER(4, 75, WARN), SLOWER(6, 90, WARN), SLOWER(8, 95, WARN),
	/* from 10 % on a fault, once a second look confirms it */
	SLOWER(12, 90, FAIL), SLOWER(15, 98, FAIL), SLOWER(30, 98, FAIL),
	{ { "fails 10 % of its tests", 99 }, .world = plain, .n_faults = 1,
	  .what = FLAKY, .by = 0.1, .model = -1 },
	{ { "fails 5 % of its tests", 0 }, .world = plain, .n_faults = 1,
	  .what = FLAKY, .by = 0.05, .model = -1 },
	{ { "latency x 2", 98 }, .world = plain, .n_faults = 1, .what = LATE,
	  .by = 2, .link = true, .model = -1 },
	{ { "two slow by 12 %", 85 }, .world = plain, .n_faults = 2, .by = 0.88,
	  .severity = FAIL,
	  .model = -1 },
	{ { "three slow by 12 %", 85 }, .world = plain, .n_faults = 3,
	  .by = 0.88, .model = -1 },
};

int main(int argc, char **argv)
{
	static const struct table table = {
		.clusters = "clusters of 2x8 to 64x8, noise 2 % where nothing "
			    "else is said",
		.questions = questions, .size = sizeof(*questions),
		.n = sizeof(questions) / sizeof(*questions), .ask = ask,
	};

	return table_main(&table, argc, argv);
}
