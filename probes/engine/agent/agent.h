/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_AGENT_H
#define PROBES_ENGINE_AGENT_AGENT_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/spec/spec.h"
#include "probes/engine/net/boot.h"
#include "probes/engine/net/door.h"
#include "probes/engine/net/wire.h"
#include "probes/host/port.h"
#include "probes/nccl/log.h"
#include "probes/sim/model.h"
#include "probes/transport/order.h"
#include "probes/transport/xport.h"

/* ---- guard --------------------------------------------------------------- */

/**
 * A coordinator may ask an agent only for a closed list of things.  The agent
 * trusts its own environment, which its launcher passed on, and @own: the
 * options of the run's own command line, read from the run directory or passed
 * by ssh.  Without either, @own has the default values.
 */

/**
 * Checks whether workers may get the environment @env, an object of names and
 * texts (may be NULL).  A setting of NCCL or UCX is allowed if it names no
 * file, library or command and its value is not a path.  Any other variable is
 * allowed only if this process's environment, or --nccl-lib or --env in @own,
 * has it with the same value.  Returns 0, or -1 with @e (code EPERM), which
 * names the first refused variable.
 */
int guard_env(const json_t *env, const struct spec *own, struct err *e);
/**
 * Checks that a child may use @options, an object as in run.json: the paths in
 * them must be those of @own.  Returns 0, or -1 with @e (code EPERM).
 */
int guard_options(const json_t *options, const struct spec *own,
		  struct err *e);

/* ---- node addr ----------------------------------------------------------- */

/** NodeAddr of what "scontrol show node" prints into @host; false: none. */
bool node_addr_parse(const char *text, char *host, size_t size);
/** @host, an address or a name, comes first in @c, with the port of the
 *  others; once. */
void node_addr_prefer(struct boot_contact *c, const char *host);

/* ---- slot ---------------------------------------------------------------- */

/**
 * One rank's place on a node and the worker process that sits in it: starts
 * it, watches its deadlines, tells how it ended, starts the next one.  A slot
 * whose workers died SLOT_LIVES times is retired.  A worker that reports and
 * then leaves, because an error has spoilt it, has not died; but where the next
 * one does the same without a good report in between, it has.
 */

enum slot_state {
	SLOT_DOWN,	/* no process */
	SLOT_OPENING,	/* started, transport not open yet */
	SLOT_IDLE,
	SLOT_BUSY,	/* has a task */
	SLOT_UNFIT,	/* the worker leaves by itself; another will come */
	SLOT_LEAVING,	/* told to quit */
};

/** How a worker ended. */
struct slot_death {
	int64_t task;		/* it was working on, -1 = none */
	bool unfit;		/* it left by itself: task was not begun */
	int signal;		/* 0 when it exited */
	int exit_code;
	bool hung;		/* killed by us at the deadline */
	bool out_of_memory;	/* killed by the kernel for want of it */
	bool retired;		/* no other will be started */
	int64_t late_ns;	/* of the task, in which it had no CPU */
	char step[256];		/* what it did last, and NCCL's last warning */
	int64_t peer, attempt;	/* of the task */
	int64_t log_from;	/* what the log has about it begins here */
};

struct slot;

struct slot_events {
	/** A message for the coordinator (borrowed): ready, unusable; an entry
	 *  of a list: ticket, joined, done.  @late_ns: that the worker did not
	 *  run. */
	void (*message)(struct slot *s, json_t *msg);
	void (*entry)(struct slot *s, enum message_type type, const void *bytes,
		      size_t n, int64_t late_ns);
	void (*died)(struct slot *s, const struct slot_death *how);
	/** The worker has made room for a renewed one: slot_start(). */
	void (*left)(struct slot *s);
};

struct slot {
	const struct slot_events *events;
	void *arg;
	uv_loop_t *loop;
	int rank;
	enum slot_state state;
	int deaths;
	int unfit;		/* workers in a row that left unfit */
	bool renewed;		/* init is for the next worker */
	bool unusable;		/* the transport does not open here */
	json_t *init;		/* "init", what each new worker is told */
	/* the task at hand */
	int64_t task;
	char nonce[33];
	int64_t deadline_ns;
	int64_t budget_ns;	/* that it was given in all */
	int64_t waited_ns;	/* for a CPU, when the task began */
	int64_t late_ns;	/* late_ns() when it was killed */
	/* the process */
	uv_process_t process;
	struct wire wire;
	bool process_open, hung;
	int exit_code, exit_signal;
	int64_t exited_ns;
	int64_t oom_kills;	/* in our cgroup, when it started */
	struct worker_note *note;
	int note_fd;
	int log_fd;		/* of what the worker's NCCL writes */
};

/** @init is stolen.  The slot must stay where it is until slot_closed(). */
int slot_init(struct slot *s, uv_loop_t *loop, json_t *init,
	      const struct slot_events *events, void *arg, struct err *e);
/** Start a worker; -1 with @e. */
int slot_start(struct slot *s, const char *self, struct err *e);
/** Tell the worker to leave; the next one gets @init (stolen). */
void slot_renew(struct slot *s, json_t *init);
/** Saves what the worker's NCCL wrote about the task in which the worker died
 *  to DIR/logs, in the file that the worker itself would have written.  Does
 *  nothing if the worker had no task or the log is empty.  Returns 0, or -1
 *  with @e. */
int slot_save_log(const struct slot *s, const struct slot_death *how,
		  const char *dir, struct err *e);
/** The worker is busy with task @id, whose connections come by @nonce, and is
 *  to be told; false: it cannot take it. */
bool slot_task(struct slot *s, int64_t id, const char *nonce,
	       int64_t budget_ns);
/** Pass a data connection on; it is closed here afterwards. */
void slot_conn(struct slot *s, uv_tcp_t *conn);
/** Deadlines; call about ten times a second. */
void slot_tick(struct slot *s);
/** Kill the worker now: it will be reported as hung. */
void slot_kill(struct slot *s);
/** Tell the worker to leave; what stays is killed by slot_kill(). */
void slot_quit(struct slot *s);
/** No process and no handle left. */
bool slot_closed(const struct slot *s);
void slot_release(struct slot *s);

/* ---- node task ----------------------------------------------------------- */

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

/* ---- agent --------------------------------------------------------------- */

/* How long a connection waits in agent.early, and how many may. */
#define EARLY_NS  (5 * NS_PER_S)
#define EARLY_MAX 256

/** How far the agent is in the run; it never goes back. */
enum agent_state {
	AGENT_JOINING,	/* its hello is not answered yet */
	AGENT_REFUSED,	/* it takes no part: agent.why */
	AGENT_RUNNING,	/* the coordinator gave it a place */
	AGENT_LEAVING,	/* it ends its children, and then itself */
};

/**
 * The agent's data, shared by its files only:
 *   start.c  from nothing to a place in the run
 *   agent.c  the loop: workers, data connections, the coordinator's word
 */
struct agent {
	const char *dir;
	char self[PATH_MAX];
	struct boot boot;
	struct boot_contact contact;
	struct auth control, data;	/* what its secret opens */
	char nonce[33];		/* of the run, "" when DIR is not visible */
	struct spec spec;
	json_t *inventory;
	uv_loop_t loop;
	uv_timer_t tick;
	uv_signal_t on_term, on_int;
	uv_process_t coordinator;	/* rank 0 only */
	bool coordinator_runs;
	struct spawn_status coordinator_end;	/* where it does not */
	struct wire wire;
	const struct wire_events *events;	/* of it */
	door_guest_fn on_guest;			/* of the door */
	door_stranger_fn on_stranger;
	enum agent_state state;
	bool published;			/* the others know the contact */
	bool told_started;		/* that all have */
	int64_t looked_ns;	/* of late_look() */
	int64_t listen_ns;	/* until then, what is owed may be in line */
	int64_t leave_ns;
	int64_t pressed_ns;	/* until then, nothing more is said of it */
	struct door *door;	/* NULL: closed, or not open yet */
	struct sockaddr_storage own;	/* by which the coordinator is
					 * reached */
	char data_addr[NET_ADDR_TEXT];	/* where others reach its door */
	char ifname[32];	/* of that; "": none that others reach */
	struct slot slots[SPEC_MAX_GPUS]; /* those of its ranks */
	int n_slots, n_wanted;		/* that there are; should be */
	struct node_task node_task;
	struct port *ports;	/* as the inventory found them */
	char root[PATH_MAX];	/* /sys, /proc of its machine are below it */
	size_t n_ports;
	bool tools;		/* tools_facts() were asked about them */
	struct {
		uv_work_t work;
		bool asking;	/* a thread reads the counters again */
		json_t *gpus;	/* facts about GPUs as they are now */
		json_t *grown;	/* facts about counters that have grown */
	} words;
	struct model *model;	/* --transport=sim: ranks without workers */
	struct order_how how;	/* of its tasks */
	struct {
		uv_tcp_t *conn;
		char nonce[33];
		int64_t until_ns;
	} early[EARLY_MAX];	/* data connections that came before their
				 * task: the two ends of a pair get their
				 * orders by different ways */
	int n_early;
	void *spare;	/* freed to report a lack of memory */
	int exit_code;
	struct err why;
};

/** Descriptors of an agent: of the loop, the doors, the coordinator and a child
 *  that is being started. */
#define AGENT_FILES 20

/**
 * Finds out this agent's rank, the devices of its node and the address of the
 * coordinator.  The agent does nothing else before this returns; each wait has
 * a deadline.  Returns 0, or -1 with @e; code EINVAL is a usage error.
 */
int agent_boot(struct agent *a, struct err *e);
/** The run directory, "" where this node does not see it. */
static inline const char *agent_dir(const struct agent *a)
{
	return a->nonce[0] != '\0' ? a->dir : "";
}

/** Returns the first message of this agent, MSG_HELLO (new reference). */
json_t *agent_hello(const struct agent *a);
/**
 * Say hello to the coordinator, again and again as long as --agent-timeout lets
 * us until it says welcome: then the wire is open, with a->events, and the data
 * door.  0, or -1 with @e.
 */
int agent_join(struct agent *a, struct err *e);

/** Write into the run directory that the coordinator is lost, and @why. */
void agent_note_lost(const struct agent *a, const char *why);
/** Tell the other processes of the run, as far as files reach them, why this
 *  agent takes no part: @a->why; and set its exit code. */
void agent_tell_why(struct agent *a);

/** As struct wire_events have it: @agent does what the coordinator says by
 *  @msg, a message to an agent as the table of messages has it, or by an entry,
 *  if its state allows it; all else about it is still to be doubted. */
void agent_obey(void *agent, json_t *msg);
void agent_obey_entry(void *agent, enum message_type type, const void *bytes,
		      size_t n);

#endif
