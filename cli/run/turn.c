/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/chain.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/follow.h"
#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/spawn.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/launch_child.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_ask.h"

/** What a run may take beyond its time: to give up, to judge, to draw. */
#define GRACE_NS (600 * NS_PER_S)
/** From TERM to KILL. */
#define KILL_NS	 (60 * NS_PER_S)
#define LOOK_NS	 (50 * NS_PER_MS)
/** A controller that restarts is away for so long. */
#define TRIES	 3
#define TRY_NS	 (20 * NS_PER_S)

/* ---- jobs ---------------------------------------------------------------- */

/** What sbatch is told: ours that may be overruled, the user's, ours. */
static void add_options(const struct chain *c, int64_t in_s, struct args *a)
{
	args_add(a, "--nice");
	args_add_all(a, c->slurm);
	args_addf(a, "--job-name=%s", c->name);
	args_add(a, "--dependency=singleton");
	if (in_s > 0) {
		args_addf(a, "--begin=now+%lld", (long long)in_s);
	}
}

static int hand_over(struct probe_start *t, struct str *show, char job[64],
		     struct err *e)
{
	struct launch *l;

	if (show) {
		return t->ops->describe(&t->r, show, e);
	}
	l = launcher_start(t->ops, &t->r, e);
	if (!l) {
		return -1;
	}
	str_copy(job, 64, launcher_job_id(t->ops, l));
	launcher_free(t->ops, l);
	return 0;
}

int chain_submit(const struct chain *c, const char *dir,
		 const struct command *const *commands, int64_t in_s,
		 char job[64], struct str *show, struct err *e)
{
	const struct command *cmd = command_find(commands, c->words[1]);
	struct session s = { .argv = c->words, .commands = commands };
	struct args extra = { 0 };
	struct probe_start t;
	int rc = -1;

	while (c->words[s.argc]) {
		s.argc++;
	}
	if (!cmd) {
		return err_set(e, 0, "there is no command '%.100s'",
			       c->words[1]);
	}
	add_options(c, in_s, &extra);
	if (options_parse(&s, cmd, e) == 0) {
		s.spec.max_time_ns = c->max_time_s * NS_PER_S;
		/* in its job it finds its place by itself */
		STR_COPY(s.spec.launcher, "sbatch");
		s.extra = extra.argv;
		rc = extra.failed ? err_set(e, ENOMEM, "cannot submit") :
		     probe_run_choose(&t, &s, cmd->name, NULL, e);
		t.r.dir = dir;
		t.r.inner = CHAIN_TURN;
		rc = rc == 0 ? hand_over(&t, show, job, e) : -1;
	}
	options_release(&s);
	args_release(&extra);
	return rc;
}

int chain_cancel(const struct chain *c, struct err *e)
{
	const struct passwd *user = getpwuid(geteuid());
	struct str out = STR_INIT;
	struct args a = { 0 };
	int rc;

	args_words(&a, "scancel --quiet --state=PENDING");
	args_addf(&a, "--name=%s", c->name);
	if (user) {
		args_addf(&a, "--user=%s", user->pw_name);
	}
	rc = slurm_ask(&a, &out, e);
	str_release(&out);
	return rc;
}

/** The next turn, where there is one; what cannot be submitted is tried again
 *  when the run is over.  False: it still has to be. */
static bool submit_next(const struct chain *c, const char *dir,
			const struct command *const *commands, int64_t done,
			int64_t began_s)
{
	const int64_t now_s = time(NULL), next_s = began_s + c->every_s;
	const char *over = chain_over(c, done, next_s);
	char job[64] = "";
	struct err e = { 0 };

	if (c->timer) {
		return true;
	}
	if (over) {
		talk("this is the last run: %s", over);
		return true;
	}
	for (int i = 0; i < TRIES; i++) {
		if (chain_submit(c, dir, commands,
				 next_s > now_s ? next_s - now_s : 0, job, NULL,
				 &e) == 0) {
			talk("next: job %s", job);
			return true;
		}
		talk_err(&e);
		if (launch_is_unsure(&e) && e.code != ETIMEDOUT) {
			return true;	/* it may have been */
		}
		if (i + 1 < TRIES && follow_take_signal(TRY_NS)) {
			return false;
		}
	}
	return false;
}

/* ---- the run ------------------------------------------------------------- */

/** To its end, or until we are told to stop, or it takes too long. */
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
	snprintf(log, sizeof(log), RUN_LOGS "/" CHAIN_RUN ".txt", (int)number);
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
	const char *over = chain_over(c, done, began_s);
	char stop[PATH_MAX];
	bool submitted;
	int code;

	if (rundir_path(dir, CHAIN_STOP, stop, NULL) == 0 &&
	    access(stop, F_OK) == 0) {
		over = "the watch was stopped";
	}
	if (over) {
		talk("no run: %s", over);
		return CODE_HEALTHY;
	}
	submitted = submit_next(c, dir, commands, done + 1, began_s);
	code = run_once(c, dir, done + 1, e);
	if (!submitted &&
	    !submit_next(c, dir, commands, done + 1, began_s)) {
		talk("the watch ends here: no job can be submitted");
	}
	return code;
}

int chain_turn(const char *name, const struct command *const *commands,
	       struct err *e)
{
	struct chain c;
	char dir[PATH_MAX], who[64];
	int claim, code = CODE_UNABLE;

	if (!realpath(name, dir)) {
		err_set(e, errno, "cannot open '%s'", name);
		return CODE_USAGE;
	}
	if (rundir_check_own(dir, e) < 0 || chain_read(dir, &c, e) < 0) {
		return CODE_UNABLE;
	}
	follow_hold_signals(NULL);
	if (rundir_claim(dir, &claim, who, sizeof(who)) < 0) {
		talk("no run: the one before is still at work (%s)", who);
		code = CODE_HEALTHY;
	} else {
		code = turn(&c, dir, commands, e);
		rundir_unclaim(dir, claim);
	}
	chain_release(&c);
	return code;
}
