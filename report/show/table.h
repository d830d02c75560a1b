/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_TABLE_H
#define REPORT_SHOW_TABLE_H

#include "report/model/part.h"

/**
 * A line for each cell: bandwidth in GB/s and, as people of networks count, in
 * Gb/s, its share of what the line carries, latency and path.  Of a large run
 * only the slowest.
 */
void table_render(const struct run *run, struct str *out);

#endif
