/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"
#include "sbatch/srun_step.h"

/** A step of the allocation that this process runs in. */
struct launch {
	struct muster muster;	/* before srun */
	const struct launch_request *r;	/* NULL: srun was started */
	struct launch_child srun;
	char job_id[32];
	char step_name[64];
};

static int srun_usable(struct err *why)
{
	if (!getenv("SLURM_JOB_ID")) {
		err_set(why, 0, "not inside an allocation of Slurm "
			"(SLURM_JOB_ID is not set)");
		return err_hint(why, "get an allocation with salloc, or submit "
				     "a job with --launcher=sbatch");
	}
	return 0;
}

/** Slurm would say that its host list is empty. */
static int srun_check(const struct spec *s, struct err *e)
{
	static const struct spec any;
	const char *list = getenv("SLURM_JOB_NODELIST");

	if (!list || spec_nodes_left(s, list, NULL) > 0 ||
	    spec_nodes_left(&any, list, NULL) == 0) {
		return 0;
	}
	err_set(e, 0,
		"--nodelist and --exclude leave no node of the allocation");
	return err_hint(e, "it has %.200s", list);
}

/** A number of the environment from 1 to @most, 0 when there is none. */
static int64_t env_number(const char *name, int64_t most)
{
	const char *text = getenv(name);
	int64_t n = 0;

	if (text) {
		units_parse_int(text, 1, most, &n, NULL);
	}
	return n;
}

static void srun_usual(const struct spec *s, int64_t *nodes, int64_t *gpus)
{
	*nodes = srun_step_nodes(s);
	*gpus = env_number("SLURM_GPUS_ON_NODE", SPEC_MAX_GPUS);
}

/** Unlike "gpucheck-p2p" alone, it tells one step of ours from another. */
static void name_step(const char *probe, char *buf, size_t size)
{
	snprintf(buf, size, "gpucheck-%s-%ld", probe, (long)getpid());
}

static void make_step(const struct launch_request *r, const char *name,
		      struct srun_step *step)
{
	*step = (struct srun_step){ 0 };
	srun_step_ask(step);
	srun_step_compose(step, r, name, environ);
}

static int srun_describe(const struct launch_request *r, struct str *out,
			 struct err *e)
{
	struct srun_step step;
	char name[64];

	(void)e;
	name_step(r->probe, name, sizeof(name));
	make_step(r, name, &step);
	srun_step_describe(&step, out);
	srun_step_release(&step);
	return 0;
}

/** The roll call is over: start the agents. */
static int start_agents(struct launch *l, struct err *e)
{
	const struct launch_request *r = l->r;
	struct srun_step step;
	int rc;

	l->r = NULL;
	muster_release(&l->muster);
	make_step(r, l->step_name, &step);
	rc = launch_child_start(&l->srun, &step.line, &step.env, -1, r->dir,
				RUN_JOB_OUT, e);
	srun_step_release(&step);
	return rc;
}

static int srun_start(struct launch *l, const struct launch_request *r,
		      struct err *e)
{
	const char *job_id = getenv("SLURM_JOB_ID");

	STR_COPY(l->job_id, job_id ? job_id : "");
	name_step(r->probe, l->step_name, sizeof(l->step_name));
	l->r = r;
	muster_begin(&l->muster, r);
	return muster_goes_on(&l->muster) ? 0 : start_agents(l, e);
}

static int srun_poll(struct launch *l, struct launch_state *st,
		     struct err *e)
{
	struct err why = { 0 };

	(void)e;
	if (l->r && muster_goes_on(&l->muster)) {
		launch_say(st, LAUNCH_RUNNING, -1, "srun checks the nodes of "
			   "job %s", l->job_id);
	} else if (l->r && start_agents(l, &why) < 0) {
		launch_say(st, LAUNCH_ENDED, -1, "%.300s", why.text);
	} else if (launch_child_ended(&l->srun)) {
		launch_say(st, LAUNCH_ENDED, l->srun.exit_code,
			   "srun has ended with exit code %d",
			   l->srun.exit_code);
	} else {
		launch_say(st, LAUNCH_RUNNING, -1, "srun is running in job %s",
			   l->job_id);
	}
	return 0;
}

/** "42.3", our step; false when Slurm does not say. */
static bool find_step(const struct launch *l, char *step, size_t size)
{
	const int64_t groups = env_number("SLURM_HET_SIZE", 1000);
	struct args a = { 0 };
	struct str out = STR_INIT, jobs = STR_INIT;
	const char *id;
	char name[64];
	bool found;

	/* each group of a heterogeneous job has a number of its own, and steps
	 * by it: "42,43", else "42" */
	str_add(&jobs, l->job_id);
	for (int64_t i = 0; i < groups; i++) {
		snprintf(name, sizeof(name),
			 "SLURM_JOB_ID_HET_GROUP_%" PRId64, i);
		id = getenv(name);
		if (id) {
			str_addf(&jobs, ",%s", id);
		}
	}
	args_words(&a, "squeue --steps --noheader --format=%i|%j");
	args_addf(&a, "--jobs=%s", str_text(&jobs));
	str_release(&jobs);
	found = slurm_run(&a, &out, NULL) == 0 &&
		slurm_parse_step(str_text(&out), l->step_name, step, size);
	str_release(&out);
	return found;
}

/**
 * In order: TERM to the agents, through Slurm.  TERM to srun itself, or ^C
 * twice, makes it kill its tasks within 20 ms (Slurm 22.05): that is the hard
 * way.  SIGKILL to srun would leave them running.
 */
static void srun_stop(struct launch *l, bool hard)
{
	char step[64];

	if (l->r) {
		muster_release(&l->muster);
		l->r = NULL;	/* there are no agents yet */
	}
	if (hard || launch_child_ended(&l->srun) ||
	    !find_step(l, step, sizeof(step)) ||
	    slurm_cancel("--signal=TERM", step) < 0) {
		launch_child_signal(&l->srun, SIGTERM);
	}
}

static void srun_end(struct launch *l, struct launch_state *st)
{
	srun_poll(l, st, NULL);
}

static bool srun_blame(struct launch *l, struct err *e, struct str *names)
{
	const char *nodes = getenv("SLURM_JOB_NODELIST");

	(void)l;
	return nodes && slurm_blame(nodes, false, e, names);
}

static void srun_release(struct launch *l)
{
	muster_release(&l->muster);
	launch_child_end(&l->srun);
}

const struct launcher_ops launcher_srun = {
	.name = "srun",
	.size = sizeof(struct launch),
	.program = "srun",
	.usable = srun_usable,
	.check = srun_check,
	.describe = srun_describe,
	.start = srun_start,
	.poll = srun_poll,
	.stop = srun_stop,
	.chosen = "with srun in the allocation",
	.variable = "SLURM_JOB_ID",
	.usual = srun_usual,
	.end = srun_end,
	.blame = srun_blame,
	.release = srun_release,
};
