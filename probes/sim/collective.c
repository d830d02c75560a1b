/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/sim/model.h"

#include <math.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"

#define NOTHING_US   4.0	/* of an operation of no bytes on one rank */
#define INTRA_GB_s   340.0	/* of a GPU to the others of its node */
#define NIC_GB_s     48.0	/* of a GPU's own NIC */
#define SLOW_HOPS    2.0	/* a hop between nodes takes so much longer */
#define WRONG	     16		/* elements that a corrupt rank has */
#define MEMORY_B     (INT64_C(64) << 30)

/** An algorithm, and its share of the way. */
static const struct sim_algo {
	const char *name;
	double share;
	bool one_node, reduces;	/* is for nothing else */
} algos[] = {
	{ .name = "Ring", .share = 1 },
	{ .name = "Tree", .share = 0.85, .reduces = true },
	{ .name = "NVLS", .share = 1.3, .one_node = true, .reduces = true },
};

static const struct sim_proto {
	const char *name;
	double hop_us, share;
} protos[] = {
	{ .name = "LL", .hop_us = 0.9, .share = 0.25 },
	{ .name = "LL128", .hop_us = 1.3, .share = 0.92 },
	{ .name = "Simple", .hop_us = 3.5, .share = 1 },
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static bool can(const struct sim_algo *a, const struct collective_order *o)
{
	return !(a->one_node && o->nodes > 1) &&
	       !(a->reduces && o->op != COLLECTIVE_ALLREDUCE);
}

static double time_us(const struct collective_order *o, int64_t size_B,
		      const struct sim_algo *a, const struct sim_proto *p)
{
	double n = (double)o->ranks, nodes = (double)o->nodes;
	double way_GB_s = nodes > 1 ? fmin(INTRA_GB_s, NIC_GB_s * n / nodes) :
				      INTRA_GB_s;
	double hop_us = p->hop_us * (nodes > 1 ? SLOW_HOPS : 1);

	/* round the ring, there and back through the tree, or by way of the
	 * switch */
	double hops = o->op == COLLECTIVE_ALLREDUCE ? 2 * (n - 1) : n - 1;

	if (a->reduces) {
		hops = a->one_node ? 3 : 2 * ceil(log2(n));
	}
	return NOTHING_US + hop_us * hops +
	       (double)size_B * collective_bus_factor(o->op, o->ranks) /
		       (way_GB_s * a->share * p->share) / 1e3;
}

/** Choose the fastest algorithm and protocol of those that are asked for; an
 *  unknown name is ignored. */
static double choose(const struct collective_order *o, int64_t size_B,
		     struct collective_result *r)
{
	bool algo_known = false, proto_known = false;
	double best = INFINITY;

	for (size_t i = 0; i < LENGTH(algos); i++) {
		algo_known = algo_known || (strcmp(o->algo, algos[i].name) ==
						    0 &&
					    can(&algos[i], o));
	}
	for (size_t i = 0; i < LENGTH(protos); i++) {
		proto_known = proto_known ||
			      strcmp(o->proto, protos[i].name) == 0;
	}
	for (size_t i = 0; i < LENGTH(algos) * LENGTH(protos); i++) {
		const struct sim_algo *a = &algos[i / LENGTH(protos)];
		const struct sim_proto *p = &protos[i % LENGTH(protos)];
		double us = time_us(o, size_B, a, p);

		if (can(a, o) && us < best &&
		    (!algo_known || strcmp(o->algo, a->name) == 0) &&
		    (!proto_known || strcmp(o->proto, p->name) == 0)) {
			best = us;
			STR_COPY(r->algo, a->name);
			STR_COPY(r->proto, p->name);
		}
	}
	return best;
}

/** Returns true if this rank receives the result of wrong_by's first
 *  elements. */
static bool gets_spoilt(const struct collective_order *o)
{
	switch (o->op) {
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_REDUCESCATTER:
	case COLLECTIVE_ALLTOALL:
		return o->me == 0;
	case COLLECTIVE_BROADCAST:
		return o->wrong_by == 0;
	case COLLECTIVE_SENDRECV:
		return o->me == (o->wrong_by + 1) % o->ranks;
	default:
		return true;
	}
}

static void measure(const struct collective_order *o, uint64_t seed,
		    double noise, struct collective_result *r)
{
	const bool comes = gets_spoilt(o);
	struct collective_shape shape;
	uint64_t variant = 0;
	int64_t some;
	double us;

	collective_shape(o->op, o->dtype, (int)o->ranks, o->size_B, &shape);
	us = choose(o, shape.size_B, r) / o->slow_factor;
	if (collective_kinds[o->op].exchanges) {	/* as NCCL has it */
		r->algo[0] = r->proto[0] = '\0';
	}
	for (const char *c = o->variant; *c != '\0'; c++) {
		variant = hash_mix(variant, (unsigned char)*c, 0, 0);
	}
	seed = hash_mix(seed, variant, (uint64_t)o->size_B, o->inplace);
	for (r->n = 0; r->n < o->samples; r->n++) {
		double u = hash_unit(seed, (uint64_t)o->rank, (uint64_t)o->id,
				     (uint64_t)r->n);

		r->us[r->n] = us * (1 + noise * (2 * u - 1));
	}
	if (!shape.checks_inplace && o->inplace) {
		return;
	}
	/* the checks: some elements are wrong where an operation went wrong */
	some = shape.recv < WRONG ? shape.recv : WRONG;
	if (o->check) {
		bool bad = comes && collective_is_spoilt(o, -1);

		r->wrong = bad || o->drill == XPORT_DRILL_CORRUPT ? some : 0;
	}
	for (int64_t i = 0; i < o->verify; i++) {
		bool bad = comes &&
			   collective_is_spoilt(o, o->verify_from + i);

		r->bad |= (uint64_t)bad << i;
		r->wrong = (r->wrong > 0 ? r->wrong : 0) + (bad ? some : 0);
	}
}

void collective_sim(const struct collective_order *o, uint64_t seed,
		    double noise, struct collective_result *r)
{
	static const struct sim_failure acts[] = {
		[XPORT_DRILL_STAY_AWAY] = { OUTCOME_TIMEOUT, "drill_dead",
					    XPORT_DRILL_MARK "did not respond",
					    DO_JOIN },
		[XPORT_DRILL_HANG] = { OUTCOME_TIMEOUT, "drill_hang",
				       XPORT_DRILL_MARK "hung", DO_STEP },
		[XPORT_DRILL_CRASH] = { OUTCOME_CRASHED, "worker_crashed",
					XPORT_DRILL_MARK "crashed", DO_STEP },
		[XPORT_DRILL_CORRUPT] = { .code = NULL },
	};

	collective_result_init(r, o);
	STR_COPY(r->lib, "sim");
	if (o->drill != XPORT_DRILL_NONE && acts[o->drill].code != NULL &&
	    acts[o->drill].at == o->what) {
		const struct sim_failure *a = &acts[o->drill];

		collective_fail(r, a->outcome, a->code, "%s", a->does);
		r->echo = o->silent;
		return;
	}
	r->size_B = o->size_B < MEMORY_B ? o->size_B : MEMORY_B;
	if (o->what == DO_TICKET) {
		STR_COPY(r->ticket, "sim");
	} else if (o->what == DO_STEP) {
		measure(o, seed, noise, r);
	}
}
