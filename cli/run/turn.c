/* SPDX-License-Identifier: BSD-3-Clause */
/* One turn of "gpucheck watch": run the command, submit the next turn. */
#include "cli/run/chain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/follow.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/** Time for a run past its deadline to give up, judge and draw. */
#define GRACE_NS (600 * NS_PER_S)
/** From TERM to KILL. */
#define KILL_NS	 (60 * NS_PER_S)
#define LOOK_NS	 (50 * NS_PER_MS)
/** A controller that restarts is away for so long; one that is replaced for
 *  longer, which nodes may wait for when their run is over. */
#define TRY_ALL_NS (60 * NS_PER_S)
#define SILENT_NS  (600 * NS_PER_S)
#define TRY_NS	   (20 * NS_PER_S)
/** The directory of a watch is there within a minute. */
#define OPENS	12
#define OPEN_NS (5 * NS_PER_S)
/** A job that ends does within this, and is looked at so often. */
#define ENDING_NS      (60 * NS_PER_S)
#define LOOK_ENDING_NS (2 * NS_PER_S)
/** Bytes that a holder writes about itself. */
#define HOLDER 200

/* ---- the next turn ------------------------------------------------------- */

/** Why no run begins at @at_s, or NULL. */
static const char *why_none(const struct chain *c, const char *dir,
			    int64_t done, int64_t at_s)
{
	char stop[PATH_MAX];

	return rundir_path(dir, CHAIN_STOP, stop, NULL) == 0 &&
			       access(stop, F_OK) == 0 ?
		       "the watch was stopped" : chain_over(c, done, at_s);
}

/** The turn that is @k-th from now, from 1, which began at @began_s. */
static int submit(const struct chain *c, const char *dir,
		  const struct command *const *commands, int k,
		  int64_t began_s, struct err *e)
{
	const int64_t in_s = began_s + k * c->every_s - time(NULL);
	char job[SLURM_JOB_SIZE];

	if (chain_submit(c, dir, commands, in_s > 0 ? in_s : 0, job, NULL, e) <
	    0) {
		return -1;
	}
	talk(k == 1 ? "next: job %s" : "and a spare: job %s", job);
	return 0;
}

/** Tries once to submit the next turn.  Returns 0 if it is in the queue, 1 if
 *  Slurm refuses it, -1 if Slurm does not answer.  Checks the queue first: an
 *  earlier try may have succeeded without an answer, and a second job would run
 *  the turn twice. */
static int try_submit(const struct chain *c, const char *dir,
		      const struct command *const *commands, int64_t done,
		      int64_t began_s, struct err *e)
{
	const int64_t next_s = began_s + c->every_s, in_s = next_s - time(NULL);
	char job[SLURM_JOB_SIZE] = "";
	const int waits = chain_waiting(c, dir, getenv("SLURM_JOB_ID"), job, e);
	struct err why = { 0 };

	if (waits < 0) {
		return -1;
	}
	if (waits > 0) {
		/* the spare of a turn that was late is early */
		talk("next: job %s", job);
		chain_put_off(job, in_s > 0 ? in_s : 0);
	} else if (submit(c, dir, commands, 1, began_s, e) < 0) {
		return launch_is_unsure(e) ? -1 : 1;
	}
	if (waits < CHAIN_WAIT &&
	    !why_none(c, dir, done + 1, next_s + c->every_s) &&
	    submit(c, dir, commands, CHAIN_WAIT, began_s, &why) < 0) {
		talk("the next turn has no spare: %s", why.text);
	}
	return 0;
}

/** Submits the next turn, if there is one, with tries for @patience_ns, or
 *  @silent_ns if Slurm does not answer at all.  Returns false if it still has
 *  to be submitted. */
static bool submit_next(const struct chain *c, const char *dir,
			const struct command *const *commands, int64_t done,
			int64_t began_s, int64_t patience_ns,
			int64_t silent_ns)
{
	const int64_t start_ns = clock_now_ns();
	const int64_t next_s = began_s + c->every_s;
	const char *over = why_none(c, dir, done, next_s);
	struct err e;
	char said[sizeof(e.text)] = "";
	int rc;

	if (c->timer) {
		return true;
	}
	if (over) {
		talk("this is the last run: %s", over);
		chain_cancel(c, dir, NULL);
		return true;
	}
	for (;;) {
		e = (struct err){ 0 };
		rc = try_submit(c, dir, commands, done, began_s, &e);
		if (rc == 0) {
			return true;
		}
		if (strcmp(said, e.text) != 0) {
			talk_err(&e);
			STR_COPY(said, e.text);
		}
		if (clock_now_ns() + TRY_NS - start_ns >
			    (rc < 0 ? silent_ns : patience_ns) ||
		    follow_take_signal(TRY_NS)) {
			return false;
		}
	}
}

/* ---- the run ------------------------------------------------------------- */

/** Waits until the run ends, we are asked to stop, or it takes too long. */
static int await(struct launch_child *child, int64_t deadline_ns)
{
	bool asked = false;

	while (!launch_child_ended(child)) {
		const bool late = clock_now_ns() > deadline_ns;

		if (follow_take_signal(LOOK_NS) || late) {
			launch_child_signal(child, asked && late ? SIGKILL :
								   SIGTERM);
			deadline_ns = !asked || late ?
				      clock_now_ns() + KILL_NS : deadline_ns;
			asked = true;
		}
	}
	return child->exit_code;
}

static int run_once(const struct chain *c, const char *dir, int64_t number,
		    struct err *e)
{
	struct launch_child child = { 0 };
	struct args a = { 0 };
	char self[PATH_MAX], log[64];
	int code = CODE_UNABLE;

	if (spawn_self(self, sizeof(self), e) < 0) {
		return CODE_UNABLE;
	}
	chain_args(c, self, dir, number, &a);
	snprintf(log, sizeof(log), CHAIN_LOG, (int)number);
	talk(CHAIN_RUN ": its words are in %s/%s", (int)number, dir, log);
	if (launch_child_start(&child, &a, NULL, -1, dir, log, e) == 0) {
		code = await(&child, clock_now_ns() + c->max_time_s * NS_PER_S +
				     GRACE_NS);
		launch_child_end(&child);
		talk(CHAIN_RUN " ended with exit code %d", (int)number, code);
	}
	args_release(&a);
	return code;
}

static int turn(const struct chain *c, const char *dir,
		const struct command *const *commands, struct err *e)
{
	const int64_t began_s = time(NULL), done = chain_done(dir);
	const char *over = why_none(c, dir, done, began_s);
	struct err why = { 0 };
	bool submitted;
	int code;

	if (over) {
		talk("no run: %s", over);
		return CODE_HEALTHY;
	}
	if (chain_begin(dir, done + 1, &why) < 0) {
		talk("this turn may not count for --runs: %s", why.text);
	}
	submitted = submit_next(c, dir, commands, done + 1, began_s, TRY_ALL_NS,
				TRY_ALL_NS);
	code = run_once(c, dir, done + 1, e);
	if (!submitted &&
	    !submit_next(c, dir, commands, done + 1, began_s, TRY_ALL_NS,
			 SILENT_NS)) {
		talk("the watch ends here: no job can be submitted");
	}
	return code;
}

/** Claims the directory for this turn.  A claim of a job that has ended, which
 *  a lost machine may have left, does not count. */
static int claim_turn(const char *dir, int *claim, char who[HOLDER])
{
	const int64_t deadline_ns = clock_now_ns() + ENDING_NS;
	const char *own = getenv("SLURM_JOB_ID");
	char gone[HOLDER], job[SLURM_JOB_SIZE];

	if (rundir_claim(dir, claim, who, HOLDER) == 0) {
		return 0;
	}
	if (!chain_holder_job(who, job) || (own && strcmp(own, job) == 0)) {
		return -1;
	}
	for (;;) {
		switch (slurm_job_standing(job)) {
		case SLURM_JOB_OVER:
			talk("job %s has ended, and its claim is taken over",
			     job);
			memcpy(gone, who, HOLDER);
			return rundir_claim_over(dir, gone, claim, who,
						 HOLDER);
		case SLURM_JOB_ENDS:
			if (clock_now_ns() < deadline_ns &&
			    !follow_take_signal(LOOK_ENDING_NS)) {
				break;
			}
			return -1;
		default:
			return -1;
		}
	}
}

static int open_chain(const char *name, char dir[PATH_MAX], struct chain *c,
		      struct err *e)
{
	if (!realpath(name, dir)) {
		err_set(e, errno, "cannot open '%s'", name);
		return CODE_USAGE;
	}
	return rundir_check_own(dir, e) < 0 || chain_read(dir, c, e) < 0 ?
		       CODE_UNABLE : CODE_HEALTHY;
}

int chain_turn(const char *name, const struct command *const *commands,
	       struct err *e)
{
	/* a job that gives up is the last one: a server may be away */
	const int opens = getenv("SLURM_JOB_ID") ? OPENS : 1;
	struct chain c;
	char dir[PATH_MAX], who[HOLDER];
	int claim, code = open_chain(name, dir, &c, e);

	for (int i = 1; code != CODE_HEALTHY && i < opens; i++) {
		clock_sleep(OPEN_NS);
		*e = (struct err){ 0 };
		code = open_chain(name, dir, &c, e);
	}
	if (code != CODE_HEALTHY) {
		return code;
	}
	follow_hold_signals(NULL);
	if (claim_turn(dir, &claim, who) < 0) {
		/* handles a turn that cannot run because the previous one,
		 * or a user at a terminal, is still at work. Its job still
		 * submits the next one. */
		talk("no run: the one before is still at work (%s)", who);
		if (getenv("SLURM_JOB_ID") &&
		    !submit_next(&c, dir, commands, chain_done(dir), time(NULL),
				 TRY_ALL_NS, SILENT_NS)) {
			talk("the watch ends here: no job can be submitted");
		}
	} else {
		code = turn(&c, dir, commands, e);
		rundir_unclaim(dir, claim);
	}
	chain_release(&c);
	return code;
}
