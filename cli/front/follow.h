/* SPDX-License-Identifier: BSD-3-Clause */
/* Follow a run: progress line, state of its files, signals. */
#ifndef CLI_FRONT_FOLLOW_H
#define CLI_FRONT_FOLLOW_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/spec/spec.h"
#include "sbatch/launcher.h"

/* ---- watch --------------------------------------------------------------- */

/**
 * Progress of a run as its directory shows it: rows so far and in all, and
 * whether it has begun and ended.
 */
struct watch {
	const char *dir;	/* borrowed */
	bool seen;		/* the job has written into the directory */
	bool planned;		/* the coordinator has written its plan */
	bool ended;
	bool failed;		/* it never began, and run.json says why */
	bool waits;		/* it is a --resume that has measured nothing:
				 * RUN_RESUME exists */
	bool known;		/* watch_known() was called */
	size_t cells;		/* planned, 0 = not known yet */
	size_t pairs, apart;	/* planned, and left out between rails */
	size_t rows;		/* of finished tests, ... */
	size_t kept;		/* ... including those of an earlier run */
	int64_t kept_B;		/* offset in the file after these */
	int64_t since_ns;	/* when it began to measure, since 1970 by its
				 * coordinator's clock; 0: not yet */
	int64_t row_ns;		/* when the last row came, by the same */
	ino_t results;		/* the file that is counted */
	long results_at;	/* bytes of it counted so far */
	struct stat json;	/* of the run.json last read */
	bool json_settled;	/* it was old enough then to go by its time */
	int64_t sign_ns;	/* its coordinator's last, as
				 * rundir_sign_ns() */
	int64_t looked_ns;	/* for one, by our clock */
	int64_t silent_ns;	/* time since then in which we looked */
	bool signs;		/* one came since we look */
	bool here;		/* on a disk of this machine, which has locks */
	bool held;		/* its coordinator was seen to hold it */
	bool lost;		/* no process writes to it any more: its
				 * coordinator stopped sending signs of life */
};

void watch_init(struct watch *w, const char *dir);
/** Make files visible that other machines created in @dir since the last
 *  look. */
void watch_refresh(const char *dir);
/** Look again; cheap enough for five times a second. */
void watch_look(struct watch *w);
/** Look at the run as it was before a --resume that measures nothing. */
void watch_known(struct watch *w);
/** Returns the time left in ns at the pace so far; -1: not known. */
int64_t watch_left_ns(const struct watch *w);

/* ---- follow -------------------------------------------------------------- */

enum follow_end {
	FOLLOW_OVER,	/* the run has ended, one way or another */
	FOLLOW_LEFT,	/* interrupted: a batch job continues without us */
	FOLLOW_STOPPED,	/* interrupted, and the run has ended upon that */
	FOLLOW_LOST,	/* its coordinator is gone, or it did not end when it
			 * should have: it was ended, as far as we can */
};

/** Time limits of a run, ns. */
struct follow_limits {
	int64_t most_ns;	/* since it runs; 0 = no limit */
	int64_t begin_ns;	/* until a coordinator has begun */
	int64_t quiet_ns;	/* to wait for agents without a message */
	bool image;		/* agents may have to import an image */
};

/** Return the limits of a run with the options @s that @launcher starts.
 *  Pure. */
struct follow_limits follow_limits(const struct spec *s, const char *launcher);

/**
 * Follow a started run until it ends: print progress and reasons for waiting.
 * On ^C (INT, TERM, HUP) leave a batch job running; stop any other run in
 * order, and at once the second time.  A signal that came before, while the
 * caller had it blocked, counts as the first.  Every wait for an end has a
 * deadline; a run whose coordinator is gone, or which --time-limit does not
 * end, is ended, but a batch job is left.
 * @w     state of the run as seen last, for the caller.
 * @last  state of the run as the launcher reported it last.
 */
enum follow_end follow_run(const char *dir, const char *probe,
			   const struct spec *s,
			   const struct launcher_ops *ops, struct launch *l,
			   struct watch *w, struct launch_state *last);

/**
 * Hold INT, TERM and HUP, which ask for an end, until the next follow_run() or
 * follow_take_signal().  @before as of sigprocmask(2), may be NULL.
 */
void follow_hold_signals(sigset_t *before);
/** Wait at most @wait_ns for a held signal; returns true if one came, which is
 *  consumed. */
bool follow_take_signal(int64_t wait_ns);
/** Stops holding these signals, and restores @before.  Pending ones are
 *  discarded: two signals at once, as when a terminal closes, must not cut off
 *  our last messages. */
void follow_release_signals(const sigset_t *before);

/**
 * Waits for the processes of a run that has ended and whose report is printed,
 * and kills those that linger, so that none is left.  A batch system does this
 * for its own processes.
 */
void follow_leave(const struct launcher_ops *ops, struct launch *l);

#endif
