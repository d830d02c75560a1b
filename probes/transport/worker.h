/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_WORKER_H
#define PROBES_TRANSPORT_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"

/** What outlives a worker that crashes or hangs: memory shared with the agent
 *  that started it. */
struct worker_note {
	char step[256];		/* what is being done */
	int64_t peer, attempt;	/* of the pair at hand */
	int64_t log_from;	/* where the log begins to be about it */
};

/**
 * The process that a transport works in, as far as a transport may ask of it.
 * Whoever runs transports fills it in; a transport keeps the pointer.
 */
struct worker {
	struct worker_note *note;
	const char *log;	/* file for the log of the task at hand, "" when
				 * not wanted */
	int log_fd;		/* what a library logs, -1 where no agent holds
				 * such a file */
	json_t *facts;		/* of worker_fact(), not yet reported; NULL:
				 * none */
	/**
	 * Wait for the data connection whose opener named @nonce; the agent
	 * owns the listening socket, has it prove itself and passes the
	 * connection on.  Returns a non-blocking fd (caller closes), or -1
	 * with @e: ETIMEDOUT, ECANCELED when the coordinator called the task
	 * off.
	 */
	int (*conn)(struct worker *w, const char *nonce, int64_t deadline_ns,
		    struct err *e);
	/** Connect to a peer's agent at @addr for the task @nonce; both prove
	 *  that they are of this run.  A non-blocking fd (caller closes), or
	 *  -1 with @e. */
	int (*dial)(struct worker *w, const char *addr, const char *nonce,
		    int64_t deadline_ns, struct err *e);
	/** worker_cancelled() */
	bool (*cancelled)(struct worker *w);
};

/** Note what is being done now ("ncclCommInitRankConfig with rank 9"), for the
 *  agent to read when the worker crashes or hangs.  Cheap. */
void worker_step(struct worker *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** One more line of facts.csv, found out while measuring; it goes with the next
 *  report.  As facts_add() has it. */
void worker_fact(struct worker *w, const char *scope, const char *fact,
		 const char *value, const char *source);

/** Has the coordinator called off the task at hand?  For polling loops. */
bool worker_cancelled(struct worker *w);

#endif
