/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_REFERENCE_H
#define REPORT_MODEL_REFERENCE_H

#include <limits.h>

#include "lib/base/err.h"

/**
 * What --reference names for runs of @probe: the run directory of it, that is
 * @reference, or the step of it where that is a run of all; absolute, to @dir.
 * 0; or with @e -1, where it is no run directory, or one of another probe, and
 * 1 where it is no directory at all.
 */
int reference_find(const char *reference, const char *probe,
		   char dir[PATH_MAX], struct err *e);

#endif
