/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_PLAN_H
#define PROBES_PLAN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/data/cells.h"
#include "lib/data/record.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"
#include "probes/transport/xport.h"

/* ---- plan ---------------------------------------------------------------- */

/**
 * Partner of @rank in round @round of a round-robin tournament of @size ranks
 * (the circle method): every round is a perfect matching, so no rank is in two
 * pairs at a time, and after sched_rounds(size) rounds every pair has met once.
 * Returns the partner, or -1 when @rank sits the round out (@size is odd).
 */
int sched_partner(int size, int round, int rank);
int sched_rounds(int size);
/** The round in which ranks @a and @b of @size meet. */
int sched_round_of(int size, int a, int b);

/** With more ranks all pairs are measured only on request. */
#define PAIRS_ALL_USUAL	1024
/** ... nor who has. */
#define PAIRS_ALL_MOST	SPEC_MAX_SQUARE

struct pair_end {
	char node[64];	/* "": index is a global rank, else a GPU of node */
	int index;		/* or, of a node, PAIR_ALL of them */
	int column;		/* of the pair in the text, from 1 */
};

#define PAIR_ALL (-1)

struct pairs {
	enum pairs_kind kind;
	struct pair_end (*list)[2];	/* PAIRS_LIST: unordered, both
					 * directions */
	size_t n;
	int rounds;		/* strata_make() chooses so many; 0 = all */
	uint64_t seed;		/* by that */
	bool inside;		/* none between nodes: a listed one is wrong */
	bool rails_apart;	/* none between rails, but listed ones: the
				 * fabric does not connect them */
	bool what_is_there;	/* a listed GPU or node that is not there has no
				 * pairs, and is no error; none is a number */
	const char *expected;	/* host list, borrowed: a listed node of it that
				 * is not there has no pairs, of any other that
				 * is an error; NULL: none */
};

/**
 * Parse --pairs: all, inter, intra, rail, nodes, auto, or a list such as
 * "0-9,n0:1-n1:1,n0:*-n1:*" (global ranks, or node:gpu with the node's name,
 * or its number in boot order; all GPUs of a node).  A single pair may also be
 * typed as two words "0 9"; the front joins them with '-'.
 * Returns 0, or -1 with @e "--pairs, column C: ..." and @p empty.
 * pairs_release() frees.
 */
int pairs_parse(const char *text, struct pairs *p, struct err *e);
void pairs_release(struct pairs *p);
/** Settle "default" and "auto" for @l, and the number of sample rounds if @s
 *  asks for a sample. */
void pairs_settle(struct pairs *p, const struct spec *s,
		  const struct layout *l);

/**
 * For a transport that reaches no other node: "all" is all inside nodes, and
 * asking for others is wrong.  0, or -1 with @e.
 */
int pairs_keep_inside(struct pairs *p, const char *transport, struct err *e);

#define TASK_AB 1	/* rank a sends to rank b */
#define TASK_BA 2

/** One unit of dispatch: a pair of ranks, one or both directions. */
struct task {
	uint32_t id;		/* index in plan.tasks */
	int a, b;		/* a < b */
	uint8_t dirs;		/* TASK_AB | TASK_BA */
	int attempt;		/* from 1 */
	int round;		/* of the plan, from 0 */
	int mates[TASK_MATES];	/* ranks + 1 that relay for them, idle members
				 * of their communicator; 0 = none */
};

/** Return true if rails are not connected by design and no rank relays. If @s
 *  leaves it open, the routes of the nodes decide. */
bool plan_rails_apart(const struct spec *s, bool by_routes);

/** Return true if the pair is between nodes and from one rail to another. */
bool plan_crosses(const struct layout *l, int a, int b);

/**
 * Returns the rank that can relay data from @from to @to by PXN: the first rank
 * of @from's node whose NIC has the number of @to's and for which @works
 * returns true; -1: none.  @any is set if there is such a rank, whether it
 * works or not.
 */
int plan_relay(const struct layout *l, int from, int to,
	       bool (*works)(void *ctx, int rank), void *ctx, bool *any);

struct plan {
	struct task *tasks;	/* in the order of the rounds */
	size_t n, room;
	size_t cells;		/* ordered cells planned */
	struct sampled sample;	/* no rounds: all that is wanted */
};

/**
 * All tasks of a run in circle-method order, or those of a sample round by
 * round; inside a round of all pairs tasks keep the order of their lower rank.
 * A pair listed twice is planned once.  Returns 0, or -1 with @e and @out
 * empty: a listed pair is out of range, a rank paired with itself, nothing to
 * do, all pairs of too many ranks, no memory.  plan_release() frees.
 */
int plan_pairs(const struct layout *l, const struct pairs *p, struct plan *out,
	       struct err *e);
void plan_release(struct plan *p);

/* ---- strata -------------------------------------------------------------- */

/**
 * Which pairs a run of few measures: rounds, each a matching in which every
 * rank has a partner of one sort.  No partner comes twice.  Pure; no square of
 * the ranks is made, and a round costs what it has pairs.
 */

/** Rounds of --quick: a stratum each; and where there are too many ranks for
 *  all pairs.  The first ones are those of every longer sample. */
#define STRATA_QUICK	3
#define STRATA_DEFAULT	12

struct strata_pools;

struct strata {
	const struct layout *l;			/* borrowed */
	struct strata_pools *pools[STRATA];	/* who can meet whom */
	enum stratum *turns;			/* in the order of the run */
	int n;
	int rounds[STRATA];			/* of these in turns */
};

/**
 * Choose @k rounds of the kinds of pairs that @p wants: 8 on the rails and 3
 * across them for each one inside the nodes, or what there is; fewer where
 * there are no more.  With PAIRS_NODES one between any two nodes follows.  The
 * same @seed chooses the same pairs.  What is planned of NICs counts, not what
 * was heard of them.  0, or -1 with @e: no memory.  strata_release() frees.
 */
int strata_make(struct strata *s, const struct layout *l,
		const struct pairs *p, int k, uint64_t seed, struct err *e);
void strata_release(struct strata *s);	/* safe on a zeroed one */

/**
 * Set @pairs, with room for two of each rank, to those of turn number @turn,
 * src and dst of any order; returns how many.  If the number of ranks or nodes
 * is odd, the one that is left over meets one that has a partner already.  Two
 * nodes of STRATUM_NODES may have met in others.
 */
size_t strata_pairs(const struct strata *s, int turn, struct grid_pair *pairs);

/* ---- pass ---------------------------------------------------------------- */

/**
 * A run goes over its pairs once, or with --compare once more under another
 * schedule or other settings.  Cells are of the first pass, and so are second
 * attempts; of the others only the ratio to the first is wanted.
 */
#define PASS_MAX 2

struct pass {
	int64_t schedule;	/* enum spec_schedule */
	/* what workers are told; another value needs fresh ones: */
	bool pxn;
	bool as_jobs;		/* with the timeouts and retries of jobs */
	int64_t memory;		/* enum spec_memory */
	bool failover;		/* NCCL may continue on another port */
	char name[16];		/* in the rows' column "schedule" */
};

/** The passes that @s asks for, and how many they are; behind a single one
 *  stands the pass that repeats failed tests with port failover. */
int pass_list(const struct spec *s, struct pass passes[PASS_MAX]);
/** Return true if the workers of one pass cannot serve the other. A @model
 *  cannot see by itself what runs at the same time. */
bool pass_needs_fresh(const struct pass *a, const struct pass *b, bool model);

/* ---- time ---------------------------------------------------------------- */

/**
 * How many pairs of @p must follow each other, over all passes: what the
 * busiest GPU, NIC or machine has to do; everything else runs beside that.
 * @cores  of the one machine that all ranks share, 0 = they do not
 * Pure; 0 where memory runs out.
 */
size_t plan_turns(const struct layout *l, const struct plan *p,
		  const struct spec *s, int cores);

/**
 * How long a healthy run of so many @turns will take in seconds, once its
 * processes are there, at the cost that the transport states.  A guess to plan
 * with, within a factor of two or so.  Pure.
 * Returns NAN where the transport states no cost, or without turns.
 */
double plan_time_s(size_t turns, const struct spec *s,
		   const struct xport_ops *ops);

/** The same of @cells tests, whose rows one coordinator takes in, and a report
 *  reads; NAN without tests.  Pure. */
double plan_rows_s(size_t cells, const struct xport_ops *ops);

/**
 * Return the limit of a pair, both directions and all sizes, in nanoseconds:
 * --test-timeout per size; if that is not given, the transport's limit, or a
 * longer one for so much data that a slow but working link would exceed it.
 * Pure.
 */
int64_t plan_task_ns(const struct spec *s, const struct xport_ops *ops);

/** Seconds that a healthy pair needs of plan_task_ns(); NAN where the transport
 *  states no cost. */
double plan_pair_s(const struct spec *s, const struct xport_ops *ops);

/** Bytes that a healthy pair sends, both directions; of a model as few as
 *  decide.  Pure. */
double plan_pair_bytes(const struct spec *s, const struct xport_ops *ops);

/** Bytes that the pairs of @p send from node to node in a healthy run, about:
 *  what neighbours may notice of it.  Pure. */
double plan_bytes(const struct layout *l, const struct plan *p,
		  const struct spec *s, const struct xport_ops *ops);

/** Seconds that second attempts may take after first ones that took @time_s:
 *  time for one at least.  NAN where that is. */
double plan_retry_s(double time_s, const struct spec *s,
		    const struct xport_ops *ops);

/** The same of a follow-up; NAN, too, where there will be none. */
double plan_follow_s(double time_s, const struct spec *s,
		     const struct xport_ops *ops);

/* ---- variant ------------------------------------------------------------- */

/**
 * Variants that one run compares: every algorithm with every protocol, library
 * and value. Each variant is an environment of its own workers, because NCCL
 * reads its environment once.
 */
#define VARIANTS_MAX 64

struct variant {
	char name[64];		/* what sets it apart from the others; "" */
	char algo[32], proto[16];	/* asked for, "" = NCCL's choice */
	char lib[160];		/* path, "" = the one that is found */
	json_t *env;		/* {NAME: value} */
};

/** Variable of the workers of --register=symmetric: "plain" or "symmetric". */
#define REGISTER_ENV "GPUCHECK_REGISTER"

/**
 * The variants of @s, in the order of the command line, into @v; returns how
 * many, -1 with @e (a word that no NCCL knows, a NAME that is none, too many).
 * variants_release() drops their env.
 */
int variants_make(const struct spec *s, struct variant v[VARIANTS_MAX],
		  struct err *e);
void variants_release(struct variant *v, int n);

/* ---- dispatch ------------------------------------------------------------ */

/**
 * Starts tasks when their resources are free: no barrier between rounds, so
 * one slow pair does not stall the rest.  A pure state machine: no clock, no
 * sockets; the caller says what became free and asks what may start.
 *
 * Resources: a rank is in one task at a time; under "nic" so is each NIC of an
 * inter-node task; under "serial" the whole machine.  The mates of a task are
 * taken as its ends are.  A rank that is not
 * ready (its worker is starting) keeps its tasks waiting.
 */
enum dispatch_rule { DISPATCH_NIC, DISPATCH_PARALLEL, DISPATCH_SERIAL };

struct dispatch;

/**
 * NULL when memory runs out.  @l is borrowed until dispatch_free() (safe on
 * NULL); ranks start as not ready.
 */
struct dispatch *dispatch_new(const struct layout *l, enum dispatch_rule rule);
void dispatch_free(struct dispatch *d);

/** Queue one task behind the others; 0, or -1 when memory runs out. */
int dispatch_add(struct dispatch *d, const struct task *t);

/** Says that @rank can (again) / cannot work. */
void dispatch_ready(struct dispatch *d, int rank, bool ready);

/** While it is @held, no task starts whose ends are on different leaves. */
void dispatch_hold(struct dispatch *d, bool held);

/**
 * The next task that may start now: its resources are taken.  Returns false
 * when none can.  The rank that has been free the longest goes first and takes
 * the oldest task that it can; the same calls give the same answers.  Cost:
 * one look at each rank that could be its peer now, few while many tasks wait.
 */
bool dispatch_next(struct dispatch *d, struct task *out);

/** Give back the resources of @t. */
void dispatch_done(struct dispatch *d, const struct task *t);

/**
 * Take the oldest queued task of @rank (-1: of anybody) out of the queue
 * without running it: for ranks that are retired and for the end of time.
 */
bool dispatch_drop(struct dispatch *d, int rank, struct task *out);

size_t dispatch_queued(const struct dispatch *d);
size_t dispatch_running(const struct dispatch *d);

/* ---- pace ---------------------------------------------------------------- */

/**
 * --rate-limit: no more than so many bytes a second, for the sake of those who
 * share the fabric.  What begins is paid for at once, and nothing else begins
 * until it is: in any t seconds no more is sent than the cap allows in t + 0.1,
 * and one test besides.  Pure; times in nanoseconds of one clock.
 */
struct pace {
	double bytes_s;		/* the cap; 0 = none */
	int64_t open_ns;	/* from then on all is paid for */
};

/** Sends may begin this much early, at ten per second or more. */
#define PACE_AHEAD_NS 100000000

/** How long nothing may begin from @now_ns on; 0 = it may now. */
int64_t pace_left_ns(const struct pace *p, int64_t now_ns);
static inline bool pace_is_open(const struct pace *p, int64_t now_ns)
{
	return pace_left_ns(p, now_ns) == 0;
}

/** @bytes are sent from @now_ns on; less than 0: so many that were paid for
 *  were not.  NAN counts for nothing. */
void pace_spend(struct pace *p, int64_t now_ns, double bytes);

/* ---- resume -------------------------------------------------------------- */

/**
 * Finds the tasks that the rows of a run that ended early leave to be done.
 * Pure: rows in, tasks out.
 *
 * A cell of a pass is done when its last attempt is good at the largest size
 * and bad at none; slow is good.  If the attempt was bad, or measured only
 * smaller sizes, the next attempt is due; if nothing was measured, the first.
 * Rows of attempts without a measurement (not_run, skipped) are replaced by the
 * new ones, so that no key occurs twice.  So are the rows of a follow-up, whose
 * questions depended on all rows at that time.
 */
struct resume {
	const struct grid *grid;	/* borrowed */
	int n_passes;
	char passes[PASS_MAX][16];	/* their names, as the rows have them */
	int64_t size_B;			/* the largest */
	struct resume_cell {
		uint16_t attempt;	/* last one that measured; 0 = none */
		uint8_t outcome;	/* of it: cells_decides() */
	} *cells;	/* of each pass those of the grid */
	size_t done;	/* cells, of all passes */
};

/** Attempts that can be counted; a cell with as many stays as it is. */
#define RESUME_ATTEMPTS 60000

/** @g is what has cells, borrowed.  0, or -1 without memory; resume_release()
 *  frees. */
int resume_init(struct resume *r, const struct grid *g, int n_passes,
		const char *const names[], int64_t size_B);
void resume_release(struct resume *r);	/* safe on a zeroed one */

/** Every row once, in the order of the file; what is no cell's is ignored. */
void resume_row(struct resume *r, const struct p2p_row *row);
/** Returns true if this row stays.  Call it after all rows were seen. */
bool resume_keeps(const struct resume *r, const struct p2p_row *row);

/**
 * Writes the tasks that are left of @t in pass number @pass to @out: its
 * directions that were never measured, or, if @tried, those that were.  Each
 * continues the count of its own attempts.  Returns how many tasks @out has;
 * their id is that of @t.
 */
int resume_left(const struct resume *r, int pass, const struct task *t,
		bool tried, struct task out[2]);

#endif
