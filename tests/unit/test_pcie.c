/* SPDX-License-Identifier: BSD-3-Clause */
/* How far GPUs and HCAs are from each other, by recorded trees. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/host/port.h"
#include "tests/unit/tree.h"

/** As on a DGX: two sockets, a GPU and a NIC below each switch. */
static const struct {
	const char *bus, *below;	/* host bridge, port, switch, its
					 * port */
	const char *numa;
	const char *hca;	/* NULL: a GPU */
} devices[] = {
	{ "0000:1b:00.0", "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0",
	  "0\n", NULL },
	{ "0000:43:00.0", "pci0000:40/0000:40:01.0", "0\n", NULL },
	{ "0000:9b:00.0", "pci0000:97/0000:97:01.0/0000:98:00.0/0000:99:00.0",
	  "1\n", NULL },
	/* beside the first GPU, both ports of one card */
	{ "0000:1c:00.0", "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:01.0",
	  "0\n", "mlx5_0" },
	{ "0000:1c:00.1", "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:01.0",
	  "0\n", "mlx5_1" },
	/* one switch further down */
	{ "0000:1f:00.0", "pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:02.0/"
			  "0000:1d:00.0/0000:1e:00.0", "0\n", "mlx5_2" },
	/* its own port of the same host bridge */
	{ "0000:20:00.0", "pci0000:17/0000:17:03.0", "0\n", "mlx5_3" },
	{ "0000:9c:00.0", "pci0000:97/0000:97:01.0/0000:98:00.0/0000:99:01.0",
	  "1\n", "mlx5_10" },
};

static char root[] = "/tmp/gpucheck-pcie-XXXXXX";

static void put_link(const char *path, const char *to)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(symlink(to, full), 0);
}

static void put_device(size_t i)
{
	char path[512], to[600];

	snprintf(path, sizeof(path), "/sys/devices/%s/%s", devices[i].below,
		 devices[i].bus);
	snprintf(to, sizeof(to), "%s/numa_node", path);
	tree_file(root, to, devices[i].numa);
	snprintf(to, sizeof(to), "../../..%s", path + strlen("/sys"));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s",
		 devices[i].bus);
	put_link(path, to);
	if (devices[i].hca) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/",
			 devices[i].hca);
		tree_folders(root, path);
		snprintf(to, sizeof(to), "../../../%s", devices[i].bus);
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device",
			 devices[i].hca);
		put_link(path, to);
	}
}

static int make_root(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	tree_folders(root, "/sys/bus/pci/devices/");
	tree_folders(root, "/sys/class/infiniband/rxe0/");	/* software */
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		put_device(i);
	}
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	return tree_remove(root);
}

static void a_place_is_read_below_the_root(void **state)
{
	struct pcie_place p;

	(void)state;
	pcie_find(root, "0000:9b:00.0", &p);
	assert_string_equal(p.path, "pci0000:97/0000:97:01.0/0000:98:00.0/"
				    "0000:99:00.0/0000:9b:00.0");
	assert_int_equal(p.numa, 1);
	pcie_find(root, "0000:ff:00.0", &p);
	assert_string_equal(p.path, "");
	assert_int_equal(p.numa, -1);
	pcie_find("/nonexistent", "", &p);
	assert_string_equal(p.path, "");
}

static void check(const char *a, const char *b, const char *class)
{
	struct pcie_place x, y;

	pcie_find(root, a, &x);
	pcie_find(root, b, &y);
	assert_string_equal(pcie_class(&x, &y), class);
	assert_string_equal(pcie_class(&y, &x), class);
}

static void the_nearest_bridge_in_common_decides(void **state)
{
	(void)state;
	check("0000:1b:00.0", "0000:1c:00.0", "PIX");
	check("0000:1c:00.0", "0000:1c:00.1", "PIX");
	check("0000:1b:00.0", "0000:1f:00.0", "PXB");
	check("0000:1b:00.0", "0000:20:00.0", "PHB");
	check("0000:1b:00.0", "0000:43:00.0", "NODE");
	check("0000:1b:00.0", "0000:9c:00.0", "SYS");
	check("0000:1b:00.0", "0000:ff:00.0", "");
}

static void every_gpu_has_a_link_to_every_hca(void **state)
{
	json_t *gpus = json_pack("[{s:s},{s:s},{s:s},{s:s}]", "bus",
				 "0000:1b:00.0", "bus", "0000:43:00.0", "bus",
				 "0000:9b:00.0", "bus", "0000:ee:00.0");
	json_t *facts = json_array();

	(void)state;
	pcie_facts(root, gpus, facts);
	assert_int_equal(json_array_size(facts), 3 * 5);
	assert_string_equal(pcie_link(facts, "gpu0", "mlx5_0"), "PIX");
	assert_string_equal(pcie_link(facts, "mlx5_2", "gpu0"), "PXB");
	assert_string_equal(pcie_link(facts, "gpu0", "mlx5_3"), "PHB");
	assert_string_equal(pcie_link(facts, "gpu1", "mlx5_0"), "NODE");
	assert_string_equal(pcie_link(facts, "gpu2", "mlx5_1"), "SYS");
	assert_string_equal(pcie_link(facts, "gpu2", "mlx5_10"), "PIX");
	assert_null(pcie_link(facts, "gpu3", "mlx5_0"));
	assert_null(pcie_link(facts, "gpu0", "rxe0"));
	assert_null(pcie_link(NULL, "gpu0", "mlx5_0"));
	json_decref(facts);
	facts = json_array();
	pcie_facts("/nonexistent", gpus, facts);
	pcie_facts(root, NULL, facts);
	assert_int_equal(json_array_size(facts), 0);
	json_decref(facts);
	json_decref(gpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_read_below_the_root),
		cmocka_unit_test(the_nearest_bridge_in_common_decides),
		cmocka_unit_test(every_gpu_has_a_link_to_every_hca),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
