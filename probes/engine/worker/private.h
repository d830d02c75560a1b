/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_WORKER_PRIVATE_H
#define PROBES_ENGINE_WORKER_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "probes/engine/net/message.h"
#include "probes/engine/net/wire.h"
#include "probes/transport/order.h"
#include "probes/transport/xport.h"

/**
 * The worker's state, shared by its files only:
 *   worker.c  the process: starts, acts on messages, ends
 *   hear.c  messages, and what transports may ask of the process
 *   pair.c  orders: become a pair, measure, report
 *   collective.c  orders: become part of a collective, measure, report
 */
#define WORKER_PENDING 256	/* more than one wave of joins, mates too */
#define WORKER_KEPT    256

struct pending;

/** A message of the agent. */
struct heard {
	enum message_type type;
	json_t *msg;		/* NULL: an entry of a list, one of these */
	struct order order;	/* of "task" */
	struct order_word word;
};

struct process {
	struct worker as;	/* what transports know of it; comes first */
	struct wire_fd wire;
	struct xport_self self;
	struct spec spec;
	struct order_how how;	/* of all tasks; no sizes: there are none */
	const struct xport_ops *ops;
	struct xport *x;
	struct auth auth;	/* of data connections */
	char data_addr[NET_ADDR_TEXT];
	char dir[PATH_MAX];
	char log[PATH_MAX];
	struct heard *last;		/* heard just now; NULL */
	struct heard *kept[WORKER_KEPT];	/* while waiting for another */
	int n_kept;
	struct pending *pending[WORKER_PENDING];	/* joins under way */
	int n_pending;
	struct xport_link *spent[WORKER_PENDING];	/* to be closed */
	int n_spent;
	struct worker_collective *collective; /* NULL: none yet */
	int64_t task;		/* at hand, -1 = none */
	struct order_result results[ORDER_RESULTS];	/* of it */
	int n_results;
	bool cancelled;
	int64_t waited_ns;	/* for a CPU, when the task began */
	bool gone;		/* the agent is */
};

/** Make @w a process that its agent has just started. */
void worker_listen(struct process *w);
/** The next message, NULL with @got 0 or -1 as wire_fd_hear() has it. */
struct heard *worker_hear(struct process *w, int64_t deadline_ns, int *got,
			  struct err *e);
/** Send @msg (reference stolen) to the agent. */
int worker_tell(struct process *w, json_t *msg, struct err *e);
/** The same of @entry (released), of @type, a list. */
int worker_tell_entry(struct process *w, enum message_type type,
		      struct str *entry, struct err *e);
/**
 * The next message of type @type for the task at hand; a cancel of that task
 * is noted, other messages are kept for the main loop.  heard_free() it; NULL
 * with @e (ETIMEDOUT, ECANCELED, ECONNRESET).
 */
struct heard *worker_wait(struct process *w, enum message_type type,
			  int64_t deadline_ns, struct err *e);
void heard_free(struct heard *h);

/** As the transport's ticket(), which not every one has. */
int worker_make_ticket(struct process *w, char ticket[XPORT_TICKET_MAX],
		       struct err *e);

/* pair.c: the messages "task", "ticket", "go", "cancel" and "close";
 * each 0, or -1 with @e when the worker cannot go on. */
int worker_do_task(struct process *w, const struct heard *h, struct err *e);
int worker_do_ticket(struct process *w, const struct heard *h, struct err *e);
int worker_do_go(struct process *w, const struct heard *h, struct err *e);
int worker_do_cancel(struct process *w, const struct heard *h, struct err *e);
int worker_do_close(struct process *w, const struct heard *h, struct err *e);
/** Ends this process with SIGSEGV and without a core file, for the drill
 *  "crash". */
void worker_crash(struct process *w);

/* collective.c: the message "collective", and the end of what it has begun. */
int worker_do_collective(struct process *w, const struct heard *h,
			 struct err *e);
void worker_collective_end(struct process *w);

/** Act on what the agent says: 0 where it says that it may leave, 1 where it
 *  has gone, -1 with @e. */
int worker_serve(struct process *w, struct err *e);
/** All but the transport. */
void worker_release(struct process *w);

/** Look after the joins under way; call often while there are any. */
int worker_look(struct process *w, struct err *e);

#endif
