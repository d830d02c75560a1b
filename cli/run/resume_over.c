/* SPDX-License-Identifier: BSD-3-Clause */
/* A run is resumed when nobody is at work on it, on whatever machine. */
#include "cli/run/resume.h"

#include <stdio.h>

#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

static int still_on(const char *dir, const char *who, struct err *e)
{
	return err_set(e, 0, "the run in '%s' has not ended: %s", dir,
		       who);
}

int resume_check_over(const char *dir, const char *launcher, bool ended,
		      struct err *e)
{
	const struct launcher_ops *ops = launcher_find(launcher);
	bool over = ended || (spec_launcher_is(launcher, LAUNCHER_PRETENDS) &&
			      rundir_is_here(dir));
	char job[32], who[64];
	int queued = -1;

	if (rundir_is_held(dir)) {
		still_on(dir, "its coordinator is running", e);
		return err_hint(e, "wait for it, or stop it with ^C where it "
				"was started");
	}
	if (ops && ops->queued && launcher_usable(ops, NULL) == 0) {
		queued = ops->queued(dir, job, e);
		if (queued < 0) {
			return err_hint(e, "Slurm must say that the job has "
					"ended before the run is resumed");
		}
	}
	if (queued > 0) {
		snprintf(who, sizeof(who), "job %s is in the queue", job);
		still_on(dir, who, e);
		return err_hint(e, "wait for it, or cancel it: scancel %s", job);
	}
	over = over || queued == 0;
	if (!over && rundir_signs(dir)) {
		still_on(dir, "its coordinator still writes files", e);
		return err_hint(e, "wait for it, or stop it where it was "
				"started");
	}
	return 0;
}
