/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_DRAW_H
#define REPORT_DRAW_DRAW_H

#include "lib/base/str.h"
#include "report/judge/verdict.h"
#include "report/model/sweep.h"

enum term_style { TERM_ASCII, TERM_UNICODE, TERM_COLOR };

/** The heat map for a terminal of @width columns, in which the parts that @v
 *  (may be NULL) names are marked and nodes with a bad part are open, and that
 *  of the contrast where there is one; -1 without memory. */
int term_render(const struct run *run, const struct verdict *v, int width,
		enum term_style style, struct str *out);
/** Of a ping between segments: how much passes from one to another, as a table
 *  of @width columns, 40 at least; -1 without memory. */
int term_segments(const struct run *run, int width, struct str *out);
/** The map of the contrast alone, as term_render(). */
int term_render_contrast(const struct run *run, int width,
			 enum term_style style, struct str *out);
/** Bytes of SVGs that a page takes, and who draws them keeps for it; the first
 *  one whatever it has. */
#define DRAWN_BYTES (2 << 20)

/** The heat maps of a run as they were drawn, so that a page which has them too
 *  need not lay them out again.  Zeroed at first. */
struct drawn {
	struct drawn_map {
		char name[96];	/* of its file, less ".svg" */
		struct str svg;	/* empty: of one that is not kept */
		size_t len;	/* bytes of it; 0: it showed nothing */
	} *maps;
	size_t n, bytes;	/* of those that are kept */
};

/** Note the map @name, whose text goes over to @d where that keeps it; -1
 *  without memory. */
int drawn_add(struct drawn *d, const char *name, struct str *svg);
/** The one of that name; NULL: none was drawn. */
const struct drawn_map *drawn_find(const struct drawn *d, const char *name);
void drawn_release(struct drawn *d);

/**
 * heatmap-bw.svg, heatmap-lat where latency was measured, heatmap-contrast
 * where there is one, into DIR, in place of older ones, or with @contrast that
 * alone; the same as PNG by gnuplot.  Returns 0, 1 with @e when gnuplot is not
 * there (an older PNG stays), -1 on failure: the SVG may be there.  What is
 * drawn is added to @drawn, which may be NULL.
 */
int heatmap_render(const char *dir, const struct run *run,
		   const struct verdict *v, bool contrast,
		   struct drawn *drawn, struct err *e);

/**
 * curves.png and curves.svg by gnuplot into DIR: bandwidth and time against
 * size, those of @reference (may be NULL) dashed; older ones go.  Returns 0, 1
 * with @e when gnuplot is not there, -1 with @e on failure: curves.svg may be
 * there then.
 */
int curves_render(const char *dir, const struct sweep *s,
		  const struct sweep *reference, struct err *e);

#endif
