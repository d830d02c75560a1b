/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/front/help.h"
#include "cli/front/options.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "probes/probe.h"
#include "report/model/run.h"

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
	.needs = "a run",
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
			       "--maxbytes=64M", "--test-timeout", "2s", "-vv",
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
		{ "--nods=2" }, { "-Z" }, { "--nodes" }, { "--json=2" },
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
	assert_string_equal(e.text,
			    "report needs a run: gpucheck report DIR");
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
	unsetenv("GPUCHECK_NODES");
	/* the newer name of a variable counts, if both are set */
	setenv("GPUCHECK_TIME_LIMIT", "80s", 1);
	assert_int_equal(PARSE(&s, &probe, &e, "-q"), 0);
	assert_int_equal(s.spec.max_time_ns, INT64_C(80000000000));
	options_release(&s);
	unsetenv("GPUCHECK_TIME_LIMIT");
	unsetenv("GPUCHECK_MAX_TIME");
	unsetenv("GPUCHECK_NODES");
	unsetenv("GPUCHECK_STRICT");
	unsetenv("GPUCHECK_JSON");
}

/** The @i-th of some values of @o as text, in @buf or not; NULL behind the
 *  last. */
static const char *sample(const struct spec_option *o, int i, char buf[32])
{
	static const char *const locals[] = { "1x2", "2x4" };

	if (o->words) {
		return o->words[i].name;
	}
	if (i > 1) {
		return NULL;
	}
	switch (o->type) {
	case SPEC_FLAG:
	case SPEC_COUNT:
	case SPEC_BOOL:
		return i == 0 ? "1" : NULL;
	case SPEC_LOCAL:
		return locals[i];
	case SPEC_INT:
	case SPEC_SIZE:
		snprintf(buf, 32, "%lld",
			 (long long)(i == 0 ? o->min : o->max));
		return buf;
	case SPEC_DURATION:
		return i == 0 ? "2s" : NULL;
	case SPEC_PORTS:
		return i == 0 ? "40000-40100" : NULL;
	default:
		return i == 0 ? "x" : NULL;
	}
}

/** Is it right to type @value of @typed? */
static bool is_right(const struct command *cmd, const struct spec_option *typed,
		     const char *value)
{
	bool flag = typed->type == SPEC_FLAG || typed->type == SPEC_COUNT;
	char word[128];
	struct session s;
	struct err e;
	int rc;

	snprintf(word, sizeof(word), "--%s%s%s", typed->name, flag ? "" : "=",
		 flag ? "" : value);
	rc = PARSE(&s, cmd, &e, word);
	rc = rc == 0 ? spec_check(&s.spec, &e) : rc;
	options_release(&s);
	return rc == 0;
}

/** What is right to type is right with any default of the environment too. */
static void no_value_is_in_the_way(const struct command *cmd,
				   const struct spec_option *env,
				   const struct spec_option *typed,
				   const char *value)
{
	char name[64], buf[32];
	const char *text;

	options_env_name(env->name, name, sizeof(name));
	for (int i = 0; (text = sample(env, i, buf)); i++) {
		setenv(name, text, 1);
		if (!is_right(cmd, typed, value)) {
			fail_msg("%s=%s gpucheck %s --%s=%s", name, text,
				 cmd->name, typed->name, value);
		}
		unsetenv(name);
	}
}

static void no_default_is_in_the_way(const struct command *cmd,
				     const struct spec_option *env)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		const char *value;
		char buf[32];

		for (int i = 0; options_apply(cmd, o) && o != env &&
				(value = sample(o, i, buf)); i++) {
			if (is_right(cmd, o, value)) {
				no_value_is_in_the_way(cmd, env, o, value);
			}
		}
	}
}

static void test_defaults_give_way(void **state)
{
	static const struct command cmds[] = {
		{ .name = "p2p", .takes = SPEC_CMD_P2P },
		{ .name = "ib", .takes = SPEC_CMD_IB },
		{ .name = "allreduce", .takes = SPEC_CMD_COLLECTIVE },
		{ .name = "ping", .takes = SPEC_CMD_PING },
		{ .name = "memlock", .takes = SPEC_CMD_MEMLOCK },
		{ .name = "all", .takes = SPEC_CMD_ALL },
	};
	size_t n = 0;

	(void)state;
	while (spec_options[n].name) {
		n++;
	}
	for (size_t c = 0; c < sizeof(cmds) / sizeof(*cmds);
	     c += SANITIZED ? 3 : 1) {
		for (size_t i = 0; i < n; i += SANITIZED ? 51 : 1) {
			const struct spec_option *o = &spec_options[i];

			if (options_apply(&cmds[c], o) &&
			    o->type != SPEC_LIST) {
				no_default_is_in_the_way(&cmds[c], o);
			}
		}
	}
}

/** A name is known by its beginning, where no other begins so. */
static void test_abbreviations(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "--trans=tcp", "--sched",
			       "serial", "--max-t=5s", "--str"), 0);
	assert_string_equal(s.spec.transport, "tcp");
	assert_int_equal(s.spec.schedule, SCHEDULE_SERIAL);
	assert_true(s.spec.strict);
	options_release(&s);
	/* one that is whole wins, though --ssh-path begins so */
	assert_int_equal(PARSE(&s, &probe, &e, "--ssh=n[1-3]"), 0);
	assert_string_equal(s.spec.ssh, "n[1-3]");
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "--nodes=3", "--slow=5",
			       "--loc", "0", "1"), 0);
	assert_int_equal(s.spec.nodes, 3);
	assert_true(s.spec.local);
	assert_int_equal(s.n_args, 2);
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "--node=3"), -1);
	assert_string_equal(e.text, "'--node' may be --nodes, --nodelist");
	assert_true(e.hint[0]);
	assert_int_equal(PARSE(&s, &probe, &e, "--hel"), OPTIONS_HELP);
	assert_int_equal(PARSE(&s, &probe, &e, "--help=all"),
			 OPTIONS_HELP_ALL);
	/* the value of an option is none */
	assert_int_equal(PARSE(&s, &probe, &e, "-o", "--trans", "-qo",
			       "--node"), 0);
	assert_string_equal(s.spec.out, "--node");
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "--out", "--local"), 0);
	assert_string_equal(s.spec.out, "--local");
	assert_false(s.spec.local);
	options_release(&s);
	/* neither is what comes behind "--" */
	assert_int_equal(PARSE(&s, &probe, &e, "-q", "--", "--node=3"), 0);
	options_release(&s);
}

/** So are earlier names: what was unique among them is what it was. */
static void test_earlier_names(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(PARSE(&s, &probe, &e, "--max-time=5s", "--time=4s",
			       "--gent=1G", "--lanes", "3", "--faults=x"), 0);
	assert_int_equal(s.spec.max_time_ns, 5 * NS_PER_S);
	assert_int_equal(s.spec.timeout_ns, 4 * NS_PER_S);
	assert_int_equal(s.spec.gentle_B, INT64_C(1) << 30);
	assert_int_equal(s.spec.max_jobs, 3);
	assert_string_equal(s.spec.faults, "x");
	assert_true(options_typed(&s, "inject"));
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "--time-l=5s", "--max-j=3",
			       "--rate=1G"), 0);
	assert_int_equal(s.spec.max_time_ns, 5 * NS_PER_S);
	options_release(&s);
	assert_int_equal(PARSE(&s, &probe, &e, "--time-=5s"), -1);
	assert_string_equal(e.text, "'--time-' may be --time-limit, "
				    "--time-budget");
	assert_int_equal(PARSE(&s, &probe, &e, "--gentel=1G"), -1);
	assert_string_equal(e.hint, "did you mean '--rate-limit'?");
	options_release(&s);
}

/** A flag can be taken back where something else has set it. */
static void test_flags_with_values(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	setenv("GPUCHECK_STRICT", "1", 1);
	setenv("GPUCHECK_VERBOSE", "2", 1);
	assert_int_equal(PARSE(&s, &probe, &e, "--strict=0", "-v"), 0);
	assert_false(s.spec.strict);
	assert_int_equal(s.spec.verbose, 1);
	assert_int_equal(PARSE(&s, &probe, &e, "--verbose=0"), 0);
	assert_int_equal(s.spec.verbose, 0);
	unsetenv("GPUCHECK_STRICT");
	unsetenv("GPUCHECK_VERBOSE");
	assert_int_equal(PARSE(&s, &probe, &e, "--strict=1"), 0);
	assert_true(s.spec.strict);
	assert_int_equal(PARSE(&s, &probe, &e, "--strict=2"), -1);
	assert_int_equal(PARSE(&s, &probe, &e, "--strict="), -1);
	assert_int_equal(PARSE(&s, &probe, &e, "--quiet", "--verb",
			       "--verbose"), 0);
	assert_int_equal(s.spec.verbose, 2);
	assert_true(s.spec.quiet);
}

/** "--help=all" of @cmd on one line, without indents. */
static void flat_help(const struct command *cmd, char *flat, size_t size)
{
	FILE *f = fmemopen(flat, size, "w");
	char *to = flat;

	assert_non_null(f);
	help_command(cmd, true, f);
	assert_int_equal(fclose(f), 0);
	for (char *c = flat; *c; c++) {
		bool blank = *c == ' ' || *c == '\n';

		if (!blank || (to > flat && to[-1] != ' ')) {
			*to++ = blank ? ' ' : *c;
		}
	}
	*to = '\0';
}

/** Defaults that are not those of spec_init() are found elsewhere. */
static void test_help_has_the_defaults(void **state)
{
	const struct xport_ops *tcp = xport_find("tcp"),
			       *verbs = xport_find("verbs");
	char help[2][16384], want[5][128], a[32], b[32];
	const struct xport_ops *gpu[] = { xport_find("nccl"),
					  xport_find("cuda") };
	struct spec s;

	(void)state;
	spec_init(&s);
	flat_help(&cmd_p2p, help[0], sizeof(help[0]));
	flat_help(&cmd_ib, help[1], sizeof(help[1]));
	for (int i = 0; i < 2; i++) {
		snprintf(want[0], sizeof(want[0]),
			 "Smallest size. Default: %s with tcp, %s with nccl "
			 "and cuda ",
			 units_size_arg(tcp->default_size_bytes, a, sizeof(a)),
			 units_size_arg(gpu[i]->default_size_bytes, b,
					sizeof(b)));
		assert_non_null(strstr(help[0], want[0]));
		snprintf(want[1], sizeof(want[1]),
			 "Timeout of one test. Default: %s with tcp; %s with "
			 "nccl and cuda ",
			 units_duration_arg(tcp->default_timeout_ns, a,
					    sizeof(a)),
			 units_duration_arg(gpu[i]->default_timeout_ns, b,
					    sizeof(b)));
		assert_non_null(strstr(help[0], want[1]));
		snprintf(want[2], sizeof(want[2]),
			 "agents after the first one. Default: %s ",
			 units_duration_arg(spec_boot_ns(&s), a, sizeof(a)));
		snprintf(want[3], sizeof(want[3]), "--agent-timeout; %s with "
			 "Slurm ", units_duration_arg(
				spec_boot_first_ns(&s, true), a, sizeof(a)));
		snprintf(want[4], sizeof(want[4]), "not a warning. Default: "
			 "%d ", RUN_SLOW_PERCENT);
		for (int k = 2; k < 5; k++) {
			assert_non_null(strstr(help[i], want[k]));
		}
	}
	snprintf(want[0], sizeof(want[0]), "Smallest size. Default: %s ",
		 units_size_arg(verbs->default_size_bytes, a, sizeof(a)));
	assert_non_null(strstr(help[1], want[0]));
	snprintf(want[1], sizeof(want[1]), "Timeout of one test. Default: %s ",
		 units_duration_arg(verbs->default_timeout_ns, a, sizeof(a)));
	assert_non_null(strstr(help[1], want[1]));
	/* one of spec_init() */
	assert_non_null(strstr(help[1], "Retries of a packet before the pair "
					"fails. Default: 7 "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abbreviations),
		cmocka_unit_test(test_earlier_names),
		cmocka_unit_test(test_flags_with_values),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_local_and_ranks),
		cmocka_unit_test(test_extra),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_help_has_the_defaults),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_defaults_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
