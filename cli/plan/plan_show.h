/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PLAN_PLAN_SHOW_H
#define CLI_PLAN_PLAN_SHOW_H

#include "cli/front/command.h"
#include "cli/run/conduct.h"

/**
 * "gpucheck plan": what a run of @probe with the checked options of @s would
 * be, on stdout, as words or with --json as an object.  Starts, writes and
 * submits nothing.
 * @c  of a run of several probes, else NULL or without each()
 * Returns an enum exit_code.
 */
int plan_show(const struct session *s, const char *probe,
	      const struct conductor *c);

#endif
