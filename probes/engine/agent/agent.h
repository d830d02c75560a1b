/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_AGENT_H
#define PROBES_ENGINE_AGENT_AGENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/net.h"
#include "lib/spec/spec.h"
#include "probes/engine/net/boot.h"
#include "probes/engine/net/door.h"
#include "probes/sim/model.h"
#include "probes/transport/order.h"
#include "probes/host/port.h"
#include "probes/engine/agent/node_task.h"
#include "probes/engine/agent/slot.h"
#include "probes/engine/net/wire.h"

/**
 * Data connections that came before the task they are for: the two ends of a
 * pair get their orders by different ways, so the one that dials may be early.
 * They wait here for at most EARLY_NS.
 */
#define EARLY_NS  (5 * NS_PER_S)
#define EARLY_MAX 256

struct early {
	struct {
		uv_tcp_t *conn;
		char nonce[33];
		int64_t until_ns;
	} conns[EARLY_MAX];
	int n;
};

/** How far the agent is in the run; it never goes back. */
enum agent_state {
	AGENT_JOINING,	/* its hello is not answered yet */
	AGENT_REFUSED,	/* it takes no part: agent.why */
	AGENT_RUNNING,	/* the coordinator gave it a place */
	AGENT_LEAVING,	/* it ends its children, and then itself */
};

/**
 * The agent's data, shared by its files only:
 *   start.c  from nothing to the coordinator's address
 *   join.c   from there to a place in the run
 *   agent.c        the loop: workers, data connections, the coordinator's word
 *   lost_note.c    what it saw of a coordinator that it has lost
 *   last_words.c  what ports and GPUs have counted during the run
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
	enum agent_state state;
	bool published;			/* the others know the contact */
	bool told_started;		/* that all have */
	struct late late;
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
	struct agent_words {
		uv_work_t work;
		bool asking;	/* a child looks at the GPUs */
		json_t *gpus;	/* what it says; facts */
	} words;
	struct model *model;	/* --transport=sim: ranks without workers */
	struct order_how how;	/* of its tasks */
	struct early early;
	int exit_code;
	struct err why;
};

/**
 * Who am I, what is here, where is the coordinator: until this returns 0 the
 * agent only waits, each wait with its deadline.  -1 with @e; code EINVAL is
 * a usage error.
 */
int agent_boot(struct agent *a, struct err *e);
/** The run directory, "" where this node does not see it. */
static inline const char *agent_dir(const struct agent *a)
{
	return a->nonce[0] != '\0' ? a->dir : "";
}

/** The name of its node, as it is known here. */
const char *agent_node(const struct agent *a);
/** What this agent says first (new reference). */
json_t *agent_hello(const struct agent *a);
/**
 * Say hello to the coordinator, again and again as long as --boot-timeout lets
 * us until it says welcome; @events are those of the wire, which is open then.
 * 0, or -1 with @e.
 */
int agent_join(struct agent *a, const struct wire_events *events,
	       struct err *e);

/** Open the data door at the address of this end of @fd; 0, or -1 with @e. */
int agent_open_door(struct agent *a, int fd, struct err *e);

/** Send @msg (reference stolen) to the coordinator, while it is there. */
void agent_tell(struct agent *a, json_t *msg);

/** Do what the coordinator says by @msg (borrowed), a message to an agent as
 *  the table of messages has it, if the state of @a allows it; all else about
 *  it is still to be doubted. */
void agent_obey(struct agent *a, json_t *msg);

/** The coordinator is lost, @why: write it where the others read, as what
 *  @node, an agent_node(), saw. */
void agent_note_lost(const struct agent *a, const char *node,
		     const char *why);
/** Look at ports and GPUs again, and tell what grew. */
void agent_last_words(struct agent *a);

#endif
