/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/big.h"
#include "report/model/ping_run.h"
#include "report/draw/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Beyond this ratio of the largest to the smallest value: log scale. */
#define SCALE_LOG_RATIO 5.0

const struct view_unit view_units[] = {
	[VIEW_BANDWIDTH] = {
		.word = "bandwidth", .unit = "GB/s", .scale = "GB/s",
		.more = ", 10^9 bytes/s per direction",
		.notes = { "= 10^9 bytes per second,", "per direction" },
	},
	[VIEW_LATENCY] = {
		.word = "latency", .unit = "us", .more = "", .scale = "us",
		.notes = { "half a round trip", "of 8 B" },
		.less_is_good = true,
	},
	[VIEW_LINE] = {
		.word = "percent of line rate", .unit = "% of line rate",
		.more = "", .scale = "% of line rate",
		.notes = { "of the slower port", "or PCIe link" },
		.full = 100,
	},
	[VIEW_RTT] = {
		.word = "round trip", .unit = "us", .more = ", a round trip",
		.scale = "us, a round trip", .less_is_good = true,
	},
	[VIEW_CONTRAST] = {
		.word = "", .unit = "", .more = "of the bandwidth",
		.scale = "ratio of bandwidths",
		.notes = { "1 = nothing is lost" },
		.full = 1,
	},
};

const enum cell_class view_marks[VIEW_MARKS] = {
	CELL_FAIL, CELL_TIMEOUT, CELL_CORRUPT, CELL_SLOW, CELL_SKIPPED,
	CELL_NOT_RUN,
};

/** The larger, the worse: what one bad cell makes of its block. */
static const int badness[] = {
	[CELL_UNPLANNED] = 0,
	[CELL_PASS]	 = 1,
	[CELL_NOT_RUN]	 = 2,
	[CELL_SKIPPED]	 = 3,
	[CELL_SLOW]	 = 4,
	[CELL_TIMEOUT]	 = 5,
	[CELL_FAIL]	 = 6,
	[CELL_CORRUPT]	 = 7,
};

/** A ratio needs both passes; else what went wrong in the first counts, then
 *  what did in the other. */
static unsigned contrast_class(const struct run *run, size_t at)
{
	const struct cell *c = &run->cells[at];
	enum cell_class other;

	if (!run->contrast.outcome) {
		return CELL_UNPLANNED;
	}
	if (!isnan(run_ratio(run, at))) {
		return CELL_PASS;
	}
	if (c->class != CELL_PASS && c->class != CELL_SLOW) {
		return c->class;
	}
	other = cells_class_of((enum outcome)run->contrast.outcome[at]);
	return other == CELL_PASS ? CELL_NOT_RUN : other;
}

/** The value of cell @at; NAN = none. */
static float value_of(const struct view *v, size_t at)
{
	const struct cell *c = &v->run->cells[at];

	switch (v->metric) {
	case VIEW_BANDWIDTH:
		return c->bw_GB_s;
	case VIEW_LINE:
		return (float)(100 * run_line_share(v->run, at));
	case VIEW_CONTRAST:
		return (float)run_ratio(v->run, at);
	case VIEW_LATENCY:
	case VIEW_RTT:
		break;
	}
	return c->lat_us;
}

static struct view_cell look_at(const struct view *v, size_t at)
{
	const struct cell *c = &v->run->cells[at];
	struct view_cell seen = {
		.class = c->class, .path = c->path,
		.src = run_src(v->run, at), .dst = run_dst(v->run, at),
		.value = value_of(v, at),
	};

	if (v->metric == VIEW_CONTRAST) {
		seen.class = (uint8_t)contrast_class(v->run, at);
	}
	return seen;
}

bool view_any_value(const struct run *run, enum view_metric metric)
{
	const struct view v = { .run = run, .metric = metric };
	size_t at = 0;

	while (at < run_n_cells(run) && isnan(value_of(&v, at))) {
		at++;
	}
	return at < run_n_cells(run);
}

static bool value_is_worse(const struct view *v, float value, float than)
{
	if (isnan(value) || isnan(than)) {
		return !isnan(value);
	}
	return view_units[v->metric].less_is_good ? value > than :
						    value < than;
}

static bool cell_is_worse(const struct view *v, const struct view_cell *c,
			  const struct view_cell *than)
{
	int a = badness[c->class], b = badness[than->class];

	return a != b ? a > b : value_is_worse(v, c->value, than->value);
}

/** Of the nodes of a mesh how they meet in a segment is shown: where each rail
 *  is for itself, what leads from one to another would hide all else. */
static bool is_shown(const struct view *v, size_t at)
{
	const struct mesh *m = v->run->mesh;

	return !m || !m->cross || m->by_segment > 0 ||
	       !mesh_crosses(v->run, at);
}

/** The cell from @src to @dst as one of those that @out stands for. */
static void fold_cell(const struct view *v, size_t at, struct view_cell *out)
{
	struct view_cell c = look_at(v, at);
	struct view_cell sum = *out;

	sum.planned += c.class != CELL_UNPLANNED;
	if (c.class == CELL_PASS) {
		sum.passed++;
		if (value_is_worse(v, c.value, sum.well)) {
			sum.well = c.value;
			sum.path = c.path;
		}
	}
	if (cell_is_worse(v, &c, out)) {
		sum.class = c.class;
		sum.value = c.value;
		sum.src = c.src;
		sum.dst = c.dst;
	}
	*out = sum;
}

/** All cells that there are, each to its block, by source and destination. */
static int fold_cells(struct view *v)
{
	int *row_of = calloc((size_t)v->run->n_ranks + 1, sizeof(*row_of));

	for (size_t i = 0; i < (size_t)v->n * (size_t)v->n; i++) {
		v->cells[i] = (struct view_cell){
			.class = CELL_UNPLANNED, .value = NAN, .well = NAN,
			.src = -1, .dst = -1,
		};
	}
	for (int row = 0; row_of && row < v->n; row++) {
		for (int r = v->first[row]; r < v->first[row + 1]; r++) {
			row_of[r] = row;
		}
	}
	for (size_t at = 0; row_of && at < run_n_cells(v->run); at++) {
		size_t row = (size_t)row_of[run_src(v->run, at)];
		size_t column = (size_t)row_of[run_dst(v->run, at)];

		if (is_shown(v, at)) {
			fold_cell(v, at,
				  &v->cells[row * (size_t)v->n + column]);
		}
	}
	if (!row_of) {
		return -1;
	}
	free(row_of);
	return 0;
}

/** Does rank @r begin a node?  Nodes that never came up have no ranks. */
static bool begins_node(const struct run *run, int r)
{
	return r == 0 || run->ranks[r].node != run->ranks[r - 1].node;
}

/** Does rank @r begin a row of so many ranks of a segment? */
static bool begins_part(const struct view *v, int r)
{
	const struct run_node *n = &v->run->nodes[v->run->ranks[r].node];

	return (r - n->first_rank) % v->ranks_per == 0;
}

static bool is_open(const struct view *v, int r)
{
	return v->open[v->run->ranks[r].node];
}

/** Does rank @r begin a row of nodes?  *@nodes are in the row so far. */
static bool begins_nodes(const struct view *v, int r, int *nodes)
{
	bool begins = !begins_node(v->run, r) ? is_open(v, r) :
		      is_open(v, r) || r == 0 || is_open(v, r - 1) ||
			      *nodes == v->nodes_per;

	if (begins_node(v->run, r)) {
		*nodes = begins ? 1 : *nodes + 1;
	}
	return begins;
}

/** Where rows begin, into @first unless that is NULL; returns how many there
 *  are, without those that open nodes add in *@folded. */
static int lay_rows(const struct view *v, int *first, int *folded)
{
	int nodes = 0, row = 0;

	*folded = 0;
	for (int r = 0; r < v->run->n_ranks; r++) {
		if (v->ranks_per  ? begins_part(v, r) :
		    !v->nodes_per ? true : begins_nodes(v, r, &nodes)) {
			if (first != NULL) {
				first[row] = r;
			}
			row++;
			*folded += !is_open(v, r);
		}
	}
	return row;
}

/** As few nodes, or addresses, in a row as there is room for. */
static void choose_rows(struct view *v, int max)
{
	bool segments = v->run->mesh && v->run->mesh->by_segment > 0;
	int *per = segments ? &v->ranks_per : &v->nodes_per;
	int folded;

	/* addresses have no number that people know them by */
	if (v->run->n_ranks <= max && !v->run->mesh) {
		v->n = v->run->n_ranks;
		return;
	}
	*per = max > 0 ? (segments ? 1 : v->run->n_nodes / (2 * max) + 1) : 1;
	v->n = lay_rows(v, NULL, &folded);
	while (folded > max && *per < v->run->n_ranks) {
		++*per;
		v->n = lay_rows(v, NULL, &folded);
	}
}

int view_make(const struct run *run, int max, enum view_metric metric,
	      const bool *open, struct view *v)
{
	size_t nodes = (size_t)run->n_nodes;
	int folded;

	*v = (struct view){ .run = run, .metric = metric };
	v->open = calloc(nodes + 1, sizeof(*v->open));
	if (v->open) {
		if (open) {
			memcpy(v->open, open, nodes * sizeof(*open));
		}
		choose_rows(v, max);
	}
	v->first = calloc((size_t)v->n + 1, sizeof(*v->first));
	v->cells = big_calloc((size_t)v->n * (size_t)v->n + 1,
			      sizeof(*v->cells));
	if (!v->open || !v->first || !v->cells) {
		view_release(v);
		return -1;
	}
	v->first[lay_rows(v, v->first, &folded)] = run->n_ranks;
	if (fold_cells(v) < 0) {
		view_release(v);
		return -1;
	}
	for (size_t i = 0; i < (size_t)v->n * (size_t)v->n; i++) {
		const struct view_cell *c = &v->cells[i];

		v->any_value |= !isnan(c->value);
		if (c->class < CELL_CLASSES) {	/* it was planned */
			v->present[c->class]++;
			v->mixed[c->class] += view_mixed(c);
		}
	}
	return 0;
}

void view_release(struct view *v)
{
	free(v->open);
	free(v->first);
	free(v->cells);
	*v = (struct view){ 0 };
}

int view_row_node(const struct view *v, int row)
{
	return v->run->ranks[v->first[row]].node;
}

int view_row_last_node(const struct view *v, int row)
{
	return v->run->ranks[v->first[row + 1] - 1].node;
}

bool view_new_node(const struct view *v, int row)
{
	return row > 0 && view_row_node(v, row) != view_row_node(v, row - 1);
}

bool view_is_rank(const struct view *v, int row)
{
	return v->ranks_per == 0 &&
	       (v->nodes_per == 0 || is_open(v, v->first[row]));
}

int view_node_end(const struct view *v, int row)
{
	do {
		row++;
	} while (row < v->n && !view_new_node(v, row));
	return row;
}

int view_row_gpu(const struct view *v, int row)
{
	return v->run->ranks[v->first[row]].gpu;
}

const char *view_metric_text(const struct view *v, char *buf, size_t size)
{
	if (v->metric == VIEW_CONTRAST) {
		snprintf(buf, size, "%s / %s", v->run->contrast.pass,
			 v->run->schedule);
	} else {
		snprintf(buf, size, "%s", view_units[v->metric].word);
	}
	return buf;
}

const char *view_block_text(const struct view *v, char *buf, size_t size)
{
	const struct mesh *m = v->run->mesh;
	const char *what = m && m->cross && m->by_segment == 0 ?
				   "segment" : "test";
	int per = v->ranks_per ? v->ranks_per : v->nodes_per;

	if (!view_folds(v)) {
		snprintf(buf, size, "%s", "");
	} else if (per == 1) {
		snprintf(buf, size, "each square: the worst %s from a node to "
			 "a node", what);
	} else {
		snprintf(buf, size, "each square: the worst %s from %d nodes "
			 "to %d", what, per, per);
	}
	return buf;
}

/** Slow cells have a mark of their own and do not stretch the scale. */
struct scale scale_make(const struct view *v, enum path_class path)
{
	const struct view_unit *u = &view_units[v->metric];
	struct scale s = { .less_is_good = u->less_is_good };
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < (size_t)v->n * (size_t)v->n; i++) {
		double value = (double)v->cells[i].well;

		if (v->cells[i].path == path && value > 0) {
			low = value < low ? value : low;
			high = value > high ? value : high;
		}
	}
	if (high <= 0) {
		return s;
	}
	s.log = high / low > SCALE_LOG_RATIO && u->full == 0;
	s.low = low;
	s.high = high;
	if (u->full > 0) {
		s.low = 0;
		s.high = u->full;
	} else if (s.less_is_good) {
		/* twice the least is still a fair latency */
		s.high = fmax(high, 2 * low);
	} else if (s.log) {
		/* the slowest path of a healthy cluster is not the end */
		s.low = low / 2;
	} else {
		/* noise is a shade, half of it another colour */
		s.low = fmin(low, high / 2);
	}
	return s;
}

int scales_shown(enum view_metric metric, const struct scale s[PATH_CLASSES])
{
	int n = 0;

	for (int i = 0; i < PATH_CLASSES; i++) {
		n += s[i].high > 0;
	}
	return n > 1 && view_units[metric].full > 0 ? 1 : n;
}

double scale_place(const struct scale *s, double value)
{
	double place = 1;

	if (s->high > s->low) {
		place = s->log ? log(value / s->low) / log(s->high / s->low) :
				 (value - s->low) / (s->high - s->low);
	}
	if (s->less_is_good) {
		place = 1 - place;
	}
	return isnan(place) ? 0 : fmax(0, fmin(1, place));
}

double scale_value(const struct scale *s, double place)
{
	if (s->less_is_good) {
		place = 1 - place;
	}
	return s->log ? s->low * pow(s->high / s->low, place) :
			s->low + place * (s->high - s->low);
}
