/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_FOLLOW_H
#define CLI_FRONT_FOLLOW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/front/watch.h"
#include "lib/spec/spec.h"
#include "sbatch/launcher.h"

enum follow_end {
	FOLLOW_OVER,	/* the run has ended, one way or another */
	FOLLOW_LEFT,	/* interrupted: a batch job goes on without us */
	FOLLOW_STOPPED,	/* interrupted, and the run has ended upon that */
	FOLLOW_LOST,	/* its coordinator is gone, or it did not end when it
			 * should have: it was ended, as far as we can */
};

/** How long a run that @launcher starts may take, ns. */
struct follow_limits {
	int64_t most_ns;	/* since it runs; 0 = no limit */
	int64_t begin_ns;	/* until a coordinator has begun */
	int64_t quiet_ns;	/* for agents, that needs no word */
	bool image;		/* they may have to import one */
};

/** By @s; pure. */
struct follow_limits follow_limits(const struct spec *s, const char *launcher);

/**
 * Follow a started run until it ends: progress, reasons for waiting, and what
 * to do on ^C (INT, TERM, HUP): leave a batch job running; else stop it in
 * order, and at once the second time.  Every wait for an end has a deadline,
 * and a run whose coordinator is gone, or which --max-time does not end, is
 * ended, a batch job left.
 * One that came before, while the caller had them blocked, counts as the first.
 * @w     what was seen of the run, for the caller.
 * @last  the launcher's last word about it.
 */
enum follow_end follow_run(const char *dir, const char *probe,
			   const struct spec *s,
			   const struct launcher_ops *ops, struct launch *l,
			   struct watch *w, struct launch_state *last);

/**
 * Keep INT, TERM and HUP, which ask for an end, back until the next
 * follow_run() or follow_take_signal().  @before as of sigprocmask(2), may be
 * NULL.
 */
void follow_hold_signals(sigset_t *before);
/** Wait at most @wait_ns for one of those that are held; true when one came,
 *  which then is gone. */
bool follow_take_signal(int64_t wait_ns);
/** Hold them no longer, and have @before back.  Those that came are gone: who
 *  asks by two of them at once, as when a terminal closes, is not to end what
 *  we still have to say. */
void follow_release_signals(const sigset_t *before);

/**
 * The run has ended and its report is out: see its processes off, killed when
 * they linger, so that none is left.  A batch system does that for its own.
 */
void follow_leave(const struct launcher_ops *ops, struct launch *l);

#endif
