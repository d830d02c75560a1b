/* SPDX-License-Identifier: BSD-3-Clause */
/* What a coordinator may ask of an agent. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/engine/agent/agent.h"

static struct err e;

/* NAME=VALUE of the connection, beside options --nccl-lib and --env. */
static int check(const char *name, const char *value, const char *libs,
		 const char *typed_env)
{
	struct spec own;
	json_t *env = json_pack("{s:s}", name, value);
	int rc;

	spec_init(&own);
	STR_COPY(own.nccl_libs, libs);
	STR_COPY(own.env, typed_env);
	e = (struct err){ 0 };
	rc = guard_env(env, &own, &e);
	json_decref(env);
	return rc;
}

static void settings_are_taken(void **state)
{
	static const char *const names[] = {
		"NCCL_ALGO", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL",
		"NCCL_P2P_DIRECT_DISABLE", "UCX_TLS", "CUDA_VISIBLE_DEVICES",
		"NCCL_NET", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME",
		"NCCL_IB_ROCE_VERSION_NUM", "UCX_NET_DEVICES",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(check(names[i], "1", "", ""), 0);
	}
	assert_int_equal(guard_env(NULL, NULL, NULL), 0);
}

/* Each loads, runs, reads, writes or opens something, or is nothing that a run
 * compares. */
static void what_is_no_setting_is_refused(void **state)
{
	static const char *const names[] = {
		"GPUCHECK_NCCL_LIB", "GPUCHECK_PMI2_LIB", "GPUCHECK_OUT",
		"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "PATH", "HOME",
		"IFS", "BASH_ENV", "GCONV_PATH", "MALLOC_CONF", "TMPDIR",
		"CUDA_INJECTION64_PATH", "CUDA_HOME", "CUDA_CACHE_PATH",
		"CUDA_VISIBLE_DEVICES_LIB", "RDMAV_DRIVERS", "PYTHONPATH",
		"FI_PROVIDER_PATH", "OFI_NCCL_PROTOCOL", "MSCCL_XML_FILES",
		"MSCCLPP_NCCL_LIB_PATH", "SHARP_COLL_LOG_LEVEL", "", "NCCL",
		"NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN",
		"NCCL_ENV_PLUGIN", "NCCL_GIN_PLUGIN", "NCCL_RMA_PLUGIN",
		"NCCL_IBVERBS_LIB", "NCCL_LIBIBVERBS_SO", "NCCL_CUDA_PATH",
		"NCCL_CONF_FILE", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE",
		"NCCL_GRAPH_FILE", "NCCL_GRAPH_DUMP_FILE", "NCCL_DEBUG_FILE",
		"NCCL_TUNER_CONFIG_FILE", "NCCL_PROFILE_DUMP_FILE",
		"NCCL_PROXY_PROFILE", "NCCL_INSPECTOR_DUMP_DIR",
		"NCCL_INSPECTOR_PROM_DUMP", "NCCL_RAS_ADDR", "nccl_net_plugin",
		"nccl_algo", "NCCL_ALGO=1", "NCCL_ALGO ", "NCCL_\xc3\xa9",
		"UCX_MODULES", "UCX_MODULE_DIR", "UCX_PLUGIN_PATH",
		"UCX_LOG_FILE", "UCX_STATS_DEST", "UCX_MEMTRACK_DEST",
		"UCX_GDB_COMMAND", "UCX_ERROR_MAIL_TO", "UCX_VFS_SOCK_PATH",
		"UCX_CONFIG_DIR", "UCX_POSIX_DIR", "UCX_PROFILE_FILE",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsetenv(names[i]);
		if (check(names[i], "1", "", "") == 0) {
			fail_msg("%s was taken", names[i]);
		}
		assert_non_null(strstr(e.text, names[i]));
		assert_non_null(strstr(e.hint, names[i]));
		assert_int_equal(e.code, EPERM);
	}
}

static void no_value_is_a_path(void **state)
{
	char text[2 * SPEC_LIST_MAX];
	json_t *env = json_pack("{s:i}", "NCCL_ALGO", 1);

	(void)state;
	assert_int_equal(check("NCCL_NET", "../../tmp/evil", "", ""), -1);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(check("NCCL_ALGO", text, "", ""), -1);
	assert_int_equal(guard_env(env, NULL, &e), -1);
	json_decref(env);
}

static void variables_are_few(void **state)
{
	json_t *env = json_object();
	char name[32];

	(void)state;
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "NCCL_%d", i);
		json_object_set_new(env, name, json_string("1"));
	}
	assert_int_equal(guard_env(env, NULL, &e), 0);
	json_object_set_new(env, "NCCL_X", json_string("1"));
	assert_int_equal(guard_env(env, NULL, &e), -1);
	json_decref(env);
}

static void only_the_own_place_is_written(void **state)
{
	json_t *options = json_pack("{s:s}", "record", "/tmp/other");
	struct spec own;

	(void)state;
	spec_init(&own);
	assert_int_equal(guard_options(options, &own, &e), -1);
	assert_non_null(strstr(e.text, "refused to write below '/tmp/other'"));
	STR_COPY(own.record, "/tmp/other");
	assert_int_equal(guard_options(options, &own, &e), 0);
	json_decref(options);
}

static void only_the_own_place_is_read(void **state)
{
	json_t *options = json_pack("{s:s}", "sysroot", "/tmp/other");
	struct spec own;

	(void)state;
	spec_init(&own);
	assert_int_equal(guard_options(NULL, &own, &e), 0);
	assert_int_equal(guard_options(options, &own, &e), -1);
	assert_non_null(strstr(e.text, "/tmp/other"));
	STR_COPY(own.sysroot, "/tmp/other");
	assert_int_equal(guard_options(options, &own, &e), 0);
	json_decref(options);
}

static void what_the_command_line_has_is_taken(void **state)
{
	(void)state;
	assert_int_equal(check("GPUCHECK_NCCL_LIB", "/b/libnccl.so.2",
			       "/b/libnccl.so.2", ""), 0);
	assert_int_equal(check("GPUCHECK_NCCL_LIB", "/tmp/evil.so",
			       "/b/libnccl.so.2", ""), -1);
	assert_int_equal(check("NCCL_NET_PLUGIN", "aws", "",
			       "NCCL_NET_PLUGIN=none,aws"), 0);
	assert_int_equal(check("NCCL_NET_PLUGIN", "evil", "",
			       "NCCL_NET_PLUGIN=none,aws"), -1);
}

static void what_the_own_environment_has_is_taken(void **state)
{
	(void)state;
	setenv("NCCL_NET_PLUGIN", "aws", 1);
	assert_int_equal(check("NCCL_NET_PLUGIN", "aws", "", ""), 0);
	assert_int_equal(check("NCCL_NET_PLUGIN", "evil", "", ""), -1);
	unsetenv("NCCL_NET_PLUGIN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_taken),
		cmocka_unit_test(what_is_no_setting_is_refused),
		cmocka_unit_test(no_value_is_a_path),
		cmocka_unit_test(variables_are_few),
		cmocka_unit_test(only_the_own_place_is_read),
		cmocka_unit_test(only_the_own_place_is_written),
		cmocka_unit_test(what_the_command_line_has_is_taken),
		cmocka_unit_test(what_the_own_environment_has_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
