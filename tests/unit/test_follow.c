/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that come to a run that is followed. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "cli/front/follow.h"
#include "lib/spec/spec.h"

/** A run that has ended when it is looked at, or a batch job that has not, and
 *  what comes meanwhile. */
struct launch {
	int signal, another;	/* 0 = none */
	bool runs;
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

static enum follow_end follow_launch(const char *launcher, struct launch *l)
{
	const struct launcher_ops ops = {
		.name = launcher, .poll = fake_poll,
	};
	struct launch_state last;
	struct watch watch;
	struct spec s;

	spec_init(&s);
	s.quiet = true;
	return follow_run("/nonexistent", "p2p", &s, &ops, l, &watch, &last);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_at_the_last_look_is_seen),
		cmocka_unit_test(two_at_once_leave_a_job_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
