/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/data/cells.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "report/base/wrap.h"
#include "report/model/run.h"

/* ---- labels -------------------------------------------------------------- */

static const char mark[] = "..";

size_t labels_longest(char (*names)[LABEL_SIZE], size_t n)
{
	size_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		longest = len > longest ? len : longest;
	}
	return longest;
}

/** Letters that all begin with, or with @tail, that all end with behind the
 *  @head of each; one of each is left. */
static size_t shared(char (*names)[LABEL_SIZE], size_t n, size_t head,
		     bool tail)
{
	size_t first = strlen(names[0]), most = first - head;

	for (size_t i = 0; i < n; i++) {
		size_t same = 0, len = strlen(names[i]);

		while (same < most && same + head + 1 < len &&
		       names[i][tail ? len - same - 1 : same] ==
			       names[0][tail ? first - same - 1 : same]) {
			same++;
		}
		most = same;
	}
	return most;
}

/** Without @head letters in front and @tail at the end, and @max at most. */
static void cut(char name[LABEL_SIZE], size_t head, size_t tail, size_t max)
{
	const char *m = max >= LABEL_MARK_MIN ? mark : "";
	char label[2 * LABEL_SIZE];
	size_t len, left, right;

	name[strlen(name) - tail] = '\0';
	snprintf(label, sizeof(label), "%s%s%s", head > 0 ? m : "",
		 name + head, tail > 0 ? m : "");
	len = strlen(label);
	if (len <= max) {
		str_copy(name, LABEL_SIZE, label);
		return;
	}
	/* what differs is more often at the end */
	left = m[0] ? (max - strlen(m)) / 2 : 0;
	right = max - strlen(m) - left;
	snprintf(name, LABEL_SIZE, "%.*s%s%s", (int)left, label, m,
		 label + len - right);
}

static bool differ(char (*names)[LABEL_SIZE], size_t n)
{
	char (*sorted)[LABEL_SIZE] = calloc(n, sizeof(*sorted));
	bool same = false;

	if (!sorted) {
		return true;	/* labels are no reason to give up */
	}
	memcpy(sorted, names, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), str_order);
	for (size_t i = 1; i < n; i++) {
		same |= strcmp(sorted[i - 1], sorted[i]) == 0;
	}
	free(sorted);
	return !same;
}

bool labels_cut(char (*names)[LABEL_SIZE], size_t n, size_t max)
{
	size_t marks = max >= LABEL_MARK_MIN ? strlen(mark) : 0;
	size_t longest, head, tail;
	const char *domain = n > 0 ? strchr(names[0], '.') : NULL;

	if (n == 0) {
		return true;
	}
	/* drop the domain if all names share it */
	for (size_t i = 0; i < n && domain; i++) {
		const char *other = strchr(names[i], '.');

		if (!other || other == names[i] || strcmp(other, domain) != 0) {
			domain = NULL;
		}
	}
	for (size_t i = n; i-- > 0 && domain;) {	/* the first one last */
		*strchr(names[i], '.') = '\0';
	}
	longest = labels_longest(names, n);
	if (longest <= max) {
		return true;
	}
	head = shared(names, n, 0, false);
	tail = shared(names, n, head, true);
	if (longest + marks <= max + head) {
		head = longest + marks - max;
		tail = 0;
	} else if (longest + 2 * marks <= max + head + tail) {
		tail = longest + 2 * marks - max - head;
	}
	for (size_t i = 0; i < n; i++) {
		cut(names[i], head, tail, max);
	}
	if (differ(names, n)) {
		return true;
	}
	if (max >= LABEL_MARK_MIN) {
		for (size_t i = 0; i < n; i++) {
			char end[24];
			size_t room = max - (size_t)snprintf(end, sizeof(end),
							     "#%zu", i);
			size_t len = strlen(names[i]);

			str_copy(names[i] + (len > room ? room : len),
				 sizeof(end), end);
		}
	}
	return max >= LABEL_MARK_MIN;
}

char (*labels_make(const struct run *run, size_t max))[LABEL_SIZE]
{
	size_t n = (size_t)run->n_nodes;
	char (*labels)[LABEL_SIZE] = calloc(n + 1, sizeof(*labels));

	for (size_t i = 0; labels && i < n; i++) {
		STR_COPY(labels[i], run->nodes[i].name);
	}
	if (labels) {
		labels_cut(labels, n, max);
	}
	return labels;
}

const char *labels_row(const struct view *v, char (*labels)[LABEL_SIZE],
		       int row, char *buf, size_t size)
{
	int first = view_row_rank(v, row)->node;
	int last = view_row_last_node(v, row);

	snprintf(buf, size, "%s%s%s", labels[first], first == last ? "" : "-",
		 first == last ? "" : labels[last]);
	return buf;
}

/* ---- accused ------------------------------------------------------------- */

/** Tests of @rank with the ranks of @node that go through @p. */
static int touched(const struct run *run, const struct part *p, int rank,
		   int node)
{
	const struct cluster_node *n = &run->nodes[node];
	int sum = 0;

	for (int r = n->first_rank; r < n->first_rank + n->gpus; r++) {
		if (r != rank) {
			sum += part_touches(&run->cluster, p, rank, r) +
			       part_touches(&run->cluster, p, r, rank);
		}
	}
	return sum;
}

/** How much @rank has to do with @p, for comparing it with its neighbours: all
 *  others of its kind are like those of three nodes. */
static int weight(const struct run *run, const struct part *p, int rank,
		  int third)
{
	int node = run->ranks[rank].node, other = p->peer_node;
	int sum = touched(run, p, rank, node);

	other = other == node ? p->node : other;
	if (other >= 0 && other != node) {
		sum += touched(run, p, rank, other);
	}
	return sum + (third >= 0 ? touched(run, p, rank, third) : 0);
}

/** The ranks of @node that have most to do with @f. */
static bool add_ranks(const struct run *run, const struct finding *f, int node,
		      struct accused **list, size_t *n)
{
	const struct cluster_node *at = &run->nodes[node];
	int end = at->first_rank + at->gpus, most = 1, third = -1;
	bool last = false;

	/* a node with ranks that is no end of the part */
	for (int i = 0; i < run->n_nodes && third < 0; i++) {
		third = i != f->part.node && i != f->part.peer_node &&
				run->nodes[i].gpus > 0 ? i : -1;
	}
	for (int r = at->first_rank; r < end; r++) {
		int now = weight(run, &f->part, r, third);

		most = now > most ? now : most;
	}
	for (int r = at->first_rank; r < end; r++) {
		bool is = weight(run, &f->part, r, third) == most;

		if (is && last) {
			(*list)[*n - 1].end = r + 1;
		} else if (is && !grow_add(list, n, &(struct accused){
				.first = r, .end = r + 1, .finding = f,
				.node = node }, sizeof(**list))) {
			return false;
		}
		last = is;
	}
	return true;
}

/** The ranks of the nodes of @f, or of its rail or switch. */
static bool add_accused(const struct run *run, const struct finding *f,
			struct accused **list, size_t *n)
{
	const struct part *p = &f->part;
	const bool rail = part_is(p, KIND(RAIL) | KIND(RAIL_LEAF));
	const int leaf = part_leaf(p), peer = part_peer_leaf(p);
	const size_t before = *n;

	if (p->node >= 0) {
		return add_ranks(run, f, p->node, list, n) &&
		       (p->peer_node < 0 || p->peer_node == p->node ||
			add_ranks(run, f, p->peer_node, list, n));
	}
	for (int r = 0; r < run->n_ranks && *n < before + ACCUSED_SPREAD; r++) {
		const int at = run->nodes[run->ranks[r].node].leaf - 1;

		if ((!rail && leaf < 0) ||
		    (rail && run->ranks[r].nic != p->index) ||
		    (leaf >= 0 && at != leaf && (peer < 0 || at != peer))) {
			continue;
		}
		if (*n > before && (*list)[*n - 1].end == r) {
			(*list)[*n - 1].end = r + 1;
		} else if (!grow_add(list, n, &(struct accused){
				.first = r, .end = r + 1, .finding = f,
				.node = run->ranks[r].node }, sizeof(**list))) {
			return false;
		}
	}
	return true;
}

/** The same for the ranks of a picture that has only some of a run: @list is
 *  that of the run, and freed. */
static struct accused *accused_part(const struct run *run,
				    struct accused *list, size_t *n)
{
	const size_t whole = *n;
	struct accused *out = calloc(1, sizeof(*out));

	*n = 0;
	for (size_t i = 0; list && out && i < whole; i++) {
		bool last = false;

		for (int r = 0; out && r < run->n_ranks; r++) {
			const int at = run->mesh->origin[r];
			const bool is = at >= list[i].first && at < list[i].end;
			struct accused one = list[i];

			one.first = r;
			one.end = r + 1;
			one.node = run->ranks[r].node;
			if (is && last) {
				out[*n - 1].end = r + 1;
			} else if (is && !grow_add(&out, n, &one,
						   sizeof(one))) {
				free(out);
				out = NULL;
			}
			last = is;
		}
	}
	free(list);
	return out;
}

struct accused *accused_list(const struct run *run, const struct verdict *v,
			     size_t *n)
{
	const struct run *all = run_whole(run);
	struct accused *list = calloc(1, sizeof(*list));
	size_t shown = 0;
	bool whole = list != NULL;

	*n = 0;
	for (size_t i = 0; v && whole && i < v->n && shown < ACCUSED_MAX; i++) {
		size_t before = *n;

		/* what is a little slow has tests, none of them bad */
		whole = v->findings[i].cells == 0 ||
			add_accused(all, &v->findings[i], &list, n);
		shown += *n > before;
	}
	if (!whole) {
		free(list);
		return NULL;
	}
	return all == run ? list : accused_part(run, list, n);
}

bool *accused_nodes(const struct run *run, const struct verdict *v, int max)
{
	bool *open = calloc((size_t)run->n_nodes + 1, sizeof(*open));
	size_t n = 0;
	struct accused *list = accused_list(run, v, &n);

	if (!open || !list) {
		free(open);
		free(list);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		int gpus = run->nodes[list[i].node].gpus;
		bool part = list[i].finding->part.node >= 0 &&
			    list[i].end - list[i].first < gpus;

		if (part && !open[list[i].node] && gpus <= max) {
			open[list[i].node] = true;
			max -= gpus;
		}
	}
	free(list);
	return open;
}

/* ---- view ---------------------------------------------------------------- */

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
		/* the same colours in every run */
		.least = 10, .full = 10000, .log = true,
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

/** Count cell @at of the run in @out, the square that stands for it. */
static void fold_cell(const struct view *v, size_t at, struct view_cell *out)
{
	const struct cell *c = &v->run->cells[at];
	const float value = value_of(v, at);
	const unsigned class = v->metric == VIEW_CONTRAST ?
			       contrast_class(v->run, at) : c->class;

	out->planned += class != CELL_UNPLANNED;
	if (class == CELL_PASS) {
		out->passed++;
		out->flaky += c->flaky;
		if (value_is_worse(v, value, out->well)) {
			out->well = value;
			out->path = c->path;
		}
	}
	if (badness[class] > badness[out->class] ||
	    (badness[class] == badness[out->class] &&
	     value_is_worse(v, value, out->value))) {
		out->class = (uint8_t)class;
		out->value = value;
		out->value_path = c->path;
		out->src = run_src(v->run, at);
		out->dst = run_dst(v->run, at);
	}
}

/** All cells that there are, each to its block, by source and destination. */
static int fold_cells(struct view *v)
{
	const struct mesh *m = v->run->mesh;
	/* of a mesh only cells inside a segment, because a rail that is
	 * separate would be covered by paths to others */
	const bool inside = m && m->cross && m->by_segment == 0;
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

		if (!inside || !mesh_crosses(v->run, at)) {
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

/** Return true if rank @r begins a node. Nodes that never connected have no
 *  ranks. */
static bool begins_node(const struct run *run, int r)
{
	return r == 0 || run->ranks[r].node != run->ranks[r - 1].node;
}

static bool is_open(const struct view *v, int r)
{
	return v->open[v->run->ranks[r].node];
}

/** Return true if rank @r begins a row of nodes; *@nodes are in the row so
 *  far. */
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
		const int node = v->run->ranks[r].node;
		const int in_node = r - v->run->nodes[node].first_rank;

		if (v->ranks_per  ? in_node % v->ranks_per == 0 :
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

int view_make(const struct run *run, int max, enum view_metric metric,
	      const bool *open, struct view *v)
{
	const size_t nodes = (size_t)run->n_nodes;
	const bool segments = run->mesh && run->mesh->by_segment > 0;
	int *per = segments ? &v->ranks_per : &v->nodes_per;
	int folded;

	*v = (struct view){ .run = run, .metric = metric };
	v->open = calloc(nodes + 1, sizeof(*v->open));
	if (v->open && open) {
		memcpy(v->open, open, nodes * sizeof(*open));
	}
	/* addresses have no number that people know them by */
	if (run->n_ranks <= max && !run->mesh) {
		v->n = run->n_ranks;
	} else if (v->open) {
		/* as few nodes, or addresses, in a row as there is room for */
		*per = max > 0 && !segments ? run->n_nodes / (2 * max) + 1 : 1;
		v->n = lay_rows(v, NULL, &folded);
		while (folded > max && *per < run->n_ranks) {
			++*per;
			v->n = lay_rows(v, NULL, &folded);
		}
	}
	v->first = calloc((size_t)v->n + 1, sizeof(*v->first));
	v->cells = cells_calloc((size_t)v->n * (size_t)v->n + 1,
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
		v->flaky += c->class == CELL_PASS && c->flaky > 0;
		v->bare += c->class == CELL_PASS && isnan(c->well);
		if (c->class == CELL_UNPLANNED) {
			const bool on = i % (size_t)v->n == i / (size_t)v->n;

			v->diagonal += on;
			v->blank += !on;
		}
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

const struct cluster_rank *view_row_rank(const struct view *v, int row)
{
	return &v->run->ranks[v->first[row]];
}

int view_row_last_node(const struct view *v, int row)
{
	return v->run->ranks[v->first[row + 1] - 1].node;
}

bool view_new_node(const struct view *v, int row)
{
	const int node = view_row_rank(v, row)->node;

	return row > 0 && node != view_row_rank(v, row - 1)->node;
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

const char *view_blank_text(const struct view *v)
{
	const struct run_file f = run_file(v->run->json);
	struct sampled sample;

	return sampled_read(f.planned.sample, &sample) ? "not in the sample" :
	       f.planned.rails_apart ? "left out: rails are not connected" :
	       v->run->mesh && v->run->mesh->unrouted > 0 ?
				       "left out: no route" : "not planned";
}

/** Sample size for the median of a path class. */
#define SCALE_SAMPLE 16384

/** Anchor @s on the median of good cells. */
static void anchor(const struct view *v, enum path_class path, struct scale *s)
{
	const size_t cells = run_n_cells(v->run);
	/* a sample of them: an odd step meets every column */
	const size_t step = cells / SCALE_SAMPLE | 1;
	double *values = calloc(cells / step + 2, sizeof(*values));
	double range, up, mad;
	size_t n = 0;

	for (size_t at = 0; values && at < cells; at += step) {
		const struct cell *c = &v->run->cells[at];
		const double value = (double)value_of(v, at);

		if (c->class == CELL_PASS && c->path == path && value > 0) {
			values[n++] = value;
		}
	}
	if (n > 0) {
		mad = stats_mad(values, n, &s->median);
		/* as in the texts, where those have one */
		if (v->metric == VIEW_BANDWIDTH &&
		    v->run->slow[path].median_GB_s > 0) {
			s->median = v->run->slow[path].median_GB_s;
		}
		range = SCALE_DEVIATIONS * STATS_MAD_SIGMAS * mad /
			s->median;
		range = fmin(fmax(range, SCALE_LEAST_RANGE), 1);
		up = range * (1 - SCALE_MEDIAN) / SCALE_MEDIAN;
		s->low = s->median * (1 - (s->less_is_good ? up : range));
		s->high = s->median * (1 + (s->less_is_good ? range : up));
	}
	free(values);
}

/** Slow cells have colours of their own and do not stretch the scale. */
struct scale scale_make(const struct view *v, enum path_class path)
{
	const struct view_unit *u = &view_units[v->metric];
	struct scale s = { .less_is_good = u->less_is_good };
	double low = INFINITY, high = 0, far, reach;

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
	if (v->metric == VIEW_CONTRAST && run_is_diff(v->run)) {
		/* of a diff: as far below 1 as above, round */
		far = fmax(1 - low, high - 1);
		reach = far <= 0.1 ? 0.1 : far <= 0.2 ? 0.2 :
			far <= 0.5 ? 0.5 : 1;
		s.diverging = true;
		s.low = 1 - reach;
		s.high = 1 + reach;
	} else if (u->full > 0) {
		s.low = u->least;
		s.high = u->full;
		s.log = u->log;
	} else {
		s.low = low;
		s.high = high;
		anchor(v, path, &s);
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

double scale_cell(const struct scale s[PATH_CLASSES], const struct view_cell *c)
{
	return isnan(c->well) ? 1 : scale_place(&s[c->path], (double)c->well);
}

double scale_value(const struct scale *s, double place)
{
	if (s->less_is_good) {
		place = 1 - place;
	}
	return s->log ? s->low * pow(s->high / s->low, place) :
			s->low + place * (s->high - s->low);
}

int scale_ticks(const struct scale *s, double ticks[SCALE_TICKS])
{
	double step = pow(10, floor(log10((s->high - s->low) / SCALE_TICKS)));
	int n = 0, by = 0;

	if (s->log) {
		for (double v = pow(10, ceil(log10(s->low) - 1e-9));
		     v <= s->high * 1.001 && n < SCALE_TICKS; v *= 10) {
			ticks[n++] = v;
		}
		return n;
	}
	/* 1, 2, 5, 10, 20, ... */
	while ((s->high - s->low) / step > SCALE_TICKS - 1.5) {
		step *= by++ % 3 == 1 ? 2.5 : 2;
	}
	/* multiples, not sums: 0 is exact, and has no sign */
	for (double k = ceil(s->low / step - 1e-6);
	     k <= s->high / step + 1e-6 && n < SCALE_TICKS; k++) {
		ticks[n++] = k * step + 0.0;
	}
	return n;
}

double scale_loss(const struct view *v, const struct view_cell *c)
{
	double median = v->metric == VIEW_BANDWIDTH ?
				v->run->slow[c->value_path].median_GB_s : 0;

	return c->class == CELL_SLOW && median > 0 && !isnan(c->value) ?
		       fmin(fmax(1 - (double)c->value / median, 0), 1) : 0;
}

uint32_t scale_color_at(const struct scale *s, double place)
{
	return s->diverging ? palette_diverging(place) : palette_scale(place);
}

uint32_t scale_color(const struct scale s[PATH_CLASSES],
		     const struct view_cell *c)
{
	return isnan(c->well) ? PALETTE_NO_FIGURE :
		scale_color_at(&s[c->path],
			       scale_place(&s[c->path], (double)c->well));
}
