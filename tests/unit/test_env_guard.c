/* SPDX-License-Identifier: BSD-3-Clause */
/* What a coordinator may ask of its workers' environment. */
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
	rc = env_guard_check(env, &own, &e);
	json_decref(env);
	return rc;
}

static void settings_are_taken(void **state)
{
	static const char *const names[] = {
		"NCCL_ALGO", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL",
		"NCCL_P2P_DIRECT_DISABLE", "UCX_TLS", "CUDA_VISIBLE_DEVICES",
		"NCCL_NET",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(check(names[i], "1", "", ""), 0);
	}
	assert_int_equal(env_guard_check(NULL, NULL, NULL), 0);
}

static void files_are_refused(void **state)
{
	static const char *const names[] = {
		"GPUCHECK_NCCL_LIB", "GPUCHECK_PMI2_LIB", "NCCL_NET_PLUGIN",
		"NCCL_TUNER_PLUGIN", "LD_PRELOAD", "LD_AUDIT",
		"LD_LIBRARY_PATH", "CUDA_INJECTION64_PATH", "RDMAV_DRIVERS",
		"UCX_MODULE_DIR", "PYTHONPATH", "nccl_net_plugin",
		"NCCL_DEBUG_FILE", "NCCL_TOPO_DUMP_FILE", "CUDA_HOME", "PATH",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsetenv(names[i]);
		assert_int_equal(check(names[i], "/tmp/evil.so", "", ""), -1);
		assert_non_null(strstr(e.text, names[i]));
		assert_non_null(strstr(e.hint, names[i]));
	}
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
		cmocka_unit_test(files_are_refused),
		cmocka_unit_test(what_the_command_line_has_is_taken),
		cmocka_unit_test(what_the_own_environment_has_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
