/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_VERSION_H
#define LIB_DATA_VERSION_H

#include <jansson.h>

#include "lib/base/err.h"

/** Version of this program. */
const char *version_own(void);

/** Check that @version, that of @whose ("the agent of n1"), is ours; "": not
 *  known.  Returns 0, or -1 with both in @e, code EPROTONOSUPPORT. */
int version_check(const char *whose, const char *version, struct err *e);

/** The same for the front that began or last resumed the run @run (run.json);
 *  0 if it does not say. */
int version_check_run(const json_t *run, struct err *e);

#endif
