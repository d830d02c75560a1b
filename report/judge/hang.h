/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of hang. */
#ifndef REPORT_JUDGE_HANG_H
#define REPORT_JUDGE_HANG_H

#include "lib/data/record_rows.h"
#include "report/judge/verdict.h"

/* ---- hang ---------------------------------------------------------------- */

/** The rows of a run of hang. */
struct hang_rows {
	struct hang_row *list;	/* of processes */
	size_t n;
	struct hang_row *silent;	/* of nodes that did not answer */
	size_t n_silent;
};

/**
 * Finds the rank that the others wait for.  Pure: it compares the state of each
 * process, the collectives that each rank of a communicator has begun, and what
 * the ranks do meanwhile.  A cell is a process: good if it makes progress, or
 * waits for a rank that is named; not run if the evidence names no rank.  A
 * live process is never named for one symptom alone: it is behind in a
 * communicator without progress, or idle while the others spin.  Returns 0, or
 * -1 without memory.
 */
int hang_judge(const struct run *run, const struct hang_rows *rows,
	       struct verdict *v);

/**
 * Handles rows without a state, of processes at an address that NCCL misses and
 * no node has looked at: a process that its node does not have is gone; the
 * other rows are dropped, since nothing is known of them or another row has
 * them.
 */
void hang_find_far(const struct run *run, struct hang_rows *rows);
/** Returns true if the job makes progress: a rank has begun a collective while
 *  it was watched. */
bool hang_goes_on(const struct hang_rows *rows);
/** Returns true if NCCL has reported for at least one rank which collectives it
 *  has begun. */
bool hang_is_heard(const struct hang_rows *rows);

/* ---- hang seat ----------------------------------------------------------- */

/** Kinds of collectives that RAS counts: five by 2.28. */
#define CALLS_MAX 16

/** A row, and its meaning. */
struct seat {
	const struct hang_row *row;
	/* collectives that it has begun, by their kind, and all together */
	int64_t now[CALLS_MAX], then[CALLS_MAX], total, total_then;
	size_t process;		/* number of the first row of its process */
	size_t comm;		/* of h->comms; NO_COMM: NCCL says nothing */
	bool behind;		/* of another rank of its communicator */
	bool odd;		/* each has begun what the others have not */
	bool named;
	/* of a process: in any communicator it ... */
	bool victim;		/* ... waits for one that is behind */
	bool moves;		/* ... has begun another collective meanwhile */
	bool pair;		/* ... of two ranks sends and receives */
};

#define NO_COMM SIZE_MAX

/** A communicator. */
struct comm {
	size_t *seats, n;	/* in the order of the rows */
	bool goes_on;		/* a rank has begun another one meanwhile */
	size_t told;		/* ranks that know what they have begun */
	size_t behind;
	size_t wait;		/* with known calls, not behind, and possibly
				 * waiting: their GPUs do not compute */
};

struct hang {
	const struct run *run;
	const struct hang_rows *rows;
	struct verdict *v;
	struct seat *seats;
	struct comm *comms;	/* n_comms; their seats are parts of places */
	size_t n_comms, *places;
	char names[CALLS_MAX][32];
	int n_names;
};

/** Returns true if NCCL has reported the collectives of this rank. */
bool hang_is_told(const struct hang_row *r);
/** Makes the seats and communicators of the rows, and marks ranks that are
 *  behind, that differ, or that wait.  Returns false without memory;
 *  hang_seats_free() frees in both cases. */
bool hang_seats_make(struct hang *h);
void hang_seats_free(struct hang *h);

/** Returns true if the GPU of @r does more than wait in NCCL; false if that is
 *  not known. */
bool hang_computes(const struct hang_row *r);
/** Returns true if the GPU of @r runs next to nothing all the time; false if
 *  that is not known. */
bool hang_gpu_rests(const struct hang_row *r);
/** Returns the only process whose GPU does something else than those of all
 *  others, which wait; NULL if there is none or it is not certain.  Sets *@code
 *  and *@says for the finding. */
struct seat *hang_odd_gpu(struct hang *h, const char **code,
			  const char **says);
/** Returns true if all ranks wait in NCCL, as far as their GPUs show, and no
 *  communicator has a rank that is behind. */
bool hang_all_wait(const struct hang *h);
/** Percent of the time: a GPU that runs something, at least; one that runs next
 *  to nothing, at most. */
#define HANG_BUSY_PCT 90
#define HANG_REST_PCT 10
/** Returns true if each GPU of the job runs from @least to @most percent of the
 *  time; false if that of one is not known. */
bool hang_gpus_between(const struct hang *h, double least, double most);

/** Evidence from the nodes, in addition to that from the ranks. */

/** Returns the code of the reason why the rank of @r has ended, or keeps the
 *  others waiting, as its node reports it, with the text in *@says; NULL if the
 *  node reports none. */
const char *hang_host_cause(const struct hang *h, const struct hang_row *r,
			    const char **says);
/** All that the node of @r says that may have to do with it. */
void hang_host_evidence(const struct hang *h, const struct hang_row *r,
			struct finding *f);
/** Adds how much data the ports of a job on several nodes have moved meanwhile
 *  as evidence to @f.  Returns a conclusion for the sentence, "; ..." or "". */
const char *hang_moved_text(struct hang *h, struct finding *f);
/** If all ranks wait: adds findings about GPUs and ports that their nodes
 *  report as faulty; warnings for reports from long ago.  Returns how many are
 *  named. */
size_t hang_host_findings(struct hang *h);

#endif
