/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "report/judge/pairs.h"

#define PEERS_MIN     4		/* below, the odd one may be any of them */
#define SLOW_WARN     0.05
/** Of what the link promises: data/expected.ini has the same for paths. */
#define EXPECTED_MIN  0.9
/** Beyond what peers differ from each other anyway. */
#define SPREADS	      5

struct judge {
	const struct run *run;
	const struct gpu_rows *rows;
	struct verdict *v;
	double *values;		/* room for a value a row */
	double slow;		/* 0.1 */
	bool any;		/* was a GPU of any node tested? */
};

static struct finding *add(struct judge *j, const struct gpu_row *r,
			   const char *code, bool fail)
{
	int node = run_find_node(j->run, r->node, -1);
	struct part p = r->gpu == RECORD_NONE ?
			part_at(PART_NODE, node, -1) :
			part_at(PART_GPU, node, (int)r->gpu);
	struct finding *f = finding_add(j->v, &p, code);

	f->fail = fail;
	f->cells = f->explained = 1;
	return f;
}

/** "GPU 3 of n1", or the node alone. */
static const char *name_of(const struct gpu_row *r, char buf[96])
{
	if (r->gpu == RECORD_NONE) {
		snprintf(buf, 96, "%s", r->node);
	} else {
		snprintf(buf, 96, "GPU %" PRId64 " of %s", r->gpu, r->node);
	}
	return buf;
}

static bool is_test(const struct gpu_row *r, const char *test)
{
	return strcmp(r->test, test) == 0;
}

/* ---- what a test says by itself ------------------------------------------ */

static void name_failed(struct judge *j, const struct gpu_row *r)
{
	bool held = r->outcome == OUTCOME_SKIPPED;
	struct finding *f;
	char name[96];

	/* what another job uses is neither tested nor a fault */
	f = add(j, r, r->code[0] ? r->code : outcome_name(r->outcome),
		!held && (r->gpu != RECORD_NONE || j->any));
	if (held || r->gpu == RECORD_NONE) {
		finding_say(f, "%s was not tested: %s", name_of(r, name),
			    held ? r->detail :
				   "it has no GPU that can be used");
	} else if (is_test(r, GPU_TEST_OPEN)) {
		finding_say(f, "%s cannot be used", name_of(r, name));
	} else {
		finding_say(f, "%s fails the test %s", name_of(r, name),
			    r->test);
	}
	if (!held) {
		finding_add_evidence(f, "%s: %s", outcome_name(r->outcome),
				     r->detail);
	}
}

static void name_throttled(struct judge *j, const struct gpu_row *r)
{
	struct finding *f = add(j, r, "throttled", false);
	char name[96];

	finding_say(f, "%s lowered its clock while it was tested: %s",
		    name_of(r, name), r->throttled);
	finding_add_evidence(f, "%.0f W, %.0f degrees Celsius, %.0f MHz at "
			     "least", r->power_W, r->temp_C, r->clock_MHz);
}

/* ---- beside its peers ---------------------------------------------------- */

/** Rows of one test on one model, whatever node they are in. */
struct group {
	const struct gpu_row **rows;
	size_t n;
	double median, spread;	/* of the bandwidth of those that are ok */
	size_t n_rates;
	double link;		/* the rate of the link that most have */
	size_t n_link;
	const struct gpu_row *link_of;	/* one of these */
	const char *hash;	/* what most have */
	size_t n_hash;
};

static bool has_rate(const struct gpu_row *r)
{
	return r->outcome == OUTCOME_OK && !isnan(r->bw_GB_s);
}

/** One that is as slow as its like on other nodes is built so. */
static bool is_by_design(struct judge *j, const struct group *g,
			 const struct gpu_row *r)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (g->rows[i] != r && g->rows[i]->gpu == r->gpu &&
		    has_rate(g->rows[i])) {
			j->values[n++] = g->rows[i]->bw_GB_s;
		}
	}
	return n >= 2 && r->bw_GB_s > stats_median(j->values, n) *
					      (1 - SLOW_WARN);
}

/** Slow already by a test before it? */
static struct finding *slow_before(struct judge *j, const struct gpu_row *r)
{
	int node = run_find_node(j->run, r->node, -1);

	for (size_t i = 0; i < j->v->n; i++) {
		struct finding *f = &j->v->findings[i];

		if (strcmp(f->code, "gpu_slow") == 0 && f->part.node == node &&
		    f->part.index == (int)r->gpu) {
			return f;
		}
	}
	return NULL;
}

static void judge_speed(struct judge *j, const struct group *g,
			const struct gpu_row *r)
{
	double slower = 1 - r->bw_GB_s / g->median;
	struct finding *f;
	char name[96];

	bool peers = g->n_rates >= PEERS_MIN && slower >= SLOW_WARN &&
		     g->median - r->bw_GB_s > SPREADS * g->spread &&
		     !is_by_design(j, g, r);

	if (!peers && !(r->bw_GB_s < r->expected_GB_s * EXPECTED_MIN)) {
		return;
	}
	f = slow_before(j, r);
	if (f) {
		f->fail |= peers && slower >= j->slow;
		finding_add_evidence(f, "%s: %.1f GB/s, its peers %.1f",
				     r->test, r->bw_GB_s, g->median);
		f->n_first = f->n_evidence - 1;
		return;
	}
	f = add(j, r, "gpu_slow", peers && slower >= j->slow);
	if (peers) {
		finding_say(f, "%s is %.0f %% slower than its %zu peers in "
			    "%s: %.1f GB/s, they have %.1f", name_of(r, name),
			    slower * 100, g->n_rates - 1, r->test, r->bw_GB_s,
			    g->median);
	} else {
		finding_say(f, "%s has %.1f GB/s in %s, and its link promises "
			    "%.1f", name_of(r, name), r->bw_GB_s, r->test,
			    r->expected_GB_s);
	}
	if (r->link[0]) {
		finding_add_evidence(f, "its PCIe link during the transfer: %s",
				     r->link);
	}
}

/** What a link can do, from the text of the column. */
static double link_rate(const struct gpu_row *r)
{
	const char *x = strchr(r->link, 'x');

	return x ? strtod(r->link, NULL) * strtod(x + 1, NULL) : NAN;
}

static void judge_link(struct judge *j, const struct group *g,
		       const struct gpu_row *r)
{
	struct finding *f;
	char name[96];

	if (link_rate(r) >= g->link || g->n_link * 2 <= g->n) {
		return;
	}
	f = add(j, r, "gpu_link", g->n_link >= PEERS_MIN - 1);
	finding_say(f, "%s is connected by a slower PCIe link than %zu of its "
		    "%zu peers: %s during a transfer, they %s",
		    name_of(r, name), g->n_link, g->n - 1, r->link,
		    g->link_of->link);
}

/** The result that most GPUs of its model have; one of two is nobody's. */
static void judge_result(struct judge *j, const struct group *g,
			 const struct gpu_row *r)
{
	bool most = g->n_hash * 2 > g->n && g->n_hash >= 2;
	struct finding *f;
	char name[96];

	if (strcmp(r->hash, g->hash) == 0 && (most || g->n_hash == g->n)) {
		return;
	}
	f = add(j, r, "wrong_result", most);
	finding_say(f, most ? "%s computes something else than %zu others of "
			      "its model" :
			      "%s and others of its model do not compute the "
			      "same", name_of(r, name), g->n_hash);
	finding_add_evidence(f, "its result is %s", r->hash);
}

/** What most of the group have, by Boyer and Moore's vote. */
static void take_majority(struct group *g)
{
	size_t links = 0, hashes = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct gpu_row *r = g->rows[i];

		if (r->link[0]) {
			g->link_of = links ? g->link_of : r;
			links += link_rate(r) == link_rate(g->link_of) ?
					 1 : (size_t)-1;
		}
		if (r->hash[0]) {
			g->hash = hashes ? g->hash : r->hash;
			hashes += strcmp(r->hash, g->hash) == 0 ?
					  1 : (size_t)-1;
		}
	}
	g->link = g->link_of ? link_rate(g->link_of) : NAN;
	for (size_t i = 0; i < g->n; i++) {
		const struct gpu_row *r = g->rows[i];

		g->n_link += r->link[0] && link_rate(r) == g->link;
		g->n_hash += r->hash[0] && strcmp(r->hash, g->hash) == 0;
	}
}

static void judge_group(struct judge *j, struct group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (has_rate(g->rows[i])) {
			j->values[g->n_rates++] = g->rows[i]->bw_GB_s;
		}
	}
	if (g->n_rates > 0) {
		g->spread = stats_mad(j->values, g->n_rates, &g->median);
	}
	take_majority(g);
	for (size_t i = 0; i < g->n; i++) {
		const struct gpu_row *r = g->rows[i];

		if (has_rate(r)) {
			judge_speed(j, g, r);
		}
		if (r->link[0] && is_test(r, GPU_TEST_H2D)) {
			judge_link(j, g, r);
		}
		if (r->hash[0] && r->outcome == OUTCOME_OK) {
			judge_result(j, g, r);
		}
	}
}

/** Its place among those that are done. */
static int order_of(const struct gpu_row *r)
{
	static const char *const tests[] = {
		GPU_TEST_OPEN, GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH,
		GPU_TEST_COPY, GPU_TEST_PATTERN, GPU_TEST_COMPUTE, NULL
	};

	return str_index(tests, r->test);
}

static int by_group(const void *a, const void *b)
{
	const struct gpu_row *x = *(const struct gpu_row *const *)a;
	const struct gpu_row *y = *(const struct gpu_row *const *)b;
	int by_test = order_of(x) - order_of(y);
	int by_model = by_test ? by_test : strcmp(x->model, y->model);

	return by_model ? by_model : x < y ? -1 : x > y;
}

static void judge_groups(struct judge *j)
{
	const struct gpu_rows *rows = j->rows;
	const struct gpu_row **all = calloc(rows->n + 1, sizeof(*all));
	size_t end;

	j->v->failed = j->v->failed || !all;
	for (size_t i = 0; all && i < rows->n; i++) {
		all[i] = &rows->list[i];
	}
	if (all) {
		qsort(all, rows->n, sizeof(*all), by_group);
	}
	for (size_t i = 0; all && i < rows->n; i = end) {
		struct group g = { .rows = &all[i], .median = NAN };

		for (end = i + 1; end < rows->n &&
				  strcmp(all[i]->test, all[end]->test) == 0 &&
				  strcmp(all[i]->model, all[end]->model) == 0;
		     end++) {
		}
		g.n = end - i;
		judge_group(j, &g);
	}
	free(all);
}

/* ---- all ----------------------------------------------------------------- */

static const enum cell_class classes[] = {
	[OUTCOME_NOT_RUN] = CELL_NOT_RUN, [OUTCOME_OK] = CELL_PASS,
	[OUTCOME_ERROR] = CELL_FAIL, [OUTCOME_TIMEOUT] = CELL_TIMEOUT,
	[OUTCOME_CRASHED] = CELL_FAIL, [OUTCOME_CORRUPT] = CELL_CORRUPT,
	[OUTCOME_SKIPPED] = CELL_SKIPPED,
};

static void judge_row(struct judge *j, const struct gpu_row *r)
{
	/* a node without a GPU has nothing that could fail */
	j->v->cells[r->gpu == RECORD_NONE ? CELL_SKIPPED :
					    classes[r->outcome]]++;
	if (r->gpu == RECORD_NONE && strcmp(r->code, "gpu_missing") != 0) {
		silent_finding(j->run, &(struct silent){
			.node = r->node, .code = r->code,
			.detail = r->detail, .outcome = r->outcome }, j->v);
	} else if (r->outcome != OUTCOME_OK && r->outcome != OUTCOME_NOT_RUN) {
		name_failed(j, r);
	}
	if (r->throttled[0]) {
		name_throttled(j, r);
	}
}

int gpu_judge(const struct run *run, const struct gpu_rows *rows,
	      struct verdict *v)
{
	double percent = run->slow_percent > 0 ? (double)run->slow_percent :
						 RUN_SLOW_PERCENT;
	struct judge j = { .run = run, .rows = rows, .v = v,
			   .slow = percent / 100,
			   .values = calloc(rows->n + 1, sizeof(double)) };

	v->failed = v->failed || !j.values;
	pairs_find(run, v);
	for (size_t i = 0; i < rows->n; i++) {
		j.any |= rows->list[i].outcome == OUTCOME_OK;
	}
	for (size_t i = 0; i < rows->n; i++) {
		judge_row(&j, &rows->list[i]);
	}
	if (j.values) {
		judge_groups(&j);
	}
	free(j.values);
	return verdict_close(run, v);
}
