/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data check: everybody fills in what only that rank can have sent, and
 * counts afterwards what is not there, all of it on the GPU.
 */
#include "probes/collective/nccl.h"

#define SPOIL  16		/* elements that a drill spoils */
#define POISON 0x5a5a5a5a5a5a	/* seed of what is nobody's data */

struct collective_places collective_places_of(struct collective_member *c,
					      const struct collective_order *o)
{
	const struct gpu *g = &c->x->gpu;
	int width = o->dtype->width_log2;
	struct collective_places p;

	collective_shape(o->op, o->dtype, (int)o->ranks, o->size_B, &p.shape);
	p.send = g->buf[GPU_SEND];
	p.recv = g->buf[GPU_RECV];
	if (o->inplace && p.shape.send > p.shape.recv) {
		p.recv = p.send + ((CUdeviceptr)(o->me * p.shape.recv_step)
				   << width);
	} else if (o->inplace) {
		p.send = p.recv + ((CUdeviceptr)(o->me * p.shape.send_step)
				   << width);
	}
	return p;
}

static int fill(struct collective_member *c, CUdeviceptr at, int64_t n,
		uint64_t seed, bool moved)
{
	return collective_cuda_rc(c,
				  collective_gpu_fill(&c->check, at, n, seed,
						      moved, c->deadline_ns));
}

/** This rank's data. */
static int fill_sent(struct collective_member *c,
		     const struct collective_order *o,
		     const struct collective_places *p, uint64_t seed)
{
	seed = c->check.data.moves ? collective_data_seed(seed, o->me) : seed;
	return fill(c, p->send, p->shape.send, seed, false);
}

/** The same, and everything else becomes nobody's. */
static int prepare(struct collective_member *c,
		   const struct collective_order *o,
		   const struct collective_places *p, uint64_t seed)
{
	return fill(c, p->recv, p->shape.recv, POISON, true) < 0 ||
			       fill_sent(c, o, p, seed) < 0 ? -1 : 0;
}

static int wrong_block(struct collective_member *c, CUdeviceptr at, int64_t n,
		       uint64_t seed)
{
	return collective_cuda_rc(
		c,
		collective_gpu_wrong(&c->check, at, n, seed, c->deadline_ns));
}

/** Count what is wrong in what this rank has received. */
static int look(struct collective_member *c, const struct collective_order *o,
		const struct collective_places *p, uint64_t seed)
{
	int64_t n = p->shape.count, me = o->me;
	CUdeviceptr block = (CUdeviceptr)n << o->dtype->width_log2;

	switch (o->op) {
	case COLLECTIVE_REDUCE:
		return me == 0 ? wrong_block(c, p->recv, n, seed) : 0;
	case COLLECTIVE_REDUCESCATTER:
		return wrong_block(c, p->recv, n,
				   seed + (uint64_t)(me * n));
	case COLLECTIVE_BROADCAST:
		return wrong_block(c, p->recv, n,
				   collective_data_seed(seed, 0));
	case COLLECTIVE_SENDRECV:
		return wrong_block(c, p->recv, n,
				   collective_data_seed(seed, (me + o->ranks -
							       1) % o->ranks));
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		for (int64_t from = 0; from < o->ranks; from++) {
			uint64_t s = collective_data_seed(seed, from);

			if (o->op == COLLECTIVE_ALLTOALL) {
				s += (uint64_t)(me * n);
			}
			if (wrong_block(c, p->recv + (CUdeviceptr)from * block,
					n, s) < 0) {
				return -1;
			}
		}
		return 0;
	default:
		return wrong_block(c, p->recv, n, seed);
	}
}

/** The first elements at @at, of @n, become nobody's. */
static int spoil(struct collective_member *c, CUdeviceptr at, int64_t n)
{
	return fill(c, at, n < SPOIL ? n : SPOIL, POISON, true);
}

/** Operate on what is prepared, as number @i of verify (-1: of check), and
 *  count what is wrong in what this rank has received into *@wrong. */
static int operate(struct collective_member *c,
		   const struct collective_order *o,
		   const struct collective_places *p, uint64_t seed, int64_t i,
		   int64_t *wrong)
{
	if ((o->me == o->wrong_by && collective_is_spoilt(o, i) &&
	     spoil(c, p->send, p->shape.send) < 0) ||
	    collective_operate(c, p) < 0 ||
	    (i < 0 && o->drill == XPORT_DRILL_CORRUPT &&
	     spoil(c, p->recv, p->shape.recv) < 0) ||
	    collective_cuda_rc(c, gpu_check_begin(&c->x->gpu)) < 0 ||
	    look(c, o, p, seed) < 0 || collective_stamp(c, 0) < 0 ||
	    collective_wait_for(c, 0) < 0) {
		return -1;
	}
	return collective_cuda_rc(
		c, collective_gpu_count(&c->check, wrong, c->deadline_ns));
}

int collective_check(struct collective_member *c,
		     const struct collective_order *o,
		     const struct collective_places *p)
{
	uint64_t seed = (uint64_t)o->seed;

	collective_doing(c, "checking the data");
	return prepare(c, o, p, seed) < 0 ? -1 :
		operate(c, o, p, seed, -1, &c->r->wrong);
}

/* What was received before is of another seed, and so is as good as nobody's:
 * only what is sent is filled in again. */
int collective_verify(struct collective_member *c,
		      const struct collective_order *o,
		      const struct collective_places *p)
{
	c->r->wrong = c->r->wrong > 0 ? c->r->wrong : 0;
	collective_doing(c, "verifying the data");
	for (int64_t i = 0; i < o->verify; i++) {
		uint64_t seed = collective_verify_seed(o, o->verify_from + i);
		int64_t wrong = 0;

		if (fill_sent(c, o, p, seed) < 0 ||
		    operate(c, o, p, seed, o->verify_from + i, &wrong) < 0) {
			return -1;
		}
		c->r->bad |= (uint64_t)(wrong > 0) << i;
		c->r->wrong += wrong;
	}
	return 0;
}
