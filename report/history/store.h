/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_STORE_H
#define REPORT_HISTORY_STORE_H

#include "report/history/summary.h"

/**
 * The files of a history: one a run, whole or not there, in a directory that
 * several machines may share.  What reads them may keep an index, a database
 * on a disk of this machine: it can always be made again.
 */

/** Write the file of @s into the existing @dir, in place of one of the same
 *  run; 0, or -1 with @e. */
int store_write(const char *dir, const struct summary *s, struct err *e);

struct store_ask {
	size_t last;		/* the newest runs that count, at most */
	bool drills;		/* those of drills and of the model count */
	const char *index;	/* file of the index; NULL: there is none */
};

struct store_runs {
	struct summary *runs;	/* by time */
	size_t n;
	size_t left_out, no_result;	/* among those that were passed */
	size_t unread;
	char why[400];		/* of the last of these */
	struct err index;	/* why there is no index: no text where there is
				 * or none was asked for */
};

/** More files are not looked at: the newest are. */
#define STORE_FILES 200000

/** Read @dir; 0, or -1 with @e.  A file that is no summary, and an index that
 *  is broken, cost nothing but the time.  store_release() frees, also then. */
int store_read(const char *dir, const struct store_ask *ask,
	       struct store_runs *r, struct err *e);
void store_release(struct store_runs *r);

#endif
