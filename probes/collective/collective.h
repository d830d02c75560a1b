/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_COLLECTIVE_H
#define PROBES_COLLECTIVE_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/record_collective.h"
#include "lib/spec/spec.h"

/**
 * What a collective is, whoever runs it: types, reductions, how many elements
 * each rank gives and gets.  Pure.
 */
struct dtype {
	const char *name;	/* as nccl-tests calls it */
	int nccl;		/* ncclDataType_t, the same in every NCCL */
	int width_log2;		/* of the bytes of one element */
	bool is_float;
	bool is_signed;
	int exponent, mantissa;	/* bits, of a float */
};

struct redop {
	const char *name;
	int nccl;		/* ncclRedOp_t */
};

extern const struct dtype dtypes[];	/* a NULL name ends */
extern const struct redop redops[];

/** By name; NULL when there is none. */
const struct dtype *dtype_find(const char *name);
const struct redop *redop_find(const char *name);

/** How a collective shares out its elements. */
struct collective_kind {
	bool reduces, has_root;
	bool shares;		/* every rank has a part of its own ... */
	bool gives_all, gets_all;	/* ... of what it sends, receives */
	bool exchanges;		/* made of NCCL's sends and receives, which have
				 * no algorithm, and no protocol that could be
				 * asked for */
	bool checks_inplace;	/* is the input still known afterwards? */
};
extern const struct collective_kind collective_kinds[];	/* of COLLECTIVES */

/** Elements of a collective of one size. */
struct collective_shape {
	int64_t count;		/* of the call, as nccl-tests counts */
	int64_t send, recv;	/* each rank's buffers */
	int64_t size_B;		/* of the larger of them: what is printed */
	/* in place, rank r reads r * send_step behind the start of the
	 * receive buffer, or writes r * recv_step behind that of the send
	 * buffer; the larger buffer serves both */
	int64_t send_step, recv_step;
	bool checks_inplace;	/* is the input still known afterwards? */
};

/**
 * The shape that a wish for @size_B bytes has with @ranks ranks.  Where every
 * rank has a share of its own it is rounded down to whole multiples of 16
 * bytes, as nccl-tests does (GetCollByteCount of each of its programs).
 * False when nothing is left.
 */
bool collective_shape(enum collective op, const struct dtype *t, int ranks,
		      int64_t size_B, struct collective_shape *s);

/** spec_sizes() of a sweep: where none are asked for, 8 B to 8 GiB. */
int collective_sizes(const struct spec *s, int64_t sizes[SPEC_MAX_SIZES]);

#endif
