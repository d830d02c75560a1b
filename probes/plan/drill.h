/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_DRILL_H
#define PROBES_PLAN_DRILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/plan/layout.h"
#include "probes/transport/xport.h"

/**
 * A drill: faults injected on purpose (--inject), one a line; gpucheck.1 has
 * the grammar.  Pure: text in, effects out.
 */
enum drill_kind {	/* in order of precedence */
	DRILL_NONE, DRILL_DEAD, DRILL_HANG, DRILL_CRASH, DRILL_CORRUPT,
	DRILL_FLAKY, DRILL_SLOW, DRILL_WRONG, DRILL_BUSY, DRILL_NOISE
};
enum drill_part {
	DRILL_NODE, DRILL_GPU, DRILL_NIC, DRILL_PAIR, DRILL_NODE_PAIR,
	DRILL_RAIL, DRILL_CROSS_RAIL, DRILL_RANK, DRILL_NODE_NETWORK,
	DRILL_INTRA_NODE, DRILL_GPU_NVLINK, DRILL_RAIL_LEAF,
	DRILL_FABRIC_PATH, DRILL_PATHS, DRILL_LEAF_PAIR, DRILL_CABLE_SWAP,
	DRILL_SOCKET, DRILL_NVLINK_DOMAIN,
	/* of the tests of one GPU; no pair has to do with them */
	DRILL_H2D, DRILL_D2H, DRILL_COMPUTE
};
enum drill_direction { DRILL_BOTH, DRILL_TX, DRILL_RX };

/**
 * The words of the grammar: KIND PART [direction=both|tx|rx] [VALUE=number]
 * [fraction=number] [from=LAYER] [unless=NAME=VALUE] [fact=NAME=VALUE],
 * noise percent=number [shape=SHAPE] [meet=MEET].
 * tests/unit/test_drill.c goes through every row.
 */
struct drill_kind_word {
	const char *name;
	const char *value;	/* factor, rate, percent; NULL: takes none */
	double min, max;	/* of the value; min itself only if min_too */
	bool min_too;
	bool whole_run;		/* takes no part */
};
#define DRILL_NUMBERS 4		/* of a part, at most */
struct drill_part_word {
	const char *name;
	enum part_kind kind;	/* PART_PROCESS: touches no pair */
	const char *example;	/* "=1:4": how its numbers are written */
	const char *counts;	/* a letter a number: node, rank, rail as "l",
				 * and of the first node gpu, nic as "k",
				 * socket; the second of a range after "-" */
	const char *says;	/* the part in a sentence; $0 is the first
				 * number as the name that it stands for */
	bool directed;		/* direction= makes sense */
	bool partly;		/* fraction= does */
	bool of_gpu;		/* takes no part in RDMA in host memory */
};
extern const struct drill_kind_word drill_kinds[];	/* a NULL name ends */
extern const struct drill_part_word drill_parts[];

/**
 * The layers that one run can test, each on top of those before it as far as
 * both are on the way of a pair.  A fault is there from one of them on.
 */
enum drill_layer {
	DRILL_TCP,		/* host memory by sockets: all that there is */
	DRILL_VERBS,		/* RDMA in host memory */
	DRILL_VERBS_GPU,	/* RDMA in GPU memory */
	DRILL_CUDA,		/* copies between the GPUs of a node */
	DRILL_NCCL		/* what jobs use; the model stands for it */
};

#define DRILL_NAME 48		/* of a variable or fact, or its value */
struct drill_fault {
	enum drill_kind kind;
	enum drill_part part;
	enum drill_direction direction;
	int at[DRILL_NUMBERS];	/* the numbers of the part, in their order; of
			 * leaves the first and last nodes */
	double value;	/* factor, rate */
	double fraction;	/* of the paths that are in it */
	int line, column;	/* of the part, for messages */
	/* when it is there at all: */
	enum drill_layer from;
	char unless[2][DRILL_NAME];	/* not if this variable ... has this
					 * value; "" = always */
	char fact[2][DRILL_NAME];	/* that the part reports, and its value;
					 * "" = none */
};

/** How single tests differ from each other. */
enum drill_shape {
	DRILL_UNIFORM,		/* evenly within the percentage */
	DRILL_HEAVY,		/* now and then one is disturbed much more */
	DRILL_DRIFT,		/* each node slows down while the run goes on */
	DRILL_OUTLIER		/* one single test is slower by that much */
};
extern const char *const drill_shapes[];	/* the words; NULL ends */

/** How several slow parts of one path combine. */
enum drill_meet { DRILL_PRODUCT, DRILL_MIN };
extern const char *const drill_meets[];

struct drill {
	struct drill_fault *faults;
	size_t n;
	double noise;	/* 0.02 = 2 %; negative = not said */
	enum drill_shape shape;
	enum drill_meet meet;
};

/** How far single tests are from each other evenly, of a model whose own is
 *  @usual. */
static inline double drill_noise(const struct drill *d, double usual)
{
	return d->noise >= 0 && d->shape == DRILL_UNIFORM ? d->noise : usual;
}

#define DRILL_INIT { .noise = -1 }	/* no fault at all */

/**
 * Parse @text.  Returns 0, or -1 with @e "line L, column C: ..." and @d empty
 * (columns are bytes, from 1).  drill_release() frees.
 */
#define DRILL_MAX_FAULTS 10000
#define DRILL_MAX_LINE	 4096	/* bytes */
#define DRILL_MIN_FACTOR 1e-6	/* many slow faults together stop here */
int drill_parse(const char *text, size_t len, struct drill *d, struct err *e);
void drill_release(struct drill *d);

/** With PXN bytes change the rail inside a node: cross_rail touches nothing. */
void drill_allow_pxn(struct drill *d);

/** The layer of a run: its @transport, whether its ranks are HCA @ports, and
 *  what @s says of their buffers and of the layer of a simulated run. */
enum drill_layer drill_layer_of(const char *transport, bool ports,
				const struct spec *s);

/** Leave what is there in a run of @layer, where @env (getenv, or NULL: no
 *  environment) knows the variables. */
void drill_settle(struct drill *d, enum drill_layer layer,
		  char *(*env)(const char *name));

extern const char *const drill_layers[];	/* the words; NULL ends */

/** Check that every part is in the layout; -1 with line and column if not. */
int drill_check(const struct drill *d, const struct layout *l, struct err *e);

/**
 * Effect of a drill on one attempt at one ordered cell: the first that applies
 * of dead, hang, crash, corrupt, flaky, slow.
 */
struct drill_effect {
	enum drill_kind kind;	/* DRILL_NONE, DEAD, HANG, CRASH, CORRUPT (a
				 * FLAKY hit comes back as DRILL_DEAD) */
	double factor;		/* with DRILL_NONE: product of all slow
				 * factors, or the least, which the sender
				 * obeys; else 1 */
	int end;		/* rank that acts: the touched end, the higher
				 * rank if both are; CORRUPT: always dst;
				 * NONE: src */
	const struct drill_fault *fault;	/* of @kind; NULL: NONE */
	double wrong;		/* the highest rate of wrong faults, whatever
				 * the kind; 0: there is none */
	int wrong_end;		/* the end that has it, as above */
};

/** Return the fault that an end of a cell has to act out. */
enum xport_drill drill_act(enum drill_kind kind);

/** Return true if rank @rank is in the part of @f; false for paths. */
bool drill_has_end(const struct drill_fault *f, const struct layout *l,
		   int rank);

#define DRILL_SAYS 400		/* bytes of a part and a detail */
/**
 * Name the part that @f breaks in @detail of a failure: "(drill) hung" becomes
 * "(drill) NIC 2 of n1 hung", and "16 bytes changed" becomes
 * "(drill) NIC 2 of n1: 16 bytes changed". Returns @buf.
 */
const char *drill_says(const struct drill_fault *f, const struct layout *l,
		       const char *detail, char buf[DRILL_SAYS]);

/** @attempt counts from 1; @d may be empty, its parts are in range of @l. */
struct drill_effect drill_effect(const struct drill *d, const struct layout *l,
				 int src, int dst, int attempt, uint64_t seed);

#endif
