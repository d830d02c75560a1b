/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/net.h"

#include <pthread.h>
#include <time.h>

bool within(int seconds, void *(*call)(void *arg), void *arg)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	if (pthread_create(&thread, NULL, call, arg) != 0) {
		call(arg);	/* no more threads: that it hangs is rare */
	} else if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
		pthread_detach(thread);
		return false;
	}
	return true;
}
