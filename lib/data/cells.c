/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/cells.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdint.h>

#include "lib/base/stats.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"

/* ---- sampled ------------------------------------------------------------- */

/* More rounds than any run has. */
#define ROUNDS_MOST 1000000

int sampled_rounds(const struct sampled *s)
{
	return s->rail + s->inside + s->cross;
}

#define SAMPLED(member, ...) FIELD(sampled, member, #member, __VA_ARGS__)
#define ROUNDS(member, help) SAMPLED(member, INT, 0, ROUNDS_MOST, help)

static const struct field sampled_fields[] = {
	ROUNDS(rail, "partners on its rail"),
	ROUNDS(inside, "partners inside its node"),
	ROUNDS(cross, "partners across rails"),
	SAMPLED(nodes, BOOL, 0, 0, "a pair for each two nodes",
		.optional = FIELD_KEPT),
	ROUNDS(n_nodes, "nodes"), ROUNDS(n_ranks, "ranks"),
	ROUNDS(rails, "of a node"),
	SAMPLED(share, REAL, 0, 1, "of all pairs"),
	{ 0 }
};

json_t *sampled_json(const struct sampled *s)
{
	return sampled_rounds(s) == 0 ? NULL : schema_json(sampled_fields, s);
}

bool sampled_read(const json_t *sample, struct sampled *s)
{
	*s = (struct sampled){ 0 };
	return schema_read(sampled_fields, s, sample, NULL) == 0 &&
	       sampled_rounds(s) > 0;
}

/* ---- how likely -------------------------------------------------------- */

/** At least one of @n, each with chance @p. */
static double any_of(double n, double p)
{
	return 1 - pow(1 - fmin(p, 1), n);
}

double sampled_part(const struct sampled *s, bool nic, double rate)
{
	int rounds = s->rail + s->cross + (nic ? 0 : s->inside);

	return any_of(2.0 * rounds, rate);	/* both ways */
}

double sampled_uplink(const struct sampled *s)
{
	return any_of((double)SAMPLED_FLOWS * (s->rail + s->cross),
		      1.0 / SAMPLED_UPLINKS);
}

double sampled_node_pair(const struct sampled *s)
{
	double others = s->n_nodes - 1;
	double missed = 1 - fmin(1, s->cross / others);

	/* each rail has its own order of the nodes, and all across one */
	missed *= pow(1 - fmin(1, s->rail / others), s->rails);
	return s->nodes ? 1 : 1 - missed;
}

/* ---- in words ---------------------------------------------------------- */

const char *sampled_percent(double p, char *buf, size_t size)
{
	double percent = 100 * p;
	int digits = percent >= 99.9 ? 2 : percent >= 99 ? 1 : 0;
	double grain = pow(10, digits);

	if (percent < 10) {
		snprintf(buf, size, "%.2g %%", percent);
	} else {
		snprintf(buf, size, "%.*f %%", digits,
			 fmin(floor(percent * grain) / grain, 99.99));
	}
	return buf;
}

void sampled_rounds_text(const struct sampled *s, struct str *out)
{
	const struct {
		int rounds;
		const char *what;
	} kinds[] = {
		{ s->rail, "on rails" }, { s->inside, "inside nodes" },
		{ s->cross, "across rails" },
	};
	const char *sep = "(";
	int n = sampled_rounds(s);

	str_addf(out, "%d round%s ", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].rounds > 0) {
			str_addf(out, "%s%d %s", sep, kinds[i].rounds,
				 kinds[i].what);
			sep = ", ";
		}
	}
	str_add(out, ")");
	if (s->nodes) {
		str_add(out, " and one pair between each two nodes");
	}
}

void sampled_sure_text(const struct sampled *s, struct str *out)
{
	str_add(out, s->rail + s->cross == 0 ? "a GPU that always fails" :
		     "a GPU, NIC, node or switch that always fails");
	if (s->nodes) {
		str_add(out, ", two nodes that do not reach each other");
	}
}

void sampled_chance_text(const struct sampled *s, struct str *out)
{
	bool out_of_node = s->rail + s->cross > 0;
	char text[24];

	str_addf(out, "%s that fails a third of its tests %s",
		 out_of_node ? "a NIC" : "a GPU",
		 sampled_percent(sampled_part(s, out_of_node, 1 / 3.0), text,
				 sizeof(text)));
	if (out_of_node) {
		str_addf(out, ", a dead uplink of %d of a leaf %s",
			 SAMPLED_UPLINKS, sampled_percent(sampled_uplink(s),
							  text, sizeof(text)));
	}
	if (out_of_node && !s->nodes) {
		str_addf(out, ", a fault between two nodes only %s",
			 sampled_percent(sampled_node_pair(s), text,
					 sizeof(text)));
	}
	str_addf(out, ", a fault of one pair only %s",
		 sampled_percent(s->share, text, sizeof(text)));
}

/* ---- grid ---------------------------------------------------------------- */

struct grid grid_square(int ranks)
{
	const uint64_t by = ranks > 0 ? (uint64_t)ranks : 1;

	return (struct grid){
		.ranks = ranks, .n = (size_t)ranks * (size_t)ranks,
		.inverse = ((UINT64_C(1) << GRID_BITS) + by - 1) / by,
	};
}

static int compare_pairs(const void *x, const void *y)
{
	const struct grid_pair *p = x, *q = y;

	return p->src != q->src ? (p->src > q->src) - (p->src < q->src) :
				  (p->dst > q->dst) - (p->dst < q->dst);
}

int grid_of(struct grid *g, int ranks, struct grid_pair *pairs, size_t n)
{
	int next = 0;

	*g = (struct grid){
		.ranks = ranks,
		.first = calloc((size_t)ranks + 1, sizeof(*g->first)),
		.src = calloc(n + 1, sizeof(*g->src)),
		.dst = calloc(n + 1, sizeof(*g->dst)),
	};
	if (!g->first || !g->src || !g->dst) {
		grid_release(g);
		return -1;
	}
	if (n > 0) {
		qsort(pairs, n, sizeof(*pairs), compare_pairs);
	}
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && compare_pairs(&pairs[i - 1], &pairs[i]) == 0) {
			continue;
		}
		while (next <= pairs[i].src) {
			g->first[next++] = g->n;
		}
		g->src[g->n] = pairs[i].src;
		g->dst[g->n++] = pairs[i].dst;
	}
	while (next <= ranks) {
		g->first[next++] = g->n;
	}
	return 0;
}

void grid_release(struct grid *g)
{
	free(g->first);
	free(g->src);
	free(g->dst);
	*g = (struct grid){ 0 };
}

struct grid_pair *grid_listed(const json_t *pairs, int ranks, size_t *n,
			      struct err *e)
{
	const json_t *pair;
	struct grid_pair *list = calloc(2 * json_array_size(pairs) + 1,
					sizeof(*list));
	size_t i;

	*n = 0;
	if (!list) {
		err_set(e, ENOMEM, "cannot hold %zu pairs",
			json_array_size(pairs));
		return NULL;
	}
	json_array_foreach(pairs, i, pair) {
		json_int_t a = json_integer_value(json_array_get(pair, 0));
		json_int_t b = json_integer_value(json_array_get(pair, 1));

		if (json_array_size(pair) != 2 || a < 0 || b < 0 ||
		    a >= ranks || b >= ranks || a == b) {
			err_set(e, EINVAL, "run.json: planned pair %zu is not "
				"part of this run", i);
			free(list);
			return NULL;
		}
		list[(*n)++] = (struct grid_pair){ (int)a, (int)b };
		list[(*n)++] = (struct grid_pair){ (int)b, (int)a };
	}
	return list;
}

size_t grid_find(const struct grid *g, int src, int dst)
{
	size_t low = g->first[src], high = g->first[src + 1];

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->dst[mid] < dst) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low < g->first[src + 1] && g->dst[low] == dst ? low : g->n;
}

/* ---- cells --------------------------------------------------------------- */

static const char *const class_names[] = {
	[CELL_NOT_RUN] = "not_run", [CELL_PASS] = "pass",
	[CELL_SLOW] = "slow",	    [CELL_FAIL] = "fail",
	[CELL_TIMEOUT] = "timeout", [CELL_CORRUPT] = "corrupt",
	[CELL_SKIPPED] = "skipped", [CELL_UNPLANNED] = "unplanned",
};

static const enum cell_class outcome_classes[OUTCOME_COUNT] = {
	[OUTCOME_NOT_RUN] = CELL_NOT_RUN, [OUTCOME_OK] = CELL_PASS,
	[OUTCOME_ERROR] = CELL_FAIL,	  [OUTCOME_TIMEOUT] = CELL_TIMEOUT,
	[OUTCOME_CRASHED] = CELL_FAIL,	  [OUTCOME_CORRUPT] = CELL_CORRUPT,
	[OUTCOME_SKIPPED] = CELL_SKIPPED,
};

const char *cell_class_name(enum cell_class c)
{
	return class_names[c];
}

enum cell_class cells_class_of(enum outcome o)
{
	return outcome_classes[o];
}

static int badness(enum outcome o)
{
	static const int ranks[OUTCOME_COUNT] = {
		[OUTCOME_NOT_RUN] = 0, [OUTCOME_SKIPPED] = 0,
		[OUTCOME_OK] = 1,      [OUTCOME_ERROR] = 2,
		[OUTCOME_TIMEOUT] = 2, [OUTCOME_CRASHED] = 2,
		[OUTCOME_CORRUPT] = 3,
	};

	return ranks[o];
}

bool cells_decides(struct cell_say row, bool at_size, struct cell_say before)
{
	int now = badness(row.outcome), then = badness(before.outcome);
	/* A pair that passed is measured again for its speed; a failure then is
	 * as flaky as one that passes when it is tried again.  A pass of an
	 * earlier go was long ago. */
	bool stands = then == badness(OUTCOME_OK) &&
		      now == badness(OUTCOME_ERROR) && before.go == row.go;

	/* A pass at a smaller size promises nothing; a retry that never ran
	 * does not undo what was seen. */
	if ((row.outcome == OUTCOME_OK && !at_size) || (now == 0 && then > 0)) {
		return false;
	}
	if (row.attempt != before.attempt) {
		return row.attempt > before.attempt && !stands;
	}
	return now > then || (now == then && at_size);
}

bool cells_below_line(const struct cell *c)
{
	return c->expected_GB_s > 0 &&
	       c->bw_GB_s < (float)CELLS_LINE_RATIO * c->expected_GB_s;
}

double cells_beside(const struct cell *c, const struct slow_limit *l)
{
	double share = l->line_GB_s / (double)c->expected_GB_s;

	return share > 0 ? (double)c->bw_GB_s * share : (double)c->bw_GB_s;
}

static bool is_measured(const struct cell *c, enum path_class path)
{
	return c->path == path && isfinite(c->bw_GB_s) &&
	       (c->class == CELL_PASS || c->class == CELL_SLOW);
}

double cells_slow_below(double median_GB_s, double mad_GB_s)
{
	return fmin(CELLS_SLOW_RATIO * median_GB_s,
		    fmax(CELLS_SLOW_SURE * median_GB_s,
			 median_GB_s - CELLS_SLOW_MADS * mad_GB_s));
}

/** Median, MAD and limit of one path class; @bw has room for @n values. */
static struct slow_limit find_limit(const struct cell *cells, size_t n,
				    int64_t size_B, enum path_class path,
				    double *bw)
{
	struct slow_limit l = { .limit_GB_s = NAN };
	double least = 0;	/* latency: a busy host delays it least */
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_measured(&cells[i], path) &&
		    cells[i].expected_GB_s > 0) {
			bw[known++] = (double)cells[i].expected_GB_s;
		}
	}
	l.line_GB_s = known ? stats_select(bw, known, known / 2) : 0;
	for (size_t i = 0; i < n; i++) {
		if (is_measured(&cells[i], path)) {
			double lat = (double)cells[i].lat_us;

			bw[l.peers++] = cells_beside(&cells[i], &l);
			least = isfinite(lat) && (least == 0 || lat < least) ?
					lat : least;
		}
	}
	l.mad_GB_s = stats_mad(bw, l.peers, &l.median_GB_s);
	l.bound_by_latency =
		size_B > 0 && l.peers > 0 &&
		(double)size_B / l.median_GB_s / 1e3 <
			CELLS_START_TIMES * least;
	if (l.peers >= CELLS_SLOW_PEERS && !l.bound_by_latency) {
		l.limit_GB_s = cells_slow_below(l.median_GB_s, l.mad_GB_s);
	}
	return l;
}

int cells_mark_slow(struct cell *cells, size_t n, int64_t size_B,
		    struct slow_limit limits[PATH_CLASSES])
{
	double *bw = malloc(n ? n * sizeof(*bw) : 1);

	if (!bw) {
		return -1;
	}
	for (int path = 0; path < PATH_CLASSES; path++) {
		limits[path] = find_limit(cells, n, size_B,
					  (enum path_class)path, bw);
	}
	free(bw);
	for (size_t i = 0; i < n; i++) {
		struct cell *c = &cells[i];

		/* a limit of NAN is above nothing: all cells pass then */
		if (c->path < PATH_CLASSES && is_measured(c, c->path)) {
			const struct slow_limit *l = &limits[c->path];
			bool slow = cells_beside(c, l) < l->limit_GB_s ||
				    cells_below_line(c);

			c->class = slow ? CELL_SLOW : CELL_PASS;
		}
	}
	return 0;
}

/* ---- memory ------------------------------------------------------------- */

#define SMALL_PAGE 4096
/** Less has no large page in it. */
#define LARGE_LEAST ((size_t)4 << 20)

void *cells_calloc(size_t n, size_t size)
{
	char *p = calloc(n, size);
	size_t skip = -(uintptr_t)p % SMALL_PAGE;

	if (p && n * size >= LARGE_LEAST) {
		/* a hint; failure is harmless */
		(void)madvise(p + skip, n * size - skip, MADV_HUGEPAGE);
	}
	return p;
}
