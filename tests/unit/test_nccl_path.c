/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way NCCL sends, read from logs that it wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/nccl/log.h"

#define LOG_SIZE 65536

static size_t read_log(const char *name, char text[LOG_SIZE])
{
	char path[128];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/nccl/%s.log", name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, LOG_SIZE, f);
	fclose(f);
	return n;
}

static const struct {
	const char *log;
	int src, dst;
	bool sends;
	const char *path, *nic;	/* NULL: the log does not say */
} ways[] = {
	{ "p2p-cumem", 0, 1, true, "P2P/CUMEM", "" },
	{ "p2p-cumem", 1, 0, false, NULL, "" },
	{ "p2p-ipc", 0, 1, true, "P2P/IPC", "" },
	{ "shm", 0, 1, true, "SHM", "" },
	{ "socket", 0, 1, true, "NET/Socket/0", "eth0" },
	{ "socket", 1, 0, false, "NET/Socket/0", "eth0" },
	{ "socket", 1, 0, true, NULL, "" },
	{ "two-nodes", 2, 3, true, "P2P/CUMEM", "" },
	{ "two-nodes", 2, 4, true, "NET/Socket/0", "eth0" },
	{ "two-nodes", 7, 2, false, "NET/Socket/0", "eth0" },
	{ "two-nodes", 3, 2, true, NULL, "" },
	{ "ib", 0, 1, true, "NET/IB/0+1/GDRDMA", "mlx5_0+mlx5_1" },
	{ "ib", 1, 0, false, "NET/IB/2", "mlx5_bond_0" },
	{ "ib", 0, 2, true, "NET/IB/1/GDRDMA+PXN", "mlx5_1" },
	{ "ib", 2, 0, false, "NET/IB/7/GDRDMA", "" },
	{ "ib", 0, 3, true, "P2P/IPC|SHM", "" },
	{ "ib", 0, 4, true, "P2P/direct", "" },
	{ "ib", 0, 5, true, "P2P/indirect", "" },
	{ "ibext", 0, 1, true, "NET/IBext_v8/1/GDRDMA", "mlx5_3" },
	{ "ibext", 1, 0, false, "NET/IBext_v8/0/GDRDMA+PXN", "mlx5_2" },
	{ "merged", 0, 1, true, "NET/IB/2", "mlx5_0+mlx5_1" },
	{ "efa", 0, 1, true, "NET/Libfabric/0+1/GDRDMA",
	  "rdmap79s0+rdmap96s0" },
	{ "efa", 1, 0, false, "NET/Libfabric/0/GDRDMA", "rdmap79s0" },
	{ "efa-old", 0, 1, true, "NET/AWS Libfabric/3/GDRDMA", "rdmap160s27" },
	{ "efa-old", 1, 0, false, "NET/AWS Libfabric/2/GDRDMA", "" },
	{ "efa-old", 0, 2, true, "NET/OFI/0/GDRDMA", "" },
	{ "mnnvl", 0, 1, true, "P2P/MNNVL", "" },
};

static void ways_are_found(void **state)
{
	static char text[LOG_SIZE];
	char path[NCCL_PATH_SIZE], nic[NCCL_NIC_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		size_t len = read_log(ways[i].log, text);
		struct nccl_nics nics = { 0 };

		nccl_path_nics(text, len, &nics);
		assert_int_equal(nccl_path_find(text, len, ways[i].src,
						ways[i].dst, ways[i].sends,
						&nics, path, nic),
				 ways[i].path != NULL);
		assert_string_equal(path, ways[i].path ? ways[i].path : "");
		assert_string_equal(nic, ways[i].nic);
	}
}

static const struct {
	const char *line;
	const char *path;	/* NULL: no line about 0 -> 1 */
} lines[] = {
	{ "", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via ", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM", "P2P/CUMEM" },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 11[1] via P2P/CUMEM", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] [receive] via NET/IB/0",
	  NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via NET/IB/x", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via NET/a/b/0", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via NET//0", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via NET/a network whose name "
	  "does not end/0", NULL },
	{ "NCCL INFO Channel 00/24 : 0 1", NULL },
	{ "NCCL INFO Trees [0] 1/-1/-1->0->-1 via P2P/IPC", NULL },
	{ "NCCL INFO Channel 00/1 : 0[0] -> 1[1] via P2P/IPC\n"
	  "NCCL INFO Channel 00/1 : 1[1] -> 0[0] via SHM/direct/direct\n",
	  "P2P/IPC" },
};

static void other_lines_are_not(void **state)
{
	const struct nccl_nics nics = { 0 };
	char path[NCCL_PATH_SIZE], nic[NCCL_NIC_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		bool found = nccl_path_find(lines[i].line,
					    strlen(lines[i].line), 0, 1, true,
					    &nics, path, nic);

		assert_int_equal(found, lines[i].path != NULL);
		assert_string_equal(path, found ? lines[i].path : "");
	}
}

static void networks_without_nics_name_none(void **state)
{
	static const char text[] =
		"x NCCL INFO NET/IB : No device found.\n"
		"x NCCL INFO NET/IB : Using [RO]; OOB eth0:192.0.2.2<0>\n";
	struct nccl_nics nics = { 0 };

	(void)state;
	assert_false(nccl_path_nics(text, strlen(text), &nics));
	assert_string_equal(nics.net, "");
}

#define INFO "n0:1:2 [0] NCCL INFO "
#define ON_SOCKETS INFO "Using network Socket\n"

/* What NCCL writes before it takes sockets, and what of it tells most. */
static const struct {
	const char *text, *name, *why;
} networks[] = {
	{ "", "", "" },
	{ INFO "Using network IB\n", "IB", "" },
	{ INFO "NET/Plugin: Could not find: libnccl-net.so\n"
	  INFO "Using network AWS Libfabric\n", "AWS Libfabric", "" },
	{ ON_SOCKETS, "Socket", "" },
	{ INFO "NET/Plugin: Could not find: libnccl-net.so\n"
	  INFO "NET/IB : No device found.\n" ON_SOCKETS,
	  "Socket", "NET/IB : No device found." },
	{ INFO "NET/Plugin: Could not find: libnccl-net.so\n" ON_SOCKETS,
	  "Socket", "NET/Plugin: Could not find: libnccl-net.so" },
	{ "\nn0:1:2 [0] misc/ibvwrap.cc:116 NCCL WARN NET/IB : Unable to open "
	  "device mlx5_0\n" INFO "NET/IB : No device found.\n" ON_SOCKETS,
	  "Socket", "NET/IB : Unable to open device mlx5_0" },
	{ INFO "NCCL_IB_DISABLE set by environment to 0.\n"
	  INFO "NET/IB : No device found.\n" ON_SOCKETS,
	  "Socket", "NET/IB : No device found." },
	{ INFO "NET/IB : No device found.\n"
	  INFO "NCCL_IB_DISABLE set by environment to 1.\n" ON_SOCKETS,
	  "Socket", "NCCL_IB_DISABLE set by environment to 1." },
	{ INFO "NCCL_NET set by environment to Socket.\n" ON_SOCKETS,
	  "Socket", "NCCL_NET set by environment to Socket." },
	{ INFO "NET/OFI No eligible providers were found\n"
	  INFO "Failed to initialize NET plugin Libfabric\n" ON_SOCKETS,
	  "Socket", "NET/OFI No eligible providers were found" },
	/* somebody else's words about NCCL are not its own */
	{ "the user says: NCCL_NET set to Socket\n" ON_SOCKETS, "Socket", "" },
};

static void networks_say_why(void **state)
{
	static char text[LOG_SIZE];
	struct nccl_network n;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
		const char *t = networks[i].text;

		assert_int_equal(nccl_network_find(t, strlen(t), &n),
				 networks[i].name[0] != '\0');
		assert_string_equal(n.name, networks[i].name);
		assert_string_equal(n.why, networks[i].why);
	}
	len = read_log("socket", text);
	assert_true(nccl_network_find(text, len, &n));
	assert_string_equal(n.why, "NET/IB : No device found.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_are_found),
		cmocka_unit_test(other_lines_are_not),
		cmocka_unit_test(networks_without_nics_name_none),
		cmocka_unit_test(networks_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
