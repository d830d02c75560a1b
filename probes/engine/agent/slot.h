/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_SLOT_H
#define PROBES_ENGINE_AGENT_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"
#include "probes/nccl/log.h"
#include "probes/engine/net/wire.h"
#include "probes/engine/worker/worker.h"
#include "probes/transport/worker.h"

/**
 * One rank's place on a node and the worker process that sits in it: starts
 * it, watches its deadlines, tells how it ended, starts the next one.  A slot
 * whose workers died SLOT_LIVES times is retired.  A worker that reports and
 * then leaves, because an error has spoilt it, has not died; but where the next
 * one does the same without a good report in between, it has.
 */
#define SLOT_LIVES 2

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
	/** A message for the coordinator (borrowed): ready, unusable, ticket,
	 *  done. */
	void (*message)(struct slot *s, json_t *msg);
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
	struct nccl_log log;	/* what the worker's NCCL writes */
};

/** @init is stolen.  The slot must stay where it is until slot_closed(). */
int slot_init(struct slot *s, uv_loop_t *loop, json_t *init,
	      const struct slot_events *events, void *arg, struct err *e);
/** Start a worker; -1 with @e. */
int slot_start(struct slot *s, const char *self, struct err *e);
/** Tell the worker to leave; the next one gets @init (stolen). */
void slot_renew(struct slot *s, json_t *init);
/** What its NCCL wrote about the task that it died of, into DIR/logs as the
 *  worker itself would have; nothing where that is nothing.  0 or -1. */
int slot_save_log(const struct slot *s, const struct slot_death *how,
		  const char *dir, struct err *e);
/** Give the worker @msg (borrowed) about task @id, whose connections come by
 *  @nonce; false: it cannot take it. */
bool slot_task(struct slot *s, json_t *msg, int64_t id, const char *nonce,
	       int64_t budget_ns);
/** The one report of a "done" of a worker (borrowed); NULL. */
const json_t *slot_report(const json_t *msg);
/** Pass @msg (borrowed) on, when a worker is there. */
void slot_tell(struct slot *s, json_t *msg);
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

#endif
