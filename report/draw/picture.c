/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw/labels.h"
#include "report/draw/picture_parts.h"
#include "report/model/ping_run.h"

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

static void found_name(const struct layout *l, const struct accused *a,
		       char name[FOUND_NAME_MAX])
{
	struct part shown = part_shown(l->v->run, &a->finding->part);
	char whole[PART_NAME_SIZE];

	part_name(l->v->run, &shown, whole, sizeof(whole));
	str_copy(name, FOUND_NAME_MAX, whole);
}

/** Pixels that the longest name of a part needs in a margin. */
static float found_room(const struct layout *l)
{
	char name[FOUND_NAME_MAX];
	size_t longest = 0;

	for (size_t i = 0; i < l->n_accused; i++) {
		found_name(l, &l->accused[i], name);
		longest = strlen(name) > longest ? strlen(name) : longest;
	}
	return longest > 0 ? (float)longest * LETTER + 20 : 0;
}

/** What was found, behind its rows and below its columns: names as long as
 *  they do not run into each other, a bar for each. */
static void add_found(const struct layout *l)
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
		middle = (l->at[r] + l->at[end]) / 2;
		if (middle - line / 2 < free_from) {
			continue;
		}
		free_from = middle + line / 2;
		group_name(l, r, name);
		pic_text(l->p, TEXT_RIGHT, l->left - l->index - 8,
			 l->top + middle, INK, "%s", name);
		pic_text(l->p, l->names_up ? TEXT_UP : TEXT_CENTER,
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

/** How large cells are, and where rows begin: pixels with a gap between nodes
 *  of several. */
static bool place_rows(struct layout *l)
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

static void place_matrix(struct layout *l, float top)
{
	float names = longest_name(l);
	float group = l->at[view_node_end(l->v, 0)];
	bool several = false;	/* rows of a node: they need numbers */

	for (int r = 1; r < l->v->n; r++) {
		several |= !view_new_node(l->v, r);
	}
	l->index = several && (by_segment(l->v) || l->cell >= CELL_MIN) &&
				   (by_segment(l->v) || l->v->nodes_per > 0 ||
				    l->v->n <= INDEX_MAX) ?
			   index_room(l->v) : 0;
	l->index_up = by_segment(l->v) ? l->index + 4 : l->index;
	l->names_up = names > group - 6;
	/* on whole pixels, which have no halves */
	l->left = ceilf(EDGE + 26 + names + 8 + l->index);
	l->top = ceilf(top + 32 + l->index_up + (l->names_up ? names : 14) +
		       12);
}

static void add_axes(const struct layout *l)
{
	pic_text(l->p, TEXT_UP, EDGE + 4,
		 l->top + fmaxf(l->size / 2 + 30, 64), INK_SOFT, "sender");
	pic_text(l->p, TEXT_CENTER, l->left + l->size / 2,
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

/** How many rows @run may have beside those of open nodes: blocks are
 *  shapes. */
static int max_rows(const struct run *run, const bool *open)
{
	int max = run->mesh || run->n_ranks <= PICTURE_MAX_ROWS ?
			  PICTURE_MAX_ROWS : PICTURE_MAX_SHAPES;

	for (int i = 0; open && i < run->n_nodes; i++) {
		max -= open[i] ? run->nodes[i].gpus : 0;
	}
	return max > 1 ? max : 1;
}

static void lay_out(struct layout *l, const struct verdict *v)
{
	struct picture *p = l->p;
	float side, bottom, found = found_room(l);

	memcpy(p->font, fonts, sizeof(fonts));
	place_matrix(l, pic_captions(l, v));
	pic_matrix(l);
	add_axes(l);
	add_found(l);
	side = l->left + l->size + fmaxf(36, found + 12);
	bottom = pic_legend(l, side, pic_scales(l, side, l->top + 8));
	p->stroke = l->cell >= 24 ? 2 : 1;
	p->font[TEXT_NUMBER] = l->cell >= 60 ? 15 : l->cell >= 48 ? 13 : 11;
	p->width = (int)fmaxf(MIN_WIDTH, side + SIDE);
	p->height = (int)fmaxf(l->top + l->size + EDGE + found, bottom);
}

int picture_make(const struct run *run, enum view_metric metric,
		 const struct verdict *v, const bool *open, struct picture *p)
{
	struct layout l = { .p = p, .v = &p->view };

	*p = (struct picture){ 0 };
	if (view_make(run, max_rows(run, open), metric, open, &p->view) < 0) {
		return -1;
	}
	for (int i = 0; i < PATH_CLASSES; i++) {
		l.scales[i] = scale_make(l.v, (enum path_class)i);
	}
	l.names = labels_make(run, labels_room(l.v, NODE_NAME_MAX));
	/* of one segment alone the ranks are others */
	l.accused = accused_list(run, mesh_segment(run)[0] || by_segment(l.v) ?
					      NULL : v, &l.n_accused);
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
