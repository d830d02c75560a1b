/* SPDX-License-Identifier: BSD-3-Clause */
/* A run is resumed when nobody is at work on it, on whatever machine. */
#include "cli/front/resume.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_ask.h"

static int still_on(const char *dir, const char *who, struct err *e)
{
	return err_set(e, 0, "the run in '%s' is still going on: %s", dir,
		       who);
}

/** The job of a batch run; *@over: Slurm says that there is none. */
static int check_job(const char *dir, bool *over, struct err *e)
{
	char script[PATH_MAX], job[32], who[64];

	if (launcher_sbatch.usable(NULL) < 0 ||
	    rundir_path(dir, RUN_JOB_SCRIPT, script, NULL) < 0) {
		return 0;	/* nobody to ask */
	}
	if (slurm_find_job(script, job, e) < 0) {
		return err_hint(e, "is the run still going on? Without an "
				"answer of Slurm it is not resumed");
	}
	*over = !job[0];
	if (*over) {
		return 0;
	}
	snprintf(who, sizeof(who), "job %s is in the queue", job);
	still_on(dir, who, e);
	return err_hint(e, "wait for it, or end it: scancel %s", job);
}

int resume_check_over(const char *dir, const char *launcher, bool ended,
		      struct err *e)
{
	bool over = ended || (strcmp(launcher, "local") == 0 &&
			      rundir_is_here(dir));

	if (rundir_is_held(dir)) {
		still_on(dir, "its coordinator is at work", e);
		return err_hint(e, "wait for it, or end it with ^C where it "
				"was started");
	}
	if (strcmp(launcher, "sbatch") == 0 && check_job(dir, &over, e) < 0) {
		return -1;
	}
	if (!over && rundir_signs(dir)) {
		still_on(dir, "its coordinator gives signs of life", e);
		return err_hint(e, "wait for it, or end it where it was "
				"started");
	}
	return 0;
}
