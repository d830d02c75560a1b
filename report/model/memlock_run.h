/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_MEMLOCK_RUN_H
#define REPORT_MODEL_MEMLOCK_RUN_H

#include "lib/data/record_memlock.h"
#include "report/model/run.h"

/** The rows of a run of memlock, besides what any run has. */
struct memlock_rows {
	struct memlock_row *rows;
	size_t n;
};

/** Read DIR into both; -1 with @e.  The caller releases them all the same. */
int memlock_run_read(const char *dir, struct run *run, struct memlock_rows *m,
		     struct err *e);
/** Append a row; its node, but for a login shell's, and its HCA become known to
 *  @run.  -1 without memory. */
int memlock_run_add(struct run *run, struct memlock_rows *m,
		    const struct memlock_row *row);
void memlock_rows_release(struct memlock_rows *m);

/** "64 KiB", "unlimited", "-" when there is no number; returns @buf. */
const char *memlock_bytes(int64_t bytes, char *buf, size_t size);

#endif
