/* SPDX-License-Identifier: BSD-3-Clause */
/* Whoever tends the jobs of a run submits what is missing, and gets out of the
 * way what would wait for good. */
#include "cli/run/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/run_json.h"
#include "cli/front/talk.h"
#include "lib/base/exit_code.h"
#include "lib/base/str.h"
#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_ask.h"

/** The nodes of a part that are down, with commas, to @out; how many are
 *  not. */
static size_t find_down(const struct jobs *j, const struct job *job,
			struct str *out)
{
	size_t up = 0;

	for (size_t i = 0; i < j->nodes.n; i++) {
		const struct slurm_lane_node *n = &j->nodes.list[i];

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

/** Try @t of part @i, whose directory nobody else has made; 0, or -1 with
 *  @e, and the directory is gone. */
static int submit(struct jobs *j, size_t i, int t, const char *down,
		  const char *dir, struct err *e)
{
	struct job *job = &j->list[i];
	struct str lane = STR_INIT;
	struct spec spec;
	int64_t gpus = 0;
	struct launch_request r = {
		.self = j->self, .probe = json_member(j->left.run, "probe"),
		.spec = &spec, .extra = j->left.extra, .nodelist = job->nodes,
		.after = j->left.dir,
	};
	char path[PATH_MAX];
	const struct launcher_ops *ops = launcher_find(j->left.launcher);
	struct launch *l = NULL;
	json_t *run;
	int rc;

	part_options(j, job, down, &spec);
	jobs_lane_name(j->left.run, job->lane, &lane);
	json_opt_int(json_object_get(j->left.run, "jobs"), "gpus", -1,
		     SPEC_MAX_GPUS, &gpus, NULL);
	r.lane = str_text(&lane);
	r.gpus = gpus;
	run = run_json_part(j->left.run, &spec, e);
	rc = run ? rundir_create(dir, r.probe, path, e) : -1;
	r.dir = path;
	if (rc == 0 && rundir_write_json(path, RUN_JSON, run, e) == 0) {
		l = ops ? launcher_start(ops, &r, e) : NULL;
	}
	if (l) {
		job->tries = t;
		job->state = JOB_WAITS;
		STR_COPY(job->id, launcher_job_id(ops, l));
		launcher_free(ops, l);
	} else if (!launch_is_unsure(e)) {
		rundir_discard(dir, true);
	}
	json_decref(run);
	str_release(&lane);
	return l ? 0 : -1;
}

/** The next try of part @i, unless somebody else is about to make it. */
static int try_again(struct jobs *j, size_t i, const char *down,
		     struct err *e)
{
	const int t = j->list[i].tries + 1;
	char name[32], dir[PATH_MAX];

	jobs_try_name(i, t, name);
	if (rundir_path(j->left.dir, name, dir, e) < 0) {
		return -1;
	}
	if (mkdir(dir, 0777) < 0) {
		return errno == EEXIST ? 0 :
		       err_set(e, errno, "cannot make '%s'", dir);
	}
	return submit(j, i, t, down, dir, e);
}

static void recount(struct jobs *j)
{
	memset(j->count, 0, sizeof(j->count));
	for (size_t i = 0; i < j->n; i++) {
		j->count[j->list[i].state]++;
	}
}

/** Does the last try of part @i want a node that is down?  One that was down
 *  when it was submitted it does without. */
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
	without = json_member(json_object_get(run, "options"), "exclude");
	for (size_t k = 0; k < j->nodes.n; k++) {
		const struct slurm_lane_node *n = &j->nodes.list[k];

		wants = wants || (slurm_lane_is_down(n->state) &&
				  hostlist_has(j->list[i].nodes, n->name) &&
				  !hostlist_has(without, n->name));
	}
	json_decref(run);
	return wants;
}

int jobs_tend(struct jobs *j, struct err *e)
{
	int rc = 0;

	if (!j->nodes.list &&
	    slurm_lane_nodes(&j->left.spec, j->left.extra, &j->nodes, e) < 0) {
		return -1;
	}
	for (size_t i = 0; rc == 0 && i < j->n; i++) {
		struct job *job = &j->list[i];
		struct str down = STR_INIT;
		const size_t up = find_down(j, job, &down);

		if (down.len > 0 && job->state == JOB_WAITS &&
		    !job->in_line && wants_down(j, i)) {
			/* its lane would stand still until that is repaired */
			slurm_cancel("--quiet --state=PENDING", job->id);
			job->state = JOB_LOST;
		}
		if (up >= 2 && (job->state == JOB_NONE ||
				(job->state == JOB_LOST &&
				 job->tries < JOBS_TRIES &&
				 !(job->partial && down.len > 0)))) {
			rc = try_again(j, i, str_text(&down), e);
		}
		str_release(&down);
	}
	recount(j);
	return rc;
}

/* ---- the keeper ---------------------------------------------------------- */

/** It is asked for again after so long. */
#define KEEP_MINUTES 5
#define KEEPER	     JOBS_PARTS "/keeper.sbatch"

int jobs_keep(const struct jobs *j, struct err *e)
{
	struct str text = STR_INIT, out = STR_INIT;
	struct args a = { 0 };
	char script[PATH_MAX], job[SLURM_JOB_SIZE];
	int rc;

	str_add(&text, "#!/bin/bash\n#SBATCH --job-name=");
	jobs_lane_name(j->left.run, 0, &text);
	str_addf(&text, "\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n"
		 "#SBATCH --mem=256M\n#SBATCH --time=10\n"
		 "#SBATCH --begin=now+%dminutes\n"
		 "#SBATCH --output=/dev/null\n\nexec ", KEEP_MINUTES);
	str_add_quoted(&text, j->self);
	str_add(&text, " tend ");
	str_add_quoted(&text, j->left.dir);
	str_add(&text, " keeper\n");
	rc = text.failed ? err_set(e, ENOMEM, "no memory for a script") :
	     rundir_write_text(j->left.dir, KEEPER, str_text(&text), 0755, e);
	if (rc == 0) {
		rc = rundir_path(j->left.dir, KEEPER, script, e);
	}
	if (rc == 0) {
		launch_sbatch_words(&a);
		args_add_all(&a, j->left.extra);
		args_add(&a, script);
		rc = slurm_ask(&a, &out, e) < 0 ||
				     slurm_parse_job_id(str_text(&out), job,
							e) < 0 ? -1 : 0;
	}
	str_release(&text);
	str_release(&out);
	return rc;
}

/** Nothing is left to keep; @self: it is the keeper who says so. */
static void dismiss_keeper(const struct jobs *j, bool self)
{
	struct str name = STR_INIT;
	struct args a = { 0 };

	str_add(&name, "--name=");
	jobs_lane_name(j->left.run, 0, &name);
	args_words(&a, "scancel --quiet --state=PENDING");
	args_add(&a, str_text(&name));
	if (!self && !name.failed) {
		slurm_ask(&a, NULL, NULL);
	}
	args_release(&a);
	str_release(&name);
}

/* ---- from inside of a job ------------------------------------------------ */

/** What names this job would be taken for options of those that it submits. */
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

int jobs_tend_main(const char *dir, bool keeper, struct err *e)
{
	struct jobs j;
	int rc;

	rc = jobs_look(&j, dir, e);
	forget_job();
	if (rc == 0) {
		rc = jobs_tend(&j, e);
		if (!jobs_go_on(&j)) {
			rc = jobs_merge(&j, rc ? NULL : e) < 0 ? -1 : rc;
			dismiss_keeper(&j, keeper);
		} else if (keeper) {
			rc = jobs_keep(&j, rc ? NULL : e) < 0 ? -1 : rc;
		}
	}
	jobs_release(&j);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}
