/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_LIMIT_H
#define LIB_BASE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* ---- cgroup -------------------------------------------------------------- */

/** A resource that a cgroup counts over all its processes. */
enum cgroup_kind { CGROUP_TASKS, CGROUP_MEMORY };

/** A cgroup that this process is in, or one above it. */
struct cgroup_limit {
	int64_t max, now;	/* tasks, bytes; now -1: not known */
	char path[256];		/* of the file that has the limit */
};

/** The tightest limit of that kind: by what is left, in version 1 and 2 of
 *  cgroups.  False: none is set, or none can be read. */
bool cgroup_find(enum cgroup_kind kind, struct cgroup_limit *out);

/** Number of OOM kills in this process's cgroup; 0 if it is not known. */
int64_t cgroup_oom_kills(void);

/* ---- limit --------------------------------------------------------------- */

/**
 * Resource limits of this process, and the errnos that mean a limit was too
 * low: a shortage of this program, which accuses no part that was to be
 * measured.
 */

/** Codes of rows and findings, each with a section in data/symptoms.ini. */
#define LIMIT_FILES  "limit_nofile"	/* EMFILE, ENFILE */
#define LIMIT_TASKS  "limit_nproc"	/* EAGAIN of fork and pthread_create */
#define LIMIT_MEMORY "limit_memory"	/* ENOMEM; or the kernel killed for
					 * it */
#define LIMIT_DISK   "limit_disk"	/* ENOSPC, EDQUOT */

/** The user of a resource, and the total it needs; 0: unknown. */
struct limit_user {
	const char *who;	/* "agent"; NULL: this command */
	const char *dir;	/* where it writes; NULL: nowhere */
	long files;		/* descriptors */
	long tasks;		/* processes and threads, of its own */
};

/** The code of the resource that the errno @why reports as used up; NULL: the
 *  errno is another one. */
const char *limit_code(int why);
/** The code of the errno whose text, such as "Too many open files", is in
 *  @text, the output of a program that failed; NULL: none. */
const char *limit_in_text(const char *text);
/** Return true if @code is one of these codes. */
bool limit_is(const char *code);
/** Write into @buf the total that @u needs, the limit and the setting it comes
 *  from: "open files are limited to 24 (ulimit -n; hard limit 24), 56 are
 *  needed". "" for an errno without a code. Returns @buf. */
const char *limit_says(int why, const struct limit_user *u, char *buf,
		       size_t size);
/** Write the text of @e into @buf, followed by limit_says() if its errno has a
 *  code. Returns @buf. */
const char *limit_text(const struct err *e, const struct limit_user *u,
		       char *buf, size_t size);
/** Where e->code has a code and @e no hint yet: make limit_says(), of which
 *  process on which node, and where that is set the hint.  Returns whether it
 *  has a code. */
bool limit_hint(struct err *e, const struct limit_user *u);

/** Descriptors that this process may have open at a time. */
long limit_files(void);
/** Raise the limit of open files and check that @u->files fit. Returns 0, or -1
 *  with @e EMFILE and the hint of limit_hint(). */
int limit_files_check(const struct limit_user *u, struct err *e);
/** Raise that to the hard limit.  Our own children put it back to what it was
 *  by limit_files_back(): they measure, or start others, under what a job has,
 *  and select() is at a loss with descriptors from 1024 on. */
void limit_files_raise(void);
void limit_files_back(void);

#endif
