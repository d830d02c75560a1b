/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One agent a node (or a rank, under mpirun): starts the workers, passes
 * messages between them and the coordinator, opens the door for data
 * connections.  No CUDA, NCCL or verbs in this address space: whatever they
 * do to a worker, the agent lives to tell.
 */
#include "probes/engine/agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/host/gpu_state.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/host/sysfile.h"
#include "probes/probe.h"

#define AGENT_TICK_MS	     100
/* Not to run for so long is worth a word, and so long it listens then. */
#define AGENT_LATE_NS	     NS_PER_S
#define AGENT_LISTEN_NS	     NS_PER_S
/* So long without a CPU can cost a short test; the kernel's means are of 10
 * s. */
#define AGENT_PRESSED_NS  (50 * NS_PER_MS)
#define AGENT_PRESSURE_NS (10 * NS_PER_S)
#define AGENT_LEAVE_TICK_MS  5 /* the launcher waits for its end */
/* After "quit" the workers have this long before they are killed. */
#define AGENT_LEAVE_NS (3 * NS_PER_S)
/* Descriptors of a worker: its socket, note and log, and connections that are
 * passed on to it. */
#define AGENT_SLOT_FILES 5
/* Memory to build, seal and send one last message. */
#define AGENT_SPARE_BYTES (32 * 1024)
/* Later nobody waits for an agent that does not come back to its loop, or whose
 * workers survive a kill as a driver may make them: the coordinator took it for
 * lost long ago. */
#define AGENT_STUCK_NS (60 * NS_PER_S)
/* Less than what the coordinator waits for last words. */
#define LOOK_NS (1500 * NS_PER_MS)

/* Sends @msg (reference stolen) to the coordinator, while it is there. */
static void agent_tell(struct agent *a, json_t *msg)
{
	wire_send(&a->wire, msg);
}

/* ---- last words ---------------------------------------------------------- */

/* Read the counters of ports and GPUs again.  Runs in a thread, since drivers
 * and the child may take long; writes only the facts of a->words. */
static void read_again(uv_work_t *work)
{
	struct agent *a = work->data;
	const int64_t deadline_ns = clock_now_ns() + LOOK_NS;
	struct gpu_list list;

	for (size_t i = 0; i < a->n_ports; i++) {
		struct port now = a->ports[i];

		port_read_again(a->root, &now);
		port_growth_facts(&a->ports[i], &now, a->words.grown);
	}
	if (json_array_size(inventory_seen(a->inventory).gpus) > 0) {
		inventory_ask_gpus(a->root, &list, a->words.gpus, deadline_ns,
				   NULL);
	}
	if (a->tools) {
		tools_facts(a->root, a->ports, a->n_ports, deadline_ns,
			    a->words.gpus);
	}
}

/* Report which counters have grown since the start. */
static void tell_words(uv_work_t *work, int status)
{
	struct agent *a = work->data;

	(void)status;
	a->words.asking = false;
	gpu_growth_facts(inventory_seen(a->inventory).facts, a->words.gpus,
			 a->words.grown);
	json_decref(a->words.gpus);
	agent_tell(a, message_new(MSG_LAST_FACTS, "{s:o}", "facts",
				  a->words.grown));
}

static void agent_last_words(struct agent *a)
{
	if (a->words.asking) {
		return;
	}
	a->words.gpus = json_array();
	a->words.grown = json_array();
	a->words.work.data = a;
	/* without a thread nothing has grown */
	a->words.asking =
		(a->n_ports > 0 ||
		 json_array_size(inventory_seen(a->inventory).gpus) > 0) &&
		uv_queue_work(&a->loop, &a->words.work, read_again,
			      tell_words) == 0;
	if (!a->words.asking) {
		tell_words(&a->words.work, 0);
	}
}

static void agent_leave(struct agent *a, int exit_code);
static void agent_tick(uv_timer_t *t);

static struct slot *slot_of_rank(struct agent *a, int64_t rank)
{
	for (int i = 0; i < a->n_slots; i++) {
		if (a->slots[i].rank == rank) {
			return &a->slots[i];
		}
	}
	return NULL;
}

/* ---- data connections -------------------------------------------------- */

/* Drop those that have waited long enough; INT64_MAX drops all. */
static void early_expire(struct agent *a, int64_t now_ns)
{
	for (int i = a->n_early - 1; i >= 0; i--) {
		if (a->early[i].until_ns < now_ns) {
			door_drop(a->early[i].conn);
			a->early[i] = a->early[--a->n_early];
		}
	}
}

static void data_stranger(const char *text, void *arg)
{
	agent_tell(arg, message_new(MSG_EVENT, "{s:s,s:s}", "event", "stranger",
				    "detail", text));
}

static void data_guest(uv_tcp_t *conn, const uint8_t *task,
		       const struct auth_session *keys, void *arg)
{
	struct agent *a = arg;
	char nonce[33];

	(void)keys;	/* the data itself is plain */
	hash_hex(task, AUTH_ID_BYTES, nonce);
	for (int i = 0; i < a->n_slots; i++) {
		struct slot *s = &a->slots[i];

		if (strcmp(s->nonce, nonce) != 0) {
			continue;
		}
		if (s->state == SLOT_BUSY) {
			slot_conn(s, conn);
		} else {
			door_drop(conn);	/* its task has ended already */
		}
		return;
	}
	if (a->n_early == EARLY_MAX) {
		door_drop(conn);
		return;
	}
	a->early[a->n_early].conn = conn;
	a->early[a->n_early].until_ns = clock_now_ns() + EARLY_NS;
	STR_COPY(a->early[a->n_early++].nonce, nonce);
}

/* ---- workers ------------------------------------------------------------ */

/* Reports how busy the node is after a process did not run for @late_ns. */
static void tell_pressure(struct agent *a, int64_t late_ns)
{
	int64_t now = clock_now_ns();
	char text[120];

	if (late_ns < AGENT_PRESSED_NS || now < a->pressed_ns) {
		return;
	}
	a->pressed_ns = now + AGENT_PRESSURE_NS;
	pressure_text(a->root, text, sizeof(text));
	if (text[0] != '\0') {
		agent_tell(a, message_new(MSG_EVENT, "{s:s,s:s}", "event",
					  "pressure", "detail", text));
	}
}

static void slot_message(struct slot *s, json_t *msg)
{
	agent_tell(s->arg, json_incref(msg));
}

static void slot_entry(struct slot *s, enum message_type type,
		       const void *bytes, size_t n, int64_t late_ns)
{
	struct agent *a = s->arg;

	wire_send_entry(&a->wire, type, bytes, n);
	tell_pressure(a, late_ns);
}

/* Returns the descriptors and processes that @workers more workers would need;
 * processes of workers that run already do not count. */
static struct limit_user needs(const struct agent *a, int workers)
{
	struct limit_user u = {
		.dir = a->dir,
		.files = AGENT_FILES + (long)workers * AGENT_SLOT_FILES,
		.tasks = workers,
	};

	for (int i = 0; i < a->n_slots && u.tasks > 1; i++) {
		u.tasks -= a->slots[i].state != SLOT_LEAVING;
	}
	return u;
}

/* The text of @e, with the limit that this process ran into (new reference). */
static json_t *limit_json(const struct agent *a, const struct err *e)
{
	const struct limit_user all = needs(a, a->n_wanted);
	char text[600];

	return json_text(limit_text(e, &all, text, sizeof(text)));
}

/* There is no worker for @rank. */
static void tell_unusable(struct agent *a, int rank, const struct err *e)
{
	const char *limit = limit_code(e->code);

	agent_tell(a, message_new(MSG_UNUSABLE, "{s:i,s:s,s:o}", "rank", rank,
				  "code", limit ? limit : "worker_start",
				  "detail", limit_json(a, e)));
}

/* If @e is a lack of memory or descriptors, for which this agent leaves, tell
 * the coordinator: otherwise it takes the node for lost. */
static void tell_short(void *arg, const struct err *e)
{
	struct agent *a = arg;
	const char *limit = limit_code(e->code);

	free(a->spare);
	a->spare = NULL;
	if (limit != NULL) {
		agent_tell(a, message_new(MSG_EVENT, "{s:s,s:o}", "event",
					  limit, "detail", limit_json(a, e)));
	}
}

/* Starts another worker for a slot that has had one. */
static void slot_left(struct slot *s)
{
	struct agent *a = s->arg;
	struct err e = { 0 };

	if (a->state != AGENT_LEAVING && slot_start(s, a->self, &e) < 0) {
		tell_unusable(a, s->rank, &e);
	}
}

static void slot_died(struct slot *s, const struct slot_death *how)
{
	struct agent *a = s->arg;
	bool owed = how->unfit && how->task >= 0;
	char limit[320] = "";

	slot_save_log(s, how, agent_dir(a), NULL);
	if (owed) {	/* came when the worker had said good-bye */
		agent_tell(a, message_new(MSG_REFUSED, "{s:I,s:i}", "id",
					  how->task, "rank", s->rank));
	}
	if (how->out_of_memory) {
		limit_says(ENOMEM, NULL, limit, sizeof(limit));
	}
	agent_tell(a, message_new(MSG_DIED, "{s:i,s:I,s:i,s:i,s:b,s:s,s:s,s:b,"
					    "s:I,s:o}",
				  "rank", s->rank, "id",
				  owed ? (json_int_t)-1 : how->task, "signal",
				  how->signal, "exit", how->exit_code, "hung",
				  how->hung, "code", how->out_of_memory ?
				  LIMIT_MEMORY : "", "detail", limit, "retired",
				  how->retired, "late_ns",
				  (json_int_t)how->late_ns, "step",
				  json_text(how->step)));
	tell_pressure(a, how->late_ns);
	if (!how->retired) {
		slot_left(s);
	}
}

static const struct slot_events slot_events = {
	.message = slot_message,
	.entry = slot_entry,
	.died = slot_died,
	.left = slot_left,
};

/* Starts one @worker of the message @start, or another one if its rank has had
 * one.  What is checked of the whole message, such as the environment, no
 * worker may have of its own. */
static int start_worker(struct agent *a, const json_t *start, json_t *worker,
			struct err *e)
{
	const struct message_in in = message_worker(worker);
	struct slot *s = slot_of_rank(a, in.rank);
	char token[2 * AUTH_BYTES + 1], run[2 * AUTH_ID_BYTES + 1];
	struct err why = { 0 };
	json_t *init, *own;

	hash_hex(a->data.key, AUTH_BYTES, token);
	hash_hex(a->data.run, AUTH_ID_BYTES, run);
	own = json_pack("{s:i,s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "rank", in.rank,
			"local_rank", in.local_rank, "part", in.part, "token",
			token, "run", run, "data_addr", a->data_addr, "ifname",
			a->ifname, "dir", agent_dir(a));
	if (own == NULL || in.rank < 0) {
		json_decref(own);
		return err_set(e, ENOMEM, "cannot start a worker");
	}
	if (s == NULL && a->n_slots == SPEC_MAX_GPUS) {
		json_decref(own);
		return err_set(e, EPROTO, "cannot start a worker");
	}
	init = json_copy((json_t *)start);
	json_object_update(init, own);
	json_object_del(init, "workers");
	json_decref(own);
	init = message_of(MSG_INIT, init);
	if (s != NULL) {
		slot_renew(s, init);
		return 0;
	}
	s = &a->slots[a->n_slots];
	if (needs(a, a->n_slots + 1).files > limit_files()) {
		/* with none left its connections would be closed unseen, and
		 * others would be blamed */
		json_decref(init);
		err_set(&why, EMFILE, "no worker was started");
	} else if (slot_init(s, &a->loop, init, &slot_events, a, &why) < 0) {
		slot_release(s);
	} else {
		a->n_slots++;
		slot_start(s, a->self, &why);
	}
	if (why.text[0] != '\0') {
		tell_unusable(a, in.rank, &why);
	}
	return 0;
}

/* Obeys the message "start" @msg: makes the model, or starts the workers. */
static int start_ranks(struct agent *a, const json_t *msg, struct err *e)
{
	const struct message_in in = message_read(msg);
	struct sockaddr_storage sa = { 0 };
	struct interface at;
	struct ip_addr ip;
	json_t *worker;
	size_t i;

	if (in.how != NULL && order_how_parse(in.how, &a->how, e) < 0) {
		return -1;
	}
	if (in.model != NULL) {
		model_free(a->model);
		a->model = model_new(in.model, e);
		return a->model != NULL ? 0 : -1;
	}
	if (guard_env(in.env, &a->spec, e) < 0 ||
	    guard_options(in.options, &a->spec, e) < 0) {
		return -1;
	}
	/* If the coordinator is on this node, the address by which others have
	 * reached it tells more than the one by which this agent has. */
	if (a->door != NULL && ip_parse(in.reached, &ip, NULL) == 0) {
		ip_sockaddr(&ip, door_port(a->door), &sa);
		if (interface_of((struct sockaddr *)&sa, &at)) {
			net_addr_text((struct sockaddr *)&sa, a->data_addr,
				      sizeof(a->data_addr));
			STR_COPY(a->ifname, at.name);
		}
	}
	a->n_wanted = (int)json_array_size(in.workers);
	json_array_foreach(in.workers, i, worker)
	{
		if (start_worker(a, msg, worker, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* Return true if the worker of @s (NULL: none) can take task @id; otherwise
 * refuse the task towards the coordinator. */
static bool may_work(struct agent *a, struct slot *s, int64_t id, int64_t rank,
		     const char *nonce, int64_t budget_ns)
{
	if (s != NULL && slot_task(s, id, nonce, budget_ns)) {
		return true;
	}
	agent_tell(a, message_new(MSG_REFUSED, "{s:I,s:I}", "id",
				  (json_int_t)id, "rank", (json_int_t)rank));
	return false;
}

/* Passes connections that came early to the worker of @s, which has been told
 * of its task. */
static void pass_early(struct agent *a, struct slot *s)
{
	for (int i = a->n_early - 1; i >= 0; i--) {
		if (strcmp(a->early[i].nonce, s->nonce) == 0) {
			slot_conn(s, a->early[i].conn);
			a->early[i] = a->early[--a->n_early];
		}
	}
}

/* The @n bytes to the worker of @s, which is to work at @o now or, not @works,
 * only to know. */
static void pass_entry(struct agent *a, struct slot *s, enum message_type type,
		       const void *bytes, size_t n, const struct order_word *o,
		       bool works)
{
	if (works && !may_work(a, s, o->id, o->rank, o->text,
			       order_budget_ns(&a->how))) {
		return;
	}
	if (s != NULL) {
		wire_send_entry(&s->wire, type, bytes, n);
	}
	if (works) {
		pass_early(a, s);
	}
}

static void pass_order(struct agent *a, const void *bytes, size_t n)
{
	struct str report = STR_INIT;
	struct order_word word;
	struct order o;
	struct slot *s;

	if (order_read(bytes, n, &o, NULL) < 0) {
		return;		/* its deadline tells */
	}
	if (a->model != NULL) {
		/* the model answers at once in place of a worker */
		if (model_report(a->model, &o, &a->how, &report)) {
			wire_send_entry(&a->wire, MSG_DONE, report.data,
					report.len);
		}
		str_release(&report);
		return;
	}
	s = slot_of_rank(a, o.rank);
	word = (struct order_word){ .rank = o.rank, .id = o.id };
	STR_COPY(word.text, o.nonce);
	/* not now: "go" will follow */
	pass_entry(a, s, MSG_TASK, bytes, n, &word, o.now || s == NULL ||
		   (s->state != SLOT_IDLE && s->state != SLOT_BUSY));
}

static void pass_collective(struct agent *a, struct slot *s, json_t *msg)
{
	json_t *answer;

	if (a->model == NULL) {
		if (may_work(a, s, message_int(msg, "id"),
			     message_int(msg, "rank"),
			     json_member(msg, "nonce"),
			     message_int(msg, "budget_ns"))) {
			wire_send(&s->wire, json_incref(msg));
			pass_early(a, s);
		}
		return;
	}
	answer = model_collective(a->model, msg);
	if (answer != NULL) {
		agent_tell(a, message_of(MSG_COLLECTIVE_DONE, answer));
	}
}

/* ---- a task for the whole node ------------------------------------------- */

/* How a child has ended, as "node_done". */
static json_t *node_task_end(const char *outcome, const char *code,
			     const char *detail)
{
	return message_new(MSG_NODE_DONE, "{s:s,s:s,s:o}", "outcome", outcome,
			   "code", code, "detail", json_text(detail));
}

/* A handle or the wire of the child is closed.  After the last one the result
 * is reported. */
static void child_part_closed(void *arg)
{
	struct node_task *t = arg;
	struct spawn_status st = {
		.exit_code = (int)t->exit_code,
		.signal = t->exit_signal,
	};
	char how[64], detail[200];

	if (--t->open_handles > 0 || t->done == NULL) {
		return;
	}
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

static void child_handle_closed(uv_handle_t *h)
{
	child_part_closed(h->data);
}

void node_task_kill(struct node_task *t)
{
	if (!node_task_idle(t) &&
	    !uv_is_closing((uv_handle_t *)&t->process)) {
		uv_process_kill(&t->process, SIGKILL);
	}
}

static void child_timed_out(uv_timer_t *timer)
{
	struct node_task *t = timer->data;

	t->hung = true;
	node_task_kill(t);
}

static void child_exited(uv_process_t *p, int64_t code, int signo)
{
	struct node_task *t = p->data;

	t->exit_code = code;
	t->exit_signal = signo;
	uv_close((uv_handle_t *)&t->timer, child_handle_closed);
	uv_close((uv_handle_t *)p, child_handle_closed);
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
	.freed = child_part_closed,
};

int node_task_start(struct node_task *t, uv_loop_t *loop, const char *self,
		    const char *name, json_t *msg, int64_t limit_ns,
		    struct err *e)
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
		.exit_cb = child_exited,
		.file = self,
		.args = argv,
		.stdio_count = 3,
		.stdio = io,
	};
	int rc = UV_ENOMEM;

	t->hung = false;
	t->limit_ns = limit_ns;
	if (pipe != NULL) {
		uv_pipe_init(loop, pipe, 0);
		uv_timer_init(loop, &t->timer);
		t->timer.data = t->process.data = t;
		t->open_handles = 3;	/* these two and the wire */
		rc = uv_spawn(loop, &t->process, &o);
		wire_open(&t->wire, (uv_stream_t *)pipe, MSG_FROM_WORKER, NULL,
			  &child_events, t);
	}
	if (pipe != NULL && rc < 0) {
		t->done = NULL;
		child_exited(&t->process, 0, 0);
		wire_close(&t->wire, NULL);
	}
	if (rc < 0) {
		return err_set(e, -rc, "cannot start '%s worker %s'", self,
			       name);
	}
	uv_timer_start(&t->timer, child_timed_out,
		       (uint64_t)(limit_ns / NS_PER_MS), 0);
	wire_send(&t->wire, json_incref(msg));
	return 0;
}

static void node_said(struct node_task *t, const void *bytes, size_t n)
{
	struct agent *a = t->arg;

	wire_send_entry(&a->wire, MSG_NODE_SAID, bytes, n);
}

static void node_done(struct node_task *t, json_t *msg)
{
	agent_tell(t->arg, msg);
}

static void give_node_task(struct agent *a, json_t *msg)
{
	const struct message_in in = message_read(msg);
	const struct probe *probe = probe_find(in.probe);
	const json_t *options = json_object_get(in.args, "options");
	const struct limit_user one = needs(a, 1);
	struct node_task *t = &a->node_task;
	struct err e = { 0 };
	const char *limit;
	struct spec spec;
	char text[600];

	if (probe == NULL || probe->kind != PROBE_NODES || !node_task_idle(t)) {
		err_set(&e, 0, "this agent cannot run that probe now");
	} else if (guard_options(options, &a->spec, &e) == 0 &&
		   spec_from_json(&spec, options, &e) == 0) {
		*t = (struct node_task){ .said = node_said, .done = node_done,
					 .arg = a };
		if (node_task_start(t, &a->loop, a->self, probe->name, msg,
				    probe_limit_ns(probe, &spec), &e) == 0) {
			return;
		}
	}
	limit = limit_code(e.code);
	agent_tell(a, node_task_end(limit ? "not_run" : "error",
				    limit ? limit : "worker_start",
				    limit_text(&e, &one, text, sizeof(text))));
}

/* ---- the coordinator ---------------------------------------------------- */

/* Answers "welcome" @msg of the coordinator: the agent runs, or a->why says why
 * it takes no part. */
static void take_welcome(struct agent *a, const json_t *msg)
{
	const struct message_in in = message_read(msg);

	if (in.why[0] != '\0') {
		err_set(&a->why, 0, "the coordinator rejected the agent: %s",
			in.why);
	} else if (version_check("the coordinator", in.version, &a->why) == 0) {
		a->state = AGENT_RUNNING;
		return;
	}
	a->state = AGENT_REFUSED;
	wire_close(&a->wire, NULL);
}

/* An agent that is not welcome yet gets a message of @type: an answer may have
 * been held back on its way until the run was over. */
static void refuse_early(struct agent *a, enum message_type type)
{
	err_set(&a->why, 0, type == MSG_QUIT ?
		"the run ended before it accepted this agent" :
		"the coordinator sent '%s' before 'welcome'",
		messages[type].name);
	a->state = AGENT_REFUSED;
	wire_close(&a->wire, NULL);
}

void agent_obey(void *agent, json_t *msg)
{
	struct agent *a = agent;
	struct slot *s = slot_of_rank(a, message_int(msg, "rank"));
	enum message_type type = message_type(msg);

	if (a->state == AGENT_JOINING && type == MSG_WELCOME) {
		take_welcome(a, msg);
	} else if (a->state == AGENT_JOINING && type != MSG_BEAT) {
		refuse_early(a, type);
	}
	if (a->state != AGENT_RUNNING) {
		return;
	}
	switch (type) {
	case MSG_COLLECTIVE:
		pass_collective(a, s, msg);
		break;
	case MSG_CANCEL:
	case MSG_CLOSE:
		if (s != NULL) {
			wire_send(&s->wire, json_incref(msg));
		}
		break;
	case MSG_KILL:
		if (s != NULL) {
			slot_kill(s);
		}
		break;
	case MSG_LAST_LOOK:
		agent_last_words(a);
		break;
	case MSG_NODE_TASK:
		give_node_task(a, msg);
		break;
	case MSG_NODE_TELL:
	case MSG_NODE_LEAVE:
		wire_send(&a->node_task.wire, json_incref(msg));
		break;
	case MSG_START:
		if (start_ranks(a, msg, &a->why) < 0) {
			tell_short(a, &a->why);
			agent_leave(a, 3);
		}
		break;
	case MSG_QUIT:
		agent_leave(a, 0);
		break;
	default:
		break;	/* a beat, or another welcome */
	}
}

void agent_obey_entry(void *agent, enum message_type type, const void *bytes,
		      size_t n)
{
	struct agent *a = agent;
	struct order_word o;

	if (a->state == AGENT_JOINING) {
		refuse_early(a, type);
	} else if (a->state != AGENT_RUNNING) {
		return;
	} else if (type == MSG_TASK) {
		pass_order(a, bytes, n);
	} else if (a->model == NULL &&
		   order_word_read(bytes, n, &o, NULL) == 0) {
		pass_entry(a, slot_of_rank(a, o.rank), type, bytes, n, &o,
			   type == MSG_GO);
	}
}

static void coordinator_lost(void *arg, const char *why)
{
	struct agent *a = arg;

	if (a->state != AGENT_LEAVING) {
		err_set(&a->why, 0, "connection to the coordinator lost: %s",
				    why);
	}
	if (a->state == AGENT_RUNNING) {
		agent_leave(a, 4);
		agent_note_lost(a, why);
	}
}

static const struct wire_events coordinator_events = {
	.message = agent_obey,
	.entry = agent_obey_entry,
	.short_of = tell_short,
	.closed = coordinator_lost,
};

static void stop_watching(struct agent *a)
{
	if (a->tick.data != NULL && !uv_is_closing((uv_handle_t *)&a->tick)) {
		uv_close((uv_handle_t *)&a->tick, NULL);
		uv_close((uv_handle_t *)&a->on_term, NULL);
		uv_close((uv_handle_t *)&a->on_int, NULL);
	}
}

/* Everything of ours is gone: let the loop run dry. */
static void leave_when_alone(struct agent *a)
{
	for (int i = 0; i < a->n_slots; i++) {
		if (!slot_closed(&a->slots[i])) {
			return;
		}
	}
	if (!node_task_idle(&a->node_task) || a->words.asking) {
		return;
	}
	wire_close(&a->wire, NULL);
	if (a->coordinator_runs) {
		return;		/* it waits for the agents to hang up */
	}
	stop_watching(a);
}

/* The door frees itself: nothing may point to it any more. */
static void close_door(struct agent *a)
{
	door_close(a->door);
	a->door = NULL;
	early_expire(a, INT64_MAX);
}

static void agent_leave(struct agent *a, int exit_code)
{
	if (a->state == AGENT_LEAVING) {
		return;
	}
	a->state = AGENT_LEAVING;
	a->exit_code = exit_code;
	a->leave_ns = clock_now_ns() + AGENT_LEAVE_NS;
	watchdog_set(AGENT_STUCK_NS, exit_code);
	if (uv_is_active((uv_handle_t *)&a->tick)) {
		uv_timer_start(&a->tick, agent_tick, 0, AGENT_LEAVE_TICK_MS);
	}
	close_door(a);
	node_task_kill(&a->node_task);
	for (int i = 0; i < a->n_slots; i++) {
		/* in order when the run ended, at once when it broke */
		if (exit_code == 0) {
			slot_quit(&a->slots[i]);
		} else {
			slot_kill(&a->slots[i]);
		}
	}
}

static void agent_tick(uv_timer_t *t)
{
	struct agent *a = t->data;
	int64_t now = clock_now_ns(), late_ns = 0;
	struct boot_contact c;
	char text[64];

	if (a->state >= AGENT_RUNNING) {	/* joining may take long */
		late_ns = late_look(&a->looked_ns, now,
				    AGENT_TICK_MS * NS_PER_MS);
	}
	if (late_ns > AGENT_LATE_NS) {
		snprintf(text, sizeof(text), "the agent did not run for %.1f s",
			 (double)late_ns / 1e9);
		agent_tell(a, message_new(MSG_EVENT, "{s:s,s:s,s:I}", "event",
					  "late", "detail", text, "late_ns",
					  (json_int_t)late_ns));
		tell_pressure(a, late_ns);
		a->listen_ns = now + AGENT_LISTEN_NS;
	}
	/* what was said meanwhile is heard first, and then deadlines count */
	for (int i = 0; i < a->n_slots && now > a->listen_ns; i++) {
		slot_tick(&a->slots[i]);
	}
	if (a->state == AGENT_LEAVING) {
		for (int i = 0; i < a->n_slots && now > a->leave_ns; i++) {
			slot_kill(&a->slots[i]);
		}
		if (a->coordinator_runs && now > a->leave_ns + AGENT_LEAVE_NS) {
			uv_process_kill(&a->coordinator, SIGKILL);
		}
		leave_when_alone(a);
		return;
	}
	watchdog_set(AGENT_STUCK_NS, CODE_PARTIAL);
	early_expire(a, now);
	/* rank 0 of PMI2 leaves its fence when the last one has entered it */
	if (!a->told_started && a->state == AGENT_RUNNING && a->boot.size > 1 &&
	    a->boot.how == BOOT_PMI2 && boot_hosts(&a->boot) &&
	    boot_pmi2_result(&c, NULL) > 0) {
		a->told_started = true;
		agent_tell(a, message_new(MSG_STARTED, NULL));
	}
	wire_beat(&a->wire, now, a->spec.silence_ns);
}

/* The batch system or the user wants the run to end: in order, please. */
static void agent_signal(uv_signal_t *sig, int signum)
{
	struct agent *a = sig->data;

	(void)signum;
	agent_tell(a, message_new(MSG_STOP, NULL));
}

/* ---- the process --------------------------------------------------------- */

static int agent_watch(struct agent *a)
{
	uv_timer_init(&a->loop, &a->tick);
	uv_signal_init(&a->loop, &a->on_term);
	uv_signal_init(&a->loop, &a->on_int);
	a->tick.data = a->on_term.data = a->on_int.data = a;
	return uv_timer_start(&a->tick, agent_tick, AGENT_TICK_MS,
			      AGENT_TICK_MS);
}

int agent_main(const char *dir, struct err *e)
{
	const struct limit_user least = { .who = "agent", .dir = dir,
					  .files = AGENT_FILES, .tasks = 2 };
	struct agent *a;
	int code, rc;

	/* the note to the run takes files as well: none is open yet */
	if (limit_files_check(&least, e) < 0) {
		agent_excuse(dir, e);
		return CODE_UNABLE;
	}
	a = calloc(1, sizeof(*a));
	rc = a != NULL ? uv_loop_init(&a->loop) : UV_ENOMEM;
	if (rc < 0) {
		free(a);
		err_set(e, -rc, "cannot start an agent");
		limit_hint(e, &least);
		agent_excuse(dir, e);
		return CODE_UNABLE;
	}
	signal(SIGPIPE, SIG_IGN);
	a->dir = dir;
	a->events = &coordinator_events;
	a->on_guest = data_guest;
	a->on_stranger = data_stranger;
	a->spare = malloc(AGENT_SPARE_BYTES);
	a->inventory = json_object();
	if (agent_boot(a, &a->why) < 0 || agent_watch(a) < 0 ||
	    agent_join(a, &a->why) < 0) {
		limit_hint(&a->why, &least);
		agent_tell_why(a);
		/* what has been opened closes as the loop runs */
		close_door(a);
		wire_close(&a->wire, NULL);
		stop_watching(a);
		if (a->coordinator_runs) {
			uv_process_kill(&a->coordinator, SIGKILL);
		}
	} else if (a->state != AGENT_LEAVING) {	/* not ended by the run */
		uv_signal_start(&a->on_term, agent_signal, SIGTERM);
		uv_signal_start(&a->on_int, agent_signal, SIGINT);
	}
	uv_run(&a->loop, UV_RUN_DEFAULT);
	uv_loop_close(&a->loop);
	code = a->exit_code;
	*e = a->why;
	for (int i = 0; i < a->n_slots; i++) {
		slot_release(&a->slots[i]);
	}
	free(a->ports);
	free(a->spare);
	model_free(a->model);
	json_decref(a->inventory);
	free(a);
	return code;
}
