/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_WORKER_WORKER_H
#define PROBES_ENGINE_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"

/**
 * A worker owns one rank: one GPU, or one seat on a machine without.  It may
 * hang or crash; the agent that started it notices, says why and starts
 * another.  It talks to its agent over WORKER_FD, leaves a note of what it is
 * doing in the shared memory behind WORKER_NOTE_FD, and what a library logs in
 * the file behind WORKER_LOG_FD: both outlive it.
 */
#define WORKER_FD      3
#define WORKER_NOTE_FD 4
#define WORKER_LOG_FD  5

struct worker_note {
	char step[256];		/* what is being done */
	int64_t peer, attempt;	/* of the pair at hand */
	int64_t log_from;	/* where the log begins to be about it */
};

/** "gpucheck worker": the process.  Returns its exit code. */
int worker_main(struct err *e);

/* What a transport may ask of the process around it. */

struct worker;

/**
 * Note what is being done now ("ncclCommInitRankConfig with rank 9"): shared
 * memory that the agent reads when the worker crashes or hangs.  Cheap.
 */
void worker_step(struct worker *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Wait for the data connection whose opener named @nonce; the agent owns the
 * listening socket, checks the token and passes the connection on.
 * Returns a non-blocking fd (caller closes), or -1 with @e: ETIMEDOUT,
 * ECANCELED when the coordinator called the task off.
 */
int worker_conn(struct worker *w, const char *nonce, int64_t deadline_ns,
		struct err *e);

/** Connect to a peer's agent at @addr and present token and @nonce; a
 *  non-blocking fd (caller closes), or -1 with @e. */
int worker_dial(struct worker *w, const char *addr, const char *nonce,
		int64_t deadline_ns, struct err *e);

/** "addr:port" where this worker's agent accepts data connections. */
const char *worker_data_addr(const struct worker *w);

/** Has the coordinator called off the task at hand?  For polling loops. */
bool worker_cancelled(struct worker *w);

/** WORKER_LOG_FD, or -1 where no agent holds such a file. */
int worker_log_fd(const struct worker *w);
/** From here on the log is about the pair at hand. */
void worker_log_from(struct worker *w, off_t from);

/** DIR/logs/NAME for the log of the task at hand, "" when not wanted. */
const char *worker_log_path(const struct worker *w);

#endif
