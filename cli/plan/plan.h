/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PLAN_PLAN_H
#define CLI_PLAN_PLAN_H

#include <stddef.h>

#include "cli/front/command.h"
#include "cli/plan/forecast.h"
#include "cli/run/conduct.h"
#include "lib/base/str.h"

/**
 * "gpucheck plan": what a run of @probe with the checked options of @s would
 * be, on stdout, as words or with --json as an object.  Starts, writes and
 * submits nothing.
 * @c  of a run of several probes, else NULL or without each()
 * Returns an enum exit_code.
 */
int plan_show(struct session *s, const char *probe,
	      const struct conductor *c);

/** Of more ranks all pairs are not counted: who asks for a plan waits seconds,
 *  and who runs does not wait that long. */
#define PLAN_RANKS 8192

/** The table of @f, what is shorter than a long run, and with -v who talks with
 *  whom, for people. */
void plan_words(const struct session *s, const struct forecast *f,
		struct str *out);

/** "20 s", "1 s to 7 s"; "" when nothing is known.  Returns @buf. */
const char *plan_time_text(const struct forecast *f, char *buf, size_t size);

/** What was typed, with --sample=@k, as a line for a shell. */
void plan_command(const struct session *s, int k, struct str *out);

#endif
