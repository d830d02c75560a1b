/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of gpu: single GPUs compared with their peers. */
#include "report/judge/gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"

/* ---- gpu turns ----------------------------------------------------------- */

#define TURNS_MIN 6	/* fewer have no thirds to speak of */

/* The place of @r among the tests, in the order in which they are done; -1:
 * unknown. */
static int gpu_test_order(const struct gpu_row *r)
{
	static const char *const tests[] = {
		GPU_TEST_OPEN, GPU_TEST_H2D, GPU_TEST_D2H, GPU_TEST_BOTH,
		GPU_TEST_FAR_H2D, GPU_TEST_FAR_D2H, GPU_TEST_ALL_H2D,
		GPU_TEST_ALL_D2H, GPU_TEST_COPY, GPU_TEST_PATTERN,
		GPU_TEST_COMPUTE, GPU_TEST_DCGM, NULL
	};

	return str_index(tests, r->test);
}

static int by_test(const struct gpu_row *a, const struct gpu_row *b)
{
	int by_node = strverscmp(a->node, b->node);
	int by_gpu = by_node ? by_node : a->gpu < b->gpu ? -1 : a->gpu > b->gpu;
	int order = by_gpu ? by_gpu : gpu_test_order(a) - gpu_test_order(b);

	/* dcgmi has a row for each of its messages */
	return order || gpu_test_order(a) < 0 || strcmp(a->test, GPU_TEST_DCGM)
		       ? order : strcmp(a->detail, b->detail);
}

static int by_turn(const void *x, const void *y)
{
	const struct gpu_row *a = x, *b = y;
	int order = by_test(a, b);

	return order ? order : a->turn < b->turn ? -1 : a->turn > b->turn;
}

static double rate_of(const struct gpu_row *r)
{
	return r->outcome != OUTCOME_OK ? NAN :
	       isnan(r->bw_GB_s)	? r->clock_MHz : r->bw_GB_s;
}

static double heat_of(const struct gpu_row *r)
{
	return r->temp_C;
}

/** Returns the median of @of over the @n rows from @r on that have a value, or
 *  how far apart they are, as stats_mad() has it; NAN without any. */
static double median(const struct gpu_row *r, size_t n,
		     double (*of)(const struct gpu_row *r), bool spread,
		     double *room)
{
	size_t known = 0;
	double mid;

	for (size_t i = 0; i < n; i++) {
		room[known] = of(&r[i]);
		known += !isnan(room[known]);
	}
	return known == 0 ? NAN :
	       spread	  ? stats_mad(room, known, &mid) :
			    stats_median(room, known);
}

/** Set @one to the row that stands for the @n turns of a test from @r on, and
 *  @t to their trend. */
static void take(const struct gpu_row *r, size_t n, struct gpu_row *one,
		 struct gpu_trend *t, double *room)
{
	const struct gpu_row *last = r + n - n / 3;
	size_t third = n / 3, tells = 0;
	double usual = median(r, n, rate_of, false, room);

	/* the turn that says most about what is wrong */
	while (tells < n && r[tells].outcome == OUTCOME_OK) {
		tells++;
	}
	for (size_t i = 1; i < n && tells >= n; i++) {
		tells = strcmp(r[i].hash, r[0].hash) != 0 ? i : n;
	}
	if (n > 1 || one != r) {
		*one = r[tells < n ? tells : 0];
	}
	if (!isnan(one->bw_GB_s) && !isnan(usual)) {
		one->bw_GB_s = usual;
	}
	*t = (struct gpu_trend){ .n = n, .early = NAN, .late = NAN,
				 .early_C = NAN, .late_C = NAN };
	if (n >= TURNS_MIN) {
		t->early = median(r, third, rate_of, false, room);
		t->late = median(last, third, rate_of, false, room);
		t->noise = fmax(median(r, third, rate_of, true, room),
				median(last, third, rate_of, true, room));
		t->early_C = median(r, third, heat_of, false, room);
		t->late_C = median(last, third, heat_of, false, room);
	}
}

int gpu_turns_make(struct run *run, struct gpu_turns *t)
{
	struct gpu_row *all = run->gpu;
	const size_t n = run->rows;
	double *room = calloc(n + 1, sizeof(*room));
	size_t end;

	if (n > 0) {
		qsort(all, n, sizeof(*all), by_turn);
	}
	t->trends = calloc(n + 1, sizeof(*t->trends));
	t->borrowed = n > 0;	/* and no test has a second row */
	for (size_t i = 1; i < n && t->borrowed; i++) {
		t->borrowed = by_test(&all[i - 1], &all[i]) != 0;
	}
	t->list = t->borrowed ? all : calloc(n + 1, sizeof(*t->list));
	if (!room || !t->list || !t->trends) {
		free(room);
		return -1;
	}
	for (size_t i = 0; i < n; i = end) {
		size_t k = t->n++;

		for (end = i + 1;
		     end < n && by_test(&all[i], &all[end]) == 0; end++) {
		}
		take(&all[i], end - i, &t->list[k], &t->trends[k], room);
	}
	free(room);
	return 0;
}

void gpu_turns_release(void *turns)
{
	struct gpu_turns *t = turns;

	if (!t->borrowed) {
		free(t->list);
	}
	free(t->trends);
	*t = (struct gpu_turns){ 0 };
}

/* ---- gpu ----------------------------------------------------------------- */

#define PEERS_MIN     4		/* below, the odd one may be any of them */
#define SLOW_WARN     0.05
/** Minimum share of the nominal link rate; data/expected.ini has the same for
 *  paths. */
#define EXPECTED_MIN  0.9
/** Minimum difference, in units of the spread between peers. */
#define SPREADS	      5
/** Minimum trend, in units of the spread between turns. */
#define TREND_SPREADS 3

struct judge {
	const struct run *run;
	struct verdict *v;
	double *values;		/* room for a value a row */
	double slow;		/* 0.1 */
	bool any;		/* a GPU of any node was tested */
};

static struct finding *add(struct judge *j, const struct gpu_row *r,
			   const char *code, bool fail)
{
	int node = run_find_node(j->run, r->node, -1);
	struct part p = r->gpu == RECORD_NONE ?
			part_at(PART_NODE, node, -1) :
			part_at(PART_GPU, node, (int)r->gpu);
	struct finding *f = finding_add(j->v, p, code);

	f->fail = fail;
	f->cells = f->explained = 1;
	return f;
}

/** Returns the finding @code about the GPU of @r, if there is one already;
 *  NULL. */
static struct finding *find(struct judge *j, const struct gpu_row *r,
			    const char *code)
{
	int node = run_find_node(j->run, r->node, -1);

	verdict_foreach(j->v, f) {
		if (strcmp(f->code, code) == 0 && f->part.node == node &&
		    f->part.index == (int)r->gpu) {
			return f;
		}
	}
	return NULL;
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

/* ---- single tests -------------------------------------------------------- */

/** Others hold it, which a fact may have said already, or it cannot do a
 *  test. */
static void name_skipped(struct judge *j, const struct gpu_row *r)
{
	struct finding *f = find(j, r, r->code);
	bool held = is_test(r, GPU_TEST_OPEN);
	char name[96];

	f = f ? f : add(j, r, r->code, held);
	f->cells = f->explained = 1;
	if (held) {
		finding_say(f, "%s is %s and was not tested",
			    name_of(r, name), r->detail);
	} else {
		finding_say(f, "%s was not tested by %s: %s", name_of(r, name),
			    r->test, r->detail);
	}
}

static void name_failed(struct judge *j, const struct gpu_row *r)
{
	bool none = r->gpu == RECORD_NONE;
	struct finding *f = add(j, r, r->code[0] ? r->code :
					      outcome_name(r->outcome),
				!none || j->any);
	char name[96];

	if (none) {
		finding_say(f, "%s was not tested: it has no usable GPU",
			    name_of(r, name));
	} else if (is_test(r, GPU_TEST_OPEN)) {
		finding_say(f, "%s cannot be used", name_of(r, name));
	} else {
		finding_say(f, "%s fails the test %s", name_of(r, name),
			    r->test);
	}
	finding_add_evidence(f, "%s: %s", outcome_name(r->outcome), r->detail);
}

/** Adds a warning that another process used the GPU during the test, so that
 *  its values are of both. */
static void name_joined(struct judge *j, const struct gpu_row *r)
{
	struct finding *f = find(j, r, FINDING_GPU_JOINED);
	char name[96];

	if (!f) {
		f = add(j, r, FINDING_GPU_JOINED, false);
		f->cells = f->explained = 0;
	}
	f->explained = ++f->cells;
	finding_say(f, "%s was used by other processes during the test: its "
		    "results are not judged", name_of(r, name));
	finding_add_evidence(f, "%s: %s", r->test, r->detail);
	f->n_first = 1;
}

/* ---- comparison with peers ----------------------------------------------- */

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
	return r->outcome == OUTCOME_OK && !isnan(r->bw_GB_s) &&
	       strcmp(r->code, FINDING_GPU_JOINED) != 0;
}

/** Returns true for tests of all GPUs of a node at once: GPUs that share a link
 *  are slow by design, and only a comparison with other nodes shows more. */
static bool is_at_once(const struct gpu_row *r)
{
	return is_test(r, GPU_TEST_ALL_H2D) || is_test(r, GPU_TEST_ALL_D2H);
}

/** Adds the other devices below the root port of @r as evidence. */
static void add_sharers(struct judge *j, const struct gpu_row *r,
			struct finding *f)
{
	const struct run *run = j->run;
	const struct fact_row *own = NULL;
	struct str others = STR_INIT;
	char scope[16];

	snprintf(scope, sizeof(scope), "gpu%d", (int)r->gpu);
	for (size_t pass = 0; pass < 2; pass++) {
		run_foreach_fact(run, p) {
			if (strcmp(p->fact, "root_port") != 0 ||
			    strcmp(p->node, r->node) != 0) {
				continue;
			}
			if (strcmp(p->scope, scope) == 0) {
				own = p;
			} else if (pass && own &&
				   strcmp(p->value, own->value) == 0) {
				str_addf(&others, "%s%s", others.len ? ", " :
					 "", p->scope);
			}
		}
	}
	if (others.len > 0) {
		finding_add_evidence(f, "it shares root port %s of its host "
				     "with %s", own->value, str_text(&others));
	}
	str_release(&others);
}

/** Judge the bandwidth of @r by that of its peers and of its link. */
static void judge_speed(struct judge *j, const struct group *g,
			const struct gpu_row *r)
{
	double slower = 1 - r->bw_GB_s / g->median;
	bool fail = slower >= j->slow && !is_at_once(r);
	bool peers = g->n_rates >= PEERS_MIN && slower >= SLOW_WARN &&
		     g->median - r->bw_GB_s > SPREADS * g->spread;
	struct finding *f;
	char name[96];
	size_t n = 0;

	/* as slow as its counterparts on other nodes: so by design */
	for (size_t i = 0; i < g->n && peers; i++) {
		if (g->rows[i] != r && g->rows[i]->gpu == r->gpu &&
		    has_rate(g->rows[i])) {
			j->values[n++] = g->rows[i]->bw_GB_s;
		}
	}
	peers = peers && !(n >= 2 && r->bw_GB_s > stats_median(j->values, n) *
							  (1 - SLOW_WARN));
	if (!peers && (is_at_once(r) ||
		       !(r->bw_GB_s < r->expected_GB_s * EXPECTED_MIN))) {
		return;
	}
	f = find(j, r, "gpu_slow");
	if (f) {
		f->fail |= peers && fail;
		finding_add_evidence(f, "%s: %.1f GB/s (peers: %.1f)",
				     r->test, r->bw_GB_s, g->median);
		f->n_first = f->n_evidence - 1;
		return;
	}
	f = add(j, r, "gpu_slow", peers && fail);
	if (peers) {
		finding_say(f, "%s is %.0f %% slower than its %zu peers in %s: "
			    "%.1f GB/s (peers: %.1f)", name_of(r, name),
			    slower * 100, g->n_rates - 1, r->test, r->bw_GB_s,
			    g->median);
	} else {
		finding_say(f,
			    "%s reaches %.1f GB/s in %s, but its link "
			    "should allow %.1f",
			    name_of(r, name), r->bw_GB_s, r->test,
			    r->expected_GB_s);
	}
	if (is_at_once(r)) {
		add_sharers(j, r, f);
	}
	if (r->link[0]) {
		finding_add_evidence(f, "its PCIe link during the transfer: %s",
				     r->link);
	}
}

/** Returns the rate of a link (GT/s times lanes) from the text of its column;
 *  NAN without lanes. */
static double link_rate(const struct gpu_row *r)
{
	const char *x = strchr(r->link, 'x');

	return x ? strtod(r->link, NULL) * strtod(x + 1, NULL) : NAN;
}

/** Sets the link and hash that most of the group have, by Boyer and Moore's
 *  vote. */
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
	bool links, hashes;
	char name[96];

	for (size_t i = 0; i < g->n; i++) {
		if (has_rate(g->rows[i])) {
			j->values[g->n_rates++] = g->rows[i]->bw_GB_s;
		}
	}
	if (g->n_rates > 0) {
		g->spread = stats_mad(j->values, g->n_rates, &g->median);
	}
	take_majority(g);
	links = g->n_link * 2 > g->n;
	/* if only two results differ, either may be wrong */
	hashes = g->n_hash * 2 > g->n && g->n_hash >= 2;
	for (size_t i = 0; i < g->n; i++) {
		const struct gpu_row *r = g->rows[i];
		struct finding *f;

		if (has_rate(r)) {
			judge_speed(j, g, r);
		}
		if (r->link[0] && is_test(r, GPU_TEST_H2D) && links &&
		    !(link_rate(r) >= g->link)) {
			f = add(j, r, "gpu_link", g->n_link >= PEERS_MIN - 1);
			finding_say(f, "%s has a slower PCIe link than %zu of "
				    "its %zu peers: %s during a transfer "
				    "(peers: %s)", name_of(r, name),
				    g->n_link, g->n - 1, r->link,
				    g->link_of->link);
		}
		if (r->hash[0] && r->outcome == OUTCOME_OK &&
		    (strcmp(r->hash, g->hash) != 0 ||
		     (!hashes && g->n_hash != g->n))) {
			f = add(j, r, "wrong_result", hashes);
			finding_say(
				f,
				hashes ? "%s computes a different result than "
					 "%zu "
					 "others of its model"
				       : "%s and others of its model compute "
					 "different results",
				name_of(r, name), g->n_hash);
			finding_add_evidence(f, "its result is %s", r->hash);
		}
	}
}

static int by_group(const void *a, const void *b)
{
	const struct gpu_row *x = *(const struct gpu_row *const *)a;
	const struct gpu_row *y = *(const struct gpu_row *const *)b;
	int by_test = gpu_test_order(x) - gpu_test_order(y);
	int by_model = by_test ? by_test : strcmp(x->model, y->model);

	return by_model ? by_model : x < y ? -1 : x > y;
}

/* ---- judge --------------------------------------------------------------- */

static void judge_trend(struct judge *j, const struct gpu_row *r,
			const struct gpu_trend *t)
{
	double lost = 1 - t->late / t->early;
	struct finding *f;
	char name[96];

	if (!(lost >= SLOW_WARN) ||
	    !(t->early - t->late > TREND_SPREADS * t->noise)) {
		return;
	}
	f = add(j, r, "gpu_trend", false);
	finding_say(f,
		    "%s gets slower: in %s it lost %.0f %% between the "
		    "first and the last third of %zu rounds",
		    name_of(r, name), r->test, lost * 100, t->n);
	finding_add_evidence(f, isnan(r->bw_GB_s) ? "%.0f MHz, then %.0f" :
						    "%.1f GB/s, then %.1f",
			     t->early, t->late);
	if (t->late_C > 0 && t->early_C > 0) {
		finding_add_evidence(f, "%.0f degrees Celsius, then %.0f",
				     t->early_C, t->late_C);
	}
}

static const enum cell_class classes[] = {
	[OUTCOME_NOT_RUN] = CELL_NOT_RUN, [OUTCOME_OK] = CELL_PASS,
	[OUTCOME_ERROR] = CELL_FAIL, [OUTCOME_TIMEOUT] = CELL_TIMEOUT,
	[OUTCOME_CRASHED] = CELL_FAIL, [OUTCOME_CORRUPT] = CELL_CORRUPT,
	[OUTCOME_SKIPPED] = CELL_SKIPPED,
};

static void judge_row(struct judge *j, const struct gpu_row *r)
{
	/* why a node shows no GPU */
	static const char *const lacks[] = { "gpu_missing", "gpu_mig",
					     "gpu_hidden", NULL };
	struct finding *f;
	char name[96];

	if (is_test(r, GPU_TEST_DCGM)) {
		f = add(j, r, r->code, strcmp(r->code, GPU_DCGM_FAIL) == 0);
		finding_say(f, "dcgmi diag reports a fault of %s: %s",
			    name_of(r, name), r->detail);
	} else if (r->gpu == RECORD_NONE && str_index(lacks, r->code) < 0) {
		silent_finding(j->run, r->node, r->code, r->outcome, r->detail,
			       j->v);
	} else if (strcmp(r->code, GPU_ONE_SOCKET) == 0) {
		return;		/* requested but not available, which is not
				 * a fault */
	} else if (r->outcome == OUTCOME_SKIPPED) {
		name_skipped(j, r);
	} else if (r->outcome != OUTCOME_OK && r->outcome != OUTCOME_NOT_RUN) {
		name_failed(j, r);
	} else if (strcmp(r->code, FINDING_GPU_JOINED) == 0) {
		name_joined(j, r);
	}
	if (!r->throttled[0]) {
		return;
	}
	f = add(j, r, "throttled", false);
	finding_say(f, "%s lowered its clocks during the test: %s",
		    name_of(r, name), r->throttled);
	if (r->power_W > 0 && r->temp_C > 0 && r->clock_MHz > 0) {
		finding_add_evidence(f, "%.0f W, %.0f degrees Celsius, %.0f "
				     "MHz at least", r->power_W, r->temp_C,
				     r->clock_MHz);
	}
}

int gpu_judge(const struct run *run, const struct gpu_turns *turns,
	      struct verdict *v)
{
	const struct gpu_row **all = calloc(turns->n + 1, sizeof(*all));
	struct judge j = { .run = run, .v = v, .slow = run_slow_share(run),
			   .values = calloc(run->rows + 1, sizeof(double)) };
	const size_t n = all && j.values ? turns->n : 0;
	size_t end;

	v->failed = v->failed || !all || !j.values;
	pairs_find(run, v);
	for (size_t i = 0; i < run->rows; i++) {
		const struct gpu_row *r = &run->gpu[i];

		j.any |= r->outcome == OUTCOME_OK;
		/* a node without a GPU has nothing that could fail */
		v->cells[r->gpu == RECORD_NONE ? CELL_SKIPPED :
						 classes[r->outcome]]++;
	}
	for (size_t i = 0; i < n; i++) {
		all[i] = &turns->list[i];
		judge_row(&j, all[i]);
	}
	if (n > 0) {
		qsort(all, n, sizeof(*all), by_group);
	}
	for (size_t i = 0; i < n; i = end) {
		struct group g = { .rows = &all[i], .median = NAN };

		for (end = i + 1;
		     end < n && strcmp(all[i]->test, all[end]->test) == 0 &&
		     strcmp(all[i]->model, all[end]->model) == 0; end++) {
		}
		g.n = end - i;
		judge_group(&j, &g);
	}
	for (size_t i = 0; i < n; i++) {
		judge_trend(&j, &turns->list[i], &turns->trends[i]);
	}
	held_findings(run, v);
	free(j.values);
	free(all);
	return verdict_close(run, v);
}
