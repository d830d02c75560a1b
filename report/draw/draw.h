/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_DRAW_H
#define REPORT_DRAW_DRAW_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "report/draw/picture.h"
#include "report/judge/gpu.h"
#include "report/judge/verdict.h"
#include "report/model/sweep.h"

/* ---- figures ------------------------------------------------------------- */

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

/* ---- gpu bars ------------------------------------------------------------ */

#define GPU_BARS_NAME "bars"	/* of its files, less ".png" and ".svg" */

/** Lay out a bar for each GPU and test of bandwidth in @rows, which have one
 *  row for each test of a GPU and the GPUs of a node together: percent of the
 *  median of the test.  Of more GPUs than GPU_BARS_MAX a bar is the slowest one
 *  of a node.  0; 1 if there is nothing to draw; -1 without memory.
 *  picture_release() in any case. */
int gpu_bars(const struct run *run, const struct verdict *v,
	     const struct gpu_turns *rows, struct picture *p);
#define GPU_BARS_MAX 448

/** Lay out the rates of the slow pair of @first, a row of run->diagnose: a bar
 *  for each layer and setting, that of the good pair below it, and a line for
 *  the link.  0, or -1 without memory.  picture_release() in any case. */
int layer_bars(const struct run *run, const struct diagnose_row *first,
	       struct picture *p);

/* ---- plot ---------------------------------------------------------------- */

/** Bytes of the name of a picture's file. */
#define PLOT_FILE 104

/**
 * Pictures by gnuplot: a scratch folder inside the run directory holds the
 * script and its data; the script leaves picture.svg or picture.png there,
 * which then take their names in the run directory.
 */
struct plot {
	char dir[PATH_MAX], folder[PATH_MAX];	/* "" when there is none */
	char name[96];		/* of the picture that gnuplot draws */
	bool svg;		/* beside the PNG */
	bool drawing;
	sigset_t ends;		/* as of plot_hold_signals() */
	struct spawn_child gnuplot;
	struct str talk;	/* its complaints */
	int64_t deadline_ns;
};

/**
 * Signals that would end the program, @ends, wait from plot_hold_signals() to
 * plot_release_signals(), so that no gnuplot and no folder outlives it; when
 * one has come plot_end() does not wait.  Those that are ignored, or that the
 * caller holds back for the sake of the pictures, do not count.
 */
void plot_hold_signals(sigset_t *ends);
void plot_release_signals(const sigset_t *ends);

/** Return true if gnuplot is on PATH. */
bool plot_usable(void);
/** Return 0, or 1 with @e if there is no gnuplot to draw @what ("curves") of
 *  @dir. */
int plot_check(const char *what, const char *dir, struct err *e);
/** A folder in the existing @dir to draw in until one of @ends comes.  0:
 *  plot_end() when done; -1 with @e. */
int plot_begin(struct plot *p, const sigset_t *ends, const char *dir,
	       struct err *e);
/** Append @text as a field that gnuplot reads as it stands. */
void plot_add_field(const char *text, struct str *out);
/** A file for the script to read; -1 with @e, also where @text has failed. */
int plot_write(const struct plot *p, const char *file, const struct str *text,
	       struct err *e);
/** Remove NAME.KIND ("svg", "png") of an earlier report from @dir, if any. */
void plot_forget(const char *dir, const char *name, const char *kind);
/**
 * Begin to draw, once: @script (its text) is run with @settings, statements of
 * gnuplot, "png" 1, and the folder as its argument; where @svg, before that
 * with "png" 0.  The pictures become NAME.png and NAME.svg at plot_end(), for
 * which gnuplot has 30 s from here.  0, or -1 with @e.
 */
int plot_draw(struct plot *p, const char *script, const struct str *settings,
	      const char *name, bool svg, struct err *e);
/** Wait for the pictures, if any are drawn, and remove the folder with all that
 *  is in it.  Returns @rc, of what was done before, or where that is 0 and they
 *  failed -1 with @e; the SVG may be there then. */
int plot_end(struct plot *p, int rc, struct err *e);

/* ---- draw ---------------------------------------------------------------- */

enum term_style { TERM_ASCII, TERM_UNICODE, TERM_COLOR };
/** With figures, a map of up to 16 ranks has its values in the squares if they
 *  fit. */
enum term_map { TERM_NO_MAP, TERM_MAP, TERM_FIGURES };

/** The heat map for a terminal of @width columns, in which the parts that @v
 *  (may be NULL) names are marked and nodes with a bad part are open, and that
 *  of the contrast where there is one; -1 without memory. */
int term_render(const struct run *run, const struct verdict *v, int width,
		enum term_style style, enum term_map map, struct str *out);
/** The map of the contrast alone, as term_render(). */
int term_render_contrast(const struct run *run, int width,
			 enum term_style style, struct str *out);
/** Maximum bytes of SVGs in a page, and of those kept for it; the first one is
 *  kept whatever its size. */
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

/** Note the map @name; @d takes over its text if it keeps it.  Returns -1
 *  without memory. */
int drawn_add(struct drawn *d, const char *name, struct str *svg);
/** The one of that name; NULL: none was drawn. */
const struct drawn_map *drawn_find(const struct drawn *d, const char *name);
void drawn_release(struct drawn *d);

/** Write @p into DIR as NAME.svg, and as NAME.png by gnuplot.  0; 1 with @e if
 *  gnuplot is not installed; -1 with @e. */
int picture_render(const char *dir, const char *name, const struct picture *p,
		   struct err *e);

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
 * curves.png and curves.svg by gnuplot into DIR: bandwidth, the same relative
 * to the first curve, and time against size; bars of bandwidth if there is one
 * size.  Those of @reference (may be NULL) are dashed.  The title has the
 * findings of @v (may be NULL).  The axis of bandwidth is linear, or with
 * @log_scale logarithmic.  Older pictures are removed.  Returns 0, 1 with
 * @e when gnuplot is not installed, -1 with @e on failure: curves.svg may be
 * there then.
 */
int curves_render(const char *dir, const struct sweep *s,
		  const struct sweep *reference, const struct verdict *v,
		  bool log_scale, struct err *e);

#endif
