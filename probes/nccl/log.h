/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_LOG_H
#define PROBES_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/err.h"

/**
 * What NCCL writes about itself.  It opens one file a process, before the
 * first pair and for good, so the file is memory; each pair remembers where it
 * began, and only what a failed one left is saved.  The worker's agent holds
 * that memory too, so that the last words of one that was killed are kept.
 */
struct nccl_log {
	int fd;			/* -1: NCCL writes where the user wants */
};

/** Make the file; 0, or -1 with @e and a log that stays empty. */
int nccl_log_open(struct nccl_log *log, struct err *e);
/** Another process is going to write: nothing of the last one stays. */
void nccl_log_clear(struct nccl_log *log);
void nccl_log_close(struct nccl_log *log);

/** "/proc/self/fd/9": the value for NCCL_DEBUG_FILE; returns @buf. */
const char *nccl_log_path(const struct nccl_log *log, char *buf, size_t size);

/** Where the log ends now: where what follows begins. */
off_t nccl_log_end(const struct nccl_log *log);

/** No pair is left that began before now: give the memory back. */
void nccl_log_forget(struct nccl_log *log);

/**
 * What was written since @from, of much only the end; malloc'ed, *@len bytes
 * without a final NUL.  NULL when nothing was.
 */
char *nccl_log_since(const struct nccl_log *log, off_t from, size_t *len);

/** The last warning since @from into @buf; false when there is none. */
bool nccl_log_last_warning(const struct nccl_log *log, off_t from, char *buf,
			   size_t size);

/** Write what came since @from to @path, DIR/logs/NAME of a run directory of
 *  the caller; nothing when nothing came, or @path is "". */
int nccl_log_save(const struct nccl_log *log, off_t from, const char *path,
		  struct err *e);

#define NCCL_LOG_SAYS 176
/**
 * Of a failure since @from: "; NCCL: " and its last warning into @says, "" when
 * there is none, and all of it to @path unless that is "".
 */
void nccl_log_explain(const struct nccl_log *log, off_t from, const char *path,
		      char says[NCCL_LOG_SAYS]);

/** Text of a log, line by line, from @at up to @end. */
struct nccl_lines {
	const char *at, *end;
	char line[512];
};
/** The next line into line, cut to size, what is not ASCII as '?'; false at the
 *  end. */
bool nccl_lines_next(struct nccl_lines *r);

/**
 * Pure: the text after the last "NCCL WARN " of @text (@len bytes, need not
 * end in NUL) up to its line's end, into @buf; false when there is none.
 */
bool nccl_log_find_warning(const char *text, size_t len, char *buf,
			   size_t size);

#endif
