/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/sim/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"
#include "probes/transport/order.h"
#include "probes/transport/xport.h"

/* ---- as JSON ---------------------------------------------------------- */

/** @names, of nodes in this order, go into their entry, and are empty then;
 *  none: there is no such entry. */
static int add_names(json_t *entry, struct str *names)
{
	struct str list = STR_INIT;
	int rc = names->failed ? -1 : 0;

	if (names->len > 0) {
		hostlist_shorten(&list, str_text(names));
		rc |= json_object_set_new(entry, "names",
					  json_text(str_text(&list)));
		rc |= list.failed ? -1 : 0;
	}
	str_release(&list);
	str_reset(names);
	return rc;
}

json_t *model_nodes_json(const json_t *nodes)
{
	json_t *list = json_array(), *entry = NULL, *node;
	struct str names = STR_INIT;	/* of nodes of @entry that have one */
	int rc = list ? 0 : -1;
	size_t i;

	json_array_foreach(nodes, i, node) {
		const char *name = run_entry_of(node).name;
		/* not of one that never came, and has no name of its own */
		bool named = hostlist_is_name(name);
		json_t *what = json_copy(node);

		json_object_del(what, "first_rank");
		if (named) {
			json_object_del(what, "name");
		}
		if (named && names.len > 0 && json_equal(what, entry)) {
			json_decref(what);
		} else {
			rc |= add_names(entry, &names);
			rc |= json_array_append_new(list, what);
			entry = what;
		}
		if (named) {
			str_addf(&names, "%s%s", names.len > 0 ? "," : "",
				 name);
		}
	}
	rc |= add_names(entry, &names);
	str_release(&names);
	if (rc < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

/* ---- from JSON --------------------------------------------------------- */

/** Append node @name, which is as @entry says, to @each. */
static int add_each(json_t *each, json_t *entry, const char *name,
		    struct err *e)
{
	json_t *node;

	if (json_array_size(each) == SPEC_MAX_NODES) {
		return err_set(e, E2BIG, "more than %d nodes of a model",
			       SPEC_MAX_NODES);
	}
	node = json_copy(entry);
	if (json_object_set_new(node, "name", json_string(name)) < 0 ||
	    json_array_append_new(each, node) < 0) {
		return err_set(e, ENOMEM, "no memory for a model");
	}
	return 0;
}

static int make_layout(struct layout *l, const json_t *each, struct err *e)
{
	size_t n = json_array_size(each);
	int rc = layout_init(l, (int)n);

	rc = rc < 0 ? err_set(e, ENOMEM, "no memory for a model") : 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const json_t *entry = json_array_get(each, i);
		struct cluster_node *node = &l->nodes[i];
		int64_t gpus = 0, nics = 0;

		rc = json_get_int(entry, "gpus", 0, SPEC_MAX_GPUS, &gpus, e);
		if (rc == 0) {
			rc = json_get_int(entry, "nics", 0, SPEC_MAX_GPUS,
					  &nics, e);
		}
		STR_COPY(node->name, run_entry_of(entry).name);
		node->gpus = (int)gpus;
		node->nics = (int)nics;
	}
	if (rc == 0 &&
	    (layout_number(l) < 0 || layout_read_nics(l, each) < 0)) {
		rc = err_set(e, ENOMEM, "no memory for a model");
	}
	return rc;
}

int model_nodes_read(struct layout *l, const json_t *list, struct err *e)
{
	json_t *each = json_array(), *entry;
	int rc = each ? 0 : err_set(e, ENOMEM, "no memory for a model");
	size_t i;

	*l = (struct layout){ 0 };
	json_array_foreach(list, i, entry) {
		const struct run_entry f = run_entry_of(entry);
		size_t n = 0;
		char **names;

		if (rc < 0 || f.name[0] != '\0') {
			rc = rc < 0 ? rc : add_each(each, entry, f.name, e);
			continue;
		}
		names = hostlist_expand(f.names, &n, e);
		rc = names ? 0 : -1;
		for (size_t k = 0; k < n && rc == 0; k++) {
			rc = add_each(each, entry, names[k], e);
		}
		hostlist_free(names, n);
	}
	rc = rc < 0 ? rc : make_layout(l, each, e);
	json_decref(each);
	return rc;
}

/* ---- sim ----------------------------------------------------------------- */

/** Iterations that a simulated measurement says it took. */
#define SIM_ITERS 20
/** Bytes that arrive changed in a corrupt cell. */
#define SIM_WRONG_BYTES 16

/** Cost of a path: lat_us for an empty message, then rate_GB_s. */
struct sim_line {
	const char *path;
	double lat_us;
	double rate_GB_s;
};

/* A model: the order of magnitude of NVLink and of a 400 Gbit/s NIC. */
static const struct sim_line intra = {
	.path = "SIM/intra", .lat_us = 3, .rate_GB_s = 340,
};
static const struct sim_line inter = {
	.path = "SIM/inter", .lat_us = 6, .rate_GB_s = 48,
};

/** Each number has noise of its own, and none is that of a flaky fault. */
enum sim_draw { SIM_DRAW_BW = 1, SIM_DRAW_LAT, SIM_DRAW_SHAPE };

/** Heavy tails: one test in this many is slower, and by how much more than the
 *  percentage on average. */
#define HEAVY_TESTS 50
#define HEAVY_TIMES 5

static const struct sim_failure failures[] = {
	[DRILL_DEAD] = { .outcome = OUTCOME_ERROR, .code = "drill_dead",
			 .does = XPORT_DRILL_MARK "does not respond" },
	[DRILL_HANG] = { .outcome = OUTCOME_TIMEOUT, .code = "drill_hang",
			 .does = XPORT_DRILL_MARK "hangs" },
	[DRILL_CRASH] = { .outcome = OUTCOME_CRASHED, .code = "worker_crashed",
			  .does = XPORT_DRILL_MARK "crashes" },
	[DRILL_CORRUPT] = { .outcome = OUTCOME_CORRUPT, .code = "data_corrupt",
			    .does = XPORT_DRILL_MARK "changes bytes" },
};

/** Noise of one number of a cell: a factor within @noise of 1, evenly. */
static double noise_factor(double noise, uint64_t seed, enum sim_draw draw,
			   int src, int dst, int attempt)
{
	double u = hash_unit(hash_mix(seed, draw, 0, 0), (uint64_t)src,
			     (uint64_t)dst, (uint64_t)attempt);

	return 1 + noise * (2 * u - 1);
}

/** Return the factor of a test of heavy tails: other traffic slows some tests.
 */
static double heavy(const struct sim *m, int src, int dst, int attempt)
{
	uint64_t seed = hash_mix(m->seed, SIM_DRAW_SHAPE, (uint64_t)attempt, 0);
	double u = hash_unit(seed, (uint64_t)src, (uint64_t)dst, 1);
	double v = hash_unit(seed, (uint64_t)src, (uint64_t)dst, 2);

	return u * HEAVY_TESTS < 1 ?
		       exp(HEAVY_TIMES * m->drill->noise * log(1 - v)) : 1;
}

/** Each node slows down, one more than another, from the first round to the
 *  last; what is tried again comes then. */
static double drift(const struct sim *m, int src, int dst, int attempt)
{
	const struct layout *l = m->layout;
	int n = l->n_ranks;
	double when = attempt > 1 ? 1 : (double)((dst - src + n) % n) / n;
	double by = hash_unit(m->seed, SIM_DRAW_SHAPE,
			      (uint64_t)l->ranks[src].node, 0) +
		    hash_unit(m->seed, SIM_DRAW_SHAPE,
			      (uint64_t)l->ranks[dst].node, 0);

	return 1 - m->drill->noise * when * by / 2;
}

/** One test of the run, the first time. */
static double outlier(const struct sim *m, int src, int dst, int attempt)
{
	int n = m->layout->n_ranks;
	int a = (int)(hash_unit(m->seed, SIM_DRAW_SHAPE, 0, 1) * n);
	int b = (int)(hash_unit(m->seed, SIM_DRAW_SHAPE, 0, 2) * (n - 1));

	b += b >= a;
	return src == a && dst == b && attempt == 1 ? 1 - m->drill->noise : 1;
}

/** The factors of the drill's shapes of noise. */
static double (*const shapes[])(const struct sim *m, int src, int dst,
				int attempt) = {
	[DRILL_UNIFORM] = NULL, [DRILL_HEAVY] = heavy, [DRILL_DRIFT] = drift,
	[DRILL_OUTLIER] = outlier,
};

/** The ranks that have the NIC of @rank, itself among them. */
static int sharers(const struct layout *l, int rank)
{
	const struct cluster_node *node = &l->nodes[l->ranks[rank].node];
	int n = 0;

	for (int i = node->first_rank; i < node->first_rank + node->gpus; i++) {
		n += l->ranks[i].nic == l->ranks[rank].nic;
	}
	return n;
}

void sim_cell(const struct sim *m, int src, int dst, int attempt,
	      uint64_t size_bytes, struct xport_result *r)
{
	const struct sim_line *line =
		layout_same_node(m->layout, src, dst) && !m->ports ? &intra :
								     &inter;
	struct drill_effect effect = drill_effect(m->drill, m->layout, src,
						  dst, attempt, m->seed);
	double noise = drill_noise(m->drill, m->noise);
	double size_GB = (double)size_bytes / 1e9;
	double rate_GB_s = line->rate_GB_s, time_s;

	if (m->crowded && line == &inter) {
		/* the share of the NIC that more ranks use */
		int a = sharers(m->layout, src), b = sharers(m->layout, dst);

		rate_GB_s /= a > b ? a : b;
	}
	time_s = line->lat_us / 1e6 + size_GB / rate_GB_s;
	xport_result_init(r);
	STR_COPY(r->path, line->path);
	r->outcome = OUTCOME_OK;
	if (effect.kind == DRILL_CORRUPT && m->unchecked) {
		effect.kind = DRILL_NONE;
	}
	if (effect.kind != DRILL_NONE) {
		const struct sim_failure *f = &failures[effect.kind];
		char says[DRILL_SAYS];

		xport_fail(r, f->outcome, f->code, "%s",
			   drill_says(effect.fault, m->layout, f->does, says));
	}
	if (effect.kind != DRILL_NONE && effect.kind != DRILL_CORRUPT) {
		return;
	}

	r->iters = SIM_ITERS;
	r->bw_GB_s = size_GB / time_s * effect.factor *
		     noise_factor(noise, m->seed, SIM_DRAW_BW, src, dst,
				  attempt);
	if (shapes[m->drill->shape] != NULL) {
		r->bw_GB_s *= shapes[m->drill->shape](m, src, dst, attempt);
	}
	r->bw_min_GB_s = r->bw_GB_s * (1 - noise / 2);
	r->bw_max_GB_s = r->bw_GB_s * (1 + noise / 2);
	r->lat_us = line->lat_us / effect.factor *
		    noise_factor(noise, m->seed, SIM_DRAW_LAT, src, dst,
				 attempt);
	r->lat_p99_us = r->lat_us * (1 + noise / 2);
	r->wrong = m->unchecked ? RECORD_NONE : 0;
	if (effect.kind == DRILL_CORRUPT) {
		r->wrong = size_bytes < SIM_WRONG_BYTES ? (int64_t)size_bytes :
							  SIM_WRONG_BYTES;
	}
}

/* ---- transport ----------------------------------------------------------- */

/* The model itself is sim.c; agents answer for their ranks without workers. */
const struct xport_ops xport_sim = {
	.name = "sim",
	.priority = -1,
	.default_size_bytes = 64 << 20,
	.default_timeout_ns = 2 * NS_PER_S,
	.setup_timeout_ns = 2 * NS_PER_S,
	/* a test costs its row; it says of itself what sim.c has, about: 20
	 * transfers of the default size */
	.cost = { .open_s = 0.2, .sample_s = 5.6e-3, .rate_GB_s = 48,
		  .inside_GB_s = 340 },
	.open_timeout_ns = 10 * NS_PER_S,
};

/* ---- model --------------------------------------------------------------- */

/* Uniform noise of the model where the drill says nothing else. */
#define MODEL_NOISE 0.02

struct model {
	struct layout layout;
	struct drill drill;
	int64_t seed;
	bool crowded;	/* pairs that share a NIC run at the same time */
	bool ports;	/* RDMA between ports, inside a node too */
	/* as it travels */
	json_t *nodes;
	const char *text;	/* of the drill */
	int layer;		/* enum drill_layer */
	bool pxn;
};

#define MODEL(member, key, ...) FIELD(model, member, key, __VA_ARGS__)

static const struct field model_fields[] = {
	MODEL(nodes, "nodes", ARRAY, 0, SPEC_MAX_NODES, "of the run"),
	MODEL(text, "drill", LINK, 0, 0, "what is broken"),
	MODEL(layer, "layer", INT, DRILL_TCP, DRILL_NCCL, "of the transport"),
	MODEL(seed, "seed", INT, INT64_MIN + 1, INT64_MAX, "of the noise"),
	MODEL(pxn, "pxn", BOOL, 0, 0, "NICs of other GPUs are used"),
	MODEL(crowded, "crowded", BOOL, 0, 0, "pairs share a NIC"), { 0 }
};

json_t *model_json(const json_t *nodes, const char *drill_text,
		   enum drill_layer layer, uint64_t seed, const struct pass *p)
{
	const struct model m = {
		.nodes = model_nodes_json(nodes), .text = drill_text,
		.layer = (int)layer, .seed = (int64_t)seed, .pxn = p->pxn,
		.crowded = p->schedule == SCHEDULE_PARALLEL,
	};
	json_t *json = schema_json(model_fields, &m);

	json_decref(m.nodes);
	return json;
}

void model_free(struct model *m)
{
	if (m != NULL) {
		layout_release(&m->layout);
		drill_release(&m->drill);
		free(m);
	}
}

struct model *model_new(const json_t *j, struct err *e)
{
	struct model *m = calloc(1, sizeof(*m));

	if (m == NULL || schema_read(model_fields, m, j, e) < 0 ||
	    model_nodes_read(&m->layout, m->nodes, e) < 0 ||
	    drill_parse(m->text, strlen(m->text), &m->drill, e) < 0) {
		model_free(m);
		return NULL;
	}
	m->ports = m->layer == DRILL_VERBS || m->layer == DRILL_VERBS_GPU;
	drill_settle(&m->drill, (enum drill_layer)m->layer, getenv);
	if (m->pxn) {
		drill_allow_pxn(&m->drill);
	}
	return m;
}

json_t *model_collective(const struct model *m, const json_t *msg)
{
	double noise = drill_noise(&m->drill, MODEL_NOISE);
	struct collective_order o;
	struct collective_result r;

	if (collective_order_parse(msg, &o, NULL) < 0) {
		return NULL;
	}
	collective_sim(&o, (uint64_t)m->seed, noise, &r);
	return schema_json(collective_result_fields, &r);
}

bool model_report(const struct model *m, const struct order *o,
		  const struct order_how *how, struct str *out)
{
	struct sim sim = {
		.layout = &m->layout, .drill = &m->drill,
		.seed = (uint64_t)m->seed, .noise = MODEL_NOISE,
		.crowded = m->crowded, .ports = m->ports,
		.unchecked = !how->check,
	};
	struct order_result results[ORDER_RESULTS];
	struct order_report report = { .rank = o->rank, .id = o->id,
				       .crashed = RECORD_NONE,
				       .results = results };

	if (o->rank >= m->layout.n_ranks || o->peer >= m->layout.n_ranks) {
		return false;
	}
	for (int d = 0; d < 2; d++) {
		int src = d == 0 ? (int)o->rank : (int)o->peer;
		int dst = d == 0 ? (int)o->peer : (int)o->rank;

		for (int i = 0; o->dirs[d].wanted && i < how->n_sizes; i++) {
			struct order_result *r = &results[report.n++];

			r->dir = d;
			r->size_B = how->sizes[i];
			xport_result_init(&r->r);
			sim_cell(&sim, src, dst, (int)o->attempt,
				 (uint64_t)r->size_B, &r->r);
			if (r->r.outcome == OUTCOME_CRASHED) {
				report.crashed = drill_effect(
					&m->drill, &m->layout, src, dst,
					(int)o->attempt, (uint64_t)m->seed).end;
			}
		}
	}
	order_report_add(&report, out);
	return !out->failed;
}
