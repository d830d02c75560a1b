/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_PICTURE_PARTS_H
#define REPORT_DRAW_PICTURE_PARTS_H

#include "lib/base/units.h"
#include "report/draw/accused.h"
#include "report/draw/labels.h"
#include "report/draw/picture.h"
#include "report/judge/verdict.h"

/** What the files of picture_make() share. */

#define INK	 0x1f2328
#define INK_SOFT 0x59636e
#define ALARM	 0xc5102e
/** Bad in part: told from the scale and from the marks by colour-blind readers,
 *  too. */
#define MIXED	 0x9600c8

#define EDGE	  28	/* white around everything */
#define LETTER	  7.3F	/* pixels of an average one */
#define MIN_WIDTH 820	/* room for the captions */

/** Where things go; all in pixels. */
struct layout {
	struct picture *p;
	const struct view *v;
	char (*names)[LABEL_SIZE];	/* of the nodes */
	float cell;
	float *at;		/* where rows begin and the last one ends */
	float left, top, size;	/* of the matrix */
	bool raster;		/* cells are pixels */
	float index;		/* room for the numbers of GPUs, or the names
				 * of nodes in a segment */
	float index_up;		/* the same over the columns */
	bool names_up;		/* column names do not fit across */
	struct scale scales[PATH_CLASSES];
	struct accused *accused;
	size_t n_accused;
};

/* picture_add.c; memory that runs out is p->failed */

/** The shape, whose text is the picture's now. */
void pic_shape(struct picture *p, struct picture_shape shape);
void pic_mark(struct picture *p, float x, float y, float size,
	      const struct palette_entry *entry);
void pic_line(struct picture *p, float x, float y, float width, float height);
__attribute__((format(printf, 6, 7)))
void pic_text(struct picture *p, enum picture_layer layer, float x, float y,
	      uint32_t rgb, const char *fmt, ...);
/** Short enough for a cell: three digits that matter. */
const char *pic_numeral(double value, char buf[UNITS_REAL_SIZE]);

/* picture_cells.c */

/** All cells, with lines between nodes and a frame. */
void pic_matrix(const struct layout *l);
/** A square of @size at @x, @y with @fill; of one that is bad in part, that
 *  part of it has the colour of what is bad. */
void pic_square(const struct layout *l, float x, float y, float size,
		const struct view_cell *c, uint32_t fill);

/* picture_words.c; each returns where it ends */

/** Title, what was run, and what a reader must know, at the top. */
float pic_captions(const struct layout *l, const struct verdict *v);
/** A scale for each kind of path that has its own. */
float pic_scales(const struct layout *l, float x, float y);
/** Only what is there, as absent faults would alarm. */
float pic_legend(const struct layout *l, float x, float y);

#endif
