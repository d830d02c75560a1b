/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_SEAT_H
#define PROBES_ENGINE_AGENT_SEAT_H

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
 * it, watches its deadlines, tells how it ended, starts the next one.  A seat
 * whose workers died SEAT_LIVES times is retired.  A worker that reports and
 * then leaves, because an error has spoilt it, has not died; but where the next
 * one does the same without a good report in between, it has.
 */
#define SEAT_LIVES 2

enum seat_state {
	SEAT_DOWN,	/* no process */
	SEAT_OPENING,	/* started, transport not open yet */
	SEAT_IDLE,
	SEAT_BUSY,	/* has a task */
	SEAT_UNFIT,	/* the worker leaves by itself; another will come */
	SEAT_LEAVING,	/* told to quit */
};

/** How a worker ended. */
struct seat_death {
	int64_t task;		/* it was working on, -1 = none */
	bool unfit;		/* it left by itself: task was not begun */
	int signal;		/* 0 when it exited */
	int exit_code;
	bool hung;		/* killed by us at the deadline */
	bool retired;		/* no other will be started */
	char step[256];		/* what it did last, and NCCL's last warning */
	int64_t peer, attempt;	/* of the task */
	int64_t log_from;	/* what the log has about it begins here */
};

struct seat;

struct seat_events {
	/** A message for the coordinator (borrowed): ready, unusable, ticket,
	 *  done. */
	void (*message)(struct seat *s, json_t *msg);
	void (*died)(struct seat *s, const struct seat_death *how);
	/** The worker has made room for a renewed one: seat_start(). */
	void (*left)(struct seat *s);
};

struct seat {
	const struct seat_events *events;
	void *arg;
	uv_loop_t *loop;
	int rank, slot;
	enum seat_state state;
	int deaths;
	int unfit;		/* workers in a row that left unfit */
	bool retired;
	bool renewed;		/* init is for the next worker */
	bool unusable;		/* the transport does not open here */
	json_t *init;		/* what each new worker is told */
	int64_t open_ns;
	/* the task at hand */
	int64_t task;
	char nonce[33];
	int64_t deadline_ns;
	/* the process */
	uv_process_t process;
	struct wire wire;
	bool process_open, wire_open, hung;
	int exit_code, exit_signal;
	int64_t exited_ns;
	struct worker_note *note;
	int note_fd;
	struct nccl_log log;	/* what the worker's NCCL writes */
};

/** @init is stolen.  The seat must stay where it is until seat_closed(). */
int seat_init(struct seat *s, uv_loop_t *loop, int rank, int slot,
	      json_t *init, int64_t open_ns, const struct seat_events *events,
	      void *arg, struct err *e);
/** Start a worker; -1 with @e. */
int seat_start(struct seat *s, const char *self, struct err *e);
/** Tell the worker to leave; the next one gets @init (stolen). */
void seat_renew(struct seat *s, json_t *init);
/** What its NCCL wrote about the task that it died of, into DIR/logs as the
 *  worker itself would have; nothing where that is nothing.  0 or -1. */
int seat_save_log(const struct seat *s, const struct seat_death *how,
		  const char *dir, struct err *e);
/** Give the worker task message @msg (borrowed); false: it cannot take it. */
bool seat_task(struct seat *s, json_t *msg, int64_t budget_ns);
/** Pass @msg (borrowed) on, when a worker is there. */
void seat_tell(struct seat *s, json_t *msg);
/** Pass a data connection on; it is closed here afterwards. */
void seat_conn(struct seat *s, uv_tcp_t *conn);
/** Deadlines; call about ten times a second. */
void seat_tick(struct seat *s);
/** Kill the worker now: it will be reported as hung. */
void seat_kill(struct seat *s);
/** Tell the worker to leave; what stays is killed by seat_kill(). */
void seat_quit(struct seat *s);
/** No process and no handle left. */
bool seat_closed(const struct seat *s);
void seat_release(struct seat *s);

#endif
