/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_DRAW_H
#define REPORT_DRAW_DRAW_H

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
/**
 * heatmap-bw.svg, heatmap-lat where latency was measured, heatmap-contrast
 * where there is one, into DIR, in place of older ones, or with @contrast that
 * alone; the same as PNG by gnuplot.  Returns 0, 1 with @e when gnuplot is not
 * there (an older PNG stays), -1 on failure: the SVG may be there.
 */
int heatmap_render(const char *dir, const struct run *run,
		   const struct verdict *v, bool contrast, struct err *e);

/**
 * curves.png and curves.svg by gnuplot into DIR: bandwidth and time against
 * size, those of @reference (may be NULL) dashed; older ones go.  Returns 0, 1
 * with @e when gnuplot is not there, -1 with @e on failure: curves.svg may be
 * there then.
 */
int curves_render(const char *dir, const struct sweep *s,
		  const struct sweep *reference, struct err *e);

#endif
