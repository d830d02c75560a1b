/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_PAIRS_H
#define PROBES_ENGINE_COORD_PAIRS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/data/cells.h"
#include "probes/engine/coord/ranks.h"
#include "probes/plan/ask.h"
#include "probes/plan/plan.h"
#include "probes/plan/retry.h"
#include "probes/transport/order.h"

/* ---- opinion ------------------------------------------------------------- */

/**
 * The verdict so far.  Who measures knows nothing of verdicts: a process of its
 * own, "gpucheck judge DIR", reads the files of the run and prints it, so that
 * neither its time nor a fault of it is ours.
 */
struct opinion;

/* ---- follow time --------------------------------------------------------- */

/**
 * The time of a follow-up: that of its tests has a deadline, in which looks at
 * the verdict do not count, for these take seconds each of a fleet.  They have
 * a minute of their own, all together.  Pure.
 */
struct follow {
	struct pass pass;
	struct ask_plan ask;
	struct opinion *opinion; /* the verdict that is awaited, or was heard */
	bool heard;
	bool over;		/* or there will be none */
	int round;
	size_t tests;		/* ordered, of all rounds */
	int64_t deadline_ns;
	int64_t asked_ns;	/* when the look that goes on began; 0: none */
	int64_t looks_ns;	/* of those before it, that did not count */
};

#define FOLLOW_LOOKS_NS (60 * NS_PER_S)

/** Returns how much of the current look, in ns at @now_ns, is not charged to
 *  the time of the follow-up. */
static inline int64_t follow_time_look(const struct follow *f,
				       int64_t now_ns)
{
	const int64_t look_ns = f->asked_ns ? now_ns - f->asked_ns : 0;
	const int64_t left_ns = FOLLOW_LOOKS_NS - f->looks_ns;

	return look_ns < left_ns ? look_ns : left_ns;
}

/** Returns true if the time of the follow-up is over at @now_ns. */
static inline bool follow_time_over(const struct follow *f, int64_t now_ns)
{
	return now_ns > f->deadline_ns + follow_time_look(f, now_ns);
}

/** A look begins at @now_ns. */
static inline void follow_time_ask(struct follow *f, int64_t now_ns)
{
	f->asked_ns = now_ns;
}

/** It has ended; the run has to by @end_ns. */
static inline void follow_time_hear(struct follow *f, int64_t now_ns,
				    int64_t end_ns)
{
	const int64_t look_ns = follow_time_look(f, now_ns);

	f->looks_ns += look_ns;
	f->deadline_ns += look_ns;
	f->asked_ns = 0;
	if (f->deadline_ns > end_ns) {
		f->deadline_ns = end_ns;
	}
}

/* ---- pairs --------------------------------------------------------------- */

/**
 * Work that is tasks between two ranks; its state is that of these files only,
 * from below to above:
 *   pair_queue.c    tasks that wait or run, orders to their ends and ranks
 *                   that relay; what both ends say becomes one row
 *   pair_task.c     a task joins, begins, ends, is late; what is heard of it
 *   pair_pass.c     one walk over all pairs after the other
 *   pairs.c         the plan, the files, what is next: second attempts, and
 *                   what is asked again at the end
 */

/** The report of one end of a running task. */
struct active_end {
	bool in;
	bool died; /* or was lost */
	bool cut;  /* had not reported when the end of the run cut it short */
	int64_t late_ns; /* how long its worker had no CPU */
	int n;
	struct order_result *results;
	struct xport_result otherwise; /* of all other cells: how it died */
};

enum active_stage {
	ACTIVE_JOINING, /* both ends become a pair, ahead of time */
	ACTIVE_READY,	/* joined, in the dispatch queue */
	ACTIVE_RUNNING, /* has its ranks for itself */
};

struct active {
	enum active_stage stage;
	bool joined[2];
	struct task task;
	char nonce[33];
	int64_t start_ns, deadline_ns;
	int64_t late_ns; /* rows_late_ns() then */
	char start_utc[32];
	double paid_B;		   /* to the pace */
	bool cancelled;
	bool refused;		   /* an end had no worker: still owed */
	struct active_end ends[2]; /* of task.a and task.b */
	struct active *next, **at; /* list of all */
	struct active *same;	   /* with others in its place of by_id */
};

enum pairs_stage {
	PAIRS_FIRST,
	PAIRS_RETRY,	/* second attempts */
	PAIRS_FOLLOW,	/* what these leave open is asked again */
	PAIRS_CONTRAST, /* passes after the first: no second attempts */
};

struct pairs_work {
	struct ranks ranks; /* first */
	struct coord *c;
	enum pairs_stage stage;
	struct pairs pairs;
	int unrouted;	    /* nodes by whose routes rails are apart */
	struct plan plan;
	struct pass passes[PASS_MAX];
	int n_passes, pass; /* all, and the number of the one under way */
	bool confirms;	    /* then failed tests are repeated with failover */
	struct order_how how; /* of all tasks */
	struct follow follow;
	struct resume left; /* by an earlier part of the run */
	bool fits;	    /* that can be gone on with */
	size_t looked_at;   /* of its rows */
	json_t *env;	    /* that workers set, for --nccl-lib */
	json_t *settings;   /* of the workers of the first pass, once they
			     * have given way to others */
	struct dispatch *dispatch; /* tasks that may run */
	struct dispatch *waiting;  /* tasks to be joined ahead of time;
				    * NULL: the transport cannot */
	struct pace pace;	/* of what goes from leaf to leaf */
	size_t n_joining;
	int64_t wave_ns;	 /* when the last joins were started */
	struct grid grid;	 /* what has a cell */
	struct cell *cells;	 /* grid.n, and one of the others */
	struct active *active;	 /* all */
	struct active **by_id;	 /* the same, by the number of their task */
	size_t n_by_id;		 /* places: a power of two */
	struct active **at_work; /* a rank: the running one */
	struct convict *convict; /* what fails every time, in this pass */
	uint32_t next_id;
	int64_t start_ns, retry_ns;
	bool asked; /* the agents for their last words */
	int64_t ask_deadline_ns;
};

/* Workers watch their deadline, agents the workers, we the agents. */
#define TASK_GRACE_NS (5 * NS_PER_S)

static inline struct cell *pairs_cell(struct pairs_work *w, int src, int dst)
{
	return &w->cells[grid_at(&w->grid, src, dst)];
}

static inline const struct pass *pairs_pass(const struct pairs_work *w)
{
	return w->stage == PAIRS_FOLLOW ? &w->follow.pass : &w->passes[w->pass];
}

/** The rank at end @end of @a. */
static inline int active_rank(const struct active *a, int end)
{
	return end == 0 ? a->task.a : a->task.b;
}

/* pair_queue.c */

/** Directions (TASK_AB, TASK_BA) of a task that has ended about which its ends
 *  have said enough; the others are still owed. */
uint8_t rows_dirs_known(const struct active *a);
/** Returns the result of @end for direction @dir at @size; if it has none of
 *  its own, the result for all other cells, end->otherwise. */
const struct xport_result *rows_result(const struct active_end *end, int dir,
				       int64_t size);
/** Write a row for each of @flows, NULL: none, of order_flow_fields, that @end
 *  has reported. */
void rows_flows(struct pairs_work *w, const struct active *a, int end,
		const json_t *flows);
/** Merge both ends' reports on direction @dir (0 a to b, 1 b to a) at @size
 *  into a row. */
void rows_finish_cell(struct pairs_work *w, struct active *a, int dir,
		      int64_t size);
/** How long the coordinator and the agents of the test have not run, in
 *  all. */
int64_t rows_late_ns(const struct pairs_work *w, const struct active *a);
/** @row is on disk; remember what it means for its cell. */
void rows_note(struct pairs_work *w, const struct p2p_row *row);
/** Empties the queue of @rank, -1: of all, with rows "not run" or "skipped";
 *  second attempts leave no row. */
void rows_drop_queue(struct pairs_work *w, int rank, enum outcome o,
		     const char *code, const char *detail);
/** Empties all queues because the run was stopped. */
void rows_drop_stopped(struct pairs_work *w);

/* pair_queue.c */

/** Queue a task for the first time or again; 0, or -1 without memory. */
int queue_add(struct pairs_work *w, const struct task *t);
/** The same, of one that gets a number of its own. */
int queue_new(struct pairs_work *w, struct task t);
/** Tasks in any queue. */
size_t queue_size(const struct pairs_work *w);
/** Says to every queue that @rank can (again) / cannot work. */
void queue_ready(struct pairs_work *w, int rank, bool ready);
/** Returns the active task number @id; NULL if there is none. */
struct active *active_find(const struct pairs_work *w, int64_t id);
/** A task that is about to start; NULL without memory. */
struct active *active_new(struct pairs_work *w, const struct task *t);
void active_free(struct pairs_work *w, struct active *a);
/** Its order to both ends, to join only or to go through with it @now. */
void active_orders(struct pairs_work *w, const struct active *a, bool now);
/** Tells both ends and the ranks that relay to give up. */
void active_cancel(struct pairs_work *w, const struct active *a);
/** Tells both ends of @a, which have joined, to measure. */
void active_go(struct pairs_work *w, const struct active *a);

/* pair_task.c */

/** Lets the pairs of the next rounds join. */
void join_wave(struct pairs_work *w);
/** Returns true if joined tasks may run now: no pair is joining, or the current
 *  wave of joins takes too long. */
bool join_quiet(const struct pairs_work *w);
/** Forget what was joined ahead of time with @rank (-1: all); still owed. */
void join_undo(struct pairs_work *w, int rank);

/* pair_queue.c */

/** The directions of @t that will fail as well, as a part of them has failed
 *  every time; with @whole none unless it is all.  Their rows are written. */
uint8_t relay_in_vain(struct pairs_work *w, const struct task *t, bool whole);
/** With PXN, give @t the ranks that relay for it.  False: one that it needs
 *  does not work, and its rows are written. */
bool relay_admit(struct pairs_work *w, struct task *t);
/** The task number @id, or any for -1, that @rank relays for; NULL. */
struct active *relay_find(const struct pairs_work *w, int rank, int64_t id);
/** Returns true if @rank relays for @t. */
bool relay_is_mate(const struct task *t, int rank);
/** Tells all ranks that relay for @a that it is over. */
void relay_end(struct pairs_work *w, const struct active *a);

/* pair_task.c */

extern const struct ranks_events task_events;
/** Starts @next, whose ranks and NICs are free. */
void task_start(struct pairs_work *w, const struct task *next);
/** Ends running tasks that are past their deadline. */
void task_tick(struct pairs_work *w, int64_t now_ns);
/** Ask the ends of every running task to give up. */
void task_cancel_all(void *work);

/* pair_pass.c */

/** Read what is measured and keep that, and nothing else, in results.csv, where
 *  an earlier part of the run has left some; -1 with @e. */
int pass_resume(struct pairs_work *w, struct err *e);
/** Queue all tasks of the plan for the pass under way; -1 with @e. */
int pass_open(struct pairs_work *w, struct err *e);
/** Let the ranks that can work work, skip what the others have queued. */
void pass_settle_ranks(struct pairs_work *w);
/** Returns true if another pass follows. */
bool pass_more(struct pairs_work *w);
/** Begins the next pass.  All ranks must be settled, and nothing be queued. */
void pass_next(struct pairs_work *w);

#endif
