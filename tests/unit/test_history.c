/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "report/history/history.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"
#include "tests/unit/tree.h"

#define DAY_S 86400

/** Bytes of the column tested_with. */
#define COLUMN_SIZE sizeof(((struct history_row *)NULL)->tested_with)

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

static void nodes_that_were_tested_together_are_listed(void **state)
{
	struct summary s;
	struct run run;

	(void)state;
	fake_run(&run, 4, 2, 2);
	judge(&run, &s);
	assert_string_equal(s.nodes[0].tested_with, "n[1-3]");
	assert_string_equal(s.nodes[2].tested_with, "n3");
	assert_null(s.nodes[3].tested_with);
	summary_release(&s);
	/* many names take several lines, none longer than a column has */
	fake_run(&run, 200, 1, 1);
	for (int i = 0; i < 200; i++) {
		snprintf(run.nodes[i].name, sizeof(run.nodes[i].name),
			 "a-long-name-of-a-node-%d-gpu", i * 2);
	}
	judge(&run, &s);
	assert_non_null(strchr(s.nodes[0].tested_with, '\n'));
	for (const char *c = s.nodes[0].tested_with; *c;) {
		const size_t len = strcspn(c, "\n");

		assert_true(len < COLUMN_SIZE);
		c += len + (c[len] == '\n');
	}
	summary_release(&s);
}

/* ---- a summary of an earlier version ------------------------------------- */

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
	rc = store_parse_old(str_text(&text), text.len, &s, e);
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
		{ "2026-01-31T09:15:02.123Z", "yesterday", "not a time" },
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

/* ---- trends ------------------------------------------------------------- */

/** @n runs a day apart, @percent a month from 50 GB/s on, with noise. */
static void make_points(struct history_point *p, size_t n, double percent,
			double noise)
{
	for (size_t i = 0; i < n; i++) {
		p[i] = (struct history_point){
			.at_s = (int64_t)i * DAY_S,
			.level_GB_s =
				50 * pow(1 + percent / 100, (double)i / 30) *
				(1 + noise * (hash_unit(3, i, 0, 0) - 0.5)),
		};
	}
}

static void a_trend_is_said_from_so_many_runs_on(void **state)
{
	struct history_point p[40];
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
	struct history_point p[40];
	struct trend t;

	(void)state;
	make_points(p, 40, -4, 0.02);
	for (size_t i = 30; i < 40; i += 2) {
		p[i].level_GB_s *= 3;
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
	static struct history_point p[5000];
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
	s.started_s = clock_utc_s("2026-01-01T00:00:00.000Z") +
		      (double)day * DAY_S;
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
	assert_string_equal(p->first_utc, runs[2].started_utc);
	assert_string_equal(p->last_utc, runs[8].started_utc);
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

/** Pairs with the NICs of the plan are another setup than those with all that
 *  NCCL selects, as in runs of earlier versions, which do not say so. */
static void runs_with_other_nics_are_not_compared(void **state)
{
	static const char *const choices[] = { "", "nccl", "plan" };
	char setup[SUMMARY_SETUP];
	struct summary runs[9];
	struct history h;

	(void)state;
	for (int i = 0; i < 9; i++) {
		runs[i] = make_run(i * 3, "", i % 3 == 2 ? 25 : 45);
		STR_COPY(runs[i].nic_choice, choices[i % 3]);
	}
	assert_int_equal(history_make(runs, 9, &h), 0);
	assert_int_equal(h.n_setups, 2);
	assert_string_equal(summary_setup(&runs[7], setup),
			    "p2p nccl 64 MiB 2 nodes 2 ranks "
			    "--nic-choice=nccl");
	assert_string_equal(summary_setup(&runs[8], setup),
			    "p2p nccl 64 MiB 2 nodes 2 ranks");
	release_all(runs, 9, &h);
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
	struct summary runs[40];
	struct history h;
	char *next, *line;

	(void)state;
	for (int i = 0; i < 40; i++) {
		runs[i] = make_run(i, i > 30 && i % 3 == 0 ? "nic" : "",
				   45 * pow(0.96, i / 30.0));
	}
	assert_int_equal(history_make(runs, 40, &h), 0);
	h.dir = "d";
	h.part = "n1 NIC 0";
	h.left_out = 2;
	history_words(&h, &w);
	h.part = NULL;
	history_words(&h, &w);
	assert_non_null(strstr(str_text(&text), "n1 NIC 0: found in 3 of the "
						"last 40 runs"));
	assert_non_null(strstr(str_text(&text), "-4.0 %"));
	assert_non_null(strstr(str_text(&text), "lemon: n1 failed in 3"));
	assert_non_null(strstr(str_text(&text), "2 drills or simulated runs"));
	for (next = text.data; (line = strsep(&next, "\n"));) {
		if (strlen(line) > 80) {
			fail_msg("%zu columns: %s", strlen(line), line);
		}
	}
	str_release(&text);
	release_all(runs, 40, &h);
}

/* ---- the files ---------------------------------------------------------- */

/** A directory for a history, and the file of this user in it. */
struct place {
	char dir[32], file[64];
};

static struct place make_place(void)
{
	struct place p = { .dir = "/tmp/test_history.XXXXXX" };

	assert_non_null(mkdtemp(p.dir));
	snprintf(p.file, sizeof(p.file), "%s/history-%u.csv", p.dir,
		 geteuid());
	return p;
}

static void append(const struct place *p, int day, const char *found)
{
	struct summary s = make_run(day, found, 45);
	struct err e = { 0 };

	s.drill = day == 1;
	if (store_append(p->dir, &s, 1, &e) < 0) {
		fail_msg("%s", e.text);
	}
	summary_release(&s);
}

static struct store_runs read_place(const struct place *p)
{
	struct store_runs r;
	struct err e = { 0 };

	if (store_read(p->dir, 1000000, false, &r, &e) < 0) {
		fail_msg("%s", e.text);
	}
	return r;
}

static off_t size_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void put_end(const char *file, const char *text)
{
	FILE *f = fopen(file, "a");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/** All that a run says is the same when it is read. */
static void rows_and_back(void **state)
{
	struct place p = make_place();
	struct summary s = make_run(3, "pair", 45.25), *back;
	struct summary_finding *f = &s.findings[0];
	struct store_runs r;
	struct err e;

	(void)state;
	STR_COPY(s.version, "1.2");
	STR_COPY(s.ended_utc, "2026-01-04T00:01:00.000Z");
	STR_COPY(f->peer_node, "n0");
	STR_COPY(f->name, "=leaf, \"3\"");
	f->peer_index = 7;
	f->fail = false;
	s.rail_GB_s = calloc(3, sizeof(double));
	s.n_rails = 3;
	s.rail_GB_s[1] = NAN;
	s.rail_GB_s[2] = 44.5;
	s.nodes[1].tested = false;
	s.nodes[0].tested_with = strdup("n1\nn2");
	assert_int_equal(store_append(p.dir, &s, 1, &e), 0);
	r = read_place(&p);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.unread, 0);
	back = &r.runs[0];
	assert_true(summary_alike(&s, back));
	assert_string_equal(back->id, s.id);
	assert_string_equal(back->version, "1.2");
	assert_string_equal(back->ended_utc, s.ended_utc);
	assert_int_equal(back->started_s, s.started_s);
	assert_int_equal(back->n_rails, 3);
	assert_true(back->rail_GB_s[0] == 0 && isnan(back->rail_GB_s[1]) &&
		    back->rail_GB_s[2] == 44.5);
	assert_true(back->inter_GB_s == 45.25 && isnan(back->busbw_GB_s));
	assert_int_equal(back->n_nodes, 2);
	assert_true(back->nodes[0].tested && !back->nodes[1].tested);
	assert_true(back->nodes[1].nic_GB_s[0] == 45.25);
	assert_int_equal(back->n_findings, 1);
	assert_string_equal(back->findings[0].name, f->name);
	assert_string_equal(back->findings[0].code, f->code);
	assert_int_equal(back->findings[0].peer_index, 7);
	assert_false(back->findings[0].fail);
	store_release(&r);
	summary_release(&s);
	assert_int_equal(tree_remove(p.dir), 0);
}

/** Add a run on day @day that tested node 0 of @list with its other nodes. */
static void append_pairs(struct place *p, int day, const char *probe,
			 const char *first, const char *others)
{
	struct summary s = make_run(day, "", 45);
	struct err e;

	STR_COPY(s.probe, probe);
	STR_COPY(s.nodes[0].name, first);
	s.nodes[0].tested_with = strdup(others);
	assert_int_equal(store_append(p->dir, &s, 1, &e), 0);
	summary_release(&s);
}

static void the_last_test_of_each_pair_is_known(void **state)
{
	size_t n_nodes;
	char **nodes = hostlist_expand("n[4,0-3]", &n_nodes, NULL);
	const bool idle[] = { true, false, false, true, true };
	struct place p = make_place();
	struct str text = STR_INIT;
	const struct wrap w = { .out = &text, .width = 80 };
	struct store_runs r;
	struct coverage c;
	struct err e;
	int64_t now_s;

	(void)state;
	append_pairs(&p, 0, "p2p", "n0", "n[1,2]");
	append_pairs(&p, 8, "p2p", "n0", "n1\nn3");
	append_pairs(&p, 9, "ping", "n2", "n3");	/* tests no path */
	append_pairs(&p, 10, "ib", "n1", "n[2,3");	/* no list */
	r = read_place(&p);
	assert_int_equal(coverage_make(r.runs, r.n, NULL, 0, &c, &e), 0);
	assert_int_equal(c.n, 2);	/* that runs say they had */
	coverage_release(&c);
	assert_int_equal(coverage_make(r.runs, r.n, nodes, n_nodes, &c,
				       &e), 0);
	assert_int_equal(c.pairs, 10);
	assert_int_equal(c.never, 7);
	assert_string_equal(c.old_node, "n0");
	assert_string_equal(c.old_peer, "n2");
	assert_int_equal(c.oldest_s, r.runs[0].started_s);
	assert_string_equal(c.gaps[0].node, "n4");
	assert_string_equal(c.gaps[0].with, "n[0-3]");
	now_s = c.oldest_s + 15 * 24 * 3600;
	coverage_words(&c, 0, now_s, &w);
	assert_non_null(strstr(str_text(&text), "\nn0                121!\n"));
	assert_non_null(strstr(str_text(&text), "\nn1               1 !!!\n"));
	/* n0 alone was tested with others */
	assert_int_equal(coverage_next(&c, NULL, 3, now_s, true), 0);
	assert_string_equal(str_text(&c.next), "n1,n2,n4");
	assert_int_equal(c.next_first, 3);
	str_reset(&c.next);
	assert_int_equal(coverage_next(&c, idle, 2, now_s, true), 0);
	assert_string_equal(str_text(&c.next), "n3,n4");
	str_release(&text);
	coverage_release(&c);
	hostlist_free(nodes, n_nodes);
	store_release(&r);
	assert_int_equal(tree_remove(p.dir), 0);
}

static void jobs_of_a_few_nodes_test_all_pairs(void **state)
{
	static const size_t sizes[][2] = { { 2, 2 }, { 7, 3 }, { 24, 6 },
					   { 9, 9 } };
	size_t n_names;
	char **names = hostlist_expand("n[0-23]", &n_names, NULL);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const size_t n = sizes[i][0], k = sizes[i][1];
		struct summary runs[200] = { 0 };
		size_t made = 0, told = 0;
		bool done = false;

		/* take the proposed jobs: after as many as were said, and not
		 * before, each pair has been tested */
		while (!done) {
			struct coverage c;
			struct err e;

			assert_int_equal(coverage_make(runs, made, names, n,
						       &c, &e), 0);
			assert_int_equal(coverage_next(&c, NULL, k, 86400,
						       true), 0);
			told = made == 0 ? c.until_tested : told;
			assert_true(told >= c.nights_least);
			done = c.never == 0;
			assert_int_equal(done, made == told);
			runs[made].nodes = calloc(k, sizeof(*runs->nodes));
			runs[made].n_nodes = k;
			for (char *at = c.next.data; at && *at; ) {
				struct summary_node *to = runs[made].nodes;
				const size_t len = strcspn(at, ",");

				for (; to->name[0]; to++) {
				}
				snprintf(to->name, SUMMARY_NODE, "%.*s",
					 (int)len, at);
				to->tested_with = strdup(at);
				at += len + (at[len] == ',');
			}
			made++;
			coverage_release(&c);
		}
		while (made > 0) {
			summary_release(&runs[--made]);
		}
	}
	hostlist_free(names, n_names);
}

static void a_run_counts_once_and_drills_do_not(void **state)
{
	struct place p = make_place();
	struct store_runs r;
	off_t size;

	(void)state;
	for (int i = 0; i < 5; i++) {
		append(&p, i, i == 2 ? "nic" : "");
	}
	size = size_of(p.file);
	append(&p, 4, "");	/* reported again: nothing is to be added */
	assert_int_equal(size_of(p.file), size);
	append(&p, 2, "");	/* measured again: the later one counts */
	assert_true(size_of(p.file) > size);
	r = read_place(&p);
	assert_int_equal(r.n, 4);
	assert_int_equal(r.left_out, 1);
	assert_int_equal(r.unread, 0);
	for (size_t i = 0; i < r.n; i++) {
		assert_int_equal(r.runs[i].n_findings, 0);
		assert_true(i == 0 || r.runs[i].started_s >
					      r.runs[i - 1].started_s);
	}
	store_release(&r);
	assert_int_equal(tree_remove(p.dir), 0);
}

#define COMMAS ",,,,,,,,,,,,,,,,,,,,,,,,,"

static void lines_that_are_none_are_counted(void **state)
{
	static const char *const bad[] = {
		"run,ab\n",			/* a line that was cut */
		"something else\n",
		",,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n",
		"a \"quote\n",
		/* about a run that the line before is not about */
		"node,ffffffff,,,tested,,,,,,,,,,,,,,n9,1,,,,,,,,,,,.\n",
		/* no status, no time, no number, a kind that there is not */
		"run,ab,p2p,,,2026-01-31T09:15:02.123Z" COMMAS ".\n",
		"run,ab,p2p,,pass,today" COMMAS ".\n",
		"node,00000002,,,tested,,,,,,,,,,,,,,n9,x,,,,,,,,,,,.\n",
		"node,00000002,,,tested,,,,,,,,,,,,,,n9,1,1;x,,,,,,,,,,.\n",
		"node,00000002,,,tested,,,,,,,,,,,,,,n9,1,1;-1,,,,,,,,,,.\n",
		"wish,00000002,,,tested,,,,,,,,,,,,,,n9,1,,,,,,,,,,,.\n",
		"node,00000002,,,tested,,,,,,,,,,,,,,n9,1,,,,,,,,,,,\n",
	};
	struct place p = make_place();
	const size_t n = sizeof(bad) / sizeof(bad[0]);
	struct store_runs r;
	char other[80];

	(void)state;
	append(&p, 2, "nic");
	/* the last one has all columns, and lacks its end alone */
	put_end(p.file, bad[n - 1]);
	r = read_place(&p);
	assert_non_null(strstr(r.why, "its end is missing"));
	store_release(&r);
	for (size_t i = 0; i + 1 < n; i++) {
		put_end(p.file, bad[i]);
	}
	append(&p, 3, "");
	/* a file that is none, and a link to one */
	snprintf(other, sizeof(other), "%s/history-other.csv", p.dir);
	put_end(other, "a,b,c\n1,2,3\n");
	snprintf(other, sizeof(other), "%s/history-link.csv", p.dir);
	assert_int_equal(symlink(p.file, other), 0);
	r = read_place(&p);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.unread, n + 2);
	assert_int_equal(r.runs[0].n_nodes, 2);
	assert_int_equal(r.runs[0].n_findings, 1);
	store_release(&r);
	assert_int_equal(tree_remove(p.dir), 0);
}

#define CUT_RUNS (SANITIZED ? 500 : 10000)
#define CUT_NODES 9	/* and the line of the run */

static int downwards(const void *a, const void *b)
{
	const off_t p = *(const off_t *)a, q = *(const off_t *)b;

	return p < q ? 1 : p > q ? -1 : 0;
}

/** Write a history of 100,000 lines (sanitized: 5,000), and return its text. */
static struct str write_long(const struct place *p)
{
	static struct summary runs[CUT_RUNS];
	struct summary_node nodes[CUT_NODES];
	struct str text = STR_INIT;
	struct err e;
	int fd;

	for (int i = 0; i < CUT_NODES; i++) {
		nodes[i] = (struct summary_node){ .tested = true,
						  .bw_GB_s = 45.25 };
		snprintf(nodes[i].name, SUMMARY_NODE, "n%d", i);
	}
	for (int i = 0; i < CUT_RUNS; i++) {
		runs[i] = (struct summary)SUMMARY_INIT;
		STR_COPY(runs[i].probe, "p2p");
		STR_COPY(runs[i].status, "pass");
		snprintf(runs[i].id, sizeof(runs[i].id), "%08x", i + 100);
		clock_utc_of(1767225600 + i * 60, runs[i].started_utc);
		runs[i].nodes = nodes;
		runs[i].n_nodes = CUT_NODES;
	}
	assert_int_equal(store_append(p->dir, runs, CUT_RUNS, &e), 0);
	fd = open(p->file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(str_add_file(&text, fd, 64 << 20), 0);
	return text;
}

/** A history that is cut at any byte loses the line of that byte alone, and
 *  what is added later is whole. */
static void a_cut_loses_the_line_that_it_tears(void **state)
{
	const char *wanted = getenv("CUTS"), *seed = getenv("SEED");
	const size_t cuts = wanted ? strtoul(wanted, NULL, 10) : 2;
	struct place p = make_place();
	const struct str text = write_long(&p);
	const uint64_t from = seed ? strtoul(seed, NULL, 10) : 1;
	off_t *at = calloc(cuts + 2, sizeof(*at));

	(void)state;
	assert_non_null(at);
	for (size_t i = 0; i < cuts; i++) {
		at[i] = (off_t)(hash_mix(from, i, 0, 0) % text.len);
	}
	at[cuts] = 20;	/* in the first line */
	qsort(at, cuts + 2, sizeof(*at), downwards);
	for (size_t i = 0; i < cuts + 2; i++) {
		size_t lines = 0, runs = 1, nodes = 0;
		struct store_runs r;
		bool torn;

		assert_int_equal(truncate(p.file, at[i]), 0);
		append(&p, 90000, "");
		for (off_t k = 0; k < at[i]; k++) {
			lines += text.data[k] == '\n';
		}
		/* a line may lack its end alone, and is whole then */
		torn = lines > 0 && text.data[at[i] - 1] != '\n' &&
		       text.data[at[i]] != '\n';
		lines += lines > 0 && text.data[at[i]] == '\n';
		runs += lines > 0 ? (lines - 1 + CUT_NODES) / (CUT_NODES + 1) :
				    0;
		r = read_place(&p);
		for (size_t k = 0; k < r.n; k++) {
			nodes += r.runs[k].n_nodes;
		}
		if (r.unread != torn || r.n != runs ||
		    r.n + nodes != (lines ? lines - 1 : 0) + 3) {
			fail_msg("cut at %lld: %zu lines unread (%s), %zu runs "
				 "of %zu, %zu nodes after %zu lines",
				 (long long)at[i], r.unread, r.why, r.n, runs,
				 nodes, lines);
		}
		store_release(&r);
	}
	free(at);
	free(text.data);
	assert_int_equal(tree_remove(p.dir), 0);
}

/** Several processes append at once: each line is whole. */
static void processes_wait_for_each_other(void **state)
{
	struct place p = make_place();
	struct store_runs r;
	int status;

	(void)state;
	for (int i = 0; i < 4; i++) {
		if (fork() == 0) {
			for (int k = 0; k < 10; k++) {
				append(&p, 10 * i + k + 2, "nic");
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0 && status == 0);
	}
	r = read_place(&p);
	assert_int_equal(r.n, 40);
	assert_int_equal(r.unread, 0);
	store_release(&r);
	assert_int_equal(tree_remove(p.dir), 0);
}

static int refused(const struct place *p, const char *says)
{
	struct summary s = make_run(1, "", 45);
	struct err e = { 0 };
	const int rc = store_append(p->dir, &s, 1, &e);

	summary_release(&s);
	return rc < 0 && strstr(e.text, says);
}

/** Others may write into the directory of a history, and put anything there. */
static void only_a_file_of_the_user_alone_is_written(void **state)
{
	struct place p = make_place();
	char other[80];
	struct stat st;

	(void)state;
	assert_int_equal(chmod(p.dir, 0777), 0);
	assert_true(refused(&p, "all users may remove files"));
	assert_int_equal(chmod(p.dir, 01777), 0);
	snprintf(other, sizeof(other), "%s/other", p.dir);
	put_end(other, "precious\n");
	assert_int_equal(symlink(other, p.file), 0);
	assert_true(refused(&p, "cannot open"));
	assert_int_equal(unlink(p.file), 0);
	assert_int_equal(link(other, p.file), 0);
	assert_true(refused(&p, "not a file of this user alone"));
	assert_int_equal(unlink(p.file), 0);
	assert_int_equal(mkfifo(p.file, 0600), 0);
	assert_true(refused(&p, "not a file of this user alone"));
	assert_int_equal(unlink(p.file), 0);
	assert_int_equal(rename(other, p.file), 0);
	assert_true(refused(&p, "first line is not that of a history"));
	assert_int_equal(size_of(p.file), strlen("precious\n"));
	assert_int_equal(unlink(p.file), 0);
	if (geteuid() == 0) {
		put_end(p.file, "");
		assert_int_equal(chown(p.file, 65534, 65534), 0);
		assert_true(refused(&p, "not a file of this user alone"));
		assert_int_equal(unlink(p.file), 0);
	}
	/* whoever may read the directory may read the file */
	for (unsigned mode = 0700; mode <= 0755; mode += 055) {
		assert_int_equal(chmod(p.dir, mode), 0);
		append(&p, 1, "");
		assert_int_equal(stat(p.file, &st), 0);
		assert_int_equal(st.st_mode & 0777, mode & 0644);
		assert_int_equal(unlink(p.file), 0);
	}
	assert_int_equal(tree_remove(p.dir), 0);
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


int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_of_parts_are_medians),
		cmocka_unit_test(what_was_not_measured_has_no_level),
		cmocka_unit_test(pretend_nodes_have_the_name_of_their_machine),
		cmocka_unit_test(nodes_that_were_tested_together_are_listed),
		cmocka_unit_test(what_is_no_summary_is_refused),
		cmocka_unit_test(a_trend_is_said_from_so_many_runs_on),
		cmocka_unit_test(outliers_make_no_trend),
		cmocka_unit_test(many_runs_are_thinned_out),
		cmocka_unit_test(who_fails_again_is_a_lemon),
		cmocka_unit_test(what_is_between_nodes_makes_no_lemon),
		cmocka_unit_test(runs_of_another_shape_are_not_compared),
		cmocka_unit_test(runs_with_other_nics_are_not_compared),
		cmocka_unit_test(what_was_not_measured_is_not_good),
		cmocka_unit_test(
			what_has_no_level_is_good_where_it_is_not_found),
		cmocka_unit_test(the_words_fit_80_columns),
		cmocka_unit_test(rows_and_back),
		cmocka_unit_test(the_last_test_of_each_pair_is_known),
		cmocka_unit_test(jobs_of_a_few_nodes_test_all_pairs),
		cmocka_unit_test(a_run_counts_once_and_drills_do_not),
		cmocka_unit_test(lines_that_are_none_are_counted),
		cmocka_unit_test(a_cut_loses_the_line_that_it_tears),
		cmocka_unit_test(processes_wait_for_each_other),
		cmocka_unit_test(only_a_file_of_the_user_alone_is_written),
		cmocka_unit_test(metrics_are_whole_or_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
