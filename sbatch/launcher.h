/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_LAUNCHER_H
#define SBATCH_LAUNCHER_H

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/spec/spec.h"

/* ---- args ---------------------------------------------------------------- */

/** A growing argument vector; check @failed once, before use. */
struct args {
	char **argv;	/* NULL-ended once something was added */
	size_t n;
	bool failed;	/* memory ran out */
};

void args_add(struct args *a, const char *arg);
void args_addf(struct args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Add each of @words, which are separated by one blank. */
void args_words(struct args *a, const char *words);
/** Unset variable @name for the command: adds "env -u NAME", or "-u NAME" to an
 *  "env" that is there.  Call it before any word of the command is added. */
void args_unset(struct args *a, const char *name);
/** Add all of @more, NULL-ended; NULL adds nothing. */
void args_add_all(struct args *a, char *const more[]);
/** Add --nodelist and --exclude for a command of Slurm: the nodes of @list, or
 *  if it is NULL those of @s. */
void args_add_places(struct args *a, const char *list, const struct spec *s);
/** Add the words of --srun-args of @s, split and quoted as in a shell. */
void args_add_srun(struct args *a, const struct spec *s);
/** Append the arguments to @out as a line for a shell. */
void args_line(const struct args *a, struct str *out);
void args_release(struct args *a);	/* safe on a zeroed one */

/* ---- launch child -------------------------------------------------------- */

/**
 * A child of the front.  It has a process group of its own, so that ^C at the
 * terminal reaches only the front, and gets TERM from the kernel when the front
 * dies.
 */
struct launch_child {
	pid_t pid;		/* 0 = never started */
	bool ended;
	int exit_code;		/* 128 + signal when killed by one */
};

/**
 * Start @a, whose first word is looked up in PATH.
 * @env    "NAME=value": additions to the environment; NULL: none
 * @in_fd  read from its start as stdin; -1: /dev/null
 * @out    file in the run directory @dir to which stdout and stderr are
 *         appended; NULL: /dev/null
 * Returns 0, or -1 with @e.
 */
int launch_child_start(struct launch_child *c, const struct args *a,
		       const struct args *env, int in_fd, const char *dir,
		       const char *out, struct err *e);

/** Check that @program is on PATH. Returns 0, or -1 with the reason and the
 *  alternative. */
int launch_child_need(const char *program, struct err *why);

/** Return true if the child has ended. Never blocks. */
bool launch_child_ended(struct launch_child *c);

/** Signal its process group, also what is left of the group after its end. */
void launch_child_signal(struct launch_child *c, int sig);

/** Kill the process group of a child that has ended, then reap it: until then
 *  no other process gets its number. */
void launch_child_end(struct launch_child *c);

/* ---- launcher ------------------------------------------------------------ */

/**
 * Ways to start "gpucheck agent DIR" on every node: local (fork here), srun
 * (inside an allocation), sbatch (outside), env (started by mpirun, torchrun or
 * a pod), ssh (machines without a batch system).  Each has its file; to add
 * one: its name in LAUNCHERS, its name and flags among the words of --launcher
 * (lib/spec/options.c).
 * start() and poll() never block for longer than the control commands they
 * run (10 s each).
 */
struct launch_request {
	const char *self;	/* absolute path of this program */
	const char *dir;	/* absolute run directory */
	const char *probe;	/* job name: gpucheck-<probe> */
	const struct spec *spec;
	bool any_node;		/* nodes without GPUs are fine, too */
	char *const *extra;	/* after "--", NULL-ended: to sbatch / srun */
	const char *inner;	/* command that a batch job runs on DIR instead
				 * of agents, and which starts these; or NULL */
	const char *nodelist;	/* exactly these nodes, as a list for Slurm;
				 * NULL: any */
	const char *job_name;	/* NULL: gpucheck-<probe> */
	bool singleton;		/* one job of that name runs at a time */
	int64_t gpus;		/* of each node, if they are known; -1: none */
	int64_t minutes;	/* --time of a job whose @spec has no limit of
				 * its own; 0: none */
	bool light;		/* needs neither GPUs nor whole nodes */
};

enum launch_phase {
	LAUNCH_PENDING,		/* submitted, not started */
	LAUNCH_RUNNING,
	LAUNCH_ENDED,
};

struct launch_state {
	enum launch_phase phase;
	int exit_code;		/* of the job, srun or agents; -1 unknown */
	bool cut;		/* it ended for a reason outside of the run:
				 * cancelled, requeued, out of time, a node
				 * that failed */
	char text[320];		/* for people: "job 42 is pending (Priority)" */
	char hint[640];
	int64_t starts_s;	/* when a job that waits may start, since 1970;
				 * 0 = not known */
};

/** Write the expected start, "2026-01-31 09:15 UTC"; false: not known. */
bool launch_starts(const struct launch_state *st, char *buf, size_t size);
/** "pending", "pending, expected to start about 2026-01-31 09:15 UTC", or
 *  "starting", in at most LAUNCH_WAITS_SIZE bytes; returns @buf. */
#define LAUNCH_WAITS_SIZE 64
const char *launch_waits(const struct launch_state *st, char *buf);

/** Set @st, with a text in printf form and without a hint. */
void launch_say(struct launch_state *st, enum launch_phase phase,
		int exit_code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

struct launch;			/* one started run */

/** Operations of a launcher; a member may be NULL if the launcher lacks it. */
struct launcher_ops {
	const char *name;
	size_t size;		/* of its struct launch */
	/** The command that it needs on PATH; NULL: none. */
	const char *program;
	/** Return 0, or -1 with the reason why it cannot be used here. */
	int (*usable)(struct err *why);
	/** Check the launcher's options. Returns 0, or -1 with @e. */
	int (*check)(const struct spec *s, struct err *e);
	/** List the machines that it knows by name, including those that are
	 *  left out.  Returns 0, or -1 with @e; the caller releases @h. */
	int (*hosts)(const struct spec *s, struct hosts *h, struct err *e);
	/** Describe the script and the command lines for --dry-run. */
	int (*describe)(const struct launch_request *r, struct str *out,
			struct err *e);
	/** Start the run, with @l zeroed.  Returns 0, or -1 with @e (including
	 *  Slurm's own words): nothing runs, unless launch_is_unsure(). */
	int (*start)(struct launch *l, const struct launch_request *r,
		     struct err *e);
	/** Refresh @st; -1 with @e if the launcher does not answer now. */
	int (*poll)(struct launch *l, struct launch_state *st, struct err *e);
	/** Ask the run to stop in order (TERM); @hard: at once (KILL).  NULL:
	 *  the run continues when the front leaves. */
	void (*stop)(struct launch *l, bool hard);
	/** The reason in words if it is chosen without being named, and the
	 *  variable whose value they are about, or NULL.  NULL: never. */
	const char *chosen, *variable;
	/** The option that implies it; NULL: it is implied if usable. */
	const char *option;
	/** Set the default numbers of nodes, and of GPUs per node; 0: not
	 *  known. */
	void (*usual)(const struct spec *s, int64_t *nodes, int64_t *gpus);
	/** After the end of the run: wait some seconds for the end of @l, and
	 *  refresh @st.  NULL: poll() does that. */
	void (*end)(struct launch *l, struct launch_state *st);
	/** The run did not start: add the nodes that get no work from Slurm,
	 *  and the reason, to @e, and their names to the empty list @names.
	 *  Returns false if there are none. NULL: unknown. */
	bool (*blame)(struct launch *l, struct err *e, struct str *names);
	/** Find a job of the run in @dir: queued or running, or with @past one
	 *  that has ended. Returns 1 with @l as if it had just been started, 0
	 *  if there is none, -1 with @e if that is unknown. */
	int (*adopt)(struct launch *l, const char *dir, bool past,
		     struct err *e);
	/** Find the run directory of @job, which may just have ended.  Returns
	 *  0, or -1 with @e. */
	int (*find)(const char *job, char dir[PATH_MAX], struct err *e);
	/** Launcher that starts the agents inside this one's job; NULL: this
	 *  one does. */
	const struct launcher_ops *inside;
	/** Command that stops its job, without the job's number: "scancel ". */
	const char *cancel;
	/** The job's number, for --no-wait. */
	const char *(*job_id)(const struct launch *l);
	/** Additional silence that a run may have: the process that starts it
	 *  waits for the same signs, and knows better what to do. */
	int64_t patience_ns;
	/** Release the contents of @l, whether it was started or not; not @l
	 *  itself. */
	void (*release)(struct launch *l);
};

/** Return true if the run may have started although start() failed: the command
 *  it called did not answer, or with an unknown text. */
static inline bool launch_is_unsure(const struct err *e)
{
	return e->code == ETIMEDOUT || e->code == EINTR || e->code == EPROTO;
}

/** All launchers, in the order in which one is chosen. */
#define LAUNCHERS(X) X(ssh) X(local) X(srun) X(sbatch) X(env)
#define LAUNCHER_DECLARE(name) extern const struct launcher_ops launcher_##name;
LAUNCHERS(LAUNCHER_DECLARE)

/** Return the launcher called @name, or NULL. */
const struct launcher_ops *launcher_find(const char *name);

/** Return true if the run continues when the front ends (^C, --no-wait). */
static inline bool launcher_is_job(const struct launcher_ops *ops)
{
	return !ops->stop;
}

/** Find the run directory of a launcher's @job.  Returns 0, or -1 with @e. */
int launcher_find_job(const char *job, char dir[PATH_MAX], struct err *e);

/**
 * Choose the launcher of @s: --launcher, --ssh, --local, srun if SLURM_JOB_ID
 * is set, sbatch if it is on PATH, else local.  @why gets the reason in one
 * line for stderr.  Returns NULL with @e if the named one cannot be used.
 */
const struct launcher_ops *launcher_choose(const struct spec *s, char *why,
					   size_t size, struct err *e);

/** Check that the launcher can be used here. Returns 0, or -1 with the
 *  reason. */
int launcher_usable(const struct launcher_ops *ops, struct err *why);
/** Check that the options of @s suit the launcher. Returns 0, or -1 with @e. */
int launcher_check(const struct launcher_ops *ops, const struct spec *s,
		   struct err *e);
/** Set the default numbers of nodes, and of GPUs per node; unchanged if they
 *  are not known. */
void launcher_usual(const struct launcher_ops *ops, const struct spec *s,
		    int64_t *nodes, int64_t *gpus);
/** List the machines by name that are not left out.  Returns 0, or -1 with
 *  @e. */
int launcher_hosts(const struct launcher_ops *ops, const struct spec *s,
		   struct hosts *h, struct err *e);
/** Return the number of its job, "" if it has none; valid as long as @l. */
const char *launcher_job_id(const struct launcher_ops *ops,
			    const struct launch *l);

/** Start a run.  Returns NULL with @e if it failed: nothing runs, unless
 *  launch_is_unsure().  launcher_free() frees. */
struct launch *launcher_start(const struct launcher_ops *ops,
			      const struct launch_request *r, struct err *e);
void launcher_free(const struct launcher_ops *ops, struct launch *l);
/** Call its adopt(); launcher_free() frees *@l if the result is 1. */
int launcher_adopt(const struct launcher_ops *ops, const char *dir, bool past,
		   struct launch **l, struct err *e);

/** Add the command that every launcher runs on a node: the agent of @r. */
void launcher_add_agent(const struct launch_request *r, struct args *a);

/** Add "sbatch --parsable" without the variables of the caller that override
 *  the options in a script; those that choose an account or a partition
 *  (SBATCH_ACCOUNT, _PARTITION ...) are kept. */
void launch_sbatch_words(struct args *a);

/* ---- job script ---------------------------------------------------------- */

/** Return the number of nodes that a job of @s asks for. */
int64_t job_script_nodes(const struct spec *s);

/** Write the batch script of @r; asks sinfo and srun about this cluster.
 *  Returns 0, or -1 with @e. */
int job_script_write(const struct launch_request *r, struct str *out,
		     struct err *e);

#endif
