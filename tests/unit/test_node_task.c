/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "probes/engine/agent/node_task.h"

/** The columns of memlock are the contract with other tools. */
static void header_is_the_contract(void **state)
{
	struct str out = STR_INIT;

	(void)state;
	record_add_header(&schema_memlock, &out);
	assert_string_equal(str_text(&out),
			    "node,context,check,hca,limit_B,needed_B,max_ok_B,"
			    "min_fail_B,source,outcome,code,detail,"
			    "start_utc\n");
	str_release(&out);
}

static void a_row_survives_json(void **state)
{
	struct memlock_row row, back;
	json_t *json;

	(void)state;
	record_init(&schema_memlock, &row);
	STR_COPY(row.node, "n1");
	row.limit_B = MEMLOCK_UNLIMITED;
	row.outcome = OUTCOME_ERROR;
	json = record_json(&schema_memlock, &row);
	assert_int_equal(record_from_json(&schema_memlock, json, &back, NULL),
			 0);
	assert_string_equal(back.node, "n1");
	assert_true(back.limit_B == MEMLOCK_UNLIMITED);
	assert_true(back.needed_B == RECORD_NONE);
	assert_int_equal(back.outcome, OUTCOME_ERROR);
	json_decref(json);
}

static void bad(const char *text)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	struct memlock_row row;
	struct err e = { 0 };

	assert_int_equal(record_from_json(&schema_memlock, json, &row, &e),
			 -1);
	assert_true(e.text[0]);
	json_decref(json);
}

static void bad_rows_are_refused(void **state)
{
	(void)state;
	bad("[]");
	bad("{\"node\": 1}");
	bad("{\"limit_B\": \"64\"}");
	bad("{\"limit_B\": 1.5}");
	bad("{\"outcome\": \"splendid\"}");
	bad("{\"context\": \"much too long a name for it\"}");
}

/* ---- what a child says --------------------------------------------------- */

static json_t *said(const char *text, const char *outcome)
{
	return node_task_message(text, strlen(text), outcome, "", "");
}

static void expect(json_t *msg, size_t rows, size_t facts,
		   const char *outcome)
{
	const json_t *r = json_object_get(msg, "rows");
	const json_t *f = json_object_get(msg, "facts");

	assert_int_equal(json_array_size(r), rows);
	assert_int_equal(json_array_size(f), facts);
	assert_string_equal(json_string_value(json_object_get(msg, "outcome")),
			    outcome);
	json_decref(msg);
}

static void lines_of_a_child(void **state)
{
	(void)state;
	expect(said("{\"row\":{}}\n{\"fact\":{}}\n{\"row\":{}}\n", "ok"), 2, 1,
	       "ok");
	/* what was said before the end counts, its last half line does not */
	expect(said("{\"row\":{}}\n{\"row\":{", "timeout"), 1, 0, "timeout");
	expect(said("", "crashed"), 0, 0, "crashed");
	/* noise is no row */
	expect(said("{\"row\":{}}\nhello\n", "ok"), 1, 0, "error");
	expect(said("{\"row\":1}\n", "ok"), 0, 0, "error");
	expect(said("hello\n", "timeout"), 0, 0, "timeout");
}

/* ---- children of all kinds ----------------------------------------------- */

/** /bin/sh in the place of gpucheck: its argument is the name of the probe. */
static const char *const script =
	"#!/bin/sh\n"
	"case $2 in\n"
	"good) read args; echo \"{\\\"row\\\":{\\\"node\\\":\\\"n\\\"}}\";;\n"
	"hang) echo \"{\\\"row\\\":{}}\"; exec sleep 60;;\n"
	"crash) echo \"{\\\"row\\\":{}}\"; kill -SEGV $$;;\n"
	"flood) while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done;;\n"
	"esac\n";

static json_t *answer;

static void keep(struct node_task *t, json_t *msg)
{
	(void)t;
	answer = msg;
}

static void child(const char *name, size_t rows, const char *outcome)
{
	/* a busy machine starts a shell late: only who hangs is cut off soon */
	bool hangs = strcmp(name, "hang") == 0;
	const struct probe probe = {
		.name = name, .kind = PROBE_NODES,
		.timeout_ns = (hangs ? 2 : 60) * NS_PER_S,
	};
	char path[] = "/tmp/gpucheck-child-XXXXXX";
	struct node_task task = { 0 };
	json_t *args = json_object();
	int fd = mkstemp(path);
	uv_loop_t loop;

	assert_true(fd >= 0);
	dprintf(fd, "%s", script);
	fchmod(fd, 0700);
	close(fd);
	uv_loop_init(&loop);
	assert_int_equal(node_task_start(&task, &loop, path, &probe, args,
					 keep, NULL, NULL), 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_true(node_task_idle(&task));
	unlink(path);
	json_decref(args);
	expect(answer, rows, 0, outcome);
}

static void children_of_all_kinds(void **state)
{
	(void)state;
	child("good", 1, "ok");
	child("hang", 1, "timeout");
	child("crash", 1, "crashed");
	child("flood", 0, "error");
}

static void a_child_that_is_no_program(void **state)
{
	const struct probe probe = { .name = "x", .timeout_ns = 1000000000 };
	struct node_task task = { 0 };
	json_t *args = json_object();
	struct err e = { 0 };
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(node_task_start(&task, &loop, "/nonexistent", &probe,
					 args, keep, NULL, &e), -1);
	assert_non_null(strstr(e.text, "/nonexistent"));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_true(node_task_idle(&task));
	json_decref(args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_the_contract),
		cmocka_unit_test(a_row_survives_json),
		cmocka_unit_test(bad_rows_are_refused),
		cmocka_unit_test(lines_of_a_child),
		cmocka_unit_test(children_of_all_kinds),
		cmocka_unit_test(a_child_that_is_no_program),
	};

	/* as the agent does: a child may leave its orders unread */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
