/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_COORDINATOR_H
#define PROBES_ENGINE_COORD_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/data/cells.h"
#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/data/record.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "probes/engine/net/boot.h"
#include "probes/plan/dispatch.h"
#include "probes/engine/net/door.h"
#include "probes/plan/drill.h"
#include "probes/plan/layout.h"
#include "probes/transport/order.h"
#include "probes/plan/pass.h"
#include "probes/plan/plan.h"
#include "probes/host/port.h"
#include "probes/probe.h"
#include "probes/plan/resume.h"
#include "probes/engine/net/wire.h"
#include "probes/transport/xport.h"

/**
 * The coordinator's state, shared by its files only:
 *   coordinator.c   the process: loop, agents coming and going, phases
 *   draft.c   hellos -> nodes
 *   nodes.c   work of one kind: a task a node
 *   meet.c    where these need each other
 *   pairs.c   work of another: tasks between two ranks
 *   coord_group*.c  work of the third: all ranks together
 *   layout.c  nodes -> ranks, transport
 *   ports.c   which HCA ports are ranks
 *   task.c    tasks of two ranks; task.h has more
 *   rows.c    two reports become one row
 *   pass.c    one walk over all pairs after the other
 *   retry.c   which cells to try again
 *   resume.c  going on with a run that ended early
 *   files.c   run.json, facts.csv, events.csv
 */
struct coord;
struct coord_agent;

/** One kind of work that a probe can be: what the process asks of it. */
struct coord_work {
	/** Agents are here, as many as will come: plan, write run.json, tell
	 *  them; -1 with @e and error_exit: nothing can be measured. */
	int (*start)(struct coord *c, struct err *e);
	/** What an agent says about its work. */
	void (*message)(struct coord *c, struct coord_agent *a, json_t *msg);
	void (*agent_lost)(struct coord *c, struct coord_agent *a,
			   const char *detail);
	/** Deadlines, ten times a second. */
	void (*tick)(struct coord *c, int64_t now_ns);
	/** What has not begun will not, @code says why; the rest may finish. */
	void (*stop)(struct coord *c, const char *code);
	/** What still runs must give up. */
	void (*cancel)(struct coord *c);
	/** Lines of facts.csv; start() may not have been called. */
	void (*write_facts)(struct coord *c);
	/** Members of run.json that say what is planned, once that is known. */
	void (*put_plan)(struct coord *c);
	void (*release)(struct coord *c);
};

extern const struct coord_work coord_work_pairs, coord_work_nodes,
	coord_work_group;

/** A node of work that is one task a node. */
struct coord_node {
	char name[64];
	struct coord_agent *agent;	/* NULL: none ever came */
	bool nowhere;		/* ranks of which nobody knows the node */
	bool settled;		/* its rows are written */
	bool lost;		/* the agent went away before that */
	char ill[24];		/* how its child ended, "" = well: worker_... */
	json_t *ready;		/* where nodes meet: what it said of itself */
	bool told, finished;	/* what it must know; all that it has to say */
};

/** One agent: its connection and what its hello said. */
struct coord_agent {
	struct coord *c;
	struct wire wire;
	bool open, said_hello, lost;
	int boot_rank;
	int64_t local_rank;	/* one-worker agent: its slot; -1: whole node */
	int64_t local_size;	/* such agents on its node; 0: not said */
	char node[64], boot_id[64];
	bool pretend, sees_dir, driver;
	int64_t gpus_on_node;	/* SLURM_GPUS_ON_NODE, 0 = not said */
	int gpus_found;		/* parts that can be ranks: GPUs, ports */
	int only_gpu;		/* which of its node's the one is that it sees;
				 * -1: it counts them as the node does */
	json_t *inventory;
	json_t *last_words;	/* facts of the end of the run, NULL = none */
	int64_t heard_ns;
	struct coord_agent *next;
};

enum rank_state {
	RANK_OPENING,
	RANK_READY,
	RANK_MISSING,	/* no such GPU, or no agent on its node */
	RANK_UNUSABLE,	/* the transport does not open */
	RANK_RETIRED,	/* its workers died too often */
	RANK_LOST,	/* its agent went away */
};

struct coord_rank {
	struct coord_agent *agent;	/* NULL: none ever came */
	int slot;
	enum rank_state state;
	int deaths;
	char *ticket;		/* static ticket, NULL = none */
	char part[PORT_NAME];	/* its HCA port, "" where a rank is none */
	double line_GB_s;	/* what that can carry; NAN */
	bool software;		/* ... and the CPU does its work */
	json_t *facts;		/* of its worker, as facts_add() has them */
	char code[48];		/* why it cannot work, for skipped rows */
	char detail[300];
	struct active *active;	/* the running one */
};

/** What one end of a running task has reported. */
struct active_end {
	bool in;
	bool died;
	char detail[300];	/* when it died or was lost */
	char code[48];
	enum outcome outcome;
	int n;
	struct order_result *results;
};

enum active_stage {
	ACTIVE_JOINING,	/* both ends become a pair, ahead of time */
	ACTIVE_READY,	/* joined, in the dispatch queue */
	ACTIVE_RUNNING,	/* has its ranks for itself */
};

struct active {
	enum active_stage stage;
	bool joined[2];
	struct task task;
	char nonce[33];
	int64_t start_ns, deadline_ns;
	char start_utc[32];
	bool cancelled;
	bool refused;		/* an end had no worker: still owed */
	struct active_end ends[2];	/* of task.a and task.b */
	struct active *next, **at;	/* list of all */
};

enum coord_phase {
	COORD_BOOT,	/* waiting for agents */
	COORD_RUN,
	COORD_RETRY,
	COORD_CONTRAST,	/* passes after the first: no second attempts */
	COORD_STOP,	/* asked to end: running tasks may finish */
	COORD_LEAVE,	/* files are whole, agents are leaving */
};

/** The run as it was left. */
struct coord_before {
	json_t *nodes, *sizes;	/* of its run.json */
	char transport[16];
	int64_t cells;		/* that it planned */
	struct resume rows;
	size_t looked_at;	/* of its rows */
	bool fits;		/* it can go on here */
};

struct coord {
	const char *dir;
	struct spec spec;
	json_t *run;		/* run.json */
	struct coord_before *before;	/* NULL: a new run */
	const struct probe *probe;
	const struct coord_work *work;
	char nonce[33];
	int size;		/* agents expected */
	uint8_t token[BOOT_TOKEN_BYTES];
	uv_loop_t loop;
	uv_timer_t tick;
	uv_signal_t on_term, on_int;
	struct door *door;
	enum coord_phase phase;
	struct coord_agent *agents;
	int n_hello;
	long strangers;
	int64_t start_ns, boot_deadline_ns, run_ns, run_deadline_ns;
	int64_t sign_ns;	/* when the directory last got a sign of life */
	bool asked;		/* the agents for their last words */
	int64_t ask_deadline_ns;
	int64_t retry_ns, leave_deadline_ns, stop_deadline_ns, beat_ns;
	char stop_reason[64];
	struct err error;	/* why nothing could be measured */
	int error_exit;
	/* the plan: a task a node */
	struct coord_node *nodes;
	int n_nodes;
	int64_t nodes_deadline_ns;
	json_t *met;		/* what probe->plan() made; NULL: not yet */
	int next_told;		/* nodes before it know what they must */
	bool leaving;		/* the children have been let go */
	/* the plan: all together */
	struct group *group;
	/* the plan: pairs */
	const struct xport_ops *ops;
	struct layout layout;
	struct coord_rank *ranks;
	int *gpus_found;	/* a node; -1 = no agent */
	struct drill drill;
	struct pairs pairs;
	struct plan plan;
	struct pass passes[PASS_MAX];
	int n_passes, pass;	/* all, and the number of the one under way */
	json_t *settings;	/* of the workers of the first pass, once they
				 * have given way to others */
	struct dispatch *dispatch;	/* tasks that may run */
	struct dispatch *waiting;	/* tasks to be joined ahead of time;
					 * NULL: the transport cannot */
	size_t n_joining;
	int64_t wave_ns;	/* when the last joins were started */
	int64_t sizes[ORDER_MAX_SIZES];
	int n_sizes;
	int64_t setup_ns, task_ns;
	struct cell *cells;	/* n_ranks x n_ranks */
	struct active *active;
	uint32_t next_id;
	size_t tasks_done;
	/* files */
	struct rundir_table results, facts, events;
	int64_t event_seq;
};

/* draft.c */

/** A node while it is being put together from the hellos of its agents. */
struct coord_draft {
	char name[64], host[64], boot_id[64];
	struct coord_agent *whole;	/* agent of the whole node, or ... */
	struct coord_agent *single[SPEC_MAX_GPUS];	/* ... one a rank, */
	int n_single;		/* NULL: it never came, but ... */
	int absent[SPEC_MAX_GPUS];	/* ... the launcher's rank of it is
					 * known, plus one */
	bool present;
	int gpus;		/* ranks that it had before; 0: not known */
};

/** Group agents into nodes, in boot order, into @d (c->size entries, zeroed);
 *  returns how many.  One-worker agents that never came and are of no known
 *  node are one of their own, not present, named after their launcher's ranks:
 *  absent[] has these. */
int coord_draft_nodes(struct coord *c, struct coord_draft *d);

/* ports.c */

/** Has any node an HCA port, up or down? */
bool coord_has_ports(const struct coord *c);
/** Where a rank is an HCA port: count those that take part on each agent. */
void coord_count_ports(struct coord *c);
/** Name and line rate of port number @slot of @r's agent into @r. */
void coord_take_port(struct coord *c, struct coord_rank *r, int slot);

/* nodes.c */

/** Nothing more will come from @n: its last row says why. */
void coord_settle_node(struct coord *c, struct coord_node *n,
		       const char *outcome, const char *code,
		       const char *detail);

/* meet.c */

/** Nodes wait for each other no longer than this. */
#define COORD_MEET_NS (10 * NS_PER_S)

/** When all have said that they are ready (@late: or will not any more), tell
 *  each what it must know of the others; when all have finished, let them go.
 *  To be called whenever one of them has said something or is gone. */
void coord_meet(struct coord *c, bool late);
/** Tell those who had to wait for memory; ten times a second. */
void coord_meet_tick(struct coord *c);
/** Let them go now. */
void coord_meet_end(struct coord *c);

/* layout.c */

/** Fill in ops, layout, ranks from the hellos; -1 with @e: nothing to test. */
int coord_make_layout(struct coord *c, struct err *e);
/** The drill of run.json; -1 with @e. */
int coord_make_drill(struct coord *c, struct err *e);
/** Sizes, budgets, drill, pairs, plan, dispatch from options and layout. */
int coord_make_plan(struct coord *c, struct err *e);

/* task.c */

/** Start whatever may start now. */
void coord_pump(struct coord *c);
/** Queue a task for the first time or again; 0, or -1 without memory. */
int coord_queue(struct coord *c, const struct task *t);
/** Says to every queue that @rank can (again) / cannot work. */
void coord_ready(struct coord *c, int rank, bool ready);
/** Forget what was joined ahead of time with @rank (-1: all); still owed. */
void coord_unjoin(struct coord *c, int rank);
/** Is every rank there, or will never be? */
bool coord_all_settled(const struct coord *c);
/** Tasks in any queue. */
size_t coord_queued(const struct coord *c);
/** Wire messages about tasks: joined, done, died, refused, ticket. */
void coord_task_message(struct coord *c, struct coord_agent *a, json_t *msg);
/** @rank cannot work any more: end its task, skip what it has queued. */
void coord_rank_down(struct coord *c, int rank, enum rank_state state,
		     enum outcome outcome, const char *code,
		     const char *detail);
/** Deadlines of running tasks. */
void coord_task_tick(struct coord *c, int64_t now_ns);
/** Ask the ends of every running task to give up. */
void coord_cancel_all(struct coord *c);

/* rows.c */

/** Directions (TASK_AB, TASK_BA) of a task that has ended about which its ends
 *  have said enough; the others are still owed. */
uint8_t coord_dirs_known(const struct active *a);
/** Merge both ends' reports on direction @dir (0 a to b, 1 b to a) at @size
 *  into a row. */
void coord_finish_cell(struct coord *c, struct active *a, int dir,
		       int64_t size);
/** @row is on disk; remember what it means for its cell. */
void coord_note_row(struct coord *c, const struct p2p_row *row);
/** Empty the queue of @rank, -1: of all, with rows "not run" or "skipped";
 *  second attempts leave none. */
void coord_drop_queue(struct coord *c, int rank, enum outcome o,
		      const char *code, const char *detail);

static inline const char *coord_node(const struct coord *c, int rank)
{
	return c->layout.nodes[c->layout.ranks[rank].node].name;
}

static inline struct cell *coord_cell(struct coord *c, int src, int dst)
{
	return &c->cells[(size_t)src * (size_t)c->layout.n_ranks +
			 (size_t)dst];
}

/** Does one machine play several nodes here (--local=NxG, N > 1)? */
static inline bool coord_pretends(const struct coord *c)
{
	return c->layout.n_nodes > 1 && c->agents != NULL &&
	       c->agents->pretend;
}

/* pass.c */

static inline const struct pass *coord_pass(const struct coord *c)
{
	return &c->passes[c->pass];
}

/** Queue all tasks of the plan for the pass under way; -1 with @e. */
int coord_open_pass(struct coord *c, struct err *e);
/** Let the ranks that can work work, skip what the others have queued. */
void coord_settle_ranks(struct coord *c);
/** Is there another pass to come? */
bool coord_more_passes(const struct coord *c);
/** Begin it.  All ranks must be settled, and nothing be queued. */
void coord_next_pass(struct coord *c);

/* pairs.c */

/** Tell the agents which workers to start, or to start afresh, with the
 *  environment @env (NULL: as it is). */
void coord_start_agents(struct coord *c, json_t *env);
/** Lines of facts.csv about nodes and ranks, members of run.json. */
void coord_write_rank_facts(struct coord *c);
json_t *coord_nodes_json(struct coord *c);
/** Free what coord_make_layout() and coord_make_drill() have made. */
void coord_release_ranks(struct coord *c);
/** What the workers have set for all; new reference. */
json_t *coord_settings(const struct coord *c);
/** Everything that could be measured has been: look for what is next. */
void coord_idle(struct coord *c);

/* retry.c */

/** Queue second attempts for bad cells; returns how many tasks. */
size_t coord_queue_retries(struct coord *c);

/* resume.c: all but the first and the last where there is c->before */

/** c->before, where run.json says that there is one; -1 with @e. */
int coord_resume_open(struct coord *c, struct err *e);
/** Put the @n nodes of @d, which has room for those of both, into the places
 *  that they had.  Returns how many these are, or -1 with @e: another node. */
int coord_resume_nodes(struct coord *c, struct coord_draft *d, int n,
		       struct err *e);
/** Has every rank the GPU or port that it had?  0, or -1 with @e. */
int coord_resume_parts(struct coord *c, struct err *e);
/** Read what is measured and keep that, and nothing else, in results.csv. */
int coord_resume_rows(struct coord *c, struct err *e);
/** Events go on counting; any run. */
int coord_resume_events(struct coord *c, struct err *e);
/** Any run: must the files stay as they are, since another one was meant? */
bool coord_resume_misfit(const struct coord *c);
/** UUID or port of @rank now and when the run began, "" where not known. */
const char *coord_part_of(const struct coord *c, int rank);
const char *coord_part_before(const struct coord *c, int rank);
/** Has no agent of @node come so far, in no part of the run? */
bool coord_was_missing(const struct coord *c, int node);
void coord_resume_release(struct coord *c);

/* files.c */

int coord_files_open(struct coord *c, struct err *e);
void coord_files_close(struct coord *c);
/** Rewrite run.json with what is known by now. */
int coord_write_run(struct coord *c, bool ended, struct err *e);
/** Lines about node @name, as facts_add() made them for @a. */
void coord_facts(struct coord *c, const char *name,
		 const struct coord_agent *a, const json_t *facts);
/** Of scope "run": a setting that is the same for all. */
bool coord_fact_of_run(const json_t *fact);
/** What the agent of node @name found there. */
void coord_inventory_facts(struct coord *c, const char *name,
			   const struct coord_agent *a);
void coord_fact(struct coord *c, const char *node, const char *scope,
		const char *fact, const char *value, const char *unit,
		const char *source);
/** @node NULL and @rank -1 where they do not apply. */
void coord_event(struct coord *c, const char *node, int rank,
		 const char *event, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* coordinator.c */

/** @msg to the agent of @rank, if that still listens; takes the reference. */
void coord_send(struct coord *c, int rank, json_t *msg);
/** @rank is out from now on, and an event says why; false where it has been for
 *  an earlier reason. */
bool coord_rank_out(struct coord *c, int rank, enum rank_state state,
		    const char *code, const char *detail);
/** In the middle of long work: the agents hear from us, and that we do not
 *  listen is not their fault. */
void coord_keep_alive(struct coord *c);
/** End the run in order; the first reason stays. */
void coord_stop(struct coord *c, const char *reason);
/** Write what is left to write, send the agents home. */
void coord_leave(struct coord *c);
/** Nothing can be measured: say why in run.json and go. */
void coord_fail(struct coord *c, const struct err *e, int exit_code);

#endif
