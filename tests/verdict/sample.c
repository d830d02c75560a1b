/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a sample see what docs/sampling.md says that it sees?  Faults are drawn
 * in clusters of 4,096 ranks, and the pairs of the program's own plan decide
 * who is tested; then smaller clusters with one fault are judged.
 * usage: sample [PLANS [RUNS [FIRST [NODES [KIND]]]]]	prints the tables, and
 * TAP; KIND: of these verdicts alone, such as "NIC fails"; V=1: what they
 * missed
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/plan/plan.h"
#include "report/judge/pairs.h"
#include "tests/layout.h"
#include "tests/verdict/cluster.h"
#include "tests/verdict/dice.h"

#define GPUS 8
#define LARGE 512		/* nodes; leaves have SAMPLED_UPLINKS of them */
#define SMALL 32		/* nodes of those that are judged */
#define SMALL_LEAF 8
#define DRAWS 400		/* faults of a kind, a plan */
#define PARTNERS 16
#define RARE (1 / 3.0)
#define SIGMAS 4		/* a simulation may be so far from a formula */

static void make_layout(struct layout *l, int nodes)
{
	if (layout_init(l, nodes) < 0) {
		abort();
	}
	for (int i = 0; i < nodes; i++) {
		snprintf(l->nodes[i].name, sizeof(l->nodes[i].name), "n%d", i);
		l->nodes[i].gpus = GPUS;
	}
	if (layout_number(l) < 0) {
		abort();
	}
}

static bool report(bool ok, const char *what)
{
	printf("%sok - %s\n", ok ? "" : "not ", what);
	fflush(stdout);
	return ok;
}

/* ---- chances ------------------------------------------------------------- */

/** A plan, as its ranks see it. */
struct world {
	struct layout layout;
	struct sampled sample;
	int (*partners)[PARTNERS], *n;
};

static void draw_world(int rounds, uint64_t seed, struct world *w)
{
	struct pairs p = { .kind = PAIRS_ALL, .rounds = rounds, .seed = seed };
	struct plan plan;

	make_layout(&w->layout, LARGE);
	if (plan_pairs(&w->layout, &p, &plan, NULL) < 0) {
		abort();
	}
	w->sample = plan.sample;
	w->n = calloc((size_t)w->layout.n_ranks, sizeof(*w->n));
	w->partners = calloc((size_t)w->layout.n_ranks, sizeof(*w->partners));
	for (size_t i = 0; i < plan.n; i++) {
		int a = plan.tasks[i].a, b = plan.tasks[i].b;

		w->partners[a][w->n[a]++] = b;
		w->partners[b][w->n[b]++] = a;
	}
	plan_release(&plan);
}

static void free_world(struct world *w)
{
	free(w->partners);
	free(w->n);
	layout_release(&w->layout);
}

/** How many of its tests a part fails that fails a third; of a NIC those
 *  inside the node are none. */
static int fails(const struct world *w, struct dice *d, bool nic)
{
	int rank = dice_below(d, w->layout.n_ranks), n = 0;

	for (int i = 0; i < w->n[rank]; i++) {
		bool inside = layout_same_node(&w->layout, rank,
					       w->partners[rank][i]);

		for (int way = 0; way < 2 && !(nic && inside); way++) {
			n += dice_unit(d) < RARE;
		}
	}
	return n;
}

static int fails_of_gpu(const struct world *w, struct dice *d)
{
	return fails(w, d, false);
}

static int fails_of_nic(const struct world *w, struct dice *d)
{
	return fails(w, d, true);
}

static int leaf_of(int node)
{
	return node / SAMPLED_UPLINKS;
}

/** Flows that leave the leaf of a rail by one of its uplinks. */
static int fails_of_uplink(const struct world *w, struct dice *d)
{
	int leaf = dice_below(d, LARGE / SAMPLED_UPLINKS);
	int rail = dice_below(d, GPUS);
	int n = 0;

	for (int i = 0; i < SAMPLED_UPLINKS; i++) {
		int r = (leaf * SAMPLED_UPLINKS + i) * GPUS + rail;

		for (int k = 0; k < w->n[r]; k++) {
			const struct cluster_rank *to =
				&w->layout.ranks[w->partners[r][k]];
			bool leaves = to->node != w->layout.ranks[r].node &&
				      (to->nic != rail ||
				       leaf_of(to->node) != leaf);

			n += leaves && dice_below(d, SAMPLED_UPLINKS) == 0;
		}
	}
	return n;
}

static int fails_of_nodes(const struct world *w, struct dice *d)
{
	int x = dice_below(d, LARGE);
	int y = (x + 1 + dice_below(d, LARGE - 1)) % LARGE;
	int n = 0;

	for (int r = x * GPUS; r < (x + 1) * GPUS; r++) {
		for (int k = 0; k < w->n[r]; k++) {
			n += w->layout.ranks[w->partners[r][k]].node == y;
		}
	}
	return n;
}

static int fails_of_pair(const struct world *w, struct dice *d)
{
	int n = w->layout.n_ranks, a = dice_below(d, n);
	int b = (a + 1 + dice_below(d, n - 1)) % n;

	for (int k = 0; k < w->n[a]; k++) {
		if (w->partners[a][k] == b) {
			return 1;
		}
	}
	return 0;
}

static double rare_gpu(const struct sampled *s)
{
	return sampled_part(s, false, RARE);
}

static double rare_nic(const struct sampled *s)
{
	return sampled_part(s, true, RARE);
}

static double one_pair(const struct sampled *s)
{
	return s->share;
}

static const struct chance {
	const char *name;
	int (*fails)(const struct world *w, struct dice *d);
	double (*formula)(const struct sampled *s);
	bool bound;		/* the formula is no more than that */
	bool sure;		/* 99 % of them by the usual sample, and more
				 * than one test says so */
} chances[] = {
	{ "a GPU that fails a third", fails_of_gpu, rare_gpu, false, true },
	{ "a NIC that fails a third", fails_of_nic, rare_nic, false, true },
	{ "one uplink of 32", fails_of_uplink, sampled_uplink, true, true },
	{ "two nodes alone", fails_of_nodes, sampled_node_pair, false, false },
	{ "one pair alone", fails_of_pair, one_pair, false, false },
};

#define CHANCES (sizeof(chances) / sizeof(*chances))

static bool check_chances(const char *name, int rounds, int plans,
			  uint64_t first)
{
	size_t seen[CHANCES] = { 0 }, twice[CHANCES] = { 0 };
	double n = (double)plans * DRAWS;
	struct sampled sample = { 0 };
	bool good = true;

	for (int i = 0; i < plans; i++) {
		struct dice d = { .of = 0x5a3b1e, .more = 11,
				  .seed = first + (uint64_t)i };
		struct world w;

		draw_world(rounds, d.seed, &w);
		sample = w.sample;
		for (size_t c = 0; c < CHANCES; c++) {
			for (int k = 0; k < DRAWS; k++) {
				int bad = chances[c].fails(&w, &d);

				seen[c] += bad > 0;
				twice[c] += bad > 1;
			}
		}
		free_world(&w);
	}
	for (size_t c = 0; c < CHANCES; c++) {
		const struct chance *x = &chances[c];
		double p = x->formula(&sample), got = (double)seen[c] / n;
		double off = SIGMAS * sqrt(p * (1 - p) / n) + 1 / n;
		bool ok = got >= p - off && (x->bound || got <= p + off);
		char what[80];

		printf("#| %-9s %-26s %9.3f %9.3f %9.3f\n", name, x->name,
		       100 * p, 100 * got, 100 * (double)twice[c] / n);
		if (rounds == STRATA_DEFAULT && x->sure) {
			ok = ok && (double)twice[c] >= 0.99 * n;
		}
		snprintf(what, sizeof(what), "%s: %s is seen as derived", name,
			 x->name);
		good &= report(ok, what);
	}
	return good;
}

/* ---- verdicts ------------------------------------------------------------ */

/** Nobody says what is on which switch. */
#define UNTOLD "unlisted "

static const struct hard {
	const char *name, *word, *value;
	enum part_kind kind;
	double quick, usual;	/* percent that are named; 0: not asked */
} hards[] = {
	/* nothing is broken, and nothing is named */
	{ "healthy", "noise percent=3", "", PART_KINDS, 99, 99 },
	{ "healthy, heavy tails", "noise percent=2 shape=heavy", "",
	  PART_KINDS, 99, 99 },
	{ "healthy, drift", "noise percent=2 shape=drift", "", PART_KINDS,
	  99, 99 },
	{ "dead GPU", "dead gpu", "", PART_GPU, 99, 99 },
	{ "dead NIC", "dead nic", "", PART_NIC, 99, 99 },
	{ "dead node", "dead node", "", PART_NODE, 99, 99 },
	{ "dead switch", "dead rail_leaf", "", PART_RAIL_LEAF, 99, 99 },
	{ "GPU fails a third", "flaky gpu", " rate=0.333", PART_GPU, 0, 99 },
	{ "NIC fails a third", "flaky nic", " rate=0.333", PART_NIC, 0, 99 },
	{ "dead node network", "dead node_network", "", PART_NODE_NETWORK,
	  99, 99 },
	{ "dead rail", "dead rail", "", PART_RAIL, 99, 99 },
	{ "dead NVLink of a GPU", "dead gpu_nvlink", "", PART_GPU_NVLINK,
	  0, 99 },
	{ "dead " UNTOLD "switch", "dead rail_leaf", "", PART_RAIL_LEAF,
	  0, 99 },
	{ "dead uplink", "dead fabric_path", "", PART_FABRIC_PATH, 0, 99 },
	{ "GPU slow by 15 %", "slow gpu", " factor=0.85", PART_GPU, 0, 99 },
	{ "NIC slow by 15 %", "slow nic", " factor=0.85", PART_NIC, 0, 99 },
	{ "node slow by 15 %", "slow node", " factor=0.85", PART_NODE, 0, 99 },
	{ "GPU slow by 30 %", "slow gpu", " factor=0.7", PART_GPU, 0, 99 },
	{ "NIC slow by 30 %", "slow nic", " factor=0.7", PART_NIC, 0, 99 },
	{ "node slow by 30 %", "slow node", " factor=0.7", PART_NODE, 0, 99 },
};

static int leaf_size(int nodes)
{
	return nodes < LARGE ? SMALL_LEAF : SAMPLED_UPLINKS;
}

static struct part draw_fault(struct dice *d, const struct hard *h,
			      int nodes, char *text, size_t size)
{
	int node = dice_below(d, nodes), index = dice_below(d, GPUS);
	struct part p = { .kind = h->kind, .node = node, .index = index,
			  .peer_node = -1, .peer_index = -1 };
	int size_of_leaf = leaf_size(nodes);
	int leaf = node / size_of_leaf * size_of_leaf;

	if (h->kind == PART_KINDS) {
		snprintf(text, size, "%s\n", h->word);
	} else if (h->kind == PART_FABRIC_PATH) {
		/* of the uplinks of a leaf one, to all others */
		leaf = 0;
		p.node = -1;
		p.index = 0;
		snprintf(text, size, "%s=0-%d:%d-%d fraction=%g%s\n", h->word,
			 size_of_leaf - 1, size_of_leaf, nodes - 1,
			 1.0 / size_of_leaf, h->value);
	} else if (h->kind == PART_RAIL) {
		p.node = -1;
		snprintf(text, size, "%s=%d%s\n", h->word, index, h->value);
	} else if (h->kind == PART_NODE || h->kind == PART_NODE_NETWORK) {
		p.index = -1;
		snprintf(text, size, "%s=%d%s\n", h->word, node, h->value);
	} else if (h->kind == PART_RAIL_LEAF) {
		p.node = -1;
		p.peer_index = leaf / size_of_leaf;
		snprintf(text, size, "%s=%d:%d-%d%s\n", h->word, index, leaf,
			 leaf + size_of_leaf - 1, h->value);
	} else {
		snprintf(text, size, "%s=%d:%d%s\n", h->word, node, index,
			 h->value);
	}
	return p;
}

/** Is @f the fault @p and no other? */
static bool is_exact(const struct finding *f, const struct part *p)
{
	return f->part.kind == p->kind && f->part.node == p->node &&
	       f->part.index == p->index && f->n_or == 0;
}

static bool judge(const struct hard *h, int nodes, int rounds, uint64_t seed)
{
	struct pairs pairs = { .kind = PAIRS_ALL, .rounds = rounds,
			       .seed = seed };
	struct dice d = { .of = 0x5a3b1e, .more = 11, .seed = seed };
	int *leaf_of_node = calloc((size_t)nodes, sizeof(*leaf_of_node));
	struct layout l;
	struct drill drill;
	struct verdict v;
	struct run run;
	struct part p;
	char text[80];
	bool named;

	make_layout(&l, nodes);
	for (int i = 0; leaf_of_node && i < nodes; i++) {
		leaf_of_node[i] = i / leaf_size(nodes);
	}
	p = draw_fault(&d, h, nodes, text, sizeof(text));
	if (drill_parse(text, strlen(text), &drill, NULL) < 0) {
		abort();
	}
	cluster_run_pairs(&l, strstr(h->name, UNTOLD) ? NULL : leaf_of_node,
			  &drill, &pairs, seed, &run);
	free(leaf_of_node);
	cluster_judge(&run, false, &v);
	named = h->kind == PART_KINDS ? v.n == 0 :
		v.n == 1 && is_exact(&v.findings[0], &p);
	for (size_t i = 0; getenv("V") && !named && i < v.n; i++) {
		printf("# %d rounds, seed %" PRIu64 ", %.*s: %s (%zu or)\n",
		       rounds, seed, (int)strcspn(text, "\n"), text,
		       v.findings[i].says, v.findings[i].n_or);
	}
	verdict_release(&v);
	cluster_release(&run);
	drill_release(&drill);
	layout_release(&l);
	return named;
}

static bool check_verdicts(const char *name, const char *kind, int nodes,
			   int rounds, int runs, uint64_t first)
{
	bool good = true;

	for (size_t i = 0; i < sizeof(hards) / sizeof(*hards); i++) {
		const struct hard *h = &hards[i];
		double least = strstr(h->name, kind) == NULL ? 0 :
			       rounds == STRATA_DEFAULT ? h->usual : h->quick;
		double named = 0;
		char what[80];

		for (int k = 0; least > 0 && k < runs; k++) {
			named += judge(h, nodes, rounds, first + (uint64_t)k);
		}
		if (least <= 0) {
			continue;
		}
		named *= 100.0 / runs;
		printf("#| %-9s %-26s %9.1f\n", name, h->name, named);
		snprintf(what, sizeof(what), "%s: %s, named %g %% of the time "
			 "or more", name, h->name, least);
		good &= report(named >= least, what);
	}
	return good;
}

int main(int argc, char **argv)
{
	int plans = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20;
	int runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 100;
	uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	int nodes = argc > 4 ? (int)strtol(argv[4], NULL, 10) : SMALL;
	const char *kind = argc > 5 ? argv[5] : "";
	bool good = true;

	printf("#| %d plans of %d ranks\n#| %-9s %-26s %9s %9s %9s   (%%)\n",
	       plans, LARGE * GPUS, "", "", "derived", "seen", "twice");
	good &= check_chances("quick", STRATA_QUICK, plans, first);
	good &= check_chances("default", STRATA_DEFAULT, plans, first);
	printf("#| %d runs of %d ranks a line\n#| %-9s %-26s %9s   (%%)\n",
	       runs, nodes * GPUS, "", "", "named");
	good &= check_verdicts("quick", kind, nodes, STRATA_QUICK, runs, first);
	good &= check_verdicts("default", kind, nodes, STRATA_DEFAULT, runs,
			       first);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
