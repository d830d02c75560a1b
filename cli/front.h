/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_H
#define CLI_FRONT_H

#include "cli/command.h"
#include "cli/conduct.h"

/**
 * What every probe command does once its options are checked: make the run
 * directory, start the run, follow it, judge it.
 * @probe  name of the command.
 * @drill  text of the drill file, "" without a drill.
 * Returns an enum exit_code.
 */
int front_main(const struct session *s, const char *probe, const char *drill);
/** The same for a run of several probes; @c NULL: for one of one. */
int front_conduct(const struct session *s, const char *probe,
		  const char *drill, const struct conductor *c);

#endif
