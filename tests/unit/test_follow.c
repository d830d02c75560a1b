/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that come to a run that is followed. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/front/follow.h"
#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "tests/unit/tree.h"

/** A run that has ended when it is looked at, or a batch job that has not, and
 *  what comes meanwhile. */
struct launch {
	int signal, another;	/* 0 = none */
	bool runs;
	const char *dir;	/* NULL: nowhere */
	bool seen;		/* was the end written? */
};

static int fake_poll(struct launch *l, struct launch_state *st, struct err *e)
{
	(void)e;
	*st = (struct launch_state){
		.phase = l->runs ? LAUNCH_RUNNING : LAUNCH_ENDED,
	};
	if (l->signal) {
		raise(l->signal);
	}
	if (l->another) {
		raise(l->another);
	}
	return 0;
}

static void fake_stop(struct launch *l, bool hard)
{
	(void)l;
	(void)hard;
}

static enum follow_end follow_launch(const char *launcher, struct launch *l)
{
	const struct launcher_ops ops = {
		.name = launcher, .poll = fake_poll,
		.stop = strcmp(launcher, "fake") == 0 ? fake_stop : NULL,
	};
	struct launch_state last;
	enum follow_end end;
	struct watch watch;
	struct spec s;

	spec_init(&s);
	s.quiet = true;
	end = follow_run(l->dir ? l->dir : "/nonexistent", "p2p", &s, &ops, l,
			 &watch, &last);
	l->seen = watch.ended;
	return end;
}

static enum follow_end follow_one(int signal_number)
{
	return follow_launch("fake",
			     &(struct launch){ .signal = signal_number });
}

static void a_signal_at_the_last_look_is_seen(void **state)
{
	sigset_t before, after;

	(void)state;
	follow_hold_signals(&before);
	assert_int_equal(follow_one(0), FOLLOW_OVER);
	assert_int_equal(follow_one(SIGINT), FOLLOW_STOPPED);
	assert_int_equal(follow_one(SIGTERM), FOLLOW_STOPPED);
	assert_int_equal(follow_one(0), FOLLOW_OVER);
	/* as it was */
	sigprocmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGINT), 1);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A terminal that closes sends HUP, and whoever started us TERM: where the job
 * goes on is still to be said. */
static void two_at_once_leave_a_job_in_order(void **state)
{
	struct launch l = {
		.signal = SIGHUP, .another = SIGTERM, .runs = true,
	};

	(void)state;
	assert_int_equal(follow_launch("sbatch", &l), FOLLOW_LEFT);
}

/** The coordinator of a run whose agents have ended, for 300 ms yet. */
static void be_coordinator(const char *dir)
{
	json_t *run = json_pack("{s:{}, s:s}", "planned", "ended_utc", "now");
	int fd = rundir_open_fd(dir, RUN_EVENTS, O_RDWR | O_CREAT, NULL);
	int code = rundir_hold(fd, NULL);

	if (write(fd, "x", 1) == 1) {
		clock_sleep(300 * NS_PER_MS);
	}
	code |= rundir_write_json(dir, RUN_JSON, run, NULL);
	json_decref(run);
	_exit(code != 0);
}

static void what_a_coordinator_still_writes_is_waited_for(void **state)
{
	char dir[] = "/tmp/gpucheck-follow-XXXXXX", path[PATH_MAX];
	struct launch l = { .dir = mkdtemp(dir) };
	struct stat st = { 0 };
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(l.dir);
	pid = fork();
	if (pid == 0) {
		be_coordinator(l.dir);
	}
	snprintf(path, sizeof(path), "%s/%s", l.dir, RUN_EVENTS);
	while (stat(path, &st) < 0 || st.st_size == 0) {
		clock_sleep(NS_PER_MS);
	}
	assert_int_equal(follow_launch("fake", &l), FOLLOW_OVER);
	assert_true(l.seen);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	tree_remove(dir);
}

/** An image is imported where Slurm starts agents, and nowhere else. */
static void only_slurm_has_time_for_an_image(void **state)
{
	static const char *const launchers[] = { "srun", "sbatch", "ssh",
						 "local", "env" };
	struct spec s;

	(void)state;
	spec_init(&s);
	s.max_time_ns = 300 * NS_PER_S;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const struct follow_limits l = follow_limits(&s, launchers[i]);
		const int64_t boot_s = i < 2 ? 900 : 30;

		assert_int_equal(l.most_ns / NS_PER_S, 300 + boot_s + 60);
		assert_int_equal(l.begin_ns / NS_PER_S, boot_s + 600);
		assert_int_equal(l.image, i < 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_at_the_last_look_is_seen),
		cmocka_unit_test(what_a_coordinator_still_writes_is_waited_for),
		cmocka_unit_test(two_at_once_leave_a_job_in_order),
		cmocka_unit_test(only_slurm_has_time_for_an_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
