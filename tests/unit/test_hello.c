/* SPDX-License-Identifier: BSD-3-Clause */
/* What an agent says first, on machines of any name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/data/json.h"
#include "probes/engine/agent/agent.h"

/* The hello of an agent on node @name, which the coordinator takes. */
static json_t *hello_of(const char *name)
{
	struct agent *a = calloc(1, sizeof(*a));
	json_t *msg;

	assert_non_null(a);
	unsetenv("GPUCHECK_HOST");
	setenv("SLURMD_NODENAME", name, 1);
	a->boot.local_rank = -1;
	a->inventory = json_object();
	uv_loop_init(&a->loop);
	a->door = door_open(&a->loop,
			    net_listen(true, (struct net_ports){ 0 }, NULL), 1,
			    &a->data, NULL, NULL, a, NULL);
	assert_non_null(a->door);
	msg = agent_hello(a);
	assert_int_equal(message_check(msg, MSG_TO_COORDINATOR, NULL), 1);
	door_close(a->door);
	uv_run(&a->loop, UV_RUN_DEFAULT);
	uv_loop_close(&a->loop);
	json_decref(a->inventory);
	free(a);
	return msg;
}

static void a_name_is_said_as_it_is(void **state)
{
	json_t *msg = hello_of("node17");

	(void)state;
	assert_string_equal(json_member(msg, "node"), "node17");
	json_decref(msg);
}

static void a_long_name_is_cut(void **state)
{
	char name[255];
	json_t *msg;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	msg = hello_of(name);
	assert_int_equal(strlen(json_member(msg, "node")), 63);
	json_decref(msg);
}

static void a_name_that_is_no_text_becomes_one(void **state)
{
	(void)state;
	json_decref(hello_of("a\xff\x9b"));
	json_decref(hello_of(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_said_as_it_is),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(a_name_that_is_no_text_becomes_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
