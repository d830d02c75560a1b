/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/going.h"

#include <stdio.h>

#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "sbatch/launcher.h"

static int is_going(struct going *g, const char *who, const char *hint)
{
	STR_COPY(g->who, who);
	STR_COPY(g->hint, hint);
	return 1;
}

int going_find(const char *dir, const char *launcher, bool ended,
	       struct going *g, struct err *e)
{
	const struct launcher_ops *ops = launcher_find(launcher);
	bool over = ended || (spec_launcher_is(launcher, LAUNCHER_PRETENDS) &&
			      rundir_is_here(dir));
	bool asks = ops && ops->queued && launcher_usable(ops, NULL) == 0;
	char job[32];
	int queued = asks ? ops->queued(dir, job, e) : 0;

	if (queued > 0) {
		snprintf(g->who, sizeof(g->who), "job %s is in the queue", job);
		snprintf(g->hint, sizeof(g->hint),
			 "wait for it, or cancel it: scancel %s", job);
		return 1;
	}
	if (rundir_is_held(dir)) {
		return is_going(g, "its coordinator is running",
				"wait for it, or stop it with ^C where it was "
				"started");
	}
	if (queued < 0) {
		return -1;
	}
	over = over || asks;
	if (!over && rundir_signs(dir)) {
		return is_going(g, "its coordinator still writes files",
				"wait for it, or stop it where it was started");
	}
	return 0;
}
