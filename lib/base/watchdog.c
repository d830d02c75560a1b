/* SPDX-License-Identifier: BSD-3-Clause */

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"

/** A handler has no other way to know. */
static volatile sig_atomic_t code;

static void bite(int signum)
{
	(void)signum;
	_exit(code);
}

void watchdog_set(int64_t wait_ns, int exit_code)
{
	const struct itimerval wait = {
		.it_value = { .tv_sec = wait_ns / NS_PER_S,
			      .tv_usec = wait_ns % NS_PER_S / 1000 },
	};

	code = exit_code;
	signal(SIGALRM, bite);
	setitimer(ITIMER_REAL, &wait, NULL);
}
