/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_COLLECTIVE_H
#define PROBES_COLLECTIVE_COLLECTIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/data/record_rows.h"
#include "lib/data/schema.h"
#include "lib/spec/spec.h"
#include "probes/nccl/log.h"
#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/transport/xport.h"

/* ---- collective ---------------------------------------------------------- */

/**
 * Properties of collectives for all transports: types, reductions, elements
 * that each rank sends and receives. Pure.
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
	bool shares;		/* each rank has a part of its own ... */
	bool gives_all, gets_all;	/* ... of what it sends, receives */
	bool exchanges;		/* made of NCCL's sends and receives, which have
				 * no algorithm, and no protocol that could be
				 * asked for */
	bool checks_inplace;	/* the input is still known afterwards */
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
	bool checks_inplace;	/* the input is still known afterwards */
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

/* ---- data ---------------------------------------------------------------- */

/**
 * The data that a collective is checked with.  What only moves gets every bit
 * of a pattern.  What is reduced gets small numbers, chosen so that the result
 * follows from the position alone, whatever the order of additions, and exactly
 * in every type: no sum is more than it can hold.  So a result is right to the
 * last bit, or wrong.  Both are pure functions of seed
 * and position, so GPU and host agree (gpu_kernels, kernels.c).
 *
 * Element @i is made of the word (seed + i) * PATTERN_MULTIPLIER: moved, its
 * upper bits; reduced, an entry of a table, chosen by its two upper bits h and
 * by whether the rank is the one in turn at @i (i modulo ranks).
 */
#define COLLECTIVE_GIVEN  8	/* 2 * h + in turn */
#define COLLECTIVE_WANTED 4	/* h */

struct collective_data {
	bool moves;
	int width_log2;
	int64_t rank, ranks;
	uint64_t given[COLLECTIVE_GIVEN];	/* bits that this rank puts
						 * in */
	uint64_t wanted[COLLECTIVE_WANTED];	/* bits that must come out */
};

/** Initialise the data of rank @rank of @ranks, for a reduction by @r (NULL:
 *  the collective only moves data). */
void collective_data_init(struct collective_data *d, const struct dtype *t,
			  const struct redop *r, int64_t rank, int64_t ranks);

/** The seed of what rank @rank sends, when it is moved: far from the others'.
 */
uint64_t collective_data_seed(uint64_t seed, int64_t rank);

/** Bits of @value in the type @t, the nearest that there is. */
uint64_t collective_encode(const struct dtype *t, double value);

/** On the host: put @n elements at @mem / count those that are wrong. */
void collective_data_fill(const struct collective_data *d, void *mem, int64_t n,
			  uint64_t seed);
int64_t collective_data_wrong(const struct collective_data *d, const void *mem,
			      int64_t n, uint64_t seed);

/* ---- drill --------------------------------------------------------------- */

/** Effect of a drill on one member of a collective. */
struct collective_act {
	enum xport_drill drill;
	const struct drill_fault *fault;	/* of @drill; NULL: none */
	bool silent;	/* the way hangs, not the rank: all have arrived */
	double wrong;	/* so often it spoils what it sends; 0 = never */
};

/**
 * Apply drill @d to a collective of @n ranks (@members, ascending): a fault of
 * a node, GPU or rank affects those members; a fault of a pair, NIC or rail
 * between any two of them makes one of them hang, and no member knows which. A
 * fault "wrong" makes a member, or one of the two, sometimes send wrong data.
 * Fills @acts[n]; returns the factor by which the slowest path slows the
 * collective, 1 if none does.
 */
double collective_drill(const struct drill *d, const struct layout *l,
			const int *members, int n, int attempt, uint64_t seed,
			struct collective_act *acts);

/* ---- samples ------------------------------------------------------------- */

/**
 * How long to measure one size, and what comes out: pure.  A sample is a few
 * operations between two time stamps; every rank takes the same ones, and
 * their mean over the ranks counts, as nccl-tests has it.
 */
#define COLLECTIVE_SAMPLES	  128	/* of one size */
#define COLLECTIVE_STEP_SAMPLES 40	/* taken without asking again */
#define COLLECTIVE_BATCH	  64	/* operations of a sample, at most */

struct collective_samples {
	int64_t wanted;		/* -n; 0 = until steady */
	double one_us;		/* what one operation takes, about */
	double us[COLLECTIVE_SAMPLES];	/* an operation, mean over the ranks */
	int n;
	int batch;		/* operations of a sample; the last may have
				 * fewer */
	int now;		/* of those at hand */
	int64_t done;		/* operations */
	double spent_us;	/* by all of them */
	int room;		/* operations and stamps queued at once */
};

/**
 * Operations and stamps that may be queued behind a held stream before any of
 * them runs.  A GPU's queue takes 1024 entries, of which an operation may need
 * three; between nodes each operation also takes from NCCL's pool of proxy
 * operations, channel by channel, and waits where that is empty.
 */
int collective_samples_room(int64_t nodes);
/** Samples of one operation each that tell what one takes, when the size before
 *  took @about_us (0 = none was). */
int collective_samples_first(double about_us);
/** Begin, knowing that one operation takes about @one_us, on @nodes nodes. */
void collective_samples_begin(struct collective_samples *s, int64_t wanted,
			      double one_us, int64_t nodes);
/** How many samples next, of s->now operations each; 0 = enough: as many as
 *  were wanted, steady to 1 %, or not going to be. */
int collective_samples_next(struct collective_samples *s);
/** One more sample: the times of all @n_ranks ranks, microseconds. */
void collective_samples_add(struct collective_samples *s, const double *us,
			    int n_ranks);
/** Return the number of operations for a size whose operations all take
 *  @one_us: @wanted of them without the warm-up, in *@steps orders. */
int64_t collective_samples_ops(double one_us, int64_t wanted, int64_t nodes,
			       int *steps);
/** Times and bandwidths into @row, whose op, ranks and size_B are set. */
void collective_samples_result(struct collective_samples *s,
			       struct collective_row *row);

/* ---- order --------------------------------------------------------------- */

/**
 * Orders of the coordinator to each member of a collective, and the answers:
 * JSON members of the messages "collective" and "collective_done". All members
 * get orders of one kind at a time, and the next when all have answered.
 */
enum collective_do {
	DO_TICKET,	/* the lead: make what the others need to join */
	DO_JOIN,	/* become a member, reserve memory */
	DO_STEP,	/* check, warm up, take samples of one size */
	DO_LEAVE,	/* give the collective up; another may follow */
};

/** Operations of verify that one step may have. */
#define COLLECTIVE_STEP_VERIFY 60

/** A worker that is so late is killed by its agent: it should have said that it
 *  waits in vain.  Long enough for a machine that is busy with other things. */
#define COLLECTIVE_LATE_NS (8 * NS_PER_S)

struct collective_order {
	enum collective_do what;
	int64_t id;
	char nonce[33];
	int64_t rank;		/* of the run */
	int64_t budget_ns;	/* the worker answers by then */
	/* the collective */
	int64_t me, ranks, nodes;
	enum collective op;
	const struct dtype *dtype;
	const struct redop *redop;
	char variant[64], algo[32], proto[16];	/* asked for, "" */
	char ticket[XPORT_TICKET_MAX];
	int64_t size_B;		/* of the step; to reserve */
	int64_t factor;		/* to lower it by where memory is short */
	/* the step */
	bool inplace, check;
	int64_t warmup, samples, batch;
	bool held;		/* queue first, then run: what has connected */
	int64_t seed;
	int64_t verify, verify_from;	/* checked operations of the step, and
					 * how many of the size were before */
	enum xport_drill drill;
	bool silent;		/* of a drill: the way hangs, not the rank */
	double slow_factor;	/* 1 = none */
	double wrong_rate;	/* of a drill: how often a member spoils what it
				 * sends */
	int64_t wrong_by;	/* which one */
};

struct collective_result {
	int64_t id, rank;
	enum collective_do what;
	enum outcome outcome;
	char code[48];
	char detail[300];
	bool echo;		/* only waited in vain for other ranks */
	char ticket[XPORT_TICKET_MAX];
	char lib[160];		/* version of the library */
	int64_t size_B;		/* that there is memory for */
	int64_t wrong;		/* elements; RECORD_NONE */
	uint64_t bad;		/* a bit for each operation of verify that
				 * had any, from the lowest */
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO];	/* used */
	int n;
	double us[COLLECTIVE_SAMPLES];	/* an operation */
};

/** The data of operation number @i of verify, of the run's seed. */
uint64_t collective_verify_seed(const struct collective_order *o, int64_t i);
/** Returns true if a drill makes wrong_by corrupt what it sends in operation
 *  number @i of verify (-1: that of check).  All members agree on that. */
bool collective_is_spoilt(const struct collective_order *o, int64_t i);

extern const struct field collective_order_fields[],
	collective_result_fields[];

json_t *collective_order_json(const struct collective_order *o);
int collective_order_parse(const json_t *msg, struct collective_order *o,
			   struct err *e);

void collective_result_init(struct collective_result *r,
			    const struct collective_order *o);
int collective_result_parse(const json_t *msg, struct collective_result *r,
			    struct err *e);
/** Fill in outcome, code and detail; -1. */
int collective_fail(struct collective_result *r, enum outcome o,
		    const char *code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- ops ----------------------------------------------------------------- */

/**
 * A transport that knows collectives.  join(), step() and close() run in a
 * thread of their own and may block: the worker's first thread watches the
 * deadline and the coordinator's word, and calls abort() or leaves.
 * Named by the transport: struct xport_ops.
 */
struct collective_member;			/* one rank's part in one */

struct collective_ops {
	/** Become a member; NULL with @r filled in. */
	struct collective_member *(*join)(struct xport *x,
					  const struct collective_order *o,
					  int64_t deadline_ns,
					  struct collective_result *r);
	/** One step; always fills @r. */
	void (*step)(struct collective_member *c,
		     const struct collective_order *o, int64_t deadline_ns,
		     struct collective_result *r);
	/** From another thread: what step() waits for will not come. */
	void (*abort)(struct collective_member *c);
	void (*close)(struct collective_member *c);
};

#endif
