/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_VERSION_H
#define LIB_DATA_VERSION_H

#include <jansson.h>

#include "lib/base/err.h"

/** Version of this program. */
const char *version_own(void);

/** That of @whose ("the agent of n1") is @version, "" where that does not say:
 *  0 where it is ours, or -1 with both in @e, code EPROTONOSUPPORT. */
int version_check(const char *whose, const char *version, struct err *e);

/** The same of who began or resumed the run @run, run.json; 0 where it does not
 *  say. */
int version_check_run(const json_t *run, struct err *e);

#endif
