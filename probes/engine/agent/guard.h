/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_AGENT_GUARD_H
#define PROBES_ENGINE_AGENT_GUARD_H

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"

/**
 * What a coordinator may ask an agent for is a closed list, as it comes over a
 * connection.  Trusted are the agent's own environment, which its launcher
 * handed on, and @own: the options of the run's own command line, as read from
 * the run directory or carried by ssh; all defaults where there is neither.
 */

/**
 * May workers be given @env, an object of names and texts, or NULL?  A setting
 * of NCCL or UCX may be set that names no file, library or command, and whose
 * value is no path; anything else only where this process's environment or
 * @own, in --nccl-lib or --env, has it with the same value.  0, or -1 with @e
 * that names the first one that is refused (code EPERM).
 */
int guard_env(const json_t *env, const struct spec *own, struct err *e);
/**
 * May a child work by @options, an object as run.json keeps them?  They name no
 * place to read but that of @own.  0, or -1 with @e (code EPERM).
 */
int guard_options(const json_t *options, const struct spec *own,
		  struct err *e);

#endif
