/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_INDEX_H
#define REPORT_HISTORY_INDEX_H

#include "report/history/summary.h"

/**
 * What the files of a history say, in a database that is read more quickly
 * than they are.  Never the only copy: where it is damaged, or of another
 * version, it is made anew.
 */
struct index;

/** A file of the history as it is now. */
struct index_file {
	char name[SUMMARY_FILE];
	int64_t changed_ns, size;
};

/**
 * Open the database at @path, made where it is none, for the files of @dir, of
 * which @oldest is the first; what it has of older ones is forgotten.  NULL
 * with @e: it cannot be had, or others have been at it for two seconds.
 * index_close() closes, and keeps what was added unless something has failed.
 */
struct index *index_open(const char *path, const char *dir, const char *oldest,
			 struct err *e);
void index_close(struct index *x);	/* safe on NULL */

/** The run of @f; a file that is new or changed is read, and one that was none
 *  the last time.  0; 1 with @e: it cannot be read, or is no summary; -1 with
 *  @e: the index is broken. */
int index_run(struct index *x, const struct index_file *f, struct summary *s,
	      struct err *e);

#endif
