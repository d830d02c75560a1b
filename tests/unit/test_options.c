/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/command.h"
#include "cli/options.h"

static const struct command probe = {
	.name = "p2p",
	.usage = "[RANK RANK]",
	.takes = SPEC_CMD_P2P,
	.max_args = 2,
};

static const struct command reader = {
	.name = "report",
	.usage = "DIR",
	.takes = SPEC_CMD_REPORT,
	.min_args = 1,
	.max_args = 1,
};

/** Parse "gpucheck NAME words..."; as options_parse(). */
static int parse(struct session *s, const struct command *cmd, struct err *e,
		 const char *const words[])
{
	static char *argv[32];
	int argc = 2;

	argv[0] = (char *)"gpucheck";
	argv[1] = (char *)cmd->name;
	for (int i = 0; words[i]; i++) {
		argv[argc++] = (char *)words[i];
	}
	argv[argc] = NULL;
	*s = (struct session){ .argc = argc, .argv = argv };
	*e = (struct err){ 0 };
	return options_parse(s, cmd, e);
}

#define PARSE(s, cmd, e, ...) \
	parse(s, cmd, e, (const char *const[]){ __VA_ARGS__, NULL })

static void test_forms(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "-N", "4", "-G8", "-b", "8",
			       "--maxbytes=64M", "--timeout", "2s", "-vv",
			       "--json"), 0);
	assert_int_equal(s.spec.nodes, 4);
	assert_int_equal(s.spec.gpus_per_node, 8);
	assert_int_equal(s.spec.size_begin_B, 8);
	assert_int_equal(s.spec.size_end_B, 64 << 20);
	assert_int_equal(s.spec.verbose, 2);
	assert_true(s.spec.json);
	assert_int_equal(s.n_args, 0);
	options_release(&s);
}

/** A bare --local takes no word behind it; ranks may stand anywhere. */
static void test_local_and_ranks(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "--local", "0", "9"), 0);
	assert_true(s.spec.local);
	assert_int_equal(s.spec.local_nodes, 0);
	assert_int_equal(s.n_args, 2);
	assert_string_equal(s.args[1], "9");
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "0", "--local=2x8", "9"), 0);
	assert_int_equal(s.spec.local_nodes, 2);
	assert_int_equal(s.n_args, 2);
	options_release(&s);
}

static void test_extra(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "-N", "2", "--",
			       "--partition=gpu", "-N9"), 0);
	assert_int_equal(s.spec.nodes, 2);
	assert_string_equal(s.extra[0], "--partition=gpu");
	assert_string_equal(s.extra[1], "-N9");
	assert_null(s.extra[2]);
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "-q"), 0);
	assert_null(s.extra[0]);
	options_release(&s);
}

static void test_refused(void **state)
{
	static const char *const bad[][4] = {
		{ "--nods=2" }, { "-Z" }, { "--nodes" }, { "--json=1" },
		{ "-b", "8Q" }, { "--local=0x3" }, { "0", "1", "2" },
		{ "--nodes=2", "--nodes=x" },
	};
	struct session s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&s, &probe, &e, bad[i]), -1);
		assert_true(e.text[0]);
		options_release(&s);
	}
}

static void test_hints(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "--nods=2"), -1);
	assert_string_equal(e.hint, "did you mean '--nodes'?");
	/* an option of another command is none of this one */
	assert_int_equal(PARSE(&s, &reader, &e, "--nodes=2", "DIR"), -1);
	assert_non_null(strstr(e.text, "--nodes"));
	assert_int_equal(PARSE(&s, &reader, &e, "--json"), -1);
	assert_string_equal(e.hint, "gpucheck report DIR");
	options_release(&s);
}

static void test_help(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "-N2", "-h"), OPTIONS_HELP);
	options_release(&s);
	assert_int_equal(PARSE(&s, &reader, &e, "--help"), OPTIONS_HELP);
	options_release(&s);
}

static void test_environment(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	setenv("GPUCHECK_MAX_TIME", "90s", 1);
	setenv("GPUCHECK_NODES", "4", 1);
	setenv("GPUCHECK_STRICT", "1", 1);
	setenv("GPUCHECK_JSON", "", 1);
	assert_int_equal(PARSE(&s, &probe, &e, "-N", "8"), 0);
	assert_int_equal(s.spec.max_time_ns, INT64_C(90000000000));
	assert_int_equal(s.spec.nodes, 8);
	assert_true(s.spec.strict);
	assert_false(s.spec.json);
	options_release(&s);
	/* options of other commands are not even looked at */
	setenv("GPUCHECK_NODES", "four", 1);
	assert_int_equal(PARSE(&s, &reader, &e, "DIR"), 0);
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "-q"), -1);
	assert_non_null(strstr(e.text, "GPUCHECK_NODES"));
	options_release(&s);
	unsetenv("GPUCHECK_MAX_TIME");
	unsetenv("GPUCHECK_NODES");
	unsetenv("GPUCHECK_STRICT");
	unsetenv("GPUCHECK_JSON");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_local_and_ranks),
		cmocka_unit_test(test_extra),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
