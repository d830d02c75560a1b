/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_WORK_H
#define PROBES_ENGINE_COORD_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "probes/engine/coord/agents.h"
#include "probes/engine/coord/run_log.h"
#include "probes/probe.h"

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
	/** What an agent says about its work. */
	void (*message)(void *work, struct coord_agent *a, json_t *msg);
	/** ... and of its tasks, an entry of a list; NULL: it has none. */
	void (*entry)(void *work, struct coord_agent *a, enum message_type type,
		      const void *bytes, size_t n);
	void (*agent_lost)(void *work, struct coord_agent *a,
			   const char *detail);
	/** Who had not come has, to the node of that name, with @detail. */
	void (*agent_late)(void *work, int boot_rank, const char *node,
			   const char *detail);
	/** Deadlines, ten times a second. */
	void (*tick)(void *work, int64_t now_ns);
	/** What has not begun will not; the rest may finish.  May be NULL:
	 *  go_on() sees to it by the phase. */
	void (*stop)(void *work);
	/** What still runs must give up. */
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

/** What the process has, and work is given. */
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
	int64_t end_ns; /* of the run; INT64_MAX: --max-time was not given */
	enum coord_phase phase;
	bool hurried; /* begun without some, as --max-time was over */
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

/** What run.json, of c->log, wants probed: probe, kind, spec, before.  0, or -1
 *  with @e. */
int coord_read(struct coord *c, struct err *e);
/** What agents say to a struct coord. */
extern const struct agents_events coord_agents_events;

/** Stopped once, it leaves at the latest after two of these. */
#define COORD_STOP_NS (2 * NS_PER_S)

/** End the run in order; the first reason stays. */
void coord_stop(struct coord *c, const char *reason);
/** The same, as @e makes going on useless. */
void coord_break(struct coord *c, const struct err *e, const char *reason);
/** Write what is left to write, send the agents home.  Soon after one was lost
 *  the clock does, later: who ends a run may end its agents first, and this
 *  process next, which then has not called the run complete. */
void coord_leave(struct coord *c);
/** Nothing can be measured: say why in run.json and go. */
void coord_fail(struct coord *c, const struct err *e, int exit_code);

/** @code of who has not come; another where there was no time, or no CPU, to
 *  come. */
const char *coord_missing(const struct coord *c, const char *code);

/** A line of results.csv, within a tick at the latest, so that of a process
 *  that is killed at most that much is lost; a run that cannot write it
 *  stops. */
void coord_write_row(struct coord *c, const void *row);
/** Now, and facts: what was bad, and before anybody is to read them. */
void coord_flush_rows(struct coord *c);
/** Rewrite run.json with what is known by now. */
int coord_write_run(struct coord *c, bool ended, struct err *e);

#endif
