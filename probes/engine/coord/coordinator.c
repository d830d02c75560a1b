/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process: its loop, its phases, its deadlines.  From below to above:
 *   run_log.c      what is written into the run directory
 *   agents.c       the agents and their messages; draft.c groups them
 *   work.c         how a run ends, whatever its work is
 *   before.c       going on with a run that ended early
 *   ranks.c        the ranks of pairs and collectives; layout.c makes them
 *   pairs.h, nodes.h, collective.h   three kinds of work
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/limit.h"
#include "lib/base/net.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/engine/coord/ranks.h"
#include "probes/engine/coord/work.h"
#include "probes/engine/net/boot.h"
#include "probes/host/sysfile.h"
#include "probes/probe.h"

/* ---- step words ---------------------------------------------------------- */

#define SRUN	"srun: error: "
#define LOOK_NS NS_PER_S
/* Maximum bytes of job.out read at once; a start prints fewer. */
#define LOOK_MAX (64 * 1024)

bool step_words_parse(const char *line, char nodes[STEP_NODES], int *task)
{
	static const struct {
		const char *before, *after;
		bool task;	/* between them, else nodes */
	} forms[] = {
		/* gcn[2-3]: tasks 1-2: Exited with exit code 1 */
		{ "", ": task", false },
		/* Task launch for StepId=5.0 failed on node gcn2: Invalid
		 * ... */
		{ " failed on node ", ": ", false },
		/* task 1 launch failed: Slurmd could not execve job */
		{ "task ", " launch failed: ", true },
	};
	int64_t number = -1;

	if (!str_starts(line, SRUN)) {
		return false;
	}
	line += strlen(SRUN);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const char *from = strstr(line, forms[i].before);
		const char *to;
		size_t n;

		from = from ? from + strlen(forms[i].before) : NULL;
		to = from ? strstr(from, forms[i].after) : NULL;
		n = to ? (size_t)(to - from) : 0;
		if (n == 0 || n >= STEP_NODES || strcspn(from, " \t") < n) {
			continue;
		}
		snprintf(nodes, STEP_NODES, "%.*s", (int)n, from);
		if (forms[i].task &&
		    units_parse_int(nodes, 0, INT_MAX, &number, NULL) < 0) {
			continue;
		}
		nodes[0] = forms[i].task ? '\0' : nodes[0];
		*task = (int)number;
		return true;
	}
	return false;
}

int64_t step_words_read(const char *dir, int64_t at, step_said_fn said,
			void *arg)
{
	int fd = rundir_open_fd(dir, RUN_JOB_OUT, O_RDONLY | O_NONBLOCK, NULL);
	char *text = fd >= 0 ? malloc(LOOK_MAX) : NULL, *line = text, *end;
	ssize_t n = text ? pread(fd, text, LOOK_MAX, at) : -1;
	char nodes[STEP_NODES];
	int task;

	while (n > 0 &&
	       (end = memchr(line, '\n', (size_t)(n - (line - text))))) {
		*end = '\0';
		if (step_words_parse(line, nodes, &task)) {
			said(arg, nodes, task, line);
		}
		line = end + 1;
	}
	if (n > 0) {
		/* a line as long as that is none of srun's */
		at += line == text && n == LOOK_MAX ? n : line - text;
	}
	free(text);
	if (fd >= 0) {
		close(fd);
	}
	return at;
}

/* ---- coordinator --------------------------------------------------------- */

#define TICK_MS 100
/* Not to run for so long is worth a word, and so long it listens then. */
#define LATE_NS	  NS_PER_S
#define LISTEN_NS NS_PER_S
/* Descriptors: of the loop, the door and its visitors, the tables. */
#define FILES	24
/* Bytes of disk kept for the end of the run, per run and per agent; files that
 * are replaced exist twice for a moment. */
#define ROOM_RUN   (64 << 10)
#define ROOM_AGENT (4 << 10)

/** The process around a run. */
struct coordinator_process {
	struct coord c;
	const char *dir;
	uv_loop_t loop;
	uv_signal_t on_term, on_int;
	char nonce[33];
	uint8_t token[BOOT_TOKEN_BYTES];	/* the secret of the run */
	struct auth auth;		/* of agents, made of it */
	int64_t looked_ns;	/* of late_look() */
	int64_t listen_ns;	/* until then, what is owed may be in line */
	int64_t waited_ns;	/* pressure_waited_ns() at c.begin_ns */
	int64_t boot_deadline_ns;
	bool step;			/* Slurm starts the agents */
	int64_t words_ns;		/* when its srun is looked at again */
	int64_t words_at;		/* read so far */
	FILE *news, *absent;		/* which nodes have no agent, by a front
					 * and by others; or NULL */
	const char *names;		/* those that it may be about, NULL:
					 * any */
	bool came;			/* an agent from elsewhere */
};

/* ---- agents -------------------------------------------------------------- */

static void go_on(struct coord *c)
{
	if (c->phase < COORD_SETTLE) {
		c->kind->go_on(c->work);
	} else {
		coord_leave(c);
	}
}

static void start(void *arg)
{
	struct coord *c = arg;
	struct err e = { 0 };
	int code = 3;

	c->phase = COORD_RUN;
	c->start_ns = clock_now_ns();
	agents_begin(c->agents);
	c->work = calloc(1, c->kind->size);
	if (c->work == NULL) {
		err_set(&e, ENOMEM, "no memory for a plan");
	} else {
		code = c->kind->start(c, &e);
	}
	if (code != 0) {
		coord_fail(c, &e, code);
	}
	go_on(c);
}

static void asked_to_stop(void *arg)
{
	coord_stop(arg, "interrupted");
}

static void agent_said(void *arg, struct coord_agent *a, json_t *msg)
{
	struct coord *c = arg;

	if (c->work != NULL) {
		c->kind->message(c->work, a, msg);
		go_on(c);
	}
}

static void agent_said_entry(void *arg, struct coord_agent *a,
			     enum message_type type, const void *bytes,
			     size_t n)
{
	struct coord *c = arg;

	if (c->work != NULL && c->kind->entry != NULL) {
		c->kind->entry(c->work, a, type, bytes, n);
		go_on(c);
	}
}

static void agent_lost(void *arg, struct coord_agent *a, const char *detail)
{
	struct coord *c = arg;

	c->lost_ns = clock_now_ns();
	if (c->phase == COORD_STOP) {
		/* what ends a run may end its agents first: no fault of
		 * theirs */
		a->lost = false;
		c->kind->cancel(c->work);
	} else {
		c->kind->agent_lost(c->work, a, detail);
	}
	go_on(c);
}

static void agent_late(void *arg, int boot_rank, const char *node)
{
	struct coord *c = arg;
	char detail[120];

	snprintf(detail, sizeof(detail), "its agent connected %.1f s after the "
		 "tests had started", (double)(clock_now_ns() - c->start_ns) /
		 1e9);
	run_log_event(c->log, node, -1, "agent_late", "%s", detail);
	if (c->work != NULL) {
		c->kind->agent_late(c->work, boot_rank, node, detail);
	}
}

const struct agents_events coord_agents_events = {
	.all_here = start,
	.stop = asked_to_stop,
	.message = agent_said,
	.entry = agent_said_entry,
	.late = agent_late,
	.lost = agent_lost,
};

/* srun reports in @words that the tasks of @nodes, or if that is "" task number
 * @task, have ended. */
static void srun_said(void *arg, const char *nodes, int task, const char *words)
{
	struct coord *c = arg;
	char node[64];

	if (c->phase == COORD_BOOT &&
	    (task < 0 || agents_name_of(c->agents, task, node))) {
		agents_will_not_come(c->agents, task < 0 ? nodes : node,
				     words);
	}
}

/* ---- the clock ----------------------------------------------------------- */

/* Returns true if agents had no CPU for much of the boot time.  Only for a
 * machine that runs at least two of the nodes. */
static bool are_starved(const struct coordinator_process *p, int64_t now_ns)
{
	int64_t waited_ns = pressure_waited_ns("");

	return (p->c.spec.local || agents_share_machine(p->c.agents)) &&
	       p->waited_ns >= 0 &&
	       ranks_starved(waited_ns - p->waited_ns, now_ns - p->c.begin_ns);
}

/*
 * We did not run for a while: what was said meanwhile is heard first, and then
 * deadlines count.
 */
static void look_late(struct coordinator_process *p, int64_t now_ns)
{
	int64_t late_ns = late_look(&p->looked_ns, now_ns, TICK_MS * NS_PER_MS);

	char text[120];

	p->c.late_ns += late_ns;
	p->boot_deadline_ns += late_ns;
	if (late_ns > LATE_NS) {
		pressure_text("", text, sizeof(text));
		run_log_event(p->c.log, NULL, -1, "late",
			      "the coordinator did not run for %.1f s%s%s",
			      (double)late_ns / 1e9, text[0] ? "; " : "", text);
		p->listen_ns = now_ns + LISTEN_NS;
	}
}

/* The time for agents counts from the first one that has come from elsewhere:
 * until then Slurm may be importing an image. */
static bool boot_is_over(struct coordinator_process *p, int64_t now_ns)
{
	if (!p->came && agents_have_come(p->c.agents)) {
		p->came = true;
		p->boot_deadline_ns = now_ns + spec_boot_ns(&p->c.spec);
	}
	return now_ns > p->boot_deadline_ns;
}

static void tick(uv_timer_t *t)
{
	struct coordinator_process *p = t->data;
	struct coord *c = &p->c;
	int64_t now = clock_now_ns();

	if (c->phase == COORD_LEAVE) {
		if (agents_gone(c->agents, now >= c->leave_deadline_ns) &&
		    !uv_is_closing((uv_handle_t *)t)) {
			uv_close((uv_handle_t *)t, NULL);
			uv_close((uv_handle_t *)&p->on_term, NULL);
			uv_close((uv_handle_t *)&p->on_int, NULL);
		}
		return;
	}
	coord_flush_rows(c);
	look_late(p, now);
	agents_beat(c->agents, now, c->spec.silence_ns);
	run_log_sign(c->log, now);
	if (c->phase == COORD_BOOT) {
		if (p->absent == NULL) {
			p->absent = rundir_open(p->dir, RUN_ABSENT, NULL);
		}
		/* what an agent wrote there is read first */
		if (p->absent != NULL) {
			agents_read_news(c->agents, p->absent, p->names);
		}
		if (p->news != NULL) {
			agents_read_news(c->agents, p->news, p->names);
		}
		/* job.out of a run that goes on has old words as well */
		if (p->step && c->before == NULL && now >= p->words_ns) {
			p->words_ns = now + LOOK_NS;
			p->words_at = step_words_read(p->dir, p->words_at,
						      srun_said, c);
		}
		if (c->phase == COORD_BOOT && now > p->listen_ns &&
		    (boot_is_over(p, now) || now > c->end_ns)) {
			c->hurried = now > c->end_ns;
			c->starved = are_starved(p, now);
			start(c);
		}
		if (!c->hurried) {
			return;
		}
	}
	if (now > c->end_ns) {
		coord_stop(c, "max_time");
	}
	if (c->phase == COORD_STOP && now > c->stop_deadline_ns) {
		c->stop_deadline_ns = now + COORD_STOP_NS;
		c->kind->cancel(c->work);
	}
	if (c->phase < COORD_SETTLE && now > p->listen_ns) {
		c->kind->tick(c->work, now);
	}
	go_on(c);
}

static void on_signal(uv_signal_t *sig, int signum)
{
	(void)signum;
	coord_stop(sig->data, "interrupted");
}

/* ---- the process --------------------------------------------------------- */

int coord_read(struct coord *c, struct err *e)
{
	static const struct coord_work *const kinds[] = {
		[PROBE_PAIRS] = &coord_work_pairs,
		[PROBE_NODES] = &coord_work_nodes,
		[PROBE_COLLECTIVE] = &coord_work_collective,
	};
	const struct run_file run = run_file(c->log->run);

	spec_init(&c->spec);
	c->probe = probe_find(run.probe);
	if (c->probe == NULL) {
		return err_set(e, 0, "no probe '%s'", run.probe);
	}
	c->kind = kinds[c->probe->kind];
	return spec_from_json(&c->spec, run.options, e) < 0 ?
		       -1 : before_open(c->log->run, &c->before, e);
}

/* Tells agent 0, which started us, where we listen: one text on stdout. */
static int tell_contact(struct coordinator_process *p, uint16_t port,
			struct err *e)
{
	struct boot_contact contact = { 0 };
	char own[NET_MAX_ADDRS][NET_ADDR_TEXT];
	char *text;
	int n = 1, rc = 0, fd;

	STR_COPY(own[0], "127.0.0.1");
	if (!p->c.spec.local && agents_expected(p->c.agents) > 1) {
		n = net_own_addrs(own, NET_MAX_ADDRS);
	}
	for (int i = 0; i < n; i++) {
		bool v6 = strchr(own[i], ':') != NULL;

		snprintf(contact.addrs[i], sizeof(contact.addrs[i]),
			 v6 ? "[%.80s]:%u" : "%.80s:%u", own[i], port);
	}
	contact.n_addrs = n;
	memcpy(contact.token, p->token, sizeof(p->token));
	STR_COPY(contact.nonce, p->nonce);
	text = boot_contact_text(&contact);
	/* far below PIPE_BUF: one write, whole or not at all */
	if (text == NULL || write(1, text, strlen(text)) < 0) {
		rc = err_set(e, errno, "cannot determine the listening "
				       "address");
	}
	if (text != NULL) {
		explicit_bzero(text, strlen(text));
	}
	explicit_bzero(&contact, sizeof(contact));
	explicit_bzero(p->token, sizeof(p->token));
	free(text);
	/* Whoever reads our stdout sees its end.  Its number stays taken:
	 * libuv, which would be given it for a pipe or a socket of its own,
	 * ends the process rather than close it. */
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		dup2(fd, STDOUT_FILENO);
		close(fd);
	} else {
		close(STDOUT_FILENO);
	}
	return rc;
}

/* Socket and secret: the environment's, where others were told them, else new
 * ones.  -1 with @e. */
static int open_socket(struct coordinator_process *p, struct err *e)
{
	const char *text = getenv("GPUCHECK_LISTEN_FD");
	struct boot_contact contact;
	int64_t port = 0, fd;
	int told = boot_contact_env(&contact, e);

	if (told == 0) {
		if (hash_random(p->token, sizeof(p->token)) < 0) {
			return err_set(e, EIO, "no random bytes for a token");
		}
		return net_listen(p->c.spec.local ||
					  agents_expected(p->c.agents) == 1,
				  spec_ports(&p->c.spec), e);
	}
	if (told < 0 || units_parse_int(strrchr(contact.addrs[0], ':') + 1, 1,
					65535, &port, e) < 0) {
		return -1;
	}
	memcpy(p->token, contact.token, sizeof(p->token));
	boot_forget_env();
	/* the socket that the front opened before it told others of the port,
	 * or another one there */
	if (text != NULL && units_parse_int(text, 3, INT_MAX, &fd, NULL) == 0 &&
	    net_port((int)fd) == port) {
		fcntl((int)fd, F_SETFD, FD_CLOEXEC);
		return (int)fd;
	}
	return net_listen(false, (struct net_ports){ (uint16_t)port,
						     (uint16_t)port }, e);
}

static int open_agents(struct coordinator_process *p, struct err *e)
{
	const char *text = getenv("GPUCHECK_COORDINATOR_SIZE");
	int64_t size = 0;
	char **names;
	size_t n = 0;

	if (text == NULL ||
	    units_parse_int(text, 1, AGENTS_MAX, &size, NULL) < 0) {
		err_set(e, 0, "not started by an agent");
		return err_hint(e, "coordinators are started by agents");
	}
	/* Slurm's step has no rank for a node that cannot start one: its name
	 * is behind those of the nodes that have */
	names = p->step && p->names != NULL ?
			hostlist_expand(p->names, &n, NULL) : NULL;
	if (names != NULL) {
		hostlist_free(names, n);
	}
	size = (int64_t)n > size && n <= AGENTS_MAX ? (int64_t)n : size;
	p->c.agents = agents_new((int)size, p->c.log,
				&coord_agents_events, &p->c);
	return p->c.agents != NULL ? 0
				   : err_set(e, ENOMEM, "no memory for agents");
}

/* A connection each: an agent for which there is none would seem dead. */
int coordinator_check_files(int agents, struct err *e)
{
	return limit_files_check(&(struct limit_user){
			.who = "coordinator", .files = FILES + agents }, e);
}

static int process_open(struct coordinator_process *p, struct err *e)
{
	struct coord *c = &p->c;
	int64_t now = clock_now_ns();
	struct stat st;
	uint16_t port;
	int fd;

	/* a front that started us writes to our stdin which nodes have no
	 * agent */
	p->step = getenv("GPUCHECK_COORDINATOR_STEP") != NULL;
	if (p->step) {
		p->names = getenv("GPUCHECK_NODELIST");
	} else if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) {
		p->news = stdin;
	}
	c->log = run_log_open(p->dir, e);
	if (c->log == NULL || open_agents(p, e) < 0 ||
	    coordinator_check_files(agents_expected(c->agents), e) < 0 ||
	    coord_read(c, e) < 0 ||
	    json_get_text(c->log->run, "nonce", p->nonce, sizeof(p->nonce),
			  e) < 0) {
		return -1;
	}
	if (run_file(c->log->run).ended_utc[0] != '\0') {
		/* agents that were started too soon, or twice */
		err_set(e, 0, "the run in '%s' has ended", p->dir);
		return err_hint(e, "this run is finished: start a new one, or "
				   "continue it with --resume");
	}
	/* a run that has measured nothing has nothing to lose */
	c->log->waits = c->log->waits && c->before != NULL;
	if (run_log_begin(c->log, c->probe->schema, e) < 0 ||
	    (c->before == NULL && run_check_new(c->log->run, p->dir, e) < 0) ||
	    (fd = open_socket(p, e)) < 0 ||
	    auth_set(&p->auth, AUTH_CONTROL, p->token, p->nonce, e) < 0) {
		return -1;
	}
	c->log->room_fd = rundir_keep_room(
		c->log->dir,
		ROOM_RUN + ROOM_AGENT * (size_t)agents_expected(c->agents));
	p->c.begin_ns = now;
	p->waited_ns = pressure_waited_ns("");
	p->boot_deadline_ns = now + spec_boot_first_ns(&c->spec, p->step);
	c->end_ns =
		c->spec.max_time_ns > 0 ? now + c->spec.max_time_ns : INT64_MAX;
	port = agents_listen(c->agents, &p->loop, fd, &p->auth, e);
	return port != 0 ? tell_contact(p, port, e) : -1;
}

int coordinator_main(const char *dir, struct err *e)
{
	struct coordinator_process *p = calloc(1, sizeof(*p));
	struct coord *c = &p->c;
	bool opened = true;
	int code = 0, rc = p != NULL ? uv_loop_init(&p->loop) : UV_ENOMEM;

	if (rc < 0) {
		free(p);
		err_set(e, -rc, "cannot start a coordinator");
		limit_hint(e, &(struct limit_user){ .who = "coordinator" });
		return CODE_UNABLE;
	}
	signal(SIGPIPE, SIG_IGN);
	limit_files_raise();
	p->dir = dir;
	if (process_open(p, &c->error) < 0) {
		c->error_exit = 3;
		opened = false;
		if (c->agents != NULL) {
			agents_gone(c->agents, true);
		}
	} else {
		uv_timer_init(&p->loop, &c->tick);
		uv_signal_init(&p->loop, &p->on_term);
		uv_signal_init(&p->loop, &p->on_int);
		c->tick.data = p;
		p->on_term.data = p->on_int.data = c;
		uv_timer_start(&c->tick, tick, TICK_MS, TICK_MS);
		uv_signal_start(&p->on_term, on_signal, SIGTERM);
		uv_signal_start(&p->on_int, on_signal, SIGINT);
	}
	uv_run(&p->loop, UV_RUN_DEFAULT);
	uv_loop_close(&p->loop);
	if (c->error.text[0] != '\0') {
		*e = c->error;
		if (limit_code(e->code) == NULL) {
			e->code = 0;	/* as in run.json: the text says it */
		}
		code = c->error_exit;
	}
	if (c->work != NULL) {
		c->kind->release(c->work);
		free(c->work);
	}
	agents_free(c->agents);
	if (p->absent != NULL) {
		fclose(p->absent);
	}
	json_decref(c->before);
	run_log_close(c->log);
	free(p);
	if (!opened && limit_hint(e, &(struct limit_user){
			.who = "coordinator", .dir = dir, .files = FILES })) {
		run_error_note(dir, e, code);	/* with what is free again */
	}
	return code;
}
