/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ping_run.h"
#include "report/draw/draw.h"
#include "report/judge/caption.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/draw/labels.h"
#include "report/base/palette.h"
#include "report/draw/view.h"

#define TERM_MAX_NAME 16
#define TERM_MIN_WIDTH 40
/** Width of " 12 ", the GPU's number between the node's name and its row. */
#define TERM_INDEX 4

struct term {
	const struct view *view;
	enum term_style style;
	struct scale scale;
	char (*names)[LABEL_SIZE];	/* of the nodes, for the rows */
	char (*heads)[LABEL_SIZE];	/* and where columns are narrower */
	int name_width;
	int cell_width;		/* 1 or 2 */
	const char *pad;	/* behind what is 1 wide */
	bool gaps;		/* a space between nodes */
	struct str *out;
};

/** Nearest of the 256 colours: the 6 x 6 x 6 cube or the grey ramp. */
static int color_256(uint32_t rgb)
{
	static const int levels[] = { 0, 95, 135, 175, 215, 255 };
	int part[3] = { (int)(rgb >> 16), (int)(rgb >> 8 & 0xff),
			(int)(rgb & 0xff) };
	int cube = 0, cube_error = 0, grey_error = 0;
	int mean = (part[0] + part[1] + part[2]) / 3;
	int grey = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 8 + 5) / 10;

	for (int i = 0; i < 3; i++) {
		int best = 0, g = part[i] - (8 + 10 * grey);

		for (int k = 1; k < 6; k++) {
			int d = part[i] - levels[k], b = part[i] - levels[best];

			best = d * d < b * b ? k : best;
		}
		cube = cube * 6 + best;
		cube_error += (part[i] - levels[best]) *
			      (part[i] - levels[best]);
		grey_error += g * g;
	}
	return grey_error < cube_error ? 232 + grey : 16 + cube;
}

/** One square of the map, with @text in it. */
static void add_square(const struct term *t, uint32_t fill, uint32_t ink,
		       const char *text)
{
	if (t->style == TERM_COLOR) {
		str_addf(t->out, "\033[48;5;%d;38;5;%dm%s%s\033[0m",
			 color_256(fill), color_256(ink), text, t->pad);
	} else {
		str_addf(t->out, "%s%s", text, t->pad);
	}
}

/** Where a value stands from the least to the most of them: what colours say is
 *  how good it is, what digits and bars say is how much. */
static double amount(const struct term *t, double place)
{
	return t->scale.less_is_good ? 1 - place : place;
}

static void add_place(const struct term *t, double place)
{
	static const char *const blocks[] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	double much = amount(t, place);
	int decile = much >= 1 ? 9 : (int)(much * 10);
	int eighth = much >= 1 ? 7 : (int)(much * 8);
	uint32_t fill = palette_scale(place);
	char digit[2] = { (char)('0' + decile), '\0' };

	if (t->style == TERM_COLOR) {
		add_square(t, fill, palette_ink(fill), " ");
	} else {
		add_square(t, fill, 0,
			   t->style == TERM_ASCII ? digit : blocks[eighth]);
	}
}

static void add_cell(const struct term *t, const struct view_cell *c)
{
	const struct palette_entry *entry = palette_class(c->class);
	char letter[2] = { entry ? entry->letter : '?', '\0' };

	if (entry && c->class == CELL_UNPLANNED) {
		str_addf(t->out, " %s", t->pad);
	} else if (entry) {
		add_square(t, entry->fill, entry->ink, letter);
	} else {
		add_place(t, isnan(c->value) ? 1 :
			  scale_place(&t->scale, (double)c->value));
	}
}

static bool gap_before(const struct term *t, int column)
{
	return t->gaps && view_new_node(t->view, column);
}

/** Columns of the narrowest node. */
static int narrowest(const struct term *t)
{
	int least = TERM_MAX_NAME;

	for (int c = 0, end; c < t->view->n; c = end) {
		end = view_node_end(t->view, c);
		if ((end - c) * t->cell_width < least) {
			least = (end - c) * t->cell_width;
		}
	}
	return least;
}

/** The line of node names over the columns, and the line of GPU numbers. */
static void add_header(const struct term *t)
{
	const struct view *v = t->view;

	str_addf(t->out, "%*s", t->name_width + TERM_INDEX, "");
	for (int c = 0, end; c < v->n; c = end) {
		int node = view_row_node(v, c), width;
		bool fits;

		end = view_node_end(v, c);
		width = (end - c) * t->cell_width;
		fits = (int)strlen(t->names[node]) <= width;
		str_addf(t->out, "%s%-*s", gap_before(t, c) ? " " : "", width,
			 fits ? t->names[node] : t->heads[node]);
	}
	str_addf(t->out, "\n%*s", t->name_width + TERM_INDEX, "");
	for (int c = 0; c < v->n; c++) {
		str_addf(t->out, "%s%d%s", gap_before(t, c) ? " " : "",
			 view_row_gpu(v, c) % 10, t->pad);
	}
	str_addch(t->out, '\n');
}

static void add_label(const struct term *t, int row)
{
	const struct view *v = t->view;
	char name[2 * LABEL_SIZE];

	if (v->nodes_per) {
		str_addf(t->out, "%-*s ", t->name_width + TERM_INDEX - 1,
			 labels_row(v, t->names, row, name, sizeof(name)));
		return;
	}
	str_addf(t->out, "%-*s%3d ", t->name_width,
		 row == 0 || view_new_node(v, row) ?
			 t->names[view_row_node(v, row)] : "",
		 view_row_gpu(v, row));
}

static void add_rows(const struct term *t)
{
	for (int r = 0; r < t->view->n; r++) {
		add_label(t, r);
		for (int c = 0; c < t->view->n; c++) {
			str_add(t->out, gap_before(t, c) ? " " : "");
			add_cell(t, view_cell(t->view, r, c));
		}
		str_addch(t->out, '\n');
	}
}

static void add_scale(const struct term *t)
{
	const struct view_unit *u = &view_units[t->view->metric];
	char text[UNITS_REAL_SIZE];

	if (t->scale.high <= 0) {
		return;
	}
	str_addf(t->out, "%s ",
		 units_real_text(scale_value(&t->scale, amount(t, 0)), 2,
				 text));
	for (int i = 0; i < 10; i++) {
		add_place(t, amount(t, i / 9.0));
	}
	str_addf(t->out, "%s%s %s%s%s\n", t->cell_width == 2 ? "" : " ",
		 units_real_text(scale_value(&t->scale, amount(t, 1)), 2,
				 text),
		 u->unit, t->scale.log ? " (log)" : "", u->more);
}

static void add_legend(const struct term *t)
{
	static const enum cell_class marks[] = {
		CELL_FAIL, CELL_TIMEOUT, CELL_CORRUPT, CELL_SLOW, CELL_SKIPPED,
		CELL_NOT_RUN,
	};
	const char *before = "";

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const struct palette_entry *entry = palette_class(marks[i]);
		char letter[2] = { entry->letter, '\0' };

		if (t->view->present[marks[i]] == 0) {
			continue;
		}
		str_add(t->out, before);
		add_square(t, entry->fill, entry->ink, letter);
		str_addf(t->out, "%s%s", t->cell_width == 2 ? "" : " ",
			 marks[i] == CELL_SLOW ?
				 run_slow_word(t->view->run) : entry->word);
		before = "   ";
	}
	if (before[0]) {
		str_addch(t->out, '\n');
	}
}

/** Names of at most @max letters, and a column for @per of them in a row. */
static int make_names(struct term *t, const struct run *run, size_t max,
		      int per)
{
	int longest;

	free(t->names);
	t->names = labels_make(run, max);
	if (!t->names) {
		return -1;
	}
	longest = (int)labels_longest(t->names, (size_t)run->n_nodes);
	if (per > 1) {		/* "n4-n7", without a number behind it */
		longest = 2 * longest + 1 - (TERM_INDEX - 1);
	}
	t->name_width = longest < 4 ? 4 : longest;
	return 0;
}

static int room_of(const struct term *t, int width)
{
	return (width < TERM_MIN_WIDTH ? TERM_MIN_WIDTH : width) -
	       t->name_width - TERM_INDEX;
}

static int make_view(struct term *t, const struct run *run,
		     enum view_metric metric, int width, struct view *view)
{
	if (make_names(t, run, TERM_MAX_NAME, 1) < 0 ||
	    view_make(run, room_of(t, width), metric, view) < 0) {
		return -1;
	}
	if (view->nodes_per < 2) {
		return 0;
	}
	view_release(view);	/* longer names leave less room */
	return make_names(t, run, TERM_MAX_NAME / 2 + 1, 2) < 0 ?
		       -1 : view_make(run, room_of(t, width), metric, view);
}

static void set_spacing(struct term *t, int room)
{
	int gaps = 0;

	for (int r = 0; r < t->view->n; r++) {
		gaps += !t->view->nodes_per && view_new_node(t->view, r);
	}
	t->cell_width = 2 * t->view->n <= room ? 2 : 1;
	t->pad = t->cell_width == 2 ? " " : "";
	t->gaps = gaps && t->cell_width * t->view->n + gaps <= room;
}

static void add_map(const struct term *t)
{
	char text[128];

	if (t->view->metric == VIEW_CONTRAST) {
		str_addf(t->out, "\n%s; ",
			 view_metric_text(t->view, text, sizeof(text)));
	}
	view_block_text(t->view, text, sizeof(text));
	str_addf(t->out, "rows send, columns receive%s%s\n",
		 text[0] ? "; " : "", text);
	if (!t->view->nodes_per) {
		add_header(t);
	}
	add_rows(t);
	add_scale(t);
	add_legend(t);
}

static int render_map(const struct run *run, enum view_metric metric,
		      int width, enum term_style style, struct str *out)
{
	struct view view = { 0 };
	struct term t = { .view = &view, .style = style, .out = out };
	int rc = make_view(&t, run, metric, width, &view);

	if (rc == 0) {
		set_spacing(&t, room_of(&t, width));
		t.scale = scale_make(&view);
		t.heads = labels_make(run, (size_t)narrowest(&t));
		rc = t.heads ? 0 : -1;
	}
	if (rc == 0) {
		add_map(&t);
	}
	free(t.names);
	free(t.heads);
	view_release(&view);
	return rc < 0 || out->failed ? -1 : 0;
}

int term_render_contrast(const struct run *run, int width,
			 enum term_style style, struct str *out)
{
	return run->n_ranks == 0 ?
		       0 : render_map(run, VIEW_CONTRAST, width, style, out);
}

int term_render(const struct run *run, int width, enum term_style style,
		struct str *out)
{
	if (run->n_ranks == 0) {
		return 0;
	}
	if (run->drill) {
		str_add(out, "DRILL: faults were injected on purpose\n");
	}
	if (render_map(run, run->mesh ? VIEW_RTT : VIEW_BANDWIDTH, width, style,
		       out) < 0) {
		return -1;
	}
	if (run->mesh && run->mesh->cross && term_segments(run, width, out)) {
		return -1;
	}
	return run->contrast.kind == CONTRAST_NONE ?
		       0 :
		       render_map(run, VIEW_CONTRAST, width, style, out);
}
