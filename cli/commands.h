/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/front/command.h"

/** All commands, as "gpucheck help" lists them; NULL ends.  Only main() asks
 *  for it: others find it in their session. */
extern const struct command *const commands[];

#endif
