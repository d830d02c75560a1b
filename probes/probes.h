/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PROBES_H
#define PROBES_PROBES_H

#include <jansson.h>

#include "lib/base/err.h"

/**
 * The doors that cli/ uses.
 */

/** "gpucheck agent DIR" and "gpucheck coordinator DIR"; errors in @e, the
 *  exit code is returned (2 usage, 3 could not measure, 4 partial, 0). */
int agent_main(const char *dir, struct err *e);
int coordinator_main(const char *dir, struct err *e);
/** May a coordinator of so many agents have a connection to each, on this
 *  machine?  0, or -1 with @e, which says how many files it needs. */
int coordinator_check_files(int agents, struct err *e);

/**
 * Optional libraries found on this machine, for "gpucheck version": an object
 * {"nccl":{"version":"2.28.9","path":"..."},"cuda":{...},"pmi2":...,
 * "verbs":...,"nvml":...}; null where missing, with the reason under
 * "nccl_why" and so on.  New reference, NULL without memory.
 */
json_t *probes_libraries(void);

#endif
