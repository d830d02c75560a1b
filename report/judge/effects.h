/* SPDX-License-Identifier: BSD-3-Clause */
/* Small effects: parts that are slightly worse than their peers. */
#ifndef REPORT_JUDGE_EFFECTS_H
#define REPORT_JUDGE_EFFECTS_H

#include <stddef.h>
#include <stdint.h>

#include "report/judge/findings.h"
#include "report/model/part.h"

/* ---- effects ------------------------------------------------------------- */

/**
 * Finds nodes, NICs and GPUs that are slightly worse than their peers, each
 * judged by all of its tests at once.  Pure.
 *
 * The logarithm of a measured value is the sum of the effect of its sender, the
 * effect of its receiver, the usual value of its kind (for HCA ports also of
 * their rate), and noise.  A median polish (J.  Tukey, Exploratory Data
 * Analysis, 1977) of the means of each rank with each partner node separates
 * the ends.  A part is compared with those of its index on the other nodes: an
 * index that is worse on all of them is so by design.  The effect of a part is
 * the mean of the middle half of its partner nodes.  Its error comes from a
 * jackknife that leaves out one partner at a time (R.  Miller, Biometrika 61,
 * 1974), but is never less than that usual for its peers; the difference
 * between healthy parts is included.  The intervals are corrected for all parts
 * and directions (S.  Holm, Scand.  J.  Statist. 6, 1979), so that one run of a
 * hundred names any part by chance.  Bandwidth is that of the narrowest part,
 * so a slow node hides the effects of its partners: nodes that were found no
 * longer count, and the search continues.
 *
 * In a sample of the pairs a rank has one or two tests with a partner node, and
 * most ranks have another partner: the usual value is that of all tests of the
 * same type, and paths between nodes are not judged.
 */

/** Cells that do not count, as bits of enum explained.  Cells that failed first
 *  and passed later do count. */
#define EFFECTS_SKIP (EXPLAINED | COVERED)

enum effects_of { EFFECTS_BANDWIDTH, EFFECTS_LATENCY };

struct effect {
	struct part part;	/* GPU, NIC or node, and direction; what several
				 * NICs have in common */
	struct part also;	/* explains the same; its kind is that of
				 * part if there is none */
	/* of what its peers reach: 0.92 of the bandwidth, 1.4 times the
	 * latency; logarithms, below 0 = worse, while they are searched for */
	double ratio;
	double low, high;	/* the corrected interval of that */
	double bound;		/* it is worse than this: the same for a single
				 * part that was not selected from many, wrong
				 * once in a hundred */
	size_t tests;		/* of it that count */
	size_t partners;	/* nodes that these were with, or */
	bool inside;		/* GPUs of its node */
};

struct effects {
	struct effect *list;	/* nodes first */
	size_t n;
};

/**
 * The parts of @run that are worse by @least: 0.03 is 3 % less bandwidth, or
 * 3 % more latency; the whole interval must be worse than their peers.  Cells
 * with a bit of EFFECTS_SKIP in @skip, or that failed, do not count.  0, or -1
 * when memory runs out; effects_release() frees.
 */
int effects_find(const struct run *run, const uint8_t *skip,
		 enum effects_of of, double least, struct effects *out);
void effects_release(struct effects *e);

/* ---- effect confirm ------------------------------------------------------ */

/**
 * The worst of many parts looks worse than it is, because it was selected for
 * that.  So the main pass selects parts, and only tests of the follow-up, with
 * other partners at another time, confirm them (report/model/follow.h).  Pure.
 *
 * The median of these tests is compared with that of control tests, which touch
 * no selected part.
 */

/** Minimum tests of a part, and controls of the same path, to confirm it or
 *  not.  A follow-up should plan that many. */
#define EFFECT_CONFIRM_TESTS 6

/** Share of an effect that the follow-up must measure again to confirm it;
 *  below EFFECT_GONE there is no effect. */
#define EFFECT_AGAIN 0.5
#define EFFECT_GONE  0.25

/* ---- effect table -------------------------------------------------------- */

/** As sender, as receiver, or the mean of both. */
enum { TX, RX, BOTH, WAYS };

/** Rates that ports have; more are compared as one. */
#define EFFECT_SPEEDS 8

/** State of the search for effects. */
struct effect_work {
	const struct run *run;
	const uint8_t *skip;	/* or NULL */
	enum effects_of of;
	/* Usual values, as logarithms, by the rate of a pair of ports: pairs
	 * are compared with those of the same rate.  GPUs have a single,
	 * unknown rate. */
	double speed_GB_s[EFFECT_SPEEDS];	/* of the slower port; 0: not
						 * known */
	double speed_usual[EFFECT_SPEEDS][PATH_CLASSES];
	size_t n_speeds;
	/* The table: values of each rank, as sender and as receiver, with each
	 * partner node: means of logarithms, above 0 = better; NAN without
	 * any. */
	size_t width;		/* partner nodes; of a sample partners, another
				 * one in a column for each rank */
	float *means[2];	/* ranks x width */
	float *inside[2];	/* with the other GPUs of its node, a rank */
	uint32_t *tests[2];	/* with other nodes, a rank */
	double far[2];		/* usual difference between leaf switches and
				 * on one; 0: not known */
	bool crossed;		/* rails were tested with each other: else one
				 * test is all that two ranks have, so that a
				 * bad partner counts for more */
	size_t nodes, ranks;
	double *room;		/* for two values of each rank and one of each
				 * node */
	bool *aside[2];		/* nodes that were found to be worse, as senders
				 * and as receivers: a test is as good as its
				 * worse end, so that they hide the other */
	double least;		/* logarithm */
	bool sample;		/* few pairs of many were measured */
	struct effects out;
};

/** Fills the empty table of @w from the cells of w->run that count, each
 *  relative to its class and index.  Returns 0, or -1 when memory runs out.
 *  effect_table_release() frees in both cases. */
int effect_table_make(struct effect_work *w);
/** Frees and empties the table. */
void effect_table_release(struct effect_work *w);
/** Subtracts from the values inside nodes the median of each node, then that of
 *  each GPU index. */
void effect_table_level_inside(const struct effect_work *w);

/** Returns the logarithm of the value of cell @at relative to the usual one for
 *  its rate, above 0 = better; NAN if the cell does not count. */
float effect_log(const struct effect_work *w, size_t at);
/** Learns the rates of w->run: 0, or -1 when memory runs out. */
int effect_speeds_learn(struct effect_work *w);
/** Copies the known ones of @n values, @step apart, to @room; returns how many
 *  there are. */
size_t effect_known(const float *v, size_t n, size_t step, double *room);
/** Returns the value of one direction, or the mean of both. */
static inline double effect_of_way(double tx, double rx, int way)
{
	return way == TX ? tx : way == RX ? rx : (tx + rx) / 2;
}
/** Returns the median of the known ones of @n values, @step apart; 0 without
 *  any. */
double effect_median(const struct effect_work *w, const float *v, size_t n,
		     size_t step);
/** Lower @n values, @step apart, by @by. */
void effect_lower(float *v, size_t n, size_t step, double by);

/* ---- effect peers -------------------------------------------------------- */

/** Parts of one kind that are compared by their samples with each partner
 *  node. */
struct effect_peers {
	size_t n, width;	/* parts, partner nodes */
	bool inside;		/* partners are GPUs of its node */
	float *samples[2];	/* n x width, as in a table */
	double *mean[WAYS], *error[WAYS];
	double usual[WAYS];	/* error */
	double between[WAYS];	/* deviation of the parts themselves */
};

/** Room for samples, to be filled; 0, or -1 when memory runs out.
 *  effect_peers_release() frees, also then. */
int effect_peers_init(struct effect_peers *x, size_t n, size_t width);
void effect_peers_release(struct effect_peers *x);
/** The means of all parts from their samples, and how far they are from each
 *  other by nature. */
void effect_peers_learn(const struct effect_work *w, struct effect_peers *x);
/** Returns the share of a normal distribution above @z deviations. */
double effect_tail(double z);
/** How many deviations have @tail above them. */
double effect_deviations(double tail);

/* ---- effect found -------------------------------------------------------- */

/** Fewer parts have no peers. */
#define EFFECT_LEAST_PEERS 4

/** Returns the direction in which part @i of @x is worse: both, or one if the
 *  other is less than half as bad; effect_direction() is that of parts. */
int effect_way(const struct effect_peers *x, size_t i);
enum part_direction effect_direction(int way);
/** Returns true if part @i of @x is worse by the confidence @z, with all but
 *  the part and its tests in @e. */
bool effect_is_worse(const struct effect_work *w, const struct effect_peers *x,
		     size_t i, int way, double z, struct effect *e);
/** Returns true if @p is one of the parts found so far. */
bool effect_is_in(const struct effect_work *w, const struct part *p);
/** Adds @p, or @also if given, with the effect @e of @tests. */
int effect_add(struct effect_work *w, const struct part *p,
	       const struct part *also, const struct effect *e, size_t tests);

/* ---- effect parts -------------------------------------------------------- */

/** Each adds the worse parts to w->out, if their whole interval of @z
 *  deviations is worse; 0, or -1 when memory runs out. */

/** Learns the tests inside nodes: those of each GPU with each other one in
 *  @gpus, and those of a node together in @nodes.  Returns 0, or -1 when memory
 *  runs out; effect_peers_release() frees, also then. */
int effect_inside_learn(const struct effect_work *w, struct effect_peers *gpus,
			struct effect_peers *nodes);
/** Returns true if node @n is worse inside by the confidence @z, and most of
 *  its pairs are: a single bad GPU or a short disturbance affects only some of
 *  them. */
bool effect_inside_is_worse(const struct effect_work *w,
			    const struct effect_peers *gpus,
			    const struct effect_peers *nodes, size_t n,
			    double z, struct effect *e);
/** NVLinks of GPUs: what they do inside their node. */
int effect_find_nvlinks(struct effect_work *w, double z);

/** Paths between two leaf switches, all or those on one link. */
int effect_find_paths(struct effect_work *w, double z);

#endif
