/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/watch.h"
#include "lib/spec.h"
#include "sbatch/launcher.h"

enum follow_end {
	FOLLOW_OVER,	/* the run has ended, one way or another */
	FOLLOW_LEFT,	/* interrupted: a batch job goes on without us */
};

/**
 * Follow a started run until it ends: progress, reasons for waiting, and what
 * to do on ^C (INT, TERM, HUP): leave a batch job running; else stop it in
 * order, and at once the second time.  Every wait for an end has a deadline.
 * @w     what was seen of the run, for the caller.
 * @last  the launcher's last word about it.
 */
enum follow_end follow_run(const char *dir, const char *probe,
			   const struct spec *s,
			   const struct launcher_ops *ops, struct launch *l,
			   struct watch *w, struct launch_state *last);

/**
 * The run has ended and its report is out: see its processes off, killed when
 * they linger, so that none is left.  A batch system does that for its own.
 */
void follow_leave(const struct launcher_ops *ops, struct launch *l);

#endif
