/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which GPU does something else than those that wait in NCCL.  All ranks of a
 * collective wait in kernels of the same shape: on 1 to 64 SMs of a hundred or
 * more, with three warps or more on each, at little power.
 */
#include "report/judge/hang_seat.h"

#include <stdlib.h>
#include <string.h>

#define BUSY_PCT 90
#define REST_PCT 10
/** A GPU that computes draws so much more than those that wait: an H200 takes
 *  124 to 130 W waiting in NCCL, and 160 W in small collectives. */
#define POWER_RATIO 1.5
/** More SMs than any kernel of NCCL has; and as many as most have: a GPU that
 *  computes and waits in turn is between the two. */
#define WIDE_PCT 60
#define WAIT_PCT 30
/** Warps on an SM that works; of NCCL's kernels. */
#define SM_WARPS  64
#define FEW_WARPS 2
/** GPUs that wait in one collective are as alike as this. */
#define ALIKE 1.25

/** Of each process its first row. */
static bool is_first(const struct hang *h, size_t i)
{
	return h->seats[i].process == i;
}

static bool all_gpus(const struct hang *h, double least, double most)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = h->seats[i].row;

		if (r->gpu == RECORD_NONE || !(r->gpu_busy_pct >= least) ||
		    !(r->gpu_busy_pct <= most)) {
			return false;
		}
		n++;
	}
	return n > 0;
}

bool hang_computes(const struct hang_row *r)
{
	return r->gpu_sm_pct >= WIDE_PCT;
}

bool hang_gpu_rests(const struct hang_row *r)
{
	return r->gpu_busy_pct <= REST_PCT;
}

bool hang_gpus_run(const struct hang *h)
{
	return all_gpus(h, BUSY_PCT, 100);
}

bool hang_gpus_rest(const struct hang *h)
{
	return all_gpus(h, 0, REST_PCT);
}

/* ---- what is compared ---------------------------------------------------- */

static double power(const struct hang_row *r)
{
	return r->gpu_power_W;
}

static double width(const struct hang_row *r)
{
	return r->gpu_sm_pct > 0 ? r->gpu_sm_pct : NAN;
}

/** Warps on an SM that has any. */
static double depth(const struct hang_row *r)
{
	return SM_WARPS * r->gpu_warp_pct / width(r);
}

/** The two that are most, or least, and what is at the other end. */
struct ends {
	struct seat *first;
	double one, two, other;
	size_t n;
};

/** False where one of the processes does not know its own. */
static bool find_ends(struct hang *h, double (*of)(const struct hang_row *r),
		      int sign, struct ends *e)
{
	*e = (struct ends){ .one = -INFINITY, .two = -INFINITY,
			    .other = INFINITY };
	for (size_t i = 0; i < h->rows->n; i++) {
		double value = sign * of(h->seats[i].row);

		if (!is_first(h, i)) {
			continue;
		}
		if (isnan(value)) {
			return false;
		}
		e->other = fmin(e->other, value);
		if (value > e->one) {
			e->two = e->one;
			e->one = value;
			e->first = &h->seats[i];
		} else {
			e->two = fmax(e->two, value);
		}
		e->n++;
	}
	e->one *= sign;
	e->two *= sign;
	e->other *= sign;
	return e->n > 1;
}

static struct seat *is_wide(struct hang *h)
{
	struct ends e;

	return find_ends(h, width, 1, &e) && e.one >= WIDE_PCT &&
			       e.two < WAIT_PCT ?
		       e.first : NULL;
}

static struct seat *is_shallow(struct hang *h)
{
	struct ends e;

	return find_ends(h, depth, -1, &e) && e.one < FEW_WARPS &&
			       e.two > FEW_WARPS ?
		       e.first : NULL;
}

/** Of several communicators each has its own number of channels. */
static struct seat *is_narrow(struct hang *h)
{
	struct ends e;

	return h->n_comms == 1 && find_ends(h, width, -1, &e) && e.n > 2 &&
			       e.one < e.two / 2 && e.other < e.two * ALIKE ?
		       e.first : NULL;
}

static struct seat *is_hot(struct hang *h)
{
	struct ends e;

	return find_ends(h, power, 1, &e) && e.one > e.two * POWER_RATIO ?
		       e.first : NULL;
}

/** The first that finds one says it. */
static const struct sign {
	struct seat *(*find)(struct hang *h);
	bool near;		/* only within a node: a link that is dead
				 * beyond it leaves ranks half done */
	const char *code, *says;
} signs[] = {
#define COMPUTES "has begun what the others have, but its GPU still runs " \
		 "something else, while theirs wait"
	{ .find = is_wide, .code = "rank_gpu_busy", .says = COMPUTES },
	{ .find = is_shallow, .code = "rank_gpu_busy", .says = COMPUTES },
	{ .find = is_narrow, .near = true, .code = "rank_other_size",
	  .says = "waits in the same collective as the others with fewer "
		  "channels, as one of another size has" },
	{ .find = is_hot, .code = "rank_gpu_busy", .says = COMPUTES },
};

/* ---- where that may be asked --------------------------------------------- */

static int by_gpu(const void *a, const void *b)
{
	const struct hang_row *r = *(const struct hang_row *const *)a;
	const struct hang_row *t = *(const struct hang_row *const *)b;
	int c = strcmp(r->node, t->node);

	return c ? c : (r->gpu > t->gpu) - (r->gpu < t->gpu);
}

/** Has each process a GPU for itself? */
static bool own_gpus(struct hang *h)
{
	const struct hang_row **list = calloc(h->rows->n + 1, sizeof(*list));
	size_t n = 0;
	bool own = list;

	h->v->failed = h->v->failed || !list;
	for (size_t i = 0; list && i < h->rows->n; i++) {
		if (is_first(h, i)) {
			list[n++] = h->seats[i].row;
		}
	}
	if (list) {
		qsort(list, n, sizeof(*list), by_gpu);
	}
	for (size_t i = 1; i < n; i++) {
		own = own && by_gpu(&list[i - 1], &list[i]) != 0;
	}
	free(list);
	return own;
}

bool hang_all_wait(const struct hang *h)
{
	for (size_t i = 0; i < h->n_comms; i++) {
		if (h->comms[i].goes_on || h->comms[i].behind > 0) {
			return false;
		}
	}
	return h->n_comms > 0 && hang_gpus_run(h);
}

struct seat *hang_odd_gpu(struct hang *h, const char **code, const char **says)
{
	bool near = true;

	if (!hang_all_wait(h) || !own_gpus(h)) {
		return NULL;
	}
	for (size_t i = 1; i < h->rows->n; i++) {
		near = near && strcmp(h->seats[i].row->node,
				      h->seats[0].row->node) == 0;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		struct seat *s = signs[i].near && !near ? NULL :
							  signs[i].find(h);

		if (s) {
			*code = signs[i].code;
			*says = signs[i].says;
			return s;
		}
	}
	return NULL;
}
