/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of the layered tests of --diagnose: steps, rows and conclusions. */
#include "report/judge/diagnose.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/model/part.h"
#include "report/model/run.h"

/* ---- diagnose steps ------------------------------------------------------ */

const struct diagnose_row *diagnose_row_of(const struct run *run,
					   const struct diagnose_step *s,
					   int src, int dst)
{
	const struct diagnose_row *best = NULL;

	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		if (r->src_rank == src && r->dst_rank == dst &&
		    strcmp(r->step, s->name) == 0 &&
		    (!best || (r->outcome == OUTCOME_OK &&
			       (best->outcome != OUTCOME_OK ||
				r->bw_GB_s > best->bw_GB_s)))) {
			best = r;
		}
	}
	return best;
}

/** A rate is kept if it is at least this share of the rate of a good pair or of
 *  what the link carries; by sockets, whose rate varies, at least the other. */
#define RATE_KEPT	  CELLS_LINE_RATIO
#define RATE_KEPT_SOCKETS 0.7
/** A setting that raises the rate by less does not count. */
#define RATE_RAISED	  1.1

static unsigned class_of(const struct run *run, int src, int dst)
{
	return run->cells[run_at(run, src, dst)].class;
}

/** Return true if the pairs take the same kind of path. */
static bool is_like(const struct run *run, int src, int dst, int other_src,
		    int other_dst)
{
	const struct cluster_rank *r = run->ranks;

	return cluster_path(&run->cluster, src, dst) ==
		       cluster_path(&run->cluster, other_src, other_dst) &&
	       (r[src].nic == r[dst].nic) ==
		       (r[other_src].nic == r[other_dst].nic);
}

const struct diagnose_row *diagnose_good(const struct run *run,
					 const struct diagnose_step *s,
					 int src, int dst)
{
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		if (strcmp(r->step, s->name) == 0 && r->bw_GB_s > 0 &&
		    r->outcome == OUTCOME_OK &&
		    class_of(run, (int)r->src_rank, (int)r->dst_rank) ==
			    CELL_PASS &&
		    is_like(run, src, dst, (int)r->src_rank,
			    (int)r->dst_rank)) {
			return diagnose_row_of(run, s, (int)r->src_rank,
					       (int)r->dst_rank);
		}
	}
	return NULL;
}

/** The rate that @src -> @dst should have in @s, GB/s: that of a good pair, or
 *  of its link; of the top also the expected rate of the cell, or the usual
 *  rate.  NAN: not known. */
static double should_be(const struct run *run, const struct diagnose_step *s,
			int src, int dst)
{
	const struct diagnose_row *good = diagnose_good(run, s, src, dst);
	const struct diagnose_row *own = diagnose_row_of(run, s, src, dst);
	const struct cell *c = &run->cells[run_at(run, src, dst)];

	return good			     ? good->bw_GB_s :
	       own && own->expected_GB_s > 0 ? own->expected_GB_s :
	       s != diagnose_top(run)	     ? NAN :
	       c->expected_GB_s > 0	     ? (double)c->expected_GB_s :
					       run->slow[c->path].median_GB_s;
}

int diagnose_keeps(const struct run *run, const struct diagnose_step *s,
		   int src, int dst)
{
	const struct diagnose_row *r = diagnose_row_of(run, s, src, dst);
	const struct diagnose_step *top = diagnose_top(run);
	const struct diagnose_row *above;
	double kept = s->base == BASE_TCP && !run_is_model(run) ?
			      RATE_KEPT_SOCKETS : RATE_KEPT;
	double full = should_be(run, s, src, dst);

	/* a layer that a good pair passes: its failure is no lesser loss */
	if (r && s != top && cells_outcome_failed(r->outcome) &&
	    diagnose_good(run, s, src, dst)) {
		return 0;
	}
	if (!r || r->outcome != OUTCOME_OK || !(r->bw_GB_s > 0)) {
		return -1;
	}
	/* what carries all that the top should have does not slow it down,
	 * whatever else it could carry */
	if (s != top && r->bw_GB_s >= kept * should_be(run, top, src, dst)) {
		return 1;
	}
	if (full > 0) {
		return r->bw_GB_s >= kept * full;
	}
	/* nothing is known of the link, but it carries more than the top */
	above = diagnose_row_of(run, top, src, dst);
	return s != top && above && kept * r->bw_GB_s >= above->bw_GB_s ? 1 :
									  -1;
}

const struct diagnose_step *diagnose_lost(const struct run *run, int src,
					  int dst)
{
	const struct diagnose_step *top = diagnose_top(run), *lost = NULL;
	int kept = diagnose_keeps(run, top, src, dst);

	for (const struct diagnose_step *s = top + 1;
	     kept == 0 && s > diagnose_steps;) {
		int keeps = diagnose_keeps(run, --s, src, dst);

		lost = keeps == 0 ? s : lost;
		kept = keeps > 0;
	}
	return lost;
}

bool diagnose_helps(const struct run *run, const struct diagnose_row *r)
{
	int src = (int)r->src_rank, dst = (int)r->dst_rank;
	const struct diagnose_step *s = diagnose_top(run);
	double full = should_be(run, s, src, dst);

	if (r->outcome != OUTCOME_OK || class_of(run, src, dst) != CELL_SLOW) {
		return r->outcome == OUTCOME_OK;
	}
	/* without a good pair, what the layer below makes of the link; a copy
	 * engine makes more of NVLink than NCCL can, so never more than what is
	 * expected */
	for (bool below = !diagnose_good(run, s, src, dst);
	     below && s > diagnose_steps;) {
		if (diagnose_keeps(run, --s, src, dst) > 0) {
			full = fmin(full, diagnose_row_of(run, s, src,
							  dst)->bw_GB_s);
			below = false;
		}
	}
	return r->bw_GB_s >= RATE_KEPT * full;
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

/** Returns why a step for RoCE does not apply, since InfiniBand has no choice
 *  of addresses.  If the type of the ports is not known, the step is tried. */
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

static const char *needs_gdr(const struct run *run, int src, int dst)
{
	const struct diagnose_step layer = { .name = "verbs" };
	const struct diagnose_row *r = diagnose_row_of(run, &layer, src, dst);

	return r && cells_outcome_failed(r->outcome) ?
		       "RDMA also fails in host memory" :
		       needs_ib(run, src, dst);
}

#define JOBS (BASE_NCCL | BASE_SIM)
/* in a drill tcp and sim take the place of NCCL: diagnose_applies() */
#define DRILLS (BASE_NCCL | BASE_SIM | BASE_TCP)

const struct diagnose_step diagnose_steps[] = {
	{ .name = "ping", .says = "ping", .command = "ping",
	  .option = "--count=3", .of = JOBS | BASE_TCP,
	  .where = DIAGNOSE_INTER },
	{ .name = "tcp", .base = BASE_TCP, .says = "TCP", .command = "p2p",
	  .rate = true, .option = "--transport=tcp",
	  .of = JOBS | BASE_CUDA | BASE_TCP },
	{ .name = "verbs", .says = "RDMA in host memory", .command = "ib",
	  .option = "--memory=host", .of = JOBS, .where = DIAGNOSE_INTER,
	  .rate = true, .ports = true, .on = KIND(NIC) },
	{ .name = "verbs_gpu", .says = "RDMA in GPU memory", .command = "ib",
	  .option = "--memory=gpu", .of = JOBS, .where = DIAGNOSE_INTER,
	  .rate = true, .ports = true },
	{ .name = "cuda", .base = BASE_CUDA, .says = "a copy between the GPUs",
	  .command = "p2p", .rate = true, .option = "--transport=cuda",
	  .of = BASE_NCCL | BASE_CUDA, .where = DIAGNOSE_INTRA },
	{ .name = "nccl", .base = BASE_NCCL, .says = "NCCL", .command = "p2p",
	  .option = "--transport=nccl", .of = BASE_NCCL },
	{ .name = "sim", .base = BASE_SIM, .says = "the simulation",
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

	/* for pairs that are slow */
	{ .name = "NCCL_IB_QPS_PER_CONNECTION=4", .of = DRILLS, .rate = true,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_IB_QPS_PER_CONNECTION=4" },
	  .not_for = needs_ib,
	  .says = "more queue pairs per connection: more memory of the HCA" },
	{ .name = "NCCL_IB_QPS_PER_CONNECTION=4+NCCL_IB_SPLIT_DATA_ON_QPS=1",
	  .of = DRILLS, .rate = true, .where = DIAGNOSE_INTER,
	  .env = { "NCCL_IB_QPS_PER_CONNECTION=4",
		   "NCCL_IB_SPLIT_DATA_ON_QPS=1" }, .not_for = needs_ib,
	  .says = "a message is split over several queue pairs: small messages "
		  "may take longer" },
	{ .name = "NCCL_IB_ADAPTIVE_ROUTING=1", .of = DRILLS, .rate = true,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_IB_ADAPTIVE_ROUTING=1" },
	  .not_for = needs_roce,
	  .says = "one more message per transfer; only for switches that have "
		  "adaptive routing" },
	{ .name = "NCCL_IB_PCI_RELAXED_ORDERING=1", .of = DRILLS, .rate = true,
	  .where = DIAGNOSE_INTER, .not_for = needs_ib,
	  .env = { "NCCL_IB_PCI_RELAXED_ORDERING=1" },
	  .says = "PCIe may reorder writes; check the data with --verify" },
	{ .name = "NCCL_NET_GDR_LEVEL=SYS", .of = DRILLS, .rate = true,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_NET_GDR_LEVEL=SYS" },
	  .not_for = needs_ib,
	  .says = "GPUDirect RDMA between any GPU and NIC, also through the "
		  "CPUs" },
	{ .name = "NCCL_CROSS_NIC=1", .of = DRILLS, .rate = true,
	  .where = DIAGNOSE_INTER, .env = { "NCCL_CROSS_NIC=1" },
	  .not_for = needs_ib,
	  .says = "rings and trees may change rails: more traffic between leaf "
		  "switches" },
	{ .name = "NCCL_PXN_DISABLE=0", .of = DRILLS, .rate = true,
	  .where = DIAGNOSE_CROSS, .env = { "NCCL_PXN_DISABLE=0" },
	  .option = "--pxn", .not_for = needs_ib,
	  .says = "data goes through another GPU of the node: its NVLink is "
		  "busier" },
	{ .name = "NCCL_BUFFSIZE=8388608", .of = DRILLS, .rate = true,
	  .env = { "NCCL_BUFFSIZE=8388608" },
	  .says = "buffers of 8 MiB: twice the GPU memory per connection" },
	{ .name = "NCCL_MIN_NCHANNELS=16", .of = DRILLS, .rate = true,
	  .env = { "NCCL_MIN_NCHANNELS=16" },
	  .says = "more channels: more SMs and memory of the GPUs" },
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

/** The same for a knob: not if its variables already had these values in the
 *  run, nor once another setting made the pair pass. */
static bool knob_applies(const struct run *run, const struct diagnose_step *s,
			 int src, int dst, const char **why)
{
	bool set = true;

	/* other transports know nothing of NCCL's settings */
	if (diagnose_top(run)->base != BASE_NCCL && !run->drill) {
		return false;
	}
	for (const struct diagnose_step *k = diagnose_steps; k->name; k++) {
		const struct diagnose_row *row =
			diagnose_row_of(run, k, src, dst);

		if (diagnose_is_knob(k) && row && diagnose_helps(run, row)) {
			return false;
		}
	}
	for (int i = 0; s->env[i]; i++) {
		const char *value = strchr(s->env[i], '=') + 1;
		char name[64];

		snprintf(name, sizeof(name), "%.*s",
			 (int)(value - 1 - s->env[i]), s->env[i]);
		set = set && strcmp(setting(run, name), value) == 0;
	}
	*why = set	  ? "already set" :
	       s->not_for ? s->not_for(run, src, dst) : NULL;
	return !*why;
}

/** Return true if the pair is slow and loses its rate in @s (NULL: in any
 *  layer), or is a good pair like one that does. */
static bool is_lost(const struct run *run, const struct diagnose_step *s,
		    int src, int dst)
{
	unsigned class = class_of(run, src, dst);
	const struct diagnose_step *lost = class == CELL_SLOW ?
			diagnose_lost(run, src, dst) : NULL;
	bool like = lost && (!s || lost == s);

	for (size_t i = 0; class == CELL_PASS && !like && i < run->n_diagnose;
	     i++) {
		int a = (int)run->diagnose[i].src_rank;
		int b = (int)run->diagnose[i].dst_rank;

		like = class_of(run, a, b) == CELL_SLOW &&
		       is_like(run, a, b, src, dst) && is_lost(run, s, a, b);
	}
	return like;
}

bool diagnose_again(const struct run *run, const struct diagnose_step *s,
		    int src, int dst)
{
	const struct diagnose_row *r = diagnose_row_of(run, s, src, dst);
	const bool rates = class_of(run, src, dst) == CELL_SLOW ||
			   class_of(run, src, dst) == CELL_PASS;

	/* the top has been measured twice */
	return s->rate && !diagnose_is_knob(s) && s != diagnose_top(run) &&
	       (is_lost(run, s, src, dst) ||
		(rates && r && cells_outcome_failed(r->outcome)));
}

bool diagnose_applies(const struct run *run, const struct diagnose_step *s,
		      int src, int dst, const char **why)
{
	const struct diagnose_step *top = diagnose_top(run), *lost;
	bool inter = run->ranks[src].node != run->ranks[dst].node;
	unsigned class = class_of(run, src, dst);
	const struct diagnose_row *again;

	*why = NULL;
	if (!top || !(s->of & top->base) ||
	    (s->where == DIAGNOSE_INTER && !inter) ||
	    (s->where == DIAGNOSE_CROSS &&
	     (!inter || run->ranks[src].nic == run->ranks[dst].nic)) ||
	    (s->where == DIAGNOSE_INTRA && inter)) {
		return false;
	}
	if (s == top) {
		return true;
	}
	/* what no longer fails needs no more tests */
	again = diagnose_row_of(run, top, src, dst);
	/* a good pair, as long as one like it is slow */
	if (class == CELL_PASS) {
		return s->rate && !diagnose_is_knob(s) &&
		       is_lost(run, NULL, src, dst);
	}
	if (class == CELL_SLOW) {
		lost = diagnose_lost(run, src, dst);
		return lost && s->rate &&
		       (!diagnose_is_knob(s) ||
			(lost == top && knob_applies(run, s, src, dst, why)));
	}
	return again && cells_outcome_failed(again->outcome) &&
	       (!diagnose_is_knob(s) ||
		(!s->rate && knob_applies(run, s, src, dst, why)));
}

/* ---- diagnose ------------------------------------------------------------ */

#define MAX_LOOKED_AT 64	/* findings */

/** Return true if @f is about slow tests, which are compared with others: not
 *  if ranks share cores. */
static bool is_slow(const struct run *run, const struct finding *f)
{
	return f->src >= 0 && f->dst >= 0 && !run->shared_cores &&
	       class_of(run, f->src, f->dst) == CELL_SLOW;
}

bool diagnose_can(const struct run *run, const struct finding *f)
{
	const struct diagnose_step *top = diagnose_top(run);
	const struct run_file file = run_file(run->json);
	bool can = top && (top->base & JOBS) && is_slow(run, f) &&
		   !file.imported && !run->foreign &&
		   !run_option(run, "jobs") &&
		   !spec_launcher_is(file.launcher, LAUNCHER_ONCE);

	for (size_t i = 0; can && i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		can = !part_touches(&run->cluster, &f->part, (int)r->src_rank,
				    (int)r->dst_rank);
	}
	return can;
}

const char *diagnose_says(const char *step)
{
	for (const struct diagnose_step *s = diagnose_steps;
	     !diagnose_is_knob(s); s++) {
		if (strcmp(s->name, step) == 0) {
			return s->says;
		}
	}
	return step;
}

struct finding *diagnose_finding(const struct run *run,
				 const struct verdict *v, int src, int dst)
{
	unsigned class = class_of(run, src, dst);
	bool bad = class == CELL_SLOW || cells_failed(class);

	for (size_t i = 0; bad && i < v->n; i++) {
		struct finding *f = &v->findings[i];

		if ((is_slow(run, f) ? class == CELL_SLOW :
				       f->fail && cells_failed(class)) &&
		    part_touches(&run->cluster, &f->part, src, dst)) {
			return f;
		}
	}
	return NULL;
}

/** Find the most informative cell for @f whose pair is not in @pairs: more if
 *  only one thing can be wrong with it, and if it differs from @other, which
 *  already stands for the finding (NULL = none yet).  With @f NULL, the best
 *  good cell like that of @other: one that no finding touches in either
 *  direction, if any. */
static bool best_cell(const struct run *run, const struct verdict *v,
		      const struct finding *f,
		      const struct diagnose_pairs *pairs,
		      const struct grid_pair *other,
		      struct grid_pair *best)
{
	const struct cluster_rank *ranks = run->ranks;
	int most = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		int s = run_src(run, at), d = run_dst(run, at), points;
		bool inter = ranks[s].node != ranks[d].node, chosen = false;

		for (size_t i = 0; i < pairs->n; i++) {
			const struct grid_pair *p = &pairs->list[i];

			chosen = chosen || (p->src == s && p->dst == d) ||
				 (p->src == d && p->dst == s);
		}
		if (s == d || chosen ||
		    (f ? diagnose_finding(run, v, s, d) != f :
			 run->cells[at].class != CELL_PASS ||
				 !is_like(run, s, d, other->src, other->dst))) {
			continue;
		}
		points = !inter || ranks[s].nic == ranks[d].nic ? 2 : 1;
		for (size_t i = 0; !f && i < v->n && i < MAX_LOOKED_AT; i++) {
			const struct part *p = &v->findings[i].part;

			/* the other direction has the same facts */
			points -= part_touches(&run->cluster, p, s, d) ||
				  part_touches(&run->cluster, p, d, s);
		}
		if (!f) {
			points += MAX_LOOKED_AT;
		} else if (other) {
			points += 4 * (inter != (ranks[other->src].node !=
						 ranks[other->dst].node)) +
				  (s != other->src && s != other->dst) +
				  (d != other->src && d != other->dst);
		}
		if (points > most) {
			most = points;
			*best = (struct grid_pair){ s, d };
		}
	}
	return most > 0;
}

/** Choose one pair for each finding before the first gets its second, then for
 *  each slow pair a good one that is like it, if there is none for another. */
void diagnose_choose(const struct run *run, const struct verdict *v,
		     struct diagnose_pairs *pairs)
{
	/* a look at all cells for each: the first ones are the most telling */
	size_t n = v->n < MAX_LOOKED_AT ? v->n : MAX_LOOKED_AT;

	*pairs = (struct diagnose_pairs){ 0 };
	for (size_t i = 0; i < v->n; i++) {
		pairs->findings += v->findings[i].fail ||
				   is_slow(run, &v->findings[i]);
	}
	for (size_t i = 0; diagnose_top(run) && i < DIAGNOSE_PER_FINDING * n &&
			   pairs->n < DIAGNOSE_BAD_PAIRS; i++) {
		const struct finding *f = &v->findings[i % n];
		const struct grid_pair *other = NULL;
		struct grid_pair best;

		for (size_t k = 0; k < pairs->n && !other; k++) {
			const struct grid_pair *p = &pairs->list[k];

			other = diagnose_finding(run, v, p->src, p->dst) == f ?
					p : NULL;
		}
		if ((f->fail || is_slow(run, f)) &&
		    !(other && is_slow(run, f)) &&
		    best_cell(run, v, f, pairs, other, &best)) {
			pairs->covered += i < n;
			pairs->list[pairs->n++] = best;
		}
	}
	for (size_t i = 0, bad = pairs->n; i < bad; i++) {
		const struct grid_pair *p = &pairs->list[i];
		bool has = class_of(run, p->src, p->dst) != CELL_SLOW;

		for (size_t k = bad; k < pairs->n; k++) {
			has = has || is_like(run, p->src, p->dst,
					     pairs->list[k].src,
					     pairs->list[k].dst);
		}
		if (!has && best_cell(run, v, NULL, pairs, p,
				      &pairs->list[pairs->n])) {
			pairs->n++;
		}
	}
}

const char *diagnose_undone_name(const char *knob, char *buf, size_t size)
{
	snprintf(buf, size, "without-%s", knob);
	return buf;
}

bool diagnose_combine(const struct run *run, const struct grid_pair *p,
		      size_t n, struct diagnose_step *out)
{
	const struct diagnose_step *top = diagnose_top(run);
	const struct diagnose_row *was =
		diagnose_row_of(run, top, p->src, p->dst);
	size_t at = 0;

	*out = (struct diagnose_step){ .rate = true, .of = ~0U };
	for (size_t taken = 0; taken < n; taken++) {
		const struct diagnose_step *best = NULL;
		double most = was ? RATE_RAISED * was->bw_GB_s : INFINITY;

		for (const struct diagnose_step *s = diagnose_steps; s->name;
		     s++) {
			const struct diagnose_row *r =
				diagnose_row_of(run, s, p->src, p->dst);
			bool used = false;	/* a variable of it is */

			for (size_t k = 0; k < at * DIAGNOSE_MAX_ENV; k++) {
				const char *own = s->env[k % DIAGNOSE_MAX_ENV];

				used = used || (own &&
						strcmp(out->env[k /
							DIAGNOSE_MAX_ENV],
						       own) == 0);
			}
			if (!diagnose_is_knob(s) || !r || used ||
			    r->outcome != OUTCOME_OK || r->bw_GB_s <= most) {
				continue;
			}
			if (diagnose_helps(run, r)) {
				return false;
			}
			most = r->bw_GB_s;
			best = s;
		}
		for (size_t i = 0; best && best->env[i]; i++) {
			if (at == DIAGNOSE_MAX_ENV) {
				return false;
			}
			out->env[at++] = best->env[i];
		}
		if (!best) {
			return false;
		}
	}
	return class_of(run, p->src, p->dst) == CELL_SLOW &&
	       diagnose_lost(run, p->src, p->dst) == top;
}

void diagnose_row_init(const struct run *run, const struct diagnose_step *s,
		       const struct grid_pair *pair,
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

int diagnose_index(const struct run *run, const struct diagnose_step *s,
		   int rank)
{
	const struct cluster_rank *r = &run->ranks[rank];
	/* of one NIC, or of several, without the number of the port */
	const size_t len = strcspn(r->nic_name, ":+");
	int index = 0;

	if (!s->ports) {
		return r->gpu;
	}
	run_foreach_fact(run, f) {
		bool up = false;	/* on any node: others are no ranks */

		if (strcmp(f->fact, "port_state") != 0 ||
		    strcmp(f->node, run->nodes[r->node].name) != 0) {
			continue;
		}
		run_foreach_fact(run, g) {
			up = up || (strcmp(g->fact, "port_state") == 0 &&
				    strcmp(g->scope, f->scope) == 0 &&
				    strcmp(g->value, "ACTIVE") == 0);
		}
		if (up && r->nic_name[0] &&
		    strncmp(r->nic_name, f->scope, len) == 0 &&
		    (f->scope[len] == '\0' || f->scope[len] == ':')) {
			return index;
		}
		index += up;
	}
	/* its name is not known: the number of the rail */
	return r->nic;
}

bool diagnose_is_first(const struct run *run, size_t i)
{
	const struct diagnose_row *r = &run->diagnose[i];
	size_t k = 0;

	while (run->diagnose[k].src_rank != r->src_rank ||
	       run->diagnose[k].dst_rank != r->dst_rank) {
		k++;
	}
	return k == i && diagnose_top(run) != NULL;
}

bool diagnose_is_slow(const struct run *run, size_t i)
{
	const struct diagnose_row *r = &run->diagnose[i];

	return diagnose_is_first(run, i) &&
	       class_of(run, (int)r->src_rank, (int)r->dst_rank) == CELL_SLOW;
}

const struct diagnose_row *diagnose_rates(const struct run *run,
					  const struct diagnose_row *first,
					  size_t n, const char **name,
					  double GB_s[DIAGNOSE_RATES])
{
	int src = (int)first->src_rank, dst = (int)first->dst_rank;
	const struct diagnose_row *r = NULL, *good;
	const struct diagnose_step *s = diagnose_steps;
	struct diagnose_step knob = { 0 };

	for (n++; n > 0 && !diagnose_is_knob(s); s++) {
		r = diagnose_row_of(run, s, src, dst);
		n -= r && r->outcome == OUTCOME_OK && r->bw_GB_s > 0;
	}
	for (size_t i = 0; n > 0 && i < run->n_diagnose; i++) {
		r = &run->diagnose[i];
		knob.name = r->step;
		n -= r->src_rank == src && r->dst_rank == dst &&
		     r->outcome == OUTCOME_OK && r->bw_GB_s > 0 &&
		     strcmp(r->kind, DIAGNOSE_KNOB) == 0;
	}
	s = knob.name ? &knob : s - 1;
	if (n > 0 || !r) {
		return NULL;
	}
	good = diagnose_good(run, s, src, dst);
	*name = diagnose_says(r->step);
	GB_s[DIAGNOSE_OWN] = r->bw_GB_s;
	GB_s[DIAGNOSE_GOOD] = good ? good->bw_GB_s : NAN;
	GB_s[DIAGNOSE_LINK] = r->expected_GB_s > 0 ? r->expected_GB_s : NAN;
	return r;
}

/* ---- diagnose read ------------------------------------------------------- */

/* Read the run of one step about its pairs. */

struct diagnose_read_reading {
	const struct run *run;
	const struct diagnose_step *step;
	struct diagnose_row *rows;
	/* The rows that decide each of them so far, there and back: attempt,
	 * outcome, code and detail.  Attempt 0: no row yet. */
	struct p2p_row (*ways)[2];
	size_t n;
};

/** The larger, the more it says against the pair. */
static int severity(enum outcome o)
{
	static const int of[OUTCOME_COUNT] = {
		[OUTCOME_OK] = 0, [OUTCOME_NOT_RUN] = 1,
		[OUTCOME_SKIPPED] = 2, [OUTCOME_TIMEOUT] = 3,
		[OUTCOME_ERROR] = 4, [OUTCOME_CORRUPT] = 5,
		[OUTCOME_CRASHED] = 6,
	};

	return of[o];
}

/** Takes the worst size of the last attempt, or with @all the worst of all
 *  attempts: a setting with which a pair passes only sometimes is no remedy.
 *  An attempt that did not run counts only until a later one does. */
static void take_way(struct p2p_row *w, const struct p2p_row *row,
		     bool all)
{
	int64_t attempt = row->attempt > 0 ? row->attempt : 1;
	bool stays = all && w->attempt > 0 &&
		     (w->outcome == OUTCOME_OK ||
		      cells_outcome_failed(w->outcome));

	if ((attempt > w->attempt && !stays) ||
	    ((all || attempt == w->attempt) &&
	     severity(row->outcome) > severity(w->outcome))) {
		*w = *row;
		w->attempt = attempt;
	}
}

static bool is_end(const struct diagnose_read_reading *g, int64_t rank,
		   const char *node, int64_t index)
{
	const struct cluster_rank *r = &g->run->ranks[rank];

	return strcmp(g->run->nodes[r->node].name, node) == 0 &&
	       diagnose_index(g->run, g->step, (int)rank) == index;
}

static int take_pair(const struct run_rows *rows, const void *data)
{
	const struct diagnose_read_reading *g = rows->user;
	const struct p2p_row *p = data;
	bool all = diagnose_is_knob(g->step);

	for (size_t i = 0; p->flow <= 0 && i < g->n; i++) {
		const struct diagnose_row *r = &g->rows[i];

		if (is_end(g, r->src_rank, p->src_node, p->src_gpu) &&
		    is_end(g, r->dst_rank, p->dst_node, p->dst_gpu)) {
			take_way(&g->ways[i][0], p, all);
			g->rows[i].bw_GB_s = fmax(g->rows[i].bw_GB_s,
						  p->bw_GB_s);
			g->rows[i].expected_GB_s = fmax(
				g->rows[i].expected_GB_s, p->expected_GB_s);
		}
		if (is_end(g, r->dst_rank, p->src_node, p->src_gpu) &&
		    is_end(g, r->src_rank, p->dst_node, p->dst_gpu)) {
			take_way(&g->ways[i][1], p, all);
		}
	}
	return 0;
}

/** One path that answers is enough, each way: the others are their own
 *  finding, of gpucheck ping. */
static int take_path(const struct run_rows *rows, const void *data)
{
	const struct diagnose_read_reading *g = rows->user;
	const struct ping_row *p = data;

	for (size_t i = 0; i < g->n; i++) {
		const struct diagnose_row *r = &g->rows[i];
		bool there = strcmp(r->src_node, p->src_node) == 0 &&
			     strcmp(r->dst_node, p->dst_node) == 0;
		bool back = strcmp(r->dst_node, p->src_node) == 0 &&
			    strcmp(r->src_node, p->dst_node) == 0;
		struct p2p_row *w = &g->ways[i][back];

		if ((there || back) &&
		    (w->attempt == 0 ||
		     severity(p->outcome) < severity(w->outcome))) {
			w->attempt = 1;
			w->outcome = p->outcome;
			STR_COPY(w->code, p->code);
			STR_COPY(w->detail, p->detail);
		}
	}
	return 0;
}

bool diagnose_was_set(const char *dir, const struct diagnose_step *s)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	const json_t *env = run_file(run).environment;
	bool set = true;

	for (int i = 0; s->env[i]; i++) {
		size_t len = strcspn(s->env[i], "=");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)len, s->env[i]);
		set = set && strcmp(json_member(env, name),
				    s->env[i] + len + 1) == 0;
	}
	json_decref(run);
	return set;
}

int diagnose_read(const char *dir, const struct run *run,
		  const struct diagnose_step *s, struct diagnose_row *rows,
		  size_t n, struct err *e)
{
	bool paths = s->command && strcmp(s->command, "ping") == 0;
	struct diagnose_read_reading g = {
		.run = run, .step = s, .rows = rows, .n = n,
		.ways = calloc(n + 1, sizeof(*g.ways)),
	};
	const struct run_rows take = {
		.schema = paths ? &schema_ping : &schema_p2p,
		.take = paths ? take_path : take_pair, .user = &g,
	};
	int rc = g.ways ? run_take_results(dir, &take, e) :
			  err_set(e, ENOMEM, "no memory for the rows of '%s'",
				  dir);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct p2p_row *w = &g.ways[i][0], *back = w + 1;

		if (w->attempt == 0 ||
		    (back->attempt > 0 &&
		     severity(back->outcome) > severity(w->outcome))) {
			w = back;
		}
		if (w->attempt > 0) {
			rows[i].outcome = w->outcome;
			STR_COPY(rows[i].code, w->code);
			STR_COPY(rows[i].detail, w->detail);
		}
	}
	free(g.ways);
	return rc;
}
