/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck hang: find the rank that a hung job is waiting for. */
#include "cli/front/help.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/data/allocation.h"
#include "lib/data/hosts.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm.h"

/* The nodes of @job as its shell would have them, and how many these are. */
static int list_nodes(const char *job, struct str *list, size_t *n,
		      struct err *e)
{
	struct allocation a = { 0 };
	struct err why = { 0 };

	*n = 0;
	if (slurm_job_allocation(job, &a, &why) < 0) {
		err_set(e, 0, "cannot find the nodes of job %s: %s", job,
			why.text);
		return err_hint(e, "%s", strstr(why.text, "nvalid job id") ?
				"\"squeue --me\" lists your jobs" :
				"without Slurm, name the hosts with --ssh, or "
				"a process here with --pid");
	}
	for (size_t i = 0; i < a.n; i++) {
		size_t more = 0;
		char **names = hostlist_expand(a.parts[i].nodes, &more, NULL);

		str_addf(list, "%s%s", i ? "," : "", a.parts[i].nodes);
		hostlist_free(names, more);
		*n += more;
	}
	allocation_release(&a);
	if (*n > 0 && !list->failed) {
		return 0;
	}
	err_set(e, 0, "job %s has no nodes now", job);
	return err_hint(e, "\"squeue --me\" lists your jobs");
}

/* Becomes the owner of the job if run by root, since a step of a job needs its
 * owner's rights.  Root's files then belong to that user. */
static int become_owner(const char *job, struct err *e)
{
	int64_t uid = 0, gid = 0;
	const struct passwd *user;

	if (geteuid() != 0 || !slurm_job_owner(job, &uid, &gid) || uid == 0) {
		return 0;
	}
	user = getpwuid((uid_t)uid);
	if (!user || initgroups(user->pw_name, (gid_t)gid) < 0 ||
	    setgid((gid_t)gid) < 0 || setuid((uid_t)uid) < 0) {
		err_set(e, errno, "cannot switch to user %" PRId64 ", the "
			"owner of job %s", uid, job);
		return err_hint(e, "--nodelist with --ssh looks at its nodes "
				   "as root");
	}
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	if (access(".", W_OK) < 0 && chdir(user->pw_dir) < 0) {
		return err_set(e, errno, "cannot write here as %s, nor go to "
			       "%s", user->pw_name, user->pw_dir);
	}
	talk("running as %s, the owner of the job", user->pw_name);
	return 0;
}

/* Enters the job: srun starts a step of this program there, which shares the
 * CPUs and memory of the job's steps. */
static int enter_job(struct session *s, struct err *e)
{
	size_t len = strlen(s->spec.srun_args), n;
	struct str nodes = STR_INIT;
	const char *job = s->args[0];
	char count[24];
	int64_t id;

	if (units_parse_int(job, 1, INT32_MAX, &id, NULL) < 0) {
		err_set(e, 0, "'%s' is not a job ID", job);
		return err_hint(e, "\"squeue --me\" lists your jobs; --pid "
				   "selects a process");
	}
	if (list_nodes(job, &nodes, &n, e) < 0 || become_owner(job, e) < 0) {
		str_release(&nodes);
		return -1;
	}
	snprintf(count, sizeof(count), "%zu", n);
	setenv("SLURM_JOB_ID", job, 1);
	setenv("SLURM_JOB_NODELIST", str_text(&nodes), 1);
	setenv("SLURM_JOB_NUM_NODES", count, 1);
	str_release(&nodes);
	snprintf(s->spec.srun_args + len, sizeof(s->spec.srun_args) - len,
		 " --mem=0");
	STR_COPY(s->spec.launcher, "srun");
	return 0;
}

/** Between two looks of --watch. */
#define WATCH_S 10

/** Return true if the process of --pid has ended on this node. */
static bool is_gone(const struct session *s)
{
	return s->spec.pid > 0 && kill((pid_t)s->spec.pid, 0) < 0 &&
	       errno == ESRCH;
}

/* Look again until a rank is named, or the job or process has ended.  Looks
 * that named no rank are not kept. */
static int watch(struct session *s)
{
	struct str nodes = STR_INIT;
	size_t n = 1;
	int code;

	if (!s->spec.out[0]) {
		snprintf(s->spec.out, sizeof(s->spec.out), "gpucheck-hang-%ld",
			 (long)getpid());
	}
	code = probe_run(s, NULL, NULL);
	while (code == CODE_HEALTHY || code == CODE_UNABLE) {
		if (s->n_args > 0) {
			list_nodes(s->args[0], &nodes, &n, NULL);
			str_release(&nodes);
		}
		if (n == 0 || is_gone(s) ||
		    rundir_discard(s->spec.out, true) < 0) {
			break;
		}
		sleep(WATCH_S);
		code = probe_run(s, NULL, NULL);
	}
	return code;
}

static int run_hang(struct session *s)
{
	struct err e = { 0 };
	bool elsewhere = s->spec.ssh[0] || s->spec.launcher[0] ||
			 getenv("SLURM_JOB_ID");

	if (s->n_args > 0 && enter_job(s, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (!elsewhere && !s->plan && is_gone(s)) {
		err_set(&e, 0, "there is no process %" PRId64 " on this machine",
			s->spec.pid);
		err_hint(&e, "those that use a GPU: nvidia-smi "
			 "--query-compute-apps=pid,name --format=csv");
		return talk_fail(&e, CODE_USAGE);
	}
	/* a job of its own would have nothing to look at */
	if (s->n_args == 0 && !elsewhere) {
		s->spec.local = true;
		s->spec.local_nodes = s->spec.local_gpus = 1;
	}
	return s->spec.watch && !s->plan && !s->spec.dry_run ?
		       watch(s) : probe_run(s, NULL, NULL);
}

static const char *const examples[] = {
	"gpucheck hang 4711",
	"gpucheck hang --watch 4711",
	"gpucheck hang --pid 31337",
	"gpucheck hang --nodelist='n[1-4]' --ssh",
	NULL
};

const struct command cmd_hang = {
	.name = "hang",
	.summary = "Find the rank that a hung job is waiting for.",
	.usage = "[OPTION...] [JOBID] [-- SRUN-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_HANG,
	.max_args = 1,
	.run = run_hang,
};
