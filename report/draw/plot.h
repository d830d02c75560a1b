/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_PLOT_H
#define REPORT_DRAW_PLOT_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"

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
	sigset_t ends;		/* of struct plot_signals */
	struct spawn_child gnuplot;
	struct str talk;	/* its complaints */
	int64_t deadline_ns;
};

/**
 * Signals that would end the program wait from plot_hold_signals() to
 * plot_release_signals(), so that no gnuplot and no folder outlives it; when
 * one has come plot_end() does not wait.  Those that are ignored, or that the
 * caller holds back for the sake of the pictures, do not count.
 */
struct plot_signals {
	sigset_t were, ends;
};

void plot_hold_signals(struct plot_signals *s);
void plot_release_signals(const struct plot_signals *s);

/** Is there a gnuplot on PATH? */
bool plot_usable(void);
/** 0, or 1 with @e where there is none to draw @what ("curves") of @dir. */
int plot_check(const char *what, const char *dir, struct err *e);
/** A folder in the existing @dir to draw in until one of @s comes.  0:
 *  plot_end() when done; -1 with @e. */
int plot_begin(struct plot *p, const struct plot_signals *s, const char *dir,
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

#endif
