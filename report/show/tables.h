/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_TABLES_H
#define REPORT_SHOW_TABLES_H

#include "report/model/part.h"

/**
 * A line for each cell: bandwidth in GB/s and, as people of networks count, in
 * Gb/s, its share of what the line carries, latency and path.  Of a large run
 * only the slowest.
 */
void table_render(const struct run *run, struct str *out);

/**
 * What nodes say about themselves: nodes that say the same stand together, and
 * in them parts that do, "gpu[0-7]"; so what all share comes first, and then
 * what some or one alone have.  Counters that are zero are left out.
 * @width   columns; 0: lines need not be broken
 * @first, @most  of the sets of nodes those that are shown; what comes behind
 *          them is counted
 * 0, or -1 when memory runs out.  Pure.
 */
int info_table(const struct run *run, int width, size_t first, size_t most,
	       struct str *out);

#endif
