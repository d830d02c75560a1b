/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/data/cbor.h"
#include "lib/data/record_rows.h"
#include "probes/engine/agent/agent.h"

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

/* ---- children of all kinds ----------------------------------------------- */

static void say_row(void *arg, json_t *msg)
{
	struct str entry = STR_INIT;
	json_t *row = json_pack("{s:O}", "row", json_object_get(msg, "args"));

	cbor_add(row, &entry);
	wire_fd_send_entry(arg, MSG_NODE_SAID, &entry, INT64_MAX, NULL);
	json_decref(row);
	str_release(&entry);
}

/** This program in the place of gpucheck: it says its task as a row. */
static int be_child(const char *name)
{
	static const struct wire_events events = { .message = say_row };
	struct wire_fd w = { .fd = STDIN_FILENO, .way = MSG_TO_WORKER };
	const struct rlimit no_core = { 0, 0 };

	wire_fd_hear(&w, &events, &w, INT64_MAX, NULL);
	wire_buf_release(&w.in);
	if (strcmp(name, "hang") == 0) {
		sleep(60);
	} else if (strcmp(name, "crash") == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	} else if (strcmp(name, "noise") == 0) {
		/* on its socket: it is of no use any more */
		while (write(STDIN_FILENO, "xxxxxxxx", 8) > 0) {
		}
	}
	return 0;
}

static int entries;
static json_t *answer;

static void said(struct node_task *t, const void *bytes, size_t n)
{
	json_t *json = cbor_parse(bytes, n, NULL);

	(void)t;
	assert_string_equal(json_string_value(json_object_get(
		json_object_get(json, "row"), "node")), "n");
	json_decref(json);
	entries++;
}

static void done(struct node_task *t, json_t *msg)
{
	(void)t;
	answer = msg;
}

static json_t *a_task(void)
{
	return message_new(MSG_NODE_TASK, "{s:s,s:{s:s}}", "probe", "x", "args",
			   "node", "n");
}

static void child(const char *name, const char *outcome)
{
	/* a busy machine starts a process late: only what hangs is cut off */
	bool hangs = strcmp(name, "hang") == 0;
	struct node_task task = { .said = said, .done = done };
	json_t *msg = a_task();
	char self[PATH_MAX];
	uv_loop_t loop;

	assert_int_equal(spawn_self(self, sizeof(self), NULL), 0);
	entries = 0;
	uv_loop_init(&loop);
	assert_int_equal(node_task_start(&task, &loop, self, name, msg,
					 (hangs ? 2 : 60) * NS_PER_S, NULL),
			 0);
	json_decref(msg);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_true(node_task_idle(&task));
	assert_string_equal(json_string_value(json_object_get(answer,
							      "outcome")),
			    outcome);
	json_decref(answer);
	/* what was said before the end counts */
	assert_int_equal(entries, 1);
}

static void children_of_all_kinds(void **state)
{
	(void)state;
	child("good", "ok");
	child("hang", "timeout");
	child("crash", "crashed");
	child("noise", "crashed");
}

static void a_child_that_is_no_program(void **state)
{
	struct node_task task = { .said = said, .done = done };
	json_t *msg = a_task();
	struct err e = { 0 };
	uv_loop_t loop;

	(void)state;
	answer = NULL;
	uv_loop_init(&loop);
	assert_int_equal(node_task_start(&task, &loop, "/nonexistent", "x", msg,
					 NS_PER_S, &e), -1);
	assert_non_null(strstr(e.text, "/nonexistent"));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_true(node_task_idle(&task));
	assert_null(answer);
	json_decref(msg);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_the_contract),
		cmocka_unit_test(a_row_survives_json),
		cmocka_unit_test(bad_rows_are_refused),
		cmocka_unit_test(children_of_all_kinds),
		cmocka_unit_test(a_child_that_is_no_program),
	};

	if (argc > 2 && strcmp(argv[1], "worker") == 0) {
		return be_child(argv[2]);
	}
	/* as the agent does: a child may leave its orders unread */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
