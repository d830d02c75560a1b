/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_METRICS_H
#define REPORT_HISTORY_METRICS_H

#include <stdio.h>

#include "report/history/summary.h"

/**
 * A run for a monitoring system: OpenMetrics text with its end, which also is
 * Prometheus' older format, as node_exporter's textfile collector reads it.
 * What was not measured has no sample.
 * @code  the exit code of the run.
 */
void metrics_text(const struct summary *s, int code, struct str *out);
/** @text to @f: 0, or -1 with errno; ENOMEM of one that memory did not suffice
 *  for, of which nothing is written. */
int metrics_print(const struct str *text, FILE *f);

#endif
