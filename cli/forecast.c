/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/forecast.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ahead.h"
#include "cli/talk.h"
#include "lib/clock.h"
#include "lib/units.h"
#include "probes/gpu_list.h"
#include "probes/plan_time.h"

/** Who plans more than that will look for something shorter. */
#define FORECAST_LONG_S 600
#define FORECAST_SAMPLE 8
/** Pairs of more ranks take seconds to count, and hours to measure. */
#define FORECAST_RANKS	2048
/** Where nobody has said it yet. */
#define USUAL_NODES	2
#define USUAL_GPUS	8

struct forecast {
	size_t cells;
	double time_s;
	int assumed_gpus;	/* a node; 0: it is known */
};

/** The shape of a run that stays on this machine. */
static void guess_local(struct spec *s)
{
	struct gpu_list gpus = { 0 };

	gpu_list_read_proc(&gpus, "");
	if (!s->local_nodes) {
		s->local_nodes = 1;
		s->local_gpus = gpus.n ? (int64_t)gpus.n : USUAL_GPUS;
	}
	if (strcmp(s->transport, "auto") == 0) {
		snprintf(s->transport, sizeof(s->transport), "%s",
			 gpus.n ? "nccl" : "tcp");
	}
	s->local = true;
}

/** What a launcher does without being told; 0: nobody knows. */
static int64_t usual_nodes(const char *launcher)
{
	const char *text = getenv("SLURM_JOB_NUM_NODES");
	int64_t n = 0;

	if (strcmp(launcher, "srun") == 0 && text) {
		units_parse_int(text, 1, SPEC_MAX_NODES, &n, NULL);
	} else if (strcmp(launcher, "sbatch") == 0) {
		n = USUAL_NODES;
	}
	return n;
}

static void guess_cluster(struct spec *s, const char *launcher,
			  struct forecast *f)
{
	if (!s->nodes) {
		s->nodes = usual_nodes(launcher);
	}
	if (!s->gpus_per_node) {
		s->gpus_per_node = f->assumed_gpus = USUAL_GPUS;
	}
	if (strcmp(s->transport, "auto") == 0) {
		snprintf(s->transport, sizeof(s->transport), "nccl");
	}
}

/** What was asked for, planned; 0, or -1 when that cannot be done now. */
static int make_plan(const struct spec *s, const struct layout *l,
		     const struct xport_ops *ops, struct plan *p)
{
	struct pairs pairs;
	int rc = -1;

	if (pairs_parse(s->pairs, &pairs, NULL) < 0) {
		return -1;
	}
	pairs_settle(&pairs, l->n_nodes);
	if ((!(ops->caps & XPORT_ONE_NODE) ||
	     pairs_keep_inside(&pairs, ops->name, NULL) == 0) &&
	    plan_pairs(l, &pairs, p, NULL) == 0) {
		rc = s->sample == 0 ?
			     0 :
			     plan_sample(p, l->n_ranks, (int)s->sample,
					 (uint64_t)s->seed, NULL);
		if (rc < 0) {
			plan_release(p);
		}
	}
	pairs_release(&pairs);
	return rc;
}

/** 0, or -1 when nothing can be said. */
static int foresee(const struct spec *s, struct forecast *f)
{
	const struct xport_ops *ops = xport_find(s->transport);
	struct layout l = { 0 };
	struct plan plan;
	int rc = -1;

	if (!ops || ahead_layout(s, &l, NULL) <= 0) {
		return -1;
	}
	if (l.n_ranks <= FORECAST_RANKS && make_plan(s, &l, ops, &plan) == 0) {
		bool shared = s->local && ops->caps & XPORT_SHARED_CORES;
		long cores = shared ? sysconf(_SC_NPROCESSORS_ONLN) : 0;

		f->cells = plan.cells;
		f->time_s = plan_time_s(&l, &plan, s, ops, (int)cores);
		rc = 0;
		plan_release(&plan);
	}
	layout_release(&l);
	return rc;
}

/** "4 s", "11 min"; returns @buf. */
static const char *about(double time_s, char *buf, size_t size)
{
	double grain_s = time_s < 60 ? 1 : 60;
	double grains = fmax(1, ceil(time_s / grain_s));

	return units_duration_text((int64_t)(grains * grain_s) * NS_PER_S, buf,
				   size);
}

/** "in about 8 s", where that is known and short; returns @buf. */
static const char *sample_time(struct spec *s, char *buf, size_t size)
{
	struct forecast f = { .time_s = NAN };
	char text[32];

	s->sample = FORECAST_SAMPLE;
	buf[0] = '\0';
	if (foresee(s, &f) == 0 && f.time_s < FORECAST_LONG_S) {
		snprintf(buf, size, ", in about %s",
			 about(f.time_s, text, sizeof(text)));
	}
	return buf;
}

static void suggest_sample(struct spec *s)
{
	char text[64];

	if (s->sample == 0) {
		talk_hint("--sample=%d measures %d random partners of each "
			  "rank%s", FORECAST_SAMPLE, FORECAST_SAMPLE,
			  sample_time(s, text, sizeof(text)));
	}
}

/** All pairs of so many ranks that they are not even counted here? */
static bool is_huge(const struct spec *s)
{
	int64_t ranks = s->local ? s->local_nodes * s->local_gpus :
				   s->nodes * s->gpus_per_node;

	return strcmp(s->pairs, "all") == 0 && ranks > FORECAST_RANKS &&
	       strcmp(s->transport, "sim") != 0;
}

void forecast_say(const struct spec *s, const char *probe,
		  const char *launcher, const char *why)
{
	bool here = strcmp(launcher, "local") == 0;
	struct forecast f = { 0 };
	struct spec guess = *s;
	char text[32], gpus[48] = "";

	if (strcmp(probe, "p2p") != 0) {
		talk("%s", why);
		return;
	}
	if (here) {
		guess_local(&guess);
	} else {
		guess_cluster(&guess, launcher, &f);
	}
	if (foresee(&guess, &f) < 0 || isnan(f.time_s)) {
		talk("%s", why);
		if (is_huge(&guess)) {
			suggest_sample(&guess);
		}
		return;
	}
	if (f.assumed_gpus) {
		snprintf(gpus, sizeof(gpus), " with %d GPUs a node",
			 f.assumed_gpus);
	}
	talk("%s: %zu cells%s, about %s%s", why, f.cells, gpus,
	     about(f.time_s, text, sizeof(text)),
	     here ? "" : " once it runs");
	if (f.time_s > FORECAST_LONG_S) {
		suggest_sample(&guess);
	}
}
