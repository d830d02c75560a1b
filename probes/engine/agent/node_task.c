/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/agent/node_task.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/spawn.h"
#include "probes/engine/net/message.h"

/* ---- what the child said ----------------------------------------------- */

/* One line of a child, into the rows or facts of @msg or as a member of its
 * own; false when it is none of these. */
static bool take_line(const char *line, size_t len, json_t *msg)
{
	json_t *json = json_parse(line, len, NULL);
	json_t *row = json_object_get(json, "row");
	json_t *fact = json_object_get(json, "fact");
	json_t *ready = json_object_get(json, "ready");
	bool known = true;

	if (json_is_object(row)) {
		json_array_append(json_object_get(msg, "rows"), row);
	} else if (json_is_object(fact)) {
		json_array_append(json_object_get(msg, "facts"), fact);
	} else if (json_is_object(ready)) {
		json_object_set(msg, "ready", ready);
	} else if (json_is_true(json_object_get(json, "finished"))) {
		json_object_set_new(msg, "finished", json_true());
	} else {
		known = false;
	}
	json_decref(json);
	return known;
}

/* All whole lines of @text, as members of a message; what a child that died
 * has left of a line is dropped. */
static json_t *take_lines(const char *text, size_t len, bool *noise)
{
	json_t *msg = json_pack("{s:[],s:[]}", "rows", "facts");
	const char *end = text + len, *eol;

	while (text < end &&
	       (eol = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		*noise |= !take_line(text, (size_t)(eol - text), msg);
		text = eol + 1;
	}
	return msg;
}

static const char not_a_row[] =
	"the child process sent something that is not a row";

json_t *node_task_message(const char *text, size_t len, const char *outcome,
			  const char *code, const char *detail)
{
	bool noise = false;
	json_t *msg = take_lines(text, len, &noise);

	if (noise && strcmp(outcome, "ok") == 0) {
		outcome = "error";
		code = "worker_noise";
		detail = not_a_row;
	}
	json_object_set_new(msg, "outcome", json_string(outcome));
	json_object_set_new(msg, "code", json_string(code));
	json_object_set_new(msg, "detail", json_text(detail));
	return message_of(MSG_NODE_DONE, msg);
}

/* ---- its life ---------------------------------------------------------- */

static void finish(struct node_task *t)
{
	struct spawn_status st = {
		.exit_code = (int)t->exit_code,
		.signal = t->exit_signal,
	};
	const char *outcome = "ok", *code = "";
	char how[64], detail[200] = "";
	json_t *msg;

	spawn_status_text(&st, how, sizeof(how));
	if (t->hung) {
		outcome = "timeout";
		code = "worker_hung";
		snprintf(detail, sizeof(detail),
			 "the child process did not end within %d s and was "
			 "killed", (int)(t->limit_ns / 1000000000));
	} else if (t->overran) {
		outcome = "error";
		code = "worker_noise";
		snprintf(detail, sizeof(detail),
			 "the child process sent more than %d bytes and was "
			 "killed", NODE_TASK_MAX);
	} else if (t->exit_signal != 0 || t->exit_code != 0) {
		outcome = "crashed";
		code = "worker_crashed";
		snprintf(detail, sizeof(detail),
			 "the child process ended with %s", how);
	} else if (t->noise) {
		outcome = "error";
		code = "worker_noise";
		snprintf(detail, sizeof(detail), "%s", not_a_row);
	}
	msg = node_task_message(str_text(&t->text), t->text.len, outcome, code,
				detail);
	str_release(&t->text);
	t->said(t, msg);
}

static void handle_closed(uv_handle_t *h)
{
	struct node_task *t = h->data;

	if (--t->open_handles == 0) {
		finish(t);
	}
}

static void close_handle(uv_handle_t *h)
{
	if (!uv_is_closing(h)) {
		uv_close(h, handle_closed);
	}
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
	close_handle((uv_handle_t *)&t->timer);
	close_handle((uv_handle_t *)&t->in);
	close_handle((uv_handle_t *)p);
}

static void give_room(uv_handle_t *h, size_t wanted, uv_buf_t *buf)
{
	(void)h;
	buf->base = malloc(wanted);
	buf->len = buf->base != NULL ? wanted : 0;
}

/* The lines that are whole. */
static void pass_on(struct node_task *t)
{
	const char *text = str_text(&t->text);
	const char *eol = memrchr(text, '\n', t->text.len);
	size_t whole = eol != NULL ? (size_t)(eol - text) + 1 : 0;

	if ((!t->probe->meets && !t->probe->flows) || whole == 0) {
		return;
	}
	t->said(t,
		message_of(MSG_NODE_SAID, take_lines(text, whole, &t->noise)));
	t->text.len -= whole;
	memmove(t->text.data, t->text.data + whole, t->text.len + 1);
}

static void heard(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct node_task *t = s->data;

	if (n > 0 && t->text.len + (size_t)n <= NODE_TASK_MAX) {
		str_addmem(&t->text, buf->base, (size_t)n);
		pass_on(t);
	} else if (n > 0) {
		t->overran = true;
		node_task_kill(t);
	}
	free(buf->base);
	if (n < 0) {
		close_handle((uv_handle_t *)s);
	}
}

static void told(uv_write_t *w, int status)
{
	struct node_task *t = w->handle->data;

	(void)status;	/* a child that does not listen will not do well */
	if (!t->probe->meets) {
		close_handle((uv_handle_t *)&t->in);
	}
	free(w->data);
	free(w);
}

void node_task_tell(struct node_task *t, const json_t *json)
{
	uv_write_t *w;
	uv_buf_t line[2];
	char *text;

	if (node_task_idle(t) || uv_is_closing((uv_handle_t *)&t->in)) {
		return;
	}
	w = malloc(sizeof(*w));
	text = json_dumps(json, JSON_COMPACT);
	if (w == NULL || text == NULL) {
		free(w);
		free(text);
		node_task_kill(t);	/* no memory: it would wait for ever */
		return;
	}
	w->data = text;
	line[0] = uv_buf_init(text, (unsigned)strlen(text));
	line[1] = uv_buf_init((char *)"\n", 1);
	if (uv_write(w, (uv_stream_t *)&t->in, line, 2, told) < 0) {
		free(text);
		free(w);
		node_task_leave(t);
	}
}

void node_task_leave(struct node_task *t)
{
	if (!node_task_idle(t)) {
		close_handle((uv_handle_t *)&t->in);
	}
}

static int spawn_child(struct node_task *t, uv_loop_t *loop, const char *self)
{
	char *argv[] = { (char *)self, (char *)"worker",
			 (char *)t->probe->name, NULL };
	uv_stdio_container_t io[3] = {
		{ .flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
		  .data.stream = (uv_stream_t *)&t->in },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)&t->out },
		{ .flags = UV_INHERIT_FD, .data.fd = 2 },
	};
	uv_process_options_t o = {
		.exit_cb = exited,
		.file = self,
		.args = argv,
		.stdio_count = 3,
		.stdio = io,
	};

	return uv_spawn(loop, &t->process, &o);
}

static void no_message(struct node_task *t, json_t *msg)
{
	(void)t;
	json_decref(msg);
}

int node_task_start(struct node_task *t, uv_loop_t *loop, const char *self,
		    const struct probe *probe, const json_t *args,
		    void (*said)(struct node_task *t, json_t *msg), void *arg,
		    struct err *e)
{
	struct spec spec;
	int rc;

	*t = (struct node_task){.probe = probe, .said = said, .arg = arg,
				.limit_ns = probe->timeout_ns};
	if (probe->takes &&
	    spec_from_json(&spec, json_object_get(args, "options"), e) == 0) {
		t->limit_ns = probe_limit_ns(probe, &spec);
	}
	uv_pipe_init(loop, &t->in, 0);
	uv_pipe_init(loop, &t->out, 0);
	uv_timer_init(loop, &t->timer);
	t->in.data = t->out.data = t->timer.data = t->process.data = t;
	t->open_handles = 4; /* uv_close() is due for each */
	rc = spawn_child(t, loop, self);
	if (rc < 0) {
		t->said = no_message;
		close_handle((uv_handle_t *)&t->process);
		close_handle((uv_handle_t *)&t->timer);
		close_handle((uv_handle_t *)&t->in);
		close_handle((uv_handle_t *)&t->out);
		return err_set(e, -rc, "cannot start '%s worker %s'", self,
			       probe->name);
	}
	uv_timer_start(&t->timer, timed_out,
		       (uint64_t)(t->limit_ns / 1000000), 0);
	uv_read_start((uv_stream_t *)&t->out, give_room, heard);
	node_task_tell(t, args);
	return 0;
}

/* ---- without an agent -------------------------------------------------- */

static void keep_message(struct node_task *t, json_t *msg)
{
	*(json_t **)t->arg = msg;
}

json_t *node_task_run(const struct probe *probe, const json_t *args,
		      struct err *e)
{
	struct node_task task = { 0 };
	json_t *msg = NULL;
	char self[PATH_MAX];
	uv_loop_t loop;
	int rc;

	if (spawn_self(self, sizeof(self), e) < 0) {
		return NULL;
	}
	rc = uv_loop_init(&loop);
	if (rc < 0) {
		err_set(e, -rc, "cannot start '%s'", probe->name);
		return NULL;
	}
	node_task_start(&task, &loop, self, probe, args, keep_message, &msg, e);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return msg;
}
