/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/record.h"
#include "lib/data/record_rows.h"

static const struct schema *const schemas[] = {
	&schema_p2p, &schema_facts, &schema_events, &schema_collective, NULL
};

/** A reader over @text; the file is closed by done(). */
static void given(struct record_reader *r, const struct schema *s,
		  const char *text)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	fputs(text, f);
	rewind(f);
	assert_int_equal(record_reader_open(r, s, f, NULL), 0);
}

static void done(struct record_reader *r)
{
	FILE *f = r->csv.f;

	record_reader_close(r);
	fclose(f);
}

static void header_is_the_contract(void **state)
{
	static const char *const headers[] = {
		"attempt,src_rank,src_node,src_gpu,src_nic,dst_rank,dst_node,"
		"dst_gpu,dst_nic,transport,path,op,mode,memory,schedule,size_B,"
		"iters,bw_GB_s,bw_min_GB_s,bw_max_GB_s,expected_GB_s,lat_us,"
		"lat_p99_us,wrong,outcome,code,detail,wall_s,start_utc,"
		"flow,flows,lost,flow_GB_s,flows_GB_s\n",
		"node,scope,fact,value,unit,source\n",
		"utc,seq,node,rank,event,detail\n",
		"op,variant,table,lib,algo,proto,ranks,nodes,dtype,redop,root,"
		"size_B,count,inplace,iters,time_us,time_med_us,time_min_us,"
		"time_max_us,time_p99_us,algbw_GB_s,busbw_GB_s,wrong,outcome,"
		"code,detail,start_utc,verified,verified_wrong,wrong_ranks\n",
	};

	(void)state;
	for (size_t i = 0; schemas[i]; i++) {
		struct str out = STR_INIT;

		record_add_header(schemas[i], &out);
		assert_string_equal(str_text(&out), headers[i]);
		str_release(&out);
	}
}

static void collectives_have_the_factors_of_nccl_tests(void **state)
{
	static const double eight[COLLECTIVES] = {
		[COLLECTIVE_ALLREDUCE] = 1.75, [COLLECTIVE_ALLGATHER] = 0.875,
		[COLLECTIVE_REDUCESCATTER] = 0.875, [COLLECTIVE_BROADCAST] = 1,
		[COLLECTIVE_REDUCE] = 1, [COLLECTIVE_ALLTOALL] = 0.875,
		[COLLECTIVE_SENDRECV] = 1,
	};

	(void)state;
	for (int c = 0; c < COLLECTIVES; c++) {
		assert_true(collective_bus_factor((enum collective)c, 8) ==
			    eight[c]);
		assert_true(collective_bus_factor((enum collective)c, 1) == 1);
		assert_int_equal(collective_parse(
			collective_names[c]), c);
	}
	assert_int_equal(collective_parse("all"), COLLECTIVES);
}

static void large_times_keep_their_digits(void **state)
{
	struct collective_row row;
	struct str out = STR_INIT;

	(void)state;
	record_init(&schema_collective, &row);
	row.time_us = 1234567.8;
	record_add_csv(&schema_collective, &row, &out);
	assert_non_null(strstr(str_text(&out), ",1234567.8,"));
	str_release(&out);
}

static void every_column_lies_in_its_row_and_is_explained(void **state)
{
	(void)state;
	for (size_t i = 0; schemas[i]; i++) {
		size_t n = 0, end = 0;

		for (const struct column *c = schemas[i]->columns; c->name;
		     c++) {
			assert_true(c->offset >= end);
			end = c->offset + c->size;
			assert_true(end <= schemas[i]->row_size);
			assert_non_null(c->help);
			n++;
		}
		assert_in_range(n, 1, CSV_MAX_FIELDS);
	}
}

static void a_fresh_row_claims_nothing(void **state)
{
	struct p2p_row row;
	struct str out = STR_INIT;
	json_t *json;

	(void)state;
	memset(&row, 0x55, sizeof(row));
	record_init(&schema_p2p, &row);
	record_add_csv(&schema_p2p, &row, &out);
	assert_string_equal(str_text(&out),
			    ",,,,,,,,,,,,,,,,,,,,,,,,not_run,,,,,,,,,\n");
	str_release(&out);
	json = record_json(&schema_p2p, &row);
	assert_int_equal(json_object_size(json), 34);
	assert_true(json_is_null(json_object_get(json, "src_rank")));
	assert_true(json_is_null(json_object_get(json, "src_node")));
	assert_true(json_is_null(json_object_get(json, "bw_GB_s")));
	assert_string_equal(json_string_value(json_object_get(json, "outcome")),
			    "not_run");
	json_decref(json);
}

static void fill_row(struct p2p_row *row)
{
	record_init(&schema_p2p, row);
	row->attempt = 1;
	row->src_rank = 0;
	row->dst_rank = 9;
	STR_COPY(row->src_node, "n0");
	STR_COPY(row->dst_node, "n1");
	STR_COPY(row->src_nic, "mlx5_0+mlx5_1");
	row->size_B = INT64_C(8) << 30;
	row->bw_GB_s = 48.123456789;
	row->bw_min_GB_s = 0;
	row->bw_max_GB_s = INFINITY;
	row->lat_us = 1.5e-7;
	row->outcome = OUTCOME_ERROR;
	STR_COPY(row->code, "connect_refused");
	STR_COPY(row->detail, "n0, rank 0: \"connection refused\"");
}

static void rows_go_there_and_back(void **state)
{
	struct p2p_row row, back;
	struct record_reader r;
	struct str out = STR_INIT;

	(void)state;
	fill_row(&row);
	record_add_header(&schema_p2p, &out);
	record_add_csv(&schema_p2p, &row, &out);
	given(&r, &schema_p2p, str_text(&out));
	str_release(&out);

	assert_int_equal(record_reader_next(&r, &back, NULL), 1);
	assert_true(back.attempt == 1 && back.src_rank == 0);
	assert_true(back.src_gpu == RECORD_NONE);
	assert_true(back.size_B == INT64_C(8) << 30);
	assert_string_equal(back.src_nic, "mlx5_0+mlx5_1");
	assert_string_equal(back.detail, row.detail);
	assert_true(back.bw_GB_s == 48.1235);
	assert_true(back.lat_us == 1.5e-7);
	assert_int_equal(back.outcome, OUTCOME_ERROR);
	/* zero was measured, infinity and nothing were not */
	assert_true(back.bw_min_GB_s == 0);
	assert_true(isnan(back.bw_max_GB_s));
	assert_true(isnan(back.expected_GB_s));
	assert_int_equal(record_reader_next(&r, &back, NULL), 0);
	assert_int_equal(r.bad_rows, 0);
	done(&r);
}

static void json_survives_text_that_is_not_utf8(void **state)
{
	struct event_row row;
	json_t *json;

	(void)state;
	record_init(&schema_events, &row);
	snprintf(row.detail, sizeof(row.detail), "caf\xe9 \xc3\xbc");
	json = record_json(&schema_events, &row);
	assert_string_equal(json_string_value(json_object_get(json, "detail")),
			    "caf? ??");
	json_decref(json);
}

static void columns_are_found_by_name(void **state)
{
	struct record_reader r;
	struct p2p_row row;

	(void)state;
	given(&r, &schema_p2p,
	      "outcome,later_column,dst_rank,src_rank,bw_GB_s\n"
	      "ok,what,2,1,\n");
	assert_int_equal(record_reader_next(&r, &row, NULL), 1);
	assert_true(row.src_rank == 1 && row.dst_rank == 2);
	assert_int_equal(row.outcome, OUTCOME_OK);
	assert_true(row.attempt == RECORD_NONE && isnan(row.bw_GB_s));
	done(&r);
}

static void bad_values_are_counted_and_skipped(void **state)
{
	static const struct {
		const char *line, *why;
	} bad[] = {
		{ "x,1,ok,n0\n", "src_rank: 'x'" },
		{ "9223372036854775808,1,ok,n0\n", "src_rank" },
		{ "1,nan,ok,n0\n", "bw_GB_s: 'nan'" },
		{ "1,1e999,ok,n0\n", "bw_GB_s" },
		{ "1,1,fine,n0\n", "'fine' is not an outcome" },
		{ "1,1,ok,0123456789012345678901234567890123456789"
		  "0123456789012345678901234567890123456789\n",
		  "src_node: longer than 63 bytes" },
		{ "1,1,ok\n", "4 fields, the first line has 5" },
		{ "1,1,ok,n0,more\n", "6 fields" },
		{ "1,1,ok,\"n0\n", "unclosed quote" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct str s = STR_INIT;
		struct record_reader r;
		struct p2p_row row;

		str_add(&s, "dst_rank,src_rank,bw_GB_s,outcome,src_node\n"
			    "2,");
		str_add(&s, bad[i].line);
		str_add(&s, "2,7,1,ok,n0\n");
		given(&r, &schema_p2p, str_text(&s));
		str_release(&s);
		assert_int_equal(record_reader_next(&r, &row, NULL), 1);
		assert_true(row.src_rank == 7);
		assert_int_equal(record_reader_next(&r, &row, NULL), 0);
		assert_int_equal(r.bad_rows, 1);
		assert_non_null(strstr(r.bad_why, bad[i].why));
		assert_non_null(strstr(r.bad_why, "line 2: "));
		done(&r);
	}
}

static void several_bad_rows_in_a_row_all_count(void **state)
{
	struct record_reader r;
	struct event_row row;

	(void)state;
	given(&r, &schema_events, "seq,event\na\"b,x\nc\"d,x\nnone,x\n1,y\n");
	assert_int_equal(record_reader_next(&r, &row, NULL), 1);
	assert_true(row.seq == 1);
	assert_int_equal(r.bad_rows, 3);
	done(&r);
}

static void truncated_last_line(void **state)
{
	struct record_reader r;
	struct event_row row;

	(void)state;
	given(&r, &schema_events, "seq,event\n1,start\n2");
	assert_int_equal(record_reader_next(&r, &row, NULL), 1);
	assert_int_equal(record_reader_next(&r, &row, NULL), 0);
	assert_int_equal(r.bad_rows, 1);
	done(&r);

	/* of "ended", for all that is known */
	given(&r, &schema_events, "seq,event\n1,start\n2,end");
	assert_int_equal(record_reader_next(&r, &row, NULL), 1);
	assert_int_equal(record_reader_next(&r, &row, NULL), 0);
	assert_int_equal(r.bad_rows, 1);
	assert_string_equal(r.bad_why, "line 3: its end is missing");
	done(&r);
}

static void files_of_something_else_are_refused(void **state)
{
	static const char *const texts[] = { "", "\n\n", "colour,shape\n1,2\n",
					     NULL };

	(void)state;
	for (size_t i = 0; texts[i]; i++) {
		FILE *f = tmpfile();
		struct record_reader r;
		struct err e;

		fputs(texts[i], f);
		rewind(f);
		assert_int_equal(record_reader_open(&r, &schema_p2p, f, &e),
				 -1);
		assert_non_null(strstr(e.text, "results.csv"));
		fclose(f);
	}
}

static void a_column_that_is_needed_is_named(void **state)
{
	FILE *f = tmpfile();
	struct record_reader r;
	struct err e;

	(void)state;
	fputs("src_rank,dst_rank,bw_GB_s\n0,1,5\n", f);
	rewind(f);
	assert_int_equal(record_reader_open(&r, &schema_p2p, f, &e), -1);
	assert_true(r.lacks);
	assert_string_equal(e.text, "'results.csv' has no column 'outcome'");
	fclose(f);
}

static void outcomes_have_one_name_each(void **state)
{
	(void)state;
	for (int o = 0; o < OUTCOME_COUNT; o++) {
		assert_int_equal(outcome_parse(outcome_name((enum outcome)o)),
				 o);
	}
	assert_int_equal(outcome_parse("OK"), OUTCOME_COUNT);
	assert_int_equal(outcome_parse(""), OUTCOME_COUNT);
}

static void a_list_gives_back_what_it_was_given(void **state)
{
	struct record_list l = { .schema = &schema_collective };
	struct collective_row row, back;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		record_init(&schema_collective, &row);
		snprintf(row.op, sizeof(row.op), "%.*s", i % 16,
			 "abcdefghijklmnop");
		row.size_B = i % 7 ? i : RECORD_NONE;
		row.time_us = i / 8.0;
		row.outcome = (enum outcome)(i % OUTCOME_COUNT);
		assert_int_equal(record_list_add(&l, &row), 0);
	}
	assert_int_equal(l.n, 1000);
	/* the whole rows would take seven times as much */
	assert_true(l.packed.len < l.n * sizeof(row) / 5);
	for (int i = 999; i >= 0; i--) {
		record_list_get(&l, (size_t)i, &back);
		assert_int_equal(strlen(back.op), i % 16);
		assert_int_equal(back.size_B, i % 7 ? i : RECORD_NONE);
		assert_true(back.time_us == i / 8.0 && isnan(back.algbw_GB_s));
		assert_int_equal(back.outcome, i % OUTCOME_COUNT);
	}
	record_list_release(&l);
	assert_int_equal(l.n, 0);
}

int main(void)
{

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_the_contract),
		cmocka_unit_test(collectives_have_the_factors_of_nccl_tests),
		cmocka_unit_test(large_times_keep_their_digits),
		cmocka_unit_test(every_column_lies_in_its_row_and_is_explained),
		cmocka_unit_test(a_fresh_row_claims_nothing),
		cmocka_unit_test(rows_go_there_and_back),
		cmocka_unit_test(json_survives_text_that_is_not_utf8),
		cmocka_unit_test(columns_are_found_by_name),
		cmocka_unit_test(bad_values_are_counted_and_skipped),
		cmocka_unit_test(several_bad_rows_in_a_row_all_count),
		cmocka_unit_test(truncated_last_line),
		cmocka_unit_test(files_of_something_else_are_refused),
		cmocka_unit_test(a_column_that_is_needed_is_named),
		cmocka_unit_test(outcomes_have_one_name_each),
		cmocka_unit_test(a_list_gives_back_what_it_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
