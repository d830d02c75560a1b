/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_FRONT_H
#define CLI_FRONT_FRONT_H

#include "cli/command.h"
#include "cli/all/conduct.h"
#include "sbatch/launcher.h"

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

/** Its parts, for runs whose directory is there: can @ops do what @s and @c
 *  ask for?  CODE_HEALTHY, else with @e. */
int front_check(const struct session *s, const struct launcher_ops *ops,
		const struct conductor *c, struct err *e);
/** What would run, on stdout. */
int front_describe(const struct launcher_ops *ops,
		   const struct launch_request *r, const struct conductor *c);
/** Start it, follow it, judge it: an exit code, or -1 with @e as the launcher's
 *  start() has it. */
int front_start(const struct session *s, const struct launcher_ops *ops,
		const struct launch_request *r, const struct conductor *c,
		struct err *e);

#endif
