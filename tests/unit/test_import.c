/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/record_rows.h"
#include "report/import/import.h"
#include "report/model/sweep.h"

/** What is read from a file that holds @text. */
static int given(struct import *x, const char *name, const char *text,
		 struct err *e)
{
	FILE *f = tmpfile();
	int rc;

	*x = (struct import){ 0 };
	assert_non_null(f);
	fputs(text, f);
	rewind(f);
	rc = import_stream(x, name, f, e);
	fclose(f);
	return rc == 0 ? import_end(x, e) : rc;
}

/** Valid up to the next call. */
static const struct collective_row *row_at(const struct import *x, size_t i)
{
	static struct collective_row row;

	assert_true(i < x->rows.n);
	assert_ptr_equal(x->rows.schema, &schema_collective);
	record_list_get(&x->rows, i, &row);
	return &row;
}

#define HEAD \
	"#       size         count      type   redop    root     time   " \
	"algbw   busbw #wrong     time   algbw   busbw #wrong\n" \
	"#        (B)    (elements)                               (us)  " \
	"(GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"

/** By the tuner's line of a size, before or after its row; by NCCL_ALGO. */
static void nccl_s_log_has_the_algorithm(void **state)
{
	static const char table[] = HEAD
		"  1024  256  float  sum  -1  12.3  0.08  0.09  0"
		"  12.1  0.08  0.10  0\n"
		"n1:5:6 [0] NCCL INFO AllReduce: 2048 Bytes -> Algo RING proto "
		"SIMPLE channel{Lo..Hi}={0..1}\n"
		"  2048  512  float  sum  -1  13  0.1  0.2  0  14  0.3  0.4  0\n";
	struct import x;
	char text[2048];

	(void)state;
	snprintf(text, sizeof(text), "n1:5:6 [0] NCCL INFO 1024 Bytes -> Algo "
		 "0 proto 0 time 25.2\n%s", table);
	assert_int_equal(given(&x, "a.log", text, NULL), 0);
	assert_string_equal(row_at(&x, 1)->algo, "Tree");
	assert_string_equal(row_at(&x, 1)->proto, "LL");
	assert_string_equal(row_at(&x, 3)->algo, "Ring");
	assert_string_equal(row_at(&x, 3)->proto, "Simple");
	import_release(&x);
	snprintf(text, sizeof(text), "n1:5:6 [0] NCCL INFO NCCL_ALGO set by "
		 "environment to TREE.\n%.400s", table);
	assert_int_equal(given(&x, "a.log", text, NULL), 0);
	assert_string_equal(row_at(&x, 0)->algo, "Tree");
	import_release(&x);
}

static void prefixes_and_log_lines_do_not_matter(void **state)
{
	struct import x;

	(void)state;
	assert_int_equal(given(&x, "a.log",
		"[1,0]<stdout>:# Collective test starting: all_gather_perf\n"
		"[1,0]<stdout>:#  Rank  0 Group  0 Pid 7 on  n1 device 0 [0] G\n"
		"[1,0]<stdout>:#  Rank  1 Group  0 Pid 7 on  n2 device 0 [0] G\n"
		"[1,0]<stdout>:" HEAD
		"[1,0]<stdout>:  1024  256  float  none  -1  12.3  0.08  0.09"
		"  N/A  12.1  0.08  0.10  0\n"
		"n1:5:6 [0] NCCL INFO comm 0x1 rank 0 nranks 16 - Init\n"
		"0: # 2048  512  float  none  -1  13  0.1  0.2  0  14  0.3  0.4"
		"  3\n"
		"# Avg bus bandwidth    : 1.2\n", NULL), 0);
	assert_int_equal(x.rows.n, 4);
	assert_int_equal(x.unknown, 0);
	assert_string_equal(row_at(&x, 0)->op, "allgather");
	assert_string_equal(row_at(&x, 0)->table, "a.log");
	assert_string_equal(row_at(&x, 0)->redop, "none");
	assert_int_equal(row_at(&x, 0)->wrong, RECORD_NONE);
	assert_int_equal(row_at(&x, 0)->nodes, 2);
	/* the log speaks of two sizes */
	assert_int_equal(row_at(&x, 0)->ranks, RECORD_NONE);
	assert_int_equal(row_at(&x, 1)->inplace, 1);
	assert_true(row_at(&x, 1)->time_us == 12.1);
	assert_int_equal(row_at(&x, 2)->size_B, 2048);
	assert_int_equal(row_at(&x, 3)->wrong, 3);
	assert_int_equal(row_at(&x, 3)->outcome, OUTCOME_CORRUPT);
	import_release(&x);
}

static void headings_label_and_name(void **state)
{
	struct import x;

	(void)state;
	assert_int_equal(given(&x, "b.log",
		"======= All to All =======\n" HEAD
		"8 2 float none -1 1 2 3 0 4 5 6 0\n"
		"======= Ring =======\n" HEAD
		"8 2 float sum -1 1 2 3 0 4 5 6 0\n" HEAD
		"8 2 float sum -1 7 2 3 0 4 5 6 0\n", NULL), 0);
	assert_int_equal(x.rows.n, 6);
	assert_string_equal(row_at(&x, 0)->table, "All to All");
	assert_string_equal(row_at(&x, 0)->op, "alltoall");
	assert_string_equal(row_at(&x, 2)->table, "Ring");
	assert_string_equal(row_at(&x, 2)->op, "");
	assert_string_equal(row_at(&x, 4)->table, "Ring (2)");
	import_release(&x);
	assert_string_equal(heading_op("Reduce-Scatter, 2 nodes"),
			    "reducescatter");
	assert_string_equal(heading_op("NCCL `all_reduce` results"),
			    "allreduce");
	assert_string_equal(heading_op("Single Node"), "");
}

static void less_than_nothing_is_no_measure(void **state)
{
	struct import x;

	(void)state;
	assert_int_equal(given(&x, "n.log", HEAD
		"8 2 float sum -1 -10.00 2 3 0 4 5 6 0\n"
		"16 4 float sum -1 1 2 3 0 4 -5 6 0\n"
		"32 8 float sum -1 0.00 0.00 0.00 0 4 5 6 0\n", NULL), 0);
	assert_int_equal(x.rows.n, 3);
	assert_int_equal(x.unknown, 1);
	assert_int_equal(row_at(&x, 0)->size_B, 16);
	assert_true(row_at(&x, 1)->time_us == 0);
	import_release(&x);
}

static void old_headers_are_read(void **state)
{
	struct import x;

	(void)state;
	/* no root; the operation blank; the largest deviation for an error */
	assert_int_equal(given(&x, "c.log",
		"#                                    out-of-place    in-place\n"
		"#  size  count  type  redop  time  algbw  busbw  error  time  "
		"algbw  busbw  error\n"
		"# (B) (elements)   (us) (GB/s) (GB/s)  (us) (GB/s) (GB/s)\n"
		"  1024  256  float  sum  12.3  0.08  0.14  2e-07  12.2  0.08  "
		"0.15  1e-07\n"
		"  2048  512  float       12.3  0.08  0.14  0e+00  12.2  0.08  "
		"0.15  N/A\n", NULL), 0);
	assert_int_equal(x.rows.n, 4);
	assert_string_equal(row_at(&x, 0)->redop, "sum");
	assert_int_equal(row_at(&x, 0)->root, RECORD_NONE);
	assert_int_equal(row_at(&x, 0)->wrong, RECORD_NONE);
	assert_int_equal(row_at(&x, 0)->outcome, OUTCOME_OK);
	assert_string_equal(row_at(&x, 2)->redop, "");
	assert_true(row_at(&x, 3)->busbw_GB_s == 0.15);
	import_release(&x);
}

static void per_iteration_columns_have_their_place(void **state)
{
	struct import x;

	(void)state;
	assert_int_equal(given(&x, "d.log",
		"# size count type redop root time algbw busbw #wrong i_min "
		"i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 "
		"i_cv% timestamp\n"
		"64 16 float sum -1 10 1 2 0 9 12 11 3.1 20 1 2 0 19 22 21 3.2 "
		"2026-01-31\n", NULL), 0);
	assert_int_equal(x.rows.n, 2);
	assert_true(row_at(&x, 0)->time_min_us == 9);
	assert_true(row_at(&x, 0)->time_max_us == 12);
	assert_true(row_at(&x, 1)->time_p99_us == 21);
	import_release(&x);
}

static void what_was_cut_is_read_as_far_as_it_is_whole(void **state)
{
	struct import x;

	(void)state;
	assert_int_equal(given(&x, "e.log", HEAD
		"8 2 float sum -1 1 2 3 0 4 5 6 0\n"
		"16 4 float sum -1 1 2 3 0 4 5.", NULL), 0);
	assert_int_equal(x.rows.n, 3);
	assert_int_equal(row_at(&x, 2)->size_B, 16);
	assert_int_equal(row_at(&x, 2)->inplace, 0);
	import_release(&x);
	assert_int_equal(given(&x, "e.log", HEAD
		"8 2 float sum -1 1 2 3 0 4 5 6 0\n16 4 float su", NULL), 0);
	assert_int_equal(x.rows.n, 2);
	import_release(&x);
	/* a log that hangs in place: the line is there, with its newline */
	assert_int_equal(given(&x, "e.log", HEAD
		"8 2 float sum -1 1 2 3 0\n"
		"16 4 float sum -1 1 2 three 0 4 5 6 0\nwords\n", NULL), 0);
	assert_int_equal(x.rows.n, 1);
	assert_int_equal(x.unknown, 2);
	assert_non_null(strstr(str_text(&x.shown), "e.log:5: words"));
	import_release(&x);
}

static void json_of_nccl_tests_is_read(void **state)
{
	struct import x;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(given(&x, "/x/f.json",
		"{\"version\":3,\"args\":[\"./all_reduce_perf\",\"-J\"],"
		"\"nccl_version\":22809,\"config\":{\"iterations\":20,"
		"\"devices\":[{\"rank\":0,\"hostname\":\"a\"},"
		"{\"rank\":1,\"hostname\":\"b\"}]},\"results\":[{\"size\":8,"
		"\"count\":2,\"type\":\"float\",\"redop\":\"sum\",\"root\":"
		"\"    -1\",\"out_of_place\":{\"time\":12.345678,\"alg_bw\":"
		"0.5,\"bus_bw\":0.75,\"nwrong\":0.0},\"in_place\":{\"time\":"
		"\"nan\",\"alg_bw\":1.5,\"bus_bw\":1.75,\"nwrong\":null},"
		"\"in_place_per_iter\":{\"min_us\":3.5,\"p99_us\":4.5},"
		"\"actual_iterations\":7},{\"count\":1}]}", &e), 0);
	assert_int_equal(x.rows.n, 2);
	assert_int_equal(x.unknown, 1);
	assert_string_equal(row_at(&x, 0)->op, "allreduce");
	assert_string_equal(row_at(&x, 0)->lib, "2.28.9");
	assert_string_equal(row_at(&x, 0)->table, "f.json");
	assert_int_equal(row_at(&x, 0)->root, -1);
	assert_int_equal(row_at(&x, 0)->iters, 7);
	assert_int_equal(row_at(&x, 0)->nodes, 2);
	assert_int_equal(row_at(&x, 0)->wrong, 0);
	assert_true(row_at(&x, 0)->time_us == 12.345678);
	assert_true(isnan(row_at(&x, 1)->time_us));
	assert_true(row_at(&x, 1)->time_min_us == 3.5);
	assert_int_equal(row_at(&x, 1)->wrong, RECORD_NONE);
	import_release(&x);
	assert_int_equal(given(&x, "f.json", "{\"results\":[{\"si", &e), -1);
	import_release(&x);
	assert_int_equal(given(&x, "f.json", "{\"a\":1}", &e), -1);
	import_release(&x);
}

static void perftest_latencies_are_read(void **state)
{
	struct p2p_row row;
	struct import x;

	(void)state;
	assert_int_equal(given(&x, "lat",
		"                    Send Latency Test\n"
		" Dual-port       : OFF\tDevice         : mlx5_2\n"
		" #bytes #iterations    t_min[usec]    t_max[usec]  "
		"t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% "
		"percentile[usec]   99.9% percentile[usec] \n"
		" 2       1000          1.23           9.87         1.30"
		"             1.32        0.05            1.50           4.00\n",
		NULL), 0);
	assert_int_equal(x.rows.n, 1);
	record_list_get(&x.rows, 0, &row);
	assert_string_equal(row.op, "send");
	assert_true(row.lat_us == 1.30);
	assert_true(row.lat_p99_us == 1.50);
	assert_true(isnan(row.bw_GB_s));
	import_release(&x);
}

static void kinds_are_not_mixed(void **state)
{
	struct import x;
	struct err e = { 0 };
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	assert_int_equal(given(&x, "a", HEAD
			       "8 2 float sum -1 1 2 3 0 4 5 6 0\n", &e), 0);
	fputs("BW Test\n #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]"
	      " MsgRate[Mpps]\n 2 10 8.0 8.0 1.0\n", f);
	rewind(f);
	assert_int_equal(import_stream(&x, "b", f, &e), -1);
	assert_non_null(strstr(e.text, "different type"));
	fclose(f);
	import_release(&x);
}

static void tables_that_come_again_have_their_own_labels(void **state)
{
	enum { TABLES = 1003 };
	static const char table[] =
		HEAD "8 2 float sum -1 1 2 3 0 4 5 6 0\n"
		"# Avg bus bandwidth    : 1.2\n";
	struct str text = STR_INIT;
	struct import x;

	(void)state;
	for (int i = 0; i < TABLES; i++) {
		str_add(&text, table);
	}
	assert_int_equal(given(&x, "a\xff.log", str_text(&text), NULL), 0);
	assert_int_equal(x.rows.n, 2 * TABLES);
	assert_string_equal(row_at(&x, 0)->table, "a?.log");
	assert_string_equal(row_at(&x, 2)->table, "a?.log (2)");
	assert_string_equal(row_at(&x, x.rows.n - 3)->table, "a?.log (1002)");
	assert_string_equal(row_at(&x, x.rows.n - 1)->table, "a?.log (1003)");
	import_release(&x);
	str_release(&text);
}

static void a_million_rows_and_more_are_read(void **state)
{
	enum { LINES = SANITIZED ? 6000 : 600000 };
	struct import x = { 0 };
	FILE *f = tmpfile();

	(void)state;
	assert_non_null(f);
	fputs(HEAD, f);
	for (int i = 0; i < LINES; i++) {
		fputs("8 2 float sum -1 1 2 3 0 4 5 6 0\n", f);
	}
	rewind(f);
	assert_int_equal(import_stream(&x, "a.log", f, NULL), 0);
	assert_int_equal(x.rows.n, 2 * LINES);
	assert_true(row_at(&x, x.rows.n - 1)->time_us == 4);
	fclose(f);
	import_release(&x);
}

/** One more log of a pair, called @name. */
static void add_log(struct import *x, const char *name, const char *text)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	fputs(text, f);
	rewind(f);
	assert_int_equal(import_stream(x, name, f, NULL), 0);
	fclose(f);
}

static void a_log_of_a_smaller_job_takes_no_rank_away(void **state)
{
	struct import x = { 0 };
	json_t *layout;

	(void)state;
	add_log(&x, "p2p-test-5-7-1.out", "NUM_GPUS=8\nNUM_GPUS_PER_NODE=4\n"
		"b [7] : OK 5 -> 7\n");
	add_log(&x, "p2p-test-0-1-2.out", "NUM_GPUS=2\nNUM_GPUS_PER_NODE=2\n"
		"a [1] : OK 0 -> 1\n");
	assert_int_equal(import_end(&x, NULL), 0);
	layout = import_pairs_layout(&x);
	assert_int_equal(json_array_size(json_object_get(layout, "nodes")), 2);
	assert_int_equal(json_integer_value(json_object_get(
		json_object_get(layout, "planned"), "cells")), 56);
	json_decref(layout);
	import_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_and_log_lines_do_not_matter),
		cmocka_unit_test(nccl_s_log_has_the_algorithm),
		cmocka_unit_test(headings_label_and_name),
		cmocka_unit_test(less_than_nothing_is_no_measure),
		cmocka_unit_test(old_headers_are_read),
		cmocka_unit_test(per_iteration_columns_have_their_place),
		cmocka_unit_test(what_was_cut_is_read_as_far_as_it_is_whole),
		cmocka_unit_test(json_of_nccl_tests_is_read),
		cmocka_unit_test(perftest_latencies_are_read),
		cmocka_unit_test(kinds_are_not_mixed),
		cmocka_unit_test(tables_that_come_again_have_their_own_labels),
		cmocka_unit_test(a_million_rows_and_more_are_read),
		cmocka_unit_test(a_log_of_a_smaller_job_takes_no_rank_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
