/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_DIAGNOSE_H
#define CLI_RUN_DIAGNOSE_H

#include <stdbool.h>

#include "cli/run/conduct.h"

/** Runs the steps of report/model/diagnose.h after a run in whose directory it
 *  leaves diagnose.csv and diagnose/STEP. */
extern const struct conductor conductor_diagnose;

/** Is there a pair in the run of @dir that failed, and steps for it? */
bool diagnose_wanted(const char *dir);

#endif
