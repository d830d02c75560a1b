/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <limits.h>

#include "lib/err.h"

/**
 * Pictures by gnuplot: a scratch folder inside the run directory holds the
 * script and its data; the script leaves picture.svg or picture.png there,
 * which then take their names in the run directory.
 */
struct plot {
	char dir[PATH_MAX], folder[PATH_MAX];
};

/** A folder in the existing @dir for drawing @what ("heat map", for messages).
 *  0: plot_end() when done; 1 with @e: gnuplot is not there; -1 with @e. */
int plot_begin(struct plot *p, const char *dir, const char *what,
	       struct err *e);
/** A file for the script to read; -1 with @e. */
int plot_write(const struct plot *p, const char *file, const char *text,
	       struct err *e);
/**
 * Run @script (its text) for both kinds of picture: with @settings, statements
 * of gnuplot, "png" 0 or 1, and the folder as its argument.  The pictures become
 * NAME.svg and NAME.png.  Both together have a minute.  0, or -1 with @e.
 */
int plot_draw(const struct plot *p, const char *script, const char *settings,
	      const char *name, struct err *e);
/** Remove the folder with all that is in it. */
void plot_end(const struct plot *p);

#endif
