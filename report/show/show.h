/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_SHOW_H
#define REPORT_SHOW_SHOW_H

#include "report/show/judged.h"

/** What every probe's run is shown by. */

/** Status, what was run, notes, tables and findings, cut for @width columns;
 *  what is below them is the kind's. */
void show_words(const struct judged *j, int width, bool color,
		struct str *out);
/** "score 0.94, explains 30 of 30 cells that touch it"; returns @buf. */
const char *show_score(const struct finding *f, char *buf, size_t size);
/** DIR/report.html, self-contained; 0, or -1 with @e. */
int show_html(const struct judged *j, const char *dir, struct err *e);
#endif
