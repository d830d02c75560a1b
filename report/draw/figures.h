/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_FIGURES_H
#define REPORT_DRAW_FIGURES_H

#include "report/draw/picture.h"

/** One heat map of a run. */
struct figure {
	char name[96];		/* of its files, less ".png" and ".svg" */
	const struct run *run;	/* what it shows: all, or one segment */
	enum view_metric metric;
	bool always;		/* even when nothing was measured: marks are
				 * news too */
	int zoom;		/* 1 + the node that stays open where others
				 * are blocks; 0: none */
};

typedef int figure_draw(const struct figure *f, void *arg);

/** Segments that are drawn; the rest is in the rows. */
#define FIGURES_MAX_SEGMENTS 32
/** Nodes that have a picture of their own. */
#define FIGURES_MAX_ZOOMS 8

/**
 * Call @draw for every heat map of @run until it does not return 0: bandwidth,
 * latency and contrast of pairs, and where they show blocks of nodes, each node
 * of which @v (may be NULL) accuses a part against all others; of ping node by
 * node, the worst of all rails, segments against each other, and each segment.
 * Returns what @draw did, or -1 without memory.
 */
int figures_each(const struct run *run, const struct verdict *v,
		 figure_draw *draw, void *arg);
/** Lay out @f: 0; 1 where it shows nothing; -1 without memory.
 *  picture_release() in any case. */
int figure_picture(const struct figure *f, const struct verdict *v,
		   struct picture *p);

#endif
