/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_AGENTS_H
#define PROBES_ENGINE_COORD_AGENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "probes/engine/net/boot.h"
#include "probes/engine/net/wire.h"
#include "probes/host/interface.h"
#include "probes/host/inventory.h"
#include "probes/host/port.h"

/* ---- run log ------------------------------------------------------------- */

/**
 * Writer of the run directory: results.csv, facts.csv, events.csv and run.json.
 * Only one process may hold it, see rundir_hold().
 */
struct run_log {
	const char *dir;
	json_t *run; /* run.json as it is known by now: members may be set */
	struct rundir_table results, facts, events;
	int64_t event_seq;
	int64_t sign_ns; /* when the last sign of life was given */
	int room_fd; /* of rundir_keep_room(); -1: none */
	bool resumes;	/* RUN_RESUME is there, ... */
	bool waits;	/* ... and nothing else is written before the tests */
};

/** Read RUN_RESUME or run.json of @dir (borrowed); NULL with @e.
 *  run_log_close() frees. */
struct run_log *run_log_open(const char *dir, struct err *e);
/** Take the directory and open its tables, the results by @schema; events go
 *  on counting where a run goes on.  0, or -1 with @e: EBUSY, ... */
int run_log_begin(struct run_log *log, const struct schema *schema,
		  struct err *e);
/** Write log->run: to RUN_RESUME while log->waits, else to run.json, which
 *  replaces RUN_RESUME.  0, or -1 with @e. */
int run_log_write(struct run_log *log, struct err *e);
void run_log_close(struct run_log *log); /* safe on NULL */
/** Gives back the disk space that was kept for the end of the run. */
void run_log_use_room(struct run_log *log);

/**
 * Show all rows of results.csv to @look, and again to @keep, which says what
 * stays there; both as rundir_table_walk() has them.  @left_out counts what
 * does not stay.  0, or -1 with @e.
 */
int run_log_sift(struct run_log *log,
		 int (*look)(void *arg, const void *row, struct err *e),
		 int (*keep)(void *arg, const void *row, struct err *e),
		 void *arg, size_t *left_out, struct err *e);

/** A line of facts.csv. */
void run_log_fact(struct run_log *log, const char *node, const char *scope,
		  const char *fact, const char *value, const char *unit,
		  const char *source);

/** A line of events.csv; @node NULL and @rank -1 where they do not apply. */
void run_log_event(struct run_log *log, const char *node, int rank,
		   const char *event, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/**
 * A sign of life for a front that only sees the directory, when one is due at
 * @now_ns.  Nothing is made of a failure: the front may have gone, and its
 * directory with it.
 */
void run_log_sign(struct run_log *log, int64_t now_ns);

/* ---- own link ------------------------------------------------------------ */

/** An interface of the coordinator's node, for all agents that come to it. */
struct own_port {
	struct own_port *next;
	struct interface at;
	int64_t counts[LINK_COUNTS];
	int64_t counted_ns;	/* 0 = never */
};

/** An agent that came to @port (NULL: none, or loopback) was heard at @now_ns:
 *  what was counted until then, or up to a second before, and goes into
 *  @counts, did no harm.  Reads files of /sys below @root ("" = /), once a
 *  second of each interface. */
void own_link_note(struct own_port *port, int64_t counts[LINK_COUNTS],
		   const char *root, int64_t now_ns);

/* ---- agents -------------------------------------------------------------- */

#define AGENTS_MAX 65536

/** State that the coordinator keeps about one agent. */
struct coord_agent {
	struct wire wire;
	/* of agents.c alone: */
	struct agents *set;
	bool said_hello;
	struct coord_agent *next;
	/* for all: */
	bool lost; /* it went away during the run */
	bool foreign;	 /* agents_foreign() has said it */
	char limit[16];	 /* code of limit.h that it, or we, ran into; "" */
	int64_t late_ns; /* in all, how long it did not run */
	struct sockaddr_storage own; /* our address that it came to */
	struct own_port *own_port;   /* the interface that has it */
	int64_t own_counts[LINK_COUNTS];	/* of that, as the agent was
						 * heard */
	bool beside; /* it is on our machine, and has come within it */
	int boot_rank;
	int64_t local_rank; /* one-worker agent: its slot; -1: whole node */
	int64_t local_size; /* such agents on its node; 0: not said */
	char node[64], boot_id[64];
	bool pretend, sees_dir, driver;
	int64_t gpus_on_node; /* SLURM_GPUS_ON_NODE, 0 = not said */
	int gpus_found;	      /* parts that can be ranks: GPUs, ports */
	int only_gpu;	      /* which of its node's the one is that it sees;
			       * -1: it counts them as the node does */
	int port_at[PORT_MAX]; /* where a rank is a port: which of those that
				* take part is in each slot; -1: none */
	int node_number; /* of work that is nodes */
	json_t *inventory;
	json_t *last_words; /* facts of the end of the run, NULL = none */
};

/** All agents of a run, and the door that they come in by. */
struct agents;

/** Callbacks for the events of a set of agents. */
struct agents_events {
	void (*all_here)(void *arg);
	/** One was asked to end, and asks for that. */
	void (*stop)(void *arg);
	/** About the work; @msg is borrowed. */
	void (*message)(void *arg, struct coord_agent *a, json_t *msg);
	/** The same of an entry of @type, which is a list. */
	void (*entry)(void *arg, struct coord_agent *a, enum message_type type,
		      const void *bytes, size_t n);
	/** After agents_begin(), before agents_dismiss(): number @boot_rank of
	 *  the launcher has come to @node, too late to take part. */
	void (*late)(void *arg, int boot_rank, const char *node);
	/** Between the same. */
	void (*lost)(void *arg, struct coord_agent *a, const char *detail);
};

/** @expected agents; each that comes, goes or is refused is an event in @log.
 *  Both are borrowed.  NULL without memory; agents_free() frees, once the loop
 *  has run dry. */
struct agents *agents_new(int expected, struct run_log *log,
			  const struct agents_events *events, void *arg);
void agents_free(struct agents *s); /* safe on NULL */
/** Listens at @fd, as door_open() does, for agents that know @auth.  Returns
 *  its port, or 0 with @e. */
uint16_t agents_listen(struct agents *s, uv_loop_t *loop, int fd,
		       const struct auth *auth, struct err *e);

/** Adds an agent that was let in and has not said hello; its wire is not open.
 *  NULL without memory; agents_free() frees. */
struct coord_agent *agents_add(struct agents *s);
/** As struct wire_events have it: an @agent, a struct coord_agent, says a
 *  message or an entry, or goes away. */
void agents_hear(void *agent, json_t *msg);
void agents_hear_entry(void *agent, enum message_type type, const void *bytes,
		       size_t n);
void agents_lose(void *agent, const char *why);

int agents_expected(const struct agents *s);
/** Returns the agent after @a (NULL: the first) of those that have said hello;
 *  NULL if there is none. */
struct coord_agent *agents_next(const struct agents *s,
				const struct coord_agent *a);
/** Returns the agent with this number from its launcher; NULL: it never
 *  came. */
struct coord_agent *agents_find(const struct agents *s, int boot_rank);
/** Returns true if an agent of another node runs on the machine of agent 0,
 *  which started the coordinator: both have the same boot ID. */
bool agents_share_machine(const struct agents *s);

/** The address of this machine by which most of those elsewhere have come, into
 *  @buf; NULL: none has. */
const char *agents_reached(const struct agents *s, char buf[IP_TEXT]);
/** Returns true if an agent other than number 0 has connected, or the launcher
 *  has reported that it started all of them. */
bool agents_have_come(const struct agents *s);
/** The name of the node of task @task by Slurm's list; false where that does
 *  not tell: the nodes of several components have an order of their own. */
bool agents_name_of(const struct agents *s, int task, char name[64]);
/** Those of the host list @nodes that have not come have ended; @why in
 *  words. */
void agents_will_not_come(struct agents *s, const char *nodes,
			  const char *why);
/** Read what is new in @from, to which a launcher adds a line for each node
 *  that will have no agent; ignores nodes that are not in the host list @names
 *  (NULL: any). */
void agents_read_news(struct agents *s, FILE *from, const char *names);
/** Returns why node @name has no agent: code, detail and source, "" if not
 *  known. */
struct run_entry agents_absent(const struct agents *s, const char *name);
/** The same of the agent of the launcher's rank @rank, if that gave up; with
 *  its node. */
struct run_entry agents_absent_rank(const struct agents *s, int rank);
/** The same as lines of facts.csv. */
void agents_absent_facts(const struct agents *s, const char *name);

/** Reject agents that connect after this call. */
void agents_begin(struct agents *s);
/** Sends @msg to @a if it is still connected (no-op for NULL).  Steals the
 *  reference. */
void agents_send(struct coord_agent *a, json_t *msg);
/** @a reported @what, which another agent has to report: it was dropped.  The
 *  first of each agent becomes an event. */
void agents_foreign(struct coord_agent *a, const char *what);
/** As wire_beat(), of all. */
void agents_beat(struct agents *s, int64_t now_ns, int64_t silence_ns);
/** Return why @a was lost: the code of limit.h that it reported, "starved" if
 *  its node answers, or "agent_lost". */
const char *agents_lost_code(const struct coord_agent *a);
/** Returns true if several beats of @a are overdue, so that its other messages
 *  may be on their way; false for NULL. */
bool agents_silent(const struct coord_agent *a, int64_t now_ns);
/** In the middle of long work: the agents hear from us, and that we do not
 *  listen is not their fault. */
void agents_keep_alive(struct agents *s, int64_t now_ns);
/** Sends all agents home: one that is lost from now on is not missed. */
void agents_dismiss(struct agents *s);
/** After that: true when all have hung up, or are hung up on as it is @late;
 *  the door closes. */
bool agents_gone(struct agents *s, bool late);

/** Lines of facts.csv about node @name: @facts as facts_add() made them on
 *  @a, or all that @a found when it began. */
void agents_facts(struct run_log *log, const char *name,
		  const struct coord_agent *a, const json_t *facts);
void agents_inventory_facts(struct run_log *log, const char *name,
			    const struct coord_agent *a);
/** Returns true if the scope of @fact is "run": a setting with one value for
 *  all ranks. */
bool agents_fact_of_run(const json_t *fact);

/* draft.c */

/** A node while it is being put together from the hellos of its agents. */
struct node_draft {
	char name[64], host[64], boot_id[64];
	struct coord_agent *whole; /* agent of the whole node, or ... */
	struct coord_agent *single[SPEC_MAX_GPUS]; /* ... one a rank, */
	int n_single;		   /* NULL: it never came, but ... */
	int absent[SPEC_MAX_GPUS]; /* ... the launcher's rank of it is
				    * known, plus one */
	int boot_rank;		   /* of the agent of a whole node that never
				    * came, plus one; 0: not known */
	bool present;
	bool open; /* of an earlier run that did not know its name */
	int gpus; /* ranks that it had before; 0: not known */
};

/** Group agents into nodes, in boot order, into @d (agents_expected() entries,
 *  zeroed); returns how many.  One-worker agents that never came and are of no
 *  known node are one of their own, not present, named after their launcher's
 *  ranks: absent[] has these.  Others that never came have the name that the
 *  launcher knows, with @local that of a pretend node.  -1 with @e: a node has
 *  more than it can. */
int draft_nodes(const struct agents *s, bool local, struct node_draft *d,
		struct err *e);
/** The same of @n nodes of a model, of which each agent is @hosted. */
void draft_model(const struct agents *s, int n, int hosted,
		 struct node_draft *d);

#endif
