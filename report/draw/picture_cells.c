/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of a picture: as shapes, or as pixels where cells are too many. */
#include "report/draw/picture_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


#define NUMBERS_MAX 16	/* rows up to which cells hold numbers */

/** How well those cells of a square do that pass, 0 ... 1. */
static double place_of(const struct layout *l, const struct view_cell *c)
{
	return isnan(c->well) ? 1 : scale_place(&l->scales[c->path],
						(double)c->well);
}

/* ---- pixels ------------------------------------------------------------ */

/** Of the 16 colours: white, the marks, bad in part, the scale. */
enum { RASTER_WHITE, RASTER_MARKS, RASTER_MIXED = RASTER_MARKS + VIEW_MARKS,
       RASTER_SCALE, RASTER_SHADES = 16 - RASTER_SCALE };

static int raster_mark(unsigned class)
{
	int i = 0;

	while (i < VIEW_MARKS - 1 && view_marks[i] != class) {
		i++;
	}
	return RASTER_MARKS + i;
}

static uint8_t raster_color(const struct layout *l, const struct view_cell *c)
{
	int shade = (int)(place_of(l, c) * RASTER_SHADES);

	if (c->class == CELL_UNPLANNED) {
		return RASTER_WHITE;
	}
	return (uint8_t)(c->class == CELL_PASS ?
				 RASTER_SCALE + (shade < RASTER_SHADES ?
						 shade : RASTER_SHADES - 1) :
			 run_bad(c->class) && view_mixed(c) ?
				 RASTER_MIXED : raster_mark(c->class));
}

/** The matrix, a square of pixels for each cell, with white between nodes. */
static void add_raster(const struct layout *l)
{
	struct picture_raster *r = &l->p->raster;
	size_t wide = (size_t)l->size, cell = (size_t)l->cell;

	*r = (struct picture_raster){ .x = l->left, .y = l->top };
	for (int i = 0; i < VIEW_MARKS; i++) {
		r->colors[RASTER_MARKS + i] =
			palette_class(view_marks[i])->fill;
	}
	for (int i = 0; i < RASTER_SHADES; i++) {
		r->colors[RASTER_SCALE + i] =
			palette_scale((i + 0.5) / RASTER_SHADES);
	}
	r->colors[RASTER_WHITE] = 0xffffff;
	r->colors[RASTER_MIXED] = MIXED;
	r->pixels = calloc(wide * wide, 1);
	if (!r->pixels) {
		l->p->failed = true;
		return;
	}
	r->width = r->height = (int)wide;
	for (int row = 0; row < l->v->n; row++) {
		uint8_t *line = r->pixels + (size_t)l->at[row] * wide;

		for (int c = 0; c < l->v->n; c++) {
			memset(line + (size_t)l->at[c],
			       raster_color(l, view_cell(l->v, row, c)), cell);
		}
		for (size_t k = 1; k < cell; k++) {
			memcpy(line + k * wide, line, wide);
		}
	}
}

/* ---- shapes ------------------------------------------------------------ */

void pic_square(const struct layout *l, float x, float y, float size,
		const struct view_cell *c, uint32_t fill)
{
	const struct palette_entry *entry = palette_class(c->class);
	float share = c->planned > 0 ?
			      1 - (float)c->passed / (float)c->planned : 1;
	float side = fmaxf(3, size * sqrtf(share));

	pic_shape(l->p, (struct picture_shape){
		.x = x, .y = y, .width = size, .height = size, .rgb = fill,
		.cell = c->src >= 0 ? c : NULL,
	});
	if (entry && view_mixed(c)) {
		pic_shape(l->p, (struct picture_shape){
			.x = x + (size - side) / 2, .y = y + (size - side) / 2,
			.width = side, .height = side, .rgb = entry->fill,
		});
	}
}

static void add_cell(const struct layout *l, int row, int column)
{
	const struct view_cell *c = view_cell(l->v, row, column);
	const struct palette_entry *entry = palette_class(c->class);
	float gap = l->cell >= 24 ? 2 : l->cell >= 12 ? 1 : 0.5F;
	float x = l->left + l->at[column], y = l->top + l->at[row];
	float half = l->cell / 2;
	bool number = l->v->n <= NUMBERS_MAX && !isnan(c->value);
	bool mixed = view_mixed(c);
	char text[UNITS_REAL_SIZE];
	uint32_t fill, ink;

	if (c->class == CELL_UNPLANNED) {
		return;
	}
	fill = entry && !mixed ? entry->fill : palette_scale(place_of(l, c));
	ink = entry && !mixed ? entry->ink : palette_ink(fill);
	pic_square(l, x + gap / 2, y + gap / 2, l->cell - gap, c, fill);
	/* a slow cell has a number too, over its mark */
	if (entry && !mixed) {
		pic_mark(l->p, x + half, y + (number ? 1.5F : 1) * half,
			 fminf(0.5F * l->cell, 22), entry);
	}
	if (number) {
		pic_text(l->p, TEXT_NUMBER, x + half,
			 y + (entry ? 0.75F : 1) * half, ink, "%s",
			 pic_numeral((double)c->value, text));
	}
}

/** Thin lines between nodes, where their rows are ranks, a frame around all;
 *  pixels have gaps instead. */
static void add_separators(const struct layout *l)
{
	for (int r = 0; r <= l->v->n; r++) {
		bool frame = r == 0 || r == l->v->n;
		float at = l->at[r];

		if (frame || (!l->raster && view_new_node(l->v, r) &&
			      (l->v->ranks_per > 0 || view_is_rank(l->v, r) ||
			       view_is_rank(l->v, r - 1)))) {
			pic_line(l->p, l->left, l->top + at, l->size, 0);
			pic_line(l->p, l->left + at, l->top, 0, l->size);
		}
	}
}

void pic_matrix(const struct layout *l)
{
	if (l->raster) {
		add_raster(l);
	}
	for (int row = 0; row < l->v->n && !l->raster; row++) {
		for (int column = 0; column < l->v->n; column++) {
			add_cell(l, row, column);
		}
	}
	add_separators(l);
}
