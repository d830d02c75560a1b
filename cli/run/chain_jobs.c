/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs of a watch: one that is at work, and the one that waits. */
#include "cli/run/chain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/front/options.h"
#include "cli/run/probe_run.h"
#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_ask.h"
#include "sbatch/slurm_lanes.h"

/* ---- submit -------------------------------------------------------------- */

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

static int hand_over(struct probe_start *t, struct str *show,
		     char job[SLURM_JOB_SIZE], struct err *e)
{
	struct launch *l;

	if (show) {
		return t->ops->describe(&t->r, show, e);
	}
	l = launcher_start(t->ops, &t->r, e);
	if (!l) {
		return -1;
	}
	str_copy(job, SLURM_JOB_SIZE, launcher_job_id(t->ops, l));
	launcher_free(t->ops, l);
	return 0;
}

int chain_submit(const struct chain *c, const char *dir,
		 const struct command *const *commands, int64_t in_s,
		 char job[SLURM_JOB_SIZE], struct str *show, struct err *e)
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

/* ---- those that wait ----------------------------------------------------- */

/** What Slurm has of that name.  Watches in directories of one name share it,
 *  so that whose a job is its script says. */
static int ask_queue(const struct chain *c, const char *dir, struct str *out,
		     char script[PATH_MAX], struct err *e)
{
	struct args a = { 0 };

	if (rundir_path(dir, RUN_JOB_SCRIPT, script, e) < 0) {
		return -1;
	}
	args_words(&a, SLURM_QUEUE_SQUEUE);
	args_add(&a, c->name);
	return slurm_ask(&a, out, e);
}

bool chain_parse_waiting(const char **queue, const char *script,
			 const char *own, char job[SLURM_JOB_SIZE])
{
	struct slurm_queued q;

	while (slurm_parse_queued(queue, &q)) {
		if (slurm_queued_waits(&q) && strcmp(q.script, script) == 0 &&
		    (!own || strcmp(q.id, own) != 0)) {
			str_copy(job, SLURM_JOB_SIZE, q.id);
			return true;
		}
	}
	return false;
}

int chain_waiting(const struct chain *c, const char *dir, const char *own,
		  char job[SLURM_JOB_SIZE], struct err *e)
{
	char script[PATH_MAX];
	struct str out = STR_INIT;
	int rc = ask_queue(c, dir, &out, script, e);
	const char *at = str_text(&out);
	char other[SLURM_JOB_SIZE];

	while (rc >= 0 && chain_parse_waiting(&at, script, own,
					      rc == 0 ? job : other)) {
		rc++;
	}
	str_release(&out);
	return rc;
}

void chain_put_off(const char *job, int64_t in_s)
{
	struct args a = { 0 };

	args_words(&a, "scontrol --quiet update");
	args_addf(&a, "JobId=%s", job);
	args_addf(&a, "StartTime=now+%lld", (long long)in_s);
	slurm_ask(&a, NULL, NULL);
}

int chain_cancel(const struct chain *c, const char *dir, struct err *e)
{
	char script[PATH_MAX], job[SLURM_JOB_SIZE];
	struct str out = STR_INIT;
	int rc = ask_queue(c, dir, &out, script, e);
	const char *at = str_text(&out);

	while (rc == 0 && chain_parse_waiting(&at, script, NULL, job)) {
		if (slurm_cancel("--quiet --state=PENDING", job) < 0) {
			rc = err_set(e, 0, "job %s could not be cancelled",
				     job);
		}
	}
	str_release(&out);
	return rc;
}
