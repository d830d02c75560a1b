/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_OPINION_H
#define PROBES_ENGINE_COORD_OPINION_H

#include <stdbool.h>

#include <jansson.h>
#include <uv.h>

#include "lib/base/err.h"

/**
 * The verdict so far.  Who measures knows nothing of verdicts: a process of its
 * own, "gpucheck judge DIR", reads the files of the run and prints it, so that
 * neither its time nor a fault of it is ours.
 */
struct opinion;

/**
 * Ask for the verdict of @dir (borrowed).  @heard is called once, with the
 * verdict (borrowed) or NULL with @why; not after opinion_drop().  NULL with
 * @e; opinion_drop() frees.
 */
struct opinion *opinion_ask(uv_loop_t *loop, const char *dir,
			    void (*heard)(void *arg, const json_t *verdict,
					  const struct err *why),
			    void *arg, struct err *e);
/** It is of no use any more, heard or not; safe on NULL. */
void opinion_drop(struct opinion *o);

#endif
