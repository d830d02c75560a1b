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

/** Everything that is not this rank's data becomes nobody's. */
static int prepare(struct collective_member *c,
		   const struct collective_order *o,
		   const struct collective_places *p, uint64_t seed)
{
	const struct collective_data *d = &c->check.data;

	return fill(c, p->recv, p->shape.recv, POISON, true) < 0 ||
			       fill(c, p->send, p->shape.send,
				    d->moves ?
					    collective_data_seed(seed, o->me) :
					    seed,
				    false) < 0 ?
		       -1 :
		       0;
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

int collective_check(struct collective_member *c,
		     const struct collective_order *o,
		     const struct collective_places *p)
{
	uint64_t seed = (uint64_t)o->seed;
	int64_t spoil = p->shape.recv < SPOIL ? p->shape.recv : SPOIL;

	collective_doing(c, "checking the data");
	if (prepare(c, o, p, seed) < 0 || collective_operate(c, p) < 0 ||
	    (o->drill == XPORT_DRILL_CORRUPT &&
	     fill(c, p->recv, spoil, POISON, true) < 0) ||
	    collective_cuda_rc(c, gpu_check_begin(&c->x->gpu)) < 0 ||
	    look(c, o, p, seed) < 0 || collective_stamp(c, 0) < 0 ||
	    collective_wait_for(c, 0) < 0) {
		return -1;
	}
	return collective_cuda_rc(
		c,
		collective_gpu_count(&c->check, &c->r->wrong, c->deadline_ns));
}
