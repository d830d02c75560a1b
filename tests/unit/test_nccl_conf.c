/* SPDX-License-Identifier: BSD-3-Clause */
/* Which settings are in force, and who set them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/host/nccl_conf.h"
#include "tests/unit/tree.h"

#define NEWEST 0

static char root[] = "/tmp/gpucheck-nccl-XXXXXX";

static const struct {
	const char *path, *text;
} files[] = {
	{ "/home/me/.nccl.conf", "NCCL_A=own\nNCCL_A=again\nNCCL_E=own\n"
				 "NCCL_EMPTY=\nNCCL_C=own\n" },
	{ "/opt/named.conf", "NCCL_A=named\r\nNCCL_CONF_FILE=/x\n"
			     "UCX_TLS=rc\n # NCCL_B=1\n#NCCL_B=2\n"
			     " NCCL_B=3\nNCCL_B\n" },
	{ "/etc/nccl.conf", "NCCL_C=site\nNCCL_D= \"two words\" \n"
			    "NCCL_EMPTY=full\nNCCL_LAST=no end of line" },
};

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		tree_file(root, files[i].path, files[i].text);
	}
	setenv("HOME", "/home/me", 1);
	unsetenv("NCCL_CONF_FILE");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return tree_remove(root);
}

static void is(const json_t *conf, const char *name, const char *value,
	       const char *source)
{
	const char *from = "", *found = nccl_conf_get(conf, name, &from);

	if (value == NULL) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, value);
	assert_string_equal(from, source);
}

static void the_first_that_says_so_counts(void **state)
{
	json_t *conf;

	(void)state;
	setenv("NCCL_E", "", 1);	/* says so, if little */
	conf = nccl_conf_read(root, NEWEST);
	is(conf, "NCCL_A", "own", "/home/me/.nccl.conf");
	is(conf, "NCCL_C", "own", "/home/me/.nccl.conf");
	is(conf, "NCCL_D", " \"two words\" ", "/etc/nccl.conf");
	is(conf, "NCCL_E", "", "environment");
	is(conf, "NCCL_EMPTY", "", "/home/me/.nccl.conf");
	is(conf, "NCCL_LAST", "no end of line", "/etc/nccl.conf");
	assert_true(nccl_conf_of_file(conf, "NCCL_A"));
	assert_false(nccl_conf_of_file(conf, "NCCL_E"));
	assert_false(nccl_conf_of_file(conf, "NCCL_NONE"));
	assert_false(nccl_conf_of_file(NULL, "NCCL_A"));
	json_decref(conf);
	unsetenv("NCCL_E");
}

static void a_named_file_is_in_the_place_of_that_at_home(void **state)
{
	json_t *conf;

	(void)state;
	setenv("NCCL_CONF_FILE", "/opt/named.conf", 1);
	conf = nccl_conf_read(root, NEWEST);
	is(conf, "NCCL_A", "named", "/opt/named.conf");
	is(conf, "NCCL_B", NULL, "");
	is(conf, "NCCL_C", "site", "/etc/nccl.conf");
	is(conf, "NCCL_CONF_FILE", "/opt/named.conf", "environment");
	is(conf, "UCX_TLS", NULL, "");
	json_decref(conf);
	/* it keeps the CR */
	conf = nccl_conf_read(root, 22809);
	is(conf, "NCCL_A", "named\r", "/opt/named.conf");
	json_decref(conf);
	/* it does not know the variable, and asks passwd for ~ */
	conf = nccl_conf_read(root, 22203);
	is(conf, "NCCL_A", NULL, "");
	is(conf, "NCCL_C", "site", "/etc/nccl.conf");
	json_decref(conf);
	/* one that does not exist is not replaced by the one at home */
	setenv("NCCL_CONF_FILE", "/nonexistent", 1);
	conf = nccl_conf_read(root, NEWEST);
	is(conf, "NCCL_A", NULL, "");
	json_decref(conf);
	/* nor is it one that is not set */
	setenv("NCCL_CONF_FILE", "", 1);
	conf = nccl_conf_read(root, NEWEST);
	is(conf, "NCCL_A", "own", "/home/me/.nccl.conf");
	json_decref(conf);
	unsetenv("NCCL_CONF_FILE");
}

static void nobody_waits_for_a_file(void **state)
{
	char path[64];
	json_t *conf;

	(void)state;
	snprintf(path, sizeof(path), "%s/opt/fifo", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	setenv("NCCL_CONF_FILE", "/opt/fifo", 1);
	conf = nccl_conf_read(root, NEWEST);
	is(conf, "NCCL_C", "site", "/etc/nccl.conf");
	json_decref(conf);
	unsetenv("NCCL_CONF_FILE");
}

static const struct {
	const char *text;
	int64_t value;		/* -1: none */
} numbers[] = {
	{ "106", 106 }, { "0x6a", 106 }, { "0152", 106 }, { "106 ", 106 },
	{ "106 # EF", 106 }, { "-1", -1 }, { "256", -1 }, { "", -1 },
	{ "EF", 0 },	/* NCCL as well takes 0 for it */
	{ "99999999999999999999", -1 },
};

static void numbers_as_nccl_reads_them(void **state)
{
	const char *source;
	int64_t value;
	json_t *conf;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		bool found;

		setenv("NCCL_IB_TC", numbers[i].text, 1);
		conf = nccl_conf_read(root, NEWEST);
		found = nccl_conf_int(conf, "NCCL_IB_TC", 0, 255, &value,
				      &source);
		assert_int_equal(found, numbers[i].value >= 0);
		if (found) {
			assert_int_equal(value, numbers[i].value);
			assert_string_equal(source, "environment");
		}
		json_decref(conf);
	}
	unsetenv("NCCL_IB_TC");
	assert_false(nccl_conf_int(NULL, "NCCL_IB_TC", 0, 255, &value,
				   &source));
}

static void what_files_have_comes_to_the_environment(void **state)
{
	json_t *conf;

	(void)state;
	setenv("NCCL_A", "mine", 1);
	conf = nccl_conf_read(root, NEWEST);
	nccl_conf_apply(conf);
	nccl_conf_apply(NULL);
	assert_string_equal(getenv("NCCL_A"), "mine");
	assert_string_equal(getenv("NCCL_D"), " \"two words\" ");
	assert_null(getenv("NCCL_CONF_FILE"));
	json_decref(conf);
	unsetenv("NCCL_A");
}

static void there_is_a_limit(void **state)
{
	char *text = calloc(600, 16), *at = text;
	json_t *conf;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < 600; i++) {
		at += snprintf(at, 16, "NCCL_%d=1\n", i);
	}
	tree_file(root, "/opt/many", text);
	setenv("NCCL_CONF_FILE", "/opt/many", 1);
	conf = nccl_conf_read(root, NEWEST);
	assert_int_equal(json_object_size(conf), 512);
	json_decref(conf);
	unsetenv("NCCL_CONF_FILE");
	free(text);
}

static void long_ones_are_cut_where_nccl_cuts_them(void **state)
{
	char name[NCCL_CONF_NAME], value[NCCL_CONF_VALUE], text[2200];
	const char *at;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "NCCL_LONG=", 10);
	memcpy(text + 2100, "\nNCCL_B=1", 10);
	at = nccl_conf_next(text, NEWEST, name, value);
	assert_string_equal(name, "NCCL_LONG");
	assert_int_equal(strlen(value), 1023);
	at = nccl_conf_next(at, NEWEST, name, value);
	assert_string_equal(name, "NCCL_B");
	assert_string_equal(value, "1");
	assert_null(nccl_conf_next(at, NEWEST, name, value));
	assert_non_null(nccl_conf_next("NCCL_X=\r", NEWEST, name, value));
	assert_string_equal(value, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_says_so_counts),
		cmocka_unit_test(a_named_file_is_in_the_place_of_that_at_home),
		cmocka_unit_test(nobody_waits_for_a_file),
		cmocka_unit_test(numbers_as_nccl_reads_them),
		cmocka_unit_test(what_files_have_comes_to_the_environment),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(long_ones_are_cut_where_nccl_cuts_them),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
