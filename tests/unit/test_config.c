/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/front/options.h"

static const struct command p2p = { .name = "p2p", .takes = SPEC_CMD_P2P };
static const struct command ib = { .name = "ib", .takes = SPEC_CMD_IB };
static const struct command report = { .name = "report",
				       .takes = SPEC_CMD_REPORT };
static const struct command agent = { .name = "agent", .hidden = true,
				      .max_args = 1,
				      .takes = SPEC_CMD_INNER };
static const struct command *const commands[] = { &p2p, &ib, &report, &agent,
						  NULL };

/* ---- a text -------------------------------------------------------------- */

/** Its values in @files[0]; as config_parse(). */
static int parse(const char *text, struct config files[CONFIG_FILES],
		 struct err *e)
{
	memset(files, 0, CONFIG_FILES * sizeof(*files));
	snprintf(files[0].path, PATH_MAX, "f.conf");
	*e = (struct err){ 0 };
	return config_parse(text, strlen(text), commands, &files[0], e);
}

static void test_values(void **state)
{
	struct config files[CONFIG_FILES];
	const struct config_value *v;
	struct err e;

	(void)state;
	assert_int_equal(parse("# ours\n"
			       "\n"
			       "max-time = 10m  ; a limit\r\n"
			       "nccl-lib=/a\n"
			       "\tnccl-lib=/b\n"
			       "[p2p]\n"
			       "  max-time=5m\n"
			       "[ib]\n"
			       "transport=verbs", files, &e), 0);
	assert_int_equal(files[0].n, 5);
	v = files[0].list;
	assert_string_equal(v[0].name, "time-limit");
	assert_string_equal(v[0].text, "10m");
	assert_int_equal(v[0].line, 3);
	assert_null(v[0].of);
	assert_string_equal(v[2].text, "/b");
	assert_ptr_equal(v[3].of, &p2p);
	assert_string_equal(v[4].text, "verbs");
	assert_int_equal(v[4].line, 9);
	config_release(files);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says, *hint;
	} bad[] = {
		{ "\nnods=2\n", "f.conf:2: there is no option 'nods'",
		  "did you mean 'nodes'?" },
		{ "--max-tim=2\n", "f.conf:1: there is no option 'max-tim'",
		  "did you mean 'time-limit'?" },
		{ "time-limit=1s\nmax-time=2s\n",
		  "f.conf:2: 'time-limit' is already set in line 1",
		  "remove one of the two" },
		{ "[p2p]\nop=send\n", "f.conf:2: 'p2p' has no option 'op'",
		  "gpucheck p2p --help=all" },
		{ "[p3p]\nnodes=2\n", "f.conf:2: [p3p] is not a command",
		  "did you mean [p2p]?" },
		/* what agents are told comes from their run */
		{ "[agent]\nnodes=2\n", "[agent] is not a command", "[p2p]" },
		{ "nodes=2\nnodes=3\n",
		  "f.conf:2: 'nodes' is already set in line 1",
		  "remove one" },
		{ "nodes\n", "f.conf:1: neither NAME=VALUE nor [COMMAND]",
		  "time-limit=10m" },
		{ "nodes=2\n[p2p\n", "f.conf:2: neither", "" },
		{ "max-time=soon\n", "f.conf:1: --time-limit: ", "" },
		{ "strict=yes\n", "--strict: 'yes' is neither 0 nor 1", "" },
		{ "[p2p]\ntransport=verbs\n", "--transport", "" },
		{ "exclude=a # old\n", "has a ' #'", "its own line" },
		{ "local=2x2\n", "'local' is allowed only on the command line",
		  "" },
		{ "out=/tmp/x\n", "'out' is allowed only on the command line",
		  "" },
		{ "json=1\n", "'json' is allowed only on the command line",
		  "" },
		{ "resume=/tmp/x\n", "is allowed only on the command line",
		  "" },
		{ "faults=/tmp/x\n", "is allowed only on the command line",
		  "" },
		{ "nodes=2\001\n", "f.conf:1: a control character", "" },
	};
	struct config files[CONFIG_FILES];
	char line[CONFIG_MAX_LINE + 32];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(parse(bad[i].text, files, &e), -1);
		if (!strstr(e.text, bad[i].says) ||
		    !strstr(e.hint, bad[i].hint)) {
			fail_msg("%s: %s (%s)", bad[i].text, e.text, e.hint);
		}
		config_release(files);
	}
	memset(line, 'a', sizeof(line));
	memcpy(line, "nodes=2\nskip=", 13);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(parse(line, files, &e), -1);
	assert_string_equal(e.text, "f.conf:2: it is longer than 190 bytes");
	config_release(files);
}

/** An option that names a run, as those of DIR do, is in no file; a history is
 *  of many runs, and a run that was accepted stands for the site. */
static void test_runs_are_typed(void **state)
{
	(void)state;
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (o->argh && strcmp(o->argh, "DIR") == 0 && !o->once &&
		    strcmp(o->name, "history") != 0 &&
		    strcmp(o->name, "reference") != 0) {
			fail_msg("--%s in a file?", o->name);
		}
	}
}

static void test_only_so_many(void **state)
{
	static char text[16 * (CONFIG_MAX + 1) + 1];
	struct config files[CONFIG_FILES];
	struct err e;
	size_t n = 0;

	(void)state;
	for (int i = 0; i <= CONFIG_MAX; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "nccl-lib=/%d\n", i);
	}
	assert_int_equal(parse(text, files, &e), -1);
	assert_string_equal(e.text, "f.conf:513: more than 512 values");
	config_release(files);
}

/* ---- whose a file is ----------------------------------------------------- */

static int check(unsigned mode, unsigned owner, unsigned me, off_t size)
{
	const struct stat st = { .st_mode = mode, .st_uid = owner,
				 .st_size = size };
	struct err e = { 0 };
	int rc = config_check_file("/etc/x", &st, me, &e);

	assert_int_equal(rc < 0, e.text[0] != '\0');
	return rc;
}

static void test_owner(void **state)
{
	(void)state;
	/* a user: root's or their own, and not for all to write */
	assert_int_equal(check(S_IFREG | 0644, 0, 1000, 10), 0);
	assert_int_equal(check(S_IFREG | 0644, 1000, 1000, 10), 0);
	assert_int_equal(check(S_IFREG | 0664, 1000, 1000, 10), 0);
	assert_int_equal(check(S_IFREG | 0644, 1001, 1000, 10), -1);
	assert_int_equal(check(S_IFREG | 0666, 1000, 1000, 10), -1);
	assert_int_equal(check(S_IFREG | 0646, 0, 1000, 10), -1);
	/* root: root's own, and for no group either */
	assert_int_equal(check(S_IFREG | 0644, 0, 0, 10), 0);
	assert_int_equal(check(S_IFREG | 0600, 0, 0, 10), 0);
	assert_int_equal(check(S_IFREG | 0664, 0, 0, 10), -1);
	assert_int_equal(check(S_IFREG | 0644, 1000, 0, 10), -1);
	/* a file, and of a size that is one of options */
	assert_int_equal(check(S_IFIFO | 0644, 0, 0, 10), -1);
	assert_int_equal(check(S_IFDIR | 0755, 0, 0, 10), -1);
	assert_int_equal(check(S_IFREG | 0644, 0, 0, CONFIG_MAX_BYTES), 0);
	assert_int_equal(check(S_IFREG | 0644, 0, 0, CONFIG_MAX_BYTES + 1),
			 -1);
}

static void test_places(void **state)
{
	struct config files[CONFIG_FILES];

	(void)state;
	unsetenv("XDG_CONFIG_HOME");
	unsetenv(CONFIG_ENV);
	setenv("HOME", "/home/a", 1);
	config_find(files);
	assert_string_equal(files[0].path, "/etc/gpucheck.conf");
	assert_string_equal(files[1].path, "/home/a/.config/gpucheck.conf");
	assert_false(files[0].must || files[1].must);
	setenv("XDG_CONFIG_HOME", "/x", 1);
	config_find(files);
	assert_string_equal(files[1].path, "/x/gpucheck.conf");
	setenv("XDG_CONFIG_HOME", "relative", 1);
	config_find(files);
	assert_string_equal(files[1].path, "/home/a/.config/gpucheck.conf");
	setenv(CONFIG_ENV, "mine", 1);
	config_find(files);
	assert_string_equal(files[0].path, "");
	assert_string_equal(files[1].path, "mine");
	assert_true(files[1].must);
	setenv(CONFIG_ENV, "none", 1);
	config_find(files);
	assert_string_equal(files[0].path, "");
	assert_string_equal(files[1].path, "");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	unsetenv(CONFIG_ENV);
	config_find(files);
	assert_string_equal(files[1].path, "");
	setenv(CONFIG_ENV, "none", 1);
}

/* ---- who has the last word ----------------------------------------------- */

/** Parse "gpucheck NAME words..." with a file of @text. */
static int with_file(const char *text, struct session *s,
		     const struct command *cmd, struct err *e,
		     const char *const words[])
{
	static char *argv[16];
	char path[] = "/tmp/test_config.XXXXXX";
	int argc = 2, rc, fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	argv[0] = (char *)"gpucheck";
	argv[1] = (char *)cmd->name;
	while (words[argc - 2]) {
		argv[argc] = (char *)words[argc - 2];
		argc++;
	}
	argv[argc] = NULL;
	*s = (struct session){ .argc = argc, .argv = argv,
			       .commands = commands };
	*e = (struct err){ 0 };
	setenv(CONFIG_ENV, path, 1);
	rc = options_parse(s, cmd, e);
	setenv(CONFIG_ENV, "none", 1);
	unlink(path);
	options_release(s);
	return rc;
}

#define WITH(text, s, cmd, e, ...) \
	with_file(text, s, cmd, e, (const char *const[]){ __VA_ARGS__, NULL })

static void test_precedence(void **state)
{
	static const char text[] = "nodes=4\nstrict=1\nverbose=1\n"
				   "nccl-lib=/a\nschedule=serial\n"
				   "[p2p]\nnodes=6\n";
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(WITH(text, &s, &ib, &e, "-q"), 0);
	assert_int_equal(s.spec.nodes, 4);
	assert_true(s.spec.strict);
	assert_int_equal(WITH(text, &s, &p2p, &e, "-q"), 0);
	assert_int_equal(s.spec.nodes, 6);
	assert_string_equal(s.spec.nccl_libs, "/a");
	setenv("GPUCHECK_NODES", "8", 1);
	setenv("GPUCHECK_STRICT", "0", 1);
	assert_int_equal(WITH(text, &s, &p2p, &e, "-q"), 0);
	assert_int_equal(s.spec.nodes, 8);
	assert_false(s.spec.strict);
	assert_int_equal(WITH(text, &s, &p2p, &e, "-N9", "--strict", "-v",
			      "--nccl-lib=/b"), 0);
	assert_int_equal(s.spec.nodes, 9);
	assert_true(s.spec.strict);
	/* the line does not add to the file */
	assert_int_equal(s.spec.verbose, 1);
	assert_string_equal(s.spec.nccl_libs, "/b");
	unsetenv("GPUCHECK_NODES");
	unsetenv("GPUCHECK_STRICT");
	assert_int_equal(WITH(text, &s, &p2p, &e, "--strict=0"), 0);
	assert_false(s.spec.strict);
	/* what does not go together with what is typed gives way */
	assert_int_equal(WITH(text, &s, &p2p, &e, "--local=2x2"), 0);
	assert_int_equal(s.spec.nodes, 0);
	assert_int_equal(spec_check(&s.spec, &e), 0);
	/* and the file's gives way to the environment's */
	setenv("GPUCHECK_SSH", "a,b", 1);
	assert_int_equal(WITH(text, &s, &p2p, &e, "-q"), 0);
	assert_string_equal(s.spec.ssh, "a,b");
	assert_int_equal(s.spec.nodes, 0);
	unsetenv("GPUCHECK_SSH");
}

/** What is for all is for nobody whom it does not fit, and changes no run that
 *  was before. */
static void test_who_it_is_for(void **state)
{
	struct session s;
	struct err e;

	(void)state;
	assert_int_equal(WITH("transport=verbs\nslow=5\nquiet=1\n", &s, &p2p,
			      &e, "-N2"), 0);
	assert_string_equal(s.spec.transport, "auto");
	assert_int_equal(s.spec.slow_percent, 5);
	assert_int_equal(WITH("slow=5\nquiet=1\n", &s, &report, &e, "--csv"),
			 0);
	assert_int_equal(s.spec.slow_percent, 0);
	assert_true(s.spec.quiet);
	assert_int_equal(WITH("[report]\nslow=5\n", &s, &report, &e, "--csv"),
			 0);
	assert_int_equal(s.spec.slow_percent, 5);
	/* an agent is told what it does by its run */
	assert_int_equal(WITH("nonsense\n", &s, &agent, &e, "DIR"), 0);
	options_release(&s);
	/* help is there, whatever is wrong */
	assert_int_equal(WITH("nonsense\n", &s, &p2p, &e, "-N2"), -1);
	assert_int_equal(WITH("nonsense\n", &s, &p2p, &e, "-h"),
			 OPTIONS_HELP);
}

/** run.json has what a file would make otherwise. */
static void test_run_says_all(void **state)
{
	struct session s;
	struct err e;
	json_t *json;

	(void)state;
	assert_int_equal(WITH("strict=1\nschedule=serial\niters=3\n", &s, &p2p,
			      &e, "--strict=0", "--schedule=nic"), 0);
	json = options_json(&s, &s.spec);
	assert_true(json_is_false(json_object_get(json, "strict")));
	assert_string_equal(json_string_value(json_object_get(json,
							      "schedule")),
			    "nic");
	assert_int_equal(json_integer_value(json_object_get(json, "iters")),
			 3);
	assert_int_equal(json_object_size(json), 3);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_runs_are_typed),
		cmocka_unit_test(test_only_so_many),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_who_it_is_for),
		cmocka_unit_test(test_run_says_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
