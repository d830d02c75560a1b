/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The coordinator: a process of its own beside agent 0, so that its cost can
 * be read and its death is seen.  It owns plan, dispatch and rows; agents come
 * to its door, and what they say drives everything.
 */
#include "probes/engine/coord/coordinator.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/probes.h"

#define COORD_TICK_MS	  100
#define COORD_LEAVE_TICK_MS 5	/* somebody waits for the end */
#define COORD_BEAT_NS	  (1 * NS_PER_S)
#define COORD_SILENCE_NS  (5 * NS_PER_S)
#define COORD_LEAVE_NS	  (5 * NS_PER_S)
/* Asked to stop: what is running may finish within this. */
#define COORD_STOP_NS	  (2 * NS_PER_S)
#define COORD_STRANGERS	  20
#define COORD_MAX_AGENTS  65536

static void coord_start(struct coord *c);
static void coord_tick(uv_timer_t *t);

/* ---- leaving ---------------------------------------------------------------- */

static void closed(uv_handle_t *h)
{
	(void)h;
}

void coord_send(struct coord *c, int rank, json_t *msg)
{
	struct coord_agent *agent = c->ranks[rank].agent;

	if (agent != NULL && agent->open) {
		wire_send(&agent->wire, msg);
	} else {
		json_decref(msg);
	}
}

void coord_leave(struct coord *c)
{
	struct rusage u;
	double cpu_us;
	struct err e = { 0 };

	if (c->phase == COORD_LEAVE) {
		return;
	}
	c->phase = COORD_LEAVE;
	c->leave_deadline_ns = clock_now_ns() + COORD_LEAVE_NS;
	if (!coord_resume_misfit(c)) {
		c->work->write_facts(c);
	}
	getrusage(RUSAGE_SELF, &u);
	cpu_us = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
		 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	coord_event(c, NULL, -1, "coordinator_cpu",
		    "%.0f us, %zu tasks, %.1f us a task, max rss %ld KiB",
		    cpu_us, c->tasks_done,
		    c->tasks_done > 0 ? cpu_us / (double)c->tasks_done : 0,
		    u.ru_maxrss);
	coord_event(c, NULL, -1, "end", "%s",
		    c->stop_reason[0] ? c->stop_reason : "complete");
	if (coord_write_run(c, true, &e) < 0 && c->error.text[0] == '\0') {
		c->error = e;
		c->error_exit = 3;
	}
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (a->open) {
			wire_send(&a->wire, json_pack("{s:s}", "t", "quit"));
		}
	}
	if (uv_is_active((uv_handle_t *)&c->tick)) {
		uv_timer_start(&c->tick, coord_tick, COORD_LEAVE_TICK_MS,
			       COORD_LEAVE_TICK_MS);
	}
}

void coord_fail(struct coord *c, const struct err *e, int exit_code)
{
	c->error = *e;
	c->error_exit = exit_code;
	STR_COPY(c->stop_reason, "failed");
	coord_event(c, NULL, -1, "failed", "%s", e->text);
	coord_leave(c);
}

bool coord_rank_out(struct coord *c, int rank, enum rank_state state,
		    const char *code, const char *detail)
{
	struct coord_rank *r = &c->ranks[rank];

	if (r->state > RANK_READY) {
		return false;
	}
	r->state = state;
	STR_COPY(r->code, code);
	STR_COPY(r->detail, detail);
	coord_event(c, coord_node(c, rank), rank, code, "%s", detail);
	return true;
}

static void coord_gone(struct coord *c)
{
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (a->open && clock_now_ns() < c->leave_deadline_ns) {
			return;
		}
	}
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (a->open) {
			wire_close(&a->wire, NULL);
		}
	}
	door_close(c->door);
	c->door = NULL;
	if (!uv_is_closing((uv_handle_t *)&c->tick)) {
		uv_close((uv_handle_t *)&c->tick, closed);
		uv_close((uv_handle_t *)&c->on_term, closed);
		uv_close((uv_handle_t *)&c->on_int, closed);
	}
}

void coord_stop(struct coord *c, const char *reason)
{
	const char *code = strcmp(reason, "max_time") == 0 ? "out_of_time" :
							     "interrupted";

	if (c->phase >= COORD_STOP) {
		return;
	}
	STR_COPY(c->stop_reason, reason);
	coord_event(c, NULL, -1, "stop", "%s", reason);
	if (c->phase == COORD_BOOT) {
		coord_leave(c);
		return;
	}
	c->phase = COORD_STOP;
	coord_write_run(c, false, NULL);	/* there may be no time later */
	c->stop_deadline_ns = clock_now_ns() + COORD_STOP_NS;
	c->work->stop(c, code);
}

/* ---- agents ----------------------------------------------------------------- */

static int read_hello(struct coord_agent *a, const json_t *msg, struct err *e)
{
	int64_t rank;
	json_t *inventory;

	if (json_get_int(msg, "rank", 0, COORD_MAX_AGENTS, &rank, e) < 0 ||
	    json_get_int(msg, "local_rank", -1, SPEC_MAX_GPUS - 1,
			 &a->local_rank, e) < 0 ||
	    json_opt_int(msg, "local_size", 0, INT32_MAX, &a->local_size, e) <
		    0 ||
	    json_get_text(msg, "node", a->node, sizeof(a->node), e) < 0 ||
	    json_get_bool(msg, "pretend", &a->pretend, e) < 0 ||
	    json_get_bool(msg, "sees_dir", &a->sees_dir, e) < 0 ||
	    json_opt_int(msg, "gpus_on_node", 0, SPEC_MAX_GPUS,
			 &a->gpus_on_node, e) < 0) {
		return -1;
	}
	inventory = json_get_object(msg, "inventory", e);
	if (inventory == NULL) {
		return -1;
	}
	json_opt_text(inventory, "boot_id", a->boot_id, sizeof(a->boot_id),
		      NULL);
	a->boot_rank = (int)rank;
	a->gpus_found =
		(int)json_array_size(json_object_get(inventory, "gpus"));
	if (a->gpus_found > SPEC_MAX_GPUS) {
		a->gpus_found = SPEC_MAX_GPUS;
	}
	a->driver = json_is_string(json_object_get(inventory, "driver"));
	a->inventory = json_incref(inventory);
	a->said_hello = true;
	return 0;
}

static void agent_hello(struct coord *c, struct coord_agent *a,
			const json_t *msg)
{
	struct err e = { 0 };

	if (a->said_hello || c->phase != COORD_BOOT ||
	    read_hello(a, msg, &e) < 0) {
		wire_close(&a->wire, c->phase != COORD_BOOT ?
					     "came too late" :
					     e.text);
		return;
	}
	coord_event(c, a->node, -1, "agent", "agent %d of %d, %d GPUs",
		    a->boot_rank, c->size, a->gpus_found);
	if (++c->n_hello == c->size) {
		coord_start(c);
	}
}

static void agent_said(struct wire *w, json_t *msg, void *arg)
{
	struct coord_agent *a = arg;
	struct coord *c = a->c;
	const char *t = wire_type(msg);

	(void)w;
	a->heard_ns = clock_now_ns();
	if (strcmp(t, "hello") == 0) {
		agent_hello(c, a, msg);
	} else if (strcmp(t, "stop") == 0) {
		coord_stop(c, "interrupted");
	} else if (strcmp(t, "event") == 0) {
		char event[48] = "", detail[300] = "";

		json_opt_text(msg, "event", event, sizeof(event), NULL);
		json_opt_text(msg, "detail", detail, sizeof(detail), NULL);
		coord_event(c, a->node, -1, event, "%s", detail);
	} else if (strcmp(t, "beat") != 0 && a->said_hello &&
		   c->phase != COORD_LEAVE) {
		c->work->message(c, a, msg);
	}
}

static void agent_gone(struct wire *w, const char *why, void *arg)
{
	struct coord_agent *a = arg;
	struct coord *c = a->c;
	char detail[300];

	(void)w;
	if (c->phase == COORD_LEAVE || !a->said_hello) {
		return;
	}
	a->lost = true;
	snprintf(detail, sizeof(detail), "agent lost: %s", why);
	coord_event(c, a->node, -1, "agent_lost", "%s", why);
	if (c->phase == COORD_BOOT) {
		a->said_hello = false;
		c->n_hello--;
		return;
	}
	c->work->agent_lost(c, a, detail);
}

static void agent_freed(struct wire *w)
{
	struct coord_agent *a = w->arg;

	a->open = false;
}

static void guest(uv_tcp_t *tcp, const struct door_hello *h, void *arg)
{
	struct coord *c = arg;
	struct coord_agent *a = calloc(1, sizeof(*a));

	(void)h;
	if (a == NULL) {
		door_drop(tcp);
		return;
	}
	a->c = c;
	a->only_gpu = -1;
	a->open = true;
	a->heard_ns = clock_now_ns();
	a->next = c->agents;
	c->agents = a;
	wire_open(&a->wire, (uv_stream_t *)tcp, agent_said, agent_gone,
		  agent_freed, a);
}

static void stranger(const char *from, const char *why, void *arg)
{
	struct coord *c = arg;

	if (++c->strangers <= COORD_STRANGERS) {
		coord_event(c, NULL, -1, "stranger", "control port: %s %s",
			    from, why);
	}
}

/* ---- start ------------------------------------------------------------------ */

static void coord_start(struct coord *c)
{
	struct err e = { 0 };

	c->run_ns = clock_now_ns();
	c->error_exit = 3;
	c->phase = COORD_RUN;
	if (c->work->start(c, &e) < 0) {
		coord_fail(c, &e, c->error_exit);
	}
}

/* ---- the clock -------------------------------------------------------------- */

static void watch_agents(struct coord *c, int64_t now)
{
	bool beat = now > c->beat_ns;

	if (beat) {
		c->beat_ns = now + COORD_BEAT_NS;
	}
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (!a->open) {
			continue;
		}
		if (beat) {
			wire_send(&a->wire, json_pack("{s:s}", "t", "beat"));
		}
		if (now > a->heard_ns + COORD_SILENCE_NS) {
			wire_close(&a->wire, "silent for 5 s");
		}
	}
}

/*
 * For a front that only sees the directory.  Nothing is made of a failure: the
 * front may have gone, and its directory with it.
 */
static void give_sign(struct coord *c, int64_t now)
{
	char path[PATH_MAX];

	if (now - c->sign_ns >= RUN_SIGN_NS &&
	    rundir_path(c->dir, RUN_RENDEZVOUS, path, NULL) == 0) {
		c->sign_ns = now;
		utimensat(AT_FDCWD, path, NULL, 0);
	}
}

void coord_keep_alive(struct coord *c)
{
	int64_t now = clock_now_ns();

	if (now < c->beat_ns) {
		return;
	}
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		a->heard_ns = now;
	}
	watch_agents(c, now);
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (a->open) {
			wire_push(&a->wire);
		}
	}
	give_sign(c, now);
}

static void coord_tick(uv_timer_t *t)
{
	struct coord *c = t->data;
	int64_t now = clock_now_ns();

	if (c->phase == COORD_LEAVE) {
		coord_gone(c);
		return;
	}
	watch_agents(c, now);
	give_sign(c, now);
	if (c->phase == COORD_BOOT) {
		if (now > c->boot_deadline_ns) {
			coord_start(c);
		}
		return;
	}
	if (c->run_deadline_ns > 0 && now > c->run_deadline_ns) {
		coord_stop(c, "max_time");
	}
	if (c->phase == COORD_STOP && now > c->stop_deadline_ns) {
		c->stop_deadline_ns = now + COORD_STOP_NS;
		c->work->cancel(c);
	}
	c->work->tick(c, now);
}

static void coord_signal(uv_signal_t *sig, int signum)
{
	(void)signum;
	coord_stop(sig->data, "interrupted");
}

/* ---- the process ------------------------------------------------------------ */

/* What run.json wants probed, and who does that kind of work. */
static int find_work(struct coord *c, struct err *e)
{
	static const struct coord_work *const works[] = {
		[PROBE_PAIRS] = &coord_work_pairs,
		[PROBE_NODES] = &coord_work_nodes,
		[PROBE_GROUP] = &coord_work_group,
	};
	char name[32] = "";

	if (json_get_text(c->run, "probe", name, sizeof(name), e) < 0) {
		return -1;
	}
	c->probe = probe_find(name);
	if (c->probe == NULL) {
		return err_set(e, 0, "no probe '%s'", name);
	}
	c->work = works[c->probe->kind];
	return 0;
}

static int read_options(struct coord *c, struct err *e)
{
	c->run = rundir_read_json(c->dir, RUN_JSON, e);
	if (c->run == NULL) {
		return -1;
	}
	if (find_work(c, e) < 0) {
		return -1;
	}
	spec_init(&c->spec);
	if (json_get_text(c->run, "nonce", c->nonce, sizeof(c->nonce), e) <
		    0 ||
	    spec_from_json(&c->spec, json_object_get(c->run, "options"), e) <
		    0) {
		return -1;
	}
	if (json_is_string(json_object_get(c->run, "ended_utc"))) {
		/* agents that were started too soon, or twice */
		err_set(e, 0, "the run in '%s' has ended", c->dir);
		return err_hint(e, "start agents after what they are for: "
				"--resume goes on with a run");
	}
	return coord_resume_open(c, e);
}

/* Tell agent 0, who started us, where we listen: one text on stdout. */
static int tell_contact(struct coord *c, struct err *e)
{
	struct boot_contact contact = { 0 };
	char own[NET_MAX_ADDRS][NET_ADDR_TEXT];
	struct str text = STR_INIT;
	int n = 1, rc = 0;

	STR_COPY(own[0], "127.0.0.1");
	if (!c->spec.local && c->size > 1) {
		n = net_own_addrs(own, NET_MAX_ADDRS);
	}
	for (int i = 0; i < n; i++) {
		bool v6 = strchr(own[i], ':') != NULL;

		snprintf(contact.addrs[i], sizeof(contact.addrs[i]),
			 v6 ? "[%.80s]:%u" : "%.80s:%u", own[i],
			 door_port(c->door));
	}
	contact.n_addrs = n;
	memcpy(contact.token, c->token, sizeof(c->token));
	STR_COPY(contact.nonce, c->nonce);
	boot_contact_format(&contact, &text);
	/* far below PIPE_BUF: one write, whole or not at all */
	if (text.failed || write(1, text.data, text.len) < 0) {
		rc = err_set(e, errno, "cannot tell where we listen");
	}
	str_release(&text);
	close(1);
	return rc;
}

/* Token and port: the environment's, where others were told them, else new. */
static int choose_door(struct coord *c, bool *loopback, uint16_t *port,
		       struct err *e)
{
	struct boot_contact contact;
	int64_t number = 0;
	int told = boot_contact_env(&contact, e);

	*port = 0;
	*loopback = told == 0 && (c->spec.local || c->size == 1);
	if (told < 0) {
		return -1;
	}
	if (told == 0) {
		return hash_random(c->token, sizeof(c->token)) == 0 ?
			       0 :
			       err_set(e, EIO, "no random bytes for a token");
	}
	memcpy(c->token, contact.token, sizeof(c->token));
	if (units_parse_int(strrchr(contact.addrs[0], ':') + 1, 1, 65535,
			    &number, e) < 0) {
		return -1;
	}
	*port = (uint16_t)number;
	return 0;
}

static int coord_open(struct coord *c, struct err *e)
{
	const char *size = getenv("GPUCHECK_COORDINATOR_SIZE");
	bool loopback;
	uint16_t port;
	int64_t n = 0;

	if (size == NULL ||
	    units_parse_int(size, 1, COORD_MAX_AGENTS, &n, NULL) < 0) {
		err_set(e, 0, "not started by an agent");
		return err_hint(e, "coordinators are started by agents");
	}
	c->size = (int)n;
	if (read_options(c, e) < 0 || coord_files_open(c, e) < 0) {
		return -1;
	}
	if (choose_door(c, &loopback, &port, e) < 0) {
		return -1;
	}
	c->start_ns = clock_now_ns();
	c->boot_deadline_ns = c->start_ns + c->spec.boot_timeout_ns;
	if (c->spec.max_time_ns > 0) {
		c->run_deadline_ns = c->start_ns + c->spec.max_time_ns;
		if (c->boot_deadline_ns > c->run_deadline_ns) {
			c->boot_deadline_ns = c->run_deadline_ns;
		}
	}
	c->door = door_open(&c->loop, loopback, port, DOOR_CONTROL, c->token,
			    guest, stranger, c, e);
	if (c->door == NULL) {
		return -1;
	}
	return tell_contact(c, e);
}

static void coord_watch(struct coord *c)
{
	uv_timer_init(&c->loop, &c->tick);
	uv_signal_init(&c->loop, &c->on_term);
	uv_signal_init(&c->loop, &c->on_int);
	c->tick.data = c->on_term.data = c->on_int.data = c;
	uv_timer_start(&c->tick, coord_tick, COORD_TICK_MS, COORD_TICK_MS);
	uv_signal_start(&c->on_term, coord_signal, SIGTERM);
	uv_signal_start(&c->on_int, coord_signal, SIGINT);
}

static void coord_release(struct coord *c)
{
	struct coord_agent *next;

	for (struct coord_agent *a = c->agents; a != NULL; a = next) {
		next = a->next;
		json_decref(a->inventory);
		json_decref(a->last_words);
		free(a);
	}
	if (c->work != NULL) {
		c->work->release(c);
	}
	coord_resume_release(c);
	json_decref(c->run);
	coord_files_close(c);
	free(c);
}

int coordinator_main(const char *dir, struct err *e)
{
	struct coord *c = calloc(1, sizeof(*c));
	int code = 0;

	if (c == NULL) {
		err_set(e, ENOMEM, "no memory for a coordinator");
		return 3;
	}
	signal(SIGPIPE, SIG_IGN);
	c->dir = dir;
	uv_loop_init(&c->loop);
	if (coord_open(c, &c->error) < 0) {
		c->error_exit = 3;
		door_close(c->door);
	} else {
		coord_watch(c);
	}
	uv_run(&c->loop, UV_RUN_DEFAULT);
	uv_loop_close(&c->loop);
	if (c->error.text[0] != '\0') {
		*e = c->error;
		code = c->error_exit;
	}
	coord_release(c);
	return code;
}
