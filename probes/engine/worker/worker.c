/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/worker/private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/spawn.h"
#include "lib/data/json.h"
#include "probes/probe.h"

/* Between tasks a worker waits as long as its agent lives: EOF ends it. */
#define WORKER_IDLE_NS (60 * NS_PER_S)
/* Joins under way are looked after this often. */
#define WORKER_LOOK_NS (1 * NS_PER_MS)

/* ---- the process ------------------------------------------------------ */

/** Before anything reads it; no other thread runs yet. */
static void set_environment(const json_t *env)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)env, name, value) {
		if (json_is_string(value)) {
			setenv(name, json_string_value(value), 1);
		}
	}
}

static int do_init(struct process *w, const json_t *msg, struct err *e)
{
	const struct message_in in = message_read(msg);
	const char *code = "open_failed", *ticket = "";
	struct err why = { 0 };
	json_t *facts;

	if (spec_from_json(&w->spec, in.options, e) < 0 ||
	    (in.how != NULL && order_how_parse(in.how, &w->how, e) < 0)) {
		return -1;
	}
	w->ops = xport_find(in.transport);
	if (w->ops == NULL || w->ops->open == NULL ||
	    auth_take(&w->auth, AUTH_DATA, in.token, in.run, e) < 0) {
		return err_set(e, EPROTO, "cannot open the transport '%s'",
					  in.transport);
	}
	STR_COPY(w->data_addr, in.data_addr);
	STR_COPY(w->dir, in.dir);
	STR_COPY(w->self.node, in.node);
	STR_COPY(w->self.part, in.part);
	STR_COPY(w->self.ifname, in.ifname);
	w->self.pretend = in.pretend;
	set_environment(in.env);
	w->self.rank = in.rank;
	w->self.local_rank = in.local_rank;
	w->self.worker = &w->as;
	w->self.spec = &w->spec;
	facts = json_array();
	worker_step(&w->as, "opening %s", in.transport);
	w->x = w->ops->open(&w->self, &code, &why);
	if (w->x == NULL) {
		char text[400];

		if (limit_code(why.code) != NULL && why.code != ENOMEM) {
			code = limit_code(why.code);
		}	/* that may be the driver's, whose own code says it */
		json_decref(facts);
		err_str(&why, text, sizeof(text));
		return worker_tell(w,
				   message_new(MSG_UNUSABLE, "{s:i,s:s,s:o}",
					       "rank", in.rank, "code", code,
					       "detail", json_text(text)),
				   e);
	}
	if (w->ops->ticket == NULL && w->ops->offer == NULL) {
		ticket = w->data_addr;	/* the same for all pairs */
	}
	if (w->ops->describe != NULL) {
		w->ops->describe(w->x, facts);
	}
	worker_step(&w->as, "idle");
	return worker_tell(w, message_new(MSG_READY, "{s:i,s:s,s:o}", "rank",
					  in.rank, "ticket", ticket, "facts",
					  facts),
			   e);
}

/* 1 go on, 0 leave in order, -1 with @e. */
static int act(struct process *w, const struct heard *h, struct err *e)
{
	static int (*const acts[MESSAGE_TYPES])(struct process *w,
						const struct heard *h,
						struct err *e) = {
		[MSG_TASK] = worker_do_task,
		[MSG_TICKET] = worker_do_ticket,
		[MSG_GO] = worker_do_go,
		[MSG_CANCEL] = worker_do_cancel,
		[MSG_CLOSE] = worker_do_close,
		[MSG_COLLECTIVE] = worker_do_collective,
	};

	if (h->type == MSG_INIT && w->ops == NULL) {
		return do_init(w, h->msg, e) < 0 ? -1 : 1;
	}
	if (w->x != NULL && acts[h->type] != NULL) {
		return acts[h->type](w, h, e) < 0 ? -1 : 1;
	}
	if (h->type == MSG_CONN) {
		close(wire_fd_take(&w->wire));	/* too late for its task */
	}
	return h->type != MSG_QUIT;
}

int worker_serve(struct process *w, struct err *e)
{
	int go = 1, got;

	while (go > 0 && !w->gone) {
		struct heard *h = NULL;

		/* messages that were kept while waiting come first */
		if (w->n_kept > 0) {
			h = w->kept[0];
			w->n_kept--;
			memmove(w->kept, w->kept + 1,
				(size_t)w->n_kept * sizeof(w->kept[0]));
		}
		for (got = 0; h == NULL && got == 0;) {
			int64_t patience = w->n_pending > 0 ? WORKER_LOOK_NS :
							      WORKER_IDLE_NS;

			if (worker_look(w, e) < 0) {
				return -1;
			}
			h = worker_hear(w, clock_now_ns() + patience, &got, e);
		}
		go = h != NULL ? act(w, h, e) : -1;
		heard_free(h);
	}
	return go;
}

/* Links stay: freeing what a GPU holds can hang, and the process ends. */
void worker_release(struct process *w)
{
	while (w->n_kept > 0) {
		heard_free(w->kept[--w->n_kept]);
	}
	while (w->n_pending > 0) {
		free(w->pending[--w->n_pending]);
	}
	json_decref(w->as.facts);
	json_decref(w->as.flows);
	wire_buf_release(&w->wire.in);
	munmap(w->as.note, sizeof(*w->as.note));
}

int worker_main(struct err *e)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), go;
	struct process w = { 0 };

	spawn_leave_strangers();
	worker_listen(&w);
	if (fd >= 0) {
		/* where memory runs out the kernel kills one: an agent that
		 * lives can tell */
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);	/* the agent decides when to stop */
	/* before anything else takes that number */
	w.as.log_fd = fcntl(WORKER_LOG_FD, F_GETFD) < 0 ? -1 : WORKER_LOG_FD;
	w.as.log = w.log;
	w.as.note = mmap(NULL, sizeof(*w.as.note), PROT_READ | PROT_WRITE,
		      MAP_SHARED, WORKER_NOTE_FD, 0);
	if (w.as.note == MAP_FAILED ||
	    fcntl(WORKER_FD, F_SETFL, O_NONBLOCK) < 0) {
		return err_hint(e, "workers are started by agents"),
		       err_set(e, errno, "not started by an agent"), 2;
	}
	go = worker_serve(&w, e);
	worker_collective_end(&w); /* before what it works with */
	if (w.x != NULL && go == 0) {
		w.ops->shutdown(w.x);
	}
	worker_release(&w);
	return go == 0 ? 0 : 3;
}
