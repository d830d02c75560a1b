/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_PICTURE_H
#define REPORT_DRAW_PICTURE_H

#include <stdint.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "report/base/wrap.h"
#include "report/draw/view.h"
#include "report/judge/verdict.h"

/* ---- picture ------------------------------------------------------------- */

/**
 * A heat map as shapes in pixels, from the top left.  Laid out once, painted
 * twice, layer by layer: by gnuplot into PNG files, and as SVG in files and in
 * report.html.
 */
enum picture_layer {
	LAYER_RECT, LAYER_LINE, LAYER_MARK,
	TEXT_TITLE,	/* large, from the left */
	TEXT_LEFT,	/* normal, from the left */
	TEXT_SMALL,	/* notes, from the left */
	TEXT_RIGHT,	/* names of the rows, to the right */
	TEXT_CENTER,	/* names of the columns */
	TEXT_UP,	/* the same, upwards */
	TEXT_DOWN,	/* upwards, up to their place: names below columns */
	TEXT_NUMBER,	/* inside a cell */
	PICTURE_LAYERS
};

struct picture_shape {
	enum picture_layer layer;
	enum palette_mark mark;
	float x, y;		/* of a mark: its middle */
	float width, height;	/* of a line: to its other end */
	uint32_t rgb;
	const struct view_cell *cell;	/* for a tooltip; NULL = none */
	char *text;		/* of the layers of texts; tooltip of others */
};

/** Colours of pixels. */
#define RASTER_COLORS 64

/** Where cells are too many to be shapes: pixels. */
struct picture_raster {
	int width, height;	/* pixels; 0: there is none */
	float x, y;		/* of its corner */
	uint8_t *pixels;	/* one a byte, row by row: index of colours */
	uint32_t colors[RASTER_COLORS];
};

struct picture {
	struct view view;
	struct picture_raster raster;	/* below all layers */
	int width, height;	/* pixels */
	int font[PICTURE_LAYERS];	/* of texts, pixels */
	int stroke;		/* of marks, pixels */
	struct picture_shape *shapes;
	size_t n;
	bool failed;		/* no memory */
};

/** Rows up to which a cell is a shape, which has room for a mark; and up to
 *  which it is pixels.  Of more ranks blocks of nodes are shown, as shapes. */
#define PICTURE_MAX_SHAPES 64
#define PICTURE_MAX_ROWS 1024

/** Lay out @metric of @run, which must outlive the picture, with the nodes
 *  @open (a flag each; NULL: none) as ranks where others are blocks.
 *  0, or -1 (memory); picture_release() in any case. */
int picture_make(const struct run *run, enum view_metric metric,
		 const struct verdict *v, const bool *open, struct picture *p);
void picture_release(struct picture *p);

/** Append the picture as an <svg> element, with a tooltip on each cell. */
void picture_svg(const struct picture *p, struct str *out);

/** Append a PNG of @width x @height pixels, each a byte of @pixels,
 *  row by row: its number in @colors (0xRRGGBB). */
void png_add(const uint8_t *pixels, int width, int height,
	     const uint32_t colors[RASTER_COLORS], struct str *out);

/* The parts of which pictures are made.  Without memory @p has failed. */

#define INK	  0x1f2328
#define INK_SOFT  0x59636e
#define ALARM	  0xc5102e
#define EDGE	  28	/* white around everything */
#define MIN_WIDTH 820	/* room for the captions */

/** Add a shape; its text belongs to the picture. */
void pic_shape(struct picture *p, struct picture_shape shape);
void pic_line(struct picture *p, float x, float y, float width, float height);
void pic_mark(struct picture *p, float x, float y, float size,
	      const struct palette_entry *entry);
/** Add text at (@x, @y). */
__attribute__((format(printf, 6, 7)))
void pic_text(struct picture *p, enum picture_layer layer, float x, float y,
	      uint32_t rgb, const char *fmt, ...);
/** Set the usual sizes of fonts. */
void pic_fonts(struct picture *p);
/** The colour of a status in texts. */
uint32_t pic_status_rgb(const struct verdict *v);
/** Add the title of a picture @wide pixels wide: the verdict and the parts that
 *  were found, or @what was measured.  Returns where the next line is. */
float pic_title(struct picture *p, float wide, const struct run *run,
		const struct verdict *v, const char *what);
/** Add lines below the title, none for ""; returns where the next one is. */
float pic_caption(struct picture *p, float y, uint32_t rgb, const char *text);

/** Short enough for a cell: three digits that matter. */
const char *pic_numeral(double value, char buf[UNITS_REAL_SIZE]);

/* ---- picture of a run of pairs: picture.c and strips.c ------------------- */

#define WARNING	    0xf57c1f	/* bars ... */
#define WARNING_INK 0xa84300	/* ... and texts, which need more contrast */
#define BAD_ROW_MIN 3		/* pixels of a row with a finding */
#define LETTER	    7.3F	/* pixels of an average one */

/** Where things go; all in pixels. */
struct pic_layout {
	struct picture *p;
	const struct view *v;
	char (*names)[LABEL_SIZE];	/* of the nodes */
	float cell;		/* of most rows */
	float *at;		/* where rows begin and the last one ends */
	float *wide;		/* of each row */
	float left, top, size;	/* of the matrix */
	bool raster;		/* cells are pixels */
	float index;		/* room for the numbers of GPUs, or the names
				 * of nodes in a segment */
	float index_up;		/* the same over the columns */
	bool names_up;		/* column names do not fit across */
	struct scale scales[PATH_CLASSES];
	struct accused *accused;
	size_t n_accused;
	struct found_mark *found;	/* one for each of them */
	int lanes;		/* of their bars */
	struct part_count *bad;	/* of strips; NULL: none are drawn */
	size_t counts[CELL_CLASSES];	/* as in the texts; 0: squares count */
	bool counted;
};

/** The bar of a finding at its rows, and its name. */
struct found_mark {
	float from, to;		/* along the rows */
	int lane;		/* bars that touch are beside each other */
	float label;		/* middle of the name */
	bool named;
	char text[64];		/* "1 GPU 4 of n1" */
};

/** Count the bad tests of each part if strips are drawn: in a run of many ranks
 *  or a sample, with bad tests.  Sets @l->bad; false without memory. */
bool strips_count(struct pic_layout *l);

/** Pixels that strips_add() needs; 0 without strips. */
float strips_height(const struct pic_layout *l);

/** Draw the share of bad tests of each part from @y on, if @l->bad is set. */
void strips_add(const struct pic_layout *l, float y);

#endif
