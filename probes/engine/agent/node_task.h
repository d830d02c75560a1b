/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_NODE_TASK_H
#define PROBES_ENGINE_AGENT_NODE_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "probes/probe.h"

/** What one child (probes/node/child.h) says, or one line of it. */
#define NODE_TASK_MAX (1024 * 1024)

struct node_task {
	const struct probe *probe;
	uv_process_t process;
	uv_pipe_t in, out;
	uv_timer_t timer;
	struct str text; /* that it has not said yet */
	int64_t limit_ns;	/* of the child */
	bool hung, overran;
	bool noise;		/* a line of it was not a row */
	int64_t exit_code;
	int exit_signal;
	int open_handles;	/* 0: idle */
	/** What it says, as the coordinator reads it (new reference): once,
	 *  when the task is idle again, "node_done".  Of what flows that is
	 *  the rest; "node_said" comes before, as often as it says something.
	 */
	void (*said)(struct node_task *t, json_t *msg);
	void *arg;
};

/**
 * Start the child of @probe, program @self, on @loop.  @t is zeroed, or idle,
 * and stays where it is until "node_done".  0, or -1 with @e and no call of
 * said().
 */
int node_task_start(struct node_task *t, uv_loop_t *loop, const char *self,
		    const struct probe *probe, const json_t *args,
		    void (*said)(struct node_task *t, json_t *msg), void *arg,
		    struct err *e);
/** Tell it one more thing, @line (borrowed); of no use to one that is idle. */
void node_task_tell(struct node_task *t, const json_t *line);
/** Let it go: its stdin ends. */
void node_task_leave(struct node_task *t);
/** End it now; said() is still called. */
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

#endif
