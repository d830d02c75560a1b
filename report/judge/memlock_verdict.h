/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_MEMLOCK_VERDICT_H
#define REPORT_JUDGE_MEMLOCK_VERDICT_H

#include "lib/base/str.h"
#include "report/judge/verdict.h"
#include "report/model/memlock_run.h"

/** Pure: rows in, findings out, a cause once for all nodes that have it.  What
 *  memlock_run_add() made known of the rows is in @run.  0, or -1 without
 *  memory. */
int memlock_judge(const struct run *run, const struct memlock_rows *m,
		  struct verdict *v);

/** The same findings and cells into @v, which is empty and stays open: others
 *  may add theirs. */
void memlock_find(const struct run *run, const struct memlock_rows *m,
		  struct verdict *v);

/** "gcn1", "gcn1, gcn2", "gcn1, gcn2 and 6 more"; sorts them, gcn2 before
 *  gcn10. */
void memlock_names(char (*nodes)[64], size_t n, struct str *out);

#endif
