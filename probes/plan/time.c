/* SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdlib.h>

#include "probes/plan/ask.h"
#include "probes/plan/plan.h"
#include "probes/plan/retry.h"
#include "probes/transport/xport.h"

/* A transfer of nothing that takes so long is as good as dead, too. */
#define DEAD_S 1e-4
/* No pair is waited for longer: more sizes than there are, an hour each. */
#define TASK_MAX_S (64 * 3600.0)

/* Two cores, with all pairs of 1,024 ranks of the model: the coordinator had
 * 1,047,552 rows in 16 s, the report took as long. */
#define ROW_S 4e-5

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/** Transfers of both directions of a pair at one size: @one_s each, in samples
 *  of @sample_s where nobody says how many. */
static double transfers(const struct spec *s, double one_s, double sample_s)
{
	double timed = s->iters > 0 ? (double)s->iters :
		       SAMPLES_STEADY * fmax(1, sample_s / one_s);

	return 2 * (timed + (double)s->warmup);
}

/** Return the time of the measurements. */
static double measure_s(const struct spec *s, double one_s, double sample_s)
{
	return one_s * transfers(s, one_s, sample_s);
}

/** The same of a healthy pair. */
static double healthy_s(const struct spec *s, const struct xport_ops *ops,
			int64_t size)
{
	return measure_s(s, (double)size / 1e9 / ops->cost.rate_GB_s,
			 ops->cost.sample_s);
}

/** As long as that, it is waited for. */
static double limit_s(const struct spec *s, const struct xport_ops *ops,
		      int64_t size)
{
	double default_s = (double)ops->default_timeout_ns / 1e9;
	double bytes = (double)size * (s->bidi ? 2 : 1);

	if (s->timeout_ns > 0) {
		return (double)s->timeout_ns / 1e9;
	}
	return ops->dead_GB_s <= 0 ?
		       default_s :
		       fmax(default_s, measure_s(s, DEAD_S + bytes / 1e9 /
							 ops->dead_GB_s, 0));
}

typedef double size_fn(const struct spec *s, const struct xport_ops *ops,
		       int64_t size);

/** Return the sum of @fn over the sizes at which a pair is measured, with the
 *  streams of --flows at the largest one if @flows. */
static double sum_sizes(const struct spec *s, const struct xport_ops *ops,
			size_fn *fn, bool flows)
{
	int64_t sizes[SPEC_MAX_SIZES], size = (int64_t)ops->default_size_bytes;
	int n = spec_sizes(s, size, size, sizes);
	double sum = 0;

	for (int i = 0; i < n; i++) {
		sum += fn(s, ops, sizes[i]);
	}
	flows = flows && s->flows > 1 && ops->cost.flow_s > 0 && n > 0;
	return flows ? sum + XPORT_FLOW_STREAMS * fn(s, ops, sizes[n - 1]) :
		       sum;
}

int64_t plan_task_ns(const struct spec *s, const struct xport_ops *ops)
{
	double sum_s = sum_sizes(s, ops, limit_s, false);

	return (int64_t)(1e9 * fmin(sum_s, TASK_MAX_S)) +
	       2 * xport_flows_ns(s);
}

double plan_pair_s(const struct spec *s, const struct xport_ops *ops)
{
	const double flows = s->flows > 1 ? (double)s->flows : 0;

	return ops->cost.pair_s > 0 ?
		       sum_sizes(s, ops, healthy_s, true) +
			       flows * ops->cost.flow_s :
		       NAN;
}

/** Return the bytes of the measurements. */
static double moved_B(const struct spec *s, const struct xport_ops *ops,
		      int64_t size)
{
	double one_s = (double)size / 1e9 / ops->cost.rate_GB_s;

	return (double)size * (s->bidi ? 2 : 1) *
	       transfers(s, one_s, ops->cost.sample_s);
}

double plan_pair_bytes(const struct spec *s, const struct xport_ops *ops)
{
	return sum_sizes(s, ops, moved_B, true);
}

double plan_bytes(const struct layout *l, const struct plan *p,
		  const struct spec *s, const struct xport_ops *ops)
{
	struct pass passes[PASS_MAX];
	size_t between = 0;

	for (size_t i = 0; i < p->n; i++) {
		between += !layout_same_node(l, p->tasks[i].a, p->tasks[i].b);
	}
	return (double)between * pass_list(s, passes) *
	       plan_pair_bytes(s, ops);
}

size_t plan_turns(const struct layout *l, const struct plan *p,
		  const struct spec *s, int cores)
{
	struct pass passes[PASS_MAX];
	int n = pass_list(s, passes);
	size_t n_parts = (size_t)(l->n_ranks + l->n_nics) + 1, sum = 0;
	size_t *pairs = calloc(n_parts, sizeof(*pairs)); /* of GPUs, NICs */
	size_t by_gpu = 0, by_nic = 0;	/* of the busiest */

	for (size_t i = 0; pairs && i < 2 * p->n; i++) {
		const struct task *t = &p->tasks[i / 2];
		const struct cluster_rank *r =
			&l->ranks[i % 2 == 0 ? t->a : t->b];
		int nic = l->nodes[r->node].first_nic + r->nic;

		by_gpu = larger(by_gpu, ++pairs[r - l->ranks]);
		if (!layout_same_node(l, t->a, t->b)) {
			by_nic = larger(by_nic, ++pairs[l->n_ranks + nic]);
		}
	}
	free(pairs);
	for (int i = 0; i < n; i++) {
		size_t most = passes[i].schedule == SCHEDULE_SERIAL ? p->n :
			      passes[i].schedule == SCHEDULE_NIC ?
				      larger(by_gpu, by_nic) : by_gpu;

		if (most == 0) {
			return 0;
		}
		/* a pair keeps two cores busy */
		sum += cores > 0 ? larger(most, p->n * 2 / (size_t)cores) :
				   most;
	}
	return sum;
}

double plan_time_s(size_t turns, const struct spec *s,
		   const struct xport_ops *ops)
{
	struct pass passes[PASS_MAX];
	double pair_s = ops->cost.pair_s, sum = ops->cost.open_s;
	int n = pass_list(s, passes);

	if (pair_s <= 0 || turns == 0) {
		return NAN;
	}
	pair_s += fmin(plan_pair_s(s, ops), (double)plan_task_ns(s, ops) / 1e9);
	sum += (double)turns * pair_s;
	for (int i = 1; i < n; i++) {
		if (pass_needs_fresh(&passes[i - 1], &passes[i], false)) {
			sum += ops->cost.open_s;
		}
	}
	return sum;
}

double plan_rows_s(size_t cells, const struct xport_ops *ops)
{
	return cells > 0 ? ops->cost.open_s + (double)cells * ROW_S : NAN;
}

/** A share of the run's time, or one test. */
static double share_s(double time_s, double share, const struct spec *s,
		      const struct xport_ops *ops)
{
	double one_s = (double)(ops->setup_timeout_ns + plan_task_ns(s, ops)) /
		       1e9;

	return isnan(time_s) ? NAN : fmax(time_s * share, one_s);
}

double plan_retry_s(double time_s, const struct spec *s,
		    const struct xport_ops *ops)
{
	return share_s(time_s, RETRY_SHARE, s, ops);
}

double plan_follow_s(double time_s, const struct spec *s,
		     const struct xport_ops *ops)
{
	return s->no_follow_up ? NAN :
		share_s(time_s, ASK_SHARE, s, ops);
}
