/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NCCL transport does without a GPU: words, settings, its log. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/data/rundir.h"
#include "probes/dl/nccl.h"
#include "probes/nccl/env.h"
#include "probes/nccl/log.h"

static const struct {
	const char *text, *warning;	/* NULL: none in it */
} logs[] = {
	{ "", NULL },
	{ "n0:1:1 [0] NCCL INFO all is well\n", NULL },
	{ "n0:1:1 [0] NCCL WARN NET/IB : it broke\n", "NET/IB : it broke" },
	{ "a NCCL WARN first\nb NCCL INFO x\nc NCCL WARN last\nrest\n",
	  "last" },
	{ "a NCCL WARN not ended", "not ended" },
	{ "a NCCL WARN \n", "" },
	{ "a NCCL WARN with\ta tab\n", "with?a tab" },
	{ "NCCL WARN", NULL },
	{ "a NCCL WARN no memory\nb NCCL WARN [Service thread] Error, res=3\n"
	  "c NCCL WARN ncclAsyncJobComplete: job failed\n", "no memory" },
	{ "a NCCL WARN socketProgress: Connection closed by remote peer n1\n",
	  "socketProgress: Connection closed by remote peer n1" },
};

static void the_last_warning_is_found(void **state)
{
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		bool found = nccl_log_find_warning(
			logs[i].text, strlen(logs[i].text), buf, sizeof(buf));

		assert_int_equal(found, logs[i].warning != NULL);
		if (found) {
			assert_string_equal(buf, logs[i].warning);
		}
	}
}

/** Text of src/transport/net_ib/p2p_resiliency.cc, NCCL 2.30. */
static void a_replaced_port_is_found(void **state)
{
	static const char marked[] =
		"n0:1:9 [0] NCCL INFO NET/IB: f: The error is not fatal.\n"
		"n0:1:9 [0] NCCL WARN NET/IB: Device 1 marked as failed. "
		"Initiating recovery? No (send comm=0x7f, "
		"outstandingRecovery=0)\nn0:1:9 [0] NCCL INFO more\n";
	static const char not[] =
		"n0:1:9 [0] NCCL INFO NET/IB: f: Device 1 was already marked "
		"as failed.\nn0:1:9 [0] NCCL WARN NET/IB: it broke\n";
	char buf[40];

	(void)state;
	assert_true(nccl_log_find_failover(marked, strlen(marked), buf,
					   sizeof(buf)));
	assert_string_equal(buf, "NET/IB: Device 1 marked as failed. Init");
	assert_false(nccl_log_find_failover(not, strlen(not), buf,
					    sizeof(buf)));
}

/** Write as NCCL does: its own open file, not in append mode. */
static void log_tells_where_a_pair_begins(void **state)
{
	char path[64], buf[64], dir[] = "/tmp/gpucheck-log-XXXXXX";
	char logs_dir[64], saved[80], *text;
	off_t from;
	FILE *nccl;
	int log;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(logs_dir, sizeof(logs_dir), "%s/logs", dir);
	snprintf(saved, sizeof(saved), "%s/x.log", logs_dir);
	assert_int_equal(mkdir(logs_dir, 0700), 0);
	log = nccl_log_open(NULL);
	assert_true(log >= 0);
	nccl = fopen(nccl_log_path(log, path, sizeof(path)), "w");
	assert_non_null(nccl);
	assert_false(nccl_log_last_warning(log, 0, buf, sizeof(buf)));

	fputs("x NCCL WARN of an old pair\n", nccl);
	fflush(nccl);
	assert_true(nccl_log_last_warning(log, 0, buf, sizeof(buf)));
	from = nccl_log_end(log);
	assert_false(nccl_log_last_warning(log, from, buf, sizeof(buf)));

	fputs("x NCCL WARN of this pair\n", nccl);
	fflush(nccl);
	assert_true(nccl_log_last_warning(log, from, buf, sizeof(buf)));
	assert_string_equal(buf, "of this pair");
	assert_int_equal(nccl_log_save(log, from, saved, NULL), 0);
	text = rundir_read_text(logs_dir, "x.log", 100, NULL, NULL);
	assert_non_null(text);
	assert_string_equal(text, "x NCCL WARN of this pair\n");
	free(text);
	/* a folder that another put there is not written to */
	assert_int_equal(unlink(saved), 0);
	assert_int_equal(rmdir(logs_dir), 0);
	assert_int_equal(symlink("/tmp", logs_dir), 0);
	assert_int_equal(nccl_log_save(log, from, saved, NULL), -1);

	nccl_log_forget(log);
	assert_false(nccl_log_last_warning(log, 0, buf, sizeof(buf)));
	fputs("x NCCL WARN of the next\n", nccl);
	fflush(nccl);
	assert_true(nccl_log_last_warning(log, 0, buf, sizeof(buf)));
	assert_string_equal(buf, "of the next");

	fclose(nccl);
	close(log);
	unlink(logs_dir);
	rmdir(dir);
}

static void user_settings_are_kept(void **state)
{
	struct nccl_wishes wishes = {
		.debug_file = "/proc/self/fd/9", .ports = "mlx5_0:1,mlx5_3:1",
	};
	json_t *recorded = json_object();

	(void)state;
	setenv("NCCL_IB_TIMEOUT", "22", 1);
	setenv("NCCL_COMM_ID", "10.0.0.1:5000", 1);
	setenv("NCCL_IB_RESILIENCY_PORT_FAILOVER", "1", 1);
	unsetenv("NCCL_PXN_DISABLE");
	unsetenv("NCCL_IB_HCA");
	nccl_env_apply(&wishes, recorded);
	/* a port that fails is to be seen, and that is said */
	assert_string_equal(getenv("NCCL_IB_RESILIENCY_PORT_FAILOVER"), "0");
	assert_string_equal(json_string_value(json_object_get(recorded,
			"NCCL_IB_RESILIENCY_PORT_FAILOVER")), "0");
	assert_string_equal(getenv("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_3:1");
	assert_null(json_object_get(recorded, "NCCL_IB_HCA"));
	/* failed tests are repeated as jobs run */
	wishes.failover = true;
	setenv("NCCL_IB_RESILIENCY_PORT_FAILOVER", "2", 1);
	nccl_env_apply(&wishes, NULL);
	assert_string_equal(getenv("NCCL_IB_RESILIENCY_PORT_FAILOVER"), "2");
	assert_string_equal(getenv("NCCL_IB_TIMEOUT"), "22");
	wishes.failover = false;
	setenv("NCCL_IB_HCA", "mlx5", 1);
	setenv("NCCL_IB_RESILIENCY_PORT_FAILOVER", "1", 1);
	wishes.production_settings = true;
	nccl_env_apply(&wishes, NULL);
	assert_string_equal(getenv("NCCL_IB_HCA"), "mlx5");
	assert_string_equal(getenv("NCCL_IB_RESILIENCY_PORT_FAILOVER"), "1");
	unsetenv("NCCL_IB_HCA");
	assert_string_equal(getenv("NCCL_IB_TIMEOUT"), "22");
	assert_null(json_object_get(recorded, "NCCL_IB_TIMEOUT"));
	assert_string_equal(getenv("NCCL_PXN_DISABLE"), "1");
	assert_string_equal(json_string_value(json_object_get(
				    recorded, "NCCL_PXN_DISABLE")),
			    "1");
	assert_null(getenv("NCCL_COMM_ID"));
	assert_true(json_is_null(json_object_get(recorded, "NCCL_COMM_ID")));
	assert_string_equal(getenv("NCCL_DEBUG_FILE"), "/proc/self/fd/9");
	assert_string_equal(getenv("NCCL_DEBUG"), "INFO");
	assert_null(getenv("NCCL_HOSTID"));
	assert_null(getenv("NCCL_NET"));
	assert_null(getenv("NCCL_P2P_DISABLE"));
	json_decref(recorded);
	unsetenv("NCCL_IB_TIMEOUT");
}

/** {NAME: {value, source}} of one setting in a file. */
static json_t *in_file(json_t *conf, const char *name, const char *value)
{
	json_object_set_new(conf, name,
			    json_pack("{s:s,s:s}", "value", value, "source",
				      "/etc/nccl.conf"));
	return conf;
}

/** Take away what a test before has set. */
static void unset_all(void)
{
	for (const struct nccl_setting *s = nccl_settings; s->name; s++) {
		unsetenv(s->name);
	}
}

static void options_change_settings(void **state)
{
	const struct nccl_wishes wishes = {
		.production_settings = true, .pxn = true, .force_net = true,
	};

	(void)state;
	unset_all();
	nccl_env_apply(&wishes, NULL);
	assert_null(getenv("NCCL_IB_TIMEOUT"));
	assert_null(getenv("NCCL_IB_MQP_RETRY_CNT"));
	assert_null(getenv("NCCL_SOCKET_RETRY_CNT"));
	assert_null(getenv("NCCL_PXN_DISABLE"));
	assert_string_equal(getenv("NCCL_P2P_DISABLE"), "1");
	assert_string_equal(getenv("NCCL_SHM_DISABLE"), "1");
	assert_string_equal(getenv("NCCL_DEBUG"), "WARN");
	assert_null(getenv("NCCL_DEBUG_SUBSYS"));
	unset_all();
}

/* What a file says is what jobs run with, as much as their environment. */
static void files_are_kept(void **state)
{
	json_t *recorded = json_object(), *conf = json_object();
	struct nccl_wishes wishes = { .conf = conf };

	(void)state;
	unset_all();
	in_file(conf, "NCCL_IB_TIMEOUT", "22");
	in_file(conf, "NCCL_PXN_DISABLE", "0");
	in_file(conf, "NCCL_DEBUG", "VERSION");
	in_file(conf, "NCCL_DEBUG_SUBSYS", "ALL");
	nccl_env_apply(&wishes, recorded);
	assert_string_equal(getenv("NCCL_IB_TIMEOUT"), "22");
	assert_string_equal(getenv("NCCL_PXN_DISABLE"), "0");
	assert_string_equal(getenv("NCCL_DEBUG"), "VERSION");
	assert_null(json_object_get(recorded, "NCCL_IB_TIMEOUT"));
	assert_null(json_object_get(recorded, "NCCL_PXN_DISABLE"));
	assert_string_equal(getenv("NCCL_IB_MQP_RETRY_CNT"), "1");
	/* a log of our own is not that of which the file speaks */
	unset_all();
	wishes.debug_file = "/proc/self/fd/9";
	unsetenv("NCCL_DEBUG_FILE");
	in_file(conf, "NCCL_DEBUG_FILE", "/var/log/nccl.%h");
	nccl_env_apply(&wishes, recorded);
	assert_string_equal(getenv("NCCL_DEBUG"), "INFO");
	assert_string_equal(getenv("NCCL_DEBUG_SUBSYS"), "INIT,ENV,NET");
	assert_string_equal(getenv("NCCL_DEBUG_FILE"), "/proc/self/fd/9");
	unset_all();
	json_decref(recorded);
	json_decref(conf);
}

static void pretend_nodes_have_their_own(void **state)
{
	const struct nccl_wishes wishes = { .pretend_node = "n1" };

	(void)state;
	nccl_env_apply(&wishes, NULL);
	assert_string_equal(getenv("NCCL_HOSTID"), "n1");
	assert_string_equal(getenv("NCCL_NET"), "Socket");
	assert_string_equal(getenv("NCCL_SOCKET_IFNAME"), "lo");
}

static void the_interface_that_works_is_used_unless_one_is_set(void **state)
{
	struct nccl_wishes wishes = { .ifname = "eth1" };

	(void)state;
	unsetenv("NCCL_SOCKET_IFNAME");
	assert_true(nccl_env_apply(&wishes, NULL));
	assert_string_equal(getenv("NCCL_SOCKET_IFNAME"), "=eth1");
	/* the user's, or that of a file */
	wishes.ifname = "eth2";
	assert_false(nccl_env_apply(&wishes, NULL));
	assert_string_equal(getenv("NCCL_SOCKET_IFNAME"), "=eth1");
	/* nobody knows of one */
	unsetenv("NCCL_SOCKET_IFNAME");
	wishes.ifname = "";
	assert_false(nccl_env_apply(&wishes, NULL));
	assert_null(getenv("NCCL_SOCKET_IFNAME"));
	/* pretend nodes meet on one machine */
	wishes.ifname = "eth1";
	wishes.pretend_node = "n1";
	assert_false(nccl_env_apply(&wishes, NULL));
	assert_string_equal(getenv("NCCL_SOCKET_IFNAME"), "lo");
}

static void multicast_is_never_our_choice(void **state)
{
	(void)state;
	for (const struct nccl_setting *s = nccl_settings; s->name; s++) {
		assert_string_not_equal(s->name, "NCCL_NVLS_ENABLE");
		assert_non_null(s->why);
	}
}

static void versions_and_codes(void **state)
{
	char buf[DL_NCCL_VERSION];

	(void)state;
	assert_string_equal(dl_nccl_version_text(22809, buf), "2.28.9");
	assert_string_equal(dl_nccl_version_text(21210, buf), "2.12.10");
	assert_string_equal(dl_nccl_version_text(2804, buf), "2.8.4");
	assert_string_equal(dl_nccl_code(ncclRemoteError), "nccl_remote_error");
	assert_string_equal(dl_nccl_code((ncclResult_t)99), "nccl_error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_warning_is_found),
		cmocka_unit_test(a_replaced_port_is_found),
		cmocka_unit_test(log_tells_where_a_pair_begins),
		cmocka_unit_test(user_settings_are_kept),
		cmocka_unit_test(options_change_settings),
		cmocka_unit_test(files_are_kept),
		cmocka_unit_test(pretend_nodes_have_their_own),
		cmocka_unit_test(
			the_interface_that_works_is_used_unless_one_is_set),
		cmocka_unit_test(multicast_is_never_our_choice),
		cmocka_unit_test(versions_and_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
