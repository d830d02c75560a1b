/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/opinion.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>

#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"

/** Who prints more is no judge. */
#define TEXT_MAX (1 << 20)

struct opinion {
	uv_process_t process;
	uv_pipe_t out;
	struct str text;
	char buf[4096];
	struct spawn_status end;
	int open;		/* handles, of process and pipe */
	bool dropped;
	void (*heard)(void *arg, const json_t *verdict, const struct err *why);
	void *arg;
};

static void opinion_free(struct opinion *o)
{
	str_release(&o->text);
	free(o);
}

/* Both are closed, so that it has ended and all that it said is here. */
static void tell(struct opinion *o)
{
	struct err e = { 0 };
	json_t *verdict = NULL;
	char how[80];

	if (o->end.exit_code != 0) {
		err_set(&e, 0, "the judge ended with %s",
			spawn_status_text(&o->end, how, sizeof(how)));
	} else {
		verdict = json_parse(str_text(&o->text), o->text.len, &e);
	}
	o->heard(o->arg, verdict, &e);
	json_decref(verdict);
}

static void closed(uv_handle_t *h)
{
	struct opinion *o = h->data;

	if (--o->open > 0) {
		return;
	}
	if (o->dropped) {
		opinion_free(o);
	} else {
		tell(o);	/* who may drop it meanwhile, or later */
	}
}

static void ended(uv_process_t *p, int64_t code, int signo)
{
	struct opinion *o = p->data;

	o->end = (struct spawn_status){ .exit_code = signo ? -1 : (int)code,
					.signal = signo };
	uv_close((uv_handle_t *)p, closed);
}

static void room(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
	struct opinion *o = h->data;

	(void)size;
	*buf = uv_buf_init(o->buf, sizeof(o->buf));
}

static void said(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct opinion *o = s->data;

	if (n >= 0 && o->text.len + (size_t)n <= TEXT_MAX && !o->text.failed) {
		str_addmem(&o->text, buf->base, (size_t)n);
	} else if (!uv_is_closing((uv_handle_t *)s)) {
		uv_close((uv_handle_t *)s, closed);
	}
}

static int start(struct opinion *o, uv_loop_t *loop, const char *dir,
		 struct err *e)
{
	char self[PATH_MAX];
	char *args[] = { self, (char *)"judge", (char *)dir, NULL };
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)&o->out },
		{ .flags = UV_IGNORE },
	};
	const uv_process_options_t options = {
		.file = self, .args = args, .exit_cb = ended,
		.stdio = stdio, .stdio_count = 3,
	};
	int rc;

	if (spawn_self(self, sizeof(self), e) < 0) {
		return -1;
	}
	uv_pipe_init(loop, &o->out, 0);
	o->out.data = o->process.data = o;
	o->open = 2;
	rc = uv_spawn(loop, &o->process, &options);
	if (rc < 0) {
		o->dropped = true;
		uv_close((uv_handle_t *)&o->process, closed);
		uv_close((uv_handle_t *)&o->out, closed);
		return err_set(e, -rc, "cannot start a judge");
	}
	uv_read_start((uv_stream_t *)&o->out, room, said);
	return 0;
}

struct opinion *opinion_ask(uv_loop_t *loop, const char *dir,
			    void (*heard)(void *arg, const json_t *verdict,
					  const struct err *why),
			    void *arg, struct err *e)
{
	struct opinion *o = calloc(1, sizeof(*o));

	if (o == NULL) {
		err_set(e, ENOMEM, "no memory for a verdict");
		return NULL;
	}
	o->heard = heard;
	o->arg = arg;
	if (start(o, loop, dir, e) < 0) {
		if (o->open == 0) {
			opinion_free(o);
		}
		return NULL;
	}
	return o;
}

void opinion_drop(struct opinion *o)
{
	if (o == NULL) {
		return;
	}
	if (o->open == 0) {
		opinion_free(o);
		return;
	}
	o->dropped = true;
	if (!uv_is_closing((uv_handle_t *)&o->process)) {
		uv_process_kill(&o->process, SIGKILL);
	}
	if (!uv_is_closing((uv_handle_t *)&o->out)) {
		uv_close((uv_handle_t *)&o->out, closed);
	}
}
