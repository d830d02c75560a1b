/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_METRICS_H
#define REPORT_HISTORY_METRICS_H

#include "report/history/summary.h"

/**
 * A run for a monitoring system: OpenMetrics text with its end, which also is
 * Prometheus' older format, as node_exporter's textfile collector reads it.
 * What was not measured has no sample.
 * @code  the exit code of the run.
 */
void metrics_text(const struct summary *s, int code, struct str *out);

#endif
