/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeper job: completes a --jobs run after the front end has exited.  It runs
 * at the end of each of the run's jobs, and when all of them wait.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/run/jobs.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_lanes.h"

/* ---- jobs tend ----------------------------------------------------------- */

/* The process that keeps a run submits missing jobs, and cancels jobs that
 * would wait forever. */

/** After this many refusals in a row, all further jobs would be refused too. */
#define MOST_REFUSED 3

/** The nodes of a part that are down, with commas, to @out; how many are
 *  not. */
static size_t find_down(const struct jobs *j, const struct job *job,
			struct str *out)
{
	size_t up = 0;

	for (size_t i = 0; i < j->nodes.n; i++) {
		const struct slurm_node *n = &j->nodes.list[i];

		if (!hostlist_has(job->nodes, n->name)) {
			continue;
		}
		if (slurm_lane_is_down(n->state)) {
			str_addf(out, "%s%s", out->len ? "," : "", n->name);
		} else {
			up++;
		}
	}
	return up;
}

/** Without the nodes @down, which have no pairs then. */
static void part_options(const struct jobs *j, const struct job *job,
			 const char *down, struct spec *s)
{
	struct spec fresh;

	spec_init(&fresh);
	*s = j->left.spec;
	spec_take(s, &fresh, spec_find("jobs"));
	spec_take(s, &fresh, spec_find("lanes"));
	s->no_follow_up = true;
	s->nodes = 0;
	STR_COPY(s->exclude, down);
	s->out[0] = '\0';
	STR_COPY(s->nodelist, job->nodes);
	STR_COPY(s->pairs, job->pairs);
}

/** Marks try @t of part @i as submitted, for processes that find it without a
 *  job in the queue.  Without the mark such a process waits for a while. */
static void mark_submitted(const struct jobs *j, size_t i, int t)
{
	char try[32], name[48];

	jobs_try_name(i, t, try);
	snprintf(name, sizeof(name), "%s.job", try);
	rundir_write_text(j->left.dir, name, j->list[i].id, 0666, NULL);
}

/** Submits try @t of part @i, whose directory this process has made.  Returns
 *  0, or -1 with @e and the directory removed. */
static int submit(struct jobs *j, size_t i, int t, const char *down,
		  const char *dir, struct err *e)
{
	struct job *job = &j->list[i];
	struct str lane = STR_INIT;
	struct spec spec;
	struct launch_request r = {
		.self = j->self, .probe = run_file(j->left.run).probe,
		.spec = &spec, .extra = j->left.extra, .nodelist = job->nodes,
		.after = j->left.dir,
	};
	char path[PATH_MAX] = "";
	const struct launcher_ops *ops = launcher_find(j->left.launcher);
	struct launch *l = NULL;
	json_t *run;
	int rc;

	part_options(j, job, down, &spec);
	jobs_lane_name(j->left.run, job->lane, &lane);
	r.lane = str_text(&lane);
	r.gpus = run_file(j->left.run).jobs.gpus;
	run = run_json_part(j->left.run, &spec, e);
	rc = !run || !ops ? -1 : rundir_create(dir, r.probe, path, e);
	if (!ops) {
		err_set(e, 0, "'launcher' in run.json names none");
	}
	r.dir = path;
	if (rc == 0 && rundir_write_json(path, RUN_JSON, run, e) == 0) {
		l = launcher_start(ops, &r, e);
	}
	if (l) {
		job->tries = t;
		job->state = JOB_WAITS;
		STR_COPY(job->id, launcher_job_id(ops, l));
		launcher_free(ops, l);
		mark_submitted(j, i, t);
	} else if (launch_is_unsure(e)) {
		job->state = JOB_WAITS;	/* the next look decides */
	} else {
		rundir_discard(dir, true);
	}
	rundir_forget(path);	/* there may be thousands */
	json_decref(run);
	str_release(&lane);
	return l ? 0 : -1;
}

/** Submits the next try of part @i, unless another process is about to. */
static int try_again(struct jobs *j, size_t i, const char *down,
		     struct err *e)
{
	const int t = j->list[i].tries + 1;
	char name[32], dir[PATH_MAX];

	jobs_try_name(i, t, name);
	if (t > JOBS_MOST_TRIES) {
		return err_set(e, 0, "'%s' had %d tries", j->list[i].nodes,
			       JOBS_MOST_TRIES);
	}
	if (rundir_path(j->left.dir, name, dir, e) < 0) {
		return -1;
	}
	if (mkdir(dir, 0777) == 0) {
		return submit(j, i, t, down, dir, e);
	}
	if (errno != EEXIST) {
		return err_set(e, errno, "cannot make '%s'", dir);
	}
	j->list[i].state = JOB_WAITS;
	return 0;
}

/** Returns true if the last try of part @i needs a node that is down now.  A
 *  node that was already down when it was submitted is excluded from it. */
static bool wants_down(const struct jobs *j, size_t i)
{
	char name[32], dir[PATH_MAX];
	const char *without;
	bool wants = false;
	json_t *run;

	jobs_try_name(i, j->list[i].tries, name);
	if (rundir_path(j->left.dir, name, dir, NULL) < 0) {
		return false;
	}
	run = rundir_read_json(dir, RUN_JSON, NULL);
	without = run_file(run).typed.exclude;
	for (size_t k = 0; k < j->nodes.n; k++) {
		const struct slurm_node *n = &j->nodes.list[k];

		wants = wants || (slurm_lane_is_down(n->state) &&
				  hostlist_has(j->list[i].nodes, n->name) &&
				  !hostlist_has(without, n->name));
	}
	json_decref(run);
	return wants;
}

/** Get the job of part @i out of the way of its lane.  Not lost before it is
 *  gone for sure: it may just have started, or Slurm does not answer. */
static void cancel(struct jobs *j, size_t i)
{
	struct job *job = &j->list[i];

	if (job->id[0]) {
		slurm_cancel("--quiet --state=PENDING", job->id);
		if (slurm_job_standing(job->id) == SLURM_JOB_OVER) {
			job->state = JOB_LOST;
		}
	}
}

/** Returns true if a job is to be submitted for @job.  @up is the number of
 *  its nodes that are up; @down is set if the last try needs a node that is
 *  down. */
static bool is_due(const struct job *job, size_t up, bool down)
{
	return up >= 2 && (job->state == JOB_NONE ||
			   (job->state == JOB_LOST &&
			    job->tries < JOBS_TRIES &&
			    !(job->partial && down)));
}

int jobs_tend(struct jobs *j, struct err *e)
{
	bool submitted = false;
	int refused = 0;
	struct err why;

	if (!j->nodes.list &&
	    slurm_lane_nodes(&j->left.spec, j->left.extra, &j->nodes, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < j->n; i++) {
		struct job *job = &j->list[i];
		struct str down = STR_INIT;
		const size_t up = find_down(j, job, &down);

		if (down.len > 0 && job->state == JOB_WAITS &&
		    !job->in_line && wants_down(j, i)) {
			/* its lane would be blocked until the node is
			 * repaired */
			cancel(j, i);
		}
		/* a single refusal is no reason to skip the other jobs, but
		 * several in a row are */
		if (refused < MOST_REFUSED && is_due(job, up, down.len > 0)) {
			why = (struct err){ 0 };
			if (try_again(j, i, str_text(&down), &why) == 0) {
				submitted = true;
				refused = 0;
			} else {
				refused += launch_is_unsure(&why) ?
						   MOST_REFUSED : 1;
				*e = e->text[0] ? *e : why;
			}
		}
		str_release(&down);
	}
	memset(j->count, 0, sizeof(j->count));
	for (size_t i = 0; i < j->n; i++) {
		j->count[j->list[i].state]++;
	}
	if (submitted && run_file(j->left.run).ended_utc[0]) {
		jobs_reopen(j, NULL);
	}
	return e->text[0] ? -1 : 0;
}

/* ---- the keeper ---------------------------------------------------------- */

/** It is asked for again after so long. */
#define KEEP_MINUTES 5
#define KEEPER	     JOBS_PARTS "/keeper.sbatch"
/** Number of times, with pauses, that a keeper tries to read the state before
 *  it acts without; after MOST_BLIND such keepers in a row (two hours) there is
 *  no further one. */
#define LOOKS	   3
#define LOOK_NS	   (2 * NS_PER_S)
#define MOST_BLIND 24
/** And submits the next one so often, while Slurm does not answer. */
#define SUBMITS	   10
#define SUBMIT_NS  (20 * NS_PER_S)

/** Returns true if a keeper job is waiting in the queue. */
static bool is_kept(const struct jobs *j)
{
	struct str name = STR_INIT, out = STR_INIT;
	struct args a = { 0 };
	struct slurm_queued q;
	const char *at;
	bool kept = false;

	jobs_lane_name(j->left.run, 0, &name);
	args_words(&a, SLURM_QUEUE_SQUEUE);
	args_add(&a, str_text(&name));
	if (slurm_ask(&a, &out, NULL) == 0) {
		at = str_text(&out);
		while (!kept && slurm_parse_queued(&at, &q)) {
			kept = slurm_queued_waits(&q);
		}
	}
	str_release(&name);
	str_release(&out);
	return kept;
}

static int write_script(const struct jobs *j, int blind,
			char path[PATH_MAX], struct err *e)
{
	struct str text = STR_INIT;
	int rc;

	str_add(&text, "#!/bin/bash\nexec ");
	str_add_quoted(&text, j->self);
	str_add(&text, " tend ");
	str_add_quoted(&text, j->left.dir);
	str_addf(&text, " keeper %d\n", blind);
	rc = text.failed ? err_set(e, ENOMEM, "no memory for a script") :
	     rundir_write_text(j->left.dir, KEEPER, str_text(&text), 0755, e);
	str_release(&text);
	return rc < 0 ? -1 : rundir_path(j->left.dir, KEEPER, path, e);
}

int jobs_keep(const struct jobs *j, int blind, struct err *e)
{
	struct str name = STR_INIT, out = STR_INIT;
	struct args a = { 0 };
	char script[PATH_MAX], job[SLURM_JOB_SIZE];
	int rc;

	if (is_kept(j)) {
		return 0;
	}
	if (write_script(j, blind, script, e) < 0) {
		return -1;
	}
	jobs_lane_name(j->left.run, 0, &name);
	launch_sbatch_words(&a);
	/* the account and partition, but not the resources of a measuring
	 * job */
	slurm_fit_whose(j->left.extra, &a);
	args_addf(&a, "--job-name=%s", str_text(&name));
	args_words(&a, "--nodes=1 --ntasks=1 --mem=256M --time=10 "
		       "--output=/dev/null");
	args_addf(&a, "--begin=now+%dminutes", KEEP_MINUTES);
	args_add(&a, script);
	rc = slurm_ask(&a, &out, e) < 0 ||
			     slurm_parse_job_id(str_text(&out), job, e) < 0 ?
		     -1 : 0;
	str_release(&name);
	str_release(&out);
	return rc;
}

/** Submits the next keeper; only the last keeper knows that there is none. */
static int keep_on(const struct jobs *j, int blind, struct err *e)
{
	int rc = -1;

	for (int i = 0; rc < 0 && i < SUBMITS; i++) {
		*e = (struct err){ 0 };
		rc = jobs_keep(j, blind, e);
		if (rc < 0 && i + 1 < SUBMITS) {
			clock_sleep(SUBMIT_NS);
		}
	}
	return rc;
}

/* ---- from inside of a job ------------------------------------------------ */

/** Unsets the variables of this job, which sbatch would take for options of the
 *  jobs that it submits. */
static void forget_job(void)
{
	static const char *const kept[] = { "SLURM_CONF", "SLURM_CLUSTERS",
					    NULL };
	char name[128];

	for (char **at = environ; *at;) {
		size_t n = strcspn(*at, "=");

		snprintf(name, sizeof(name), "%.*s", (int)n, *at);
		if (str_starts(name, "SLURM") && str_index(kept, name) < 0 &&
		    n < sizeof(name)) {
			unsetenv(name);
			at = environ;
		} else {
			at++;
		}
	}
}

static int look_once(struct jobs *j, const char *dir, struct err *e)
{
	*j = (struct jobs){ 0 };
	return rundir_check_own(dir, e) < 0 ? -1 : jobs_look(j, dir, e);
}

/** Reads the state of the jobs: once, or for a keeper several times. */
static int look(struct jobs *j, const char *dir, bool keeper, struct err *e)
{
	int rc = look_once(j, dir, e);

	for (int i = 1; keeper && rc < 0 && i < LOOKS; i++) {
		clock_sleep(LOOK_NS);
		jobs_release(j);
		*e = (struct err){ 0 };
		rc = look_once(j, dir, e);
	}
	return rc;
}

int jobs_tend_main(const char *dir, int blind, struct err *e)
{
	const bool keeper = blind >= 0;
	struct err why = { 0 };
	struct jobs j;
	int rc = look(&j, dir, keeper, e);
	const bool seen = rc == 0;

	forget_job();
	if (seen && (rc = jobs_tend(&j, e), !jobs_go_on(&j))) {
		struct str name = STR_INIT;
		struct args a = { 0 };

		rc = jobs_merge(&j, true, rc ? NULL : e) < 0 ? -1 : rc;
		/* nothing is left to keep */
		str_add(&name, "--name=");
		jobs_lane_name(j.left.run, 0, &name);
		args_words(&a, "scancel --quiet --state=PENDING");
		args_add(&a, str_text(&name));
		if (!name.failed) {
			slurm_ask(&a, NULL, NULL);
		}
		args_release(&a);
		str_release(&name);
	} else if (keeper && j.n > 0 && blind < MOST_BLIND &&
		   keep_on(&j, seen ? 0 : blind + 1, &why) < 0) {
		*e = rc ? *e : why;
		rc = -1;
	}
	jobs_release(&j);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}
