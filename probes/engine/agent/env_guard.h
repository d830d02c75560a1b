/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_ENV_GUARD_H
#define PROBES_ENGINE_AGENT_ENV_GUARD_H

#include <stdbool.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"

/**
 * The environment that a coordinator asks for its workers comes over a
 * connection, and so from whoever answers at its address.
 */

/**
 * May workers be given @env, an object of names and texts, or NULL?  A variable
 * of the above is taken where this process's own environment has it with the
 * same value, or where @own, the options of the run's own command line as read
 * from the run directory, has it in --nccl-lib or --env.  0, or -1 with @e that
 * names the first one that is refused (code EPERM).
 */
int env_guard_check(const json_t *env, const struct spec *own, struct err *e);

#endif
