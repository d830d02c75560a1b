/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_COLLECTIVE_H
#define PROBES_ENGINE_COORD_COLLECTIVE_H

#include "lib/base/clock.h"
#include "probes/collective/collective.h"
#include "probes/engine/coord/ranks.h"
#include "probes/plan/plan.h"
#include "probes/plan/retry.h"

/**
 * Work that many ranks do together; its state is that of these files only, from
 * below to above:
 *   collective_round.c    an order to every member, their answers, the members
 *                         to blame for a failure; fresh workers
 *   collective_rows.c     rows, run.json; repeats whose result is checked
 *   collective_bisect.c   which members, to find the smallest bad set, or the
 *                         slow one
 *   collective.c          which sizes; all answers are in, or late: next
 */
/** The answer of a member to the order of the round. */
struct member {
	int rank;
	bool in;
	bool absent;		/* nothing came before the deadline */
	bool culprit;		/* is to blame for the round */
	int64_t late_ns;	/* how long its agent had not run until then */
	struct collective_result r;
};

/** How a round ended. */
struct round_end {
	bool ok;
	enum outcome outcome;
	char code[48];
	char detail[400];
	int n_culprits;		/* members that are out from now on */
};

struct collective_work;

/** Callbacks of the code that drives the rounds. */
struct driver {
	/** The workers are there; choose members and call round_join(). */
	void (*ready)(struct collective_work *w);
	/** The round is over, but for tickets, which are joined by unless the
	 *  run is to stop; begin another or call coord_leave(). */
	void (*over)(struct collective_work *w, const struct round_end *end);
};

struct collective_work {
	struct ranks ranks; /* first */
	struct coord *c;
	const struct driver *driver;
	enum collective op;
	const struct dtype *dtype;
	const struct redop *redop;
	struct variant variants[VARIANTS_MAX];
	int n_variants, variant;
	int64_t sizes[SPEC_MAX_SIZES];
	int n_sizes;
	/* the members */
	struct member *members;
	int n_members;
	int *room, *set; /* for ranks, for parts: as many as there are */
	struct collective_act *acts;	/* of a drill, a member each */
	double slow_factor;
	int made; /* collectives so far */
	/* the round */
	bool opening;		/* workers start: no round yet */
	struct pace pace;	/* of what goes from node to node */
	bool paused;		/* a step waits until that is paid ... */
	int64_t step_ns;	/* ... and may take so long then */
	bool round, failing, cancelled;
	enum collective_do what;
	uint32_t next_id;
	int64_t id, deadline_ns, join_ns;
	int64_t start_ns, late_ns; /* c->late_ns then */
	struct collective_order order;	/* less what differs by member */
	/* the sweep */
	int size, inplace;
	bool calibrated;
	struct collective_samples samples;
	int64_t wrong;
	int64_t verified;	/* operations of the size, or of a bisection's
				 * set, whose result was checked */
	int64_t verified_wrong;	/* of these, at some rank */
	int64_t *bad_of;	/* of the same: by a member each */
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO], lib[160];
	char start_utc[CLOCK_UTC_SIZE];
	int failures;		/* in a row, with no member to blame */
	int64_t memory_B;	/* the largest size that fits everywhere */
	int bad_variant, bad_size, bad_inplace;	/* the first; -1; of those
						 * that are wrong now and then
						 * the cheapest to repeat */
	int64_t bad_verified, bad_wrong;	/* of that; 0 where it failed */
	double bad_one_us;	/* what one operation of it takes */
	/* the bisection */
	struct bisect *bisect;
	bool by_rank;		/* its parts are ranks, else nodes */
	int *parts, n_parts;	/* what they stand for */
	bool comparing;		/* nothing failed: looks for the slower half */
	int64_t repeats;	/* of a set, until it is taken for good; 0 =
				 * one operation tells */
	int half;
	int turned;		/* 1: the middle instead of the first part */
	bool across;		/* sets across the halves, instead of them */
	bool by_way;		/* the ways between three, instead of halves */
	int other;		/* a part that is not of the slower half; -1 */
	double busbw[BISECT_ACROSS];
	bool set_bad;		/* of the set at hand, by its first step */
	double set_busbw;
	int tests;
	json_t *found;		/* what it came to */
	json_t *notes;		/* sentences that the user should see */
};

/* collective_round.c */

extern const struct ranks_events round_events;
/** An answer in the place of the one that @rank still owes, if it does; @echo:
 *  it only waited in vain for another member. */
void round_answer(struct collective_work *w, int rank, enum outcome o,
		  bool echo, const char *code, const char *detail);
/** Why the round failed, into @end; those to blame are out.  Nobody is where
 *  all say the same, or did not get to run: OUTCOME_NOT_RUN. */
void round_blame(struct collective_work *w, struct round_end *end);
/** Members are @n of @ranks (rising): order the lead to make a ticket, and all
 *  to join by it within @join_ns, with memory for @size_B. */
void round_join(struct collective_work *w, const int *ranks, int n,
		int64_t size_B, int64_t join_ns);
/** An order to all; the fields that all share are in w->order. */
#define ROUND_LEAVE_NS (5 * NS_PER_S)
void round_order(struct collective_work *w, enum collective_do what,
		 int64_t budget_ns);
/** Order @samples of @batch operations each of the size at hand, one of which
 *  takes about @one_us; the @first ones warm up and are checked; @held: they
 *  begin together. */
void round_measure(struct collective_work *w, int samples, int batch,
		   bool first, bool held, double one_us);
/** Begin the step that is paused, if it may begin now; a run that is to stop
 *  goes on without. */
void round_go_on(struct collective_work *w);
/** Tells all members that have not answered to cancel, and starts a new
 *  deadline for them. */
void round_call_off(struct collective_work *w);
/** Fresh workers with the environment of the variant at hand; ready() will
 *  follow. */
void round_renew(struct collective_work *w);
/** Nodes of the members. */
int round_nodes(const struct collective_work *w);
/** Returns the time limit of one size in ns: --test-timeout, or the default. */
int64_t round_step_ns(const struct collective_work *w);
/** The same, of operations that take about @about_us microseconds in all. */
int64_t round_patient_ns(const struct collective_work *w, double about_us);
/** Adds a note to run.json, unless it has it already. */
void collective_note(struct collective_work *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* collective_rows.c */

/** Order the next of @wanted checked operations of the size at hand, of which
 *  one takes about w->samples.one_us; false: all have been, or the result in
 *  place is not known. */
bool verify_next(struct collective_work *w, int64_t wanted);
/** Take in what the members say of those of the round. */
void verify_over(struct collective_work *w);
/** Resets the counts of checked operations, for a new size or set of
 *  members. */
void verify_begin(struct collective_work *w);
/** The operation of the round that was checked before samples counts, too. */
void verify_checked(struct collective_work *w);
/** Remember the size at hand for the bisection: @failed, or wrong at the rate
 *  that was seen. */
void verify_note_bad(struct collective_work *w, bool failed);
/** How often each set of a bisection is to be repeated, into w->repeats; false:
 *  too often, as a note says. */
bool verify_can_narrow(struct collective_work *w);

/** Returns true if size number @i has at least one element for each of @ranks
 *  and fits into the memory. */
bool collective_measures(const struct collective_work *w, int i, int ranks);
/** The row of the size at hand: what was measured, or why nothing was. */
void collective_write_row(struct collective_work *w);
void collective_write_failed(struct collective_work *w, enum outcome o,
			     const char *code, const char *detail);
/** Rows of all sizes of the variant that are left. */
void collective_write_rest(struct collective_work *w, enum outcome o,
			   const char *code, const char *detail);
void collective_put_plan(void *work, json_t *run);

/* collective_bisect.c */

/** After the sizes: begin, or leave where there is nothing to look for. */
void bisection_start(struct collective_work *w);

#endif
