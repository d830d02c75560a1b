/* SPDX-License-Identifier: BSD-3-Clause */
/* Find out if a job or process works on a run. */
#include "cli/run/probe_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"

#define LOOK_NS (500 * NS_PER_MS)
/** Without a lock or a sign of life for this long, no process works on the
 *  run. */
#define SILENT_NS (60 * NS_PER_S)

/* ---- a run that another process holds ------------------------------------ */

struct launch {
	char dir[PATH_MAX];
	int64_t look_ns;	/* when to look again */
	int64_t sign_ns;	/* the last, as rundir_sign_ns() */
	int64_t alive_ns;	/* when it was last seen to be at work */
};

static int held_poll(struct launch *l, struct launch_state *st, struct err *e)
{
	const int64_t now_ns = clock_now_ns();
	int64_t sign_ns;

	(void)e;
	if (now_ns >= l->look_ns) {
		sign_ns = rundir_sign_ns(l->dir);
		if (sign_ns != l->sign_ns || rundir_is_held(l->dir)) {
			l->alive_ns = now_ns;
		}
		l->sign_ns = sign_ns;
		l->look_ns = now_ns + LOOK_NS;
	}
	if (now_ns - l->alive_ns < SILENT_NS) {
		launch_say(st, LAUNCH_RUNNING, -1,
			   "its coordinator is running");
	} else {
		launch_say(st, LAUNCH_ENDED, -1,
			   "no process works on the run any more");
	}
	return 0;
}

static const struct launcher_ops held = { .name = "held", .poll = held_poll };

/** Follows a run by the files in its directory, without a launcher. */
static int take_held(struct going *g, const char *dir, const char *who,
		     const char *hint)
{
	struct launch *l = calloc(1, sizeof(*l));

	if (l) {
		STR_COPY(l->dir, dir);
		l->alive_ns = clock_now_ns();
		g->ops = &held;
		g->launch = l;
	}
	g->state.phase = LAUNCH_RUNNING;
	STR_COPY(g->who, who);
	STR_COPY(g->hint, hint);
	return 1;
}

/* ---- jobs ---------------------------------------------------------------- */

/** Returns 1, or 0 if the job has ended meanwhile. */
static int take_job(struct going *g, const struct launcher_ops *ops)
{
	char when[32] = "";

	ops->poll(g->launch, &g->state, NULL);	/* else as adopt() left it */
	if (g->state.phase == LAUNCH_ENDED) {
		launcher_free(ops, g->launch);
		*g = (struct going){ 0 };
		return 0;
	}
	g->ops = ops;
	snprintf(g->who, sizeof(g->who), "%s%s%s", g->state.text,
		 launch_starts(&g->state, when, sizeof(when)) ?
		 ", expected to start about " : "", when);
	snprintf(g->hint, sizeof(g->hint), "wait for it, or cancel it: %s%s",
		 ops->cancel, launcher_job_id(ops, g->launch));
	return 1;
}

int going_find(const char *dir, const char *launcher, bool ended,
	       struct going *g, struct err *e)
{
	const struct launcher_ops *ops = launcher_find(launcher);
	bool over = ended || (spec_launcher_is(launcher, LAUNCHER_PRETENDS) &&
			      rundir_is_here(dir));
	bool asks = ops && ops->adopt && launcher_usable(ops, NULL) == 0;
	int queued;

	*g = (struct going){ 0 };
	queued = asks ? launcher_adopt(ops, dir, false, &g->launch, e) : 0;
	if (queued > 0 && take_job(g, ops) > 0) {
		return 1;
	}
	if (rundir_is_held(dir)) {
		return take_held(g, dir, "its coordinator is running",
				 "wait for it, or stop it with ^C where it was "
				 "started");
	}
	if (queued < 0) {
		return -1;
	}
	over = over || asks;
	if (!over && rundir_signs(dir)) {
		return take_held(g, dir, "its coordinator still writes files",
				 "wait for it, or stop it where it was "
				 "started");
	}
	return 0;
}

void going_release(struct going *g)
{
	if (g->launch) {
		launcher_free(g->ops, g->launch);
	}
	*g = (struct going){ 0 };
}
