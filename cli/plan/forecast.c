/* SPDX-License-Identifier: BSD-3-Clause */
/* Forecast of the time, cells and bytes of a run. */
#include "cli/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "probes/collective/collective.h"
#include "probes/host/gpu_state.h"
#include "probes/host/sysfile.h"
#include "probes/ping/ping.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "report/judge/diagnose.h"
#include "sbatch/launcher.h"

/** Sample assumed if the pairs are not counted. */
#define FORECAST_SAMPLE 8
/** Assumed if not given. */
#define USUAL_GPUS	8

/* ---- shape ------------------------------------------------------------- */

/** Assume the number of nodes and GPUs, and the transport, if the options do
 *  not say them. */
static void guess_shape(struct forecast *f, const char *launcher)
{
	const struct launcher_ops *ops = launcher_find(launcher);
	struct spec *s = &f->spec;
	struct gpu_list list = { 0 };
	int64_t nodes = 0, gpus = 0;

	if (f->here) {
		gpu_list_read_proc(&list, "");
		if (!s->local_nodes) {
			s->local_nodes = 1;
			s->local_gpus = s->gpus_per_node ? s->gpus_per_node :
					list.n ? (int64_t)list.n : USUAL_GPUS;
		}
		s->local = true;
	} else {
		if (ops) {
			launcher_usual(ops, s, &nodes, &gpus);
		}
		if (!s->nodes) {
			s->nodes = nodes;
		}
		if (!s->gpus_per_node && !f->probe->ports) {
			s->gpus_per_node = gpus;
		}
		if (!s->gpus_per_node) {
			s->gpus_per_node = USUAL_GPUS;
			f->assumed = true;
		}
	}
	if (strcmp(s->transport, "auto") == 0) {
		snprintf(s->transport, sizeof(s->transport), "%s",
			 xport_auto(!f->here || list.n > 0)->name);
	}
	f->nodes = s->nodes;
	if (f->here) {
		launcher_usual(ops, s, &f->nodes, &s->gpus_per_node);
	}
}

/* ---- time and bytes ------------------------------------------------------ */

/** Nothing takes less than --rate-limit allows. */
static void be_gentle(struct forecast *f)
{
	double paced_s = f->bytes / (double)f->spec.gentle_B;

	f->paced = f->spec.gentle_B > 0 && paced_s > f->time_s;
	if (f->paced) {
		f->time_s = paced_s;
	}
}

static void foresee_pairs(struct forecast *f)
{
	const struct spec *s = &f->spec;
	bool shared = f->here && xport_is(f->ops, XPORT_SHARED_CORES);
	long cores = shared ? sysconf(_SC_NPROCESSORS_ONLN) : 0;

	if (ahead_plan(s, f->ops, &f->layout, (int)f->most_ranks, &f->plan,
		       NULL) < 0 || f->plan.n == 0) {
		return;
	}
	f->cells = f->plan.cells;
	f->turns = plan_turns(&f->layout, &f->plan, s, (int)cores);
	f->time_s = fmax(plan_time_s(f->turns, s, f->ops),
			 plan_rows_s(f->cells, f->ops));
	f->bytes = plan_bytes(&f->layout, &f->plan, s, f->ops);
	be_gentle(f);
	f->retry_s = plan_retry_s(f->time_s, s, f->ops);
	f->follow_s = plan_follow_s(f->time_s, s, f->ops);
}

/*
 * Time of an operation: latency through the nodes, and transfer at the bus rate
 * inside a node, or between nodes at the rate of one NIC, or of all GPUs' NICs
 * if they share the path.
 */
#define OP_S	 6e-6	/* two H200, NVLink */
#define NODES_S	 15e-6	/* for each doubling of the nodes */
/* An order and the answers to it: data/reference/allreduce-2xH200, and what
 * each of 512 ranks of the model adds. */
#define STEP_S	    1.5e-3
#define STEP_RANK_S 15e-6
/* To fill in the data of an operation and to look at its result: so long, and
 * at this rate. */
#define LOOK_S	 50e-6
#define LOOK_B_S 1e12

/** One size, one way. */
static void add_group_size(struct forecast *f, enum collective op,
			   double size_B)
{
	const struct xport_cost *cost = &f->ops->cost;
	double nics = (double)(collective_kinds[op].exchanges ?
				       1 : f->ranks / f->nodes);
	double rate = f->nodes > 1 ? fmin(nics * cost->rate_GB_s,
					  cost->inside_GB_s) :
				     cost->inside_GB_s;
	double one_s = OP_S + NODES_S * log2((double)f->nodes) +
		       size_B * collective_bus_factor(op, f->ranks) / rate /
			       1e9;
	int steps;
	double ops = (double)collective_samples_ops(
			     one_s * 1e6, f->spec.iters, f->nodes, &steps) +
		     (double)(f->spec.warmup + f->spec.check);

	double verify = (double)f->spec.verify;

	steps += (int)ceil(verify / COLLECTIVE_STEP_VERIFY);
	/* a model takes no time */
	f->time_s += (xport_is(f->ops, XPORT_MODEL) ?
			      0 : ops * one_s +
				  verify * (one_s + LOOK_S +
					    size_B / LOOK_B_S)) +
		     steps * (STEP_S + STEP_RANK_S * (double)f->ranks);
	ops += verify;
	f->bytes += ops * collective_bytes_between(op, f->ranks, f->nodes,
						   size_B);
}

/** Every size out of place and in place, by every variant. */
static void foresee_group(struct forecast *f)
{
	struct variant *v = calloc(VARIANTS_MAX, sizeof(*v));
	int n = v ? variants_make(&f->spec, v, NULL) : -1;
	enum collective op = collective_parse(f->probe->name);
	const struct dtype *t = dtype_find(f->spec.dtype);
	int64_t sizes[SPEC_MAX_SIZES];
	int n_sizes = collective_sizes(&f->spec, sizes);
	struct collective_shape shape;

	for (int i = 0; i < n_sizes; i++) {
		if (collective_shape(op, t, (int)f->ranks, sizes[i], &shape)) {
			sizes[f->sizes++] = sizes[i];
		}
	}
	if (n > 0) {
		f->variants = n;
		f->cells = (size_t)(f->sizes * n * 2);
		f->time_s = f->bytes = 0;
		for (int64_t i = 0; i < f->sizes; i++) {
			add_group_size(f, op, (double)sizes[i]);
		}
		f->time_s = n * (f->ops->cost.open_s + f->ops->cost.pair_s +
				 2 * f->time_s);
		f->bytes *= 2 * n;
		be_gentle(f);
		variants_release(v, n);
	}
	free(v);
}

/** Neighbours that a kernel keeps by default. */
#define KERNEL_KEEPS 1024

/** Forecast a ping.  The nodes of a cluster report their addresses later: only
 *  the number of neighbours is known, and how many fit into the tables of nodes
 *  that have the settings of this machine. */
static void foresee_ping(struct forecast *f)
{
	struct ping_rules r = ping_rules_for(&f->spec, (int)f->nodes, 1);
	struct pinglist list;
	json_int_t cells = 0, budget_ns = 0;
	json_t *nodes, *plan;
	char text[32];

	f->least_s = (double)(r.count - 1) * (double)r.interval_ns / NS_PER_S;
	if (!f->spec.local) {
		list = pinglist_make((int)f->nodes, f->spec.all_pairs,
				     f->spec.seed);
		f->neighbours = pinglist_most(&list);
		if (sysfile_read(text, sizeof(text), "%s",
				 PING_NEIGHBOURS_V4) <= 0 ||
		    units_parse_int(text, 1, INT32_MAX, &f->kept, NULL) < 0) {
			f->kept = KERNEL_KEEPS;
		}
		return;
	}
	/* the nodes of --local, as the coordinator describes them */
	nodes = json_array();
	for (int64_t i = 0; i < f->nodes; i++) {
		snprintf(text, sizeof(text), "n%d", (int)i);
		json_array_append_new(nodes,
				      json_pack("{s:s,s:b,s:{s:s}}", "name",
						text, "pretend", 1, "ready",
						"key", "00000000000000000000"
						"000000000000"));
	}
	plan = ping_plan(nodes, &f->spec, NULL);
	if (plan) {
		json_unpack(plan, "{s:{s:{s:I}}, s:I}", "run", "planned",
			    "cells", &cells, "budget_ns", &budget_ns);
		f->cells = (size_t)cells;
		f->most_s = (double)budget_ns / (double)NS_PER_S;
	}
	json_decref(plan);
	json_decref(nodes);
}

void forecast_make(const struct spec *s, const struct probe *probe,
		   const char *launcher, int64_t max_ranks,
		   struct forecast *f)
{
	const char *transport;

	*f = (struct forecast){
		.spec = *s, .probe = probe, .time_s = NAN, .least_s = NAN,
		.most_s = NAN, .bytes = NAN, .retry_s = NAN, .follow_s = NAN,
		.diagnose_s = NAN,
		.most_ranks = max_ranks,
		.here = spec_launcher_is(launcher, LAUNCHER_PRETENDS),
	};
	transport = probe->transport && strcmp(s->transport, "auto") == 0 ?
			    probe->transport : f->spec.transport;
	if (s->diagnose) {
		f->diagnosed = DIAGNOSE_BAD_PAIRS;
		f->diagnose_s = (double)DIAGNOSE_NS / NS_PER_S;
		if (s->max_time_ns) {
			f->diagnose_s = fmin(f->diagnose_s,
					     (double)s->max_time_ns /
					     DIAGNOSE_SHARE / NS_PER_S);
		}
	}
	guess_shape(f, launcher);
	if (probe->kind == PROBE_NODES) {
		if (f->probe->meets) {
			foresee_ping(f);
		} else if (f->probe->takes) {
			f->time_s =
				(double)f->probe->takes(&f->spec) / NS_PER_S;
		} else {
			f->most_s = (double)f->probe->timeout_ns / NS_PER_S;
		}
		return;
	}
	f->ops = xport_find(transport);
	f->ranks = f->nodes * (f->here ? f->spec.local_gpus :
					 f->spec.gpus_per_node);
	if (f->ops && f->ranks &&
	    ahead_layout(&f->spec, &f->layout, NULL) > 0) {
		(probe->kind == PROBE_COLLECTIVE ? foresee_group
						 : foresee_pairs)(f);
	}
}

void forecast_release(struct forecast *f)
{
	plan_release(&f->plan);
	layout_release(&f->layout);
}

/* ---- something shorter ------------------------------------------------- */

struct forecast forecast_of(const struct forecast *f, const struct spec *s)
{
	struct forecast other = *f;

	other.spec = *s;
	other.plan = (struct plan){ 0 };
	other.cells = other.turns = 0;
	other.time_s = NAN;
	foresee_pairs(&other);
	free(other.plan.tasks);
	other.plan.tasks = NULL;
	return other;
}

int forecast_sample(const struct forecast *f, double *time_s)
{
	/* partners that a rank has now */
	double all = f->ranks ? (double)f->cells / (double)f->ranks : 0;
	struct spec s = f->spec;
	int k = 1;

	if (f->probe->kind == PROBE_NODES || !(f->time_s > FORECAST_LONG_S)) {
		return 0;
	}
	while (2 * k < all &&
	       plan_time_s((size_t)((double)f->turns * 2 * k / all), &f->spec,
			   f->ops) < FORECAST_LONG_S) {
		k *= 2;
	}
	for (; k > 0; k /= 2) {
		s.sample = k;
		*time_s = forecast_of(f, &s).time_s;
		if (*time_s < FORECAST_LONG_S) {
			return k;
		}
	}
	return 0;
}

/* ---- in words ---------------------------------------------------------- */

const char *forecast_time(double time_s, char *buf, size_t size)
{
	double grain_s = time_s < 60 ? 1 : 60;
	double grains = fmax(1, ceil(time_s / grain_s));

	return units_duration_text((int64_t)(grains * grain_s) * NS_PER_S, buf,
				   size);
}

static void suggest_sample(int k, double time_s)
{
	char text[32], in[64] = "";

	if (!isnan(time_s)) {
		snprintf(in, sizeof(in), ", in about %s",
			 forecast_time(time_s, text, sizeof(text)));
	}
	talk_hint("--sample=%d measures %d partners of each rank%s", k,
		  k, in);
}

/** Say what --diagnose may add, and that --test-timeout allows less than a
 *  healthy pair takes. */
static void say_limits(const struct forecast *f)
{
	const double pair_s = f->ops ? plan_pair_s(&f->spec, f->ops) : NAN;
	const double limit_s = f->ops ? (double)plan_task_ns(&f->spec, f->ops) /
					NS_PER_S : NAN;
	char text[32], needs[32];

	if (!isnan(f->diagnose_s)) {
		talk("--diagnose: at most %s more, for up to %d failed or slow "
		     "pairs", forecast_time(f->diagnose_s, text, sizeof(text)),
		     (int)f->diagnosed);
	}
	/* timeouts are to be expected without a fault */
	if (f->spec.timeout_ns > 0 && pair_s > limit_s) {
		units_duration_text((int64_t)(limit_s * NS_PER_S), text,
				    sizeof(text));
		talk_hint("a healthy pair takes about %s and --test-timeout allows "
			  "%s: leave out --test-timeout",
			  forecast_time(pair_s, needs, sizeof(needs)), text);
	}
}

void forecast_say(const struct spec *s, const char *probe,
		  const char *launcher, const char *why)
{
	struct forecast f;
	char text[32], gpus[48] = "", fewer[80] = "";
	double time_s;
	int k;

	if (strcmp(probe, "p2p") != 0) {
		talk("%s", why);
		return;
	}
	forecast_make(s, probe_find(probe), launcher, FORECAST_RANKS, &f);
	if (isnan(f.time_s)) {
		talk("%s", why);
		say_limits(&f);
		/* the pairs of more than FORECAST_RANKS are not counted */
		if (strcmp(f.spec.pairs, "all") == 0 && !f.spec.sample &&
		    f.ranks > FORECAST_RANKS &&
		    !spec_transport_is(f.spec.transport, XPORT_MODEL)) {
			suggest_sample(FORECAST_SAMPLE, NAN);
		}
		forecast_release(&f);
		return;
	}
	if (f.assumed) {
		snprintf(gpus, sizeof(gpus), " with %d GPUs per node",
			 (int)f.spec.gpus_per_node);
	}
	/* only the nodes know their routes */
	if (f.nodes > 1 && plan_rails_apart(&f.spec, true) &&
	    !spec_transport_is(f.spec.transport, XPORT_SOCKETS) &&
	    (!f.here || f.spec.sysroot[0])) {
		struct spec apart = *s;
		struct forecast rails;

		apart.fabric = FABRIC_RAIL_ONLY;
		forecast_make(&apart, f.probe, launcher, FORECAST_RANKS,
			      &rails);
		if (rails.cells < f.cells) {
			snprintf(fewer, sizeof(fewer), "; %s fewer if rails "
				 "are not connected",
				 UNITS_COUNT(f.cells - rails.cells));
		}
		forecast_release(&rails);
	}
	talk("%s: %zu tests%s, about %s%s%s", why, f.cells, gpus,
	     forecast_time(f.time_s, text, sizeof(text)),
	     f.here ? "" : " after it starts", fewer);
	say_limits(&f);
	k = forecast_sample(&f, &time_s);
	if (k) {
		suggest_sample(k, time_s);
	}
	forecast_release(&f);
}
