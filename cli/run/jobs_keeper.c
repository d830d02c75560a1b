/* SPDX-License-Identifier: BSD-3-Clause */
/* Who tends a run where nobody waits for it: the end of each of its jobs, and a
 * keeper for when all stand still. */
#include "cli/run/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/exit_code.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/slurm_ask.h"
#include "sbatch/slurm_fit.h"
#include "sbatch/slurm_lanes.h"

/* ---- the keeper ---------------------------------------------------------- */

/** It is asked for again after so long. */
#define KEEP_MINUTES 5
#define KEEPER	     JOBS_PARTS "/keeper.sbatch"
/** A keeper looks so often, with pauses, before it goes by what it does not
 *  see; so many in a row, two hours, then nobody keeps the run. */
#define LOOKS	   3
#define LOOK_NS	   (2 * NS_PER_S)
#define MOST_BLIND 24
/** And submits the next one so often, while Slurm does not answer. */
#define SUBMITS	   10
#define SUBMIT_NS  (20 * NS_PER_S)

/** Is there one that waits? */
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
	/* for whom and where, not what those need that measure */
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

/** Nothing is left to keep. */
static void dismiss_keeper(const struct jobs *j)
{
	struct str name = STR_INIT;
	struct args a = { 0 };

	str_add(&name, "--name=");
	jobs_lane_name(j->left.run, 0, &name);
	args_words(&a, "scancel --quiet --state=PENDING");
	args_add(&a, str_text(&name));
	if (!name.failed) {
		slurm_ask(&a, NULL, NULL);
	}
	args_release(&a);
	str_release(&name);
}

/** The next keeper, by the last one, which alone knows that there is none. */
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

static int look_once(struct jobs *j, const char *dir, struct err *e)
{
	*j = (struct jobs){ 0 };
	return rundir_check_own(dir, e) < 0 ? -1 : jobs_look(j, dir, e);
}

/** How they stand, asked once, or by a keeper some times. */
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
		rc = jobs_merge(&j, true, rc ? NULL : e) < 0 ? -1 : rc;
		dismiss_keeper(&j);
	} else if (keeper && j.n > 0 && blind < MOST_BLIND &&
		   keep_on(&j, seen ? 0 : blind + 1, &why) < 0) {
		*e = rc ? *e : why;
		rc = -1;
	}
	jobs_release(&j);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}
