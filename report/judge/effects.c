/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "report/base/grow.h"

/** Wrong ones among all intervals of a run. */
#define ALPHA 0.01
/** Fewer parts have no peers, fewer nodes no usual index. */
#define LEAST_PEERS 4
#define LEAST_NODES 4
/** With fewer partner nodes one bad link is as much as all of a part. */
#define LEAST_PARTNERS 3
/** A part of its partner nodes that is trimmed at either end. */
#define TRIM 0.25
/** The MAD of a normal sample is this much of its deviation, and as sure as the
 *  deviation of this share of the sample. */
#define MAD_OF_SIGMA 0.6745
#define MAD_AS_SURE  0.37
/** Of few parts next to nothing would be known: then as if it were of some. */
#define LEAST_FREEDOM 5

enum { TX, RX, BOTH, WAYS };

/** What each rank, as sender or receiver, has with each partner node: means of
 *  logarithms, above 0 = better; NAN where there is none. */
struct table {
	float *of[2];		/* ranks x nodes */
	float *inside[2];	/* with the other GPUs of its node, a rank */
	uint32_t *count[2];	/* tests with other nodes, a rank */
};

struct work {
	const struct run *run;
	struct table t;
	size_t nodes, ranks;
	double *room;		/* for one value of each rank or node */
	double least;
	struct effects out;
};

/** Parts of one kind that are compared. */
struct peers {
	size_t n;
	float *samples[2];	/* n x nodes, as in a table */
	double *mean[WAYS], *error[WAYS];
	double usual[WAYS];	/* error */
	double between[WAYS];	/* deviation of the parts themselves */
};

/** One part as it came out. */
struct estimate {
	double by, half;	/* logarithm, half of its interval */
	size_t partners;
};

/* ---- quantiles ------------------------------------------------------------- */

/** Of a normal variable: above it lies @tail. */
static double normal_quantile(double tail)
{
	double low = 0, high = 40;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) / 2 > tail) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

/** Of Student's variable whose normal one is @z (D. Wallace, Ann. Math. Statist.
 *  30, 1959). */
static double student_quantile(double z, double freedom)
{
	double u = z * (8 * freedom + 3) / (8 * freedom + 1);

	return sqrt(freedom * expm1(fmin(u * u / freedom, 700)));
}

/* ---- the table ------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int table_init(struct table *t, size_t ranks, size_t nodes)
{
	bool whole = true;

	for (int w = 0; w < 2; w++) {
		t->of[w] = calloc(ranks * nodes + 1, sizeof(float));
		t->inside[w] = calloc(ranks + 1, sizeof(float));
		t->count[w] = calloc(ranks + 1, sizeof(uint32_t));
		whole = whole && t->of[w] && t->inside[w] && t->count[w];
	}
	return whole ? 0 : -1;
}

static void table_release(struct table *t)
{
	for (int w = 0; w < 2; w++) {
		free(t->of[w]);
		free(t->inside[w]);
		free(t->count[w]);
	}
}

/** Sums of what counts with each partner node, by node and by rank. */
struct sums {
	float *of[2], *inside[2];
	uint16_t *n[2], *n_inside[2];
};

static int sums_init(struct sums *s, size_t ranks, size_t nodes)
{
	bool whole = true;

	for (int k = 0; k < 2; k++) {
		s->of[k] = calloc(nodes * ranks + 1, sizeof(float));
		s->n[k] = calloc(nodes * ranks + 1, sizeof(uint16_t));
		s->inside[k] = calloc(ranks + 1, sizeof(float));
		s->n_inside[k] = calloc(ranks + 1, sizeof(uint16_t));
		whole = whole && s->of[k] && s->n[k] && s->inside[k] &&
			s->n_inside[k];
	}
	return whole ? 0 : -1;
}

static void sums_release(struct sums *s)
{
	for (int k = 0; k < 2; k++) {
		free(s->of[k]);
		free(s->n[k]);
		free(s->inside[k]);
		free(s->n_inside[k]);
	}
}

static void add_cell(const struct work *w, struct sums *sums, size_t s,
		     size_t d, float v)
{
	size_t from = (size_t)w->run->ranks[s].node;
	size_t to = (size_t)w->run->ranks[d].node;

	if (from == to) {
		sums->inside[TX][s] += v;
		sums->inside[RX][d] += v;
		sums->n_inside[TX][s]++;
		sums->n_inside[RX][d]++;
		return;
	}
	sums->of[TX][to * w->ranks + s] += v;
	sums->of[RX][from * w->ranks + d] += v;
	sums->n[TX][to * w->ranks + s]++;
	sums->n[RX][from * w->ranks + d]++;
}

static void add_cells(const struct work *w, const uint8_t *skip,
		      enum effects_of of, struct sums *sums)
{
	for (size_t s = 0, at = 0; s < w->ranks; s++) {
		for (size_t d = 0; d < w->ranks; d++, at++) {
			const struct cell *c = &w->run->cells[at];
			float v = of == EFFECTS_LATENCY ? 1 / c->lat_us :
							  c->bw_GB_s;

			if (run_good(c->class) && v > 0 && v < INFINITY &&
			    !(skip && (skip[at] & EFFECTS_SKIP))) {
				add_cell(w, sums, s, d, logf(v));
			}
		}
	}
}

/** Means of what counts, and how much of it there is. */
static int fill(struct work *w, const uint8_t *skip, enum effects_of of)
{
	struct sums sums = { 0 };
	int rc = sums_init(&sums, w->ranks, w->nodes);

	if (rc == 0) {
		add_cells(w, skip, of, &sums);
	}
	for (int k = 0; rc == 0 && k < 2; k++) {
		for (size_t i = 0; i < w->ranks; i++) {
			for (size_t p = 0; p < w->nodes; p++) {
				size_t n = sums.n[k][p * w->ranks + i];
				size_t all = (size_t)w->run->nodes[p].gpus;

				w->t.count[k][i] += (uint32_t)n;
				/* a mean of a few of many is another one */
				w->t.of[k][i * w->nodes + p] = 2 * n > all ?
					sums.of[k][p * w->ranks + i] /
					(float)n : NAN;
			}
			w->t.inside[k][i] = sums.n_inside[k][i] > 0 ?
				sums.inside[k][i] / sums.n_inside[k][i] : NAN;
		}
	}
	sums_release(&sums);
	return rc;
}

/** The median of what is known of @n values, @step apart; 0 without any. */
static double median_of(const struct work *w, const float *v, size_t n,
			size_t step)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i * step])) {
			w->room[known++] = (double)v[i * step];
		}
	}
	return known ? stats_select(w->room, known, known / 2) : 0;
}

static void subtract(float *v, size_t n, size_t step, double by)
{
	for (size_t i = 0; i < n; i++) {
		v[i * step] -= (float)by;
	}
}

static double mean_of(const float *v, size_t n, size_t *known)
{
	double sum = 0;

	*known = 0;
	for (size_t i = 0; i < n; i++) {
		if (isfinite(v[i])) {
			sum += (double)v[i];
			(*known)++;
		}
	}
	return *known ? sum / (double)*known : NAN;
}

/** What is usual on one leaf switch, and from one to another. */
static void level_leaves(const struct work *w, float *of)
{
	const struct run *run = w->run;
	double level[2] = { 0 };

	for (int far = 0; far < 2 && run->n_leaves > 0; far++) {
		for (int put = 0; put < 2; put++) {
			size_t known = 0;

			for (size_t i = 0; i < w->ranks; i++) {
				int a = run->nodes[run->ranks[i].node].leaf;
				double sum = 0;
				size_t n = 0;

				for (size_t p = 0; p < w->nodes; p++) {
					float *v = &of[i * w->nodes + p];
					bool apart = run->nodes[p].leaf != a;

					if (!isfinite(*v) || apart != far) {
						continue;
					}
					sum += (double)*v;
					n++;
					*v -= put ? (float)level[far] : 0;
				}
				if (!put && n > 0) {
					w->room[known++] = sum / (double)n;
				}
			}
			level[far] = known && !put ?
				stats_select(w->room, known, known / 2) :
				level[far];
		}
	}
}

/** Take away what partner nodes add, and what the index of a rank does. */
static void polish(const struct work *w, float *of)
{
	level_leaves(w, of);
	for (size_t p = 0; p < w->nodes; p++) {
		subtract(&of[p], w->ranks, w->nodes,
			 median_of(w, &of[p], w->ranks, w->nodes));
	}
}

/** The median of the values of ranks whose GPU is number @gpu, or any (-1), but
 *  for those of one node. */
static double usual_at(const struct work *w, const double *of, int gpu,
		       int but_node)
{
	size_t n = 0;

	for (size_t i = 0; i < w->ranks; i++) {
		const struct run_rank *r = &w->run->ranks[i];

		if ((gpu < 0 || r->gpu == gpu) && r->node != but_node &&
		    isfinite(of[i])) {
			w->room[n++] = of[i];
		}
	}
	return n ? stats_select(w->room, n, n / 2) : 0;
}

/** The ranks of each index beside each other.  Of a few nodes that is no better
 *  than beside all: a rank is as slow as the better of both makes it. */
static void level_index(const struct work *w, float *samples, size_t width)
{
	double *of = calloc(w->ranks + 1, sizeof(*of));
	bool many = w->nodes >= LEAST_NODES;
	double all, index = 0;
	int most = 0;

	for (size_t i = 0; of && i < w->ranks; i++) {
		size_t known;

		of[i] = mean_of(&samples[i * width], width, &known);
		most = w->run->ranks[i].gpu > most ? w->run->ranks[i].gpu : most;
	}
	all = of ? usual_at(w, of, -1, -1) : 0;
	for (int gpu = 0; of && gpu <= most; gpu++) {
		index = many ? usual_at(w, of, gpu, -1) : 0;
		for (size_t i = 0; i < w->ranks; i++) {
			const struct run_rank *r = &w->run->ranks[i];

			if (r->gpu != gpu) {
				continue;
			}
			if (!many) {
				index = fmin(usual_at(w, of, gpu, r->node), all);
			}
			subtract(&samples[i * width], width, 1, index);
		}
	}
	free(of);
}

/* ---- peers --------------------------------------------------------------- */

static int peers_init(struct peers *p, size_t n, size_t width)
{
	bool whole = true;

	*p = (struct peers){ .n = n };
	for (int k = 0; k < 2; k++) {
		p->samples[k] = calloc(n * width + 1, sizeof(float));
		whole = whole && p->samples[k];
	}
	for (int k = 0; k < WAYS; k++) {
		p->mean[k] = calloc(n + 1, sizeof(double));
		p->error[k] = calloc(n + 1, sizeof(double));
		whole = whole && p->mean[k] && p->error[k];
	}
	return whole ? 0 : -1;
}

static void peers_release(struct peers *p)
{
	for (int k = 0; k < WAYS; k++) {
		free(p->mean[k]);
		free(p->error[k]);
		if (k < 2) {
			free(p->samples[k]);
		}
	}
}

/** What part @i has with partner @p. */
static double sample(const struct peers *x, size_t width, size_t i, int way,
		     size_t p)
{
	double a = (double)x->samples[TX][i * width + p];
	double b = (double)x->samples[RX][i * width + p];

	return way == TX ? a : way == RX ? b : (a + b) / 2;
}

/** Means of all parts, and how far they are from each other by nature. */
static void learn(const struct work *w, struct peers *x, size_t width)
{
	for (int way = 0; way < WAYS; way++) {
		size_t known = 0;
		double mad, median;

		for (size_t i = 0; i < x->n; i++) {
			double sum = 0, squares = 0;
			size_t n = 0;

			for (size_t p = 0; p < width; p++) {
				double v = sample(x, width, i, way, p);

				if (isfinite(v)) {
					sum += v;
					squares += v * v;
					n++;
				}
			}
			x->mean[way][i] = n ? sum / (double)n : NAN;
			x->error[way][i] = n > 1 ?
				sqrt(fmax(squares - sum * sum / (double)n, 0) /
				     (double)(n * (n - 1))) : NAN;
		}
		for (size_t i = 0; i < x->n; i++) {
			if (isfinite(x->error[way][i])) {
				w->room[known++] = x->error[way][i];
			}
		}
		x->usual[way] = known ? stats_select(w->room, known, known / 2)
				      : 0;
		known = 0;
		for (size_t i = 0; i < x->n; i++) {
			if (isfinite(x->mean[way][i])) {
				w->room[known++] = x->mean[way][i];
			}
		}
		mad = stats_mad(w->room, known, &median) / MAD_OF_SIGMA;
		x->between[way] = sqrt(fmax(mad * mad - x->usual[way] *
							x->usual[way], 0));
	}
}

/** Of @n sorted values without number @out: the mean of the middle ones. */
static double middle_mean(const double *v, const double *sums, size_t n,
			  size_t out)
{
	size_t left = n - (out < n), cut = (size_t)(TRIM * (double)left);
	size_t from = cut + (out < n && out <= cut);
	size_t to = from + left - 2 * cut;	/* of the whole list */
	bool holds = out < n && out >= from && out < to;

	to += holds;
	return (sums[to] - sums[from] - (holds ? v[out] : 0)) /
	       (double)(left - 2 * cut);
}

/** Part @i of @x, with an interval as wide as a normal one of @z deviations. */
static int estimate(const struct peers *x, size_t width, size_t i, int way,
		    double z, struct estimate *e)
{
	double *v = calloc(2 * width + 2, sizeof(*v)), *sums = v + width;
	double freedom = fmax(MAD_AS_SURE * (double)(x->n - 1),
			      LEAST_FREEDOM);
	double error = 0, squares = 0, mean = 0;
	size_t n = 0;

	if (!v) {
		return -1;
	}
	for (size_t p = 0; p < width; p++) {
		double s = sample(x, width, i, way, p);

		if (isfinite(s)) {
			v[n++] = s;
		}
	}
	qsort(v, n, sizeof(*v), compare);
	for (size_t k = 0; k < n; k++) {
		sums[k + 1] = sums[k] + v[k];
	}
	*e = (struct estimate){ .by = middle_mean(v, sums, n, n),
				.partners = n };
	for (int pass = 0; pass < 2; pass++) {
		for (size_t k = 0; n > 1 && k < n; k++) {
			double one = middle_mean(v, sums, n, k);

			mean += pass ? 0 : one / (double)n;
			squares += pass ? (one - mean) * (one - mean) : 0;
		}
	}
	error = n > 1 ? sqrt(squares * (double)(n - 1) / (double)n) : 0;
	e->half = hypot(z * fmax(error, x->usual[way]),
			student_quantile(z, freedom) * x->between[way]);
	free(v);
	return 0;
}

/* ---- what is worse ---------------------------------------------------------- */

/** Both ways, or one if the other is less than half as bad. */
static int way_of(const struct peers *x, size_t i)
{
	double tx = x->mean[TX][i], rx = x->mean[RX][i];

	return !(rx < tx / 2) ? TX : !(tx < rx / 2) ? RX : BOTH;
}

static enum part_direction direction_of(int way)
{
	return way == TX ? PART_TX : way == RX ? PART_RX : PART_BOTH;
}

/** Is part @i of @x worse, sure enough? */
static bool is_worse(const struct work *w, const struct peers *x, size_t width,
		     size_t i, int way, double z, struct estimate *e)
{
	/* most are not: a look at the mean will do */
	return x->n >= LEAST_PEERS && x->mean[way][i] < -w->least / 2 &&
	       estimate(x, width, i, way, z, e) == 0 &&
	       e->partners >= LEAST_PARTNERS &&
	       e->by <= -w->least && e->by + e->half < 0;
}

static int add(struct work *w, const struct part *p, const struct part *also,
	       const struct estimate *e, size_t tests)
{
	const struct effect x = {
		.part = *p, .also = also ? *also : *p, .tests = tests,
		.partners = e->partners, .ratio = e->by,
		.low = e->by - e->half, .high = e->by + e->half,
	};

	return grow_add(&w->out.list, &w->out.n, &x, sizeof(x)) ? 0 : -1;
}

static size_t tests_of(const struct work *w, size_t first, size_t n, int way)
{
	size_t tests = 0;

	for (size_t i = first; i < first + n; i++) {
		tests += (way != RX ? w->t.count[TX][i] : 0) +
			 (way != TX ? w->t.count[RX][i] : 0);
	}
	return tests;
}

/** The value of the ranks from @first on with partner @p: the median, and of two
 *  the better one, as one bad NIC of two is no node. */
static float together(const struct work *w, const float *of, size_t first,
		      size_t n, size_t p)
{
	size_t known = 0;

	for (size_t i = first; i < first + n; i++) {
		float v = of[i * w->nodes + p];

		if (isfinite(v)) {
			w->room[known++] = (double)v;
		}
	}
	return known == 2 ? (float)fmax(w->room[0], w->room[1]) :
	       known	  ? (float)stats_median(w->room, known) : NAN;
}

/** Worse nodes; what they add is taken from their ranks, and, of nodes with
 *  enough of these, what any node does. */
static int find_nodes(struct work *w, double z)
{
	const struct run *run = w->run;
	struct peers x;
	int rc = peers_init(&x, w->nodes, w->nodes);

	for (size_t n = 0; rc == 0 && n < w->nodes; n++) {
		for (size_t p = 0; p < w->nodes; p++) {
			for (int k = 0; k < 2; k++) {
				x.samples[k][n * w->nodes + p] = together(
					w, w->t.of[k],
					(size_t)run->nodes[n].first_rank,
					(size_t)run->nodes[n].gpus, p);
			}
		}
	}
	if (rc == 0) {
		learn(w, &x, w->nodes);
	}
	for (size_t n = 0; rc == 0 && n < w->nodes; n++) {
		size_t first = (size_t)run->nodes[n].first_rank;
		size_t gpus = (size_t)run->nodes[n].gpus;
		struct part p = part_at(PART_NODE, (int)n, -1);
		int way = way_of(&x, n);
		struct estimate e;
		bool worse = is_worse(w, &x, w->nodes, n, way, z, &e);

		if (worse) {
			p.direction = direction_of(way);
			rc = add(w, &p, NULL, &e, tests_of(w, first, gpus, way));
		}
		for (int k = 0; k < 2; k++) {
			if ((worse || gpus >= LEAST_PEERS) &&
			    isfinite(x.mean[k][n])) {
				subtract(&w->t.of[k][first * w->nodes],
					 gpus * w->nodes, 1, x.mean[k][n]);
			}
		}
	}
	peers_release(&x);
	return rc;
}

/** What rank @i is inside its node, beside @inter that it is outside, and is
 *  that as bad? */
static bool bad_inside(const struct work *w, size_t i, int way, double inter)
{
	double a = (double)w->t.inside[TX][i], b = (double)w->t.inside[RX][i];
	double in = way == TX ? a : way == RX ? b : (a + b) / 2;

	return in < inter / 2;
}

/** Ranks beside the median of their node, and of their index. */
static void level_inside(const struct work *w)
{
	for (int k = 0; k < 2; k++) {
		for (size_t n = 0; n < w->nodes; n++) {
			float *of = &w->t.inside[k][w->run->nodes[n].first_rank];
			size_t gpus = (size_t)w->run->nodes[n].gpus;

			subtract(of, gpus, 1, median_of(w, of, gpus, 1));
		}
		level_index(w, w->t.inside[k], 1);
	}
}

static int add_rank(struct work *w, size_t i, int way, const struct estimate *e,
		    bool alone)
{
	const struct run_rank *r = &w->run->ranks[i];
	struct part nic = part_at(PART_NIC, r->node, r->nic);
	struct part gpu = part_at(PART_GPU, r->node, r->gpu);
	bool known = isfinite(w->t.inside[TX][i]);

	nic.direction = gpu.direction = direction_of(way);
	if (!alone || (known && bad_inside(w, i, way, e->by))) {
		return add(w, &gpu, NULL, e, tests_of(w, i, 1, way));
	}
	return add(w, &nic, known ? NULL : &gpu, e, tests_of(w, i, 1, way));
}

/** How many ranks of its node use the NIC of rank @i. */
static size_t sharers(const struct work *w, size_t i)
{
	const struct run_node *n = &w->run->nodes[w->run->ranks[i].node];
	size_t same = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		same += w->run->ranks[r].nic == w->run->ranks[i].nic;
	}
	return same;
}

/** Have all ranks that share the NIC of @i lost about as much? */
static bool all_share(const struct work *w, const struct peers *x, size_t i,
		      int way)
{
	const struct run_node *n = &w->run->nodes[w->run->ranks[i].node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (w->run->ranks[r].nic == w->run->ranks[i].nic &&
		    !(x->mean[way][r] < x->mean[way][i] / 2)) {
			return false;
		}
	}
	return true;
}

static int find_ranks(struct work *w, double z)
{
	struct peers x;
	int rc = peers_init(&x, w->ranks, w->nodes);

	if (rc == 0) {
		for (int k = 0; k < 2; k++) {
			memcpy(x.samples[k], w->t.of[k],
			       w->ranks * w->nodes * sizeof(float));
		}
		learn(w, &x, w->nodes);
		level_inside(w);
	}
	for (size_t i = 0; rc == 0 && i < w->ranks; i++) {
		int way = way_of(&x, i);
		size_t shared = sharers(w, i);
		const struct run_rank *r = &w->run->ranks[i];
		bool first = i == 0 || r[-1].node != r->node ||
			     r[-1].nic != r->nic;
		struct estimate e;

		if (!is_worse(w, &x, w->nodes, i, way, z, &e)) {
			continue;
		}
		if (shared > 1 && all_share(w, &x, i, way)) {
			struct part p = part_at(PART_NIC, r->node, r->nic);

			p.direction = direction_of(way);
			rc = first ? add(w, &p, NULL, &e,
					 tests_of(w, i, shared, way)) : 0;
		} else {
			rc = add_rank(w, i, way, &e, shared == 1);
		}
	}
	peers_release(&x);
	return rc;
}

/** What the ranks of node @a send to node @b adds to what is usual for them, to
 *  @v; returns how many there are. */
static size_t add_way(const struct work *w, const double *usual, size_t a,
		      size_t b, double *v)
{
	const struct run_node *n = &w->run->nodes[a];
	size_t known = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		double one = (double)w->t.of[TX][(size_t)r * w->nodes + b] -
			     usual[r];

		if (isfinite(one)) {
			v[known++] = one;
		}
	}
	return known;
}

/** The link between two nodes, both ways; NAN. */
static double link_of(const struct work *w, const double *usual, size_t a,
		      size_t b)
{
	size_t n = add_way(w, usual, a, b, w->room);

	n += add_way(w, usual, b, a, w->room + n);
	return n ? stats_select(w->room, n, n / 2) : NAN;
}

static int add_link(struct work *w, size_t a, size_t b, double by, double half)
{
	struct part p = part_at(PART_NODE_PAIR, (int)a, -1);
	const struct estimate e = { .by = by, .half = half, .partners = 2 };

	p.peer_node = (int)b;
	if (!(by <= -w->least && by + half < 0)) {
		return 0;
	}
	return add(w, &p, NULL, &e, (size_t)(w->run->nodes[a].gpus *
					     w->run->nodes[b].gpus * 2));
}

/** Links between two nodes, beside all others. */
static int find_links(struct work *w, double z)
{
	size_t n = 0, links = w->nodes * (w->nodes - 1) / 2;
	double *by = calloc(2 * links + w->ranks + 1, sizeof(*by));
	double *copy = by + links, *usual = copy + links, mad, median;
	int rc = by ? 0 : -1;

	for (size_t i = 0; by && i < w->ranks; i++) {
		usual[i] = median_of(w, &w->t.of[TX][i * w->nodes], w->nodes,
				     1);
	}
	for (size_t a = 0; by && a < w->nodes; a++) {
		for (size_t b = a + 1; b < w->nodes; b++) {
			by[n] = link_of(w, usual, a, b);
			copy[n] = isfinite(by[n]) ? by[n] : 0;
			n++;
		}
	}
	mad = by ? stats_mad(copy, n, &median) / MAD_OF_SIGMA : 0;
	n = 0;
	for (size_t a = 0; rc == 0 && a < w->nodes; a++) {
		for (size_t b = a + 1; rc == 0 && b < w->nodes; b++) {
			rc = add_link(w, a, b, by[n++], z * mad);
		}
	}
	free(by);
	return rc;
}

/** Logarithms into what the caller asked for. */
static void finish(struct effects *out, enum effects_of of)
{
	for (size_t i = 0; i < out->n; i++) {
		struct effect *e = &out->list[i];
		double low = e->low;

		if (of == EFFECTS_LATENCY) {
			e->ratio = exp(-e->ratio);
			e->low = exp(-e->high);
			e->high = exp(-low);
		} else {
			e->ratio = exp(e->ratio);
			e->low = exp(e->low);
			e->high = exp(e->high);
		}
	}
}

/** All that is found with intervals for so many parts and ways. */
static int find(struct work *w, const uint8_t *skip, enum effects_of of,
		size_t family)
{
	double z = normal_quantile(ALPHA / 2 / (double)family);
	int rc = -1;

	w->t = (struct table){ 0 };
	effects_release(&w->out);
	if (table_init(&w->t, w->ranks, w->nodes) == 0 &&
	    fill(w, skip, of) == 0) {
		for (int k = 0; k < 2; k++) {
			polish(w, w->t.of[k]);
			level_index(w, w->t.of[k], w->nodes);
		}
		rc = find_nodes(w, z) < 0 || find_ranks(w, z) < 0 ? -1 : 0;
	}
	/* flows that meet change the bandwidth of a link, not its latency */
	if (rc == 0 && of == EFFECTS_LATENCY && w->nodes >= LEAST_NODES) {
		rc = find_links(w, z);
	}
	table_release(&w->t);
	return rc;
}

int effects_find(const struct run *run, const uint8_t *skip,
		 enum effects_of of, double least, struct effects *out)
{
	struct work w = {
		.run = run, .nodes = (size_t)run->n_nodes,
		.ranks = (size_t)run->n_ranks,
		.least = of == EFFECTS_LATENCY ? log1p(least) : -log1p(-least),
	};
	size_t family = WAYS * (w.nodes + 2 * w.ranks), before;
	int rc = -1;

	*out = (struct effects){ 0 };
	if (w.nodes < 2 || w.ranks < LEAST_PEERS) {
		return 0;
	}
	w.room = calloc(2 * w.ranks + w.nodes + 1, sizeof(*w.room));
	/* each one that is found leaves fewer for chance to find */
	do {
		before = w.out.n;
		rc = w.room ? find(&w, skip, of, family - before) : -1;
	} while (rc == 0 && w.out.n > before);
	free(w.room);
	if (rc < 0) {
		effects_release(&w.out);
		return -1;
	}
	*out = w.out;
	finish(out, of);
	return 0;
}

void effects_release(struct effects *e)
{
	free(e->list);
	*e = (struct effects){ 0 };
}
