/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_WORKER_WORKER_H
#define PROBES_ENGINE_WORKER_WORKER_H

#include "lib/base/err.h"

/**
 * A worker owns one rank: one GPU, or one slot on a machine without.  It may
 * hang or crash; the agent that started it notices, says why and starts
 * another.  It talks to its agent over WORKER_FD, leaves a struct worker_note
 * of what it is doing in the shared memory behind WORKER_NOTE_FD, and what a
 * library logs in the file behind WORKER_LOG_FD: both outlive it.
 */
#define WORKER_FD      3
#define WORKER_NOTE_FD 4
#define WORKER_LOG_FD  5

/** A rank whose workers died so often is retired. */
#define SLOT_LIVES 2

/** "gpucheck worker": the process.  Returns its exit code. */
int worker_main(struct err *e);

#endif
