/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of the layered tests of --diagnose: steps, rows and conclusions. */
#include "report/judge/diagnose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/judge/tell.h"
#include "report/model/part.h"
#include "report/model/run.h"

/* ---- diagnose steps ------------------------------------------------------ */

/** Returns the row of @s for the pair, NULL = none yet; only the name of @s is
 *  read. */
static const struct diagnose_row *
diagnose_row_of(const struct run *run, const struct diagnose_step *s,
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

		if (diagnose_is_knob(k) && row && row->outcome == OUTCOME_OK) {
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
	if (!again || !cells_outcome_failed(again->outcome)) {
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

/** Find the most informative cell for @f whose pair is not in @pairs: more if
 *  only one thing can be wrong with it, and if it differs from @other, which
 *  already stands for the finding (NULL = none yet). */
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
		if (s == d || !cells_failed(run->cells[at].class) || chosen ||
		    diagnose_finding(run, v, s, d) != f) {
			continue;
		}
		points = !inter || ranks[s].nic == ranks[d].nic ? 2 : 1;
		if (other) {
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

/** Choose one pair for each finding before the first gets its second. */
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
		const struct grid_pair *other = NULL;
		struct grid_pair best;

		for (size_t k = 0; k < pairs->n && !other; k++) {
			const struct grid_pair *p = &pairs->list[k];

			other = diagnose_finding(run, v, p->src, p->dst) == f ?
					p : NULL;
		}
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
 *  attempts: a setting with which a pair passes only sometimes is no remedy. */
static void take_way(struct p2p_row *w, const struct p2p_row *row,
		     bool all)
{
	int64_t attempt = row->attempt > 0 && !all ? row->attempt : 1;

	if (attempt > w->attempt ||
	    (attempt == w->attempt &&
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

	for (size_t i = 0; i < g->n; i++) {
		const struct diagnose_row *r = &g->rows[i];

		if (is_end(g, r->src_rank, p->src_node, p->src_gpu) &&
		    is_end(g, r->dst_rank, p->dst_node, p->dst_gpu)) {
			take_way(&g->ways[i][0], p, all);
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

/* ---- diagnose words ------------------------------------------------------ */

/* Results of the layered tests of --diagnose as sentences. */

/** The rows about one pair. */
struct layers {
	const struct run *run;
	struct finding *finding;	/* that the pair stands for */
	int src, dst;
	const struct diagnose_step *top;
	const struct diagnose_step *fault;	/* first layer that fails */
	const struct diagnose_step *mend;	/* NULL = none that was tried */
	const struct diagnose_row *undone;	/* without @mend, after it */
	size_t below;		/* layers below the top that were
				 * measured */
	size_t untried;		/* layers below the fault that were not */
};

static const struct diagnose_row *row_of(const struct layers *l,
					 const struct diagnose_step *s)
{
	return diagnose_row_of(l->run, s, l->src, l->dst);
}

static bool passes(const struct diagnose_row *r)
{
	return r && r->outcome == OUTCOME_OK;
}

static bool fails(const struct diagnose_row *r)
{
	return r && cells_outcome_failed(r->outcome);
}

/** Returns true if TCP passes although a ping does not: that is a filter, not a
 *  fault. */
static bool is_filtered(const struct layers *l, const struct diagnose_step *s)
{
	for (const struct diagnose_step *t = s + 1;
	     strcmp(s->name, "ping") == 0 && t->name; t++) {
		if (t->base == BASE_TCP) {
			return passes(row_of(l, t));
		}
	}
	return false;
}

/** "the fault is in RDMA in host memory, on NIC 2 of n1". */
static void add_fault(const struct layers *l, struct str *out)
{
	const struct part *p = &l->finding->part;
	/* what jobs use has settings; what is below it has none of its own */
	bool set = l->fault == l->top &&
		   (l->top->of == BASE_NCCL || l->top->of == BASE_SIM);
	const struct diagnose_step *rdma = diagnose_steps;

	if (l->fault == l->top && l->below == 0) {
		str_addf(out, "; no layer below %s was tested", l->top->says);
		return;
	}
	while (rdma->name && !rdma->ports) {
		rdma++;
	}
	if (set && rdma->name && passes(row_of(l, rdma))) {
		str_addf(out, ": RDMA works, %s does not: check NCCL's "
			 "settings", l->top->says);
	} else {
		str_addf(out, ": the fault is in %s%s", l->fault->says,
			 set ? " or its settings" : "");
	}
	/* only of these it can be said to be on one */
	if (part_is(p, KIND(NIC) | KIND(GPU) | KIND(NODE) |
		       KIND(RAIL))) {
		str_addf(out, ", on %s", PART_NAME(l->run, p));
	}
	str_add(out, l->untried ? ", or in a layer that was not tested" : "");
}

/** "ping passes, TCP passes, RDMA in host memory fails (rtr_timeout)", and
 *  where the fault is. */
static void layer_text(const struct layers *l, struct str *out)
{
	const char *comma = "";

	if (passes(row_of(l, l->top))) {
		str_addf(out, "%s passes when retried alone: it fails only "
			 "while other tests run, or intermittently",
			 l->top->says);
		return;
	}
	for (const struct diagnose_step *s = diagnose_steps;
	     !diagnose_is_knob(s); s++) {
		const struct diagnose_row *r = row_of(l, s);

		if (!r) {
			continue;
		}
		str_addf(out, "%s%s %s", comma, s->says,
			 passes(r) ? "passes" :
			 fails(r)  ? "fails" : "was not tested");
		if (s == l->fault && r->code[0]) {
			str_addf(out, " (%s)", r->code);
		} else if (!passes(r) && !fails(r) && r->detail[0]) {
			str_addf(out, " (%.80s)", r->detail);
		} else if (is_filtered(l, s) && fails(r)) {
			str_add(out, ", filtered");
		}
		comma = ", ";
	}
	if (l->fault) {
		add_fault(l, out);
	}
}

/** Append the names of the knobs that failed, or that were not tested; returns
 *  how many. */
static size_t add_knobs(const struct layers *l, bool failed, struct str *out)
{
	size_t n = 0;

	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r = row_of(l, s);

		if (!diagnose_is_knob(s) || !r || passes(r) ||
		    fails(r) != failed) {
			continue;
		}
		str_addf(out, "%s%s", n++ ? ", " : "", s->name);
		if (!failed && r->detail[0]) {
			str_addf(out, " (%.80s)", r->detail);
		}
	}
	return n;
}

/** Writes "works with NCCL_IB_DISABLE=1, not with NCCL_IB_GID_INDEX=3"; if the
 *  pair may pass without the setting as well, writes only that. */
static void knob_text(const struct layers *l, struct str *out)
{
	struct str bad = STR_INIT, untried = STR_INIT;
	size_t n_bad = add_knobs(l, true, &bad);
	size_t n_untried = add_knobs(l, false, &untried);

	if (l->mend && passes(l->undone)) {
		str_addf(out, "passes with %s, and now also without it: it "
			 "fails intermittently", l->mend->name);
	} else if (l->mend && !fails(l->undone)) {
		str_addf(out, "passes with %s; not retested without it",
			 l->mend->name);
	} else if (l->mend) {
		str_addf(out, "passes with %s%s%s", l->mend->name,
			 n_bad ? ", fails with " : "", str_text(&bad));
	} else if (n_bad) {
		str_addf(out, "fails with every setting tried: %s",
			 str_text(&bad));
	}
	if (n_untried && !l->mend) {
		str_addf(out, "%snot tested: %s", n_bad ? "; " : "",
			 str_text(&untried));
	}
	str_release(&bad);
	str_release(&untried);
}

/** One more line in front of what the finding has; the same line about other
 *  pairs is one line. */
static void add_line(struct finding *f, const char *names, const char *text)
{
	char line[sizeof(*f->evidence)];
	size_t n = f->n_evidence;

	for (size_t i = 0; i < f->n_first; i++) {
		const char *same = strstr(f->evidence[i], text);

		if (same && strcmp(same, text) == 0 && same[-1] == ' ' &&
		    same[-2] == ':') {
			snprintf(line, sizeof(line), "%.*s, %s: %s",
				 (int)(same - f->evidence[i] - 2),
				 f->evidence[i], names, text);
			STR_COPY(f->evidence[i], line);
			return;
		}
	}
	finding_add_evidence(f, "%s: %s", names, text);
	if (f->n_evidence > n) {
		STR_COPY(line, f->evidence[n]);
		memmove(f->evidence[f->n_first + 1], f->evidence[f->n_first],
			(n - f->n_first) * sizeof(*f->evidence));
		STR_COPY(f->evidence[f->n_first++], line);
	}
}

bool diagnose_settles(const struct run *run, const char *text)
{
	char step[sizeof(((struct diagnose_row *)NULL)->step)], *blank;
	char undone[sizeof(step) + sizeof("without-")];
	struct diagnose_step with = { .name = step }, without = { 0 };
	bool tested = false;

	STR_COPY(step, text);
	while ((blank = strchr(step, ' '))) {
		*blank = '+';
	}
	without.name = diagnose_undone_name(&with, undone, sizeof(undone));
	for (size_t i = 0; i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];

		if (strcmp(r->step, step) == 0 && passes(r)) {
			return fails(diagnose_row_of(run, &without,
						     (int)r->src_rank,
						     (int)r->dst_rank));
		}
		tested = tested || (strcmp(r->step, step) == 0 && fails(r));
	}
	return tested;
}

/** In front of what to do: what helps until that is done. */
static void add_act(const struct layers *l, const char *names)
{
	char export[sizeof(((struct diagnose_row *)NULL)->step)], *plus;
	struct finding *f = l->finding;
	struct str act = STR_INIT;

	STR_COPY(export, l->mend->name);
	while ((plus = strchr(export, '+'))) {
		*plus = ' ';
	}
	if (strstr(f->act, export)) {
		return;		/* another pair has said so */
	}
	/* "(drill) on real nodes:" is a heading as well */
	str_addf(&act, "With this setting %s passes (%s):\n" TELL_COMMAND
		 "export %s\npermanent repair%s%s", names, l->mend->says,
		 export, f->act[0] == '(' ? " " : ":\n", f->act);
	finding_set_act(f, str_text(&act));
	str_release(&act);
}

/** Find the first layer that fails and the setting that helps, and say so. */
static void tell_pair(struct layers *l)
{
	static void (*const texts[])(const struct layers *l,
				     struct str *out) = {
		layer_text, knob_text,
	};
	struct diagnose_step undone = { 0 };
	char names[PART_NAME_SIZE], name[sizeof(l->undone->step)];
	const char *why;

	l->top = diagnose_top(l->run);
	for (const struct diagnose_step *s = diagnose_steps; s->name; s++) {
		const struct diagnose_row *r = row_of(l, s);
		bool tried = passes(r) || fails(r);

		if (diagnose_is_knob(s)) {
			l->mend = !l->mend && passes(r) ? s : l->mend;
			continue;
		}
		l->below += s != l->top && tried;
		l->untried += !l->fault && !tried && !is_filtered(l, s) &&
			      diagnose_applies(l->run, s, l->src, l->dst, &why);
		if (!l->fault && fails(r) && !is_filtered(l, s)) {
			l->fault = s;
		}
	}
	if (l->mend) {
		undone.name = diagnose_undone_name(l->mend, name, sizeof(name));
		l->undone = row_of(l, &undone);
	}
	part_cell_name(l->run, run_at(l->run, l->src, l->dst), names);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct str text = STR_INIT;

		texts[i](l, &text);
		l->finding->failed |= text.failed;
		if (text.len) {
			add_line(l->finding, names, str_text(&text));
		}
		str_release(&text);
	}
	if (l->mend && fails(l->undone)) {
		add_act(l, names);
	}
}

void diagnose_tell(const struct run *run, struct verdict *v)
{
	for (size_t i = 0; diagnose_top(run) && i < run->n_diagnose; i++) {
		const struct diagnose_row *r = &run->diagnose[i];
		struct layers l = { .run = run, .src = (int)r->src_rank,
				    .dst = (int)r->dst_rank };
		size_t k = 0;

		if (r->src_rank < 0 || r->src_rank >= run->n_ranks ||
		    r->dst_rank < 0 || r->dst_rank >= run->n_ranks ||
		    r->src_rank == r->dst_rank) {
			continue;
		}
		/* only the first row of a pair */
		while (run->diagnose[k].src_rank != r->src_rank ||
		       run->diagnose[k].dst_rank != r->dst_rank) {
			k++;
		}
		l.finding = k == i ? diagnose_finding(run, v, l.src, l.dst) :
				     NULL;
		if (l.finding) {
			tell_pair(&l);
		}
	}
}
