/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two slow faults in one place: a GPU, or a node, whose tests with other nodes
 * lose much more than those inside its node.  A GPU that is slow alone is the
 * less so beside a slower network, never more: the rest is its NIC's, or the
 * network's of the node.
 */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"

/** Outside the node it must reach less than this share of what it does
 *  inside. */
#define DEEPER 0.85
/** Fewer tests are chance. */
#define LEAST_TESTS 3

/** Tests of one part by how they go: inside its node, and, outside, as sender
 *  and as receiver. */
enum { INSIDE, SENDS, RECEIVES, WAYS };

struct depth {
	const struct verdict *v;
	size_t found, self;	/* slow parts, and which of them is asked */
	double *of[WAYS];	/* share of what is usual */
	size_t n[WAYS];
};

static int depth_init(struct depth *d, size_t most)
{
	d->of[INSIDE] = calloc(WAYS * most + 1, sizeof(double));
	d->of[SENDS] = d->of[INSIDE] + most;
	d->of[RECEIVES] = d->of[SENDS] + most;
	return d->of[INSIDE] ? 0 : -1;
}

/** Is another slow part on the way, which would be the reason? */
static bool is_shared(const struct run *run, const struct depth *d, int src,
		      int dst)
{
	for (size_t i = 0; i < d->found; i++) {
		const struct finding *f = &d->v->findings[i];

		if (i != d->self && strcmp(f->code, "slow") == 0 &&
		    part_touches(run, &f->part, src, dst)) {
			return true;
		}
	}
	return false;
}

static void add_cell(const struct run *run, const struct part *p, int src,
		     int dst, struct depth *d)
{
	const struct cell *c = run_cell(run, src, dst);
	const struct slow_limit *usual = &run->slow[c->path];
	double share = (double)c->bw_GB_s / usual->median_GB_s;
	int way = c->path == PATH_INTRA		      ? INSIDE :
		  run->ranks[src].node == p->node ? SENDS : RECEIVES;

	if (c->class == CELL_SLOW && c->path != PATH_NVLINK &&
	    usual->peers >= CELLS_SLOW_PEERS && isfinite(share) &&
	    part_touches(run, p, src, dst) && !is_shared(run, d, src, dst)) {
		d->of[way][d->n[way]++] = share;
	}
}

static void hear(const struct run *run, const struct part *p, struct depth *d)
{
	const struct run_node *n = &run->nodes[p->node];

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		for (int peer = 0; peer < run->n_ranks; peer++) {
			bool inside = run->ranks[peer].node == p->node;

			if (peer != r) {
				add_cell(run, p, r, peer, d);
			}
			if (!inside) {
				add_cell(run, p, peer, r, d);
			}
		}
	}
}

/** What of @p is its way out; of kind PART_PAIR where that is none of its
 *  own. */
static struct part way_out(const struct run *run, const struct part *p)
{
	const struct run_node *n = &run->nodes[p->node];
	int nic, users = 0;

	if (p->kind == PART_NODE) {
		return part_at(PART_NODE_NETWORK, p->node, -1);
	}
	nic = run->ranks[n->first_rank + p->index].nic;
	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		users += run->ranks[r].nic == nic;
	}
	return part_at(users == 1 ? PART_NIC : PART_PAIR, p->node, nic);
}

static bool is_deeper(struct depth *d, int way, double inside)
{
	return d->n[way] >= LEAST_TESTS &&
	       stats_median(d->of[way], d->n[way]) < DEEPER * inside;
}

static void judge(const struct run *run, const struct part *p,
		  struct depth *d, struct verdict *v)
{
	struct part out = way_out(run, p);
	char name[PART_NAME_SIZE], whole[PART_NAME_SIZE];
	struct finding *f;
	double inside, outside;
	bool tx, rx;

	if (d->n[INSIDE] < LEAST_TESTS || out.kind == PART_PAIR) {
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
	part_name(run, &out, name, sizeof(name));
	part_name(run, p, whole, sizeof(whole));
	f = finding_add(v, &out, "slow");
	f->fail = !run->shared_cores;
	f->score = 0;
	f->cells = part_measured(run, &out);
	f->explained = (tx ? d->n[SENDS] : 0) + (rx ? d->n[RECEIVES] : 0);
	finding_say(f, "%s is slow as well: tests with other nodes reach %.0f "
		    "%% of what is usual, those of %s inside the node %.0f %%",
		    name, 100 * outside, whole, 100 * inside);
}

void depth_findings(const struct run *run, struct verdict *v)
{
	size_t found = v->n;

	if (run->mesh || run->ports) {
		return;
	}
	for (size_t i = 0; i < found; i++) {
		const struct part p = v->findings[i].part;
		struct depth d = { .v = v, .found = found, .self = i };

		if (!part_is(&p, KIND(NODE) | KIND(GPU)) ||
		    strcmp(v->findings[i].code, "slow") != 0 ||
		    v->findings[i].n_or > 0) {
			continue;
		}
		if (depth_init(&d, (size_t)(run->nodes[p.node].gpus *
					    run->n_ranks)) < 0) {
			v->failed = true;
			return;
		}
		hear(run, &p, &d);
		judge(run, &p, &d, v);
		free(d.of[INSIDE]);
	}
}
