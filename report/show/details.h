/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_DETAILS_H
#define REPORT_SHOW_DETAILS_H

#include "report/judge/verdict.h"

/** Each finding of @v with its score, cells, alternatives and all of its
 *  evidence, for @width columns; nothing where nothing was found. */
void details_render(const struct run *run, const struct verdict *v, int width,
		    struct str *out);

/** "score 0.94, explains 30 of 30 cells that touch it"; returns @buf. */
const char *details_score(const struct finding *f, char *buf, size_t size);

#endif
