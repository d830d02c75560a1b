/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "report/history/history.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"
#include "tests/unit/tree.h"

#define DAY_S 86400

/* ---- a run to its summary ----------------------------------------------- */

static void judge(struct run *run, struct summary *s)
{
	struct verdict v = { 0 };
	struct err e;

	assert_int_equal(verdict_compute(run, &v), 0);
	assert_int_equal(summary_of(run, &v, NULL, s, &e), 0);
	verdict_release(&v);
	run_release(run);
}

static void levels_of_parts_are_medians(void **state)
{
	struct summary s;
	struct run run;

	(void)state;
	fake_run(&run, 4, 4, 4);
	judge(&run, &s);
	assert_int_equal(s.n_nodes, 4);
	assert_int_equal(s.n_rails, 4);
	assert_string_equal(s.nodes[2].name, "n2");
	assert_true(s.nodes[2].tested);
	for (size_t i = 0; i < 4; i++) {
		assert_true(fabs(s.nodes[2].nic_GB_s[i] / FAKE_INTER_GB_S - 1) <
			    0.02);
		assert_true(fabs(s.nodes[2].gpu_GB_s[i] / FAKE_INTRA_GB_S - 1) <
			    0.02);
		assert_true(fabs(s.rail_GB_s[i] / FAKE_INTER_GB_S - 1) < 0.02);
	}
	assert_true(fabs(s.intra_GB_s / FAKE_INTRA_GB_S - 1) < 0.02);
	assert_true(isnan(s.busbw_GB_s));
	summary_release(&s);
}

static void what_was_not_measured_has_no_level(void **state)
{
	struct summary s;
	struct run run;

	(void)state;
	fake_run(&run, 4, 4, 4);
	for (int src = 0; src < 16; src++) {
		for (int dst = 0; dst < 16; dst++) {
			const struct fake_fault dead = { PART_NIC, 1, 2,
							 PART_BOTH };

			if (fake_hits(&run, &dead, src, dst)) {
				fake_cell(&run, src, dst, OUTCOME_ERROR,
					  "wc_retry_exceeded");
			}
		}
	}
	judge(&run, &s);
	assert_true(isnan(s.nodes[1].nic_GB_s[2]));
	assert_true(s.nodes[1].nic_GB_s[1] > 0);
	assert_int_equal(s.n_findings, 1);
	assert_string_equal(s.findings[0].kind, "nic");
	assert_string_equal(s.findings[0].node, "n1");
	assert_int_equal(s.findings[0].index, 2);
	assert_true(s.findings[0].fail);
	summary_release(&s);
}

static void pretend_nodes_have_the_name_of_their_machine(void **state)
{
	struct fact_row fact = { .node = "n0", .scope = "node",
				 .fact = "host", .value = "gpu07" };
	struct summary s;
	struct run run;

	(void)state;
	for (int nodes = 1; nodes <= 2; nodes++) {
		fake_run(&run, nodes, 4, 4);
		json_object_set_new(run.json, "launcher",
				    json_string("local"));
		assert_int_equal(run_add_fact(&run, &fact), 0);
		judge(&run, &s);
		assert_string_equal(s.nodes[0].name,
				    nodes == 1 ? "gpu07" : "gpu07/n0");
		summary_release(&s);
	}
	/* a real node keeps its own */
	fake_run(&run, 1, 4, 4);
	json_object_set_new(run.json, "launcher", json_string("srun"));
	assert_int_equal(run_add_fact(&run, &fact), 0);
	judge(&run, &s);
	assert_string_equal(s.nodes[0].name, "n0");
	summary_release(&s);
}

/* ---- its text ----------------------------------------------------------- */

static char *text_of(const struct summary *s)
{
	json_t *json = summary_json(s);
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	assert_non_null(text);
	return text;
}

static void text_and_back(void **state)
{
	struct summary s, back;
	char *text, *again;
	struct run run;
	struct err e;

	(void)state;
	fake_run(&run, 2, 2, 2);
	fake_cell(&run, 0, 3, OUTCOME_ERROR, "drill_dead");
	json_object_set_new(run.json, "nonce",
			    json_string("0123456789abcdef"));
	run.drill = true;
	judge(&run, &s);
	text = text_of(&s);
	assert_int_equal(summary_parse(text, strlen(text), &back, &e), 0);
	again = text_of(&back);
	assert_string_equal(text, again);
	assert_true(back.drill);
	assert_true(summary_alike(&s, &back));
	assert_false(summary_counts(&back, false));
	assert_true(summary_counts(&back, true));
	free(text);
	free(again);
	summary_release(&s);
	summary_release(&back);
}

static const char good[] =
	"{\"schema\":1,\"id\":\"0123456789\",\"probe\":\"p2p\",\"status\":"
	"\"pass\",\"drill\":false,\"model\":false,\"started_utc\":"
	"\"2026-01-31T09:15:02.123Z\",\"node_count\":0,\"rail_GB_s\":[],"
	"\"findings\":[],\"nodes\":[]}";

/** @good with its part @from as @to. */
static int parse_with(const char *from, const char *to, struct err *e)
{
	const char *at = strstr(good, from);
	struct str text = STR_INIT;
	struct summary s;
	int rc;

	assert_non_null(at);
	str_addf(&text, "%.*s%s%s", (int)(at - good), good, to,
		 at + strlen(from));
	rc = summary_parse(str_text(&text), text.len, &s, e);
	str_release(&text);
	summary_release(&s);
	return rc;
}

static void what_is_no_summary_is_refused(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} bad[] = {
		{ "\"schema\":1", "\"schema\":2", "later version" },
		{ "{\"schema\"", "\"schema\"", "line 1" },
		{ "\"probe\":\"p2p\"", "\"probe\":7", "probe" },
		{ "p2p", "a-name-of-sixteen", "probe" },
		{ "2026-01-31T09:15:02.123Z", "yesterday", "no time" },
		{ "\"rail_GB_s\":[]", "\"rail_GB_s\":[-1]", "rail_GB_s" },
		{ "\"rail_GB_s\":[]", "\"rail_GB_s\":[\"x\"]", "rail_GB_s" },
		{ "\"nodes\":[]", "\"nodes\":[{}]", "entry 1 of 'nodes'" },
		{ "\"findings\":[]", "\"findings\":{}", "findings" },
		{ "\"node_count\":0", "\"node_count\":9999999", "node_count" },
	};
	struct err e;

	(void)state;
	assert_int_equal(parse_with("p2p", "ib", &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse_with(bad[i].from, bad[i].to, &e), -1);
		if (!strstr(e.text, bad[i].says)) {
			fail_msg("'%s' does not say '%s'", e.text,
				 bad[i].says);
		}
	}
}

static void a_file_is_named_by_time_and_run(void **state)
{
	struct summary s = { .probe = "p2p", .id = "04d3b7dcbfdbc1ba",
			     .started_utc = "2026-01-31T09:15:02.123Z" };
	char name[SUMMARY_FILE];
	struct err e;

	(void)state;
	assert_int_equal(summary_file(&s, name, &e), 0);
	assert_string_equal(name, "20260131T091502Z-p2p-04d3b7dc.json");
	STR_COPY(s.id, "../../etc");
	assert_int_equal(summary_file(&s, name, &e), -1);
	assert_false(summary_is_file(".20260131T091502Z-p2p-04d3b7dc.json"));
	assert_false(summary_is_file("20260131T091502Z-p2p-04d3b7dc.json.x"));
	assert_false(summary_is_file("20260131T091502Z-p2p/04d3b7dc.json"));
	assert_false(summary_is_file(""));
}

/* ---- trends ------------------------------------------------------------- */

/** @n runs a day apart, @percent a month from 50 GB/s on, with noise. */
static void make_points(struct trend_point *p, size_t n, double percent,
			double noise)
{
	for (size_t i = 0; i < n; i++) {
		p[i] = (struct trend_point){
			.at_s = (int64_t)i * DAY_S,
			.level = 50 * pow(1 + percent / 100, (double)i / 30) *
				 (1 + noise * (hash_unit(3, i, 0, 0) - 0.5)),
		};
	}
}

static void a_trend_is_said_from_so_many_runs_on(void **state)
{
	struct trend_point p[40];
	struct trend t;

	(void)state;
	make_points(p, 40, -4, 0);
	assert_int_equal(trend_of(p, TREND_RUNS - 1, &t), 0);
	assert_int_equal(t.runs, 0);
	/* so many, but within a few days */
	assert_int_equal(trend_of(p, TREND_DAYS, &t), 0);
	assert_int_equal(t.runs, 0);
	assert_int_equal(trend_of(p, 40, &t), 0);
	assert_int_equal(t.runs, 40);
	assert_true(fabs(t.percent + 4) < 0.01);
	assert_true(t.sure);
}

static void outliers_make_no_trend(void **state)
{
	struct trend_point p[40];
	struct trend t;

	(void)state;
	make_points(p, 40, -4, 0.02);
	for (size_t i = 30; i < 40; i += 2) {
		p[i].level *= 3;
	}
	assert_int_equal(trend_of(p, 40, &t), 0);
	assert_true(t.sure && t.percent < -2 && t.percent > -6);
	make_points(p, 40, 0, 0.1);
	assert_int_equal(trend_of(p, 40, &t), 0);
	assert_int_equal(t.runs, 40);
	assert_false(t.sure);
}

static void many_runs_are_thinned_out(void **state)
{
	static struct trend_point p[5000];
	struct trend t;

	(void)state;
	make_points(p, 5000, -1, 0.02);
	assert_int_equal(trend_of(p, 5000, &t), 0);
	assert_int_equal(t.runs, TREND_MOST);
	assert_true(t.sure && fabs(t.percent + 1) < 0.1);
}

/* ---- many runs ---------------------------------------------------------- */

/** A run of two nodes with a NIC each, @found of n1: "nic", ... or "". */
static struct summary make_run(int day, const char *found, double level)
{
	struct summary s = { .probe = "p2p", .status = "pass",
			     .transport = "nccl", .size_B = 64 << 20,
			     .of_nodes = 2, .ranks = 2, .intra_GB_s = NAN,
			     .busbw_GB_s = NAN, .inter_GB_s = level };

	snprintf(s.id, sizeof(s.id), "%08x", day);
	s.started_s = clock_utc_s("2026-01-01T00:00:00.000Z") + day * DAY_S;
	clock_utc_of(s.started_s, s.started_utc);
	s.nodes = calloc(2, sizeof(*s.nodes));
	s.n_nodes = 2;
	for (int i = 0; i < 2; i++) {
		struct summary_node *n = &s.nodes[i];

		snprintf(n->name, sizeof(n->name), "n%d", i);
		n->tested = true;
		n->bw_GB_s = level;
		n->n_nics = 1;
		n->nic_GB_s = calloc(1, sizeof(double));
		n->nic_GB_s[0] = i == 1 && strcmp(found, "nic") == 0 ? NAN :
								       level;
	}
	if (found[0]) {
		s.n_findings = 1;
		s.findings = calloc(1, sizeof(*s.findings));
		*s.findings = (struct summary_finding){
			.index = 0, .peer_index = -1, .fail = true,
			.code = "wc_retry_exceeded", .node = "n1",
		};
		STR_COPY(s.findings[0].kind, found);
		if (strcmp(found, "node_pair") == 0) {
			STR_COPY(s.findings[0].peer_node, "n2");
		}
	}
	return s;
}

static const struct history_part *find(const struct history *h,
				       const char *name)
{
	for (size_t i = 0; i < h->n_parts; i++) {
		if (strcmp(h->parts[i].name, name) == 0) {
			return &h->parts[i];
		}
	}
	return NULL;
}

static const struct history_node *find_node(const struct history *h,
					    const char *name)
{
	for (size_t i = 0; i < h->n_nodes; i++) {
		if (strcmp(h->nodes[i].name, name) == 0) {
			return &h->nodes[i];
		}
	}
	return NULL;
}

static void release_all(struct summary *runs, size_t n, struct history *h)
{
	history_release(h);
	for (size_t i = 0; i < n; i++) {
		summary_release(&runs[i]);
	}
}

static void who_fails_again_is_a_lemon(void **state)
{
	static const char *const found[] = { "", "", "nic", "", "nic", "", "",
					     "", "nic" };
	struct summary runs[9];
	const struct history_part *p;
	struct history h;

	(void)state;
	for (int i = 0; i < 9; i++) {
		runs[i] = make_run(i, found[i], 45);
	}
	assert_int_equal(history_make(runs, 9, &h), 0);
	p = find(&h, "n1 NIC 0");
	assert_non_null(p);
	assert_ptr_equal(p, &h.parts[0]);
	assert_int_equal(p->failed, 3);
	assert_int_equal(p->n, 9);
	assert_int_equal(p->first, 2);
	assert_int_equal(p->last, 8);
	assert_true(p->flaps);
	assert_true(find_node(&h, "n1")->lemon);
	assert_int_equal(find_node(&h, "n1")->fails, 3);
	assert_string_equal(find_node(&h, "n1")->parts, "NIC 0");
	assert_false(find_node(&h, "n0")->lemon);
	assert_int_equal(find(&h, "n0 NIC 0")->failed, 0);
	assert_int_equal(find(&h, "n0 NIC 0")->n, 9);
	release_all(runs, 9, &h);
}

static void what_is_between_nodes_makes_no_lemon(void **state)
{
	struct summary runs[5];
	struct history h;

	(void)state;
	for (int i = 0; i < 5; i++) {
		runs[i] = make_run(i, "node_pair", 45);
	}
	assert_int_equal(history_make(runs, 5, &h), 0);
	assert_int_equal(find(&h, "n1 - n2")->failed, 5);
	assert_false(find_node(&h, "n1")->lemon);
	assert_true(history_is(find(&h, "n1 - n2"), "N2"));
	release_all(runs, 5, &h);
}

static void runs_of_another_shape_are_not_compared(void **state)
{
	struct summary runs[8];
	const struct history_part *p;
	struct history h;
	size_t rows = 0;

	(void)state;
	for (int i = 0; i < 8; i++) {
		runs[i] = make_run(i * 3, "", i % 2 ? 45 : 25);
		runs[i].size_B = i % 2 ? 64 << 20 : 1 << 20;
	}
	assert_int_equal(history_make(runs, 8, &h), 0);
	assert_int_equal(h.n_setups, 2);
	for (size_t i = 0; i < h.n_parts; i++) {
		p = &h.parts[i];
		rows += strcmp(p->name, "n1 NIC 0") == 0;
		for (size_t k = 1; k < p->n; k++) {
			assert_true(p->points[k].level_GB_s ==
				    p->points[0].level_GB_s);
		}
	}
	assert_int_equal(rows, 2);
	release_all(runs, 8, &h);
}

/** Neither found nor measured: nobody knows, so it is no good run. */
static void what_was_not_measured_is_not_good(void **state)
{
	struct summary runs[4];
	struct history h;

	(void)state;
	for (int i = 0; i < 4; i++) {
		runs[i] = make_run(i, i == 1 ? "nic" : "", 45);
	}
	runs[2].nodes[1].nic_GB_s[0] = NAN;
	assert_int_equal(history_make(runs, 4, &h), 0);
	assert_int_equal(find(&h, "n1 NIC 0")->n, 3);
	release_all(runs, 4, &h);
}

/** A limit has no level: a run that does not name it found it good. */
static void what_has_no_level_is_good_where_it_is_not_found(void **state)
{
	struct summary runs[6];
	char pattern[HISTORY_LAST + 1];
	struct history h;

	(void)state;
	for (int i = 0; i < 6; i++) {
		runs[i] = make_run(i, i % 2 ? "limit" : "", NAN);
		STR_COPY(runs[i].probe, "memlock");
	}
	runs[4].nodes[1].tested = false;
	assert_int_equal(history_make(runs, 6, &h), 0);
	assert_int_equal(find(&h, "n1 limits")->n, 5);
	assert_string_equal(history_pattern(find(&h, "n1 limits"), pattern),
			    ".x.xx");
	release_all(runs, 6, &h);
}

static void the_words_fit_80_columns(void **state)
{
	struct str text = STR_INIT;
	const struct wrap w = { .out = &text, .width = 80 };
	struct history_about about = { .dir = "d", .part = "n1 NIC 0",
				       .left_out = 2 };
	struct summary runs[40];
	struct history h;
	char *next, *line;

	(void)state;
	for (int i = 0; i < 40; i++) {
		runs[i] = make_run(i, i > 30 && i % 3 == 0 ? "nic" : "",
				   45 * pow(0.96, i / 30.0));
	}
	assert_int_equal(history_make(runs, 40, &h), 0);
	history_words(&h, &about, &w);
	about.part = NULL;
	history_words(&h, &about, &w);
	assert_non_null(strstr(str_text(&text), "n1 NIC 0: found in 3 of the "
						"last 40 runs"));
	assert_non_null(strstr(str_text(&text), "-4.0 %"));
	assert_non_null(strstr(str_text(&text), "lemon: n1 failed in 3"));
	assert_non_null(strstr(str_text(&text), "2 drills or model runs"));
	for (next = text.data; (line = strsep(&next, "\n"));) {
		if (strlen(line) > 80) {
			fail_msg("%zu columns: %s", strlen(line), line);
		}
	}
	str_release(&text);
	release_all(runs, 40, &h);
}

/* ---- the files ---------------------------------------------------------- */

static void write_runs(const char *dir, int n)
{
	struct err e;

	for (int i = 0; i < n; i++) {
		struct summary s = make_run(i, i == 2 ? "nic" : "", 45);

		s.drill = i == 1;
		assert_int_equal(store_write(dir, &s, &e), 0);
		summary_release(&s);
	}
}

static void file_in(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void files_and_index_say_the_same(void **state)
{
	char dir[] = "/tmp/test_history.XXXXXX", index[64], link[128];
	struct store_ask ask = { .last = 10 };
	struct store_runs r;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(index, sizeof(index), "%s/index", dir);
	write_runs(dir, 5);
	write_runs(dir, 5);	/* the same again: once each */
	file_in(dir, "20260107T000000Z-p2p-00000000.json", "{\"schema\":1");
	file_in(dir, ".20260101T000000Z-p2p-00000000.json.ab12", "{");
	/* a link is not followed */
	snprintf(link, sizeof(link), "%s/20260108T000000Z-p2p-00000009.json",
		 dir);
	assert_int_equal(symlink("20260101T000000Z-p2p-00000000.json", link),
			 0);
	for (int pass = 0; pass < 5; pass++) {
		ask.index = pass ? index : NULL;
		if (pass == 3) {	/* any other file */
			file_in(dir, "index", "SQLite format 3, not really");
		}
		if (pass == 4) {	/* changed behind its back */
			struct summary s = make_run(2, "", 20);

			assert_int_equal(store_write(dir, &s, &e), 0);
			summary_release(&s);
		}
		assert_int_equal(store_read(dir, &ask, &r, &e), 0);
		assert_string_equal(r.index.text, "");
		assert_int_equal(r.n, 4);
		assert_int_equal(r.left_out, 1);
		assert_int_equal(r.unread, 2);
		assert_non_null(strstr(r.why, "20260107T000000Z"));
		assert_int_equal(r.runs[1].n_findings, pass < 4);
		assert_int_equal(r.runs[3].n_nodes, 2);
		assert_true(r.runs[3].nodes[1].nic_GB_s[0] == 45);
		store_release(&r);
	}
	assert_int_equal(tree_remove(dir), 0);
}

static void an_index_that_cannot_be(void **state)
{
	char dir[] = "/tmp/test_history.XXXXXX";
	struct store_ask ask = { .last = 2, .drills = true,
				 .index = "/proc/index" };
	struct store_runs r;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	write_runs(dir, 5);
	assert_int_equal(store_read(dir, &ask, &r, &e), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.runs[0].n_nodes, 2);
	assert_int_equal(r.runs[1].started_s - r.runs[0].started_s, DAY_S);
	assert_string_not_equal(r.index.text, "");
	store_release(&r);
	assert_int_equal(tree_remove(dir), 0);
	assert_int_equal(store_read(dir, &ask, &r, &e), -1);
	store_release(&r);
}

/** @text to the file @name, filled up to @size and dated 2026-02-01, as of a
 *  copy that keeps the time. */
static void copy_in(const char *dir, const char *name, const char *text,
		    int size)
{
	const struct timespec times[2] = { { .tv_sec = 1769904000 },
					   { .tv_sec = 1769904000 } };
	char filled[4096], path[PATH_MAX];

	snprintf(filled, sizeof(filled), "%-*s", size, text);
	file_in(dir, name, filled);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/** A summary that was none at first is read when it is whole, whatever its time
 *  and its size say. */
static void what_could_not_be_read_is_tried_again(void **state)
{
	char dir[] = "/tmp/test_history.XXXXXX", index[64];
	const char *name = "20260107T000000Z-p2p-00000000.json";
	struct store_ask ask = { .last = 10, .index = index };
	struct summary whole = make_run(6, "", 45);
	char *text = text_of(&whole);
	struct store_runs r;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(index, sizeof(index), "%s/index", dir);
	copy_in(dir, name, "{\"schema\":1,", 4000);
	for (int pass = 0; pass < 4; pass++) {
		if (pass == 2) {
			copy_in(dir, name, text, 4000);
		}
		assert_int_equal(store_read(dir, &ask, &r, &e), 0);
		assert_string_equal(r.index.text, "");
		assert_int_equal(r.unread, pass < 2);
		assert_int_equal(strstr(r.why, name) != NULL, pass < 2);
		assert_int_equal(r.n, pass >= 2);
		store_release(&r);
	}
	free(text);
	summary_release(&whole);
	assert_int_equal(tree_remove(dir), 0);
}

static void in_index(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/** Half of a run in the index is none of it, and what is damaged there is made
 *  anew. */
static void an_index_never_has_less_than_the_files(void **state)
{
	static const char *const harm[] = {
		"CREATE TRIGGER t BEFORE INSERT ON node WHEN NEW.node = 'n1' "
		"BEGIN SELECT RAISE(FAIL, 'disk full'); END;"
		"DELETE FROM run; DELETE FROM node",
		"DROP TRIGGER t",
		"UPDATE node SET body = ''",
		"UPDATE run SET head = NULL",
		"DROP TABLE node",
	};
	char dir[] = "/tmp/test_history.XXXXXX", index[64];
	struct store_ask ask = { .last = 10, .drills = true, .index = index };
	struct store_runs r;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(index, sizeof(index), "%s/index", dir);
	write_runs(dir, 3);
	for (size_t i = 0; i <= sizeof(harm) / sizeof(*harm); i++) {
		if (i > 0) {
			in_index(index, harm[i - 1]);
		}
		assert_int_equal(store_read(dir, &ask, &r, &e), 0);
		assert_string_equal(r.index.text, "");
		assert_int_equal(r.n, 3);
		for (size_t k = 0; k < r.n; k++) {
			assert_int_equal(r.runs[k].n_nodes, 2);
		}
		store_release(&r);
	}
	assert_int_equal(tree_remove(dir), 0);
}

/** A text that memory did not suffice for is not written as one that did. */
static void metrics_are_whole_or_not_there(void **state)
{
	struct summary s = make_run(1, "nic", 45);
	struct str text = STR_INIT;
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	metrics_text(&s, 1, &text);
	text.failed = true;
	assert_int_equal(metrics_print(&text, f), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ftell(f), 0);
	text.failed = false;
	assert_int_equal(metrics_print(&text, f), 0);
	assert_int_equal(ftell(f), text.len);
	str_release(&text);
	summary_release(&s);
	fclose(f);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/** It is not made anew because it cannot be had now. */
static void an_index_that_is_in_use_or_cannot_be_written_stays(void **state)
{
	char dir[] = "/tmp/test_history.XXXXXX", index[64], old[128];
	struct store_ask ask = { .last = 10, .drills = true, .index = index };
	struct rlimit before, none;
	struct store_runs r;
	sqlite3 *db = NULL;
	struct err e;
	ino_t inode;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(index, sizeof(index), "%s/index", dir);
	write_runs(dir, 3);
	assert_int_equal(store_read(dir, &ask, &r, &e), 0);
	store_release(&r);
	inode = inode_of(index);

	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(store_read(dir, &ask, &r, &e), 0);
	assert_int_equal(r.n, 3);
	assert_non_null(strstr(r.index.text, "locked"));
	store_release(&r);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(inode_of(index), inode);

	/* something is to be forgotten, and not a byte can be written */
	snprintf(old, sizeof(old), "%s/20260101T000000Z-p2p-00000000.json",
		 dir);
	assert_int_equal(unlink(old), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(store_read(dir, &ask, &r, &e), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r.n, 2);
	assert_string_not_equal(r.index.text, "");
	store_release(&r);
	assert_int_equal(inode_of(index), inode);
	assert_int_equal(tree_remove(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_of_parts_are_medians),
		cmocka_unit_test(what_was_not_measured_has_no_level),
		cmocka_unit_test(pretend_nodes_have_the_name_of_their_machine),
		cmocka_unit_test(text_and_back),
		cmocka_unit_test(what_is_no_summary_is_refused),
		cmocka_unit_test(a_file_is_named_by_time_and_run),
		cmocka_unit_test(a_trend_is_said_from_so_many_runs_on),
		cmocka_unit_test(outliers_make_no_trend),
		cmocka_unit_test(many_runs_are_thinned_out),
		cmocka_unit_test(who_fails_again_is_a_lemon),
		cmocka_unit_test(what_is_between_nodes_makes_no_lemon),
		cmocka_unit_test(runs_of_another_shape_are_not_compared),
		cmocka_unit_test(what_was_not_measured_is_not_good),
		cmocka_unit_test(
			what_has_no_level_is_good_where_it_is_not_found),
		cmocka_unit_test(the_words_fit_80_columns),
		cmocka_unit_test(files_and_index_say_the_same),
		cmocka_unit_test(an_index_that_cannot_be),
		cmocka_unit_test(what_could_not_be_read_is_tried_again),
		cmocka_unit_test(metrics_are_whole_or_not_there),
		cmocka_unit_test(an_index_never_has_less_than_the_files),
		cmocka_unit_test(
			an_index_that_is_in_use_or_cannot_be_written_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
