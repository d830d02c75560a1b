/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that dropped out of a run, by their own report. */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

#define AGENT_LOST "agent_lost"	/* as code, and as event */

static const struct gone_code codes[] = {
	{ .code = "agent_missing", .text = "never started", .kinds = KIND(NODE),
	  .vague = true, .accuses = true, .silence = true, .unstarted = true },
	/* the same, and a launcher knows better: as sbatch/ has it */
	{ .code = "task_launch_failed", .unstarted = true, .accuses = true },
	{ .code = "program_not_started", .unstarted = true, .accuses = true },
	{ .code = "job_prolog", .unstarted = true, .accuses = true },
	{ .code = "job_credential", .unstarted = true, .accuses = true },
	{ .code = "slurm_silent", .unstarted = true, .accuses = true },
	{ .code = "slurm_out_of_use", .text = "is out of use",
	  .kinds = KIND(NODE), .unstarted = true, .accuses = true },
	{ .code = "ssh_unreachable", .unstarted = true, .accuses = true },
	{ .code = "ssh_host_key", .unstarted = true, .accuses = true },
	{ .code = "ssh_login", .unstarted = true, .accuses = true },
	{ .code = "ssh_program", .unstarted = true, .accuses = true },
	{ .code = "rank_missing", .text = "never started",
	  .kinds = KIND(NODE) | KIND(GPU), .set_up = true, .accuses = true,
	  .silence = true },
	{ .code = AGENT_LOST, .text = "stopped responding during the tests",
	  .kinds = KIND(NODE), .accuses = true, .silence = true },
	{ .code = RECORD_STARVED, .text = "did not get to run",
	  .kinds = KIND(NODE) | KIND(GPU), .silence = true },
	{ .code = "worker_hung", .text = "hung: no result in time",
	  .kinds = KIND(NODE) },
	{ .code = "worker_crashed", .text = "crashed during the tests",
	  .kinds = KIND(NODE) },
	{ .code = "worker_noise", .text = "sent invalid output",
	  .kinds = KIND(NODE) },
	/* says_gone() has a better sentence */
	{ .code = "gpu_missing", .text = "is not shown by its node",
	  .kinds = KIND(GPU), .accuses = true },
	{ .code = "gpu_shared", .text = "is shared with another process",
	  .kinds = KIND(GPU), .set_up = true },
	{ .code = "gpu_hidden", .text = "is hidden by CUDA_VISIBLE_DEVICES",
	  .kinds = KIND(GPU), .set_up = true },
	{ .code = "gpu_mig", .text = "is divided by MIG", .kinds = KIND(GPU),
	  .set_up = true },
	{ .code = "gpu_exclusive", .text = "may not be used by this process",
	  .set_up = true },
	{ .code = "gpu_busy", .text = "is held by another process",
	  .set_up = true },
	{ .code = "gpu_in_use", .text = "is held by a job", .set_up = true },
	{ .code = "gpu_mps", .text = "is not to be had from MPS",
	  .set_up = true },
	{ .code = "hca_missing", .text = "was not found", .kinds = KIND(GPU) },
	{ .code = GONE_OPEN_FAILED, .text = "cannot be opened",
	  .kinds = KIND(GPU), .vague = true, .accuses = true },
	{ .code = "rank_retired", .state = "retired", .kinds = KIND(GPU),
	  .text = "was not tested further: its worker died twice",
	  .accuses = true },
	{ .code = "part_convicted", .accuses = true },
	{ .code = "nccl_missing", .text = "cannot load NCCL", .set_up = true },
	{ .code = "cuda_missing", .text = "cannot load the GPU driver" },
	{ .code = "verbs_missing", .text = "cannot load libibverbs" },
};

#define CODES (sizeof(codes) / sizeof(*codes))

const struct gone_code *gone_code(const char *code)
{
	static const struct gone_code none = { .code = "" };

	for (size_t i = 0; i < CODES; i++) {
		if (strcmp(codes[i].code, code) == 0) {
			return &codes[i];
		}
	}
	return &none;
}

static const struct gone_code *find_state(const struct fact_row *f,
					  enum part_kind kind)
{
	for (size_t i = 0; strcmp(f->fact, "state") == 0 && i < CODES; i++) {
		const char *state = codes[i].state ? codes[i].state :
						     codes[i].code;

		if ((codes[i].kinds >> kind & 1) != 0 &&
		    strcmp(state, f->value) == 0) {
			return &codes[i];
		}
	}
	return NULL;
}

/** Returns true if the list already has the part @p or its node. */
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
 * Returns true if @p was retired only after all its pairs had been tested.
 * Then it is not gone: its cells show better what is wrong.
 */
static bool is_spent(const struct run *run, const struct part *p,
		     const struct gone_code *c)
{
	const struct cluster_node *node = &run->nodes[p->node];
	int rank = node->first_rank + p->index;

	if (strcmp(c->code, "rank_retired") != 0 || p->index >= node->gpus) {
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

/** The fact @of says that @p is gone by @c. */
static int add_gone(const struct run *run, struct gone_list *g,
		    const struct part *p, const struct gone_code *c,
		    const struct fact_row *of)
{
	const char *better = run_fact_beside(run, of, "state_code");
	const struct gone gone = {
		.part = *p,
		.code = better[0] && c->vague ? better : c->code,
		.says = c->code,
		.detail = run_fact_beside(run, of, "state_detail"),
	};

	return is_covered(g, p) ||
			       grow_add(&g->list, &g->n, &gone, sizeof(gone)) ?
		       0 : -1;
}

/** Adds all facts about parts of @kind.  Scope "gpu7" is GPU 7; if ranks are
 *  ports, "nic7" is port 7. */
static int add_kind(const struct run *run, enum part_kind kind,
		    struct gone_list *out)
{
	int node = -1;

	run_foreach_fact(run, f) {
		const struct gone_code *c = find_state(f, kind);
		int index = run_number_in(f->scope,
					  run->ports ? "nic" : "gpu");
		struct part p;

		if (!c || (kind == PART_GPU) != (index >= 0)) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		p = part_at(kind, node, index);
		if (node >= 0 && !is_spent(run, &p, c) &&
		    add_gone(run, out, &p, c, f) < 0) {
			return -1;
		}
	}
	return 0;
}

static bool is_gpu_of(const struct gone *g, int node)
{
	return g->part.kind == PART_GPU && g->part.node == node;
}

/** Eight GPUs gone on one node of eight: the node is, as the first of them. */
static void merge_node(struct gone_list *g, int node, int gpus)
{
	size_t gone = 0, kept = 0, seen = 0;

	for (size_t i = 0; i < g->n; i++) {
		gone += is_gpu_of(&g->list[i], node);
	}
	if (gpus < 2 || gone != (size_t)gpus) {
		return;
	}
	for (size_t i = 0; i < g->n; i++) {
		struct gone x = g->list[i];

		if (is_gpu_of(&x, node)) {
			x.part = part_at(PART_NODE, node, -1);
			seen++;
		}
		if (x.part.node != node || seen == 1) {
			g->list[kept++] = x;
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
		merge_node(out, i, run->nodes[i].gpus);
	}
	return 0;
}

/** The last event by which an end of the cell @at was lost; NULL. */
static const struct event_row *find_loss(const struct run *run, size_t at)
{
	const char *src = run->nodes[run->ranks[run_src(run, at)].node].name;
	const char *dst = run->nodes[run->ranks[run_dst(run, at)].node].name;

	for (size_t i = run->n_events; i-- > 0;) {
		const struct event_row *e = &run->events[i];

		if (strcmp(e->event, AGENT_LOST) == 0 &&
		    (strcmp(e->node, src) == 0 || strcmp(e->node, dst) == 0)) {
			return e;
		}
	}
	return NULL;
}

static bool is_touched(const struct run *run, const struct gone_list *g,
		       size_t at)
{
	for (size_t i = 0; i < g->n; i++) {
		if (part_touches_at(run, &g->list[i].part, at)) {
			return true;
		}
	}
	return false;
}

int gone_find_lost(const struct run *run, const uint8_t *explained,
		   struct gone_list *g)
{
	run_foreach_cell(run, at) {
		const struct event_row *e =
			explained[at] ||
			strcmp(run_cell_code(run, at), AGENT_LOST) != 0 ||
			is_touched(run, g, at) ? NULL : find_loss(run, at);
		struct gone gone = { .code = AGENT_LOST, .says = AGENT_LOST };

		if (!e) {
			continue;
		}
		gone.part = part_at(PART_NODE, run_find_node(run, e->node, -1),
				    -1);
		gone.detail = e->detail;
		if (!grow_add(&g->list, &g->n, &gone, sizeof(gone))) {
			return -1;
		}
	}
	return 0;
}

void gone_release(struct gone_list *g)
{
	free(g->list);
	*g = (struct gone_list){ 0 };
}
