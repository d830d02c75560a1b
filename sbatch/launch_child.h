/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SBATCH_LAUNCH_CHILD_H
#define SBATCH_LAUNCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/err.h"
#include <jansson.h>

#include "sbatch/args.h"

/**
 * A process that runs beside the front: in a process group of its own, so
 * that ^C at the terminal is the front's alone to answer; told to stop (TERM)
 * by the kernel when the front dies.
 */
struct launch_child {
	pid_t pid;		/* 0 = never started */
	bool ended;
	int exit_code;		/* 128 + signal when killed by one */
};

/**
 * Start @a (its first word is looked up in PATH), with what @in_fd has, from
 * its start, on stdin (-1 = /dev/null), stdout and stderr appended to @out of
 * the run directory @dir (NULL = /dev/null), and @env ("NAME=value"; NULL = no
 * additions) on top of this process's environment.  0, or -1 with @e.
 */
int launch_child_start(struct launch_child *c, const struct args *a,
		       const struct args *env, int in_fd, const char *dir,
		       const char *out, struct err *e);

/** Is @program on PATH?  0, or -1 with the reason and what works without. */
int launch_child_need(const char *program, struct err *why);

/** Has it ended?  Never blocks. */
bool launch_child_ended(struct launch_child *c);

/** Signal its process group, and what is left of it when it has ended. */
void launch_child_signal(struct launch_child *c, int sig);

/** Tell the coordinator, whose stdin @news is, that @node will have no agent:
 *  @code, and @detail in words, by @source; takes the reference. */
void launch_tell_absent(int news, const char *source, const char *node,
			const char *code, json_t *detail);

/** Of one that has ended, kill what is left of its process group, and reap
 *  it: until then no other process gets its number. */
void launch_child_end(struct launch_child *c);

#endif
