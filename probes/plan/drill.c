/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/drill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

/* ---- drill when ---------------------------------------------------------- */

/* When a fault of a drill is there: from which layer on, and unless what. */

const char *const drill_layers[] = {
	[DRILL_TCP] = "tcp", [DRILL_VERBS] = "verbs",
	[DRILL_VERBS_GPU] = "verbs_gpu", [DRILL_CUDA] = "cuda",
	[DRILL_NCCL] = "nccl", NULL
};

enum drill_layer drill_layer_of(const char *transport, bool ports,
				const struct spec *s)
{
	int layer = str_index(drill_layers, transport);

	if (ports) {
		return s->memory == MEMORY_GPU ? DRILL_VERBS_GPU : DRILL_VERBS;
	}
	if (s->layer == LAYER_TCP) {
		return DRILL_TCP;
	}
	return layer >= 0 ? (enum drill_layer)layer : DRILL_NCCL;
}

void drill_settle(struct drill *d, enum drill_layer layer,
		  char *(*env)(const char *name))
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct drill_fault *f = &d->faults[i];
		const char *value = f->unless[0][0] && env ?
					    env(f->unless[0]) : NULL;

		if (layer >= f->from &&
		    !(layer == DRILL_VERBS && drill_parts[f->part].of_gpu) &&
		    !(value && strcmp(value, f->unless[1]) == 0)) {
			d->faults[kept++] = *f;
		}
	}
	d->n = kept;
}

/* ---- drill words --------------------------------------------------------- */

/* The words of a drill: what each one is, and what goes with it. */

const struct drill_kind_word drill_kinds[] = {
	[DRILL_NONE] = { .name = "none" },	/* not a word of the file */
	[DRILL_DEAD] = { .name = "dead" },
	[DRILL_HANG] = { .name = "hang" },
	[DRILL_CRASH] = { .name = "crash" },
	[DRILL_CORRUPT] = { .name = "corrupt" },
	[DRILL_FLAKY] = { .name = "flaky", .value = "rate", .max = 1 },
	[DRILL_SLOW] = { .name = "slow", .value = "factor", .max = 1 },
	[DRILL_WRONG] = { .name = "wrong", .value = "rate", .max = 1 },
	[DRILL_BUSY] = { .name = "busy" },
	[DRILL_NOISE] = { .name = "noise", .value = "percent", .max = 100,
			  .min_too = true, .whole_run = true },
	{ 0 }
};

const struct drill_part_word drill_parts[] = {
	[DRILL_NODE] = {
		.name = "node", .kind = PART_NODE,
		.example = "=3", .counts = "n", .directed = true,
		.says = "node $0",
	},
	[DRILL_GPU] = {
		.name = "gpu", .kind = PART_GPU,
		.example = "=1:4", .counts = "ng", .directed = true,
		.says = "GPU $1 of $0", .of_gpu = true,
	},
	[DRILL_NIC] = {
		.name = "nic", .kind = PART_NIC,
		.example = "=0:2", .counts = "nk", .directed = true,
		.says = "NIC $1 of $0",
	},
	[DRILL_PAIR] = {
		.name = "pair", .kind = PART_PAIR,
		.example = "=0-9", .counts = "rr", .directed = true,
		.says = "the path between $0 and $1",
	},
	[DRILL_NODE_PAIR] = {
		.name = "node_pair", .kind = PART_NODE_PAIR,
		.example = "=0-2", .counts = "nn", .directed = true,
		.says = "the path between $0 and $1",
	},
	[DRILL_RAIL] = {
		.name = "rail", .kind = PART_RAIL,
		.example = "=1", .counts = "l",
		.says = "rail $0",
	},
	[DRILL_CROSS_RAIL] = {
		.name = "cross_rail", .kind = PART_CROSS_RAIL,
		.example = "", .counts = "",
		.says = "the path between rails",
	},
	[DRILL_RANK] = {
		.name = "rank", .kind = PART_GPU,
		.example = "=7", .counts = "r",
		.says = "$0",
	},
	[DRILL_NODE_NETWORK] = {
		.name = "node_network", .kind = PART_NODE_NETWORK,
		.example = "=3", .counts = "n", .directed = true,
		.says = "the network of $0",
	},
	[DRILL_INTRA_NODE] = {
		.name = "intra_node", .kind = PART_INTRA_NODE,
		.example = "=3", .counts = "n",
		.says = "the path inside $0",
	},
	[DRILL_GPU_NVLINK] = {
		.name = "gpu_nvlink", .kind = PART_GPU_NVLINK,
		.example = "=1:4", .counts = "ng", .directed = true,
		.says = "NVLink of GPU $1 of $0", .of_gpu = true,
	},
	[DRILL_RAIL_LEAF] = {
		.name = "rail_leaf", .kind = PART_RAIL_LEAF,
		.example = "=1:0-3", .counts = "lnn",
		.says = "the leaf switch of rail $0 from $1 to $2",
	},
	[DRILL_FABRIC_PATH] = {
		.name = "fabric_path", .kind = PART_FABRIC_PATH,
		.example = "=0-3:4-7", .counts = "nnnn", .partly = true,
		.says = "a link from the switch of $0 to that of $2",
	},
	[DRILL_PATHS] = {
		.name = "paths", .kind = PART_FABRIC_PATH,
		.example = "", .counts = "", .partly = true,
		.says = "a link between nodes, which takes a share of the tests",
	},
	[DRILL_LEAF_PAIR] = {
		.name = "leaf_pair", .kind = PART_LEAF_PAIR,
		.example = "=0-3:4-7", .counts = "nnnn",
		.says = "the link from the switch of $0 to that of $2",
	},
	[DRILL_CABLE_SWAP] = {
		.name = "cable_swap", .kind = PART_CABLE_SWAP,
		.example = "=1:0-2", .counts = "nkk",
		.says = "a cable of NIC $1 or $2 of $0",
	},
	[DRILL_SOCKET] = {
		.name = "socket", .kind = PART_SOCKET,
		.example = "=1:0", .counts = "ns",
		.says = "CPU socket $1 of $0",
	},
	[DRILL_NVLINK_DOMAIN] = {
		.name = "nvlink_domain", .kind = PART_NVLINK_DOMAIN,
		.example = "=0-3", .counts = "nn",
		.says = "the NVLink domain of $0 to $1",
	},
	[DRILL_H2D] = {
		.name = "h2d", .kind = PART_PROCESS,
		.example = "=1:3", .counts = "ng",
		.says = "GPU $1 of $0",
	},
	[DRILL_D2H] = {
		.name = "d2h", .kind = PART_PROCESS,
		.example = "=1:3", .counts = "ng",
		.says = "GPU $1 of $0",
	},
	[DRILL_COMPUTE] = {
		.name = "compute", .kind = PART_PROCESS,
		.example = "=0:2", .counts = "ng",
		.says = "GPU $1 of $0",
	},
	{ 0 }
};

const char *const drill_shapes[] = {
	[DRILL_UNIFORM] = "uniform", [DRILL_HEAVY] = "heavy",
	[DRILL_DRIFT] = "drift", [DRILL_OUTLIER] = "outlier", NULL
};

const char *const drill_meets[] = {
	[DRILL_PRODUCT] = "product", [DRILL_MIN] = "min", NULL
};

/* ---- drill --------------------------------------------------------------- */

void drill_allow_pxn(struct drill *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (d->faults[i].part != DRILL_CROSS_RAIL) {
			d->faults[kept++] = d->faults[i];
		}
	}
	d->n = kept;
}

/* Check that every part is in this run. */

int drill_check(const struct drill *d, const struct layout *l, struct err *e)
{
	int nics = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		nics = l->nodes[i].nics > nics ? l->nodes[i].nics : nics;
	}
	for (size_t i = 0; i < d->n; i++) {
		const struct drill_fault *f = &d->faults[i];
		const char *letter = drill_parts[f->part].counts;

		for (int k = 0; letter[k]; k++) {
			const struct cluster_node *node = &l->nodes[f->at[0]];
			const bool inside = strchr("gks", letter[k]) != NULL;
			const char *what = letter[k] == 'n' ? "node" :
					   letter[k] == 'r' ? "rank" :
					   letter[k] == 'l' ? "rail" :
					   letter[k] == 'g' ? "GPU" :
					   letter[k] == 'k' ? "NIC" : "socket";
			const int n = letter[k] == 'n' ? l->n_nodes :
				      letter[k] == 'r' ? l->n_ranks :
				      letter[k] == 'l' ? nics :
				      letter[k] == 'g' ? node->gpus :
				      letter[k] == 'k' ? node->nics :
							 CLUSTER_SOCKETS;

			if (f->at[k] < n) {
				continue;
			}
			if (!inside) {
				err_set(e, 0, "line %d, column %d: no %s %d in "
					"this run", f->line, f->column, what,
					f->at[k]);
				return err_hint(e, "%ss are counted from 0, and "
						"there are %d", what, n);
			}
			err_set(e, 0, "line %d, column %d: no %s %d on node %d",
				f->line, f->column, what, f->at[k], f->at[0]);
			return err_hint(e, "%ss are counted from 0, and '%s' "
					"has %d", what, node->name, n);
		}
	}
	return 0;
}

/* The cells that a fault affects. */

static bool in_range(int n, int first, int last)
{
	return n >= first && n <= last;
}

/** The part of @f.  Its ranges of nodes are leaf switches 0 and 1, or NVLink
 *  domain 0, for end_of(). */
static struct part part_of(const struct drill_fault *f, const struct layout *l)
{
	const struct drill_part_word *word = &drill_parts[f->part];
	struct part p = part_of_kind(word->kind);

	p.direction = (enum part_direction)f->direction;
	if (word->counts[0] &&
	    part_is(&p, KIND(LEAF_PAIR) | KIND(FABRIC_PATH))) {
		p.index = 0;
		p.peer_index = 1;
	} else if (part_is(&p, KIND(RAIL_LEAF))) {
		p.index = f->at[0];
		p.peer_index = 0;
	} else if (part_is(&p, KIND(NVLINK_DOMAIN))) {
		p.index = 0;
	} else {
		for (int i = 0; word->counts[i]; i++) {
			int *node = p.node < 0 ? &p.node : &p.peer_node;
			int *index = p.index < 0 ? &p.index : &p.peer_index;

			if (word->counts[i] == 'r') {
				*node = l->ranks[f->at[i]].node;
				*index = l->ranks[f->at[i]].gpu;
			} else {
				*(word->counts[i] == 'n' ? node : index) =
					f->at[i];
			}
		}
	}
	return p;
}

/** @rank, on the leaf switch or in the domain that @f says. */
static struct part_end end_of(const struct drill_fault *f,
			      const struct layout *l, const struct part *p,
			      int rank)
{
	struct part_end e = part_end_of(&l->cluster, p, rank);
	const int *at = f->at;

	if (p->kind == PART_RAIL_LEAF) {
		e.leaf = in_range(e.node, at[1], at[2]);
	} else if (p->kind == PART_NVLINK_DOMAIN) {
		e.domain = in_range(e.node, at[0], at[1]);
	} else {
		e.leaf = in_range(e.node, at[0], at[1])	  ? 1 :
			 in_range(e.node, at[2], at[3]) ? 2 : 0;
	}
	return e;
}

bool drill_has_end(const struct drill_fault *f, const struct layout *l,
		   int rank)
{
	const struct part p = part_of(f, l);
	const struct part_end e = end_of(f, l, &p, rank);
	const struct part_scope *scope = &part_scopes[p.kind];

	return scope->place != PART_ANYWHERE && !scope->two &&
	       part_has_end(&p, &e);
}

/** The ends of cell @src -> @dst that @f touches, 0 for none. */
static unsigned touch(const struct drill_fault *f, const struct layout *l,
		      int src, int dst, uint64_t seed)
{
	const char *counts = drill_parts[f->part].counts;
	enum path_class path = cluster_path(&l->cluster, src, dst);
	struct part_end s, d;
	struct part p;

	/* most faults are on one node, at[0], most tests between others */
	if (counts[0] == 'n' && counts[1] != 'n' &&
	    l->ranks[src].node != f->at[0] && l->ranks[dst].node != f->at[0]) {
		return 0;
	}
	p = part_of(f, l);
	s = end_of(f, l, &p, src);
	d = end_of(f, l, &p, dst);
	if (p.kind == PART_NVLINK_DOMAIN && path == PATH_INTER && s.domain &&
	    d.domain) {
		path = PATH_NVLINK;
	}
	/* a static hash puts some paths on the faulty link */
	if (p.kind == PART_FABRIC_PATH &&
	    hash_unit(hash_mix(seed, (uint64_t)f->line, 0, 0), (uint64_t)src,
		      (uint64_t)dst, 0) >= f->fraction) {
		return 0;
	}
	return part_touched_ends(&p, &s, &d, path);
}

/** The end that does what the fault says. */
static int acting_end(enum drill_kind kind, unsigned ends, int src, int dst)
{
	if (kind == DRILL_CORRUPT || ends == PART_DST) {
		return dst;
	}
	return ends == (PART_SRC | PART_DST) && dst > src ? dst : src;
}

const char *drill_says(const struct drill_fault *f, const struct layout *l,
		       const char *detail, char buf[DRILL_SAYS])
{
	const struct drill_part_word *word = &drill_parts[f->part];
	const bool acted = str_starts(detail, XPORT_DRILL_MARK);
	struct str out = STR_INIT;

	str_add(&out, XPORT_DRILL_MARK);
	for (const char *c = word->says; *c != '\0'; c++) {
		const int i = *c == '$' ? *++c - '0' : -1;
		const int at = i >= 0 ? f->at[i] : 0;

		if (i < 0) {
			str_addch(&out, *c);
		} else if (word->counts[i] == 'n') {
			str_add(&out, l->nodes[at].name);
		} else if (word->counts[i] == 'r') {
			str_addf(&out, "GPU %d of %s", l->ranks[at].gpu,
				 l->nodes[l->ranks[at].node].name);
		} else {
			str_addf(&out, "%d", at);
		}
	}
	str_addf(&out, "%s%s", acted ? " " : ": ",
		 acted ? detail + strlen(XPORT_DRILL_MARK) : detail);
	str_copy(buf, DRILL_SAYS, str_text(&out));
	str_release(&out);
	return buf;
}

struct drill_effect drill_effect(const struct drill *d, const struct layout *l,
				 int src, int dst, int attempt, uint64_t seed)
{
	struct drill_effect effect = { .factor = 1, .end = src };
	double draw;
	enum drill_kind first = DRILL_SLOW;

	if (d->n == 0) {
		return effect;
	}
	draw = hash_unit(seed, (uint64_t)src, (uint64_t)dst, (uint64_t)attempt);
	for (size_t i = 0; i < d->n; i++) {
		const struct drill_fault *f = &d->faults[i];
		unsigned ends = touch(f, l, src, dst, seed);

		if (!ends) {
			continue;
		}
		if (f->kind == DRILL_WRONG && f->value > effect.wrong) {
			effect.wrong = f->value;
			effect.wrong_end = acting_end(f->kind, ends, src, dst);
		} else if (f->kind == DRILL_SLOW) {
			effect.factor = d->meet == DRILL_MIN ?
				fmin(effect.factor, f->value) :
				fmax(effect.factor * f->value,
				     DRILL_MIN_FACTOR);
		} else if (f->kind < first &&
			   (f->kind != DRILL_FLAKY || draw < f->value)) {
			first = f->kind;
			effect.end = acting_end(f->kind, ends, src, dst);
			effect.fault = f;
		}
	}
	if (first != DRILL_SLOW) {
		effect.kind = first == DRILL_FLAKY ? DRILL_DEAD : first;
		effect.factor = 1;
	}
	return effect;
}

enum xport_drill drill_act(enum drill_kind kind)
{
	static const enum xport_drill acts[] = {
		[DRILL_DEAD] = XPORT_DRILL_STAY_AWAY,
		[DRILL_HANG] = XPORT_DRILL_HANG,
		[DRILL_CRASH] = XPORT_DRILL_CRASH,
		[DRILL_CORRUPT] = XPORT_DRILL_CORRUPT,
		[DRILL_NOISE] = XPORT_DRILL_NONE,
	};

	return acts[kind];
}
