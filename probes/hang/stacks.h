/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_STACKS_H
#define PROBES_HANG_STACKS_H

#include <stddef.h>
#include <stdint.h>

/** Of a node: more processes are left alone. */
#define STACKS_MAX 64
#define STACK_SIZE 400

/** A process, and where it is. */
struct stack {
	int64_t pid;
	char text[STACK_SIZE];	/* "read < load < main", the last called first;
				 * "" = not known */
};

/**
 * Where the @n processes @list are, by py-spy, else by gdb, whichever is
 * installed: each stops its process for as long as it looks.  What has not
 * answered at @deadline_ns is ended, which lets its process go.  The name of
 * the tool; NULL: neither is there.
 */
const char *stacks_read(struct stack *list, size_t n, int64_t deadline_ns);

/** Pure: the frames of the main thread in what py-spy or gdb has printed, or of
 *  the one in /proc/PID/task/TID/stack. */
void stack_parse(const char *printed, char text[STACK_SIZE]);

#endif
