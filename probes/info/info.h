/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_INFO_INFO_H
#define PROBES_INFO_INFO_H

#include <jansson.h>

#include "lib/base/err.h"

struct node_args;

/**
 * The info probe, as probes/probe.c lists it.  What a node is, every agent
 * says before any probe begins; the child adds what nobody needs before it
 * measures: libraries that take a while to load, and how many GPUs there
 * should be.  See struct probe.
 */
int info_child(const struct node_args *args, struct err *e);

#endif
