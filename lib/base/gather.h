/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_GATHER_H
#define LIB_BASE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/spawn.h"
#include "lib/base/str.h"

/** One of several children that run side by side, each with its own text. */
struct gather {
	char *const *argv;	/* as spawn_capture() takes it */
	const char *in;		/* its stdin: less than a pipe holds */
	struct str out;		/* what it has printed; str_release() */
	int why;		/* errno where it could not be started; 0 */
	struct spawn_status st;
	bool left;		/* killed, and not gone: it hangs in the kernel
				 * (state D), where no signal reaches it */
	pid_t pid;
	int fd;			/* -1: closed */
	bool ended;
};

/**
 * Run the @n children of @list until each has ended, or to @deadline_ns: then
 * their process groups are killed.  What they have printed so far, at most @max
 * bytes each, is kept.  Unlike spawn_capture() this waits for nobody who cannot
 * be killed: it returns within GATHER_GRACE_NS of the deadline, and the caller
 * is free to exit.
 */
void gather(struct gather *list, size_t n, size_t max, int64_t deadline_ns);
#define GATHER_GRACE_NS (100 * NS_PER_MS)

#endif
