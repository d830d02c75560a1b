/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_RUN_LOG_H
#define PROBES_ENGINE_COORD_RUN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"

/**
 * What is written into the run directory: results.csv, facts.csv, events.csv
 * and run.json.  One process holds it, see rundir_hold().
 */
struct run_log {
	const char *dir;
	json_t *run; /* run.json as it is known by now: members may be set */
	struct rundir_table results, facts, events;
	int64_t event_seq;
	int64_t sign_ns; /* when the last sign of life was given */
	int room_fd; /* of rundir_keep_room(); -1: none */
	bool resumes;	/* RUN_RESUME is there, ... */
	bool waits;	/* ... and nothing else is written before the tests */
};

/** Read RUN_RESUME or run.json of @dir (borrowed); NULL with @e.
 *  run_log_close() frees. */
struct run_log *run_log_open(const char *dir, struct err *e);
/** Take the directory and open its tables, the results by @schema; events go
 *  on counting where a run goes on.  0, or -1 with @e: EBUSY, ... */
int run_log_begin(struct run_log *log, const struct schema *schema,
		  struct err *e);
/** Write log->run: to RUN_RESUME while log->waits, else to run.json, which
 *  replaces RUN_RESUME.  0, or -1 with @e. */
int run_log_write(struct run_log *log, struct err *e);
void run_log_close(struct run_log *log); /* safe on NULL */
/** Keep @bytes for the end of the run, on a disk that may be full then. */
void run_log_keep_room(struct run_log *log, size_t bytes);
/** That end has come; once is enough. */
void run_log_use_room(struct run_log *log);

/**
 * Show all rows of results.csv to @look, and again to @keep, which says what
 * stays there; both as rundir_table_walk() has them.  @left_out counts what
 * does not stay.  0, or -1 with @e.
 */
int run_log_sift(struct run_log *log,
		 int (*look)(void *arg, const void *row, struct err *e),
		 int (*keep)(void *arg, const void *row, struct err *e),
		 void *arg, size_t *left_out, struct err *e);

/** A line of facts.csv. */
void run_log_fact(struct run_log *log, const char *node, const char *scope,
		  const char *fact, const char *value, const char *unit,
		  const char *source);
/** Begin facts.csv anew. */
void run_log_forget_facts(struct run_log *log);

/** A line of events.csv; @node NULL and @rank -1 where they do not apply. */
void run_log_event(struct run_log *log, const char *node, int rank,
		   const char *event, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/**
 * A sign of life for a front that only sees the directory, when one is due at
 * @now_ns.  Nothing is made of a failure: the front may have gone, and its
 * directory with it.
 */
void run_log_sign(struct run_log *log, int64_t now_ns);

#endif
