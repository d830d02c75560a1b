/* SPDX-License-Identifier: BSD-3-Clause */
/* What is meant by a command line that is not valid. */
#ifndef GPUCHECK_CLI_FRONT_MISTYPED_H
#define GPUCHECK_CLI_FRONT_MISTYPED_H

#include "cli/front/command.h"
#include "lib/base/err.h"

/**
 * Hint at what @bad may mean, such as "--output=x" or "-p", which @cmd does not
 * take: the name that the option has here, an option of Slurm, or one that is
 * spelt alike.  Returns -1, as err_hint() does.
 */
int mistyped_option(const struct command *cmd, const char *bad, struct err *e);

/**
 * @o was typed in @argv, which ends with NULL, with the value @text that it
 * cannot have: is that what Slurm's option of the same letter takes, as in
 * "-w gpu01"?  Then @e, which is set, gets that hint.  Returns -1.
 */
int mistyped_letter(unsigned takes, const struct spec_option *o,
		    const char *text, char *const argv[], struct err *e);

/**
 * Of the words @argv of a command line, which end with NULL, for a command that
 * @takes these options: is one the value of an option that takes it behind "="
 * alone, as 2x4 in "--local 2x4"?  Then @e, which is set, gets that hint.
 * Returns whether it does.
 */
bool mistyped_value(unsigned takes, char *const argv[], struct err *e);

#endif
