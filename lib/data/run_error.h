/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RUN_ERROR_H
#define LIB_DATA_RUN_ERROR_H

#include <jansson.h>

#include "lib/base/err.h"

/** The member "error" of run.json: why nothing, or nothing more, could be
 *  measured, with the name of a limit that was met, and the exit code it comes
 *  to.  NULL without memory. */
json_t *run_error_json(const struct err *why, int exit_code);

/** Has the run of @dir, @run its run.json, not begun so far?  0, or -1 with @e:
 *  rows of one plan are not those of another, though the nodes be the same, and
 *  who was killed in the middle cannot have said that it has ended. */
int run_check_new(const json_t *run, const char *dir, struct err *e);

/** Put that into run.json of @dir, by who knows that nobody else writes there;
 *  0, or -1: then what is printed has to do. */
int run_error_note(const char *dir, const struct err *why, int exit_code);

#endif
