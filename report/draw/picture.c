/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/draw/picture.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/judge/caption.h"
#include "report/base/grow.h"
#include "report/draw/labels.h"
#include "report/judge/verdict.h"

#define INK	 0x1f2328
#define INK_SOFT 0x59636e
#define ALARM	 0xc5102e

#define EDGE	     28		/* white around everything */
#define SIDE	     230	/* scale and legend, right of the matrix */
#define MATRIX_WIDTH 880	/* what cells may take together */
#define CELL_MAX     96
#define CELL_MIN     7
#define CELL_TINY    4		/* of rows beyond PICTURE_MAX_ROWS, no marks */
#define NUMBERS_MAX  16		/* rows up to which cells hold numbers */
#define INDEX_MAX    64		/* rows up to which each has its number */
#define NODE_NAME_MAX 26		/* letters of a row's name */
#define LETTER	     7.3F	/* pixels of an average one */
#define MIN_WIDTH    820	/* room for the captions */
#define TEXT_MAX     200	/* bytes */

/** Where things go; all in pixels. */
struct layout {
	struct picture *p;
	const struct view *v;
	char (*names)[LABEL_SIZE];	/* of the nodes */
	float cell;
	float left, top, size;	/* of the matrix */
	float index;		/* room for the numbers of GPUs, or the names
				 * of nodes in a segment */
	float index_up;		/* the same over the columns */
	bool names_up;		/* column names do not fit across */
	struct scale scale;
};

static void add_shape(struct picture *p, struct picture_shape shape)
{
	if (!grow_add(&p->shapes, &p->n, &shape, sizeof(shape))) {
		p->failed = true;
		free(shape.text);
	}
}

static void add_mark(struct picture *p, float x, float y, float size,
		     const struct palette_entry *entry)
{
	struct picture_shape shape = {
		.layer = LAYER_MARK, .mark = entry->mark, .rgb = entry->ink,
		.x = x, .y = y, .width = size,
	};

	if (entry->mark == MARK_BAR) {
		shape.layer = LAYER_RECT;
		shape.x = x - size / 2;
		shape.y = y - size / 8;
		shape.height = size / 4;
	}
	add_shape(p, shape);
}

static void add_line(struct picture *p, float x, float y, float width,
		     float height)
{
	add_shape(p, (struct picture_shape){
		.layer = LAYER_LINE, .x = x, .y = y, .width = width,
		.height = height, .rgb = INK_SOFT,
	});
}

__attribute__((format(printf, 6, 7)))
static void add_text(struct picture *p, enum picture_layer layer, float x,
		     float y, uint32_t rgb, const char *fmt, ...)
{
	char text[CAPTION_SIZE], clean[TEXT_MAX], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	STR_COPY(clean, text);
	copy = strdup(clean);
	p->failed |= !copy;
	add_shape(p, (struct picture_shape){
		.layer = layer, .x = x, .y = y, .rgb = rgb, .text = copy,
	});
}

/** Short enough for a cell: three digits that matter. */
static const char *number_text(double value, char buf[UNITS_REAL_SIZE])
{
	return units_real_text(value, value >= 99.95 ? 0 :
				      value >= 9.995 ? 1 : 2, buf);
}

static uint32_t fill_of(const struct layout *l, const struct view_cell *c)
{
	const struct palette_entry *entry = palette_class(c->class);

	return entry ? entry->fill :
		       palette_scale(isnan(c->value) ? 1 :
				     scale_place(&l->scale, (double)c->value));
}

/** A row of cells that are too small to be told apart: those of one colour that
 *  stand together are one shape. */
static void add_tiny_row(const struct layout *l, int row)
{
	for (int c = 0, end; c < l->v->n; c = end) {
		const struct view_cell *cell = view_cell(l->v, row, c);
		uint32_t fill = fill_of(l, cell);

		end = c + 1;
		if (cell->class == CELL_UNPLANNED) {
			continue;
		}
		while (end < l->v->n &&
		       view_cell(l->v, row, end)->class != CELL_UNPLANNED &&
		       fill_of(l, view_cell(l->v, row, end)) == fill) {
			end++;
		}
		add_shape(l->p, (struct picture_shape){
			.x = l->left + (float)c * l->cell,
			.y = l->top + (float)row * l->cell,
			.width = (float)(end - c) * l->cell,
			.height = l->cell, .rgb = fill,
		});
	}
}

static void add_cell(const struct layout *l, int row, int column)
{
	const struct view_cell *c = view_cell(l->v, row, column);
	const struct palette_entry *entry = palette_class(c->class);
	float gap = l->cell >= 24 ? 2 : l->cell >= 12 ? 1 : 0.5F;
	float x = l->left + (float)column * l->cell;
	float y = l->top + (float)row * l->cell;
	float half = l->cell / 2;
	bool number = l->v->n <= NUMBERS_MAX && !isnan(c->value);
	char text[UNITS_REAL_SIZE];
	uint32_t fill, ink;

	if (c->class == CELL_UNPLANNED) {
		return;
	}
	fill = fill_of(l, c);
	ink = entry ? entry->ink : palette_ink(fill);
	add_shape(l->p, (struct picture_shape){
		.x = x + gap / 2, .y = y + gap / 2,
		.width = l->cell - gap, .height = l->cell - gap,
		.rgb = fill, .cell = c,
	});
	/* a slow cell has a number too, over its mark */
	if (entry) {
		add_mark(l->p, x + half, y + (number ? 1.5F : 1) * half,
			 fminf(0.5F * l->cell, 22), entry);
	}
	if (number) {
		add_text(l->p, TEXT_NUMBER, x + half,
			 y + (entry ? 0.75F : 1) * half, ink, "%s",
			 number_text((double)c->value, text));
	}
}

/** Thin lines between nodes, a frame around all. */
static void add_separators(const struct layout *l)
{
	for (int r = 0; r <= l->v->n; r++) {
		float at = (float)r * l->cell;

		if (r == 0 || r == l->v->n ||
		    (!l->v->nodes_per && view_new_node(l->v, r))) {
			add_line(l->p, l->left, l->top + at, l->size, 0);
			add_line(l->p, l->left + at, l->top, 0, l->size);
		}
	}
}

/** The name of the group at @row. */
static const char *group_name(const struct layout *l, int row,
			      char buf[2 * LABEL_SIZE])
{
	return labels_row(l->v, l->names, row, buf, 2 * (size_t)LABEL_SIZE);
}

/** Names of nodes, as many as do not run into each other. */
static void add_names(const struct layout *l)
{
	float line = (float)l->p->font[TEXT_CENTER] + 3, free_from = -line;
	char name[2 * LABEL_SIZE];

	for (int r = 0, end; r < l->v->n; r = end) {
		float middle;

		end = view_node_end(l->v, r);
		middle = (float)(r + end) / 2 * l->cell;
		if (middle - line / 2 < free_from) {
			continue;
		}
		free_from = middle + line / 2;
		group_name(l, r, name);
		add_text(l->p, TEXT_RIGHT, l->left - l->index - 8,
			 l->top + middle, INK, "%s", name);
		add_text(l->p, l->names_up ? TEXT_UP : TEXT_CENTER,
			 l->left + middle, l->top - l->index_up - 10, INK, "%s",
			 name);
	}
}

/** Are the groups of rows segments, and not nodes? */
static bool by_segment(const struct view *v)
{
	return v->ranks_per > 0;
}

/** What tells @row from the others of its group: the number of a GPU, or, in a
 *  segment, the name of a node. */
static void index_text(const struct view *v, int row, char text[LABEL_SIZE])
{
	if (by_segment(v)) {
		str_copy(text, LABEL_SIZE,
			 v->run->ranks[v->first[row]].nic_name);
	} else {
		snprintf(text, LABEL_SIZE, "%d", view_row_gpu(v, row));
	}
}

static void add_indexes(const struct layout *l)
{
	float line = (float)l->p->font[TEXT_CENTER] + 1, free_from = -line;
	bool up = by_segment(l->v);
	char text[LABEL_SIZE];

	for (int r = 0; r < l->v->n && l->index > 0; r++) {
		float middle = ((float)r + 0.5F) * l->cell;

		if (up && middle - line / 2 < free_from) {
			continue;	/* as many names as there is room for */
		}
		free_from = middle + line / 2;
		index_text(l->v, r, text);
		add_text(l->p, TEXT_RIGHT, l->left - 6, l->top + middle,
			 INK_SOFT, "%s", text);
		add_text(l->p, up ? TEXT_UP : TEXT_CENTER, l->left + middle,
			 l->top - (up ? 6 : 10), INK_SOFT, "%s", text);
	}
}

/** The colours and what they stand for; returns where it ends. */
static float add_scale(const struct layout *l, float x, float y)
{
	enum { STEPS = 96, HEIGHT = 2 * STEPS, LABELS = 4 };
	const struct view_unit *u = &view_units[l->v->metric];
	char text[UNITS_REAL_SIZE];

	if (l->scale.high <= 0) {
		return y;
	}
	add_text(l->p, TEXT_LEFT, x, y, INK, "%s%s", u->scale,
		 l->scale.log ? ", log scale" : "");
	y += 18;
	for (int i = 0; u->notes[i]; i++) {
		add_text(l->p, TEXT_SMALL, x, y, INK_SOFT, "%s", u->notes[i]);
		y += 15;
	}
	y += 4;
	for (int i = 0; i < STEPS; i++) {
		add_shape(l->p, (struct picture_shape){
			.x = x, .width = 22,
			.y = y + (float)i * HEIGHT / STEPS,
			/* overlapping, so that no seam shines through */
			.height = i < STEPS - 1 ? 3 : 2,
			.rgb = palette_scale(1 - (i + 0.5) / STEPS),
		});
	}
	for (int i = 0; i <= LABELS; i++) {
		float at = y + (float)i * HEIGHT / LABELS;

		add_line(l->p, x + 22, at, 5, 0);
		add_text(l->p, TEXT_LEFT, x + 32, at, INK, "%s",
			 number_text(scale_value(&l->scale,
						 1 - (double)i / LABELS),
				     text));
	}
	return y + HEIGHT + 40;
}

/** Only what is there, as absent faults would alarm; returns where it ends. */
static float add_legend(const struct layout *l, float x, float y)
{
	static const enum cell_class marks[] = {
		CELL_FAIL, CELL_TIMEOUT, CELL_CORRUPT, CELL_SLOW, CELL_SKIPPED,
		CELL_NOT_RUN,
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const struct palette_entry *entry = palette_class(marks[i]);

		if (l->v->present[marks[i]] == 0) {
			continue;
		}
		add_shape(l->p, (struct picture_shape){
			.x = x, .y = y - 9, .width = 22, .height = 18,
			.rgb = entry->fill,
		});
		add_mark(l->p, x + 11, y, 11, entry);
		add_text(l->p, TEXT_LEFT, x + 32, y, INK, "%s (%zu%s)",
			 marks[i] == CELL_SLOW ? run_slow_word(l->v->run) :
						 entry->word,
			 l->v->present[marks[i]],
			 view_folds(l->v) ? " squares" : "");
		y += 26;
	}
	return y;
}

/** A line below the title, where there is something to say. */
static float add_caption(const struct layout *l, float y, uint32_t rgb,
			 const char *text)
{
	if (!text[0]) {
		return y;
	}
	add_text(l->p, TEXT_LEFT, EDGE, y, rgb, "%s", text);
	return y + 20;
}

/** Title, what was run, and what a reader must know. */
static float add_captions(const struct layout *l, const struct verdict *v)
{
	static const char *const words[] = {
		[VERDICT_PASS] = "PASS", [VERDICT_WARN] = "WARN",
		[VERDICT_FAIL] = "FAIL", [VERDICT_PARTIAL] = "PARTIAL",
		[VERDICT_UNKNOWN] = "UNKNOWN",
	};
	const struct run *run = l->v->run;
	char text[CAPTION_SIZE], metric[48];
	float y = EDGE + 12;

	/* the verdict is one on all segments */
	add_text(l->p, TEXT_TITLE, EDGE, y, INK, "gpucheck %s, %s%s: %s%s",
		 run->probe, view_metric_text(l->v, metric, sizeof(metric)),
		 mesh_segment(run)[0] ? "; the whole run" : "",
		 words[v->status], run->drill ? " (DRILL)" : "");
	y += 30;
	y = add_caption(l, y, INK, caption_what(run, text, sizeof(text)));
	y = add_caption(l, y, INK, caption_cells(run, text, sizeof(text)));
	if (caption_partial(run, v, text, sizeof(text))) {
		y = add_caption(l, y, INK, text);
	}
	y = add_caption(l, y, INK, view_block_text(l->v, text, sizeof(text)));
	for (int i = 0; caption_note(run, i, text, sizeof(text)); i++) {
		y = add_caption(l, y, run->drill && i == 0 ? ALARM : INK_SOFT,
				text);
	}
	add_text(l->p, TEXT_SMALL, EDGE, y, INK_SOFT, "%s",
		 caption_command(run, text, sizeof(text)));
	return y + 22;
}

static float longest_name(const struct layout *l)
{
	size_t longest = 0;
	char name[2 * LABEL_SIZE];

	for (int r = 0; r < l->v->n; r = view_node_end(l->v, r)) {
		size_t len = strlen(group_name(l, r, name));

		longest = len > longest ? len : longest;
	}
	return (float)longest * LETTER;
}

static float index_room(const struct view *v)
{
	char text[LABEL_SIZE];
	size_t longest = 0;

	for (int r = 0; r < v->n; r++) {
		index_text(v, r, text);
		longest = strlen(text) > longest ? strlen(text) : longest;
	}
	return by_segment(v) ? (float)longest * LETTER + 8 : 22;
}

static void place_matrix(struct layout *l, float top)
{
	int n = l->v->n > 0 ? l->v->n : 1;
	float names = longest_name(l);
	float group = (float)view_node_end(l->v, 0);
	bool several = false;	/* rows of a node: they need numbers */

	l->cell = fmaxf(n > PICTURE_MAX_ROWS ? CELL_TINY : CELL_MIN,
			fminf(CELL_MAX, floorf(MATRIX_WIDTH / (float)n)));
	for (int r = 1; r < l->v->n; r++) {
		several |= !view_new_node(l->v, r);
	}
	l->index = (l->v->n <= INDEX_MAX || by_segment(l->v)) && several ?
			   index_room(l->v) : 0;
	l->index_up = by_segment(l->v) ? l->index + 4 : l->index;
	l->names_up = names > group * l->cell - 6;
	l->left = EDGE + 26 + names + 8 + l->index;
	l->top = top + 32 + l->index_up + (l->names_up ? names : 14) + 12;
	l->size = l->cell * (float)l->v->n;
}

static void add_axes(const struct layout *l)
{
	add_text(l->p, TEXT_UP, EDGE + 4,
		 l->top + fmaxf(l->size / 2 + 30, 64), INK_SOFT, "sender");
	add_text(l->p, TEXT_CENTER, l->left + l->size / 2,
		 l->top - l->index_up - 12 -
			 (l->names_up ? longest_name(l) + 20 : 26),
		 INK_SOFT, "receiver");
	add_indexes(l);
	add_names(l);
}

static const int fonts[PICTURE_LAYERS] = {
	[TEXT_TITLE] = 22, [TEXT_LEFT] = 14, [TEXT_SMALL] = 12,
	[TEXT_RIGHT] = 13, [TEXT_CENTER] = 13, [TEXT_UP] = 13,
};

int picture_make(const struct run *run, enum view_metric metric,
		 const struct verdict *v, struct picture *p)
{
	struct layout l = { .p = p, .v = &p->view };
	float side, bottom;

	*p = (struct picture){ 0 };
	if (view_make(run, run->mesh && run->mesh->by_segment > 0 ?
				   PICTURE_MAX_ADDRESSES : PICTURE_MAX_ROWS,
		      metric, &p->view) < 0) {
		return -1;
	}
	l.scale = scale_make(l.v);
	l.names = labels_make(run, labels_room(l.v, NODE_NAME_MAX));
	if (!l.names) {
		return -1;
	}
	memcpy(p->font, fonts, sizeof(fonts));
	place_matrix(&l, add_captions(&l, v));
	for (int row = 0; row < l.v->n; row++) {
		if (l.cell < CELL_MIN) {
			add_tiny_row(&l, row);
			continue;
		}
		for (int column = 0; column < l.v->n; column++) {
			add_cell(&l, row, column);
		}
	}
	add_separators(&l);
	add_axes(&l);
	side = l.left + l.size + 36;
	bottom = add_legend(&l, side, add_scale(&l, side, l.top + 8));
	p->stroke = l.cell >= 24 ? 2 : 1;
	p->font[TEXT_NUMBER] = l.cell >= 60 ? 15 : l.cell >= 48 ? 13 : 11;
	p->width = (int)fmaxf(MIN_WIDTH, side + SIDE);
	p->height = (int)fmaxf(l.top + l.size + EDGE, bottom);
	free(l.names);
	return p->failed ? -1 : 0;
}

void picture_release(struct picture *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->shapes[i].text);
	}
	free(p->shapes);
	view_release(&p->view);
	*p = (struct picture){ 0 };
}
