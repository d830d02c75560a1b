/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_RESUME_H
#define CLI_RUN_RESUME_H

#include "cli/front/command.h"
#include "lib/base/err.h"

/**
 * gpucheck @probe --resume DIR: what is missing of a run, and what was bad in
 * it, is measured in the place and with the options of the first time.
 * Returns an enum exit_code.
 */
int resume_main(struct session *s, const char *probe);

/**
 * Make the options of @s those of the run, @stored; left are those of now that
 * do not change what is measured: limits of time, what is printed.  -1 with
 * @e: another one was typed that would.  @drill is the text of the run's drill,
 * "" without one, which --faults may name again.
 */
int resume_options(struct session *s, const struct spec *stored,
		   const char *drill, struct err *e);

/** Is nobody at work on the run in @dir that @launcher started, and which has
 *  @ended or not?  May take some seconds to see; -1 with @e. */
int resume_check_over(const char *dir, const char *launcher, bool ended,
		      struct err *e);

/** What run.json is to keep of the options @now of a resumed run: not what is
 *  about this one command only, which stays as in @stored. */
void resume_kept_options(const struct spec *stored, struct spec *now);

/** Where @dir's run ended with @code: what to type to go on with it. */
void resume_say_how(const char *dir, int code);

#endif
