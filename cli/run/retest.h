/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_RETEST_H
#define CLI_RUN_RETEST_H

#include "cli/front/command.h"
#include "cli/run/conduct.h"

/**
 * gpucheck @probe --retest DIR: a new run, with the options of that in DIR, of
 * the parts that it has found and as many that are well.  @check and @c as of
 * probe_run().  Returns an enum exit_code.
 */
int retest_main(struct session *s, const char *probe,
		int (*check)(struct session *s, struct str *drill,
			     struct err *e),
		const struct conductor *c);

#endif
