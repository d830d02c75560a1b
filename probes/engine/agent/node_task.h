/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_NODE_TASK_H
#define PROBES_ENGINE_AGENT_NODE_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"
#include "probes/engine/net/wire.h"

/** A child that looks at the node of its agent: probes/node/child.h. */
struct node_task {
	uv_process_t process;
	uv_timer_t timer;
	struct wire wire;
	int64_t limit_ns;	/* of the child */
	bool hung;
	int64_t exit_code;
	int exit_signal;
	int open_handles;	/* 0: idle */
	/** An entry of "node_said" (borrowed), and once, when the task is idle
	 *  again, "node_done" (new reference); set by the caller, as @arg. */
	void (*said)(struct node_task *t, const void *bytes, size_t n);
	void (*done)(struct node_task *t, json_t *msg);
	void *arg;
};

/**
 * Start "@self worker @name" on @loop, told @msg (borrowed), "node_task", with
 * @limit_ns to end.  @t is idle, and stays where it is until done().  0, or -1
 * with @e and no call of that.
 */
int node_task_start(struct node_task *t, uv_loop_t *loop, const char *self,
		    const char *name, json_t *msg, int64_t limit_ns,
		    struct err *e);
/** End it now; done() is still called. */
void node_task_kill(struct node_task *t);
static inline bool node_task_idle(const struct node_task *t)
{
	return t->open_handles == 0;
}

/** How a child has ended, as "node_done". */
json_t *node_task_end(const char *outcome, const char *code,
		      const char *detail);

#endif
