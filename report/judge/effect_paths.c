/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds paths between two leaf switches that are a little slower: all of them,
 * or those that a hash puts on one link.  It looks at the rest of each test
 * after the usual values for its distance, sender and receiver are subtracted.
 */

#include <math.h>
#include <stdlib.h>

#include "lib/base/stats.h"
#include "report/judge/effects.h"
#include "report/judge/findings.h"

/** Deviations from which a single test is slow. */
#define SLOW_DEVIATIONS 3.5
/** A link is slow if the share of its slow tests is this multiple of the share
 *  elsewhere, since some flows that meet are slow anyway ... */
#define TIMES_USUAL 3.0
/** ... and this one at least. */
#define LEAST_SHARE 0.02
/** Minimum effect on the mean of all tests between two switches, as a
 *  logarithm. */
#define LEAST_OFF 0.003

struct paths {
	struct effect_work *w;
	float *left;		/* of each cell; NAN: it does not count */
	double *room;		/* for as many */
	double off;		/* deviation of most of them */
	size_t leaves;
};

static size_t leaf_of(const struct paths *x, int rank)
{
	const struct run *run = x->w->run;

	return (size_t)run->nodes[run->ranks[rank].node].leaf;
}

/** Groups of cells. */
enum paths_group { BY_DISTANCE, BY_SENDER, BY_RECEIVER, BY_LINK, BY_SWITCHES };

/** Returns the group of the cell at @at: by how far apart its ends are (on one
 *  switch or not, on one rail or not), by its sender, its receiver, the nodes
 *  at both ends, or the switches of these: a place in a matrix, the lower one
 *  first; leaf 0 is for nodes whose switch is not known. */
static size_t group_of(const struct paths *x, enum paths_group by, size_t at)
{
	const struct cluster_rank *ranks = x->w->run->ranks;
	int src = run_src(x->w->run, at), dst = run_dst(x->w->run, at);
	size_t a = leaf_of(x, src), b = leaf_of(x, dst);

	switch (by) {
	case BY_DISTANCE:
		return 2 * (a != b) + (ranks[src].nic != ranks[dst].nic);
	case BY_SENDER:
		return (size_t)src;
	case BY_RECEIVER:
		return (size_t)dst;
	case BY_LINK:
		return (size_t)ranks[src].node * x->w->nodes +
		       (size_t)ranks[dst].node;
	case BY_SWITCHES:
		break;
	}
	return a < b ? a * x->leaves + b : b * x->leaves + a;
}



/** Returns the medians of the rests of each of @n groups, which the caller
 *  frees; NAN for an empty group.  NULL when memory runs out. */
static double *medians(const struct paths *x, enum paths_group by, size_t n)
{
	size_t cells = run_n_cells(x->w->run);
	size_t *end = calloc(n + 1, sizeof(*end));
	double *of = calloc(n + 1, sizeof(*of));

	if (!end || !of) {
		free(end);
		free(of);
		return NULL;
	}
	for (size_t at = 0; at < cells; at++) {
		if (isfinite(x->left[at])) {
			end[group_of(x, by, at) + 1]++;
		}
	}
	for (size_t i = 0; i < n; i++) {
		end[i + 1] += end[i];
	}
	for (size_t at = 0; at < cells; at++) {	/* each end moves to its own */
		if (isfinite(x->left[at])) {
			x->room[end[group_of(x, by, at)]++] =
				(double)x->left[at];
		}
	}
	for (size_t i = 0, begin = 0; i < n; begin = end[i++]) {
		size_t known = end[i] - begin;

		of[i] = known ? stats_select(x->room + begin, known, known / 2)
			      : NAN;
	}
	free(end);
	return of;
}

/** Subtracts the median of each group.  Returns 0, or -1 when memory runs
 *  out. */
static int level(struct paths *x, enum paths_group by, size_t n)
{
	double *of = medians(x, by, n);

	for (size_t at = 0; of && at < run_n_cells(x->w->run); at++) {
		if (isfinite(x->left[at])) {
			x->left[at] -= (float)of[group_of(x, by, at)];
		}
	}
	free(of);
	return of ? 0 : -1;
}

/** Computes the rest of all tests between nodes whose switches are known.
 *  Returns 0, or -1 when memory runs out. */
static int look(struct paths *x)
{
	const struct effect_work *w = x->w;
	size_t cells = run_n_cells(w->run);

	x->left = calloc(cells + 1, sizeof(*x->left));
	x->room = calloc(cells + 1, sizeof(*x->room));
	if (!x->left || !x->room) {
		return -1;
	}
	for (size_t at = 0; at < cells; at++) {
		int src = run_src(w->run, at), dst = run_dst(w->run, at);

		x->left[at] = w->run->cells[at].path == PATH_INTER &&
					      leaf_of(x, src) > 0 &&
					      leaf_of(x, dst) > 0 ?
				      effect_log(w, at) : NAN;
	}
	if (level(x, BY_DISTANCE, 4) < 0 ||
	    level(x, BY_SENDER, w->ranks) < 0 ||
	    level(x, BY_RECEIVER, w->ranks) < 0) {
		return -1;
	}
	x->off = stats_deviation(x->room,
				 effect_known(x->left, cells, 1, x->room));
	return 0;
}

/** The links between nodes on switch @a and on switch @b, to row @row of
 *  @peers. */
static void fill_links(const struct paths *x, const double *links, size_t a,
		       size_t b, struct effect_peers *peers, size_t row)
{
	const struct cluster_node *nodes = x->w->run->nodes;
	size_t n = row * peers->width, end = n + peers->width;

	for (size_t s = 0; s < x->w->nodes; s++) {
		for (size_t d = 0; d < x->w->nodes; d++) {
			if ((size_t)nodes[s].leaf == a &&
			    (size_t)nodes[d].leaf == b) {
				peers->samples[TX][n] =
					(float)links[s * x->w->nodes + d];
				peers->samples[RX][n++] =
					(float)links[d * x->w->nodes + s];
			}
		}
	}
	while (n < end) {
		peers->samples[TX][n] = peers->samples[RX][n] = NAN;
		n++;
	}
}

/** All paths between two switches. */
static int find_pairs(struct paths *x, double z)
{
	struct effect_work *w = x->w;
	size_t n = 0, width = 0, pairs = (x->leaves - 1) * (x->leaves - 2) / 2;
	double *links = medians(x, BY_LINK, w->nodes * w->nodes);
	struct effect_peers peers;
	int rc;

	for (int i = 0; i < w->run->n_leaves; i++) {
		size_t most = (size_t)w->run->leaves[i].n_nodes;

		width = most * most > width ? most * most : width;
	}
	rc = effect_peers_init(&peers, pairs, width);
	for (size_t a = 1; rc == 0 && links && a < x->leaves; a++) {
		for (size_t b = a + 1; b < x->leaves; b++) {
			fill_links(x, links, a, b, &peers, n++);
		}
	}
	if (rc == 0 && links) {
		effect_peers_learn(w, &peers);
	}
	n = 0;
	for (size_t a = 1; rc == 0 && links && a < x->leaves; a++) {
		for (size_t b = a + 1; rc == 0 && b < x->leaves; b++, n++) {
			struct part p = part_at(PART_LEAF_PAIR, -1, (int)a - 1);
			struct effect e;

			p.peer_index = (int)b - 1;

			if (effect_is_worse(w, &peers, n, BOTH, z, &e)) {
				rc = effect_add(w, &p, NULL, &e,
						part_measured(w->run, &p));
			}
		}
	}
	effect_peers_release(&peers);
	rc = links ? rc : -1;
	free(links);
	return rc;
}

/** Tests between two switches, and those of them that are slow each by itself.
 */
struct slow_share {
	size_t tests, slow;
	double sum;		/* rests of the slow tests */
	double usual;		/* rest of most tests */
};

static double share_of(const struct slow_share *s)
{
	return s->tests ? (double)s->slow / (double)s->tests : 0;
}

/** One link of those between two switches, of which a hash gives it no more
 *  than half of the tests, or all: more tests are slow there than flows
 *  that meet make anywhere. */
static int add_link(struct paths *x, const struct slow_share *of,
		    const struct part *p, double z)
{
	struct effect_work *w = x->w;
	size_t a = (size_t)p->index + 1, b = (size_t)p->peer_index + 1;
	const struct slow_share *s = &of[a * x->leaves + b];
	double most = -1, usual;	/* share between other switches */
	double half = s->slow ? z * x->off / sqrt((double)s->slow) : 0;
	double by = s->slow ? s->sum / (double)s->slow : 0;
	struct part found = *p;
	const struct effect e = {
		.ratio = by, .low = by - half, .high = by + half,
		.bound = by + half,
		.partners = (size_t)(w->run->leaves[p->index].n_nodes +
				     w->run->leaves[p->peer_index].n_nodes),
	};

	for (size_t c = 1; c < x->leaves; c++) {
		for (size_t d = c + 1; d < x->leaves; d++) {
			const struct slow_share *o = &of[c * x->leaves + d];

			if ((c != a || d != b) && o->tests > 0) {
				most = fmax(most, share_of(o));
			}
		}
	}
	usual = fmax(LEAST_SHARE / 2, TIMES_USUAL * most);
	if (most < 0 || share_of(s) <= usual ||
	    stats_log_tail((double)s->slow, (double)s->tests, usual) >=
		    log(effect_tail(z))) {
		return 0;
	}
	found.kind = s->usual < by / 2 ? PART_LEAF_PAIR : PART_FABRIC_PATH;
	return effect_is_in(w, &found) ? 0 :
	       effect_add(w, &found, NULL, &e, s->tests);
}

static int find_links(struct paths *x, double z)
{
	static const struct suspect_need need = { .percent = 2 };
	const struct run *run = x->w->run;
	size_t n = x->leaves * x->leaves;
	uint8_t *marks = calloc(run_n_cells(run) + 1, 1);
	struct slow_share *of = calloc(n, sizeof(*of));
	double *usual = medians(x, BY_SWITCHES, n);
	double cut = -fmax(SLOW_DEVIATIONS * x->off, x->w->least);
	struct blame b = { 0 };
	int rc = -1;

	if (marks && of && usual) {
		for (size_t i = 0; i < n; i++) {
			of[i].usual = usual[i];
		}
		run_foreach_cell(run, at) {
			bool known = isfinite(x->left[at]);
			bool slow = known && (double)x->left[at] < cut;
			struct slow_share *s;

			marks[at] = !known ? MARK_IGNORE :
				    slow ? MARK_BAD : MARK_GOOD;
			if (known) {
				s = &of[group_of(x, BY_SWITCHES, at)];
				s->tests++;
				s->slow += slow;
				s->sum += slow ? (double)x->left[at] : 0;
			}
		}
		rc = blame_find(run, marks, &need, &b);
	}
	for (size_t i = 0; rc == 0 && i < b.n; i++) {
		const struct part *p = &b.list[i].part;

		if (b.picked[i] && p->peer_index >= 0 &&
		    part_is(p, KIND(FABRIC_PATH) | KIND(LEAF_PAIR))) {
			rc = add_link(x, of, p, z);
		}
	}
	blame_release(&b);
	free(usual);
	free(of);
	free(marks);
	return rc;
}

int effect_find_paths(struct effect_work *w, double z)
{
	struct paths x = { .w = w, .leaves = (size_t)w->run->n_leaves + 1 };
	double *sums = calloc(x.leaves * x.leaves, sizeof(*sums));
	size_t *n = calloc(x.leaves * x.leaves, sizeof(*n));
	bool off = false;
	int rc = sums && n ? 0 : -1;

	/* Usually no mean between two switches is off, and a million cells need
	 * not be looked at. */
	for (size_t i = 0; rc == 0 && i < w->ranks * w->nodes; i++) {
		size_t a = leaf_of(&x, (int)(i / w->nodes));
		size_t b = (size_t)w->run->nodes[i % w->nodes].leaf;
		size_t at = a < b ? a * x.leaves + b : b * x.leaves + a;

		for (int k = 0; k < 2; k++) {
			if (isfinite(w->means[k][i])) {
				sums[at] += (double)w->means[k][i];
				n[at]++;
			}
		}
	}
	for (size_t i = 0; rc == 0 && i < x.leaves * x.leaves; i++) {
		off |= sums[i] < -LEAST_OFF * (double)n[i];
	}
	if (rc == 0 && off) {
		rc = look(&x) < 0 || find_pairs(&x, z) < 0 ||
				     find_links(&x, z) < 0 ? -1 : 0;
	}
	free(n);
	free(sums);
	free(x.left);
	free(x.room);
	return rc;
}
