/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_WATCH_H
#define CLI_FRONT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/**
 * What can be seen of a run from its directory while it goes on: how many
 * rows of how many, and whether it has begun and ended.
 */
struct watch {
	const char *dir;	/* borrowed */
	bool seen;		/* the job has written into the directory */
	bool planned;		/* the coordinator has said what it will do */
	bool ended;
	bool failed;		/* it never began, and run.json says why */
	bool waits;		/* it is a --resume that has measured nothing:
				 * RUN_RESUME is there */
	bool known;		/* of watch_known() */
	size_t cells;		/* planned, 0 = not known yet */
	size_t rows;		/* of what has run, ... */
	size_t kept;		/* ... those that an earlier run had left */
	int64_t kept_B;		/* where these end in the file */
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
	bool lost;		/* nobody will write to it any more: the
				 * coordinator that gave signs gives none */
};

void watch_init(struct watch *w, const char *dir);
/** Files that others have made in @dir since we asked for them are seen. */
void watch_refresh(const char *dir);
/** Look again; cheap enough for five times a second. */
void watch_look(struct watch *w);
/** Look at the run as it was before a --resume that measures nothing. */
void watch_known(struct watch *w);
/** How long it will yet take at the pace it had so far, ns; -1: nobody
 *  knows. */
int64_t watch_left_ns(const struct watch *w);

#endif
