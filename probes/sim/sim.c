/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/sim/sim.h"

#include <math.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

/** Iterations that a simulated measurement says it took. */
#define SIM_ITERS 20
/** Bytes that arrive changed in a corrupt cell. */
#define SIM_WRONG_BYTES 16

/** What a path costs: lat_us for nothing, then rate_GB_s. */
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

/** Of heavy tails: one test in so many, and how much more it loses, on average,
 *  than the percentage. */
#define HEAVY_TESTS 50
#define HEAVY_TIMES 5

struct sim_failure {
	enum outcome outcome;
	const char *code;
	const char *does;	/* what the GPU that acts does */
};

static const struct sim_failure failures[] = {
	[DRILL_DEAD] = { .outcome = OUTCOME_ERROR, .code = "drill_dead",
			 .does = "does not respond" },
	[DRILL_HANG] = { .outcome = OUTCOME_TIMEOUT, .code = "drill_hang",
			 .does = "hangs" },
	[DRILL_CRASH] = { .outcome = OUTCOME_CRASHED, .code = "worker_crashed",
			  .does = "crashes" },
	[DRILL_CORRUPT] = { .outcome = OUTCOME_CORRUPT, .code = "data_corrupt",
			    .does = "receives wrong bytes" },
};

static void fail_cell(const struct layout *l, const struct drill_effect *effect,
		      struct xport_result *r)
{
	const struct sim_failure *f = &failures[effect->kind];
	const struct layout_rank *k = &l->ranks[effect->end];

	xport_fail(r, f->outcome, f->code, "(drill) GPU %d of %s %s", k->gpu,
		   l->nodes[k->node].name, f->does);
}

/** Noise of one number of a cell: a factor within @noise of 1, evenly. */
static double noise_factor(double noise, uint64_t seed, enum sim_draw draw,
			   int src, int dst, int attempt)
{
	double u = hash_unit(hash_mix(seed, draw, 0, 0), (uint64_t)src,
			     (uint64_t)dst, (uint64_t)attempt);

	return 1 + noise * (2 * u - 1);
}

/** Now and then something else is on the way. */
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

/** What the drill says of noise besides "evenly"; that is the model's then. */
static double shape_factor(const struct sim *m, int src, int dst, int attempt)
{
	static double (*const shapes[])(const struct sim *m, int src, int dst,
					int attempt) = {
		[DRILL_UNIFORM] = NULL, [DRILL_HEAVY] = heavy,
		[DRILL_DRIFT] = drift, [DRILL_OUTLIER] = outlier,
	};

	return shapes[m->drill->shape] ?
		       shapes[m->drill->shape](m, src, dst, attempt) : 1;
}

/** The ranks that have the NIC of @rank, itself among them. */
static int sharers(const struct layout *l, int rank)
{
	const struct layout_node *node = &l->nodes[l->ranks[rank].node];
	int n = 0;

	for (int i = node->first_rank; i < node->first_rank + node->gpus; i++) {
		n += l->ranks[i].nic == l->ranks[rank].nic;
	}
	return n;
}

/** Of the rate of @line, what is left for this cell. */
static double sim_rate(const struct sim *m, const struct sim_line *line,
		       int src, int dst)
{
	int a, b;

	if (!m->crowded || line != &inter) {
		return line->rate_GB_s;
	}
	a = sharers(m->layout, src);
	b = sharers(m->layout, dst);
	return line->rate_GB_s / (a > b ? a : b);
}

void sim_cell(const struct sim *m, int src, int dst, int attempt,
	      uint64_t size_bytes, struct xport_result *r)
{
	const struct sim_line *line =
		layout_same_node(m->layout, src, dst) ? &intra : &inter;
	struct drill_effect effect = drill_effect(m->drill, m->layout, src,
						  dst, attempt, m->seed);
	double noise = drill_noise(m->drill, m->noise);
	double size_GB = (double)size_bytes / 1e9;
	double time_s = line->lat_us / 1e6 +
			size_GB / sim_rate(m, line, src, dst);

	xport_result_init(r);
	STR_COPY(r->path, line->path);
	r->outcome = OUTCOME_OK;
	if (effect.kind == DRILL_CORRUPT && m->unchecked) {
		effect.kind = DRILL_NONE;
	}
	if (effect.kind != DRILL_NONE) {
		fail_cell(m->layout, &effect, r);
	}
	if (effect.kind != DRILL_NONE && effect.kind != DRILL_CORRUPT) {
		return;
	}

	r->iters = SIM_ITERS;
	r->bw_GB_s = size_GB / time_s * effect.factor *
		     noise_factor(noise, m->seed, SIM_DRAW_BW, src, dst,
				  attempt) *
		     shape_factor(m, src, dst, attempt);
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
