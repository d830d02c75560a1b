/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_RANKS_H
#define PROBES_ENGINE_COORD_RANKS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/data/allocation.h"
#include "probes/engine/coord/work.h"
#include "probes/engine/net/message.h"
#include "probes/host/port.h"
#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "probes/transport/order.h"
#include "probes/transport/xport.h"

/* ---- ranks --------------------------------------------------------------- */

enum rank_state {
	RANK_OPENING,
	RANK_READY,
	RANK_MISSING,  /* no such GPU, or no agent on its node */
	RANK_UNUSABLE, /* the transport does not open */
	RANK_RETIRED,  /* its workers died too often */
	RANK_LOST,     /* its agent went away */
};

struct rank {
	struct coord_agent *agent; /* NULL: none ever came */
	int slot;
	enum rank_state state;
	int deaths;	      /* in a model */
	int boot_rank;	      /* of its agent, plus one, while that is missing;
			       * 0: not known */
	char *ticket;	      /* static ticket, NULL = none */
	char part[PORT_NAME]; /* its HCA port, "" where a rank is none */
	double line_GB_s;     /* what that can carry; NAN */
	bool limited;	      /* an event says which limit it ran into */
	bool software;	      /* ... and the CPU does its work */
	int64_t late_ns;      /* in which its last worker had no CPU */
	json_t *facts;	      /* of its worker, as facts_add() has them */
	char code[48];	      /* why it cannot work, for skipped rows */
	char detail[300];
};

/** Callbacks for the events of a rank, set by the work that has ranks. */
struct ranks_events {
	/** Its worker is there; may be NULL. */
	void (*ready)(void *work, int rank);
	/** Its worker ended in the task @id (-1: in none), @how is all that it
	 *  has to say of that; another may come. */
	void (*ended)(void *work, int rank, int64_t id,
		      const struct xport_result *how);
	/** It is out from now on. */
	void (*out)(void *work, int rank, const char *code, const char *detail);
	/** One end of a task, whose results may be taken, and a word of @type
	 *  about it; NULL: of work that is none. */
	void (*report)(void *work, int rank, struct order_report *r);
	void (*word)(void *work, int rank, enum message_type type,
		     const struct order_word *o);
	/** Any other message about it. */
	void (*said)(void *work, int rank, const json_t *msg);
};

/** The ranks of work that has some, pairs and collectives: what its state
 *  begins with. */
struct ranks {
	struct coord *c;
	const struct ranks_events *events;
	const struct xport_ops *ops; /* NULL: not made yet */
	struct layout layout;
	struct rank *all;
	int *gpus_found; /* a node; -1 = no agent */
	struct port_slots ports; /* where a rank is a port */
	json_t *port_names;	 /* of all that take part */
	struct allocation given; /* of the job; empty: not known */
	struct drill drill;
	struct str entry;	 /* that is being sent */
	bool keeps_facts;	 /* of the first workers, not of these */
};

/* layout.c */

/** Fill in @r, the work of @c, from the hellos; 0, or the exit code with @e:
 *  nothing to test.  ranks_release() is due in both cases. */
int ranks_make(struct ranks *r, struct coord *c,
	       const struct ranks_events *events, struct err *e);
/** The drill of run.json; -1 with @e. */
int ranks_drill(struct ranks *r, struct err *e);
/** UUID or port of @rank, "" where not known. */
const char *ranks_part(const struct ranks *r, int rank);

/* nics.c */

/** Put into the layout which NIC each rank uses, and the names of the NICs, as
 *  far as an earlier part of the run or the nodes know them; -1 with @e. */
int ranks_find_nics(struct ranks *r, struct err *e);
/** Returns true if the nodes have no route between rails: more of them, @apart,
 *  say so than not. */
bool ranks_unrouted(const struct ranks *r, int *apart);

/** Put into the layout on which leaf each rank is, as far as its node hears it
 *  by LLDP or --switches has it; -1 with @e. */
int ranks_find_leaves(struct ranks *r, struct err *e);

/* ranks.c */

static inline const char *ranks_node(const struct ranks *r, int rank)
{
	return r->layout.nodes[r->layout.ranks[rank].node].name;
}

static inline bool ranks_model(const struct ranks *r)
{
	return xport_is(r->ops, XPORT_MODEL);
}

/** Returns true if one machine pretends to be several nodes (--local=NxG, N >
 *  1). */
bool ranks_pretend(const struct ranks *r);
/** Returns true if at least two ranks run on one machine.  Nodes with the same
 *  boot ID, such as containers of one host, are one machine whatever their
 *  names are. */
bool ranks_share_machine(const struct ranks *r);
/** Tell the agents which workers to start, or to start afresh, for @p, with
 *  the environment @env (NULL: as it is), and for tasks by @how (NULL: it is
 *  none that they are started for). */
void ranks_start(struct ranks *r, const struct pass *p, json_t *env,
		 const struct order_how *how);
/** ... an order, or a word of @type about one, to the agent of its rank. */
void ranks_order(struct ranks *r, const struct order *o);
void ranks_tell(struct ranks *r, enum message_type type,
		const struct order_word *o);
/** ... a message that only names the task @id, or no task: -1. */
void ranks_word(struct ranks *r, int rank, enum message_type type,
		int64_t id);
/** Returns true if no rank is still opening its transport. */
bool ranks_settled(const struct ranks *r);
/** @rank is out from now on, and an event says why, unless it has been for an
 *  earlier reason. */
void ranks_out(struct ranks *r, int rank, enum rank_state state,
	       const char *code, const char *detail);
/** Returns the outcome of a test that @rank could not take part in because of
 *  @code: OUTCOME_NOT_RUN for a local limit or lack of CPU, else @failed. */
enum outcome ranks_outcome(const char *code, enum outcome failed);
/** Returns true if the processes of a test did not run for so much of the time
 *  waited that a timeout shows nothing: @late_ns is more than a third of
 *  @wall_ns. */
bool ranks_starved(int64_t late_ns, int64_t wall_ns);
/** Adds @facts, in the form of facts_add(), to the facts that the worker of
 *  @rank has reported.  NULL adds nothing. */
void ranks_learn(struct ranks *r, int rank, const json_t *facts);
/** An event, the first time only: @rank ran into the limit @code of ours. */
void ranks_note_limit(struct ranks *r, int rank, const char *code,
		      const char *detail);
/** As in struct coord_work: what @a says of one of its ranks; it is lost. */
void ranks_message(void *work, struct coord_agent *a, json_t *msg);
void ranks_entry(void *work, struct coord_agent *a, enum message_type type,
		 const void *bytes, size_t n);
void ranks_agent_lost(void *work, struct coord_agent *a, const char *detail);
void ranks_agent_late(void *work, int boot_rank, const char *node,
		      const char *detail);

/** Lines of facts.csv about nodes and ranks. */
void ranks_write_facts(void *work);
/** Members of run.json that both kinds of work have; @settings NULL: those of
 *  the workers that are there. */
void ranks_put_plan(struct ranks *r, json_t *run, const int64_t *sizes,
		    int n_sizes, json_t *settings);
/** Returns the settings that the workers use on all ranks, taken from the first
 *  rank that reported any (new reference). */
json_t *ranks_settings(const struct ranks *r);
void ranks_release(struct ranks *r);

/* ---- ports --------------------------------------------------------------- */

/** HCA ports as ranks: for probes that test these. */

/** Find the slots of r->ports in what the agents have said; each agent then
 *  knows which of its ports is in which, and how many take part.  0, or -1
 *  without memory. */
int ports_make(struct ranks *r);

#define PORTS_FILTER_TEXT 1024
/** "NCCL_IB_HCA=^mlx5_0 (/etc/nccl.conf)", and on how many nodes if not on all
 *  alike: what stood in for --hca; false and "": nothing did. */
bool ports_filter_text(const struct coord *c, char buf[PORTS_FILTER_TEXT]);

/** The group of @slot: two ranks of different ones cannot communicate. */
int ports_group(const struct ranks *r, int slot);

/** The port of k->slot on the node of @k into @k; false: there is none. */
bool ports_take(const struct ranks *r, struct rank *k);

/** How many HCA ports the nodes have, up or down; or, @efa, how many that ib
 *  does not apply to. */
size_t ports_count(const struct coord *c, bool efa);

#endif
