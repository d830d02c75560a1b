/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/sim/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"
#include "probes/transport/order.h"
#include "probes/sim/model_nodes.h"
#include "probes/sim/sim.h"

/* Uniform noise of the model where the drill says nothing else. */
#define MODEL_NOISE 0.02

struct model {
	struct layout layout;
	struct drill drill;
	int64_t seed;
	bool crowded;	/* pairs that share a NIC run at the same time */
};

json_t *model_json(const json_t *nodes, const char *drill_text,
		   enum drill_layer layer, uint64_t seed, const struct pass *p)
{
	return json_pack("{s:o,s:s,s:i,s:I,s:b,s:b}", "nodes",
			 model_nodes_json(nodes), "drill", drill_text,
			 "layer", (int)layer, "seed", (json_int_t)seed,
			 "pxn", p->pxn, "crowded",
			 p->schedule == SCHEDULE_PARALLEL);
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
	const char *drill = json_string_value(json_object_get(j, "drill"));
	const json_t *nodes = json_get_array(j, "nodes", SPEC_MAX_NODES, e);
	int64_t layer = DRILL_NCCL;
	bool pxn = false;

	if (m == NULL || drill == NULL || nodes == NULL ||
	    model_nodes_read(&m->layout, nodes, e) < 0 ||
	    drill_parse(drill, strlen(drill), &m->drill, e) < 0 ||
	    json_get_int(j, "seed", INT64_MIN + 1, INT64_MAX, &m->seed, e) <
		    0 ||
	    json_get_int(j, "layer", DRILL_TCP, DRILL_NCCL, &layer, e) < 0 ||
	    json_get_bool(j, "pxn", &pxn, e) < 0 ||
	    json_get_bool(j, "crowded", &m->crowded, e) < 0) {
		model_free(m);
		return NULL;
	}
	drill_settle(&m->drill, (enum drill_layer)layer, getenv);
	if (pxn) {
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
	return collective_result_json(&r);
}

json_t *model_report(const struct model *m, const struct order *o,
		     const struct order_how *how)
{
	struct sim sim = {
		.layout = &m->layout, .drill = &m->drill,
		.seed = (uint64_t)m->seed, .noise = MODEL_NOISE,
		.crowded = m->crowded, .unchecked = !how->check,
	};
	struct order_result results[ORDER_RESULTS];
	struct order_report report = { .rank = o->rank, .id = o->id,
				       .crashed = RECORD_NONE,
				       .results = results };

	if (o->rank >= m->layout.n_ranks || o->peer >= m->layout.n_ranks) {
		return NULL;
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
	return order_report_json(&report);
}
