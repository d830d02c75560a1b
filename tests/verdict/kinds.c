/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts that are neither node, NIC, GPU, rail nor pair: random clusters in
 * which the network of a node, the NVLinks of a GPU, a rail of some nodes,
 * paths between leaf switches, cables or a socket are dead or slow.  Slow parts
 * meet as their product, or as the slowest of them.
 * usage: kinds [SEEDS [FIRST [NAME]]]	NAME: of a line's begin; prints a table,
 * and TAP; V=1: what was missed
 */
#include <stdlib.h>
#include <string.h>

#include "report/judge/pairs.h"
#include "tests/verdict/cluster.h"
#include "tests/verdict/dice.h"
#include "tests/verdict/table.h"
#include "tests/layout.h"

#define MAX_NODES  24
#define MAX_FAULTS 3

struct world {
	struct layout layout;
	int gpus, nics, leaf_size, n_leaves;
	int leaf_of[MAX_NODES];
};

static int first_of(const struct world *w, int leaf)
{
	return leaf * w->leaf_size;
}

static int last_of(const struct world *w, int leaf)
{
	int last = (leaf + 1) * w->leaf_size - 1;

	return last < w->layout.n_nodes ? last : w->layout.n_nodes - 1;
}

/** Of two or three faults in a small cluster one may be hidden by the
 *  others. */
static void draw_world(struct dice *d, bool large, bool own_nics,
		       struct world *w)
{
	static char text[MAX_NODES][16];
	const char *names[MAX_NODES];
	int gpus[MAX_NODES], nics[MAX_NODES];
	int nodes;

	w->leaf_size = (large ? 3 : 2) + dice_below(d, 4);
	w->n_leaves = (large ? 3 : 2) + dice_below(d, 3 - large);
	nodes = w->leaf_size * w->n_leaves;
	w->gpus = dice_below(d, 4) ? 8 : 4;
	w->nics = dice_below(d, 4) || own_nics ? w->gpus : 4;
	for (int i = 0; i < nodes; i++) {
		snprintf(text[i], sizeof(text[i]), "n%d", i);
		names[i] = text[i];
		gpus[i] = w->gpus;
		nics[i] = w->nics;
		w->leaf_of[i] = i / w->leaf_size;
	}
	if (layout_of(&w->layout, nodes, names, gpus, nics) < 0) {
		abort();
	}
}

/* ---- the parts ----------------------------------------------------------- */

/** A part of its kind: the words of the drill to @out. */
typedef struct part draw_fn(struct dice *d, const struct world *w,
			    const struct run *run, struct str *out);

static const char *draw_way(struct dice *d, struct part *p)
{
	static const char *const words[] = {
		"", " direction=tx", " direction=rx",
	};

	p->direction = dice_below(d, 5) < 3 ? PART_BOTH :
				(enum part_direction)(1 + dice_below(d, 2));
	return words[p->direction];
}

static struct part node_network(struct dice *d, const struct world *w,
				const struct run *run, struct str *out)
{
	struct part p = part_at(PART_NODE_NETWORK,
				dice_below(d, w->layout.n_nodes), -1);

	(void)run;
	str_addf(out, "node_network=%d%s", p.node, draw_way(d, &p));
	return p;
}

static struct part intra_node(struct dice *d, const struct world *w,
			      const struct run *run, struct str *out)
{
	struct part p = part_at(PART_INTRA_NODE,
				dice_below(d, w->layout.n_nodes), -1);

	(void)run;
	str_addf(out, "intra_node=%d", p.node);
	return p;
}

static struct part gpu_nvlink(struct dice *d, const struct world *w,
			      const struct run *run, struct str *out)
{
	int gpu = dice_below(d, w->gpus);
	struct part p = part_at(PART_GPU_NVLINK,
				dice_below(d, w->layout.n_nodes), gpu);

	(void)run;
	str_addf(out, "gpu_nvlink=%d:%d%s", p.node, p.index, draw_way(d, &p));
	return p;
}

static struct part rail_leaf(struct dice *d, const struct world *w,
			     const struct run *run, struct str *out)
{
	int leaf = dice_below(d, w->n_leaves);
	struct part p = part_at(PART_RAIL_LEAF, -1, dice_below(d, w->nics));

	p.peer_index = run->nodes[first_of(w, leaf)].leaf - 1;
	str_addf(out, "rail_leaf=%d:%d-%d", p.index, first_of(w, leaf),
		 last_of(w, leaf));
	return p;
}

static struct part between(struct dice *d, const struct world *w,
			   const struct run *run, enum part_kind kind,
			   struct str *out)
{
	int a = dice_below(d, w->n_leaves), b = dice_below(d, w->n_leaves - 1);
	struct part p = part_of_kind(kind);
	int low, high;

	b += b >= a;
	low = run->nodes[first_of(w, a)].leaf - 1;
	high = run->nodes[first_of(w, b)].leaf - 1;
	p.index = low < high ? low : high;
	p.peer_index = low < high ? high : low;
	str_addf(out, "%s=%d-%d:%d-%d", part_kind_name(kind), first_of(w, a),
		 last_of(w, a), first_of(w, b), last_of(w, b));
	return p;
}

static struct part leaf_pair(struct dice *d, const struct world *w,
			     const struct run *run, struct str *out)
{
	return between(d, w, run, PART_LEAF_PAIR, out);
}

static struct part fabric_path(struct dice *d, const struct world *w,
			       const struct run *run, struct str *out)
{
	struct part p = between(d, w, run, PART_FABRIC_PATH, out);

	str_addf(out, " fraction=%g", dice_below(d, 2) ? 0.125 : 0.25);
	return p;
}

static struct part cable_swap(struct dice *d, const struct world *w,
			      const struct run *run, struct str *out)
{
	int a = dice_below(d, w->nics), b = dice_below(d, w->nics - 1);
	struct part p = part_at(PART_CABLE_SWAP,
				dice_below(d, w->layout.n_nodes),
				-1);

	(void)run;
	b += b >= a;
	p.index = a < b ? a : b;
	p.peer_index = a < b ? b : a;
	str_addf(out, "cable_swap=%d:%d-%d", p.node, a, b);
	return p;
}

static struct part socket_of(struct dice *d, const struct world *w,
			     const struct run *run, struct str *out)
{
	int socket = dice_below(d, 2);
	struct part p = part_at(PART_SOCKET, dice_below(d, w->layout.n_nodes),
				socket);

	(void)run;
	str_addf(out, "socket=%d:%d", p.node, p.index);
	return p;
}

/** The NIC of a GPU, which has it alone. */
static struct part nic_of_gpu(struct dice *d, const struct world *w,
			      const struct run *run, struct str *out)
{
	int nic = dice_below(d, w->nics);
	struct part p = part_at(PART_NIC, dice_below(d, w->layout.n_nodes),
				nic);

	(void)run;
	str_addf(out, "nic=%d:%d", p.node, p.index);
	return p;
}

static draw_fn *const kinds[] = {
	node_network, intra_node, gpu_nvlink, rail_leaf, fabric_path,
	leaf_pair, cable_swap, socket_of,
};
#define KINDS ((int)(sizeof(kinds) / sizeof(*kinds)))

/** Of two on one node, or between the same switches, no more than one part with
 *  the cells of both is there to be seen. */
static bool is_alike(const struct part *a, const struct part *b)
{
	int x[] = { part_leaf(a), part_peer_leaf(a) };
	int y[] = { part_leaf(b), part_peer_leaf(b) };
	bool same = a->node >= 0 && a->node == b->node;

	for (int i = 0; i < 4; i++) {
		same = same || (x[i / 2] >= 0 && x[i / 2] == y[i % 2]);
	}
	return same;
}

/* ---- what is asked ------------------------------------------------------- */

struct question {
	struct row row;
	draw_fn *part;		/* NULL: any */
	int n_faults;
	bool slow;		/* else dead */
	bool hidden;		/* nobody knows the leaf switches */
	bool twice;		/* the GPU of the NIC is slow as well */
	bool paths;		/* a share of all paths between nodes as well,
				 * and nobody knows the leaf switches */
	bool nvlink;		/* a NIC, where two nodes are an NVLink
				 * domain */
};

static void show(uint64_t seed, const struct world *w, const char *drill)
{
	printf("# seed %llu: %d nodes, %d GPUs, %d NICs, leaves of %d\n# %s",
	       (unsigned long long)seed, w->layout.n_nodes, w->gpus, w->nics,
	       w->leaf_size, drill);
}

/** The switches of @p as @run calls them, which found them itself. */
static void rename_leaves(const struct run *places, const struct run *run,
			  struct part *p)
{
	int *of[] = { p->kind == PART_RAIL_LEAF ? NULL : &p->index,
		      &p->peer_index };

	for (int i = 0; i < 2; i++) {
		int n = 0;

		while (of[i] && places->nodes[n].leaf != *of[i] + 1) {
			n++;
		}
		if (of[i]) {
			*of[i] = run->nodes[n].leaf - 1;
		}
	}
	if (p->kind != PART_RAIL_LEAF && p->index > p->peer_index) {
		int low = p->peer_index;

		p->peer_index = p->index;
		p->index = low;
	}
}

/** The follow-up of a suspected NIC is of pairs that use one; returns how many
 *  tests it made, or -1 where some ran over NVLink. */
static long follow_up_by_nics(const struct run *run)
{
	for (size_t i = 0; i < run->n_follow; i++) {
		if (run->cells[run->follow[i].at].path == PATH_NVLINK) {
			return -1;
		}
	}
	return (long)run->n_follow;
}

/** A NIC of a cluster of which two nodes each are an NVLink domain. */
static void ask_nic(const struct question *q, uint64_t seed, struct score *s)
{
	struct dice d = { .of = 0x6d6e6e76, .more = 3, .seed = seed };
	struct str text = STR_INIT, words = STR_INIT;
	struct drill drill;
	struct verdict v;
	struct world w;
	struct part p;
	struct run run;
	const struct truth truth = { .parts = &p, .n = 1 };
	bool right;
	long tests;

	draw_world(&d, true, true, &w);
	for (int r = 0; r < w.layout.n_ranks; r++) {
		w.layout.n_domains = 1 + w.layout.ranks[r].node / 2;
		w.layout.ranks[r].domain = w.layout.n_domains;
	}
	p = nic_of_gpu(&d, &w, &run, &words);
	str_addf(&text, "%s %s%s\n", q->slow ? "slow" : "dead",
		 str_text(&words), q->slow ?
		 " factor=0.9\nnoise percent=1" : "");
	if (drill_parse(str_text(&text), text.len, &drill, NULL) < 0) {
		abort();
	}
	cluster_run_pairs(&w.layout, w.leaf_of, &drill, NULL, seed, &run);
	cluster_judge(&run, false, &v);
	tests = follow_up_by_nics(&run);
	right = score_add(s, &truth, &run, &v);
	if (right && (tests < 0 || q->slow > tests)) {
		s->exact--;
		s->severe--;
	}
	if (getenv("V") && (!right || tests < 0 || q->slow > tests)) {
		show(seed, &w, str_text(&text));
		printf("# %ld tests of the follow-up\n", tests);
	}
	verdict_release(&v);
	cluster_release(&run);
	drill_release(&drill);
	layout_release(&w.layout);
	str_release(&words);
	str_release(&text);
}

static void ask(const void *question, uint64_t seed, struct score *s)
{
	const struct question *q = question;
	struct dice d = { .of = 0x6b696e64, .more = 3, .seed = seed };
	struct part parts[MAX_FAULTS + 1];
	struct str text = STR_INIT;
	struct run places, run;
	struct verdict v;
	struct drill drill;
	struct world w;
	struct truth truth;

	if (q->nvlink) {
		ask_nic(q, seed, s);
		return;
	}
	draw_world(&d, q->n_faults > 1 || q->hidden, q->twice || q->paths,
		   &w);
	cluster_layout(&w.layout, w.leaf_of, &places);
	for (int i = 0; i < q->n_faults; i++) {
		draw_fn *part = q->part ? q->part :
				kinds[dice_below(&d, KINDS)];
		struct str words = STR_INIT;
		bool alike = false;

		parts[i] = part(&d, &w, &places, &words);
		for (int k = 0; k < i; k++) {
			alike = alike || is_alike(&parts[i], &parts[k]);
		}
		if (alike) {
			i--;
		} else {
			str_addf(&text, "%s %s%s\n", q->slow ? "slow" : "dead",
				 str_text(&words),
				 q->slow ? " factor=0.6" : "");
		}
		str_release(&words);
	}
	if (q->twice) {
		parts[1] = part_at(PART_GPU, parts[0].node, parts[0].index);
		str_addf(&text, "slow gpu=%d:%d factor=0.75\n", parts[1].node,
			 parts[1].index);
	}
	if (q->paths) {
		static const double shares[] = { 0.0625, 0.125, 0.25 };

		parts[q->n_faults] = part_of_kind(PART_FABRIC_PATH);
		str_addf(&text, "%s paths fraction=%g%s\n",
			 q->slow ? "slow" : "dead", shares[dice_below(&d, 3)],
			 q->slow ? " factor=0.6" : "");
	}
	str_addf(&text, "noise percent=2 meet=%s\n",
		 drill_meets[dice_below(&d, 2)]);
	if (drill_parse(str_text(&text), text.len, &drill, NULL) < 0) {
		abort();
	}
	cluster_run(&w.layout, q->hidden || q->paths ? NULL : w.leaf_of, &drill,
		    seed, &run);
	for (int i = 0; q->hidden && i < q->n_faults; i++) {
		rename_leaves(&places, &run, &parts[i]);
	}
	cluster_judge(&run, false, &v);
	truth = (struct truth){
		.parts = parts,
		.n = (size_t)(q->n_faults + q->twice + q->paths),
	};
	if (!score_add(s, &truth, &run, &v) && getenv("V")) {
		show(seed, &w, str_text(&text));
	}
	verdict_release(&v);
	cluster_release(&run);
	cluster_release(&places);
	drill_release(&drill);
	layout_release(&w.layout);
	str_release(&text);
}

#define BOTH_OF(word, fn) \
	{ { word " dead", 98 }, .part = fn, .n_faults = 1 }, \
	{ { word " slow", 98 }, .part = fn, .n_faults = 1, .slow = true }

#define HIDDEN(word, fn) \
	{ { "inferred " word " dead", 98 }, .part = fn, .n_faults = 1, \
	  .hidden = true }, \
	{ { "inferred " word " slow", 98 }, .part = fn, .n_faults = 1, \
	  .slow = true, .hidden = true }

static const struct question questions[] = {
	BOTH_OF("node_network", node_network),
	BOTH_OF("intra_node", intra_node),
	BOTH_OF("gpu_nvlink", gpu_nvlink),
	BOTH_OF("rail_leaf", rail_leaf),
	BOTH_OF("fabric_path", fabric_path),
	BOTH_OF("leaf_pair", leaf_pair),
	BOTH_OF("cable_swap", cable_swap),
	BOTH_OF("socket", socket_of),
	HIDDEN("rail_leaf", rail_leaf),
	HIDDEN("fabric_path", fabric_path),
	HIDDEN("leaf_pair", leaf_pair),
	{ { "slow GPU, its NIC as well", 98 }, .part = nic_of_gpu,
	  .n_faults = 1, .slow = true, .twice = true },
	{ { "dead NIC beside NVLink", 98 }, .nvlink = true },
	{ { "slow NIC beside NVLink", 98 }, .nvlink = true, .slow = true },
	{ { "hashed path dead", 98 }, .paths = true },
	{ { "hashed path slow", 98 }, .paths = true, .slow = true },
	{ { "hashed path, one dead NIC", 97 }, .paths = true,
	  .part = nic_of_gpu, .n_faults = 1 },
	{ { "hashed path, three dead NICs", 97 }, .paths = true,
	  .part = nic_of_gpu, .n_faults = 3 },
	{ { "hashed path, one slow NIC", 97 }, .paths = true, .slow = true,
	  .part = nic_of_gpu, .n_faults = 1 },
	{ { "two dead", 97 }, .n_faults = 2 },
	{ { "two slow", 97 }, .n_faults = 2, .slow = true },
	{ { "three dead", 97 }, .n_faults = 3 },
	{ { "three slow", 97 }, .n_faults = 3, .slow = true },
};

int main(int argc, char **argv)
{
	static const struct table table = {
		.clusters = "clusters of 4 to 24 nodes on 2 to 4 leaf switches",
		.questions = questions, .size = sizeof(*questions),
		.n = sizeof(questions) / sizeof(*questions), .ask = ask,
	};

	return table_main(&table, argc, argv);
}
