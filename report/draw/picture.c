/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/picture.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"
#include "report/base/wrap.h"
#include "report/draw/view.h"
#include "report/judge/caption.h"
#include "report/model/run.h"

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
struct pic_layout {
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

/* ---- picture words ------------------------------------------------------- */

/* The surroundings of a picture's matrix: scales, legend, captions. */

/* ---- beside ------------------------------------------------------------ */

static void pic_line(struct picture *p, float x, float y, float width,
		     float height);
static void pic_mark(struct picture *p, float x, float y, float size,
		     const struct palette_entry *entry);
static void pic_shape(struct picture *p, struct picture_shape shape);
static void pic_square(const struct pic_layout *l, float x, float y, float size,
		       const struct view_cell *c, uint32_t fill);
__attribute__((format(printf, 6, 7)))
static void pic_text(struct picture *p, enum picture_layer layer, float x,
		     float y, uint32_t rgb, const char *fmt, ...);

/** Add the colours and what they stand for: a scale for each kind of path that
 *  has its own.  Returns where it ends. */
static float pic_scales(const struct pic_layout *l, float x, float y)
{
	enum { STEPS = 48, STEP = 3, HEIGHT = STEP * STEPS, LABELS = 4 };
	const struct view_unit *u = &view_units[l->v->metric];
	int n = scales_shown(l->v->metric, l->scales), shown = 0;
	char text[UNITS_REAL_SIZE];

	for (int k = 0; k < PATH_CLASSES && shown < n; k++) {
		const struct scale *s = &l->scales[k];

		if (s->high <= 0) {
			continue;
		}
		shown++;
		pic_text(l->p, TEXT_LEFT, x, y, INK, "%s%s%s", u->scale,
			 n > 1 ? " " : "",
			 n > 1 ? run_path_words((enum path_class)k) : "");
		y += 18;
		if (s->log) {
			pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT,
				 "log scale");
			y += 15;
		}
		for (int i = 0; u->notes[i]; i++) {
			pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT, "%s",
				 u->notes[i]);
			y += 15;
		}
		y += 4;
		for (int i = 0; i < STEPS; i++) {
			pic_shape(l->p, (struct picture_shape){
				.x = x, .width = 22,
				.y = y + (float)i * STEP,
				/* overlapping: no seam shines through */
				.height = i < STEPS - 1 ? STEP + 1 : STEP,
				.rgb = palette_scale(1 - (i + 0.5) / STEPS),
			});
		}
		for (int i = 0; i <= LABELS; i++) {
			float at = y + (float)i * HEIGHT / LABELS;
			double value = scale_value(s, 1 - (double)i / LABELS);

			pic_line(l->p, x + 22, at, 5, 0);
			pic_text(l->p, TEXT_LEFT, x + 32, at, INK, "%s",
				 pic_numeral(value, text));
		}
		y += HEIGHT + 30;
	}
	return y + (n > 0 ? 10 : 0);
}

/** One line of the legend: @n squares that are all @class, or in part. */
static float add_legend_line(const struct pic_layout *l, enum cell_class class,
			     bool mixed, float x, float y)
{
	const struct palette_entry *entry = palette_class(class);
	struct view_cell c = { .class = (uint8_t)class, .src = -1,
			       .planned = 4, .passed = mixed ? 3 : 0 };
	bool pixel = mixed && l->raster && cells_failed(class);
	size_t n = mixed ? l->v->mixed[class] :
			   l->v->present[class] - l->v->mixed[class];

	if (n == 0) {
		return y;
	}
	if (pixel) {
		c.class = CELL_PASS;
	}
	pic_square(l, x + 2, y - 9, 18, &c,
		   pixel ? MIXED : mixed ? palette_scale(1) : entry->fill);
	if (!mixed && !l->raster) {
		pic_mark(l->p, x + 11, y, 11, entry);
	}
	pic_text(l->p, TEXT_LEFT, x + 32, y, INK, "%s%s (%zu%s)",
		 mixed ? "some " : "",
		 class == CELL_SLOW ? run_slow_word(l->v->run) : entry->word, n,
		 view_folds(l->v) ? " squares" : "");
	return y + 26;
}

/* ---- above ------------------------------------------------------------- */

/** Lines below the title, where there is something to say: as wide as the
 *  smallest picture. */
static float add_caption(const struct pic_layout *l, float y, uint32_t rgb,
			 const char *text)
{
	struct str lines = STR_INIT;
	const char *line = NULL;

	if (text[0]) {
		wrap_text(&(struct wrap){ .out = &lines, .width =
				(int)((MIN_WIDTH - 2 * EDGE) / LETTER) },
			  0, text);
		line = str_text(&lines);
	}
	while (line && *line) {
		int n = (int)strcspn(line, "\n");

		pic_text(l->p, TEXT_LEFT, EDGE, y, rgb, "%.*s", n, line);
		y += 20;
		line += n + (line[n] == '\n');
	}
	str_release(&lines);
	return y;
}

/* Title, what was run, and what a reader must know, at the top. */
static float pic_captions(const struct pic_layout *l, const struct verdict *v)
{
	static const char *const words[] = {
		[VERDICT_PASS] = "PASS", [VERDICT_WARN] = "WARN",
		[VERDICT_FAIL] = "FAIL", [VERDICT_PARTIAL] = "PARTIAL",
		[VERDICT_UNKNOWN] = "UNKNOWN",
	};
	const struct run *run = l->v->run;
	char text[CAPTION_SIZE], metric[48];
	float y = EDGE + 12;
	struct str out = STR_INIT;
	size_t size;

	/* the verdict is one on all segments */
	pic_text(l->p, TEXT_TITLE, EDGE, y, INK, "gpucheck %s, %s%s: %s%s%s",
		 run->probe, view_metric_text(l->v, metric, sizeof(metric)),
		 mesh_segment(run)[0] ? "; the whole run" : "",
		 words[v->status],
		 strcmp(caption_status(run, v), CAPTION_PASS_SAMPLE) == 0 ?
			 " (sample)" : "",
		 run->drill ? " (DRILL)" : "");
	y += 30;
	y = add_caption(l, y, INK, caption_what(run, text, sizeof(text)));
	y = add_caption(l, y, INK, caption_cells(run, text, sizeof(text)));
	if (caption_partial(run, v, text, sizeof(text))) {
		y = add_caption(l, y, INK, text);
	}
	/* list the findings that have no row: rails, switches, all paths */
	size = sizeof(text);
	verdict_foreach(v, f) {
		struct part shown = part_shown(run, &f->part);

		if (f->part.node < 0 && f->explained > 0) {
			str_addf(&out, "%s%s", out.len ? "; " : "found: ",
				 PART_NAME(run, &shown));
		}
	}
	str_copy(text, size, str_text(&out));
	str_release(&out);
	y = add_caption(l, y, ALARM, text);
	y = add_caption(l, y, INK, view_block_text(l->v, text, sizeof(text)));
	for (int i = 0; caption_note(run, i, text, sizeof(text)); i++) {
		y = add_caption(l, y, run->drill && i == 0 ? ALARM : INK_SOFT,
				text);
	}
	pic_text(l->p, TEXT_SMALL, EDGE, y, INK_SOFT, "%s",
		 caption_command(run, text, sizeof(text)));
	return y + 22;
}

/* ---- picture add --------------------------------------------------------- */

/* Shapes and texts come into a picture. */

#define TEXT_MAX 200	/* bytes */

/* The shape, whose text is the picture's now. */
static void pic_shape(struct picture *p, struct picture_shape shape)
{
	if (!grow_add(&p->shapes, &p->n, &shape, sizeof(shape))) {
		p->failed = true;
		free(shape.text);
	}
}

static void pic_mark(struct picture *p, float x, float y, float size,
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
	pic_shape(p, shape);
}

static void pic_line(struct picture *p, float x, float y, float width,
		     float height)
{
	pic_shape(p, (struct picture_shape){
		.layer = LAYER_LINE, .x = x, .y = y, .width = width,
		.height = height, .rgb = INK_SOFT,
	});
}

/* Add text at (@x, @y). */
static void pic_text(struct picture *p, enum picture_layer layer, float x,
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
	pic_shape(p, (struct picture_shape){
		.layer = layer, .x = x, .y = y, .rgb = rgb, .text = copy,
	});
}

const char *pic_numeral(double value, char buf[UNITS_REAL_SIZE])
{
	/* infinity has no digits that an int can count */
	double digits = value > 0 ? 2 - floor(log10(value * 1.0005)) : 2;

	return units_real_text(value, (int)fmin(fmax(digits, 0), 6), buf);
}

/* ---- picture cells ------------------------------------------------------- */

/* The matrix of a picture: as shapes, or as pixels where cells are too many. */

#define NUMBERS_MAX 16	/* rows up to which cells hold numbers */

/* ---- pixels ------------------------------------------------------------ */

/** Palette of 16 colours: white, the marks, mixed cells, the scale. */
enum { RASTER_WHITE, RASTER_MARKS, RASTER_MIXED = RASTER_MARKS + VIEW_MARKS,
       RASTER_SCALE, RASTER_SHADES = 16 - RASTER_SCALE };

static uint8_t raster_color(const struct pic_layout *l,
			    const struct view_cell *c)
{
	int shade = (int)(scale_cell(l->scales, c) * RASTER_SHADES);
	int mark = 0;

	if (c->class == CELL_UNPLANNED) {
		return RASTER_WHITE;
	}
	while (mark < VIEW_MARKS - 1 && view_marks[mark] != c->class) {
		mark++;
	}
	return (uint8_t)(c->class == CELL_PASS ?
				 RASTER_SCALE + (shade < RASTER_SHADES ?
						 shade : RASTER_SHADES - 1) :
			 cells_failed(c->class) && view_mixed(c) ?
				 RASTER_MIXED : RASTER_MARKS + mark);
}

/** The matrix, a square of pixels for each cell, with white between nodes. */
static void add_raster(const struct pic_layout *l)
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

/* A square of @size at @x, @y with @fill; of one that is bad in part, that
 * part of it has the colour of what is bad. */
static void pic_square(const struct pic_layout *l, float x, float y, float size,
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

static void add_cell(const struct pic_layout *l, int row, int column)
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
	fill = entry && !mixed ? entry->fill :
				 palette_scale(scale_cell(l->scales, c));
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

/* ---- picture ------------------------------------------------------------- */

#define SIDE	     230	/* scale and legend, right of the matrix */
#define MATRIX_WIDTH 880	/* what cells may take together */
#define CELL_MAX     96
#define CELL_MIN     7
#define RASTER_SIZE  1100	/* what pixels may take */
#define RASTER_GAP   4		/* rows of a node that earn it a border */
#define INDEX_MAX    64		/* rows up to which each has its number */
#define FOUND_NAME_MAX 40	/* letters of a part's name */
#define NODE_NAME_MAX 26		/* letters of a row's name */

/** The first and the last row of @a. */
static void rows_of(const struct view *v, const struct accused *a, int rows[2])
{
	rows[0] = 0;
	while (rows[0] < v->n - 1 && v->first[rows[0] + 1] <= a->first) {
		rows[0]++;
	}
	rows[1] = rows[0];
	while (rows[1] < v->n - 1 && v->first[rows[1] + 1] < a->end) {
		rows[1]++;
	}
}

static void found_name(const struct pic_layout *l, const struct accused *a,
		       char name[FOUND_NAME_MAX])
{
	struct part shown = part_shown(l->v->run, &a->finding->part);

	str_copy(name, FOUND_NAME_MAX, PART_NAME(l->v->run, &shown));
}

/** Draw the findings to the right of their rows and below their columns: a bar
 *  each, with names unless they would overlap. */
static void add_found(const struct pic_layout *l)
{
	float line = (float)l->p->font[TEXT_LEFT] + 3;
	float end = l->top + l->size, edge = l->left + l->size;
	char name[FOUND_NAME_MAX];

	for (size_t i = 0; i < l->n_accused; i++) {
		const struct accused *a = &l->accused[i];
		bool room = true;
		int rows[2];
		float from, to, middle;

		rows_of(l->v, a, rows);
		from = l->at[rows[0]];
		to = l->at[rows[1]] + l->cell;
		middle = (from + to) / 2;
		pic_shape(l->p, (struct picture_shape){
			.x = edge + 3, .y = l->top + from, .width = 5,
			.height = fmaxf(2, to - from), .rgb = ALARM });
		pic_shape(l->p, (struct picture_shape){
			.x = l->left + from, .y = end + 3, .height = 5,
			.width = fmaxf(2, to - from), .rgb = ALARM });
		for (size_t k = 0; k < i && room; k++) {
			int other[2];

			rows_of(l->v, &l->accused[k], other);
			room = fabsf((l->at[other[0]] + l->at[other[1]] +
				      l->cell) / 2 - middle) >= line;
		}
		if (room) {
			found_name(l, a, name);
			pic_text(l->p, TEXT_LEFT, edge + 12, l->top + middle,
				 ALARM, "%s", name);
			pic_text(l->p, TEXT_UP, l->left + middle,
				 end + 12 + (float)strlen(name) * LETTER, ALARM,
				 "%s", name);
		}
	}
}

/** Names of nodes, as many as do not run into each other. */
static void add_names(const struct pic_layout *l)
{
	float line = (float)l->p->font[TEXT_CENTER] + 3, free_from = -line;
	char label[2 * LABEL_SIZE];

	for (int r = 0, end; r < l->v->n; r = end) {
		const char *name = labels_row(l->v, l->names, r, label,
					      sizeof(label));
		float middle;

		end = view_node_end(l->v, r);
		middle = (l->at[r] + l->at[end]) / 2;
		if (middle - line / 2 < free_from) {
			continue;
		}
		free_from = middle + line / 2;
		pic_text(l->p, TEXT_RIGHT, l->left - l->index - 8,
			 l->top + middle, INK, "%s", name);
		pic_text(l->p, l->names_up ? TEXT_UP : TEXT_CENTER,
			 l->left + middle, l->top - l->index_up - 10, INK, "%s",
			 name);
	}
}

/** Write the text that tells @row from the others of its group: the number of a
 *  GPU or, in a segment, the name of a node. */
static void index_text(const struct view *v, int row, char text[LABEL_SIZE])
{
	if (v->ranks_per > 0) {
		str_copy(text, LABEL_SIZE,
			 v->run->ranks[v->first[row]].nic_name);
	} else {
		snprintf(text, LABEL_SIZE, "%d", view_row_gpu(v, row));
	}
}

static void add_indexes(const struct pic_layout *l)
{
	float line = (float)l->p->font[TEXT_CENTER] + 1, free_from = -line;
	bool up = l->v->ranks_per > 0;	/* names in a segment */
	char text[LABEL_SIZE];

	for (int r = 0; r < l->v->n && l->index > 0; r++) {
		float middle = l->at[r] + l->cell / 2;

		if (!up && !view_is_rank(l->v, r)) {
			continue;
		}
		if (up && middle - line / 2 < free_from) {
			continue;	/* as many names as there is room for */
		}
		free_from = middle + line / 2;
		index_text(l->v, r, text);
		pic_text(l->p, TEXT_RIGHT, l->left - 6, l->top + middle,
			 INK_SOFT, "%s", text);
		pic_text(l->p, up ? TEXT_UP : TEXT_CENTER, l->left + middle,
			 l->top - (up ? 6 : 10), INK_SOFT, "%s", text);
	}
}

static float longest_name(const struct pic_layout *l)
{
	size_t longest = 0;
	char name[2 * LABEL_SIZE];

	for (int r = 0; r < l->v->n; r = view_node_end(l->v, r)) {
		size_t len = strlen(labels_row(l->v, l->names, r, name,
					       sizeof(name)));

		longest = len > longest ? len : longest;
	}
	return (float)longest * LETTER;
}

/** How large cells are, and where rows begin: pixels with a gap between nodes
 *  of several. */
static bool place_rows(struct pic_layout *l)
{
	int n = l->v->n > 0 ? l->v->n : 1, nodes = 1;
	float gap;

	for (int r = 1; r < l->v->n; r++) {
		nodes += view_new_node(l->v, r);
	}
	l->raster = n > PICTURE_MAX_SHAPES;
	gap = l->raster && n >= RASTER_GAP * nodes ? 1 : 0;
	l->cell = floorf((l->raster ? RASTER_SIZE : MATRIX_WIDTH) / (float)n);
	l->cell = fmaxf(l->raster ? 1 : CELL_MIN, fminf(CELL_MAX, l->cell));
	l->at = calloc((size_t)n + 1, sizeof(*l->at));
	for (int r = 1; l->at && r <= l->v->n; r++) {
		l->at[r] = l->at[r - 1] + l->cell +
			   (r < l->v->n && view_new_node(l->v, r) ? gap : 0);
	}
	l->size = l->at ? l->at[l->v->n] : 0;
	return l->at;
}

static void place_matrix(struct pic_layout *l, float top)
{
	const struct view *v = l->v;
	const bool segments = v->ranks_per > 0;
	float names = longest_name(l);
	float group = l->at[view_node_end(v, 0)];
	bool several = false;	/* rows of a node: they need numbers */
	size_t longest = 0;
	char text[LABEL_SIZE];

	for (int r = 1; r < v->n; r++) {
		several |= !view_new_node(v, r);
	}
	for (int r = 0; segments && r < v->n; r++) {
		index_text(v, r, text);
		longest = strlen(text) > longest ? strlen(text) : longest;
	}
	if (several && segments) {
		l->index = (float)longest * LETTER + 8;
	} else if (several && l->cell >= CELL_MIN &&
		   (v->nodes_per > 0 || v->n <= INDEX_MAX)) {
		l->index = 22;
	}
	l->index_up = segments ? l->index + 4 : l->index;
	l->names_up = names > group - 6;
	/* on whole pixels, which have no halves */
	l->left = ceilf(EDGE + 26 + names + 8 + l->index);
	l->top = ceilf(top + 32 + l->index_up + (l->names_up ? names : 14) +
		       12);
}

static const int fonts[PICTURE_LAYERS] = {
	[TEXT_TITLE] = 22, [TEXT_LEFT] = 14, [TEXT_SMALL] = 12,
	[TEXT_RIGHT] = 13, [TEXT_CENTER] = 13, [TEXT_UP] = 13,
};

static void lay_out(struct pic_layout *l, const struct verdict *v)
{
	struct picture *p = l->p;
	char name[FOUND_NAME_MAX];
	size_t longest = 0;
	float side, found, y;

	/* room for the longest name of a part in a margin */
	for (size_t i = 0; i < l->n_accused; i++) {
		found_name(l, &l->accused[i], name);
		longest = strlen(name) > longest ? strlen(name) : longest;
	}
	found = longest > 0 ? (float)longest * LETTER + 20 : 0;
	memcpy(p->font, fonts, sizeof(fonts));
	place_matrix(l, pic_captions(l, v));
	/* all cells, with lines between nodes and a frame */
	if (l->raster) {
		add_raster(l);
	}
	for (int row = 0; row < l->v->n && !l->raster; row++) {
		for (int column = 0; column < l->v->n; column++) {
			add_cell(l, row, column);
		}
	}
	/* thin lines between nodes, where their rows are ranks, a frame around
	 * all; pixels have gaps instead */
	for (int r = 0; r <= l->v->n; r++) {
		const bool frame = r == 0 || r == l->v->n;

		if (frame || (!l->raster && view_new_node(l->v, r) &&
			      (l->v->ranks_per > 0 || view_is_rank(l->v, r) ||
			       view_is_rank(l->v, r - 1)))) {
			pic_line(p, l->left, l->top + l->at[r], l->size, 0);
			pic_line(p, l->left + l->at[r], l->top, 0, l->size);
		}
	}
	pic_text(l->p, TEXT_UP, EDGE + 4,
		 l->top + fmaxf(l->size / 2 + 30, 64), INK_SOFT, "sender");
	pic_text(l->p, TEXT_CENTER, l->left + l->size / 2,
		 l->top - l->index_up - 12 -
			 (l->names_up ? longest_name(l) + 20 : 26),
		 INK_SOFT, "receiver");
	add_indexes(l);
	add_names(l);
	add_found(l);
	side = l->left + l->size + fmaxf(36, found + 12);
	/* only what is there, as absent faults would alarm */
	y = pic_scales(l, side, l->top + 8);
	for (int i = 0; i < VIEW_MARKS; i++) {
		y = add_legend_line(l, view_marks[i], false, side, y);
		y = add_legend_line(l, view_marks[i], true, side, y);
	}
	p->stroke = l->cell >= 24 ? 2 : 1;
	p->font[TEXT_NUMBER] = l->cell >= 60 ? 15 : l->cell >= 48 ? 13 : 11;
	p->width = (int)fmaxf(MIN_WIDTH, side + SIDE);
	p->height = (int)fmaxf(l->top + l->size + EDGE + found, y);
}

int picture_make(const struct run *run, enum view_metric metric,
		 const struct verdict *v, const bool *open, struct picture *p)
{
	struct pic_layout l = {.p = p, .v = &p->view};
	/* blocks are shapes */
	int max = run->mesh || run->n_ranks <= PICTURE_MAX_ROWS ?
			  PICTURE_MAX_ROWS : PICTURE_MAX_SHAPES;

	*p = (struct picture){ 0 };
	for (int i = 0; open && i < run->n_nodes; i++) {
		max -= open[i] ? run->nodes[i].gpus : 0;
	}
	if (view_make(run, max > 1 ? max : 1, metric, open, &p->view) < 0) {
		return -1;
	}
	for (int i = 0; i < PATH_CLASSES; i++) {
		l.scales[i] = scale_make(l.v, (enum path_class)i);
	}
	l.names = labels_make(run, labels_room(l.v, NODE_NAME_MAX));
	/* of one segment alone the ranks are others */
	l.accused = accused_list(run, mesh_segment(run)[0] ||
				 l.v->ranks_per > 0 ? NULL : v, &l.n_accused);
	if (l.names && l.accused && place_rows(&l)) {
		lay_out(&l, v);
	} else {
		p->failed = true;
	}
	free(l.names);
	free(l.accused);
	free(l.at);
	return p->failed ? -1 : 0;
}

void picture_release(struct picture *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->shapes[i].text);
	}
	free(p->shapes);
	free(p->raster.pixels);
	view_release(&p->view);
	*p = (struct picture){ 0 };
}
