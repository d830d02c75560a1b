/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DETAILS_H
#define REPORT_DETAILS_H

#include "report/report.h"

/** Each finding of @v with its score, cells, alternatives and all of its
 *  evidence, for @width columns; nothing where nothing was found. */
void details_render(const struct run *run, const struct verdict *v, int width,
		    struct str *out);

#endif
