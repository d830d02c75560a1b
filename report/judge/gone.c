/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that dropped out of a run, by their own report. */
#include "report/judge/findings.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"

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
	  .silence = true, .unstarted = true },
	{ .code = AGENT_LOST, .text = "stopped responding during the tests",
	  .kinds = KIND(NODE), .accuses = true, .silence = true },
	{ .code = RECORD_STARVED, .text = "got no CPU time",
	  .kinds = KIND(NODE) | KIND(GPU), .silence = true },
	{ .code = "worker_hung", .text = "hung: no result in time",
	  .kinds = KIND(NODE) },
	{ .code = "worker_crashed", .text = "crashed during the tests",
	  .kinds = KIND(NODE) },
	{ .code = "worker_noise", .text = "sent invalid output",
	  .kinds = KIND(NODE) },
	/* says_gone() has a better sentence */
	{ .code = "gpu_missing", .text = "is not visible on its node",
	  .kinds = KIND(GPU), .accuses = true },
	{ .code = "gpu_shared", .text = "is shared with another process",
	  .kinds = KIND(GPU), .set_up = true },
	{ .code = "gpu_hidden", .text = "is hidden by CUDA_VISIBLE_DEVICES",
	  .kinds = KIND(GPU), .set_up = true },
	{ .code = "gpu_mig", .text = "is divided by MIG", .kinds = KIND(GPU),
	  .set_up = true },
	{ .code = "gpu_exclusive", .text = "cannot be used by this process",
	  .set_up = true },
	{ .code = "gpu_busy", .text = "is held by another process",
	  .set_up = true },
	{ .code = "gpu_in_use", .text = "is held by a job", .set_up = true },
	{ .code = "gpu_mps", .text = "was denied by MPS",
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

/** Adds all parts of @kind that a fact "state" says are gone.  Scope "gpu7" is
 *  GPU 7; if ranks are ports, "nic7" is port 7. */
static int add_kind(const struct run *run, enum part_kind kind,
		    struct gone_list *out)
{
	int node = -1;

	run_foreach_fact(run, f) {
		const struct gone_code *c = codes;
		int index = run_number_in(f->scope,
					  run->ports ? "nic" : "gpu");
		const char *better;
		struct gone gone;

		if (strcmp(f->fact, "state") != 0 ||
		    (kind == PART_GPU) != (index >= 0)) {
			continue;
		}
		while (c < codes + CODES &&
		       (!(c->kinds >> kind & 1) ||
			strcmp(c->state ? c->state : c->code, f->value) != 0)) {
			c++;
		}
		if (c == codes + CODES) {
			continue;
		}
		node = run_find_node(run, f->node, node);
		gone = (struct gone){
			.part = part_at(kind, node, index),
			.says = c->code,
			.detail = run_fact_beside(run, f, "state_detail"),
		};
		if (node < 0 || is_spent(run, &gone.part, c) ||
		    is_covered(out, &gone.part)) {
			continue;
		}
		better = run_fact_beside(run, f, "state_code");
		gone.code = better[0] && c->vague ? better : c->code;
		if (!grow_add(&out->list, &out->n, &gone, sizeof(gone))) {
			return -1;
		}
	}
	return 0;
}

static bool is_gpu_of(const struct gone *g, int node)
{
	return g->part.kind == PART_GPU && g->part.node == node;
}

int gone_find(const struct run *run, struct gone_list *out)
{
	*out = (struct gone_list){ 0 };
	if (add_kind(run, PART_NODE, out) < 0 ||
	    add_kind(run, PART_GPU, out) < 0) {
		gone_release(out);
		return -1;
	}
	/* eight GPUs gone on one node of eight: the node is, as the first of
	 * them */
	for (int node = 0; node < run->n_nodes; node++) {
		size_t gpus = (size_t)run->nodes[node].gpus;
		size_t gone = 0, kept = 0, seen = 0;

		for (size_t i = 0; i < out->n; i++) {
			gone += is_gpu_of(&out->list[i], node);
		}
		if (gpus < 2 || gone != gpus) {
			continue;
		}
		for (size_t i = 0; i < out->n; i++) {
			struct gone x = out->list[i];

			if (is_gpu_of(&x, node)) {
				x.part = part_at(PART_NODE, node, -1);
				seen++;
			}
			if (x.part.node != node || seen == 1) {
				out->list[kept++] = x;
			}
		}
		out->n = kept;
	}
	return 0;
}

int gone_find_lost(const struct run *run, const uint8_t *explained,
		   struct gone_list *g)
{
	run_foreach_cell(run, at) {
		const char *src =
			run->nodes[run->ranks[run_src(run, at)].node].name;
		const char *dst =
			run->nodes[run->ranks[run_dst(run, at)].node].name;
		struct gone gone = { .code = AGENT_LOST, .says = AGENT_LOST };
		bool known = explained[at] ||
			     strcmp(run_cell_code(run, at), AGENT_LOST) != 0;
		size_t i = run->n_events;

		for (size_t k = 0; !known && k < g->n; k++) {
			known = part_touches_at(run, &g->list[k].part, at);
		}
		if (known) {
			continue;
		}
		/* the last event by which one of its ends was lost */
		while (i > 0 && (strcmp(run->events[i - 1].event,
					AGENT_LOST) != 0 ||
				 (strcmp(run->events[i - 1].node, src) != 0 &&
				  strcmp(run->events[i - 1].node, dst) != 0))) {
			i--;
		}
		if (i == 0) {
			continue;
		}
		gone.part = part_at(PART_NODE,
				    run_find_node(run, run->events[i - 1].node,
						  -1), -1);
		gone.detail = run->events[i - 1].detail;
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
