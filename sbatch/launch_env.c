/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"
#include "sbatch/launcher.h"

/**
 * Agents that somebody else starts: mpirun, torchrun, a pod, a person.  The
 * front makes the run directory, says what to start, and waits.
 */
struct launch {
	char dir[PATH_MAX];
	char command[2 * PATH_MAX];
	bool stopped;
	struct timespec sign;	/* the coordinator's last sign of life */
	int64_t sign_ns;	/* when it was seen, 0 = not yet */
	int64_t patience_ns;	/* for the next one */
};

static int env_usable(struct err *why)
{
	(void)why;
	return 0;
}

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
	args_quote(r->self, out);
	str_add(out, " agent ");
	args_quote(r->dir, out);
}

static int env_describe(const struct launch_request *r, struct str *out,
			struct err *e)
{
	(void)e;
	add_command(r, out);
	str_addch(out, '\n');
	return 0;
}

static struct launch *env_start(const struct launch_request *r, struct err *e)
{
	struct launch *l = calloc(1, sizeof(*l));
	struct str command = STR_INIT;

	if (!l) {
		err_set(e, 0, "no memory for a run");
		return NULL;
	}
	add_command(r, &command);
	STR_COPY(l->dir, r->dir);
	STR_COPY(l->command, str_text(&command));
	str_release(&command);
	l->patience_ns = r->spec->boot_timeout_ns + 3 * RUN_SIGN_NS;
	return l;
}

/**
 * 1: the coordinator has given a sign of life lately; 0: none yet; -1: it did
 * once, and no longer does.  Nobody else would tell: its node may be gone.
 */
static int look_for_sign(struct launch *l, const char *path)
{
	/* opened, so that an NFS client asks the server how old it is */
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t now = clock_now_ns();
	struct stat st;

	if (fd < 0 && errno == ENOENT && !l->sign_ns) {
		return 0;
	}
	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    (st.st_mtim.tv_sec != l->sign.tv_sec ||
	     st.st_mtim.tv_nsec != l->sign.tv_nsec || !l->sign_ns)) {
		l->sign = st.st_mtim;
		l->sign_ns = now;
	}
	if (fd >= 0) {
		close(fd);
	}
	if (!l->sign_ns) {
		return 0;
	}
	return now - l->sign_ns > l->patience_ns ? -1 : 1;
}

static int env_poll(struct launch *l, struct launch_state *st, struct err *e)
{
	char path[PATH_MAX];
	int sign;

	if (rundir_path(l->dir, RUN_RENDEZVOUS, path, e) < 0) {
		return -1;
	}
	*st = (struct launch_state){ .phase = LAUNCH_RUNNING,
				     .exit_code = -1 };
	sign = look_for_sign(l, path);
	if (l->stopped) {
		st->phase = LAUNCH_ENDED;
		STR_COPY(st->text, "no longer waiting for the agents");
	} else if (sign < 0) {
		st->phase = LAUNCH_ENDED;
		STR_COPY(st->text, "the coordinator no longer responds: rank 0 "
				   "has ended or its node is down");
	} else if (sign == 0) {
		st->phase = LAUNCH_PENDING;
		STR_COPY(st->text, "waiting for agents; start one per node, or "
				   "one per GPU with mpirun or torchrun");
		snprintf(st->hint, sizeof(st->hint), "%.300s", l->command);
	} else {
		STR_COPY(st->text, "the agents are running");
	}
	return 0;
}

/** Their launcher owns them; all that can be done is to stop waiting. */
static void env_stop(struct launch *l, bool hard)
{
	(void)hard;
	l->stopped = true;
}

static void env_cancel_hint(const struct launch *l, char *buf, size_t size)
{
	(void)l;
	snprintf(buf, size, "%s", "stop the launcher of its agents (mpirun, ...)");
}

static void env_free(struct launch *l)
{
	free(l);
}

const struct launcher_ops launcher_env = {
	.name = "env",
	.usable = env_usable,
	.check = env_check,
	.describe = env_describe,
	.start = env_start,
	.poll = env_poll,
	.stop = env_stop,
	.cancel_hint = env_cancel_hint,
	.free = env_free,
};
