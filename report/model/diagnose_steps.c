/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/diagnose.h"

#include <string.h>

#include "lib/data/json.h"

const struct diagnose_row *diagnose_row_of(const struct run *run,
					   const struct diagnose_step *s,
					   int src, int dst)
{
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		if (r->src_rank == src && r->dst_rank == dst &&
		    strcmp(r->step, s->name) == 0) {
			return r;
		}
	}
	return NULL;
}

/** What the run had @name set to: by its environment, a file of NCCL's or
 *  gpucheck. */
static const char *setting(const struct run *run, const char *name)
{
	const char *value = json_member(
		json_object_get(run->json, "environment"), name);

	for (size_t i = 0; !value[0] && i < run->n_facts; i++) {
		if (strcmp(run->facts[i].fact, name) == 0) {
			value = run->facts[i].value;
		}
	}
	return value[0] ? value :
			  json_member(json_object_get(run->json, "settings"),
				      name);
}

static const char *needs_ib(const struct run *run, int src, int dst)
{
	(void)src;
	(void)dst;
	return strcasecmp(setting(run, "NCCL_NET"), "Socket") == 0 ||
			       strcmp(setting(run, "NCCL_IB_DISABLE"), "1") == 0
		       ? "NCCL already uses sockets here" : NULL;
}

/** InfiniBand has no choice of addresses.  Where nobody says what the ports
 *  are it is tried. */
static const char *needs_roce(const struct run *run, int src, int dst)
{
	bool known = false;

	/* a drill is not about the ports of this machine */
	for (size_t i = 0; !run->drill && i < run->n_facts; i++) {
		if (strcmp(run->facts[i].fact, "link_layer") == 0) {
			known = true;
			if (strcmp(run->facts[i].value, "Ethernet") == 0) {
				return needs_ib(run, src, dst);
			}
		}
	}
	return known ? "no port of these nodes is RoCE" :
		       needs_ib(run, src, dst);
}

/** Does the row of layer @name say that the pair failed there? */
static bool failed_at(const struct run *run, const char *name, int src, int dst)
{
	const struct diagnose_step layer = { .name = name };
	const struct diagnose_row *r = diagnose_row_of(run, &layer, src, dst);

	return r && run_bad(cells_class_of(r->outcome));
}

static const char *needs_gdr(const struct run *run, int src, int dst)
{
	return failed_at(run, "verbs", src, dst) ?
		       "RDMA also fails in host memory" :
		       needs_ib(run, src, dst);
}

#define JOBS (BASE_NCCL | BASE_SIM)
/* tcp and sim stand for NCCL in a drill: diagnose_applies() */
#define DRILLS (BASE_NCCL | BASE_SIM | BASE_TCP)

const struct diagnose_step diagnose_steps[] = {
	{ .name = "ping", .says = "ping", .command = "ping",
	  .option = "--count=3", .of = JOBS | BASE_TCP,
	  .where = DIAGNOSE_INTER },
	{ .name = "tcp", .base = BASE_TCP, .says = "TCP", .command = "p2p",
	  .option = "--transport=tcp", .of = JOBS | BASE_CUDA | BASE_TCP },
	{ .name = "verbs", .says = "RDMA in host memory", .command = "ib",
	  .option = "--memory=host", .of = JOBS, .where = DIAGNOSE_INTER,
	  .ports = true },
	{ .name = "verbs_gpu", .says = "RDMA in GPU memory", .command = "ib",
	  .option = "--memory=gpu", .of = JOBS, .where = DIAGNOSE_INTER,
	  .ports = true },
	{ .name = "cuda", .base = BASE_CUDA, .says = "a copy between the GPUs",
	  .command = "p2p",
	  .option = "--transport=cuda", .of = BASE_NCCL | BASE_CUDA,
	  .where = DIAGNOSE_INTRA },
	{ .name = "nccl", .base = BASE_NCCL, .says = "NCCL", .command = "p2p",
	  .option = "--transport=nccl", .of = BASE_NCCL },
	{ .name = "sim", .base = BASE_SIM, .says = "the model",
	  .command = "p2p",
	  .option = "--transport=sim", .of = BASE_SIM },

	/* between nodes */
	{ .name = "NCCL_IB_GID_INDEX=3", .of = DRILLS,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_IB_GID_INDEX=3" },
	  .not_for = needs_roce,
	  .says = "another GID of the ports, often RoCEv2 over IPv4; set it "
		  "on all nodes only if their GIDs are the same" },
	{ .name = "NCCL_IB_GID_INDEX=1", .of = DRILLS,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_IB_GID_INDEX=1" },
	  .not_for = needs_roce,
	  .says = "another GID of the ports; set it on all nodes only if "
		  "their GIDs are the same" },
	{ .name = "NCCL_CROSS_NIC=0", .of = DRILLS, .where = DIAGNOSE_INTER,
	  .env = { "NCCL_CROSS_NIC=0" }, .not_for = needs_ib,
	  .says = "rings and trees stay on their rail; correct if the rails "
		  "are not connected" },
	{ .name = "NCCL_DMABUF_ENABLE=0", .of = DRILLS,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_DMABUF_ENABLE=0" },
	  .not_for = needs_gdr,
	  .says = "GPUDirect RDMA through nvidia-peermem, not DMA-BUF" },
	{ .name = "NCCL_NET_GDR_LEVEL=LOC", .of = DRILLS,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_NET_GDR_LEVEL=LOC" },
	  .not_for = needs_gdr,
	  .says = "without GPUDirect RDMA: through host memory, slower" },
	{ .name = "NCCL_IB_DISABLE=1", .of = DRILLS,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_IB_DISABLE=1" },
	  .not_for = needs_ib, .says = "without RDMA: much slower" },
	{ .name = "NCCL_NET=Socket", .of = DRILLS, .where = DIAGNOSE_INTER,
	  .env = { "NCCL_NET=Socket" }, .not_for = needs_ib,
	  .says = "without RDMA and without network plugins: much slower" },
	/* inside a node */
	{ .name = "NCCL_CUMEM_ENABLE=0", .of = DRILLS,
	  .where = DIAGNOSE_INTRA, .env = { "NCCL_CUMEM_ENABLE=0" },
	  .says = "memory is shared through CUDA IPC, not cuMem" },
	{ .name = "NCCL_SHM_DISABLE=1", .of = DRILLS,
	  .where = DIAGNOSE_INTRA, .env = { "NCCL_SHM_DISABLE=1" },
	  .says = "pairs without peer access use the network; check "
		  "/dev/shm" },
	{ .name = "NCCL_P2P_DISABLE=1", .of = DRILLS,
	  .where = DIAGNOSE_INTRA, .env = { "NCCL_P2P_DISABLE=1" },
	  .says = "without peer access and NVLink: through shared memory, "
		  "much slower" },
	{ .name = "NCCL_P2P_DISABLE=1+NCCL_SHM_DISABLE=1", .of = DRILLS,
	  .where = DIAGNOSE_INTRA,
	  .env = { "NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1" },
	  .says = "use the network within a node too: much slower" },
	{ 0 }
};

const struct diagnose_step *diagnose_top(const struct run *run)
{
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		if (s->base && strcmp(s->name, run->transport) == 0 &&
		    strcmp(run->probe, "p2p") == 0) {
			return s;
		}
	}
	return NULL;
}

/** Is every variable of @s as it says, without us? */
static bool is_set_already(const struct run *run, const struct diagnose_step *s)
{
	for (int i = 0; s->env[i]; i++) {
		const char *value = strchr(s->env[i], '=') + 1;
		char name[64];

		snprintf(name, sizeof(name), "%.*s",
			 (int)(value - 1 - s->env[i]), s->env[i]);
		if (strcmp(setting(run, name), value) != 0) {
			return false;
		}
	}
	return true;
}

/** Has another setting mended the pair? */
static bool is_mended(const struct run *run, int src, int dst)
{
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *row =
			diagnose_row_of(run, s, src, dst);

		if (diagnose_is_knob(s) && row && row->outcome == OUTCOME_OK) {
			return true;
		}
	}
	return false;
}

static bool knob_applies(const struct run *run, const struct diagnose_step *s,
			 int src, int dst, const char **why)
{
	/* other transports know nothing of NCCL's settings */
	if ((diagnose_top(run)->base != BASE_NCCL && !run->drill) ||
	    is_mended(run, src, dst)) {
		return false;
	}
	*why = is_set_already(run, s) ? "already set" :
	       s->not_for	      ? s->not_for(run, src, dst) : NULL;
	return !*why;
}

bool diagnose_applies(const struct run *run, const struct diagnose_step *s,
		      int src, int dst, const char **why)
{
	const struct diagnose_step *top = diagnose_top(run);
	bool inter = run->ranks[src].node != run->ranks[dst].node;
	const struct diagnose_row *again;

	*why = NULL;
	if (!top || !(s->of & top->base) ||
	    (s->where == DIAGNOSE_INTER && !inter) ||
	    (s->where == DIAGNOSE_INTRA && inter)) {
		return false;
	}
	if (s == top) {
		return true;
	}
	/* what no longer fails needs no more tests */
	again = diagnose_row_of(run, top, src, dst);
	if (!again || !run_bad(cells_class_of(again->outcome))) {
		return false;
	}
	return !diagnose_is_knob(s) || knob_applies(run, s, src, dst, why);
}
