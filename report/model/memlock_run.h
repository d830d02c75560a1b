/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_MEMLOCK_RUN_H
#define REPORT_MODEL_MEMLOCK_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/data/record_memlock.h"

/** A run of memlock: from its directory, or from memory. */
struct memlock_run {
	json_t *json;		/* run.json, NULL for a look from memory */
	struct memlock_row *rows;
	size_t n;
	bool ended, strict, drill;
	char stop_reason[64];
	char started_utc[32];
	size_t bad_rows;
	char bad_why[160];
};

/** Read DIR; -1 with @e.  memlock_run_release() frees. */
int memlock_run_read(const char *dir, struct memlock_run *run, struct err *e);
/** Append a row; -1 without memory. */
int memlock_run_add(struct memlock_run *run, const struct memlock_row *row);
void memlock_run_release(struct memlock_run *run);

#endif
