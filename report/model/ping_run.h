/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_PING_RUN_H
#define REPORT_MODEL_PING_RUN_H

#include "report/model/part.h"

/**
 * Read DIR, a run of ping, as a run whose ranks are addresses and whose NICs
 * are rails, so that it is judged and drawn as any other.  -1 with @e;
 * run_release() frees.
 */
int ping_run_read(const char *dir, struct run *run, struct err *e);

#endif
