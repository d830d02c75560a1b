/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/job_script.h"
#include "sbatch/launch_child.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"
#include "sbatch/slurm_state.h"

/** How often the controller is asked: soon, then ever more rarely. */
#define FIRST_ASK_NS (200 * NS_PER_MS)
#define LAST_ASK_NS  (5 * NS_PER_S)

/** A batch job. */
struct launch {
	uint32_t job_id;
	char dir[PATH_MAX];
	struct launch_state state;	/* as last heard of */
	int64_t ask_ns, wait_ns;	/* when to ask again, and after that */
};

static int sbatch_usable(struct err *why)
{
	return launch_child_need("sbatch", why);
}

static bool sbatch_meant(const struct spec *s, char *why, size_t size)
{
	(void)s;
	snprintf(why, size, "as a batch job (sbatch)");
	return sbatch_usable(NULL) == 0;
}

static void sbatch_usual(const struct spec *s, int64_t *nodes, int64_t *gpus)
{
	*nodes = job_script_nodes(s);
	*gpus = slurm_gpus_per_node();
}

static int sbatch_queued(const char *dir, char job[32], struct err *e)
{
	char script[PATH_MAX];

	return rundir_path(dir, RUN_JOB_SCRIPT, script, e) < 0 ||
			       slurm_find_job(script, job, e) < 0 ?
		       -1 : job[0] != '\0';
}

static void compose(const struct launch_request *r, const char *script,
		    struct args *a)
{
	args_add(a, "sbatch");
	args_add(a, "--parsable");
	args_add_places(a, r->nodelist, r->spec);
	args_add_all(a, r->extra);
	args_add(a, script);
}

static int sbatch_describe(const struct launch_request *r, struct str *out,
			   struct err *e)
{
	struct args a = { 0 };
	char script[PATH_MAX];

	if (rundir_path(r->dir, RUN_JOB_SCRIPT, script, e) < 0 ||
	    job_script_write(r, out, e) < 0) {
		return -1;
	}
	compose(r, script, &a);
	str_add(out, "\n# submitted with: ");
	args_line(&a, out);
	str_addch(out, '\n');
	args_release(&a);
	return 0;
}

static int write_script(const struct launch_request *r, struct err *e)
{
	struct str script = STR_INIT;
	int rc = job_script_write(r, &script, e);

	if (rc == 0) {
		rc = rundir_write_text(r->dir, RUN_JOB_SCRIPT,
				       str_text(&script), 0755, e);
	}
	str_release(&script);
	return rc;
}

static int submit(const struct launch_request *r, uint32_t *job_id,
		  struct err *e)
{
	struct args a = { 0 };
	struct str out = STR_INIT;
	char script[PATH_MAX];
	int rc = -1;

	if (rundir_path(r->dir, RUN_JOB_SCRIPT, script, e) < 0) {
		return -1;
	}
	compose(r, script, &a);
	if (a.failed) {
		err_set(e, ENOMEM, "no memory for the command line of sbatch");
	} else {
		rc = slurm_ask(a.argv, &out, e) < 0 ? -1 :
			slurm_parse_job_id(str_text(&out), out.len, job_id, e);
	}
	if (rc < 0 && launch_is_unsure(e)) {
		err_hint(e, "\"squeue --me\" shows whether it was submitted");
	} else if (rc < 0 && !a.failed) {
		err_hint(e, "options after -- go to sbatch, for example \"-- "
			    "--partition=NAME --account=NAME\"");
	}
	str_release(&out);
	args_release(&a);
	return rc;
}

static struct launch *sbatch_start(const struct launch_request *r,
				   struct err *e)
{
	struct launch *l = calloc(1, sizeof(*l));

	if (!l) {
		err_set(e, ENOMEM, "no memory for a batch job");
		return NULL;
	}
	if (write_script(r, e) < 0 || submit(r, &l->job_id, e) < 0) {
		free(l);
		return NULL;
	}
	STR_COPY(l->dir, r->dir);
	l->wait_ns = FIRST_ASK_NS;
	l->state = (struct launch_state){ .phase = LAUNCH_PENDING,
					  .exit_code = -1 };
	snprintf(l->state.text, sizeof(l->state.text),
		 "job %" PRIu32 " is submitted", l->job_id);
	return l;
}

/** A job that Slurm has forgotten is over; how it ended, nobody knows. */
static void forgotten(struct launch *l)
{
	l->state = (struct launch_state){ .phase = LAUNCH_ENDED,
					  .exit_code = -1 };
	snprintf(l->state.text, sizeof(l->state.text),
		 "job %" PRIu32 " has ended, and Slurm no longer knows it",
		 l->job_id);
}

static void cancel(const struct launch *l, const char *option,
		   const char *state)
{
	struct args a = { 0 };

	args_add(&a, "scancel");
	args_add(&a, option);
	args_add(&a, state);
	args_addf(&a, "%" PRIu32, l->job_id);
	if (!a.failed) {
		slurm_ask(a.argv, NULL, NULL);
	}
	args_release(&a);
}

/**
 * With --no-kill a job outlives the node of its batch script, and holds the
 * others with nothing left that would ever end it (seen with Slurm 22.05).
 */
static void notice_lost_host(struct launch *l, const struct slurm_job *job)
{
	if (l->state.phase != LAUNCH_RUNNING || !job->batch_host[0] ||
	    !slurm_node_is_down(job->batch_host)) {
		return;
	}
	cancel(l, "--quiet", "--state=RUNNING");
	l->state = (struct launch_state){ .phase = LAUNCH_ENDED,
					  .exit_code = -1 };
	snprintf(l->state.text, sizeof(l->state.text),
		 "job %" PRIu32 " lost its first node %s, and was cancelled",
		 l->job_id, job->batch_host);
}

/**
 * scontrol alone: unlike squeue it still knows a job for a while after its
 * end, with its exit code.  That it does not answer never means that the job
 * has ended; only that the controller denies it does.
 */
static int ask(struct launch *l, struct err *e)
{
	struct args a = { 0 };
	struct str out = STR_INIT;
	struct slurm_job job;
	struct err why = { 0 };
	int rc = 0;

	args_add(&a, "scontrol");
	args_add(&a, "--oneliner");
	args_add(&a, "show");
	args_add(&a, "job");
	args_addf(&a, "%" PRIu32, l->job_id);
	if (a.failed) {
		rc = err_set(e, ENOMEM, "no memory for the command line of "
					"scontrol");
	} else if (slurm_ask(a.argv, &out, &why) == 0) {
		rc = slurm_parse_job(str_text(&out), out.len, &job, e);
		if (rc == 0) {
			slurm_state_explain(l->job_id, &job, l->dir,
					    &l->state);
			notice_lost_host(l, &job);
		}
	} else if (strstr(why.text, "Invalid job id")) {
		forgotten(l);
	} else {
		rc = err_set(e, why.code, "Slurm does not answer about job "
			     "%" PRIu32 ": %.200s", l->job_id, why.text);
	}
	str_release(&out);
	args_release(&a);
	return rc;
}

static int sbatch_poll(struct launch *l, struct launch_state *st,
		       struct err *e)
{
	const int64_t now = clock_now_ns();
	int rc = 0;

	if (l->state.phase != LAUNCH_ENDED && now >= l->ask_ns) {
		rc = ask(l, e);
		l->ask_ns = clock_now_ns() + l->wait_ns;
		l->wait_ns += l->wait_ns / 2;
		if (l->wait_ns > LAST_ASK_NS) {
			l->wait_ns = LAST_ASK_NS;
		}
	}
	*st = l->state;
	return rc;
}

/**
 * In order: a waiting job is taken out of the queue; the agents of a running
 * one get TERM and end by themselves.  Each call names the state it is meant
 * for, since a signal to a job that waits keeps scancel busy for a minute
 * (Slurm 22.05: it tries until the job runs).
 */
static void sbatch_stop(struct launch *l, bool hard)
{
	cancel(l, "--quiet", "--state=PENDING");
	cancel(l, hard ? "--quiet" : "--signal=TERM", "--state=RUNNING");
}

static void sbatch_cancel_hint(const struct launch *l, char *buf, size_t size)
{
	snprintf(buf, size, "scancel %" PRIu32, l->job_id);
}

static void sbatch_job_id(const struct launch *l, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu32, l->job_id);
}

static void sbatch_free(struct launch *l)
{
	free(l);
}

const struct launcher_ops launcher_sbatch = {
	.name = "sbatch",
	.usable = sbatch_usable,
	.describe = sbatch_describe,
	.start = sbatch_start,
	.poll = sbatch_poll,
	.stop = sbatch_stop,
	.meant = sbatch_meant,
	.usual = sbatch_usual,
	.queued = sbatch_queued,
	.inside = &launcher_srun,
	.cancel_hint = sbatch_cancel_hint,
	.job_id = sbatch_job_id,
	.free = sbatch_free,
};
