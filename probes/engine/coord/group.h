/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_GROUP_H
#define PROBES_ENGINE_COORD_GROUP_H

#include "lib/base/clock.h"
#include "probes/plan/bisect.h"
#include "probes/collective/drill.h"
#include "probes/collective/order.h"
#include "probes/engine/coord/coordinator.h"
#include "probes/plan/variant.h"

/**
 * Work that many ranks do together, shared by its files only:
 *   group.c         rounds: an order to every member, all answers, next
 *   group_answers.c what members say, and who goes
 *   group_blame.c   who is to blame for a round that failed
 *   group_sweep.c   which sizes, when one is measured enough
 *   group_bisect.c  which members, to find the smallest bad set
 *   group_compare.c the same, to find the slow one
 *   group_rows.c    rows, run.json
 */
/** What a member has said to the order of the round. */
struct member {
	int rank;
	bool in;
	bool absent;		/* nothing came before the deadline */
	struct coll_result r;
};

/** How a round ended. */
struct group_end {
	bool ok;
	enum outcome outcome;
	char code[48];
	char detail[400];
	int n_culprits;		/* members that are out from now on */
};

/** Who drives the rounds. */
struct group_driver {
	/** The workers are there; choose members and call group_join(). */
	void (*ready)(struct coord *c);
	/** The round is over; begin another or call coord_leave(). */
	void (*over)(struct coord *c, const struct group_end *end);
};

extern const struct group_driver group_sweep, group_bisect;

struct group {
	const struct group_driver *driver;
	enum collective op;
	const struct coll_dtype *dtype;
	const struct coll_redop *redop;
	struct variant variants[VARIANTS_MAX];
	int n_variants, variant;
	int64_t sizes[GROUP_SIZES];
	int n_sizes;
	/* who is in it */
	struct member *members;
	int n_members;
	struct coll_act *acts;	/* of a drill, a member each */
	double slow_factor;
	int made;		/* groups so far */
	/* the round */
	bool opening;		/* workers start: no round yet */
	bool round, failing, cancelled;
	enum coll_do what;
	int64_t id, deadline_ns;
	struct coll_order order;	/* less what differs by member */
	/* the sweep */
	int size, inplace;
	bool calibrated;
	struct coll_samples samples;
	int64_t wrong;
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO], lib[160];
	char start_utc[CLOCK_UTC_SIZE];
	int failures;		/* one after the other, nobody to blame */
	int64_t memory_B;	/* the largest size that fits everywhere */
	int bad_variant, bad_size, bad_inplace;	/* the first; -1 */
	/* the bisection */
	struct bisect *bisect;
	bool by_rank;		/* its parts are ranks, else nodes */
	int *parts, n_parts;	/* what they stand for */
	bool comparing;		/* nothing failed: which half is slower? */
	int half;
	int turned;		/* 1: the middle instead of the first part */
	bool across;		/* sets across the halves, instead of them */
	bool by_way;		/* the ways between three, instead of halves */
	int other;		/* a part that is not of the slower half; -1 */
	double busbw[BISECT_ACROSS];
	int tests;
	json_t *found;		/* what it came to */
	json_t *notes;		/* sentences that the user should see */
};

/* group.c */

/** Members are @n of @ranks (rising); order the lead to make a ticket. */
void group_join(struct coord *c, const int *ranks, int n);
/** An order to all; the fields that all share are in g->order. */
void group_order(struct coord *c, enum coll_do what, int64_t budget_ns);
/** Fresh workers with the environment of the variant at hand; ready() will
 *  follow. */
void group_renew(struct coord *c);
/** All ranks that can work, rising, into @ranks; returns how many. */
int group_able(const struct coord *c, int *ranks);
/** What one size may take: --timeout, or a default. */
int64_t group_step_ns(const struct coord *c);
/** The same, of operations that take about @about_us microseconds in all. */
int64_t group_patient_ns(const struct coord *c, double about_us);
/** Tell who reads run.json, once. */
void group_note(struct coord *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Is there something to do?  Call after anything that may have changed. */
void group_pump(struct coord *c);

/* group_answers.c */

void group_message(struct coord *c, struct coord_agent *a, json_t *msg);
void group_agent_lost(struct coord *c, struct coord_agent *a,
		      const char *detail);
/** An answer in the place of one that @m cannot give; @echo: it only waited in
 *  vain for somebody. */
void group_member_says(struct coord *c, struct member *m, enum outcome o,
		       bool echo, const char *code, const char *detail);

/* group_blame.c */

/** Why the round failed, into @end; those to blame are out.  Nobody is where
 *  all say the same. */
void group_blame(struct coord *c, struct group_end *end);

/* group_rows.c */

/** The row of the size at hand: @end failed, or what was measured. */
void group_write_row(struct coord *c, const struct group_end *end);
/** Rows of all sizes of the variant that are left. */
void group_write_rest(struct coord *c, enum outcome o, const char *code,
		      const char *detail);
void group_put_plan(struct coord *c);

/* group_sweep.c */

int group_nodes(const struct coord *c);
/** How many rows the whole sweep will have. */
size_t group_rows(const struct coord *c);

/* group_bisect.c */

/** After the sweep: begin, or leave where there is nothing to look for. */
void group_bisect_start(struct coord *c);
/** Test the set of @n of g->parts. */
void group_bisect_join(struct coord *c, const int *parts, int n);
/** @n parts are it (0: none is), as far as is known now. */
void group_bisect_found(struct coord *c, const int *parts, int n);
/** One node of several is named: which of its ranks?  g->parts are these then;
 *  false where there is no more to say. */
bool group_bisect_inside(struct coord *c, const int *parts, int n);
/** What was found last is the answer. */
void group_bisect_leave(struct coord *c);

/* group_compare.c */

/** The next set to be measured, by the bandwidths of those before it. */
void group_compare_next(struct coord *c);

#endif
