/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_HANG_H
#define PROBES_HANG_HANG_H

#include <jansson.h>

#include "lib/base/err.h"

/** The hang probe, as probes/probe.c lists it: see struct probe.  It reads and
 *  asks; the job is not touched. */
int hang_child(const json_t *args, struct err *e);

#endif
