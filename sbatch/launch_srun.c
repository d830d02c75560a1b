/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/data/rundir.h"
#include "lib/base/units.h"
#include "sbatch/launch_child.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"

/** A step of the allocation that this process runs in. */
struct launch {
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
	return launch_child_need("srun", why);
}

static bool srun_meant(const struct spec *s, char *why, size_t size)
{
	const char *job_id = getenv("SLURM_JOB_ID");

	(void)s;
	snprintf(why, size, "with srun in the allocation %.32s (SLURM_JOB_ID)",
		 job_id ? job_id : "");
	return srun_usable(NULL) == 0;
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
	err_set(e, 0, "--nodelist and --exclude leave no node of the allocation");
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

/** Nodes of the allocation that are not left out, 0: not known. */
static int64_t allocated(const struct spec *s)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	int64_t left = list && (s->nodelist[0] || s->exclude[0]) ?
			       spec_nodes_left(s, list, NULL) : 0;

	return left ? left : env_number("SLURM_JOB_NUM_NODES", SPEC_MAX_NODES);
}

static void srun_usual(const struct spec *s, int64_t *nodes, int64_t *gpus)
{
	*nodes = allocated(s);
	*gpus = env_number("SLURM_GPUS_ON_NODE", SPEC_MAX_GPUS);
}

/** One agent a node: -N, else every node of the allocation. */
static int64_t count_nodes(const struct spec *s)
{
	int64_t all = s->nodes > 0 ? s->nodes : allocated(s);

	return all > 0 ? all : 1;
}

/** A step gets one CPU a task unless it asks (Slurm 22.05 and later). */
static int64_t count_cpus(void)
{
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");

	return cpus ? slurm_parse_cpus(cpus) : 0;
}

/** Unlike "gpucheck-p2p" alone, it tells one step of ours from another. */
static void name_step(const char *probe, char *buf, size_t size)
{
	snprintf(buf, size, "gpucheck-%s-%ld", probe, (long)getpid());
}

static void compose(const struct launch_request *r, const char *step_name,
		    bool pmi2, struct args *a)
{
	const int64_t nodes = count_nodes(r->spec), cpus = count_cpus();

	args_add(a, "srun");
	args_addf(a, "--job-name=%s", step_name);
	args_addf(a, "--mpi=%s", pmi2 ? "pmi2" : "none");
	args_addf(a, "--nodes=%" PRId64, nodes);
	args_addf(a, "--ntasks=%" PRId64, nodes);
	args_add(a, "--ntasks-per-node=1");
	if (cpus > 0) {
		args_addf(a, "--cpus-per-task=%" PRId64, cpus);
	}
	args_words(a, "--cpu-bind=none --gpu-bind=none --kill-on-bad-exit=0 "
		      "--no-kill --overlap");
	args_add_places(a, r->nodelist, r->spec);
	args_add_all(a, r->extra);
	launcher_add_agent(r, a);
}

/** How its agents learn who they are, whatever else this environment says. */
static const char *boot_word(bool pmi2)
{
	return pmi2 ? "GPUCHECK_BOOT=pmi2" : "GPUCHECK_BOOT=rendezvous";
}

static int srun_describe(const struct launch_request *r, struct str *out,
			 struct err *e)
{
	const bool pmi2 = slurm_has_pmi2();
	struct args a = { 0 };
	char step_name[64];

	(void)e;
	name_step(r->probe, step_name, sizeof(step_name));
	compose(r, step_name, pmi2, &a);
	str_addf(out, "%s ", boot_word(pmi2));
	args_line(&a, out);
	str_addch(out, '\n');
	args_release(&a);
	return 0;
}

static int srun_start(struct launch *l, const struct launch_request *r,
		      struct err *e)
{
	const bool pmi2 = slurm_has_pmi2();
	const char *job_id = getenv("SLURM_JOB_ID");
	struct args a = { 0 }, env = { 0 };
	int rc;

	STR_COPY(l->job_id, job_id ? job_id : "");
	name_step(r->probe, l->step_name, sizeof(l->step_name));
	compose(r, l->step_name, pmi2, &a);
	args_add(&env, boot_word(pmi2));
	rc = launch_child_start(&l->srun, &a, &env, -1, r->dir, RUN_JOB_OUT, e);
	args_release(&env);
	args_release(&a);
	return rc;
}

static int srun_poll(struct launch *l, struct launch_state *st,
		     struct err *e)
{
	(void)e;
	if (launch_child_ended(&l->srun)) {
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
	struct args a = { 0 };
	struct str out = STR_INIT;
	bool found;

	args_words(&a, "squeue --steps --noheader --format=%i|%j");
	args_addf(&a, "--jobs=%s", l->job_id);
	found = slurm_ask(&a, &out, NULL) == 0 &&
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

	if (hard || launch_child_ended(&l->srun) ||
	    !find_step(l, step, sizeof(step)) ||
	    slurm_cancel("--signal=TERM", step) < 0) {
		launch_child_signal(&l->srun, SIGTERM);
	}
}

static void srun_release(struct launch *l)
{
	launch_child_end(&l->srun);
}

const struct launcher_ops launcher_srun = {
	.name = "srun",
	.size = sizeof(struct launch),
	.usable = srun_usable,
	.check = srun_check,
	.describe = srun_describe,
	.start = srun_start,
	.poll = srun_poll,
	.stop = srun_stop,
	.meant = srun_meant,
	.usual = srun_usual,
	.release = srun_release,
};
