/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_SPAWN_H
#define LIB_BASE_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/* ---- spawn --------------------------------------------------------------- */

/** A program to start. */
struct spawn_new {
	char *const *argv;	/* looked up in PATH */
	char *const *env;	/* "NAME=VALUE" to add, NULL-ended; or NULL */
	const char *in;		/* the file of its stdin; NULL: in_fd */
	int in_fd, out_fd, err_fd;	/* -1: /dev/null */
	bool here;		/* keep the working directory */
	int sig;		/* that it gets when this thread ends */
};

/**
 * Start a child, which heads its own process group, so that grandchildren die
 * with it, and has no signal held back or ignored.  A program that is looked up
 * starts in "/" unless @s->here: interpreters read modules and settings from
 * their working directory, which may be another user's.  A path, such as that
 * of this program, keeps the working directory.  0 with @pid, or an errno.
 */
int spawn_fork(const struct spawn_new *s, pid_t *pid);

/**
 * Remove relative and empty directories, and those that all users may write,
 * from PATH, LD_LIBRARY_PATH and PYTHONPATH, and for root the Python modules of
 * a HOME that is another user's.  Return true if LD_LIBRARY_PATH has changed,
 * which the loader of this process read before.
 */
bool spawn_clean_environment(void);
/** For root, before libraries of the site are loaded: leave a working directory
 *  that another user may write for /, and a HOME that is another user's for its
 *  own.  NCCL and UCX read settings there, which name libraries to load. */
void spawn_leave_strangers(void);

/** How a child ended. */
struct spawn_status {
	bool timed_out;		/* killed by us at the deadline */
	int exit_code;		/* -1 when it did not exit by itself */
	int signal;		/* 0 when it did */
};

/**
 * Run @argv (looked up in PATH, no shell), collect up to @max bytes of its
 * stdout and stderr (either may be NULL: /dev/null; the rest is read and
 * dropped), kill its process group at @deadline_ns.
 * Returns 0 with @st filled, or -1 with @e set when it could not be started
 * (ENOENT: no such program).
 */
int spawn_capture(char *const argv[], struct str *out, struct str *err_out,
		  size_t max, int64_t deadline_ns, struct spawn_status *st,
		  struct err *e);

/** A child at work; of whoever started it until spawn_finish(). */
struct spawn_child {
	pid_t pid;
	struct spawn_outlet {
		int read_fd, write_fd;	/* -1 when closed */
		struct str *text;	/* NULL: not wanted, no pipe either */
		size_t room;		/* bytes still collected */
	} outlets[2];
	/* Signals that the caller blocks until its children are gone: one that
	 * is pending counts as the deadline.  None after a start. */
	sigset_t ends;
};

/**
 * The two halves of spawn_capture(), for several children at a time: they run
 * between the two, as far as what they print fits a pipe.  After a start that
 * returned 0 there must be one spawn_finish(); after -1 none.
 */
int spawn_start(struct spawn_child *c, char *const argv[], struct str *out,
		struct str *err_out, size_t max, struct err *e);
void spawn_finish(struct spawn_child *c, int64_t deadline_ns,
		  struct spawn_status *st);

/** "exit code 3", "signal 11 (SIGSEGV)", "no answer in time"; @buf. */
const char *spawn_status_text(const struct spawn_status *st, char *buf,
			      size_t size);

/** Look for the executable @name on PATH and write its path into @path (may be
 *  NULL). Returns false if there is none. */
bool spawn_find(const char *name, char *path, size_t size);

/** Path of this very program, for starting agents and workers; 0 or -1. */
int spawn_self(char *path, size_t size, struct err *e);

/* ---- gather -------------------------------------------------------------- */

/** One of several children that run side by side, each with its own socket as
 *  stdin and stdout. */
struct gather {
	char *const *argv;	/* as spawn_capture() takes it */
	const void *in;		/* what it reads, less than a socket holds */
	size_t n_in;
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
 * bytes each, is kept.  Unlike spawn_capture() this does not wait for a child
 * that cannot be killed: it returns within GATHER_GRACE_NS of the deadline, and
 * the caller is free to exit.
 */
void gather(struct gather *list, size_t n, size_t max, int64_t deadline_ns);
#define GATHER_GRACE_NS (100 * NS_PER_MS)

#endif
