/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clusters by another hand: written from what real ones do, not from what the
 * verdict looks at.  A test takes as long as its narrowest stage and the
 * filling of the others; flows between leaf switches are hashed on uplinks and
 * meet those of their round; clocks settle while a node gets warm, the first
 * tests of a rank are slow, the far socket is narrower on every node, a few
 * tests are held up for long, and what is shown is rounded.  After the main
 * pass the follow-up is made, as the program would.
 * usage: other [SEEDS [FIRST [NAME]]]	NAME: of a line's begin; prints a table,
 * and TAP; V=1: what was missed
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "probes/plan/plan.h"
#include "report/judge/pairs.h"
#include "tests/layout.h"
#include "tests/verdict/cluster.h"
#include "tests/verdict/table.h"

#define GPUS	   8
#define MAX_NODES  64
#define MAX_FAULTS 3
#define NVLINK_GB_S 370.0
#define PCIE_GB_S   54.0
#define PORT_GB_S   48.6	/* of 400 Gb/s, less headers */
#define CHUNK_GB    0.00013	/* what a stage holds before the next starts */
#define MAX_UPLINKS 256

enum how { SLOW, DEAD, FLAKY, LATE };

struct fault {
	enum how how;
	struct part part;
	double by;		/* share of the bandwidth that is gone, or of
				 * the tests; late: times */
};

struct site {
	uint64_t seed, draws;
	struct layout layout;
	struct run places;
	int nodes, nics, leaf_size, leaf_of[MAX_NODES];
	double jitter;			/* of a test, sigma */
	double scatter;			/* of parts of one sort, sigma */
	double busy;			/* of the time a flow is on the wire;
					 * 0: each takes the least busy link */
	double numa;			/* the far socket's share of PCIe */
	double cold;			/* what a rank's first test lacks */
	double warm[MAX_NODES];		/* what a node's clocks come down by */
	double stuck;			/* share of tests that are held up */
	double step_GB_s;		/* of what is shown */
	double cross;			/* between rails, by way of a spine */
	double gpu[MAX_NODES * GPUS], nic[MAX_NODES * GPUS];
	int begun[MAX_NODES * GPUS];	/* tests of a rank so far */
	size_t tests;
	int round;			/* that the uplinks are counted of */
	int up[MAX_NODES][MAX_UPLINKS], down[MAX_NODES][MAX_UPLINKS];
	struct fault faults[MAX_FAULTS];
	int n_faults;
};

static double unit(struct site *s)
{
	return hash_unit(s->seed, 0x07e12, ++s->draws, 11);
}

static double between(struct site *s, double low, double high)
{
	return low + (high - low) * unit(s);
}

static int below(struct site *s, int n)
{
	return (int)(unit(s) * n);
}

static bool coin(struct site *s)
{
	return unit(s) < 0.5;
}

/** Of mean 0 and deviation 1: a sum of evens. */
static double bell(struct site *s)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		sum += unit(s);
	}
	return sum;
}

/* ---- what a test meets --------------------------------------------------- */

static bool on_path(const struct site *s, const struct fault *f, int src,
		    int dst)
{
	/* switches choose a link by addresses and ports, which differ by way */
	return part_touches(&s->places.cluster, &f->part, src, dst) &&
	       (f->part.kind != PART_FABRIC_PATH ||
		hash_unit(s->seed, 0xec4, (uint64_t)src, (uint64_t)dst) <
			0.125);
}

static int uplink(const struct site *s, int src, int dst)
{
	return (int)(hash_unit(s->seed, 0xec3, (uint64_t)src, (uint64_t)dst) *
		     s->leaf_size * s->nics) % MAX_UPLINKS;
}

/** Who shares a link in @round, were all ranks to start at once. */
static void count_flows(struct site *s, int round)
{
	int n = s->layout.n_ranks;

	memset(s->up, 0, sizeof(s->up));
	memset(s->down, 0, sizeof(s->down));
	s->round = round;
	for (int a = 0; a < n; a++) {
		int b = sched_partner(n, round, a);
		int from, to;

		if (b < 0) {
			continue;
		}
		from = s->leaf_of[s->layout.ranks[a].node];
		to = s->leaf_of[s->layout.ranks[b].node];
		if (from != to) {
			s->up[from][uplink(s, a, b)]++;
			s->down[to][uplink(s, a, b)]++;
		}
	}
}

/** What the fabric leaves of a port's rate. */
static double fabric(struct site *s, int src, int dst)
{
	int from = s->leaf_of[s->layout.ranks[src].node];
	int to = s->leaf_of[s->layout.ranks[dst].node];
	int round = sched_round_of(s->layout.n_ranks, src, dst);
	int link = uplink(s, src, dst), flows;

	if (from == to || s->busy <= 0) {
		return 1;
	}
	if (round != s->round) {
		count_flows(s, round);
	}
	flows = s->up[from][link];
	flows = flows > s->down[to][link] ? flows : s->down[to][link];
	return 1 / (1 + between(s, 0, s->busy) * (flows > 1 ? flows - 1 : 0));
}

/** Seconds for one stage after the other; the narrowest one counts whole. */
static double take_s(const double *stages, int n, double gb)
{
	double least = stages[0], fill = 0;

	for (int i = 0; i < n; i++) {
		least = fmin(least, stages[i]);
		fill += CHUNK_GB / stages[i];
	}
	return gb / least + fill - CHUNK_GB / least;
}

static double pcie(const struct site *s, int rank)
{
	return PCIE_GB_S *
	       (s->layout.ranks[rank].gpu >= GPUS / 2 ? s->numa : 1);
}

/** What there is at most between two ranks, nothing being wrong. */
static double narrowest(const struct site *s, int src, int dst)
{
	const struct cluster_rank *a = &s->layout.ranks[src];
	const struct cluster_rank *b = &s->layout.ranks[dst];
	double port = PORT_GB_S * (a->nic != b->nic ? s->cross : 1);

	return a->node == b->node ?
		       NVLINK_GB_S :
		       fmin(port, fmin(pcie(s, src), pcie(s, dst)));
}

/** Of the cables of a node two are exchanged: its rails are then others. */
static bool is_swapped(const struct site *s, int rank, int *nic)
{
	for (int i = 0; i < s->n_faults; i++) {
		const struct part *p = &s->faults[i].part;

		if (p->kind == PART_CABLE_SWAP &&
		    p->node == s->layout.ranks[rank].node &&
		    (*nic == p->index || *nic == p->peer_index)) {
			*nic = *nic == p->index ? p->peer_index : p->index;
			return true;
		}
	}
	return false;
}

static double seconds(struct site *s, int src, int dst, bool alone, double gb)
{
	const struct cluster_rank *a = &s->layout.ranks[src];
	const struct cluster_rank *b = &s->layout.ranks[dst];
	double chain[5 + MAX_FAULTS], most = narrowest(s, src, dst);
	int n = 0, from = a->nic, to = b->nic;

	if (a->node == b->node) {
		chain[n++] = NVLINK_GB_S * s->gpu[src];
		chain[n++] = NVLINK_GB_S * s->gpu[dst];
	} else {
		is_swapped(s, src, &from);
		is_swapped(s, dst, &to);
		chain[n++] = pcie(s, src) * s->gpu[src];
		chain[n++] = PORT_GB_S * s->nic[a->node * GPUS + a->nic];
		chain[n++] = PORT_GB_S * (from != to ? s->cross : 1) *
			     (alone ? 1 : fabric(s, src, dst));
		chain[n++] = PORT_GB_S * s->nic[b->node * GPUS + b->nic];
		chain[n++] = pcie(s, dst) * s->gpu[dst];
	}
	for (int i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->faults[i];

		if (f->how == SLOW && f->part.kind != PART_CABLE_SWAP &&
		    on_path(s, f, src, dst)) {
			chain[n++] = most * (1 - f->by);
		}
	}
	return take_s(chain, n, gb);
}

/** What is not of the parts: the moment and the node. */
static double luck(struct site *s, int src, int dst, bool alone)
{
	double at = (double)s->tests / (double)(s->layout.n_ranks *
						(s->layout.n_ranks - 1.0));
	double settled = 1 - exp(-6 * at);
	int first = s->begun[src] < s->begun[dst] ? s->begun[src] :
						    s->begun[dst];
	int from = s->layout.ranks[src].node, to = s->layout.ranks[dst].node;
	double f = exp(s->jitter * bell(s));

	f *= 1 - settled * fmax(s->warm[from], s->warm[to]);
	f *= alone ? 1 : 1 - s->cold * exp(-first / 3.0);
	/* a daemon, a retransmission: how long is of no scale */
	if (unit(s) < s->stuck) {
		f /= 1 + 0.1 * pow(1 - unit(s), -1 / 1.5);
	}
	return f;
}

static int test(void *ctx, int src, int dst, int attempt,
		struct xport_result *r)
{
	struct site *s = ctx;
	bool same = layout_same_node(&s->layout, src, dst), alone = attempt > 1;
	double lat_us = (same ? 3.5 : 7.5) * exp(0.06 * bell(s)), gb, bw;

	xport_result_init(r);
	for (int i = 0; i < s->n_faults; i++) {
		const struct fault *f = &s->faults[i];

		if (!on_path(s, f, src, dst)) {
			continue;
		}
		if (f->how == DEAD || (f->how == FLAKY && unit(s) < f->by)) {
			xport_fail(r, OUTCOME_TIMEOUT, "timeout",
				   "no answer from the other end");
			return dst;
		}
		lat_us *= f->how == LATE ? f->by : 1;
	}
	gb = (double)CLUSTER_SIZE_B / 1e9;
	bw = luck(s, src, dst, alone) * gb /
	     (seconds(s, src, dst, alone, gb) + lat_us * 1e-6);
	r->bw_GB_s = s->step_GB_s > 0 ?
			     round(bw / s->step_GB_s) * s->step_GB_s : bw;
	r->lat_us = lat_us;
	r->outcome = OUTCOME_OK;
	s->begun[src]++;
	s->begun[dst]++;
	s->tests++;
	return dst;
}

/* ---- what sites are like ------------------------------------------------- */

typedef void trait_fn(struct site *s);

static void calm(struct site *s)
{
	s->jitter = 0.02;
	s->scatter = 0.002;
}

/** Links are chosen by a hash, and not by what they carry. */
static void hashed(struct site *s)
{
	calm(s);
	s->busy = between(s, 0.05, 0.5);
}

/** One socket is far from the NICs, and ranks warm up. */
static void built(struct site *s)
{
	calm(s);
	s->numa = between(s, 0.8, 1);
	s->cold = between(s, 0, 0.2);
	s->cross = coin(s) ? between(s, 0.6, 1) : 1;
}

/** Clocks come down, some tests are held up, and figures are rounded. */
static void restless(struct site *s)
{
	s->jitter = between(s, 0.003, 0.04);
	s->scatter = between(s, 0.001, 0.005);
	s->stuck = between(s, 0, 0.005);
	s->step_GB_s = coin(s) ? 0.5 : 0.01;
	for (int i = 0; i < s->nodes; i++) {
		s->warm[i] = between(s, 0, 0.025);
	}
}

/** Any of these. */
static void any(struct site *s)
{
	static trait_fn *const all[] = { hashed, built, restless };

	calm(s);
	for (int i = 0; i < 3; i++) {
		if (coin(s)) {
			all[i](s);
		}
	}
}

struct question {
	struct row row;
	trait_fn *trait;
	unsigned kinds;		/* of the parts: a mask of KIND() */
	enum how how;
	double by;
	int n_faults;
	int most_nodes;		/* 0: as many as there may be */
	enum severity severity;
};

#define IN_NODE	(KIND(GPU) | KIND(NIC) | KIND(NODE))
#define LEAVES	(KIND(RAIL_LEAF) | KIND(FABRIC_PATH) | KIND(LEAF_PAIR))

static void draw_places(struct site *s, const struct question *q)
{
	static char names[MAX_NODES][16];
	const char *list[MAX_NODES];
	int gpus[MAX_NODES], nics[MAX_NODES];
	int least = q->n_faults == 0 ? 2 : 4;
	int most = q->most_nodes ? q->most_nodes : MAX_NODES;
	bool leaves = (q->kinds & LEAVES) != 0;
	/* of two nobody knows how fast it should be between them */
	int n_leaves = (q->by < 0.2 && !(q->kinds & KIND(RAIL_LEAF))) ||
		       q->kinds & KIND(LEAF_PAIR) ? 3 : 2;

	s->nodes = (int)(least * pow((most + 0.99) / least, unit(s)));
	s->leaf_size = leaves ? 3 + below(s, 6) : 2 + below(s, 15);
	if (leaves && s->nodes < n_leaves * s->leaf_size) {
		s->nodes = n_leaves * s->leaf_size;
	}
	s->nics = coin(s) || q->kinds & KIND(CABLE_SWAP) ? GPUS : GPUS / 2;
	for (int i = 0; i < s->nodes; i++) {
		snprintf(names[i], sizeof(names[i]), "gpu-%03d", i + 1);
		list[i] = names[i];
		gpus[i] = GPUS;
		nics[i] = s->nics;
		s->leaf_of[i] = i / s->leaf_size;
	}
	if (layout_of(&s->layout, s->nodes, list, gpus, nics) < 0) {
		abort();
	}
	cluster_layout(&s->layout, s->leaf_of, &s->places);
}

static void draw_traits(struct site *s, const struct question *q)
{
	q->trait(s);
	if (q->kinds & KIND(CABLE_SWAP)) {
		s->cross = between(s, 0.6, 0.75);
	}
	for (int i = 0; i < s->nodes * GPUS; i++) {
		s->gpu[i] = exp(s->scatter * bell(s));
		s->nic[i] = exp(s->scatter * bell(s));
	}
}

static struct part draw_part(struct site *s, const struct question *q)
{
	int kind, node = below(s, s->nodes), other = below(s, s->nodes - 1);
	int leaf = s->places.nodes[node].leaf - 1, far;
	struct part p;

	do {
		kind = below(s, PART_KINDS);
	} while ((q->kinds >> kind & 1) == 0);
	p = part_at((enum part_kind)kind, node, -1);
	other += other >= node;
	far = s->places.nodes[other].leaf - 1;
	switch (p.kind) {
	case PART_NODE_PAIR:
		p.node = node < other ? node : other;
		p.peer_node = node < other ? other : node;
		break;
	case PART_GPU:
	case PART_GPU_NVLINK:
		p.index = below(s, GPUS);
		break;
	case PART_NIC:
		p.index = below(s, s->nics);
		p.direction = coin(s) ? PART_BOTH :
					coin(s) ? PART_TX : PART_RX;
		break;
	case PART_SOCKET:
		p.index = below(s, 2);
		break;
	case PART_CABLE_SWAP:
		p.index = below(s, s->nics - 1);
		p.peer_index = p.index + 1;	/* as hands do */
		break;
	case PART_RAIL:
		p.node = -1;
		p.index = below(s, s->nics);
		break;
	case PART_RAIL_LEAF:
		p.node = -1;
		p.index = below(s, s->nics);
		p.peer_index = leaf;
		break;
	case PART_FABRIC_PATH:
	case PART_LEAF_PAIR:
		p.node = -1;
		p.index = leaf < far ? leaf : far;
		p.peer_index = leaf < far ? far : leaf;
		break;
	default:
		break;
	}
	return p;
}

/** Can @p be there at all, and be told from the faults that are?  Where half of
 *  the nodes are slow, the others may as well be the odd ones. */
static bool is_of_use(const struct site *s, enum how how, const struct part *p)
{
	bool pair = p->kind == PART_FABRIC_PATH || p->kind == PART_LEAF_PAIR;
	int nodes = p->kind == PART_NODE;

	for (int i = 0; i < s->n_faults; i++) {
		nodes += s->faults[i].part.kind == PART_NODE;
		if (p->node < 0 || p->node == s->faults[i].part.node) {
			return false;
		}
	}
	return !(how == SLOW && 2 * nodes >= s->nodes) &&
	       !(pair && (p->index < 0 || p->index == p->peer_index)) &&
	       !(p->kind == PART_RAIL_LEAF && p->peer_index < 0);
}

static void draw_faults(struct site *s, const struct question *q)
{
	while (s->n_faults < q->n_faults) {
		struct fault f = { .how = q->how, .part = draw_part(s, q),
				   .by = q->by };

		if (is_of_use(s, f.how, &f.part)) {
			s->faults[s->n_faults++] = f;
		}
	}
}

/* ---- the table ----------------------------------------------------------- */

static void show(const struct site *s, const char *name)
{
	printf("# seed %llu, %s: %d nodes, %d NICs, leaves of %d, jitter %.3f "
	       "busy %.2f numa %.2f cold %.2f stuck %.4f cross %.2f\n",
	       (unsigned long long)s->seed, name, s->nodes, s->nics,
	       s->leaf_size, s->jitter, s->busy, s->numa, s->cold, s->stuck,
	       s->cross);
}

/** What a site is built like is true of it: no part is accused. */
static bool is_site(const void *ctx, const struct finding *f)
{
	const struct site *s = ctx;

	return (s->busy > 0 && strcmp(f->code, "collisions") == 0) ||
	       (s->cross < 1 && (f->part.kind == PART_CROSS_RAIL ||
				 strcmp(f->code, "two_levels") == 0));
}

static void grade(const struct question *q, const struct site *s,
		  const struct verdict *v, struct score *score)
{
	struct part parts[MAX_FAULTS];
	const struct truth truth = {
		.parts = parts, .n = (size_t)s->n_faults,
		.severity = q->severity, .is_site = is_site, .ctx = s,
	};

	for (int i = 0; i < s->n_faults; i++) {
		parts[i] = s->faults[i].part;
	}
	if (!score_add(score, &truth, &s->places, v) && getenv("V")) {
		show(s, q->row.name);
	}
}

static void ask(const void *question, uint64_t seed, struct score *score)
{
	const struct question *q = question;
	struct site *s = calloc(1, sizeof(*s));
	struct cluster_model model = { .test = test, .ctx = s };
	struct verdict v;
	struct run run;

	*s = (struct site){ .seed = seed, .numa = 1, .cross = 1, .round = -1 };
	draw_places(s, q);
	draw_traits(s, q);
	draw_faults(s, q);
	cluster_run_of(&s->layout, s->leaf_of, &model, &run);
	cluster_follow(&s->layout, &model, &run);
	cluster_judge(&run, false, &v);
	grade(q, s, &v, score);
	verdict_release(&v);
	cluster_release(&run);
	cluster_release(&s->places);
	layout_release(&s->layout);
	free(s);
}

#define HEALTHY(word, fn) \
	{ { "healthy: " word, 98 }, .trait = fn }
#define SLOW_BY(percent, least, how_bad) \
	{ { "slow by " #percent " %", least }, .trait = calm, \
	  .kinds = IN_NODE, .n_faults = 1, .how = SLOW, \
	  .by = percent / 100.0, .severity = how_bad }
/** @few: percent of those slow by 12 % that must be exact. */
#define NEW(word, kind, few) \
	{ { word " dead", 98 }, .trait = calm, .kinds = KIND(kind), \
	  .n_faults = 1, .how = DEAD, .severity = FAIL }, \
	{ { word " slow by 40 %", 98 }, .trait = calm, .kinds = KIND(kind), \
	  .n_faults = 1, .how = SLOW, .by = 0.4, .severity = FAIL }, \
	{ { word " slow by 12 %", few }, .trait = calm, .kinds = KIND(kind), \
	  .n_faults = 1, .how = SLOW, .by = 0.12 }

static const struct question questions[] = {
	HEALTHY("calm", calm),
	HEALTHY("hashed uplinks", hashed),
	HEALTHY("far socket, warm-up", built),
	HEALTHY("clocks, outliers, rounding", restless),
	HEALTHY("any of these", any),
	{ { "healthy: 2 or 3 nodes", 98 }, .trait = any,
	  .most_nodes = 3 },
	SLOW_BY(4, 85, WARN),
	SLOW_BY(6, 95, WARN),
	SLOW_BY(8, 98, WARN),
	/* some are too near the line, or have few partners */
	SLOW_BY(12, 90, FAIL),
	SLOW_BY(15, 98, FAIL),
	{ { "slow by 12 %, any site", 0 }, .trait = any, .kinds = IN_NODE,
	  .n_faults = 1, .how = SLOW, .by = 0.12 },
	{ { "dead", 98 }, .trait = any, .kinds = IN_NODE | KIND(RAIL),
	  .n_faults = 1, .how = DEAD, .severity = FAIL },
	{ { "fails 10 % of its tests", 0 }, .trait = calm, .kinds = IN_NODE,
	  .n_faults = 1, .how = FLAKY, .by = 0.1 },
	{ { "fails 5 % of its tests", 0 }, .trait = calm, .kinds = IN_NODE,
	  .n_faults = 1, .how = FLAKY, .by = 0.05 },
	{ { "latency x 2", 90 }, .trait = calm,
	  .kinds = IN_NODE | KIND(NODE_PAIR), .n_faults = 1, .how = LATE,
	  .by = 2 },
	{ { "two dead", 97 }, .trait = calm, .kinds = IN_NODE, .n_faults = 2,
	  .how = DEAD, .severity = FAIL },
	{ { "two slow by 15 %", 97 }, .trait = calm, .kinds = IN_NODE,
	  .n_faults = 2, .how = SLOW, .by = 0.15 },
	{ { "three dead", 97 }, .trait = calm, .kinds = IN_NODE, .n_faults = 3,
	  .how = DEAD, .severity = FAIL },
	{ { "three slow by 15 %", 60 }, .trait = calm, .kinds = IN_NODE,
	  .n_faults = 3, .how = SLOW, .by = 0.15 },
	NEW("node_network", NODE_NETWORK, 90),
	NEW("gpu_nvlink", GPU_NVLINK, 98),
	NEW("intra_node", INTRA_NODE, 98),
	NEW("rail_leaf", RAIL_LEAF, 98),
	NEW("fabric_path", FABRIC_PATH, 95),
	NEW("leaf_pair", LEAF_PAIR, 95),
	NEW("socket", SOCKET, 98),
	{ { "cable_swap", 98 }, .trait = calm, .kinds = KIND(CABLE_SWAP),
	  .n_faults = 1, .how = SLOW, .by = 0.3, .severity = FAIL },
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
