/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PROCESS_H
#define PROBES_HOST_PROCESS_H

#include <stddef.h>

/** A process called @comm (as the kernel has it: 15 bytes at most) below @root
 *  ("" = /): the lowest number of one, 0 when there is none. */
long process_find(const char *root, const char *comm);

/** The value of @name in @vars, /proc/PID/environ of @len bytes that a NUL
 *  follows; "" for none.  Pure. */
const char *process_env(const char *vars, size_t len, const char *name);

#endif
