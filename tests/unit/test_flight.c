/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps of PyTorch's flight recorder: who is named, and which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/json.h"
#include "report/explain/explain.h"

static char bytes[65536];

static size_t read_bytes(const char *folder, const char *prefix, int rank,
			 char name[160])
{
	size_t len = 0;
	FILE *f;

	snprintf(name, 160, "tests/fixtures/dumps/%s/%s%d", folder, prefix,
		 rank);
	f = fopen(name, "r");
	if (f) {
		len = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
	}
	return len;
}

static int read_memory(struct explain *x, const char *name, size_t len,
		       struct err *e)
{
	FILE *f = fmemopen(bytes, len, "r");
	int rc = explain_file(x, name, f, e);

	fclose(f);
	return rc;
}

/** The dumps of so many @ranks in @folder, which explain compares to @text. */
static void says(const char *folder, const char *prefix, int ranks,
		 const char *text)
{
	struct err e = { 0 };
	struct explain x;

	explain_begin(&x, symptoms_builtin(), NULL);
	for (int rank = 0; rank < ranks; rank++) {
		char name[160];
		size_t n = read_bytes(folder, prefix, rank, name);

		if (n > 0 && read_memory(&x, name, n, &e) < 0) {
			fail_msg("%s: %s", name, e.text);
		}
	}
	explain_end(&x);
	if (!strstr(str_text(&x.said), text)) {
		fail_msg("%s: %s", folder, str_text(&x.said));
	}
	assert_int_equal(x.n, 1);
	assert_true(str_starts(str_text(&x.said), FLIGHT_SAYS));
	explain_release(&x);
}

/* Pickles of C++ and of Python, and JSON, whatever the files are called. */
static void the_rank_is_named(void **state)
{
	static const struct {
		const char *folder, *prefix, *says;
	} cases[] = {
		{ "missing", "comm_lib_trace_rank_",
		  "rank 3 never called all_reduce 21 of group 0 at train.py:31 "
		  "(step), while 3 wait; last call: all_reduce 20 of group 0 at"
		  " train.py:31 (step)\n" },
		{ "other", "comm_lib_trace_rank_",
		  "rank 2 called another collective: all_gather 21 of group 0 "
		  "at train.py:47 (step), not all_reduce 21 of group 0 at "
		  "train.py:31 (step)\n" },
		{ "size", "fr.",
		  "rank 1 used another size: all_reduce 21 of group 0 at "
		  "train.py:31 (step), [[1000]], not [[1048576]]\n" },
		{ "same", "nccl_trace_rank_",
		  "all ranks wait in all_reduce 21 of group 0 at train.py:31 "
		  "(step)\n" },
		{ "nodump", "comm_lib_trace_rank_",
		  "no dump of rank 3, while 3 wait in all_reduce 21 of group 0 "
		  "at train.py:31 (step)\n" },
		{ "ended", "comm_lib_trace_rank_", "no rank waits\n" },
		{ "ring", "comm_lib_trace_rank_",
		  "all ranks wait in all_reduce 7 of group a1 at train.py:31 "
		  "(step); dumps that do not reach back so far: 0\n" },
		{ "tensor", "comm_lib_trace_rank_",
		  "rank 1 never called all_reduce 7 of group a1 at train.py:52 "
		  "(step), while 1 wait; last call: all_reduce 6 of group a1 at"
		  " train.py:52 (step)\nflight recorder: rank 1 never called "
		  "all_reduce 21" },
		{ "chain", "comm_lib_trace_rank_",
		  "the end of the chain is rank 2, which waits for nothing, "
		  "while rank 0 waits in send 4 of group 0" },
		{ "recorded", "comm_lib_trace_rank_",
		  "rank 0 never called all_reduce 13 of group 0 at "
		  "hang_rank.py:122 (step_of), while 3 wait; last call: "
		  "all_reduce 12 of group 0 at hang_rank.py:122 (step_of)" },
		{ "recorded-asleep-3", "comm_lib_trace_rank_",
		  "rank 3 never called all_reduce 13 of group 0" },
		{ "recorded-other-2", "comm_lib_trace_rank_",
		  "rank 2 called another collective: all_gather 13" },
		{ "recorded-size-1", "comm_lib_trace_rank_",
		  "rank 1 used another size: all_reduce 13 of group 0" },
		{ "recorded-pipe_asleep-2", "comm_lib_trace_rank_",
		  "the end of the chain is rank 2, which waits for nothing" },
		{ "recorded-mixed_asleep-1", "comm_lib_trace_rank_",
		  "rank 1 never called all_reduce 13 of group 1" },
		{ "recorded-pipe_cycle-0", "comm_lib_trace_rank_",
		  "ranks 1, 2, 3, 0 wait for each other in recv 15" },
		{ "cycle", "comm_lib_trace_rank_",
		  "ranks 1, 2, 3, 0 wait for each other in recv 1 of group 0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		says(cases[i].folder, cases[i].prefix, 4, cases[i].says);
	}
	/* rank 3 may be the one that did not call */
	says("chain", "comm_lib_trace_rank_", 3,
	     "no dump of rank 3, while rank 0 waits in send 4 of group 0");
}

/** Read @len bytes as the dump of rank 0: it must be refused. */
static void refused(size_t len, const char *why)
{
	struct err e = { 0 };
	struct explain x;

	explain_begin(&x, symptoms_builtin(), NULL);
	assert_int_equal(read_memory(&x, "rank_0", len, &e), -1);
	assert_int_equal(e.code, 0);
	if (!strstr(e.text, why) || !e.text[0]) {
		fail_msg("%s, not %s", e.text, why);
	}
	explain_refuse(&x, "rank_0", &e);
	explain_end(&x);
	assert_int_equal(x.n, 1);
	assert_string_equal(x.order[0]->symptom->code, "dump_refused");
	explain_release(&x);
}

static void half_a_dump_is_refused(void **state)
{
	static const int parts[] = { 30, 50, 65, 75, 80, 90, 95, 99 };
	char name[160];

	(void)state;
	for (int rank = 0; rank < 3; rank++) {
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			size_t n = read_bytes("missing", "comm_lib_trace_rank_",
					      rank, name);

			refused(n * (size_t)parts[i] / 100,
				rank == 2 ? "" : "cut short");
		}
	}
}

#define KEY "X\x11\0\0\0collective_seq_id"

/* Opcodes that would import or call something, and values that no dump has. */
static void a_pickle_runs_nothing(void **state)
{
	static const struct {
		const char *ops, *why;
		size_t n;
	} cases[] = {
#define CASE(text, why) { text, why, sizeof(text) - 1 }
		CASE("\x80\2" KEY "cos\nsystem\n(U\4trueptR.", "run code"),
		CASE("\x80\4" KEY "\x8c\2os\x8c\6system\x93.", "run code"),
		CASE("\x80\2" KEY "R.", "run code"),
		CASE("\x80\2}" KEY "b.", "run code"),
		CASE("\x80\2(" KEY "ios\nsystem\n.", "run code"),
		CASE("\x80\2(" KEY "o.", "run code"),
		CASE("\x80\2" KEY ")\x81.", "run code"),
		CASE("\x80\4" KEY ")}\x92.", "run code"),
		CASE("\x80\2" KEY "Ptorch\n.", "run code"),
		CASE("\x80\2" KEY "Q.", "run code"),
		CASE("\x80\2" KEY "\x82\1.", "run code"),
		CASE("\x80\2" KEY "2.", "not known"),
		CASE("\x80\2" KEY "\x8a\x09" "123456789.", "64 bits"),
		CASE("\x80\2" KEY "X\xff\xff\xff\x7fx.", "cut short"),
		CASE("\x80\4" KEY "\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
		     "cut short"),
		CASE("\x80\2" KEY "h\5.", "memo"),
		CASE("\x80\2" KEY "r\xff\xff\xff\xff.", "memo"),
		CASE("\x80\2" KEY "q\0q\1.", "memo"),
		CASE("\x80\2" KEY "e.", "mark is missing"),
		CASE("\x80\2}(" KEY "u.", "not where it must"),
		CASE("\x80\2}(]" KEY "u.", "key"),
		CASE("\x80\2" KEY "U\1\xff.", "UTF-8"),
		/* a list that is in itself, at once or by another one */
		CASE("\x80\2" KEY "0]q\0h\0a.", "not known"),
		CASE("\x80\2]q\0(" KEY "h\0e.", "part of itself"),
		CASE("\x80\2]q\0(](h\0" KEY "ee.", "part of itself"),
		CASE("\x80\2" KEY ".\1", "bytes follow"),
		CASE("\x80\2" KEY "](.", "not in order"),
		CASE("\x80\2" KEY ".", "entries"),
		CASE("\x80\2}(" KEY "Nu.", "entries"),
		CASE("{\"collective_seq_id\": 1, \"entries\": 7}", "entries"),
		CASE("{\"collective_seq_id\": 1, \"entries\": [}", ""),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(bytes, cases[i].ops, cases[i].n);
		refused(cases[i].n, cases[i].why);
	}
	/* as deep as memory allows */
	memcpy(bytes, "\x80\2" KEY, 24);
	memset(bytes + 24, ']', 3000);
	memset(bytes + 3024, 'a', 3000);
	refused(6024, "too many levels");
}

static void a_dump_needs_its_rank_once(void **state)
{
	struct err e = { 0 };
	struct explain x;
	char name[160];
	size_t n = read_bytes("missing", "comm_lib_trace_rank_", 1, name);

	(void)state;
	explain_begin(&x, symptoms_builtin(), NULL);
	assert_int_equal(read_memory(&x, "dump.pkl", n, &e), -1);
	assert_non_null(strstr(e.text, "has no rank"));
	assert_int_equal(read_memory(&x, "dump.7", n, &e), 0);
	assert_int_equal(read_memory(&x, "rank_7.pkl", n, &e), -1);
	assert_non_null(strstr(e.text, "another dump of rank 7"));
	explain_end(&x);
	explain_release(&x);
}

/** Four ranks, @n collectives: rank 2 is late in those up to @late. */
static size_t inspector(int n, int late, double waits)
{
	FILE *f = fmemopen(bytes, sizeof(bytes), "w");
	size_t len;

	for (int i = 0; i < n; i++) {
		for (int r = 0; r < 4; r++) {
			fprintf(f, "{\"header\":{\"id\":\"0x7f8c\",\"rank\":%d,"
				"\"n_ranks\":4,\"nnodes\":1},\"metadata\":{},"
				"\"coll_perf\":{\"coll\":\"AllReduce\","
				"\"coll_sn\":%d,\"coll_msg_size_bytes\":4096,"
				"\"coll_exec_time_us\":%g,"
				"\"coll_timing_source\":\"kernel_gpu\","
				"\"coll_algobw_gbs\":10,\"coll_busbw_gbs\":%d}}"
				"\n", r, i,
				i < late && r == 2 ? 100 : 100 + waits,
				r == 2 ? 15 : 5);
		}
	}
	len = (size_t)ftell(f);
	fclose(f);
	return len;
}

static void a_late_rank_is_named(void **state)
{
	static const struct {
		int n, late;
		double waits;
		const char *says;
	} cases[] = {
		{ 12, 11, 900, "rank 2 is late in 11 of 12 collectives of "
		  "communicator 0x7f8c, and the others wait 900 us" },
		{ 12, 6, 900, NULL },	/* as often as not */
		{ 9, 9, 900, NULL },	/* too few */
		{ 12, 12, 90, NULL },	/* by too little */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = inspector(cases[i].n, cases[i].late, cases[i].waits);
		struct explain x;

		explain_begin(&x, symptoms_builtin(), NULL);
		assert_int_equal(read_memory(&x, "n0-pid7.log", n, NULL), 0);
		explain_end(&x);
		assert_true(!strstr(str_text(&x.said), "late") ==
			    !cases[i].says);
		if (cases[i].says) {
			assert_non_null(strstr(str_text(&x.said),
					       cases[i].says));
			assert_non_null(strstr(str_text(&x.said), "15.0 GB/s"));
		}
		assert_int_equal(x.n, cases[i].says ? 2 : 1);
		explain_release(&x);
	}
}

/* Numbers of every size are what Python reads. */
static void numbers_are_read(void **state)
{
	static const char ops[] = "\x80\2](K\xffM\xff\xffJ\xff\xff\xff\xff"
				  "\x8a\0\x8a\1\x80\x8a\2\x80\0\x8a\x08\0\0\0\0\0\0\0"
				  "\x80" "G?\xf8\0\0\0\0\0\0N\x88\x89" "e.";
	struct err e = { 0 };
	json_t *json = json_parse_pickle(ops, sizeof(ops) - 1, &e);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	(void)state;
	assert_string_equal(e.text, "");
	assert_string_equal(text, "[255,65535,-1,0,-128,128,"
				  "-9223372036854775808,1.5,null,true,false]");
	free(text);
	json_decref(json);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rank_is_named),
		cmocka_unit_test(half_a_dump_is_refused),
		cmocka_unit_test(a_pickle_runs_nothing),
		cmocka_unit_test(a_dump_needs_its_rank_once),
		cmocka_unit_test(a_late_rank_is_named),
		cmocka_unit_test(numbers_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
