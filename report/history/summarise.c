/* SPDX-License-Identifier: BSD-3-Clause */
/* Make the history's entry for a run. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/grow.h"
#include "lib/base/hash.h"
#include "lib/base/stats.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/history/history.h"

/* ---- summary ------------------------------------------------------------- */

void summary_release(struct summary *s)
{
	if (!s) {
		return;
	}
	for (size_t i = 0; i < s->n_nodes; i++) {
		free(s->nodes[i].gpu_GB_s);
		free(s->nodes[i].nic_GB_s);
		free(s->nodes[i].tested_with);
	}
	free(s->nodes);
	free(s->findings);
	free(s->rail_GB_s);
	*s = (struct summary){ 0 };
}

bool summary_alike(const struct summary *a, const struct summary *b)
{
	return strcmp(a->probe, b->probe) == 0 &&
	       strcmp(a->transport, b->transport) == 0 &&
	       strcmp(a->schedule, b->schedule) == 0 &&
	       (a->nic_choice[0] == 'p') == (b->nic_choice[0] == 'p') &&
	       a->size_B == b->size_B && a->ranks == b->ranks &&
	       a->of_nodes == b->of_nodes;
}

bool summary_has_pairs(const struct summary *s)
{
	return isfinite(s->inter_GB_s) || isfinite(s->intra_GB_s);
}

const char *summary_setup(const struct summary *s, char buf[SUMMARY_SETUP])
{
	char size[32] = "";
	int n;

	if (s->size_B > 0) {
		units_size_text((uint64_t)s->size_B, size, sizeof(size));
	}
	n = snprintf(buf, SUMMARY_SETUP, "%s%s%s%s%s%s%s %" PRId64 " node%s",
		     s->probe, s->transport[0] ? " " : "", s->transport,
		     size[0] ? " " : "", size, s->schedule[0] ? " " : "",
		     s->schedule, s->of_nodes, s->of_nodes == 1 ? "" : "s");
	if (s->ranks > 0 && n < SUMMARY_SETUP) {
		n += snprintf(buf + n, (size_t)(SUMMARY_SETUP - n),
			      " %" PRId64 " rank%s", s->ranks,
			      s->ranks == 1 ? "" : "s");
	}
	if (s->nic_choice[0] == 'n' && n < SUMMARY_SETUP) {
		snprintf(buf + n, (size_t)(SUMMARY_SETUP - n),
			 " --nic-choice=nccl");
	}
	return buf;
}

bool summary_counts(const struct summary *s, bool all)
{
	return strcmp(s->status, "unknown") != 0 &&
	       (all || (!s->drill && !s->model));
}

/* ---- summarise ----------------------------------------------------------- */

/** The median of more values of a part is that of so many, drawn evenly. */
#define PILE_MOST 512
/** Bytes of the names in one line of summary_node.tested_with: less than the
 *  column of a history has. */
#define LIST_BYTES 2000

/* ---- medians ------------------------------------------------------------ */

/** Levels of a part in its tests. */
struct pile {
	float *v;
	size_t n, seen;
};

static double pile_median(const struct pile *p)
{
	double v[PILE_MOST];

	for (size_t i = 0; i < p->n; i++) {
		v[i] = (double)p->v[i];
	}
	return stats_median(v, p->n);
}

/** The piles of all parts of a run, those of a node behind each other. */
struct piles {
	const struct run *run;
	struct pile *all;		/* those below, one after the other */
	struct pile *gpus, *nics;	/* number k of node i at first[i] + k */
	struct pile *inter, *intra;	/* of each node, and of all */
	struct pile *rails;
	size_t *first, n;
	bool *tested;
	bool *met;		/* node i > k was tested with node k at
				 * i * n_nodes + k */
	bool failed;
};

static int piles_make(struct piles *p, const struct run *run)
{
	const size_t nodes = (size_t)run->n_nodes;
	size_t parts = 0;

	*p = (struct piles){ .run = run,
			     .first = calloc(nodes + 1, sizeof(*p->first)) };
	for (size_t i = 0; p->first && i < nodes; i++) {
		p->first[i] = parts;
		parts += (size_t)(run->nodes[i].gpus > run->nodes[i].nics ?
					  run->nodes[i].gpus :
					  run->nodes[i].nics);
	}
	p->n = 2 * (parts + nodes + 1) + SPEC_MAX_GPUS;
	p->all = calloc(p->n, sizeof(*p->all));
	p->tested = calloc(nodes + 1, sizeof(*p->tested));
	p->met = calloc(nodes * nodes + 1, sizeof(*p->met));
	if (!p->first || !p->all || !p->tested || !p->met) {
		return -1;
	}
	p->gpus = p->all;
	p->nics = p->gpus + parts;
	p->inter = p->nics + parts;
	p->intra = p->inter + nodes + 1;
	p->rails = p->intra + nodes + 1;
	return 0;
}

static void put(struct piles *p, struct pile *pile, float v)
{
	uint64_t at = pile->seen++;

	if (pile->n < PILE_MOST) {
		p->failed |= !grow_add(&pile->v, &pile->n, &v, sizeof(v));
		return;
	}
	at = hash_mix(at, pile->seen, 0, 0) % pile->seen;
	if (at < PILE_MOST) {
		pile->v[at] = v;
	}
}

/** To the parts of one end of a test that did well. */
static void put_end(struct piles *p, const struct cluster_rank *r, bool inter,
		    float v)
{
	const size_t first = p->first[r->node];
	const struct cluster_node *n = &p->run->nodes[r->node];

	put(p, inter ? &p->inter[r->node] : &p->intra[r->node], v);
	if (!inter && !p->run->ports && r->gpu >= 0 && r->gpu < n->gpus) {
		put(p, &p->gpus[first + (size_t)r->gpu], v);
	}
	if ((inter || p->run->ports) && r->nic >= 0 && r->nic < n->nics) {
		put(p, &p->nics[first + (size_t)r->nic], v);
	}
}

static void put_cell(struct piles *p, size_t at)
{
	const struct run *run = p->run;
	const struct cell *c = &run->cells[at];
	const struct cluster_rank *src = &run->ranks[run_src(run, at)];
	const struct cluster_rank *dst = &run->ranks[run_dst(run, at)];
	const bool inter = src->node != dst->node;
	const float v = c->bw_GB_s;

	if (!run_measured(c->class)) {
		return;
	}
	p->tested[src->node] = p->tested[dst->node] = true;
	p->met[(src->node > dst->node ? src->node : dst->node) * run->n_nodes +
	       (src->node > dst->node ? dst->node : src->node)] = inter;
	if (!run_good(c->class) || !(v > 0)) {
		return;
	}
	put_end(p, src, inter, v);
	put_end(p, dst, inter, v);
	put(p, inter ? &p->inter[run->n_nodes] : &p->intra[run->n_nodes], v);
	for (int way = 0; inter && way < 2; way++) {
		const int nic = way ? dst->nic : src->nic;

		if (nic >= 0 && nic < SPEC_MAX_GPUS &&
		    !(way && dst->nic == src->nic)) {
			put(p, &p->rails[nic], v);
		}
	}
}

/** The medians of @n piles; NULL without memory. */
static double *medians(const struct pile *p, size_t n)
{
	double *v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++) {
		v[i] = pile_median(&p[i]);
	}
	return v;
}

/* ---- nodes -------------------------------------------------------------- */

/** Write the history's name for the node @own of @run. */
static void node_name(const struct run *run, const char *own,
		      char name[SUMMARY_NODE])
{
	const bool pretends =
		spec_launcher_is(run_file(run->json).launcher,
				 LAUNCHER_PRETENDS) && !run_is_model(run);
	const char *host = NULL;

	for (size_t k = 0; pretends && !host && k < run->n_facts; k++) {
		const struct fact_row *f = &run->facts[k];

		if (strcmp(f->fact, "host") == 0 && strcmp(f->node, own) == 0) {
			host = f->value;
		}
	}
	if (!host || !host[0]) {
		str_copy(name, SUMMARY_NODE, own);
	} else {
		snprintf(name, SUMMARY_NODE, "%.63s%s%s", host,
			 run->n_nodes > 1 ? "/" : "",
			 run->n_nodes > 1 ? own : "");
	}
}

/** That of this name, made where there is none; NULL without memory.  @last is
 *  where to look first. */
static struct summary_node *node_of(struct summary *s, const char *name,
				    size_t last)
{
	struct summary_node n = { .bw_GB_s = NAN };

	if (last < s->n_nodes && strcmp(s->nodes[last].name, name) == 0) {
		return &s->nodes[last];
	}
	for (size_t i = 0; i < s->n_nodes; i++) {
		if (strcmp(s->nodes[i].name, name) == 0) {
			return &s->nodes[i];
		}
	}
	STR_COPY(n.name, name);
	return grow_add(&s->nodes, &s->n_nodes, &n, sizeof(n));
}

/** The host lists of the nodes behind node @i that it was tested with, at most
 *  LIST_BYTES in each line; NULL without any. */
static char *list_met(struct piles *p, int i, char (*names)[SUMMARY_NODE])
{
	const int nodes = p->run->n_nodes;
	char (*chosen)[SUMMARY_NODE] = calloc((size_t)nodes, sizeof(*chosen));
	struct str out = STR_INIT;
	size_t n = 0, bytes = 0;

	for (int k = i + 1; chosen && k <= nodes; k++) {
		const bool met = k < nodes && p->met[k * nodes + i];
		const size_t len = met ? strlen(names[k]) + 1 : 0;

		if (n > 0 && (k == nodes || bytes + len > LIST_BYTES)) {
			str_add(&out, out.len ? "\n" : "");
			hostlist_add(&out, chosen[0], sizeof(*chosen), n);
			n = bytes = 0;
		}
		if (met) {
			memcpy(chosen[n++], names[k], sizeof(*chosen));
			bytes += len;
		}
	}
	p->failed = p->failed || !chosen || out.failed;
	free(chosen);
	return out.data;
}

/** The levels of node @i. */
static int take_node(struct summary *s, struct piles *p, int i,
		     char (*names)[SUMMARY_NODE])
{
	const struct cluster_node *n = &p->run->nodes[i];
	const struct pile *bw = p->inter[i].n ? &p->inter[i] : &p->intra[i];
	const size_t first = p->first[i];
	struct summary_node *to = node_of(s, names[i], (size_t)i);

	if (!to) {
		return -1;
	}
	to->tested = to->tested || p->tested[i];
	to->bw_GB_s = pile_median(bw);
	free(to->gpu_GB_s);
	free(to->nic_GB_s);
	free(to->tested_with);
	to->n_gpus = p->run->ports ? 0 : (size_t)n->gpus;
	to->n_nics = (size_t)n->nics;
	to->gpu_GB_s = medians(p->gpus + first, to->n_gpus);
	to->nic_GB_s = medians(p->nics + first, to->n_nics);
	to->tested_with = list_met(p, i, names);
	return to->gpu_GB_s && to->nic_GB_s ? 0 : -1;
}

static int take_levels(struct summary *s, struct piles *p)
{
	const struct run *run = p->run;
	char (*names)[SUMMARY_NODE] = calloc((size_t)run->n_nodes + 1,
					     sizeof(*names));
	int rc = names ? 0 : -1;

	run_foreach_cell(run, at) {
		put_cell(p, at);
	}
	s->inter_GB_s = pile_median(&p->inter[run->n_nodes]);
	s->intra_GB_s = pile_median(&p->intra[run->n_nodes]);
	for (size_t i = 0; i < SPEC_MAX_GPUS; i++) {
		s->n_rails = p->rails[i].n ? i + 1 : s->n_rails;
	}
	free(s->rail_GB_s);
	s->rail_GB_s = medians(p->rails, s->n_rails);
	for (int i = 0; names && i < run->n_nodes; i++) {
		node_name(run, run->nodes[i].name, names[i]);
	}
	for (int i = 0; rc == 0 && i < run->n_nodes; i++) {
		rc = take_node(s, p, i, names);
	}
	free(names);
	s->of_nodes = (int64_t)s->n_nodes;
	return p->failed || !s->rail_GB_s ? -1 : rc;
}

/** The levels of the pairs of @run; nodes that @s has not are added to it. */
static int add_pairs(struct summary *s, const struct run *run)
{
	struct piles p;
	int rc = piles_make(&p, run);

	STR_COPY(s->transport, run->transport);
	STR_COPY(s->schedule, run->schedule);
	STR_COPY(s->nic_choice, run_nic_choice(run));
	s->model = s->model || run_is_model(run);
	s->size_B = run->size_B;
	s->ranks = run->n_ranks;
	rc = rc == 0 ? take_levels(s, &p) : rc;
	for (size_t i = 0; p.all && i < p.n; i++) {
		free(p.all[i].v);
	}
	free(p.all);
	free(p.first);
	free(p.tested);
	free(p.met);
	return rc;
}

void summary_add_sweep(struct summary *s, const struct sweep *sweep)
{
	s->model = s->model || sweep_is_model(sweep);
	for (size_t i = 0; i < sweep->n_curves; i++) {
		const struct curve *c = &sweep->curves[i];
		const int64_t size_B = c->n ? c->rows[c->n - 1]->size_B : 0;
		int64_t inplace;
		double best = c->n ? curve_cell_at(c, size_B, STAT_BEST,
						   &inplace) : NAN;

		s->size_B = size_B > s->size_B ? size_B : s->size_B;
		if (best > 0 && !(s->busbw_GB_s >= best)) {
			s->busbw_GB_s = best;
		}
	}
}

/* ---- the run ------------------------------------------------------------ */

static int take_findings(struct summary *s, const struct run *run,
			 const struct run *names, const struct verdict *v)
{
	json_t *json = verdict_json(run, v);
	const json_t *findings = verdict_file(json).findings;
	int rc = findings ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < json_array_size(findings) &&
			   i < SUMMARY_FINDINGS; i++) {
		const struct run_entry f = run_entry(findings, i);
		struct summary_finding to = { .index = f.index, .fail = f.fail,
					      .peer_index = f.peer_index };

		STR_COPY(to.kind, f.kind);
		STR_COPY(to.code, f.code);
		STR_COPY(to.name, f.name);
		node_name(names, f.node, to.node);
		node_name(names, f.peer_node, to.peer_node);
		rc = grow_add(&s->findings, &s->n_findings, &to, sizeof(to)) ?
			     0 : -1;
	}
	json_decref(json);
	return rc;
}

/** Nodes of a probe that measures no pairs came to a result, unless the run was
 *  cut. */
static int take_nodes(struct summary *s, const struct run *run,
		      const struct run *names, const struct verdict *v)
{
	char name[SUMMARY_NODE];

	for (int i = 0; i < run->n_nodes; i++) {
		struct summary_node *n;

		node_name(names, run->nodes[i].name, name);
		n = node_of(s, name, (size_t)i);
		if (!n) {
			return -1;
		}
		n->tested = verdict_measured(v) > 0 &&
			    v->status != VERDICT_PARTIAL;
	}
	s->of_nodes = (int64_t)s->n_nodes;
	return 0;
}

int summary_of(const struct run *run, const struct verdict *v,
	       const struct run *step, struct summary *s, struct err *e)
{
	const struct run *names = step ? step : run;
	const struct run *pairs = names->cells && names->n_ranks > 0 ?
					  names : NULL;
	const struct run_file f = run_file(run->json);
	const char *id = f.id[0] ? f.id : f.nonce;
	uint64_t hash = 0;
	char *text;

	*s = (struct summary)SUMMARY_INIT;
	s->drill = run->drill;
	s->model = run_is_model(run);
	/* the same after a resume; an imported run has only that of its file */
	STR_COPY(s->id, id);
	text = id[0] ? NULL : json_dumps(run->json, JSON_COMPACT |
						    JSON_SORT_KEYS);
	for (const char *c = text; c && *c; c++) {
		hash = hash_mix(hash, (uint64_t)(unsigned char)*c, 0, 0);
	}
	if (text) {
		snprintf(s->id, sizeof(s->id), "%016llx",
			 (unsigned long long)hash);
	}
	free(text);
	STR_COPY(s->probe, run->probe);
	STR_COPY(s->version, f.version);
	STR_COPY(s->status, verdict_status_name(v->status));
	STR_COPY(s->transport, run->transport);
	STR_COPY(s->started_utc, run->started_utc);
	STR_COPY(s->ended_utc, f.ended_utc);
	s->started_s = clock_utc_s(s->started_utc);
	if (take_findings(s, run, names, v) < 0 ||
	    (pairs != run && take_nodes(s, run, names, v) < 0) ||
	    (pairs && add_pairs(s, pairs) < 0)) {
		return err_set(e, ENOMEM, "cannot summarise the run");
	}
	return 0;
}
