/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_IMPORT_PERFTEST_H
#define REPORT_IMPORT_PERFTEST_H

#include "lib/data/record.h"

/** What text and JSON of perftest have in common. */

/** A row of verbs that claims nothing else. */
void perftest_row_init(struct p2p_row *row);
/** "RDMA_Write Bidirectional BW Test", with blanks or underscores: op, mode. */
void perftest_test_name(const char *name, struct p2p_row *row);

#endif
