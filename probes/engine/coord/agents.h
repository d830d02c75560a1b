/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_AGENTS_H
#define PROBES_ENGINE_COORD_AGENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/base/ip.h"
#include "lib/spec/spec.h"
#include "probes/engine/coord/own_link.h"
#include "probes/engine/coord/run_log.h"
#include "probes/engine/net/boot.h"
#include "probes/engine/net/wire.h"
#include "probes/host/port.h"

#define AGENTS_MAX 65536

/** What the coordinator knows of one agent. */
struct coord_agent {
	struct wire wire;
	/* of agents.c alone: */
	struct agents *set;
	bool said_hello;
	struct coord_agent *next;
	/* for all: */
	bool lost; /* it went away during the run */
	bool foreign;	 /* agents_foreign() has said it */
	int64_t late_ns; /* in all, how long it did not run */
	struct sockaddr_storage own; /* our address that it came to */
	struct own_link own_link;    /* the interface that has it */
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
	json_t *inventory;
	json_t *last_words; /* facts of the end of the run, NULL = none */
};

/** All agents of a run, and the door that they come in by. */
struct agents;

/** What is heard of them. */
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

/** @expected agents; who comes, goes or is refused becomes an event in @log.
 *  Both are borrowed.  NULL without memory; agents_free() frees, once the loop
 *  has run dry. */
struct agents *agents_new(int expected, struct run_log *log,
			  const struct agents_events *events, void *arg);
void agents_free(struct agents *s); /* safe on NULL */
/** Wait at @fd, as door_open() does, for who knows @auth; returns its port, or
 *  0 with @e. */
uint16_t agents_listen(struct agents *s, uv_loop_t *loop, int fd,
		       const struct auth *auth, struct err *e);

/** One that was let in, and has not said hello; its wire is not open.  NULL
 *  without memory; agents_free() frees. */
struct coord_agent *agents_add(struct agents *s);
/** What is done about its @msg (borrowed), which fits the table of messages,
 *  and when it goes away, for @why. */
void agents_hear(struct coord_agent *a, json_t *msg);
void agents_lose(struct coord_agent *a, const char *why);

int agents_expected(const struct agents *s);
/** The one after @a (NULL: the first) of those that have said hello; NULL. */
struct coord_agent *agents_next(const struct agents *s,
				const struct coord_agent *a);
/** By the number that its launcher gave it; NULL: it never came. */
struct coord_agent *agents_find(const struct agents *s, int boot_rank);
/** Does one machine play several nodes (--local=NxG)? */
bool agents_pretend(const struct agents *s);
/** Has one of another node come from the machine, by its kernel, of number 0,
 *  which started the coordinator? */
bool agents_share_machine(const struct agents *s);

/** The address of this machine by which most of those elsewhere have come, into
 *  @buf; NULL: nobody has. */
const char *agents_reached(const struct agents *s, char buf[IP_TEXT]);
/** Has one come, or at least begun, that the coordinator did not start
 *  beside? */
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
/** "code" or "detail" of why node @name has no agent; "" when nobody knows. */
const char *agents_absent(const struct agents *s, const char *name,
			  const char *member);
/** The same as lines of facts.csv. */
void agents_absent_facts(const struct agents *s, const char *name);

/** Who comes from now on comes too late. */
void agents_begin(struct agents *s);
/** @msg to @a (NULL: to nobody), if that still listens; takes the
 *  reference. */
void agents_send(struct coord_agent *a, json_t *msg);
/** @a reported @what, which another agent has to report: it was dropped.  The
 *  first of each agent becomes an event. */
void agents_foreign(struct coord_agent *a, const char *what);
void agents_send_entry(struct coord_agent *a, enum message_type type,
		       const void *bytes, size_t n);
/** As wire_beat(), of all. */
void agents_beat(struct agents *s, int64_t now_ns, int64_t silence_ns);
/** Why @a, which is lost, is: "starved" where its node answers, or
 *  "agent_lost". */
const char *agents_lost_code(const struct coord_agent *a);
/** Does @a (NULL: nobody) owe us so many words that what else it owes may be
 *  under way? */
bool agents_silent(const struct coord_agent *a, int64_t now_ns);
/** In the middle of long work: the agents hear from us, and that we do not
 *  listen is not their fault. */
void agents_keep_alive(struct agents *s, int64_t now_ns);
/** All may go: who is lost now is not missed. */
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
/** Of scope "run": a setting that is the same for all. */
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
