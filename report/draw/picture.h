/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_DRAW_PICTURE_H
#define REPORT_DRAW_PICTURE_H

#include <stdint.h>

#include "lib/base/str.h"
#include "report/base/palette.h"
#include "report/draw/view.h"
#include "report/judge/verdict.h"

/**
 * A heat map as shapes in pixels, from the top left.  Laid out once, painted
 * twice: by gnuplot into PNG files, and as SVG in files and in report.html.
 */
enum text_style {
	TEXT_TITLE,	/* large, from the left */
	TEXT_LEFT,	/* normal, from the left */
	TEXT_SMALL,	/* notes, from the left */
	TEXT_RIGHT,	/* names of the rows, to the right */
	TEXT_CENTER,	/* names of the columns */
	TEXT_UP,	/* the same, upwards */
	TEXT_NUMBER,	/* inside a cell */
	TEXT_STYLES
};

struct picture_rect {
	float x, y, width, height;
	uint32_t rgb;
	const struct view_cell *cell;	/* for a tooltip; NULL = none */
};

struct picture_mark {
	float x, y, size;
	enum palette_mark mark;
	uint32_t rgb;
};

struct picture_line {
	float x1, y1, x2, y2;
	uint32_t rgb;
};

struct picture_text {
	float x, y;
	enum text_style style;
	uint32_t rgb;
	char text[200];
};

struct picture {
	const struct view *view;
	int width, height;	/* pixels */
	int font[TEXT_STYLES];	/* pixels */
	int stroke;		/* of marks, pixels */
	struct picture_rect *rects;
	struct picture_mark *marks;
	struct picture_line *lines;
	struct picture_text *texts;
	size_t n_rects, n_marks, n_lines, n_texts;
	bool failed;		/* no memory */
};

/** Ranks beyond which a picture shows nodes. */
#define PICTURE_MAX_ROWS 128

/** Lay out @view (which must outlive the picture).  0, or -1 (memory). */
int picture_make(const struct view *view, const struct verdict *v,
		 struct picture *p);
void picture_release(struct picture *p);

/** Append the picture as an <svg> element, with a tooltip on each cell. */
void picture_svg(const struct picture *p, struct str *out);

#endif
