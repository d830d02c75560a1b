/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/base/grow.h"
#include "report/judge/verdict.h"
#include "report/model/part.h"

/* ---- diagnose steps ------------------------------------------------------ */

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

/** Return the value of @name in the run: from the environment, a file of
 *  NCCL's, or gpucheck. */
static const char *setting(const struct run *run, const char *name)
{
	const struct run_file f = run_file(run->json);
	const char *value = json_member(f.environment, name);

	for (size_t i = 0; !value[0] && i < run->n_facts; i++) {
		if (strcmp(run->facts[i].fact, name) == 0) {
			value = run->facts[i].value;
		}
	}
	return value[0] ? value : json_member(f.settings, name);
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

/** Return true if the row of layer @name says that the pair failed there. */
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

/** Return true if every variable of @s already had its value in the run. */
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

/** Return true if another setting made the pair pass. */
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

/* ---- diagnose ------------------------------------------------------------ */

#define MAX_LOOKED_AT 64	/* findings */

struct finding *diagnose_finding(const struct run *run,
				 const struct verdict *v, int src, int dst)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].fail &&
		    part_touches(&run->cluster, &v->findings[i].part, src,
				 dst)) {
			return &v->findings[i];
		}
	}
	return NULL;
}

static bool is_chosen(const struct diagnose_pairs *p, int src, int dst)
{
	for (size_t i = 0; i < p->n; i++) {
		if ((p->list[i].src == src && p->list[i].dst == dst) ||
		    (p->list[i].src == dst && p->list[i].dst == src)) {
			return true;
		}
	}
	return false;
}

/**
 * How much a bad cell tells: more where only one thing can be wrong with it,
 * and where it is unlike @other, which stands for the same finding (NULL =
 * none yet).
 */
static int worth(const struct run *run, int src, int dst,
		 const struct diagnose_pair *other)
{
	const struct cluster_rank *s = &run->ranks[src], *d = &run->ranks[dst];
	bool inter = s->node != d->node;
	int points = !inter || s->nic == d->nic ? 2 : 1;

	if (other) {
		bool was_inter = run->ranks[other->src].node !=
				 run->ranks[other->dst].node;

		points += 4 * (inter != was_inter) +
			  (src != other->src && src != other->dst) +
			  (dst != other->src && dst != other->dst);
	}
	return points;
}

/** The most telling cell that stands for @f and is none of @pairs yet. */
static bool best_cell(const struct run *run, const struct verdict *v,
		      const struct finding *f,
		      const struct diagnose_pairs *pairs,
		      const struct diagnose_pair *other,
		      struct diagnose_pair *best)
{
	int most = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at), points;

		if (s == d || !run_bad(run->cells[at].class) ||
		    is_chosen(pairs, s, d) ||
		    diagnose_finding(run, v, s, d) != f) {
			continue;
		}
		points = worth(run, s, d, other);
		if (points > most) {
			most = points;
			*best = (struct diagnose_pair){ s, d };
		}
	}
	return most > 0;
}

/** The pair that stands for @f already; NULL = none. */
static const struct diagnose_pair *
stands_for(const struct run *run, const struct verdict *v,
	   const struct finding *f, const struct diagnose_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n; i++) {
		if (diagnose_finding(run, v, pairs->list[i].src,
				     pairs->list[i].dst) == f) {
			return &pairs->list[i];
		}
	}
	return NULL;
}

/** One for each finding before the first gets its second. */
void diagnose_choose(const struct run *run, const struct verdict *v,
		     struct diagnose_pairs *pairs)
{
	/* a look at all cells for each: the first ones are the most telling */
	size_t n = v->n < MAX_LOOKED_AT ? v->n : MAX_LOOKED_AT;

	*pairs = (struct diagnose_pairs){ 0 };
	for (size_t i = 0; i < v->n; i++) {
		pairs->findings += v->findings[i].fail;
	}
	for (size_t i = 0; diagnose_top(run) && i < DIAGNOSE_PER_FINDING * n &&
			   pairs->n < DIAGNOSE_MAX_PAIRS; i++) {
		const struct finding *f = &v->findings[i % n];
		const struct diagnose_pair *other =
			stands_for(run, v, f, pairs);
		struct diagnose_pair best;

		if (f->fail && best_cell(run, v, f, pairs, other, &best)) {
			pairs->covered += i < n;
			pairs->list[pairs->n++] = best;
		}
	}
}

const char *diagnose_undone_name(const struct diagnose_step *s, char *buf,
				 size_t size)
{
	snprintf(buf, size, "without-%s", s->name);
	return buf;
}

void diagnose_row_init(const struct run *run, const struct diagnose_step *s,
		       const struct diagnose_pair *pair,
		       struct diagnose_row *row)
{
	const struct cluster_rank *a = &run->ranks[pair->src];
	const struct cluster_rank *b = &run->ranks[pair->dst];

	record_init(&schema_diagnose, row);
	row->src_rank = pair->src;
	STR_COPY(row->src_node, run->nodes[a->node].name);
	row->src_gpu = a->gpu;
	row->dst_rank = pair->dst;
	STR_COPY(row->dst_node, run->nodes[b->node].name);
	row->dst_gpu = b->gpu;
	STR_COPY(row->kind,
		 diagnose_is_knob(s) ? DIAGNOSE_KNOB : DIAGNOSE_LAYER);
	STR_COPY(row->step, s->name);
}

/** The name of an HCA port, or of one among several, without its number. */
static bool same_port(const char *nic, const char *port)
{
	size_t len = strcspn(nic, ":+");

	return strncmp(nic, port, len) == 0 &&
	       (port[len] == '\0' || port[len] == ':');
}

/** Return true if the port of this name is up on any node; only such ports are
 *  ranks of ib. */
static bool is_up_somewhere(const struct run *run, const char *port)
{
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "port_state") == 0 &&
		    strcmp(f->scope, port) == 0 &&
		    strcmp(f->value, "ACTIVE") == 0) {
			return true;
		}
	}
	return false;
}

int diagnose_index(const struct run *run, const struct diagnose_step *s,
		   int rank)
{
	const struct cluster_rank *r = &run->ranks[rank];
	int index = 0;

	if (!s->ports) {
		return r->gpu;
	}
	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "port_state") != 0 ||
		    strcmp(f->node, run->nodes[r->node].name) != 0 ||
		    !is_up_somewhere(run, f->scope)) {
			continue;
		}
		if (r->nic_name[0] && same_port(r->nic_name, f->scope)) {
			return index;
		}
		index++;
	}
	/* nobody says its name: the one of the rail */
	return r->nic;
}

int diagnose_add(struct run *run, const struct diagnose_row *row)
{
	return grow_add(&run->diagnose, &run->n_diagnose, row, sizeof(*row)) ?
		       0 : -1;
}
