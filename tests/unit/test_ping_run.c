/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of ping as files, of which the sender of each path has a word: what is
 * made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/record_rows.h"
#include "report/draw/draw.h"
#include "report/judge/caption.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

enum { NODES = 4, RAILS = 2 };

/** "OUTCOME,CODE,DETAIL" of a path; NULL: it passes. */
typedef const char *word(int src, int from, int dst, int to);

static char dir[] = "/tmp/gpucheck-test-ping-XXXXXX";
static struct run run;
static struct verdict verdict;

static FILE *begin(const char *name)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

static void write_run(int nodes, bool cross)
{
	FILE *f = begin("run.json");

	fprintf(f, "{\"schema\":1,\"probe\":\"ping\",\"argv\":[\"gpucheck\"],"
		"\"ended_utc\":\"2026-01-31T09:00:00.000Z\",\"planned\":{"
		"\"kind\":\"mesh\",\"cross\":%s,\"by_rail\":false,"
		"\"groups\":%d,\"seed\":7},\"nodes\":[",
		cross ? "true" : "false",
		pinglist_make(nodes, false, 7).groups);
	for (int n = 1; n <= nodes; n++) {
		fprintf(f, "%s{\"name\":\"n%d\",\"here\":true,\"ends\":[",
			n > 1 ? "," : "", n);
		for (int r = 0; r < RAILS; r++) {
			fprintf(f, "%s{\"if\":\"rail%d\",\"ip\":\"10.%d.0.%d\","
				"\"segment\":\"10.%d.0.0/24\",\"rail\":%d}",
				r > 0 ? "," : "", r, r + 1, n, r + 1, r);
		}
		fputs("]}", f);
	}
	fputs("]}\n", f);
	fclose(f);
}

static void write_rows(int nodes, word *says)
{
	const struct pinglist list = pinglist_make(nodes, false, 7);
	struct str head = STR_INIT;
	FILE *f = begin("results.csv");

	record_add_header(&schema_ping, &head);
	fputs(str_text(&head), f);
	str_release(&head);
	for (int at = 0; at < nodes * nodes * RAILS * RAILS; at++) {
		int to = at % RAILS, from = at / RAILS % RAILS;
		int dst = at / RAILS / RAILS % nodes + 1;
		int src = at / RAILS / RAILS / nodes + 1;
		const char *said = says(src, from, dst, to);

		if (src != dst && pinglist_has(&list, src - 1, dst - 1)) {
			fprintf(f, "n%d,rail%d,10.%d.0.%d,n%d,rail%d,10.%d.0.%d"
				",,icmp,5,%d,,%s,,,%s,,,\n", src, from,
				from + 1, src, dst, to, to + 1, dst,
				said ? 0 : 5, said ? "" : "50", said ? said : "ok,,");
		}
	}
	fclose(f);
}

/** A run of @nodes, with the lines @facts of facts.csv, judged. */
static void judge(int nodes, word *says, const char *facts)
{
	FILE *f = begin("facts.csv");
	struct err e = { 0 };

	fprintf(f, "node,scope,fact,value,source\n%s", facts);
	fclose(f);
	write_run(nodes, true);
	write_rows(nodes, says);
	if (ping_run_read(dir, &run, &e) < 0) {
		fail_msg("%s", e.text);
	}
	assert_int_equal(run.bad_rows, 0);
	assert_int_equal(verdict_compute(&run, &verdict), 0);
}

static void finds(enum part_kind kind, const char *node, int index,
		  const char *code, const char *says)
{
	const struct finding *f = verdict.findings;

	assert_int_equal(verdict.n, 1);
	assert_int_equal(f->part.kind, kind);
	assert_string_equal(run.nodes[f->part.node].name, node);
	assert_int_equal(f->part.index, index);
	assert_string_equal(f->code, code);
	if (!strstr(f->says, says)) {
		fail_msg("no '%s' in '%s'", says, f->says);
	}
}

static int setup(void **state)
{
	(void)state;
	STR_COPY(dir, "/tmp/gpucheck-test-ping-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = {
		"run.json", "results.csv", "facts.csv", ""
	};
	char path[80];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		remove(path);
	}
	verdict_release(&verdict);
	run_release(&run);
	return 0;
}

/* ---- routes -------------------------------------------------------------- */

#define NO_ROUTE "skipped,no_route,no route leads"
#define SILENT	 "timeout,no_reply,none"

static const char *rails_apart(int src, int from, int dst, int to)
{
	(void)src;
	(void)dst;
	return from != to ? NO_ROUTE : NULL;
}

static void separate_rails_need_not_talk(void **state)
{
	char note[CAPTION_SIZE];
	struct str out = STR_INIT;

	(void)state;
	judge(NODES, rails_apart, "");
	assert_int_equal(verdict.n, 0);
	assert_int_equal(verdict.status, VERDICT_PASS);
	assert_int_equal(verdict.cells[CELL_PASS], 24);
	assert_int_equal(verdict.cells[CELL_SKIPPED], 0);
	assert_true(caption_note(&run, 0, false, note, sizeof(note)));
	assert_non_null(strstr(note, "24 paths between segments are not"));
	assert_non_null(strstr(note, "NCCL_CROSS_NIC=0"));
	assert_int_equal(term_render(&run, NULL, 80, TERM_ASCII, TERM_MAP,
				     &out), 0);
	assert_non_null(strstr(str_text(&out), "0 10.1.0.0/24           100    -"));
	str_release(&out);
}

static const char *one_way_only(int src, int from, int dst, int to)
{
	(void)src;
	(void)dst;
	return from == to ? NULL : from == 0 ? SILENT : NO_ROUTE;
}

/** Without a way back for the answers nothing is expected either, and one node
 *  that has a route is no reason to accuse all others. */
static void a_route_needs_a_way_back(void **state)
{
	(void)state;
	judge(NODES, one_way_only, "");
	assert_int_equal(verdict.n, 0);
}

static const char *one_has_a_route(int src, int from, int dst, int to)
{
	(void)dst;
	return from == to ? NULL : src == 1 ? SILENT : NO_ROUTE;
}

static void one_node_with_a_route_accuses_nobody(void **state)
{
	(void)state;
	judge(NODES, one_has_a_route, "");
	assert_int_equal(verdict.n, 0);
}

static const char *one_has_none(int src, int from, int dst, int to)
{
	if (src == 3 && from == 0 && to == 1) {
		return NO_ROUTE;
	}
	return dst == 3 && from == 1 && to == 0 ? SILENT : NULL;
}

static void a_missing_route_is_found(void **state)
{
	(void)state;
	judge(NODES, one_has_none, "");
	finds(PART_NIC, "n3", 0, PING_NO_ROUTE, "rail0 of n3: it has no route");
	assert_int_equal(verdict.findings[0].part.direction, PART_TX);
}

/** Routed by the tables, and all the same nothing passes. */
static const char *blocked(int src, int from, int dst, int to)
{
	(void)src;
	(void)dst;
	return from != to ? SILENT : NULL;
}

static const char *all_pass(int src, int from, int dst, int to)
{
	(void)src;
	(void)from;
	(void)dst;
	(void)to;
	return NULL;
}

/** A table that is too small is said, with what to type. */
static void neighbours_that_have_no_room(void **state)
{
	struct finding *f;

	(void)state;
	judge(NODES, all_pass, "n1,ping,neighbours_planned,7992 1024,child\n"
			   "n2,ping,neighbours_planned,7992 1024,child\n");
	assert_int_equal(verdict.n, 1);
	f = &verdict.findings[0];
	assert_string_equal(f->code, "neighbour_limit");
	assert_false(f->fail);
	assert_int_equal(f->n_members, 2);
	assert_non_null(strstr(f->says, "7992 neighbours exceed the limit of "
			       "1024 of the kernel of n1, n2"));
	assert_non_null(strstr(f->act, "sysctl -w net.ipv4.neigh.default."
			       "gc_thresh1=8192"));
}

static int names_and_rows(const struct figure *f, void *arg)
{
	struct view v;

	if (strcmp(f->name, "heatmap-nodes") == 0) {
		/* what fails between segments hides nothing in them */
		assert_int_equal(view_make(f->run, 16, VIEW_RTT, NULL, &v), 0);
		assert_int_equal(v.n, NODES);
		assert_int_equal(view_cell(&v, 0, 1)->class, CELL_PASS);
		view_release(&v);
	} else if (strcmp(f->name, "heatmap-segments") == 0) {
		assert_int_equal(view_make(f->run, 16, VIEW_RTT, NULL, &v), 0);
		assert_int_equal(v.n, NODES * RAILS);
		assert_int_equal(view_cell(&v, 0, 1)->class, CELL_PASS);
		assert_int_equal(view_cell(&v, 0, NODES + 1)->class,
				 CELL_TIMEOUT);
		assert_int_equal(view_cell(&v, 0, NODES)->class,
				 CELL_UNPLANNED);
		assert_string_equal(f->run->nodes[1].name, "10.2.0.0/24");
		view_release(&v);
		/* rows of two nodes each, none of two segments */
		assert_int_equal(view_make(f->run, 6, VIEW_RTT, NULL, &v), 0);
		assert_int_equal(v.n, NODES * RAILS / 2);
		assert_true(view_new_node(&v, 2));
		view_release(&v);
	}
	str_addf(arg, "%s ", f->name);
	return 0;
}

static void segments_have_a_picture_of_their_own(void **state)
{
	struct str names = STR_INIT, out = STR_INIT;

	(void)state;
	judge(NODES, blocked, "");
	assert_int_equal(verdict.n, 1);
	assert_int_equal(verdict.findings[0].part.kind, PART_CROSS_RAIL);
	assert_int_equal(figures_each(&run, NULL, names_and_rows, &names), 0);
	assert_string_equal(str_text(&names),
			    "heatmap-nodes heatmap-segments "
			    "heatmap-10.1.0.0_24 heatmap-10.2.0.0_24 ");
	assert_int_equal(term_render(&run, NULL, 80, TERM_ASCII, TERM_MAP,
				     &out), 0);
	assert_null(strstr(str_text(&out), "T timeout"));
	assert_non_null(strstr(str_text(&out), "1 10.2.0.0/24             0  100"));
	/* the same scale in every run */
	assert_non_null(strstr(str_text(&out),
			       "10.00 0 1 2 3 4 5 6 7 8 9 10000.00 us"));
	str_release(&names);
	str_release(&out);
}

static const char *n2_is_silent(int src, int from, int dst, int to)
{
	(void)src;
	return from != to		? NO_ROUTE :
	       from == 0 && dst == 2 ? SILENT : NULL;
}

/** Append the name of @f to @arg if the first finding is in its margin. */
static int named_at_rows(const struct figure *f, void *arg)
{
	struct picture p;
	size_t named = 0;

	assert_int_equal(figure_picture(f, &verdict, &p), 0);
	for (size_t i = 0; i < p.n; i++) {
		named += p.shapes[i].text &&
			 str_starts(p.shapes[i].text, "1: ") &&
			 strstr(p.shapes[i].text, " of n3 ");
	}
	if (named == 2) {
		str_addf(arg, "%s ", f->name);
	}
	picture_release(&p);
	return 0;
}

/** A segment's picture has the ranks of the segment alone, and the names of
 *  findings at these. */
static void findings_are_named_in_segments(void **state)
{
	struct str names = STR_INIT;

	(void)state;
	judge(NODES, one_has_none, "");
	assert_int_equal(figures_each(&run, &verdict, named_at_rows, &names),
			 0);
	assert_string_equal(str_text(&names), "heatmap-nodes heatmap-segments "
			    "heatmap-10.1.0.0_24 ");
	str_release(&names);
}

/** It hears what it is asked, and what it asks is answered: by another way than
 *  that of its own requests its answers are lost. */
static void answers_that_are_lost(void **state)
{
	(void)state;
	judge(NODES, n2_is_silent, "n2,ping,heard,10.1.0.1 10.1.0.2,trace\n"
	      "n2,ping,heard,10.1.0.3 10.1.0.2,trace\n"
	      "n2,ping,heard,10.1.0.4 10.1.0.2,trace\n");
	finds(PART_NIC, "n2", 0, "one_way", "all 3 tests with this interface "
	      "as receiver failed");
	assert_int_equal(verdict.findings[0].part.direction, PART_RX);
	assert_non_null(strstr(verdict.findings[0].evidence[0],
			       "the requests arrive there"));
}

/* ---- fleets ------------------------------------------------------------ */

static const char *rail1_of_n7_is_dead(int src, int from, int dst, int to)
{
	return (src == 7 && from == 1) || (dst == 7 && to == 1) ? SILENT : NULL;
}

static int count_figure(const struct figure *f, void *arg)
{
	struct view v;

	assert_int_equal(view_make(f->run, 64, VIEW_RTT, NULL, &v), 0);
	assert_true(v.present[CELL_PASS] > 0);
	assert_true(v.present[CELL_TIMEOUT] > 0 || strstr(f->name, "10.1."));
	view_release(&v);
	++*(int *)arg;
	return 0;
}

/** Where not all ask all, what nobody planned has no cell; a part is found by
 *  what was, and drawn. */
static void a_fleet_has_the_paths_that_are_planned(void **state)
{
	const int nodes = 2 * PINGLIST_GROUP;
	const size_t pairs = 2 * PINGLIST_GROUP * (PINGLIST_GROUP - 1) +
			     2 * PINGLIST_PAIRS;
	int figures = 0;

	(void)state;
	judge(nodes, rail1_of_n7_is_dead, "");
	/* its evidence has addresses */
	assert_true(strstr(verdict.findings[0].evidence[0], " 10.2.0."));
	verdict.status = VERDICT_PASS;
	assert_string_equal(caption_status(&run, &verdict),
			    CAPTION_PASS_SAMPLE);
	assert_int_equal(run_n_cells(&run), pairs * RAILS * RAILS);
	finds(PART_NIC, "n7", 1, "no_reply", "tests with this interface");
	assert_int_equal(figures_each(&run, &verdict, count_figure, &figures),
			 0);
	assert_int_equal(figures, 4);
}

/** More addresses than a square could be of. */
static void a_large_fleet_can_be_read(void **state)
{
	const int nodes = SANITIZED ? 1100 : 2200;
	struct err e = { 0 };

	(void)state;
	write_run(nodes, false);
	fclose(begin("facts.csv"));
	assert_int_equal(ping_run_read(dir, &run, &e), 0);
	assert_int_equal(run.n_ranks, nodes * RAILS);
	assert_true(run_n_cells(&run) < (size_t)nodes * RAILS * 40);
	assert_int_equal(run_cell(&run, 0, RAILS)->class, CELL_NOT_RUN);
	assert_int_equal(run_cell(&run, 0, 1)->class, CELL_UNPLANNED);
}

/* ---- filters ------------------------------------------------------------- */

static const char *n1_filters(int src, int from, int dst, int to)
{
	if (src == 1 && from == to) {
		return "error,sender_filtered,a packet filter of n1";
	}
	/* what it would answer is filtered as well */
	return from != to ? NO_ROUTE :
	       dst == 1	  ? "error,icmp_filtered,UDP passes" : NULL;
}

static void a_filter_is_its_senders(void **state)
{
	(void)state;
	judge(NODES, n1_filters, "");
	finds(PART_NODE, "n1", -1, PING_SENDER, "n1: its packet filter");
	assert_int_equal(verdict.findings[0].explained, 6);
	assert_non_null(strstr(verdict.findings[0].act, "iptables -S OUTPUT"));
}

/* ---- swapped rails ------------------------------------------------------- */

static const char *n2_is_swapped(int src, int from, int dst, int to)
{
	return from != to		? NO_ROUTE :
	       src == 2 || dst == 2 ? "error,arp_failed,it answers" : NULL;
}

#define FOUND(node, value) node ",ping,found_on," value ",neighbours\n"

static void rails_that_are_swapped(void **state)
{
	(void)state;
	judge(NODES, n2_is_swapped, FOUND("n2", "rail0 rail1 10.1.0.1")
	      FOUND("n2", "rail1 rail0 10.2.0.3")
	      FOUND("n1", "rail0 rail1 10.1.0.2"));
	finds(PART_NODE, "n2", -1, PING_SWAPPED,
	      "rail0 is connected to the network of 10.2.0.0/24, rail1 is "
	      "connected to the network of 10.1.0.0/24");
}

/** The word of the others will do. */
static void seen_by_others(void **state)
{
	(void)state;
	judge(NODES, n2_is_swapped, FOUND("n1", "rail0 rail1 10.1.0.2")
	      FOUND("n3", "rail1 rail0 10.2.0.2"));
	finds(PART_NODE, "n2", -1, PING_SWAPPED, "rail1 is connected to");
}

static void either_of_two(void **state)
{
	(void)state;
	judge(2, n2_is_swapped, FOUND("n1", "rail0 rail1 10.1.0.2")
	      FOUND("n2", "rail1 rail0 10.2.0.1"));
	finds(PART_NODE, "n1", -1, PING_SWAPPED, "or those on n2 are swapped");
	assert_int_equal(verdict.findings[0].n_or, 1);
}

static const char *rail0_of_n2_is_dead(int src, int from, int dst, int to)
{
	return from != to ? NO_ROUTE :
	       from == 0 && (src == 2 || dst == 2) ?
			    "error,arp_failed,it answers" : NULL;
}

/** Where all rails are one network the other interface reaches it, and has its
 *  own place as well: nothing is swapped. */
static void a_dead_wire_is_not_swapped(void **state)
{
	(void)state;
	judge(NODES, rail0_of_n2_is_dead, FOUND("n2", "rail0 rail1 10.1.0.1")
	      FOUND("n2", "rail0 nowhere 10.1.0.1")
	      FOUND("n9", "rail0 rail1 10.1.0.1") FOUND("n2", "rail0"));
	assert_int_equal(verdict.n, 1);
	assert_int_equal(verdict.findings[0].part.kind, PART_NIC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(separate_rails_need_not_talk),
		TEST(a_route_needs_a_way_back),
		TEST(one_node_with_a_route_accuses_nobody),
		TEST(a_missing_route_is_found),
		TEST(segments_have_a_picture_of_their_own),
		TEST(findings_are_named_in_segments),
		TEST(neighbours_that_have_no_room),
		TEST(a_fleet_has_the_paths_that_are_planned),
		TEST(a_large_fleet_can_be_read),
		TEST(answers_that_are_lost),
		TEST(a_filter_is_its_senders),
		TEST(rails_that_are_swapped),
		TEST(seen_by_others),
		TEST(either_of_two),
		TEST(a_dead_wire_is_not_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
