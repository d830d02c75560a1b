/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan_time.h"

#include <math.h>
#include <stdlib.h>

#include "probes/pass.h"
#include "probes/retry.h"
#include "probes/samples.h"

/* A sample lasts as long as with cuda, or less. */
#define SAMPLE_S 5e-3

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/** First number of a node's NICs, when those of all nodes are counted. */
static size_t nics_before(const struct layout *l, int node)
{
	size_t n = 0;

	for (int i = 0; i < node; i++) {
		n += (size_t)l->nodes[i].nics;
	}
	return n;
}

/** Most pairs that one GPU, or with @by_nic one NIC, is in; 0: no memory. */
static size_t busiest(const struct layout *l, const struct plan *p, bool by_nic)
{
	size_t ranks = (size_t)l->n_ranks, most = 0;
	size_t *pairs = calloc(ranks + nics_before(l, l->n_nodes) + 1,
			       sizeof(*pairs));
	size_t *first_nic = calloc((size_t)l->n_nodes + 1, sizeof(*first_nic));

	for (int i = 0; first_nic && i < l->n_nodes; i++) {
		first_nic[i] = ranks + nics_before(l, i);
	}
	for (size_t i = 0; pairs && first_nic && i < p->n; i++) {
		int ends[] = { p->tasks[i].a, p->tasks[i].b };
		bool inside = layout_same_node(l, ends[0], ends[1]);

		for (int e = 0; e < 2; e++) {
			const struct layout_rank *r = &l->ranks[ends[e]];
			size_t nic = first_nic[r->node] + (size_t)r->nic;

			most = larger(most, ++pairs[ends[e]]);
			if (by_nic && !inside) {
				most = larger(most, ++pairs[nic]);
			}
		}
	}
	free(first_nic);
	free(pairs);
	return most;
}

/** Pairs that must follow each other under @schedule. */
static size_t rounds(const struct layout *l, const struct plan *p,
		     int64_t schedule, int cores)
{
	size_t most = schedule == SCHEDULE_SERIAL ?
			      p->n :
			      busiest(l, p, schedule == SCHEDULE_NIC);

	/* a pair keeps two cores busy */
	return cores > 0 && most > 0 ?
		       larger(most, p->n * 2 / (size_t)cores) : most;
}

/** Both directions of a pair at one size. */
static double measure_s(const struct spec *s, const struct xport_ops *ops,
			int64_t size)
{
	double one_s = (double)size / 1e9 / ops->cost.rate_GB_s;
	double timed_s = s->iters > 0 ? (double)s->iters * one_s :
					SAMPLES_STEADY * fmax(SAMPLE_S, one_s);
	double limit_s = (double)(s->timeout_ns > 0 ? s->timeout_ns :
				  ops->default_timeout_ns) / 1e9;

	return 2 * fmin(timed_s + (double)s->warmup * one_s, limit_s);
}

/** Sizes that a pair is measured at, and, unless NULL, what they take. */
static int count_sizes(const struct spec *s, const struct xport_ops *ops,
		       double *sum_s)
{
	int64_t size = s->size_begin_B > 0 ? s->size_begin_B :
					     (int64_t)ops->default_size_bytes;
	int64_t end = s->size_end_B > 0 ? s->size_end_B : size;
	int n = 0;

	for (; size <= end; size *= s->size_factor) {
		n++;
		if (sum_s) {
			*sum_s += measure_s(s, ops, size);
		}
		if (size > INT64_MAX / s->size_factor) {
			break;
		}
	}
	return n;
}

size_t plan_turns(const struct layout *l, const struct plan *p,
		  const struct spec *s, int cores)
{
	struct pass passes[PASS_MAX];
	int n = pass_list(s, passes);
	size_t sum = 0;

	for (int i = 0; i < n; i++) {
		size_t r = rounds(l, p, passes[i].schedule, cores);

		if (r == 0) {
			return 0;
		}
		sum += r;
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
	count_sizes(s, ops, &pair_s);
	sum += (double)turns * pair_s;
	for (int i = 1; i < n; i++) {
		if (pass_needs_fresh(&passes[i - 1], &passes[i], false)) {
			sum += ops->cost.open_s;
		}
	}
	return sum;
}

double plan_retry_s(double time_s, const struct spec *s,
		    const struct xport_ops *ops)
{
	int64_t task_ns = s->timeout_ns > 0 ? s->timeout_ns :
					      ops->default_timeout_ns;
	double one_s = (double)(ops->setup_timeout_ns +
				task_ns * count_sizes(s, ops, NULL)) / 1e9;

	return isnan(time_s) ? NAN : fmax(time_s * RETRY_SHARE, one_s);
}
