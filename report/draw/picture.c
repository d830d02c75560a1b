/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/picture.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "report/base/wrap.h"
#include "report/draw/view.h"
#include "report/judge/caption.h"
#include "lib/data/cells.h"
#include "report/model/run.h"

/** Passed at a later attempt: a ring; a colour where cells are pixels. */
#define FLAKY	 0x00a0b0
static const struct palette_entry flaky = {
	.mark = MARK_RING, .fill = FLAKY, .ink = 0x000000,
};
/** Bad in part: told from the scale and from the marks by colour-blind readers,
 *  too. */
#define MIXED	 0x9600c8

#define SIDE	  250	/* scale and legend, right of the matrix */

/* ---- picture words ------------------------------------------------------- */

/* The surroundings of a picture's matrix: scales, legend, captions. */

/* ---- beside ------------------------------------------------------------ */

static void pic_square(const struct pic_layout *l, struct picture_shape box,
		       const struct view_cell *c);

/** Add the ticks of @s to its bar at @x, @y. */
static void add_ticks(const struct pic_layout *l, const struct scale *s,
		      float x, float y, float height)
{
	double ticks[SCALE_TICKS];
	const int n = scale_ticks(s, ticks);

	for (int i = 0; i < n; i++) {
		float at = y + height * (1 - (float)scale_place(s, ticks[i]));

		pic_line(l->p, x + 22, at, 5, 0);
		if (s->diverging) {
			pic_text(l->p, TEXT_LEFT, x + 32, at, INK,
				 "%s%.0f %%", ticks[i] > 1.001 ? "+" : "",
				 round(100 * (ticks[i] - 1)) + 0.0);
		} else {
			pic_text(l->p, TEXT_LEFT, x + 32, at, INK, "%g",
				 ticks[i]);
		}
	}
}

/** Add the colours and what they stand for: a scale for each kind of path that
 *  has its own.  Returns where it ends. */
static float pic_scales(const struct pic_layout *l, float x, float y)
{
	enum { STEPS = 48, STEP = 3, HEIGHT = STEP * STEPS };
	const struct view_unit *u = &view_units[l->v->metric];
	int n = scales_shown(l->v->metric, l->scales), shown = 0;
	char text[UNITS_REAL_SIZE];

	for (int k = 0; k < PATH_CLASSES && shown < n; k++) {
		const struct scale *s = &l->scales[k];

		if (s->high <= 0) {
			continue;
		}
		shown++;
		pic_text(l->p, TEXT_LEFT, x, y, INK, "%s%s%s",
			 s->diverging ? "change of bandwidth" : u->scale,
			 n > 1 ? " " : "",
			 n > 1 ? run_path_words((enum path_class)k) : "");
		y += 18;
		if (s->log) {
			pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT,
				 "log scale, the same in every run");
			y += 15;
		}
		for (int i = 0; u->notes[i] && !s->diverging; i++) {
			pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT, "%s",
				 u->notes[i]);
			y += 15;
		}
		if (s->median > 0) {
			pic_text(l->p, TEXT_SMALL, x, y, INK_SOFT,
				 "median %s", pic_numeral(s->median, text));
			y += 15;
		}
		y += 4;
		for (int i = 0; i < STEPS; i++) {
			pic_shape(l->p, (struct picture_shape){
				.x = x, .width = 22,
				.y = y + (float)i * STEP,
				/* overlapping: no seam shines through */
				.height = i < STEPS - 1 ? STEP + 1 : STEP,
				.rgb = scale_color_at(s,
						      1 - (i + 0.5) / STEPS),
			});
		}
		if (s->median > 0) {
			pic_line(l->p, x - 4,
				 y + HEIGHT * (1 - (float)SCALE_MEDIAN), 30, 0);
		}
		add_ticks(l, s, x, y, HEIGHT);
		y += HEIGHT + 30;
	}
	return y + (n > 0 ? 10 : 0);
}

static struct picture_shape box_at(float x, float y, uint32_t rgb)
{
	return (struct picture_shape){ .x = x + 2, .y = y - 9, .width = 18,
				       .height = 18, .rgb = rgb };
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
	char more[48] = "";

	if (n == 0) {
		return y;
	}
	if (pixel) {
		c.class = CELL_PASS;
	}
	/* tests of the follow-up are not counted in the texts */
	if (l->counted && l->counts[class] < n) {
		snprintf(more, sizeof(more), ", %zu in the follow-up",
			 n - l->counts[class]);
		n = l->counts[class];
	}
	pic_square(l, box_at(x, y, pixel ? MIXED :
			     mixed ? palette_scale(1) : entry->fill), &c);
	if (!mixed && !l->raster) {
		pic_mark(l->p, x + 11, y, 11, entry);
	}
	pic_text(l->p, TEXT_LEFT, x + 32, y, INK, "%s%s (%zu%s%s)",
		 mixed ? "some " : "",
		 class == CELL_SLOW ? run_slow_word(l->v->run) : entry->word, n,
		 view_folds(l->v) ? " squares" : "", more);
	y += 26;
	if (class != CELL_SLOW || mixed || l->v->metric != VIEW_BANDWIDTH) {
		return y;
	}
	for (int i = 0; i < 12; i++) {
		pic_shape(l->p, (struct picture_shape){
			.x = x + 32 + (float)i * 9, .y = y - 10, .width = 9,
			.height = 10, .rgb = palette_slow(i / 11.0) });
	}
	pic_text(l->p, TEXT_SMALL, x + 32, y + 10, INK_SOFT,
		 "0 to 100 %% below the median");
	return y + 30;
}

/** One more line of the legend, of squares that have no class of their own. */
static float add_legend_more(const struct pic_layout *l, size_t n, uint32_t rgb,
			     const char *words, float x, float y)
{
	if (n == 0) {
		return y;
	}
	pic_shape(l->p, box_at(x, y, INK_SOFT));
	pic_shape(l->p, (struct picture_shape){
		.x = x + 3, .y = y - 8, .width = 16, .height = 16,
		.rgb = rgb });
	pic_text(l->p, TEXT_LEFT, x + 32, y, INK, "%s", words);
	return y + 26;
}

/** The legend: only what is there, as absent faults would alarm. */
static float add_legend(const struct pic_layout *l, float x, float y)
{
	const struct view *v = l->v;
	char text[80];

	for (int i = 0; i < VIEW_MARKS; i++) {
		y = add_legend_line(l, view_marks[i], false, x, y);
		y = add_legend_line(l, view_marks[i], true, x, y);
	}
	snprintf(text, sizeof(text), "passed at a later attempt (%zu)",
		 v->flaky);
	if (v->flaky > 0 && !l->raster) {
		pic_mark(l->p, x + 11, y, 11, &flaky);
	}
	y = add_legend_more(l, v->flaky, l->raster ? FLAKY : palette_scale(1),
			    text, x, y);
	snprintf(text, sizeof(text), "passed, no figure (%zu)", v->bare);
	y = add_legend_more(l, v->bare, PALETTE_NO_FIGURE, text, x, y);
	if (v->diagonal > 0 && v->blank > 0) {
		snprintf(text, sizeof(text), "%s, diagonal",
			 view_blank_text(v));
		return add_legend_more(l, 1, 0xffffff, text, x, y);
	}
	y = add_legend_more(l, v->diagonal, 0xffffff, "diagonal: no test", x,
			    y);
	return add_legend_more(l, v->blank, 0xffffff, view_blank_text(v), x, y);
}

/* ---- above ------------------------------------------------------------- */

static bool is_marked(const struct pic_layout *l, const struct finding *f)
{
	for (size_t i = 0; i < l->n_accused; i++) {
		if (l->accused[i].finding == f) {
			return true;
		}
	}
	return false;
}

/* Title, what was run, and what a reader must know, at the top. */
static float pic_captions(const struct pic_layout *l, const struct verdict *v)
{
	const struct run *run = l->v->run;
	const float wide = fmaxf(MIN_WIDTH, l->size + SIDE + 120);
	const uint32_t rgb = pic_status_rgb(v);
	char text[CAPTION_SIZE], metric[160];
	struct str out = STR_INIT;
	float y;

	view_metric_text(l->v, metric, sizeof(metric));
	y = pic_title(l->p, wide, run, v, metric);
	if (run_is_diff(run)) {
		str_addf(&out, "gpucheck diff, bandwidth of %s compared with %s",
			 run->contrast.now, run->contrast.then);
	} else {
		str_addf(&out, "%s; %s", metric,
			 caption_what(run, text, sizeof(text)));
	}
	y = pic_caption(l->p, y, INK, str_text(&out));
	str_reset(&out);
	y = pic_caption(l->p, y, INK, caption_cells(run, text, sizeof(text)));
	if (caption_partial(run, v, text, sizeof(text))) {
		y = pic_caption(l->p, y, INK, text);
	}
	/* findings that have no row, such as all paths between nodes */
	for (size_t i = 0; i < v->n && !mesh_segment(run)[0]; i++) {
		char name[PART_NAME_SIZE];

		if (!is_marked(l, &v->findings[i])) {
			str_addf(&out, "%s%s", out.len ? "; " :
				 "found, without a row: ",
				 finding_short(run_whole(run),
					       &v->findings[i], name,
					       sizeof(name)));
		}
	}
	y = pic_caption(l->p, y, rgb, str_text(&out));
	str_release(&out);
	y = pic_caption(l->p, y, INK,
			view_block_text(l->v, text, sizeof(text)));
	for (int i = 0; caption_note(run, i, false, text, sizeof(text)); i++) {
		y = pic_caption(l->p, y,
				run->drill && i == 0 ? ALARM : INK_SOFT, text);
	}
	if (!run_is_diff(run)) {
		caption_command(run, text, sizeof(text));
		/* what is cut has dots */
		if (strlen(text) > (size_t)((wide - 2 * EDGE) / 6.6F)) {
			memcpy(text + (size_t)((wide - 2 * EDGE) / 6.6F) - 3,
			       "...", 4);
		}
		pic_text(l->p, TEXT_SMALL, EDGE, y, INK_SOFT, "%s", text);
	}
	return y + 22;
}

/* ---- picture cells ------------------------------------------------------- */

/* The matrix of a picture: as shapes, or as pixels where cells are too many. */

#define NUMBERS_MAX 16	/* rows up to which cells hold numbers */

/* ---- pixels ------------------------------------------------------------ */

/** Palette: white, the marks, mixed and flaky cells, no figure, slow, the
 *  scale. */
enum { RASTER_WHITE, RASTER_MARKS, RASTER_MIXED = RASTER_MARKS + VIEW_MARKS,
       RASTER_FLAKY, RASTER_BARE, RASTER_SLOW, RASTER_SLOWS = 12,
       RASTER_SCALE = RASTER_SLOW + RASTER_SLOWS,
       RASTER_SHADES = 8 };

static uint8_t raster_color(const struct pic_layout *l,
			    const struct view_cell *c)
{
	int shade = (int)(scale_cell(l->scales, c) * RASTER_SHADES);
	double loss = scale_loss(l->v, c);
	int mark = 0;

	if (c->class == CELL_UNPLANNED) {
		return RASTER_WHITE;
	}
	if (c->class == CELL_PASS) {
		return (uint8_t)(c->flaky > 0	   ? RASTER_FLAKY :
				 isnan(c->well)	   ? RASTER_BARE :
				 shade < RASTER_SHADES ? RASTER_SCALE + shade :
					RASTER_SCALE + RASTER_SHADES - 1);
	}
	if (cells_failed(c->class) && view_mixed(c)) {
		return RASTER_MIXED;
	}
	if (loss > 0) {
		return (uint8_t)(RASTER_SLOW +
				 (int)(loss * (RASTER_SLOWS - 1) + 0.5));
	}
	while (mark < VIEW_MARKS - 1 && view_marks[mark] != c->class) {
		mark++;
	}
	return (uint8_t)(RASTER_MARKS + mark);
}

/** The matrix, some pixels for each cell, with white between nodes. */
static void add_raster(const struct pic_layout *l)
{
	struct picture_raster *r = &l->p->raster;
	struct scale any = { 0 };
	size_t wide = (size_t)l->size;

	*r = (struct picture_raster){ .x = l->left, .y = l->top };
	for (int i = 0; i < PATH_CLASSES; i++) {
		any.diverging |= l->scales[i].diverging;
	}
	for (int i = 0; i < VIEW_MARKS; i++) {
		r->colors[RASTER_MARKS + i] =
			palette_class(view_marks[i])->fill;
	}
	for (int i = 0; i < RASTER_SLOWS; i++) {
		r->colors[RASTER_SLOW + i] =
			palette_slow(i / (RASTER_SLOWS - 1.0));
	}
	for (int i = 0; i < RASTER_SHADES; i++) {
		r->colors[RASTER_SCALE + i] =
			scale_color_at(&any, (i + 0.5) / RASTER_SHADES);
	}
	r->colors[RASTER_WHITE] = 0xffffff;
	r->colors[RASTER_MIXED] = MIXED;
	r->colors[RASTER_FLAKY] = FLAKY;
	r->colors[RASTER_BARE] = PALETTE_NO_FIGURE;
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
			       raster_color(l, view_cell(l->v, row, c)),
			       (size_t)l->wide[c]);
		}
		for (size_t k = 1; k < (size_t)l->wide[row]; k++) {
			memcpy(line + k * wide, line, wide);
		}
	}
}

/* ---- shapes ------------------------------------------------------------ */

#define TIPS_MAX  32	/* rows up to which good cells have tooltips, ... */
#define SHADES	  12	/* ... beyond that so many colours */
#define MARK_MIN  10	/* pixels of a cell that has room for a mark */

/* The square @box; of one that is bad in part, that part of it has the colour
 * of what is bad. */
static void pic_square(const struct pic_layout *l, struct picture_shape box,
		       const struct view_cell *c)
{
	const struct palette_entry *entry = palette_class(c->class);
	float share = c->planned > 0 ?
			      1 - (float)c->passed / (float)c->planned : 1;
	float size = fminf(box.width, box.height);
	float side = fmaxf(3, size * sqrtf(share));

	box.cell = c->src >= 0 && (l->v->n <= TIPS_MAX ||
				   c->class != CELL_PASS || c->flaky > 0) ?
			   c : NULL;
	pic_shape(l->p, box);
	if (entry && view_mixed(c)) {
		pic_shape(l->p, (struct picture_shape){
			.x = box.x + (box.width - side) / 2,
			.y = box.y + (box.height - side) / 2,
			.width = side, .height = side,
			.rgb = c->class == CELL_SLOW ?
				       palette_slow(scale_loss(l->v, c)) :
				       entry->fill,
		});
	}
}

/** The colour of the cells of @c that pass. */
static uint32_t good_color(const struct pic_layout *l,
			   const struct view_cell *c)
{
	const struct scale *s = &l->scales[c->path];
	double place;

	if (l->v->n <= TIPS_MAX || isnan(c->well)) {
		return scale_color(l->scales, c);
	}
	place = scale_place(s, (double)c->well);
	return scale_color_at(s, (floor(fmin(place * SHADES, SHADES - 1)) +
				  0.5) / SHADES);
}

/** Write the number of a cell. */
static void cell_text(const struct pic_layout *l, double value,
		      char text[UNITS_REAL_SIZE])
{
	if (l->v->metric == VIEW_CONTRAST && run_is_diff(l->v->run)) {
		snprintf(text, UNITS_REAL_SIZE, fabs(value - 1) < 0.005 ?
				 "%.0f%%" : "%+.0f%%",
			 fabs(value - 1) < 0.005 ? 0 : 100 * (value - 1));
	} else if (l->v->metric == VIEW_CONTRAST) {
		snprintf(text, UNITS_REAL_SIZE, "%.2f", value);
	} else {
		pic_numeral(value, text);
	}
}

static void add_cell(const struct pic_layout *l, int row, int column)
{
	const struct view_cell *c = view_cell(l->v, row, column);
	const struct palette_entry *entry = palette_class(c->class);
	float gap = l->v->n > TIPS_MAX ? 0 : l->cell >= 24 ? 2 : 1;
	float x = l->left + l->at[column], y = l->top + l->at[row];
	float wide = l->wide[column], high = l->wide[row];
	float least = fminf(wide, high);
	bool number = l->v->n <= NUMBERS_MAX && !isnan(c->value);
	bool mixed = view_mixed(c);
	bool shaded = entry && !mixed && c->class == CELL_SLOW;
	char text[UNITS_REAL_SIZE];
	uint32_t fill, ink;

	if (c->class == CELL_UNPLANNED) {
		return;
	}
	fill = shaded ? palette_slow(scale_loss(l->v, c)) :
	       entry && !mixed ? entry->fill : good_color(l, c);
	ink = entry && !mixed && !shaded ? entry->ink : palette_ink(fill);
	pic_square(l, (struct picture_shape){
		.x = x + gap / 2, .y = y + gap / 2, .width = wide - gap,
		.height = high - gap, .rgb = fill }, c);
	/* a slow cell has a number too, over its mark */
	if (entry && !mixed && least >= MARK_MIN) {
		struct palette_entry mark = *entry;

		mark.ink = ink;
		pic_mark(l->p, x + wide / 2,
			 y + (number ? 0.75F : 0.5F) * high,
			 fminf(0.5F * least, 22), &mark);
	} else if (c->class == CELL_PASS && c->flaky > 0) {
		struct palette_entry mark = flaky;

		mark.ink = ink;
		pic_mark(l->p, x + wide / 2,
			 y + (number ? 0.8F : 0.5F) * high,
			 fminf(number ? 0.3F * least : 0.7F * least, 22),
			 &mark);
	}
	if (number) {
		cell_text(l, (double)c->value, text);
		pic_text(l->p, TEXT_NUMBER, x + wide / 2,
			 y + (entry ? 0.375F : 0.5F) * high, ink, "%s", text);
	}
}

/* ---- picture ------------------------------------------------------------- */

#define MATRIX_WIDTH 880	/* what cells may take together */
#define CELL_MAX     96
#define CELL_MIN     7
#define RASTER_SIZE  1100	/* what pixels may take */
#define RASTER_NODE  24		/* pixels of a node that earn it a border */
#define INDEX_MAX    64		/* rows up to which each has its number */
#define FOUND_NAME_MAX 48	/* letters of a part's name */
#define FOUND_LINE   17		/* pixels from a name to the next */
#define LANE	     8		/* pixels from a bar to the next */
#define LANES_MAX    6
#define OPEN_ROW_MIN 16		/* pixels of a rank where others are blocks */
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

/** Texts of the findings: name and number at the first of their rows, at a few
 *  more the same, else the number alone. */
static void name_found(const struct pic_layout *l, const struct verdict *v)
{
	for (size_t i = 0; i < l->n_accused; i++) {
		const struct finding *f = l->accused[i].finding;
		char name[PART_NAME_SIZE];
		size_t before = 0, all = 0;

		for (size_t k = 0; k < l->n_accused; k++) {
			before += k < i && l->accused[k].finding == f;
			all += l->accused[k].finding == f;
		}
		snprintf(l->found[i].text, sizeof(l->found[i].text),
			 before > 0 && all > 2 ? "%d" : "%d: %.*s",
			 (int)(f - v->findings) + 1, FOUND_NAME_MAX,
			 finding_short(run_whole(l->v->run), f, name,
				       sizeof(name)));
	}
}

static int by_middle(const void *a, const void *b, void *marks)
{
	const struct found_mark *m = marks;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const float p = m[x].from + m[x].to, q = m[y].from + m[y].to;

	return p < q ? -1 : p > q ? 1 : x < y ? -1 : 1;
}

/** Place the bars: those that touch beside each other; and the names: none over
 *  another.  False without memory. */
static bool place_found(struct pic_layout *l, const struct verdict *v)
{
	const float line = FOUND_LINE;
	size_t *order = calloc(l->n_accused + 1, sizeof(*order)), n = 0;
	float last = -line, end;

	l->found = calloc(l->n_accused + 1, sizeof(*l->found));
	if (!order || !l->found) {
		free(order);
		return false;
	}
	name_found(l, v);
	for (size_t i = 0; i < l->n_accused; i++) {
		struct found_mark *m = &l->found[i];
		int rows[2];

		rows_of(l->v, &l->accused[i], rows);
		m->from = l->at[rows[0]];
		m->to = l->at[rows[1]] + l->wide[rows[1]];
		for (size_t k = 0; k < i; k++) {
			const struct found_mark *o = &l->found[k];

			if (o->lane == m->lane && m->lane < LANES_MAX - 1 &&
			    m->from <= o->to + 1 && o->from <= m->to + 1) {
				m->lane++;
				k = (size_t)-1;
			}
		}
		l->lanes = m->lane >= l->lanes ? m->lane + 1 : l->lanes;
		order[i] = i;
	}
	qsort_r(order, l->n_accused, sizeof(*order), by_middle, l->found);
	/* a number alone only where it has room */
	for (size_t i = 0; i < l->n_accused; i++) {
		struct found_mark *m = &l->found[order[i]];
		const float middle = (m->from + m->to) / 2;

		if (!strchr(m->text, ' ') && middle < last + line) {
			continue;
		}
		m->named = true;
		m->label = fmaxf(middle, last + line);
		last = m->label;
		order[n++] = order[i];
	}
	/* back into the height of the matrix, or of all names */
	end = fmaxf(l->size, (float)n * line) - line / 2;
	while (n-- > 0 && l->found[order[n]].label > end) {
		l->found[order[n]].label = end;
		end -= line;
	}
	free(order);
	return true;
}

/** Room for the bars and the names right of the matrix, or below it. */
static float found_room(const struct pic_layout *l)
{
	size_t longest = 0;

	for (size_t i = 0; i < l->n_accused; i++) {
		size_t n = strlen(l->found[i].text);

		longest = l->found[i].named && n > longest ? n : longest;
	}
	return longest > 0 ? (float)longest * LETTER + 30 +
			     LANE * (float)l->lanes : 0;
}

/** Draw the findings to the right of their rows and below their columns: a bar
 *  each, and a line to its name. */
static void add_found(const struct pic_layout *l)
{
	const float end = l->top + l->size, edge = l->left + l->size;
	const float out = 4 + LANE * (float)l->lanes;

	for (size_t i = 0; i < l->n_accused; i++) {
		const struct found_mark *m = &l->found[i];
		const bool fail = l->accused[i].finding->fail;
		const uint32_t rgb = fail ? ALARM : WARNING_INK;
		const float lane = 3 + LANE * (float)m->lane;
		const float middle = (m->from + m->to) / 2;
		const float size = fmaxf(3, m->to - m->from);

		pic_shape(l->p, (struct picture_shape){
			.x = edge + lane, .y = l->top + m->from, .width = 5,
			.height = size, .rgb = fail ? ALARM : WARNING });
		pic_shape(l->p, (struct picture_shape){
			.x = l->left + m->from, .y = end + lane, .height = 5,
			.width = size, .rgb = fail ? ALARM : WARNING });
		if (!m->named) {
			continue;
		}
		pic_line(l->p, edge + lane + 5, l->top + middle,
			 out + 10 - lane - 5, m->label - middle);
		pic_line(l->p, l->left + middle, end + lane + 5,
			 m->label - middle, out + 10 - lane - 5);
		pic_text(l->p, TEXT_LEFT, edge + out + 14, l->top + m->label,
			 rgb, "%s", m->text);
		pic_text(l->p, TEXT_DOWN, l->left + m->label, end + out + 14,
			 rgb, "%s", m->text);
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
		snprintf(text, LABEL_SIZE, "%d", view_row_rank(v, row)->gpu);
	}
}

static void add_indexes(const struct pic_layout *l)
{
	float line = (float)l->p->font[TEXT_CENTER] + 1, free_from = -line;
	bool up = l->v->ranks_per > 0;	/* names in a segment */
	char text[LABEL_SIZE];

	for (int r = 0; r < l->v->n && l->index > 0; r++) {
		float middle = l->at[r] + l->wide[r] / 2;

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
	l->cell = floorf((l->raster ? RASTER_SIZE : MATRIX_WIDTH) / (float)n);
	l->cell = fmaxf(l->raster ? 1 : CELL_MIN, fminf(CELL_MAX, l->cell));
	gap = l->raster && l->cell * (float)n >= RASTER_NODE * (float)nodes ?
		      1 : 0;
	l->at = calloc((size_t)n + 1, sizeof(*l->at));
	l->wide = calloc((size_t)n + 1, sizeof(*l->wide));
	if (!l->at || !l->wide) {
		return false;
	}
	for (int r = 0; r < l->v->n; r++) {
		l->wide[r] = l->v->nodes_per > 0 && view_is_rank(l->v, r) ?
				     fmaxf(l->cell, OPEN_ROW_MIN) : l->cell;
	}
	for (size_t i = 0; i < l->n_accused; i++) {
		int rows[2];

		rows_of(l->v, &l->accused[i], rows);
		for (int r = rows[0]; r <= rows[1]; r++) {
			l->wide[r] = fmaxf(l->wide[r], BAD_ROW_MIN);
		}
	}
	for (int r = 1; r <= l->v->n; r++) {
		l->at[r] = l->at[r - 1] + l->wide[r - 1] +
			   (r < l->v->n && view_new_node(l->v, r) ? gap : 0);
	}
	l->size = l->at[l->v->n];
	return true;
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

static void lay_out(struct pic_layout *l, const struct verdict *v)
{
	struct picture *p = l->p;
	const float found = found_room(l);
	float side, y, strips;

	pic_fonts(p);
	strips = pic_captions(l, v);
	place_matrix(l, strips + strips_height(l));
	strips_add(l, strips);
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
	y = add_legend(l, side, pic_scales(l, side, l->top + 8));
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
	l.names = labels_make(run, l.v->nodes_per > 1 ?
						 (NODE_NAME_MAX - 1) / 2 :
						 NODE_NAME_MAX);
	l.accused = accused_list(run, v, &l.n_accused);
	l.counted = !view_folds(l.v) && metric != VIEW_CONTRAST;
	if (l.counted) {
		run_count_cells(run, l.counts);
	}
	if (l.names && l.accused && place_rows(&l) && place_found(&l, v) &&
	    strips_count(&l)) {
		lay_out(&l, v);
	} else {
		p->failed = true;
	}
	free(l.names);
	free(l.accused);
	free(l.found);
	free(l.at);
	free(l.wide);
	free(l.bad);
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
