/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/**
 * Agents that gpucheck does not start: mpirun, torchrun, a pod or a user does.
 * The
 * front makes the run directory, says what to start, and waits.
 */
struct launch {
	char dir[PATH_MAX];
	char command[2 * PATH_MAX];
	int64_t sign_ns;	/* the last sign of life of a coordinator, or
				 * what was left of an earlier one */
	int64_t seen_ns;	/* when it was seen, by our clock; 0 = not
				 * yet */
	int64_t patience_ns;	/* for the next one */
};

/** Whoever starts the agents chooses where. */
static int env_check(const struct spec *s, struct err *e)
{
	if (!s->nodelist[0] && !s->exclude[0]) {
		return 0;
	}
	err_set(e, 0, "launcher 'env' starts no agents, so --%s has no effect",
		s->exclude[0] ? "exclude" : "nodelist");
	return err_hint(e, "start agents only on the nodes that are to take "
			   "part");
}

static void add_command(const struct launch_request *r, struct str *out)
{
	struct args a = { 0 };

	launcher_add_agent(r, &a);
	args_line(&a, out);
	args_release(&a);
}

static int env_describe(const struct launch_request *r, struct str *out,
			struct err *e)
{
	(void)e;
	add_command(r, out);
	str_addch(out, '\n');
	return 0;
}

static int env_start(struct launch *l, const struct launch_request *r,
		     struct err *e)
{
	struct str command = STR_INIT;

	(void)e;
	add_command(r, &command);
	snprintf(l->dir, sizeof(l->dir), "%s", r->dir);
	snprintf(l->command, sizeof(l->command), "%s", str_text(&command));
	str_release(&command);
	l->sign_ns = rundir_sign_ns(r->dir);
	/* agents end a coordinator that hangs, and it writes what it has heard:
	 * not to be judged while it does */
	l->patience_ns = spec_boot_ns(r->spec) + 5 * RUN_SIGN_NS;
	return 0;
}

static int env_poll(struct launch *l, struct launch_state *st, struct err *e)
{
	const int64_t now = clock_now_ns(), sign_ns = rundir_sign_ns(l->dir);

	(void)e;
	if (sign_ns && sign_ns != l->sign_ns) {
		l->sign_ns = sign_ns;
		l->seen_ns = now;
	}
	if (!l->seen_ns) {
		launch_say(st, LAUNCH_PENDING, -1, "waiting for agents; start "
			   "one per node, or one per GPU with mpirun or "
			   "torchrun");
		snprintf(st->hint, sizeof(st->hint), "%.300s", l->command);
	} else if (now - l->seen_ns > l->patience_ns) {
		/* no other process would tell: its node may be gone */
		launch_say(st, LAUNCH_ENDED, -1, "the coordinator no longer "
			   "responds: rank 0 has ended or its node is down");
	} else {
		launch_say(st, LAUNCH_RUNNING, -1, "the agents are running");
	}
	return 0;
}

const struct launcher_ops launcher_env = {
	.name = "env",
	.size = sizeof(struct launch),
	.check = env_check,
	.describe = env_describe,
	.start = env_start,
	.poll = env_poll,
	.cancel = "stop the launcher of its agents (mpirun, ...)",
};
