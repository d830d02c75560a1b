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

#include "lib/base/hash.h"
#include "probes/plan/retry.h"
#include "report/judge/levels.h"
#include "report/judge/pairs.h"
#include "report/judge/rates.h"
#include "tests/verdict/cluster.h"
#include "tests/layout.h"

#define GPUS 8
#define MAX_NODES 64
#define MAX_FAULTS 3
#define INTRA_GB_S 300.0
#define INTER_GB_S 45.0
#define ROUNDS 64		/* moments of a run that share their noise */

struct dice {
	uint64_t seed, draws;
};

static double unit(struct dice *d)
{
	return hash_unit(d->seed, 0x5eed, ++d->draws, 7);
}

static double between(struct dice *d, double low, double high)
{
	return low + (high - low) * unit(d);
}

static int below(struct dice *d, int n)
{
	return (int)(unit(d) * n);
}

/** Of mean 0 and deviation 1 (G. Box and M. Muller, 1958). */
static double normal(struct dice *d)
{
	return sqrt(-2 * log(1 - unit(d))) *
	       cos(2 * 3.14159265358979 * unit(d));
}

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
		.nodes = (int)(2 * pow((MAX_NODES + 1) / 2.0, unit(d))),
		.nics = unit(d) < 0.7 ? GPUS : GPUS / 2,
		.model = (enum model)below(d, MODELS),
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
		w->gpu[i] = exp(w->spread * normal(d));
		w->nic[i] = exp(w->spread * normal(d));
	}
	for (int i = 0; i < w->nodes; i++) {
		w->node[i] = exp(w->spread * normal(d));
		w->node_drift[i] = w->drift * between(d, 0, 1);
		for (int r = 0; r < ROUNDS; r++) {
			w->moments[i][r] = (float)(w->moment * normal(d));
		}
	}
}

/** Noise that every test has for itself, of any strength, and what disturbs a
 *  few tests. */
static void alone(struct dice *d, struct world *w)
{
	w->noise = between(d, 0.01, 0.08);
	w->tail_share = unit(d) < 0.5 ? between(d, 0, 0.05) : 0;
	w->tail_mean = between(d, 0.05, 0.3);
}

/** Noise that tests of a node share, and what changes while the run goes on. */
static void shared(struct dice *d, struct world *w)
{
	w->noise = between(d, 0.005, 0.03);
	w->moment = between(d, 0.005, 0.03);
	w->drift = between(d, 0, 0.03);
	w->spread = between(d, 0.001, 0.006);
}

/** What is built so, and flows that meet by chance. */
static void built(struct dice *d, struct world *w)
{
	w->noise = between(d, 0.005, 0.02);
	w->leaf_size = 2 + below(d, 8);
	w->leaves_known = unit(d) < 0.5;
	w->collide_share = between(d, 0, 0.03);
	w->spread = 0.002;
	w->far = between(d, 0.8, 1);
	for (int i = 0; i < GPUS; i++) {
		w->gpu_index[i] = unit(d) < 0.3 ? between(d, 0.9, 1) : 1;
		w->nic_index[i] = unit(d) < 0.3 ? between(d, 0.9, 1) : 1;
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
		    part_touches(run, &w->faults[i].part, src, dst)) {
			f *= w->faults[i].by;
		}
	}
	return f;
}

static double end_of(const struct world *w, const struct run *run, int rank,
		     bool inter)
{
	const struct run_rank *r = &run->ranks[rank];

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
	if (inter && attempt == 1 && unit(d) < w->collide_share) {
		bw *= between(d, 0.5, 0.95);
	}
	/* the second time nothing else is running */
	if (unit(d) < w->tail_share / (attempt > 1 ? 10 : 1)) {
		bw *= exp(w->tail_mean * log(1 - unit(d)));
	}
	return bw * exp(w->noise * normal(d) + (double)w->moments[from][round] +
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
			share = part_touches(run, &w->faults[i].part, src,
					     dst) ? w->faults[i].by : share;
		}
	}
	return share;
}

static void measure(const struct world *w, struct run *run, struct dice *d,
		    size_t at, int attempt)
{
	int src = run_src(run, at), dst = run_dst(run, at);
	struct cell *c = &run->cells[at];
	double share = fail_share(w, run, src, dst);
	bool ok = !(share > 0 && unit(d) < share);

	c->flaky = ok && run_bad(c->class);
	c->outcome = ok ? OUTCOME_OK : OUTCOME_ERROR;
	c->class = ok ? CELL_PASS : CELL_FAIL;
	c->attempt = attempt;
	c->bw_GB_s = ok ? (float)bandwidth(w, run, d, src, dst, attempt) : NAN;
	c->lat_us = ok ? (float)((c->path == PATH_INTRA ? 4 : 8) *
				 factor_of(w, run, LATE, src, dst) *
				 exp(0.05 * normal(d))) : NAN;
}

struct second {
	const struct world *w;
	struct run *run;
	struct dice *d;
};

static bool works(void *ctx, int rank)
{
	(void)ctx;
	(void)rank;
	return true;
}

static int try_again(void *ctx, const struct task *t)
{
	struct second *s = ctx;

	for (int back = 0; back < 2; back++) {
		if (t->dirs & (back ? TASK_BA : TASK_AB)) {
			measure(s->w, s->run, s->d,
				back ? run_at(s->run, t->b, t->a) :
				       run_at(s->run, t->a, t->b), t->attempt);
		}
	}
	return 0;
}

/** As a run ends: what the program would try again is measured again. */
static void make_run(const struct world *w, const struct layout *l,
		     struct dice *d, struct run *run)
{
	static const struct retry_ops ops = { .works = works,
					      .queue = try_again };
	struct second second = { .w = w, .run = run, .d = d };
	struct slow_limit limits[PATH_CLASSES];
	size_t n = run_n_cells(run);

	for (size_t at = 0; at < n; at++) {
		if (run->cells[at].class != CELL_UNPLANNED) {
			measure(w, run, d, at, 1);
		}
	}
	cells_mark_slow(run->cells, n, run->size_B, limits);
	retry_choose(l, &run->grid, run->cells, RETRY_BROKEN, &ops, &second);
	retry_choose(l, &run->grid, run->cells, RETRY_SLOW, &ops, &second);
	if (levels_mark_slow(run) < 0) {
		abort();
	}
}

static void make_places(const struct world *w, struct layout *l,
			struct run *run)
{
	static char names[MAX_NODES][16];
	const char *list[MAX_NODES];
	int gpus[MAX_NODES], nics[MAX_NODES], leaf_of[MAX_NODES];

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
	cluster_layout(l, leaf_of, run);
	cluster_cells(run);
	run->json = json_object();
	run->size_B = 64 << 20;
	run->ended = true;
	STR_COPY(run->probe, "p2p");
	STR_COPY(run->transport, "nccl");
	STR_COPY(run->schedule, "nic");
}

/* ---- what is asked ------------------------------------------------------- */

struct question {
	const char *name;
	void (*world)(struct dice *d, struct world *w);
	int n_faults;
	enum what what;
	double by;		/* of the drawn parts */
	bool fail;		/* the severity that is right */
	bool either;		/* or any */
	bool link;		/* of nodes, as a part */
	int model;		/* -1: any */
	double least;		/* percent of runs that must be exact */
};

static struct part draw_part(struct dice *d, const struct world *w,
			     const struct question *q)
{
	static const enum part_kind kinds[] = {
		PART_GPU, PART_NIC, PART_NODE, PART_NODE_PAIR,
	};
	enum part_kind kind = kinds[below(d, q->link ? 4 : 3)];
	struct part p = part_at(kind, below(d, w->nodes), -1);

	if (kind == PART_NODE_PAIR) {
		p.peer_node = below(d, w->nodes - 1);
		p.peer_node += p.peer_node >= p.node;
		if (p.peer_node < p.node) {
			int other = p.node;

			p.node = p.peer_node;
			p.peer_node = other;
		}
		return p;
	}
	if (kind != PART_NODE) {
		p.index = below(d, kind == PART_GPU ? GPUS : w->nics);
	}
	if (q->what == SLOW && unit(d) < 0.4) {
		p.direction = unit(d) < 0.5 ? PART_TX : PART_RX;
	}
	return p;
}

struct score {
	size_t runs, exact, severe, fails, warns, drains;
	size_t findings, right, faults, found;
};

static bool names(const struct finding *f, const struct part *p)
{
	bool is = part_compare(&f->part, p) == 0;

	for (size_t i = 0; i < f->n_or; i++) {
		is = is || part_compare(&f->or_parts[i], p) == 0;
	}
	return is;
}

/** Tests fail here and there in such a world, so that it is true of a pair, or
 *  of all together. */
static bool is_background(const struct question *q, const struct finding *f)
{
	return q->n_faults > 0 && q->what == FLAKY &&
	       part_is(&f->part, KIND(PAIR) | KIND(INTER_NODE) |
			       KIND(INTRA_NODE));
}

static void grade(const struct question *q, const struct world *w,
		  const struct run *run, const struct verdict *v,
		  uint64_t seed, struct score *s)
{
	size_t right = 0, found = 0, n = 0;
	bool severe = true, exact;

	for (size_t k = 0; k < v->n; k++) {
		bool is = false;

		for (int i = 0; i < w->n_faults; i++) {
			is |= names(&v->findings[k], &w->faults[i].part);
		}
		if (is_background(q, &v->findings[k])) {
			continue;
		}
		n++;
		right += is;
		severe &= q->either || v->findings[k].fail == q->fail;
		s->drains += v->findings[k].drain;
	}
	for (int i = 0; i < w->n_faults; i++) {
		bool is = false;

		for (size_t k = 0; k < v->n; k++) {
			is |= names(&v->findings[k], &w->faults[i].part);
		}
		found += is;
	}
	exact = right == n && found == (size_t)w->n_faults;
	s->runs++;
	s->exact += exact;
	s->severe += exact && severe;
	s->fails += v->status == VERDICT_FAIL;
	s->warns += v->status == VERDICT_WARN;
	s->findings += n;
	s->right += right;
	s->faults += (size_t)w->n_faults;
	s->found += found;
	if (getenv("V") && !exact) {
		printf("# seed %llu, %s: %d nodes, %d NICs, %s, noise %.3f\n",
		       (unsigned long long)seed, q->name, w->nodes, w->nics,
		       model_names[w->model], w->noise);
		for (int i = 0; i < w->n_faults; i++) {
			char name[PART_NAME_SIZE];

			printf("#   is: %s\n",
			       part_name(run, &w->faults[i].part, name,
					 sizeof(name)));
		}
		for (size_t k = 0; k < v->n && k < 4; k++) {
			printf("#   said (%s, %s): %s\n",
			       v->findings[k].code,
			       v->findings[k].fail ? "fail" : "warn",
			       v->findings[k].says);
		}
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

static void ask(const struct question *q, uint64_t seed, struct score *s)
{
	struct dice d = { .seed = seed };
	struct verdict v;
	struct layout l;
	struct world w;
	struct run run;

	draw_size(&d, &w);
	if (q->n_faults > 0) {
		/* below, a part has no peers, or most of these are bad */
		int least = q->n_faults > 1 ? 2 * q->n_faults + 1 : 4;

		w.nodes = w.nodes < least ? least : w.nodes;
	}
	w.model = q->model >= 0 ? (enum model)q->model : w.model;
	q->world(&d, &w);
	draw_parts(&d, &w);
	make_places(&w, &l, &run);
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
	make_run(&w, &l, &d, &run);
	if (verdict_compute(&run, &v) < 0) {
		abort();
	}
	if (is_fair(&w, &run)) {
		grade(q, &w, &run, &v, seed, s);
	}
	verdict_release(&v);
	cluster_release(&run);
	layout_release(&l);
	free(w.moments);
}

static const struct question questions[] = {
	{ .name = "healthy: noise alone", .world = alone, .model = -1,
	  .least = 99 },
	{ .name = "healthy: shared noise", .world = shared, .model = -1,
	  .least = 99 },
	{ .name = "healthy: built so", .world = built, .model = -1,
	  .least = 99 },
#define SLOWER(percent, ...) \
	{ .name = "slow by " #percent " %, product", .world = plain, \
	  .n_faults = 1, .by = 1 - percent / 100.0, .model = PRODUCT, \
	  __VA_ARGS__ }, \
	{ .name = "slow by " #percent " %, min", .world = plain, \
	  .n_faults = 1, .by = 1 - percent / 100.0, .model = LEAST, \
	  __VA_ARGS__ }
	SLOWER(4, .least = 75), SLOWER(6, .least = 90),
	/* from 10 % on a fault, once a second look confirms it */
	SLOWER(8, .least = 95), SLOWER(12, .least = 98),
	SLOWER(15, .least = 98), SLOWER(30, .fail = true, .least = 98),
	{ .name = "fails 10 % of its tests", .world = plain, .n_faults = 1,
	  .what = FLAKY, .by = 0.1, .either = true, .model = -1 },
	{ .name = "fails 5 % of its tests", .world = plain, .n_faults = 1,
	  .what = FLAKY, .by = 0.05, .either = true, .model = -1 },
	{ .name = "latency x 2", .world = plain, .n_faults = 1, .what = LATE,
	  .by = 2, .either = true, .link = true, .model = -1, .least = 98 },
	{ .name = "two slow by 12 %", .world = plain, .n_faults = 2, .by = 0.88,
	  .either = true, .model = -1, .least = 85 },
	{ .name = "three slow by 12 %", .world = plain, .n_faults = 3,
	  .by = 0.88, .either = true, .model = -1 },
};

static double percent(size_t part, size_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

int main(int argc, char **argv)
{
	uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	const char *only = argc > 3 ? argv[3] : "";
	bool failed = false;

	printf("#| seeds %llu to %llu: clusters of 2x8 to 64x8, noise 2 %% "
	       "where nothing else is said\n", (unsigned long long)first,
	       (unsigned long long)(first + seeds - 1));
	printf("#| %-25s %6s %6s %6s %7s %7s %9s %6s\n", "", "fail", "warn",
	       "drain", "exact", "severe", "precision", "recall");
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		const struct question *q = &questions[i];
		struct score s = { 0 };

		if (strncmp(q->name, only, strlen(only)) != 0) {
			continue;
		}
		for (uint64_t k = 0; k < seeds; k++) {
			ask(q, first + k, &s);
		}
		printf("#| %-25s %6zu %6zu %6zu %7.1f %7.1f %9.1f %6.1f\n",
		       q->name, s.fails, s.warns, s.drains,
		       percent(s.exact, s.runs), percent(s.severe, s.runs),
		       percent(s.right, s.findings),
		       percent(s.found, s.faults));
		if (q->least > 0) {
			/* of a healthy cluster a fault is worse than a
			 * warning */
			bool ok = percent(s.severe, s.runs) >= q->least &&
				  (q->n_faults > 0 || s.fails * 1000 <= s.runs);

			printf("%sok - %s: %g %% or more are exact\n",
			       ok ? "" : "not ", q->name, q->least);
			failed |= !ok;
		}
		fflush(stdout);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
