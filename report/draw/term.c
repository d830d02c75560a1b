/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "report/base/wrap.h"
#include "report/draw/draw.h"
#include "report/draw/view.h"
#include "report/judge/caption.h"
#include "report/model/run.h"

/* ---- term segments ------------------------------------------------------- */

#define SEGMENT_MAX 20	/* letters of a segment */
#define WIDTH_MIN 40
#define CELL_WIDTH 5	/* " 100 " */

static const char *segment_name(const struct run *run, size_t rail)
{
	for (int r = 0; r < run->n_ranks; r++) {
		if ((size_t)run->ranks[r].nic == rail &&
		    mesh_end(run, r)->segment[0]) {
			return mesh_end(run, r)->segment;
		}
	}
	return "?";
}

/* Add a table of the traffic between segments of a ping, @width columns wide,
 * at least 40; -1 without memory. */
static int term_segments(const struct run *run, int width, struct str *out)
{
	size_t all = 0, rails;
	size_t room = (size_t)((width < WIDTH_MIN ? WIDTH_MIN : width) -
			       SEGMENT_MAX - 4) / CELL_WIDTH;
	size_t *measured, *passed;

	for (int r = 0; r < run->n_ranks; r++) {
		all = (size_t)run->ranks[r].nic >= all ?
			      (size_t)run->ranks[r].nic + 1 : all;
	}
	rails = all < room ? all : room;
	/* of each segment to each other one */
	measured = calloc(2 * rails * rails + 1, sizeof(*measured));
	if (!measured) {
		return -1;
	}
	passed = measured + rails * rails;
	for (size_t at = 0; at < run_n_cells(run); at++) {
		size_t from = (size_t)run->ranks[run_src(run, at)].nic;
		size_t to = (size_t)run->ranks[run_dst(run, at)].nic;

		if (from < rails && to < rails) {
			measured[from * rails + to] +=
				run_measured(run->cells[at].class);
			passed[from * rails + to] +=
				run_good(run->cells[at].class);
		}
	}
	str_addf(out, "\nsegments, percent of paths that pass; rows send, "
		 "columns receive\n%*s", SEGMENT_MAX + 4, "");
	for (size_t to = 0; to < rails; to++) {
		str_addf(out, "%*zu", CELL_WIDTH, to);
	}
	str_addch(out, '\n');
	for (size_t from = 0; from < rails; from++) {
		str_addf(out, "%3zu %-*.*s", from, SEGMENT_MAX, SEGMENT_MAX,
			 segment_name(run, from));
		for (size_t to = 0; to < rails; to++) {
			const size_t of = measured[from * rails + to];
			const size_t good = passed[from * rails + to];
			const size_t percent = of ? 100 * good / of : 0;

			/* "100" is all of them, and "0" none */
			if (of == 0) {
				str_addf(out, "%*s", CELL_WIDTH, "-");
			} else {
				str_addf(out, "%*zu", CELL_WIDTH,
					 percent || !good ? percent : 1);
			}
		}
		str_addch(out, '\n');
	}
	if (run->mesh->unrouted > 0) {
		str_add(out, "- not expected to pass: no route\n");
	}
	if (rails < all) {
		str_addf(out, "%zu more segments: report.html\n", all - rails);
	}
	free(measured);
	return 0;
}

/* ---- term ---------------------------------------------------------------- */

#define TERM_MAX_NAME 16
#define TERM_MIN_WIDTH 40
#define TERM_FIGURE_RANKS 16
/** Maps with at most this many rows show all of them. */
#define TERM_WHOLE_ROWS 24
/** Width of " 12 ", the GPU's number between the node's name and its row. */
#define TERM_INDEX 4

struct term {
	const struct view *view;
	enum term_style style;
	struct scale scales[PATH_CLASSES];
	const struct verdict *verdict;	/* NULL: nothing is marked */
	bool *open;			/* nodes of which a part is accused */
	struct accused *accused;
	size_t n_accused;
	char (*names)[LABEL_SIZE];	/* of the nodes, for the rows */
	char (*heads)[LABEL_SIZE];	/* and where columns are narrower */
	int name_width;
	int cell_width;		/* 1 or 2; with figures 4 or 5 */
	bool figures;		/* values in the squares */
	const char *pad;	/* behind what is 1 wide */
	bool gaps;		/* a space between nodes */
	int spare;		/* columns behind a row */
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
	return view_units[t->view->metric].less_is_good ? 1 - place : place;
}

static void add_place(const struct term *t, const struct scale *s,
		      double place)
{
	static const char *const blocks[] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	double much = amount(t, place);
	/* digits change where blocks do: noise at the median is neither */
	int decile = much >= 0.875 ? 9 : (int)(much * 9 / 0.875);
	int eighth = much >= 1 ? 7 : (int)(much * 8);
	uint32_t fill = scale_color_at(s, place);
	char digit[2] = { (char)('0' + decile), '\0' };

	if (t->style == TERM_COLOR) {
		add_square(t, fill, palette_ink(fill), " ");
	} else {
		add_square(t, fill, 0,
			   t->style == TERM_ASCII ? digit : blocks[eighth]);
	}
}

#define FLAKY_LETTER "~"	/* passed at a later attempt */
#define BARE_LETTER  "+"	/* passed without a figure */

/** Slow, with tenths of the median that are missing if there is room. */
static void add_slow(const struct term *t, double loss)
{
	const uint32_t fill = palette_slow(loss);
	struct term tight = *t;
	char text[3] = { palette_class(CELL_SLOW)->letter, '\0' };

	if (loss > 0 && t->cell_width == 2) {
		text[1] = (char)('0' + (loss < 0.9 ? (int)(loss * 10) : 9));
		tight.pad = "";
	}
	add_square(&tight, fill, palette_ink(fill), text);
}

/** A square that is bad in part has the colour of the rest, and a small
 *  letter. */
static void add_class(const struct term *t, const struct palette_entry *entry,
		      bool mixed, uint32_t rest)
{
	char letter[2] = { entry->letter, '\0' };

	if (mixed) {
		letter[0] = (char)tolower(letter[0]);
		add_square(t, rest, palette_ink(rest), letter);
	} else {
		add_square(t, entry->fill, entry->ink, letter);
	}
}

/** A square with its value, if it has one, and its letter if it is bad. */
static void add_figure(const struct term *t, const struct view_cell *at,
		       const struct palette_entry *entry, uint32_t rest)
{
	const uint32_t fill = entry ? entry->fill : rest;
	const int width = t->cell_width - 1;
	const double value = (double)at->value;
	char letter = entry ? entry->letter :
		      at->flaky > 0 ? FLAKY_LETTER[0] :
		      isnan(value)  ? BARE_LETTER[0] : ' ';
	char text[UNITS_REAL_SIZE + 8], figure[UNITS_REAL_SIZE] = "";

	for (int digits = 2; isfinite(value) && digits >= 0; digits--) {
		snprintf(figure, sizeof(figure), "%.*f", digits, value);
		if ((int)strlen(figure) <= width) {
			break;
		}
	}
	if (!figure[0] || (int)strlen(figure) > width) {
		figure[0] = letter;
		figure[1] = '\0';
		letter = ' ';
	}
	snprintf(text, sizeof(text), "%*s%c", width, figure, letter);
	add_square(t, fill, entry ? entry->ink : palette_ink(fill), text);
}

static bool gap_before(const struct term *t, int column)
{
	return t->gaps && view_new_node(t->view, column);
}

/** The line of node names over the columns, and the line of GPU numbers; where
 *  squares stand for nodes, those of the open ones. */
static void add_header(const struct term *t)
{
	const struct view *v = t->view;

	str_addf(t->out, "%*s", t->name_width + TERM_INDEX, "");
	for (int c = 0, end; c < v->n; c = end) {
		int node = view_row_rank(v, c)->node, width;
		const char *name = t->names[node];

		end = view_node_end(v, c);
		width = (end - c) * t->cell_width;
		name = !view_is_rank(v, c)	   ? "" :
		       (int)strlen(name) <= width ? name : t->heads[node];
		str_addf(t->out, "%s%-*.*s", gap_before(t, c) ? " " : "", width,
			 width, name);
	}
	str_addf(t->out, "\n%*s", t->name_width + TERM_INDEX, "");
	for (int c = 0; c < v->n; c++) {
		str_addf(t->out, "%s%*c%s", gap_before(t, c) ? " " : "",
			 t->figures ? t->cell_width - 1 : 1,
			 view_is_rank(v, c) ?
				 '0' + view_row_rank(v, c)->gpu % 10 : ' ',
			 t->figures ? " " : t->pad);
	}
	str_addch(t->out, '\n');
}

/** Behind a row: which part that was found is there, or that one is. */
static void add_found(const struct term *t, int row)
{
	const struct view *v = t->view;
	char name[PART_NAME_SIZE];

	for (size_t i = 0; i < t->n_accused; i++) {
		const struct accused *a = &t->accused[i];
		struct part shown = part_shown(v->run, &a->finding->part);

		if (a->first >= v->first[row + 1] || a->end <= v->first[row] ||
		    t->spare < 2) {
			continue;
		}
		part_name(v->run, &shown, name, sizeof(name));
		str_addf(t->out, " <%s%s",
			 (int)strlen(name) + 3 <= t->spare ? " " : "",
			 (int)strlen(name) + 3 <= t->spare ? name : "");
		return;
	}
}

/** Return true if bad tests are in the same columns of row @row and of the row
 *  before it, which is of the same node or as well one of whole nodes.  Views
 *  that have no bad test, or few rows, repeat none. */
static bool is_repeated(const struct view *v, int row)
{
	const size_t good = v->present[CELL_PASS] + v->diagonal + v->blank;
	bool same = row > 0 && v->n > TERM_WHOLE_ROWS &&
		    good < (size_t)v->n * (size_t)v->n &&
		    view_is_rank(v, row) == view_is_rank(v, row - 1) &&
		    !(view_is_rank(v, row) && view_new_node(v, row));

	for (int c = 0; c < v->n && same; c++) {
		const struct view_cell *at = view_cell(v, row, c);
		const struct view_cell *was = view_cell(v, row - 1, c);

		/* each rank has a blank of its own */
		same = (view_is_rank(v, row) && (c == row || c == row - 1)) ||
		       (at->class == was->class &&
			view_mixed(at) == view_mixed(was));
	}
	return same;
}

static void add_rows(const struct term *t)
{
	const struct view *v = t->view;
	char name[2 * LABEL_SIZE];
	int left_out = 0;

	for (int r = 0; r < v->n; r++) {
		left_out = is_repeated(v, r) ? left_out + 1 : 0;
		if (left_out > 0 && r + 1 < v->n && is_repeated(v, r + 1)) {
			continue;
		}
		if (left_out > 1) {
			str_addf(t->out, "%*s(%d more rows like the one "
				 "above)\n", t->name_width + TERM_INDEX, "",
				 left_out);
			continue;
		}
		if (view_is_rank(v, r)) {
			str_addf(t->out, "%-*s%3d ", t->name_width,
				 r == 0 || view_new_node(v, r) ?
					 t->names[view_row_rank(v, r)->node] :
					 "",
				 view_row_rank(v, r)->gpu);
		} else {
			str_addf(t->out, "%-*s ",
				 t->name_width + TERM_INDEX - 1,
				 labels_row(v, t->names, r, name,
					    sizeof(name)));
		}
		for (int c = 0; c < v->n; c++) {
			const struct view_cell *at = view_cell(v, r, c);
			const struct palette_entry *entry =
				palette_class(at->class);
			const uint32_t rest = scale_color(t->scales, at);

			str_add(t->out, gap_before(t, c) ? " " : "");
			if (entry && at->class == CELL_UNPLANNED) {
				str_addf(t->out, "%*s", t->cell_width, "");
			} else if (t->figures) {
				add_figure(t, at, entry, rest);
			} else if (at->class == CELL_SLOW && !view_mixed(at)) {
				add_slow(t, scale_loss(v, at));
			} else if (entry) {
				add_class(t, entry, view_mixed(at), rest);
			} else if (at->flaky > 0 || isnan(at->well)) {
				add_square(t, rest, palette_ink(rest),
					   at->flaky > 0 ? FLAKY_LETTER :
							   BARE_LETTER);
			} else {
				add_place(t, &t->scales[at->path],
					  scale_cell(t->scales, at));
			}
		}
		add_found(t, r);
		str_addch(t->out, '\n');
	}
}

/** Add the scale of each class of paths that has its own. */
static void add_scales(const struct term *t)
{
	const struct view_unit *u = &view_units[t->view->metric];
	int n = scales_shown(t->view->metric, t->scales), shown = 0;
	char text[UNITS_REAL_SIZE];

	for (int k = 0; k < PATH_CLASSES && shown < n; k++) {
		const struct scale *s = &t->scales[k];
		const char *of = n > 1 ? run_path_words((enum path_class)k) :
					 "";

		if (s->high <= 0) {
			continue;
		}
		shown++;
		str_addf(t->out, "%s ", units_real_text(
			scale_value(s, amount(t, 0)), 2, text));
		for (int i = 0; i < 10; i++) {
			add_place(t, s, amount(t, i < 9 ?
						  (i + 0.5) * 0.875 / 9 :
						  0.95));
		}
		str_addf(t->out, "%s%s %s%s%s%s%s",
			 t->pad[0] ? "" : " ",
			 units_real_text(scale_value(s, amount(t, 1)), 2, text),
			 u->unit, s->log ? " (log)" : "", of[0] ? ", " : "", of,
			 of[0] ? "" : u->more);
		if (s->median > 0) {
			str_addf(t->out, " (median %s)", units_real_text(
				s->median, 2, text));
		}
		str_addch(t->out, '\n');
	}
}

static void add_legend(const struct term *t)
{
	const struct view *v = t->view;
	const char *before = "", *gap = t->cell_width == 2 ? "" : " ";
	uint32_t fill = palette_scale(1);

	for (size_t i = 0; i < VIEW_MARKS; i++) {
		const struct palette_entry *entry =
			palette_class(view_marks[i]);
		size_t mixed = t->view->mixed[view_marks[i]];
		size_t whole = t->view->present[view_marks[i]] - mixed;
		const char *word = view_marks[i] == CELL_SLOW ?
			run_slow_word(t->view->run) : entry->word;

		for (int some = 0; some < 2; some++) {
			if ((some ? mixed : whole) == 0) {
				continue;
			}
			str_add(t->out, before);
			add_class(t, entry, some, palette_scale(1));
			str_addf(t->out, "%s%s%s", t->pad[0] ? "" : " ",
				 some ? "some " : "", word);
			if (view_marks[i] == CELL_SLOW && !some &&
			    t->cell_width == 2 &&
			    t->view->metric == VIEW_BANDWIDTH) {
				str_add(t->out, " (S5: 50 to 59 % below the "
					"median)");
			}
			before = "   ";
		}
	}
	/* squares that pass and differ from the scale, and those left blank */
	if (v->flaky > 0) {
		str_add(t->out, before);
		add_square(t, fill, palette_ink(fill), FLAKY_LETTER);
		str_addf(t->out, "%spassed at a later attempt", gap);
		before = "   ";
	}
	if (v->bare > 0) {
		fill = PALETTE_NO_FIGURE;
		str_add(t->out, before);
		add_square(t, fill, palette_ink(fill), BARE_LETTER);
		str_addf(t->out, "%spassed, no figure", gap);
		before = "   ";
	}
	if (v->blank > 0) {
		str_addf(t->out, "%sblank: %s", before, view_blank_text(v));
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

/** Nodes that are open have at most half of the room, which the others give
 *  up: at first they take part as if they were not. */
static int make_rows(struct term *t, const struct run *run,
		     enum view_metric metric, int room, struct view *view)
{
	int ranks = 0;

	free(t->open);
	t->open = accused_nodes(run, t->verdict, run->mesh ? 0 : room / 2);
	if (!t->open) {
		return -1;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		ranks += t->open[i] ? run->nodes[i].gpus : 0;
	}
	return view_make(run, run->n_ranks <= room ? room : room - ranks,
			 metric, t->open, view);
}

static int make_view(struct term *t, const struct run *run,
		     enum view_metric metric, int width, struct view *view)
{
	if (make_names(t, run, TERM_MAX_NAME, 1) < 0 ||
	    make_rows(t, run, metric, room_of(t, width), view) < 0) {
		return -1;
	}
	if (view->nodes_per < 2) {
		return 0;
	}
	view_release(view);	/* longer names leave less room */
	return make_names(t, run, TERM_MAX_NAME / 2 + 1, 2) < 0 ?
		       -1 : make_rows(t, run, metric, room_of(t, width), view);
}

static void add_map(const struct term *t)
{
	char text[128];
	const char *unit = t->figures ? view_units[t->view->metric].unit : "";
	bool ranks = false;

	if (run_is_diff(t->view->run)) {
		str_addf(t->out, "\n%s / %s; ", t->view->run->contrast.now,
			 t->view->run->contrast.then);
	} else if (t->view->metric == VIEW_CONTRAST) {
		str_addf(t->out, "\n%s; ",
			 view_metric_text(t->view, text, sizeof(text)));
	}
	view_block_text(t->view, text, sizeof(text));
	str_addf(t->out, "rows send, columns receive%s%s%s%s\n",
		 text[0] ? "; " : "", text, unit[0] ? "; " : "", unit);
	for (int r = 0; r < t->view->n; r++) {
		ranks = ranks || view_is_rank(t->view, r);
	}
	if (ranks) {
		add_header(t);
	}
	add_rows(t);
	if (!t->figures || t->style == TERM_COLOR) {
		add_scales(t);
	}
	add_legend(t);
}

static int render_map(const struct run *run, const struct verdict *v,
		      enum view_metric metric, int width, enum term_style style,
		      bool figures, struct str *out)
{
	struct view view = { 0 };
	struct term t = { .view = &view, .style = style, .out = out,
			  .verdict = v };
	int rc = make_view(&t, run, metric, width, &view);
	int least = TERM_MAX_NAME, gaps = 0, room;

	if (rc == 0) {
		room = room_of(&t, width);
		for (int r = 0; r < view.n; r++) {
			gaps += !view.nodes_per && view_new_node(&view, r);
		}
		/* figures if all ranks have a row and four columns fit each,
		 * else the widest squares that fit; then gaps between nodes */
		t.figures = figures && view.n == run->n_ranks &&
			    view.n <= TERM_FIGURE_RANKS &&
			    4 * view.n + gaps <= room;
		t.cell_width = t.figures ? 4 + (5 * view.n + gaps <= room) :
					   1 + (2 * view.n <= room);
		t.pad = t.cell_width == 2 ? " " : "";
		t.gaps = gaps && t.cell_width * view.n + gaps <= room;
		t.spare = room - t.cell_width * view.n - (t.gaps ? gaps : 0);
		/* heads fit over the narrowest node */
		for (int c = 0, end; c < view.n; c = end) {
			end = view_node_end(&view, c);
			least = (end - c) * t.cell_width < least ?
					(end - c) * t.cell_width : least;
		}
		for (int i = 0; i < PATH_CLASSES; i++) {
			t.scales[i] = scale_make(&view, (enum path_class)i);
		}
		t.heads = labels_make(run, (size_t)least);
		t.accused = accused_list(run, v, &t.n_accused);
		rc = t.heads && t.accused ? 0 : -1;
	}
	if (rc == 0) {
		add_map(&t);
	}
	free(t.names);
	free(t.heads);
	free(t.open);
	free(t.accused);
	view_release(&view);
	return rc < 0 || out->failed ? -1 : 0;
}

int term_render_contrast(const struct run *run, int width,
			 enum term_style style, struct str *out)
{
	return run->n_ranks == 0 ? 0 :
				   render_map(run, NULL, VIEW_CONTRAST, width,
					      style, false, out);
}

int term_render(const struct run *run, const struct verdict *v, int width,
		enum term_style style, enum term_map map, struct str *out)
{
	const bool figures = map == TERM_FIGURES;

	if (run->n_ranks == 0) {
		return 0;
	}
	if (map != TERM_NO_MAP &&
	    render_map(run, v, run->mesh ? VIEW_RTT : VIEW_BANDWIDTH, width,
		       style, figures, out) < 0) {
		return -1;
	}
	if (run->mesh && run->mesh->cross && term_segments(run, width, out)) {
		return -1;
	}
	return run->contrast.kind == CONTRAST_NONE || map == TERM_NO_MAP ?
		       0 :
		       render_map(run, NULL, VIEW_CONTRAST, width, style,
				  figures, out);
}
