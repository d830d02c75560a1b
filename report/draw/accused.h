/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_ACCUSED_H
#define REPORT_DRAW_ACCUSED_H

#include "report/judge/verdict.h"

/** Where in the matrix the parts are that a verdict names.  Pure. */

/** Neighbouring ranks that a found part is, or serves. */
struct accused {
	int first, end;			/* ranks, less @end itself */
	const struct finding *finding;	/* of the verdict */
	int node;			/* of the first one */
};

/** No more findings than this are marked. */
#define ACCUSED_MAX 24
/** Places of one that sits in no node, such as a rail. */
#define ACCUSED_SPREAD 128

/** All of @v (NULL: none) that sit in nodes, between two, on a rail or at a
 *  switch, with bad cells to show for it, most telling first; of one part there
 *  may be several.  *@n of them, the caller frees; NULL without memory. */
struct accused *accused_list(const struct run *run, const struct verdict *v,
			     size_t *n);

/** The nodes of which a part of their own, and not the whole, is accused: a
 *  flag each, the caller frees, as long as they have no more than @max ranks
 *  together; NULL without memory. */
bool *accused_nodes(const struct run *run, const struct verdict *v, int max);

#endif
