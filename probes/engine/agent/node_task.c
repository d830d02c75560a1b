/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/agent/agent.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/data/json.h"

json_t *node_task_end(const char *outcome, const char *code, const char *detail)
{
	return message_new(MSG_NODE_DONE, "{s:s,s:s,s:o}", "outcome", outcome,
			   "code", code, "detail", json_text(detail));
}

/* ---- its life ---------------------------------------------------------- */

static void finish(struct node_task *t)
{
	struct spawn_status st = {
		.exit_code = (int)t->exit_code,
		.signal = t->exit_signal,
	};
	char how[64], detail[200];

	if (t->hung) {
		snprintf(detail, sizeof(detail),
			 "the child process did not end within %d s and was "
			 "killed", (int)(t->limit_ns / NS_PER_S));
		t->done(t, node_task_end("timeout", "worker_hung", detail));
	} else if (t->exit_signal != 0 || t->exit_code != 0) {
		snprintf(detail, sizeof(detail),
			 "the child process ended with %s",
			 spawn_status_text(&st, how, sizeof(how)));
		t->done(t, node_task_end("crashed", "worker_crashed", detail));
	} else {
		t->done(t, node_task_end("ok", "", ""));
	}
}

static void part_closed(void *arg)
{
	struct node_task *t = arg;

	if (--t->open_handles == 0 && t->done != NULL) {
		finish(t);
	}
}

static void handle_closed(uv_handle_t *h)
{
	part_closed(h->data);
}

void node_task_kill(struct node_task *t)
{
	if (!node_task_idle(t) &&
	    !uv_is_closing((uv_handle_t *)&t->process)) {
		uv_process_kill(&t->process, SIGKILL);
	}
}

static void timed_out(uv_timer_t *timer)
{
	struct node_task *t = timer->data;

	t->hung = true;
	node_task_kill(t);
}

static void exited(uv_process_t *p, int64_t code, int signo)
{
	struct node_task *t = p->data;

	t->exit_code = code;
	t->exit_signal = signo;
	uv_close((uv_handle_t *)&t->timer, handle_closed);
	uv_close((uv_handle_t *)p, handle_closed);
}

static void child_said(void *arg, enum message_type type, const void *bytes,
		       size_t n)
{
	struct node_task *t = arg;

	if (type == MSG_NODE_SAID) {
		t->said(t, bytes, n);
	}
}

/* It has ended, or is of no use. */
static void child_gone(void *arg, const char *why)
{
	(void)why;
	node_task_kill(arg);
}

static const struct wire_events child_events = {
	.entry = child_said,
	.closed = child_gone,
	.freed = part_closed,
};

static int spawn_child(struct node_task *t, uv_loop_t *loop, const char *self,
		       const char *name)
{
	uv_pipe_t *pipe = calloc(1, sizeof(*pipe));
	char *argv[] = { (char *)self, (char *)"worker", (char *)name, NULL };
	uv_stdio_container_t io[3] = {
		{ .flags = UV_CREATE_PIPE | UV_READABLE_PIPE |
			   UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)pipe },
		{ .flags = UV_INHERIT_FD, .data.fd = 2 },
		{ .flags = UV_INHERIT_FD, .data.fd = 2 },
	};
	uv_process_options_t o = {
		.exit_cb = exited,
		.file = self,
		.args = argv,
		.stdio_count = 3,
		.stdio = io,
	};
	int rc;

	if (pipe == NULL) {
		return UV_ENOMEM;
	}
	uv_pipe_init(loop, pipe, 0);
	uv_timer_init(loop, &t->timer);
	t->timer.data = t->process.data = t;
	t->open_handles = 3;	/* these two and the wire */
	rc = uv_spawn(loop, &t->process, &o);
	wire_open(&t->wire, (uv_stream_t *)pipe, MSG_FROM_WORKER, NULL,
		  &child_events, t);
	return rc;
}

int node_task_start(struct node_task *t, uv_loop_t *loop, const char *self,
		    const char *name, json_t *msg, int64_t limit_ns,
		    struct err *e)
{
	int rc = spawn_child(t, loop, self, name);

	t->hung = false;
	t->limit_ns = limit_ns;
	if (rc < 0 && !node_task_idle(t)) {
		t->done = NULL;
		exited(&t->process, 0, 0);
		wire_close(&t->wire, NULL);
	}
	if (rc < 0) {
		return err_set(e, -rc, "cannot start '%s worker %s'", self,
			       name);
	}
	uv_timer_start(&t->timer, timed_out, (uint64_t)(limit_ns / NS_PER_MS),
		       0);
	wire_send(&t->wire, json_incref(msg));
	return 0;
}
