/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/gone.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

/** Values of the fact "state" that take a part out of the run. */
static const struct gone_state {
	const char *state;
	enum part_kind kind;
	const char *code;
	bool vague;		/* the fact "state_code" says it better */
} states[] = {
	{ .state = "agent_missing", .kind = PART_NODE,
	  .code = "agent_missing", .vague = true },
	{ .state = "rank_missing", .kind = PART_NODE,
	  .code = "rank_missing" },
	{ .state = "rank_missing", .kind = PART_GPU, .code = "rank_missing" },
	{ .state = "agent_lost", .kind = PART_NODE, .code = "agent_lost" },
	{ .state = "worker_hung", .kind = PART_NODE, .code = "worker_hung" },
	{ .state = "worker_crashed", .kind = PART_NODE,
	  .code = "worker_crashed" },
	{ .state = "worker_noise", .kind = PART_NODE, .code = "worker_noise" },
	{ .state = "gpu_missing", .kind = PART_GPU, .code = "gpu_missing" },
	{ .state = "gpu_shared", .kind = PART_GPU, .code = "gpu_shared" },
	{ .state = "hca_missing", .kind = PART_GPU, .code = "hca_missing" },
	{ .state = "open_failed", .kind = PART_GPU, .code = "open_failed",
	  .vague = true },
	{ .state = "retired", .kind = PART_GPU, .code = "rank_retired" },
	{ 0 }
};

bool gone_is_set_up(const char *code)
{
	static const char *const codes[] = { "gpu_shared", "nccl_missing",
					     "rank_missing", NULL };
	size_t i = 0;

	while (codes[i] && strcmp(codes[i], code) != 0) {
		i++;
	}
	return codes[i] != NULL;
}

static const struct gone_state *find_state(const struct fact_row *f,
					   enum part_kind kind)
{
	if (strcmp(f->fact, "state") != 0) {
		return NULL;
	}
	for (const struct gone_state *s = states; s->state; s++) {
		if (s->kind == kind && strcmp(s->state, f->value) == 0) {
			return s;
		}
	}
	return NULL;
}

/** Scope "gpu7" is GPU 7, or where ranks are ports "nic7" is port 7; -1 for
 *  any other scope. */
static int scope_gpu(const struct run *run, const char *scope)
{
	char rest = '\0';
	int gpu;

	if (strncmp(scope, run->ports ? "nic" : "gpu", 3) != 0 ||
	    sscanf(scope + 3, "%4d%c", &gpu, &rest) != 1) {
		return -1;
	}
	return gpu;
}

/** The fact @name of the part that @of is about, "" when there is none. */
static const char *find_fact(const struct run *run, const struct fact_row *of,
			     const char *name)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, name) == 0 &&
		    strcmp(f->scope, of->scope) == 0 &&
		    strcmp(f->node, of->node) == 0) {
			return f->value;
		}
	}
	return "";
}

/** Already said, by the node or by an earlier line of the same part? */
static bool is_covered(const struct gone_list *g, const struct part *p)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct part *q = &g->list[i].part;

		if (q->node == p->node &&
		    (q->kind == PART_NODE || part_same_place(q, p))) {
			return true;
		}
	}
	return false;
}

/**
 * Was @p retired only when all its pairs had had their turn?  Then it is not
 * gone: its cells say better what is wrong.
 */
static bool is_spent(const struct run *run, const struct part *p,
		     const struct gone_state *s)
{
	const struct run_node *node = &run->nodes[p->node];
	int rank = node->first_rank + p->index;

	if (strcmp(s->state, "retired") != 0 || p->index >= node->gpus) {
		return false;
	}
	for (int peer = 0; peer < run->n_ranks; peer++) {
		if (run_cell(run, rank, peer)->class == CELL_SKIPPED ||
		    run_cell(run, peer, rank)->class == CELL_SKIPPED) {
			return false;
		}
	}
	return true;
}

/** The fact @of says that @p is in state @s. */
static int add_gone(const struct run *run, struct gone_list *g,
		    const struct part *p, const struct gone_state *s,
		    const struct fact_row *of)
{
	const char *better = find_fact(run, of, "state_code");
	const char *code = better[0] && s->vague ? better : s->code;
	struct gone *list;

	if (is_covered(g, p)) {
		return 0;
	}
	list = grow(g->list, g->n, sizeof(*list));
	if (!list) {
		return -1;
	}
	g->list = list;
	list[g->n++] = (struct gone){
		.part = *p,
		.code = code,
		.says = s->code,
		.set_up = gone_is_set_up(code),
		.detail = find_fact(run, of, "state_detail"),
	};
	return 0;
}

/** All facts about parts of @kind. */
static int add_kind(const struct run *run, enum part_kind kind,
		    struct gone_list *out)
{
	int node = -1;

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];
		const struct gone_state *s = find_state(f, kind);
		struct part p = part_of_kind(kind);

		if (!s) {
			continue;
		}
		p.index = scope_gpu(run, f->scope);
		if ((kind == PART_GPU) != (p.index >= 0)) {
			continue;
		}
		p.node = node = run_find_node(run, f->node, node);
		if (p.node >= 0 && !is_spent(run, &p, s) &&
		    add_gone(run, out, &p, s, f) < 0) {
			return -1;
		}
	}
	return 0;
}

static size_t gpus_gone(const struct gone_list *g, int node, size_t *first)
{
	size_t n = 0;

	for (size_t i = g->n; i-- > 0;) {
		if (g->list[i].part.node == node &&
		    g->list[i].part.kind == PART_GPU) {
			*first = i;
			n++;
		}
	}
	return n;
}

/** Eight GPUs gone on one node of eight: the node is. */
static void merge_node(struct gone_list *g, int node)
{
	size_t first = 0, kept = 0;
	struct gone merged;

	gpus_gone(g, node, &first);
	merged = g->list[first];
	merged.part = part_of_kind(PART_NODE);
	merged.part.node = node;
	for (size_t i = 0; i < g->n; i++) {
		if (g->list[i].part.node != node) {
			g->list[kept++] = g->list[i];
		} else if (i == first) {
			g->list[kept++] = merged;
		}
	}
	g->n = kept;
}

int gone_find(const struct run *run, struct gone_list *out)
{
	*out = (struct gone_list){ 0 };
	if (add_kind(run, PART_NODE, out) < 0 ||
	    add_kind(run, PART_GPU, out) < 0) {
		gone_release(out);
		return -1;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		size_t first;

		if (run->nodes[i].gpus > 1 &&
		    gpus_gone(out, i, &first) == (size_t)run->nodes[i].gpus) {
			merge_node(out, i);
		}
	}
	return 0;
}

void gone_release(struct gone_list *g)
{
	free(g->list);
	*g = (struct gone_list){ 0 };
}
