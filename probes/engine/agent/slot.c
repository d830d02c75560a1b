/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/agent/agent.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "probes/transport/order.h"

/* A worker keeps its own deadlines; we step in when it is this much late. */
#define SLOT_GRACE_NS	(2 * NS_PER_S)
/* After the process has ended its socket should say so at once. */
#define SLOT_DRAIN_NS	(1 * NS_PER_S)

int slot_init(struct slot *s, uv_loop_t *loop, json_t *init,
	      const struct slot_events *events, void *arg, struct err *e)
{
	*s = (struct slot){
		.loop = loop,
		.rank = (int)message_int(init, "rank"),
		.init = init,
		.events = events,
		.arg = arg,
		.task = -1,
		.note_fd = memfd_create("gpucheck-note", MFD_CLOEXEC),
	};
	if (s->note_fd < 0 || ftruncate(s->note_fd, sizeof(*s->note)) < 0) {
		return err_set(e, errno, "cannot create the shared memory of a "
					 "worker");
	}
	s->note = mmap(NULL, sizeof(*s->note), PROT_READ | PROT_WRITE,
		       MAP_SHARED, s->note_fd, 0);
	if (s->note == MAP_FAILED) {
		s->note = NULL;
		return err_set(e, errno, "cannot map the shared memory of a "
					 "worker");
	}
	s->log_fd = nccl_log_open(e);
	return s->log_fd < 0 ? -1 : 0;
}

void slot_release(struct slot *s)
{
	json_decref(s->init);
	if (s->note != NULL) {
		munmap(s->note, sizeof(*s->note));
	}
	if (s->log_fd > 0) {
		close(s->log_fd);
	}
	if (s->note_fd > 0) {
		close(s->note_fd);
	}
	memset(s, 0, sizeof(*s));
}

bool slot_closed(const struct slot *s)
{
	return !s->process_open && !wire_is_open(&s->wire);
}

int slot_save_log(const struct slot *s, const struct slot_death *how,
		  const char *dir, struct err *e)
{
	char path[PATH_MAX];

	if (how->task < 0 || how->unfit) {
		return 0;
	}
	order_log_path(dir, s->rank, how->peer, how->attempt, path,
		       sizeof(path));
	return nccl_log_save(s->log_fd, how->log_from, path, e);
}

/* Reports once how the worker has ended, when both its process and its socket
 * are gone. */
static void slot_ended(void *arg)
{
	struct slot *s = arg;
	bool expected = s->state == SLOT_LEAVING || s->unusable;
	struct slot_death how = {
		.task = s->task,
		.unfit = s->state == SLOT_UNFIT,
		.signal = s->exit_signal,
		.exit_code = s->exit_code,
		.hung = s->hung,
		.late_ns = s->late_ns,
		.out_of_memory = s->exit_signal == SIGKILL && !s->hung &&
				 cgroup_oom_kills() > s->oom_kills,
	};
	char warning[160];
	size_t len;

	if (!slot_closed(s)) {
		return;
	}
	s->state = SLOT_DOWN;
	s->task = -1;
	if (expected) {
		if (s->renewed) {
			s->events->left(s);
		}
		return;
	}
	/* the note that the worker has left names the step of its task */
	s->note->step[sizeof(s->note->step) - 1] = '\0';
	STR_COPY(how.step, s->note->step);
	how.peer = s->note->peer;
	how.attempt = s->note->attempt;
	how.log_from = s->note->log_from > 0 ? s->note->log_from : 0;
	if (how.task >= 0 && !how.unfit &&
	    nccl_log_last_warning(s->log_fd, how.log_from, warning,
				  sizeof(warning))) {
		len = strlen(how.step);
		snprintf(how.step + len, sizeof(how.step) - len,
			 "; NCCL: %s", warning);
	}
	if (2 * how.late_ns < s->budget_ns &&
	    (!how.unfit || s->unfit++ > 0)) {
		s->deaths++;
	}
	how.retired = s->deaths >= SLOT_LIVES;
	s->events->died(s, &how);
}

static void process_closed(uv_handle_t *h)
{
	struct slot *s = h->data;

	s->process_open = false;
	slot_ended(s);
}

static void process_exited(uv_process_t *p, int64_t code, int signo)
{
	struct slot *s = p->data;

	s->exit_code = (int)code;
	s->exit_signal = signo;
	s->exited_ns = clock_now_ns();
	uv_close((uv_handle_t *)p, process_closed);
}

static void work_done(struct slot *s, int64_t id, bool unfit)
{
	if (s->state == SLOT_BUSY && id == s->task) {
		s->state = SLOT_IDLE;
		s->task = -1;
	}
	if (unfit) {
		s->state = SLOT_UNFIT;
		s->deadline_ns = clock_now_ns() + SLOT_GRACE_NS;
	} else {
		s->unfit = 0;
	}
}

static void worker_said(void *arg, json_t *msg)
{
	struct slot *s = arg;

	switch (message_type(msg)) {
	case MSG_READY:
		s->state = s->state == SLOT_OPENING ? SLOT_IDLE : s->state;
		break;
	case MSG_UNUSABLE:
		s->unusable = true;
		break;
	case MSG_COLLECTIVE_DONE:
		work_done(s, message_int(msg, "id"), false);
		break;
	default:
		break;	/* for the coordinator alone */
	}
	s->events->message(s, msg);
	if (s->unusable && s->state != SLOT_LEAVING) {
		slot_quit(s);
	}
}

static void worker_said_entry(void *arg, enum message_type type,
			      const void *bytes, size_t n)
{
	struct slot *s = arg;
	struct order_report r = { 0 };

	if (type == MSG_DONE && order_report_read(bytes, n, &r, NULL) == 0) {
		work_done(s, r.id, r.unfit);
	}
	s->events->entry(s, type, bytes, n, r.late_ns);
	order_report_release(&r);
}

/* False: it has ended, or there is none. */
static bool end_process(struct slot *s)
{
	return s->process_open && s->exited_ns == 0 &&
	       uv_process_kill(&s->process, SIGKILL) == 0;
}

static void worker_silent(void *arg, const char *why)
{
	struct slot *s = arg;

	(void)why;
	/* a worker that closed its socket is of no use even if it lives */
	end_process(s);
}

static const struct wire_events worker_events = {
	.message = worker_said,
	.entry = worker_said_entry,
	.closed = worker_silent,
	.freed = slot_ended,
};

static void pipe_closed(uv_handle_t *h)
{
	free(h);
}

int slot_start(struct slot *s, const char *self, struct err *e)
{
	uv_pipe_t *pipe = calloc(1, sizeof(*pipe));
	char *args[] = { (char *)self, (char *)"worker", NULL };
	uv_stdio_container_t io[6] = {
		[0] = { .flags = UV_IGNORE },
		[1] = { .flags = UV_INHERIT_FD, .data.fd = 2 },
		[2] = { .flags = UV_INHERIT_FD, .data.fd = 2 },
		[WORKER_FD] = { .flags = UV_CREATE_PIPE | UV_READABLE_PIPE |
					 UV_WRITABLE_PIPE,
				.data.stream = (uv_stream_t *)pipe },
		[WORKER_NOTE_FD] = { .flags = UV_INHERIT_FD,
				     .data.fd = s->note_fd },
		[WORKER_LOG_FD] = { .flags = s->log_fd < 0 ? UV_IGNORE :
							     UV_INHERIT_FD,
				    .data.fd = s->log_fd },
	};
	uv_process_options_t o = {
		.exit_cb = process_exited,
		.file = self,
		.args = args,
		.stdio_count = 6,
		.stdio = io,
	};
	int rc;

	if (pipe == NULL) {
		return err_set(e, ENOMEM, "no memory for a worker");
	}
	uv_pipe_init(s->loop, pipe, 1);
	memset(s->note, 0, sizeof(*s->note));
	nccl_log_clear(&s->log_fd);
	s->hung = s->unusable = s->renewed = false;
	s->late_ns = s->waited_ns = 0;
	s->exit_code = s->exit_signal = 0;
	s->exited_ns = 0;
	s->oom_kills = cgroup_oom_kills();
	s->process.data = s;
	s->process_open = true;
	rc = uv_spawn(s->loop, &s->process, &o);
	if (rc < 0) {
		uv_close((uv_handle_t *)&s->process, process_closed);
		s->exited_ns = clock_now_ns();	/* its number is 0: our group */
		s->state = SLOT_LEAVING;	/* nothing of it to report */
		uv_close((uv_handle_t *)pipe, pipe_closed);
		return err_set(e, -rc, "cannot start a worker");
	}
	wire_open(&s->wire, (uv_stream_t *)pipe, MSG_FROM_WORKER, NULL,
		  &worker_events, s);
	s->state = SLOT_OPENING;
	s->budget_ns = message_int(s->init, "open_ns");
	s->deadline_ns = clock_now_ns() + s->budget_ns + SLOT_GRACE_NS;
	wire_send(&s->wire, json_incref(s->init));
	return 0;
}

bool slot_task(struct slot *s, int64_t id, const char *nonce, int64_t budget_ns)
{
	if (s->state != SLOT_IDLE) {
		return false;
	}
	s->state = SLOT_BUSY;
	s->task = id;
	STR_COPY(s->nonce, nonce);
	s->budget_ns = budget_ns;
	s->deadline_ns = clock_now_ns() + budget_ns + SLOT_GRACE_NS;
	s->waited_ns = late_waited_ns(s->process.pid);
	return true;
}

void slot_conn(struct slot *s, uv_tcp_t *conn)
{
	wire_send_handle(&s->wire,
			 message_new(MSG_CONN, "{s:I,s:s}", "id",
				     (json_int_t)s->task, "nonce", s->nonce),
			 conn);
}

/* How long the worker has had no CPU since its task began; as long as that is
 * all it was given, no more counts. */
static int64_t late_ns(const struct slot *s)
{
	int64_t ns = s->process_open && s->exited_ns == 0 ?
			     late_waited_ns(s->process.pid) - s->waited_ns : 0;

	return ns < 0 ? 0 : ns < s->budget_ns ? ns : s->budget_ns;
}

void slot_kill(struct slot *s)
{
	int64_t late = late_ns(s);

	if (end_process(s)) {
		s->late_ns = late;
		s->hung = true;
	}
}

void slot_quit(struct slot *s)
{
	if (wire_is_open(&s->wire)) {
		s->state = SLOT_LEAVING;
		s->deadline_ns = clock_now_ns() + SLOT_GRACE_NS;
		wire_send(&s->wire, message_new(MSG_QUIT, NULL));
	}
}

void slot_renew(struct slot *s, json_t *init)
{
	json_decref(s->init);
	s->init = init;
	s->renewed = true;
	if (slot_closed(s)) {
		s->events->left(s);	/* there is none to wait for */
	} else {
		slot_quit(s);
	}
}

void slot_tick(struct slot *s)
{
	int64_t now = clock_now_ns();

	if (s->state != SLOT_DOWN && s->state != SLOT_IDLE &&
	    now > s->deadline_ns && now > s->deadline_ns + late_ns(s)) {
		slot_kill(s);
	}
	if (s->exited_ns != 0 && now > s->exited_ns + SLOT_DRAIN_NS) {
		wire_close(&s->wire, NULL);
	}
}
