/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_NAMES_H
#define REPORT_HISTORY_NAMES_H

#include "report/history/summary.h"

/** What the history calls the part of @f, its node first: "n7 NIC 2". */
void names_of(const struct summary_finding *f, char *buf, size_t size);

#endif
