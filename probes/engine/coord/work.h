/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_WORK_H
#define PROBES_ENGINE_COORD_WORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "probes/engine/coord/agents.h"
#include "probes/probe.h"

/* ---- before -------------------------------------------------------------- */

/*
 * A run that ended early as it was left: its run.json then.  Who goes on with
 * it needs the same nodes and parts of them.
 */

/** Opens the earlier part of a run.  Sets @out to a copy of @run, the content
 *  of its run.json; the caller frees it with json_decref().  @out is NULL if
 *  the run is new or has no plan so far.  The copy has no nodes if no node of
 *  that plan ever connected.  Returns 0, or -1 with @e. */
int before_open(json_t *run, json_t **out, struct err *e);
/** Put the @n nodes of @d, which has room for those of both, into the places
 *  that they had, and those that never came into the places of such.  Returns
 *  how many these are, or -1 with @e: another node.  Only where @b has
 *  nodes. */
int before_nodes(const json_t *b, struct node_draft *d, int n, struct err *e);
/** Its entry of run.json, borrowed; NULL: it has none, or @b is NULL. */
const json_t *before_node(const json_t *b, const char *name);
/** UUID or port of number @part of @node, "" where not known; @b NULL too. */
const char *before_part(const json_t *b, const char *node, int part);
/** Returns true if no agent of @node has connected in the earlier part of the
 *  run, or @b is NULL. */
bool before_missing(const json_t *b, const char *node);
/** Checks that the earlier part of the run was planned with the same @sizes
 *  (bytes) and the same number of @cells; the latter only if all its nodes had
 *  connected.  Returns 0, or -1 with @e. */
int before_check_plan(const json_t *b, const int64_t *sizes, int n_sizes,
		      size_t cells, struct err *e);

/* ---- work ---------------------------------------------------------------- */

struct coord;

/** One kind of work that a probe can be: what the process asks of it. */
struct coord_work {
	size_t size; /* of its state, which is zeroed before start() */
	/** Agents are here, as many as will come: plan, write run.json, tell
	 *  them.  c->work is what the others get, also where this fails: then
	 *  the exit code with @e, nothing can be measured; else 0. */
	int (*start)(struct coord *c, struct err *e);
	/** Whatever can be done now; called after each of the following, and
	 *  after the start. */
	void (*go_on)(void *work);
	/** Handles a message of an agent about its work. */
	void (*message)(void *work, struct coord_agent *a, json_t *msg);
	/** ... and of its tasks, an entry of a list; NULL: it has none. */
	void (*entry)(void *work, struct coord_agent *a, enum message_type type,
		      const void *bytes, size_t n);
	void (*agent_lost)(void *work, struct coord_agent *a,
			   const char *detail);
	/** A missing agent has connected to @node, too late to take part;
	 *  @detail says why. */
	void (*agent_late)(void *work, int boot_rank, const char *node,
			   const char *detail);
	/** Deadlines, ten times a second. */
	void (*tick)(void *work, int64_t now_ns);
	/** Do not begin new tests; those that run may finish.  May be NULL:
	 *  go_on() then checks the phase. */
	void (*stop)(void *work);
	/** Cancel the tests that still run. */
	void (*cancel)(void *work);
	/** Lines of facts.csv. */
	void (*write_facts)(void *work);
	/** Members of run.json that say what is planned, once that is known. */
	void (*put_plan)(void *work, json_t *run);
	/** All but the memory of @work itself. */
	void (*release)(void *work);
};

extern const struct coord_work coord_work_pairs, coord_work_nodes,
	coord_work_collective;

enum coord_phase {
	COORD_BOOT, /* waiting for agents */
	COORD_RUN,
	COORD_STOP,  /* asked to end: running tasks may finish */
	COORD_SETTLE, /* all is done, but an agent was just lost */
	COORD_LEAVE, /* files are whole, agents are leaving */
};

/** Coordinator state shared with every kind of work. */
struct coord {
	struct spec spec;
	const struct probe *probe;
	struct run_log *log;
	struct agents *agents;
	json_t *before;	       /* run.json as it was left; NULL: a new run */
	size_t tasks_done;     /* counted by the work */
	int64_t late_ns;       /* in all, how long this process did not run */
	int64_t start_ns;      /* of the tests; 0: not yet */
	/* read only: */
	int64_t begin_ns; /* of the wait for agents */
	int64_t end_ns; /* of the run; INT64_MAX: --time-limit was not given */
	enum coord_phase phase;
	bool hurried; /* begun without some, as --time-limit was over */
	bool starved; /* ... and their machine had no CPU for its processes */
	char stop_reason[64];
	const char *stop_code; /* of what was not measured because of that */
	/* of work.c and the process: */
	const struct coord_work *kind;
	void *work; /* NULL: it has not started */
	uv_timer_t tick;
	int64_t lost_ns;   /* when the last agent was lost; 0: none */
	int64_t settle_ns; /* until then it is not over */
	int64_t stop_deadline_ns, leave_deadline_ns;
	bool full;	  /* results.csv takes no more */
	struct err error; /* why nothing could be measured, or no more */
	int error_exit;
};

/* coordinator.c */

/** Sets probe, kind, spec and before of @c from run.json (c->log).  Returns 0,
 *  or -1 with @e. */
int coord_read(struct coord *c, struct err *e);
/** Callbacks for events of agents; their argument is a struct coord. */
extern const struct agents_events coord_agents_events;

/** Stopped once, it leaves at the latest after two of these. */
#define COORD_STOP_NS (2 * NS_PER_S)

/** End the run in order; the first reason stays. */
void coord_stop(struct coord *c, const char *reason);
/** Ends the run because of @e, which makes going on useless. */
void coord_break(struct coord *c, const struct err *e, const char *reason);
/** Write what is left to write, send the agents home.  Soon after one was lost
 *  the clock does, later: who ends a run may end its agents first, and this
 *  process next, which then has not called the run complete. */
void coord_leave(struct coord *c);
/** Nothing can be measured: say why in run.json and go. */
void coord_fail(struct coord *c, const struct err *e, int exit_code);

/** Returns the error code of an agent that never connected: @code, or a
 *  different one if the deadline or a lack of CPU prevented it. */
const char *coord_missing(const struct coord *c, const char *code);

/** A line of results.csv, within a tick at the latest, so that of a process
 *  that is killed at most that much is lost; a run that cannot write it
 *  stops. */
void coord_write_row(struct coord *c, const void *row);
/** Writes the lines of results.csv and facts.csv now: after a failure, and
 *  before another process reads them. */
void coord_flush_rows(struct coord *c);
/** Rewrite run.json with what is known by now. */
int coord_write_run(struct coord *c, bool ended, struct err *e);

/* ---- nodes --------------------------------------------------------------- */

/** Work that is one task per node: the state of nodes.c. */
struct node {
	char name[64];
	struct coord_agent *agent; /* NULL: none ever came */
	bool nowhere;		   /* ranks whose node is not known */
	bool settled;		   /* its rows are written */
	int boot_rank;		   /* of its agent, plus one, while that has
				    * not come; 0: not known */
	bool late;		   /* it came, but too late */
	bool lost;		   /* the agent went away before that */
	char ill[24];	     /* how its child ended, "" = well: worker_... */
	json_t *ready;	     /* where nodes meet: what it said of itself */
	bool told, finished; /* what it must know; all that it has to say */
};

struct nodes_work {
	struct coord *c;
	struct node *nodes;
	int n_nodes;
	int64_t deadline_ns;
	json_t *met;   /* what probe->plan() made; NULL: not yet */
	struct {
		json_t *tell, *run, *nodes;
		int64_t budget_ns;
	} plan;	       /* its members */
	int next_told; /* nodes before it know what they must */
	bool moved;    /* one has got further since go_on() */
	bool leaving;  /* the children have been let go */
	char limit[320];	/* "n1: ...": first that ran into one of ours */
};

/* ---- step words ---------------------------------------------------------- */

/*
 * In job.out of the run directory srun reports that the tasks of a node have
 * ended or could not be started.  The coordinator need not wait for such tasks.
 */

#define STEP_NODES 1024		/* bytes of a host list */

/** Parses one @line, without its end: of which tasks it is, those of @nodes (a
 *  host list) or, if that is "", the one of number @task (else -1).  Returns
 *  false if the line is not such a report. */
bool step_words_parse(const char *line, char nodes[STEP_NODES], int *task);

typedef void (*step_said_fn)(void *arg, const char *nodes, int task,
			     const char *words);

/** Reads what is new in job.out of @dir behind its first @at bytes, and calls
 *  @said with srun's @words for each line that is such a report.  Returns how
 *  many bytes are read now: whole lines. */
int64_t step_words_read(const char *dir, int64_t at, step_said_fn said,
			void *arg);

#endif
