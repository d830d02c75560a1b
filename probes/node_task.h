/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NODE_TASK_H
#define PROBES_NODE_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/err.h"
#include "lib/str.h"
#include "probes/probe.h"

/**
 * One look at one node, in a child of its own: "gpucheck worker PROBE" reads
 * its arguments, a JSON object, from stdin, and says a JSON object a line on
 * stdout, {"row":{...}} or {"fact":{...}}.  It has until a deadline and
 * NODE_TASK_MAX bytes; whatever happens to it, what it said before is kept.
 */
#define NODE_TASK_MAX (1024 * 1024)

struct node_task {
	const struct probe *probe;
	uv_process_t process;
	uv_pipe_t in, out;
	uv_timer_t timer;
	uv_write_t write;
	char *args;		/* text that is being written */
	struct str said;
	bool hung, overran;
	int64_t exit_code;
	int exit_signal;
	int open_handles;	/* 0: idle */
	/** Called once, the task is idle again: "node_done", as the
	 *  coordinator reads it (new reference). */
	void (*done)(struct node_task *t, json_t *msg);
	void *arg;
};

/**
 * Start the child of @probe, program @self, on @loop.  @t is zeroed, or idle,
 * and stays where it is until done().  0, or -1 with @e and no call of done().
 */
int node_task_start(struct node_task *t, uv_loop_t *loop, const char *self,
		    const struct probe *probe, const json_t *args,
		    void (*done)(struct node_task *t, json_t *msg), void *arg,
		    struct err *e);
/** End it now; done() is still called. */
void node_task_kill(struct node_task *t);
static inline bool node_task_idle(const struct node_task *t)
{
	return t->open_handles == 0;
}

/** What a child has said by @text, and how it ended, as "node_done". */
json_t *node_task_message(const char *text, size_t len, const char *outcome,
			  const char *code, const char *detail);

/** The same without an agent, waiting: new reference, or NULL with @e. */
json_t *node_task_run(const struct probe *probe, const json_t *args,
		      struct err *e);

/* ---- in the child ------------------------------------------------------ */

/** "gpucheck worker PROBE": run the child; its exit code. */
int node_task_child_main(const struct probe *probe, struct err *e);
/** Say one row, of probe's schema, or one fact, now. */
void node_task_row(const struct schema *schema, const void *row);
void node_task_fact(const struct fact_row *row);

#endif
