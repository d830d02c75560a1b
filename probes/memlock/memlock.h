/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_MEMLOCK_MEMLOCK_H
#define PROBES_MEMLOCK_MEMLOCK_H

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"

struct node_args;

/**
 * The memlock probe, as probes/probe.c lists it.
 */

/** The child: looks at this node, see struct probe. */
int memlock_child(const struct node_args *args, struct err *e);
/** The same less the proof: limits are read, and no call is made to fail. */
int memlock_limits_child(const struct node_args *args, struct err *e);

/** Rows about the shell that submits and about what Slurm hands on of its
 *  limits, see struct probe. */
json_t *memlock_shell(const char *launcher, const struct spec *s);

#endif
