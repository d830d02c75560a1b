/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run came to, as the history keeps it. */
#include "report/history/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/stats.h"
#include "lib/data/json.h"
#include "lib/data/version.h"
#include "report/base/grow.h"

/** The median of more values of a part is that of so many, drawn evenly. */
#define PILE_MOST 512

/* ---- medians ------------------------------------------------------------ */

/** What a part reached in its tests. */
struct pile {
	float *v;
	size_t n, seen;
};

/** False without memory. */
static bool pile_add(struct pile *p, float v)
{
	uint64_t at = p->seen++;

	if (p->n < PILE_MOST) {
		return grow_add(&p->v, &p->n, &v, sizeof(v)) != NULL;
	}
	at = hash_mix(at, p->seen, 0, 0) % p->seen;
	if (at < PILE_MOST) {
		p->v[at] = v;
	}
	return true;
}

static double pile_median(const struct pile *p)
{
	double v[PILE_MOST];

	for (size_t i = 0; i < p->n; i++) {
		v[i] = (double)p->v[i];
	}
	return stats_median(v, p->n);
}

static void piles_free(struct pile *p, size_t n)
{
	for (size_t i = 0; p && i < n; i++) {
		free(p[i].v);
	}
	free(p);
}

/** The piles of all parts of a run, those of a node behind each other. */
struct piles {
	const struct run *run;
	struct pile *gpus, *nics;	/* number k of node i at first[i] + k */
	size_t *first, parts;
	struct pile *inter, *intra;	/* of each node, and of all */
	struct pile *rails;
	bool *tested;
	bool failed;
};

static size_t width_of(const struct run_node *n)
{
	return (size_t)(n->gpus > n->nics ? n->gpus : n->nics);
}

static int piles_make(struct piles *p, const struct run *run)
{
	const size_t nodes = (size_t)run->n_nodes;

	*p = (struct piles){ .run = run,
			     .first = calloc(nodes + 1, sizeof(*p->first)) };
	for (size_t i = 0; p->first && i < nodes; i++) {
		p->first[i] = p->parts;
		p->parts += width_of(&run->nodes[i]);
	}
	p->gpus = calloc(p->parts + 1, sizeof(*p->gpus));
	p->nics = calloc(p->parts + 1, sizeof(*p->nics));
	p->inter = calloc(nodes + 1, sizeof(*p->inter));
	p->intra = calloc(nodes + 1, sizeof(*p->intra));
	p->rails = calloc(SPEC_MAX_GPUS, sizeof(*p->rails));
	p->tested = calloc(nodes + 1, sizeof(*p->tested));
	return p->first && p->gpus && p->nics && p->inter && p->intra &&
			       p->rails && p->tested ? 0 : -1;
}

static void piles_release(struct piles *p)
{
	const size_t nodes = (size_t)p->run->n_nodes;

	piles_free(p->gpus, p->parts);
	piles_free(p->nics, p->parts);
	piles_free(p->inter, nodes + 1);
	piles_free(p->intra, nodes + 1);
	piles_free(p->rails, SPEC_MAX_GPUS);
	free(p->first);
	free(p->tested);
}

static void put(struct piles *p, struct pile *pile, float v)
{
	p->failed = !pile_add(pile, v) || p->failed;
}

/** To the parts of one end of a test that did well. */
static void put_end(struct piles *p, const struct run_rank *r, bool inter,
		    float v)
{
	const size_t first = p->first[r->node];
	const struct run_node *n = &p->run->nodes[r->node];

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
	const struct run_rank *src = &run->ranks[run_src(run, at)];
	const struct run_rank *dst = &run->ranks[run_dst(run, at)];
	const bool inter = src->node != dst->node;
	const float v = c->bw_GB_s;

	if (!run_measured(c->class)) {
		return;
	}
	p->tested[src->node] = p->tested[dst->node] = true;
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

/** What the history calls the node @own of @run. */
static void node_name(const struct run *run, const char *own,
		      char name[SUMMARY_NODE])
{
	const bool pretends =
		spec_launcher_is(json_member(run->json, "launcher"),
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

/** The levels of node @i. */
static int take_node(struct summary *s, struct piles *p, int i)
{
	const struct run_node *n = &p->run->nodes[i];
	const struct pile *bw = p->inter[i].n ? &p->inter[i] : &p->intra[i];
	const size_t first = p->first[i];
	char name[SUMMARY_NODE];
	struct summary_node *to;

	node_name(p->run, n->name, name);
	to = node_of(s, name, (size_t)i);
	if (!to) {
		return -1;
	}
	to->tested = to->tested || p->tested[i];
	to->bw_GB_s = pile_median(bw);
	free(to->gpu_GB_s);
	free(to->nic_GB_s);
	to->n_gpus = p->run->ports ? 0 : (size_t)n->gpus;
	to->n_nics = (size_t)n->nics;
	to->gpu_GB_s = medians(p->gpus + first, to->n_gpus);
	to->nic_GB_s = medians(p->nics + first, to->n_nics);
	return to->gpu_GB_s && to->nic_GB_s ? 0 : -1;
}

static int take_levels(struct summary *s, struct piles *p)
{
	const struct run *run = p->run;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		put_cell(p, at);
	}
	s->inter_GB_s = pile_median(&p->inter[run->n_nodes]);
	s->intra_GB_s = pile_median(&p->intra[run->n_nodes]);
	for (size_t i = 0; i < SPEC_MAX_GPUS; i++) {
		s->n_rails = p->rails[i].n ? i + 1 : s->n_rails;
	}
	free(s->rail_GB_s);
	s->rail_GB_s = medians(p->rails, s->n_rails);
	for (int i = 0; i < run->n_nodes; i++) {
		if (take_node(s, p, i) < 0) {
			return -1;
		}
	}
	s->of_nodes = (int64_t)s->n_nodes;
	return p->failed || !s->rail_GB_s ? -1 : 0;
}

/** The levels of the pairs of @run; nodes that @s has not are added to it. */
static int add_pairs(struct summary *s, const struct run *run)
{
	struct piles p;
	int rc = piles_make(&p, run);

	STR_COPY(s->transport, run->transport);
	STR_COPY(s->schedule, run->schedule);
	s->model = s->model || run_is_model(run);
	s->size_B = run->size_B;
	s->ranks = run->n_ranks;
	rc = rc == 0 ? take_levels(s, &p) : rc;
	piles_release(&p);
	return rc;
}

void summary_add_sweep(struct summary *s, const struct sweep *sweep)
{
	s->model = s->model || sweep_is_model(sweep);
	for (size_t i = 0; i < sweep->n_curves; i++) {
		const struct curve *c = &sweep->curves[i];
		const int64_t size_B = c->n ? c->rows[c->n - 1]->size_B : 0;
		double best = c->n ? curve_best_at(c, size_B) : NAN;

		s->size_B = size_B > s->size_B ? size_B : s->size_B;
		if (best > 0 && !(s->busbw_GB_s >= best)) {
			s->busbw_GB_s = best;
		}
	}
}

/* ---- the run ------------------------------------------------------------ */

/** What names the run, also after it was resumed; one that was imported has
 *  only what it says of itself. */
static void take_id(const struct run *run, struct summary *s)
{
	const char *id = json_member(run->json, "id");
	char *text;
	uint64_t hash = 0;

	id = id[0] ? id : json_member(run->json, "nonce");
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
}

static int take_finding(struct summary *s, const struct run *names,
			const json_t *f)
{
	struct summary_finding to = { .index = -1, .peer_index = -1 };

	STR_COPY(to.kind, json_member(f, "kind"));
	STR_COPY(to.code, json_member(f, "code"));
	STR_COPY(to.name, json_member(f, "name"));
	node_name(names, json_member(f, "node"), to.node);
	node_name(names, json_member(f, "peer_node"), to.peer_node);
	json_opt_int(f, "index", 0, INT32_MAX, &to.index, NULL);
	json_opt_int(f, "peer_index", 0, INT32_MAX, &to.peer_index, NULL);
	to.fail = strcmp(json_member(f, "severity"), "fail") == 0;
	return grow_add(&s->findings, &s->n_findings, &to, sizeof(to)) ? 0 : -1;
}

static int take_findings(struct summary *s, const struct run *run,
			 const struct run *names, const struct verdict *v)
{
	json_t *json = verdict_json(run, v), *f;
	json_t *findings = json_object_get(json, "findings");
	int rc = findings ? 0 : -1;
	size_t i;

	json_array_foreach(findings, i, f) {
		if (rc == 0 && s->n_findings < SUMMARY_FINDINGS) {
			rc = take_finding(s, names, f);
		}
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

	*s = (struct summary){ .inter_GB_s = NAN, .intra_GB_s = NAN,
			       .busbw_GB_s = NAN, .drill = run->drill,
			       .model = run_is_model(run) };
	take_id(run, s);
	STR_COPY(s->probe, run->probe);
	STR_COPY(s->version, json_member(run->json, "version"));
	STR_COPY(s->status, verdict_status_name(v->status));
	STR_COPY(s->transport, run->transport);
	STR_COPY(s->started_utc, run->started_utc);
	STR_COPY(s->ended_utc, json_member(run->json, "ended_utc"));
	s->started_s = clock_utc_s(s->started_utc);
	if (take_findings(s, run, names, v) < 0 ||
	    (pairs != run && take_nodes(s, run, names, v) < 0) ||
	    (pairs && add_pairs(s, pairs) < 0)) {
		return err_set(e, ENOMEM, "cannot summarise the run");
	}
	return 0;
}
