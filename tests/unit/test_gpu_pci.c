/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a GPU is in its host, by files of the kernel. */
#include "tree.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/data/json.h"
#include "probes/host/gpu_state.h"

static char root[] = "/tmp/gpu-pci-XXXXXX";

static const char *value_of(const json_t *facts, const char *fact)
{
	const json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		if (strcmp(json_member(f, "fact"), fact) == 0 &&
		    strcmp(json_member(f, "scope"), "gpu0") == 0) {
			return json_member(f, "value");
		}
	}
	return NULL;
}

static void what_the_kernel_tells_is_a_fact(void **state)
{
	static const char *const wanted[][2] = {
		{ "numa_node", "1" }, { "pcie_width_max", "16" },
		{ "pcie_speed_max", "32.0 GT/s PCIe" }, { "pcie_width", "8" },
		{ "root_port", "0000:97:01.0" },
		{ "gsp_firmware", "570.86.15" },
	};
	json_t *gpus = json_pack("[{s:s},{s:s}]", "bus", "0000:9b:00.0", "bus",
				 "../../../etc"), *facts = json_array();
	char link[200];

	(void)state;
	assert_non_null(mkdtemp(root));
#define DEVICE "/sys/devices/pci0000:97/0000:97:01.0/0000:9b:00.0/"
	tree_file(root, DEVICE "numa_node", "1\n");
	tree_file(root, DEVICE "max_link_speed", "32.0 GT/s PCIe\n");
	tree_file(root, DEVICE "max_link_width", "16\n");
	tree_file(root, DEVICE "current_link_width", "8\n");
	tree_file(root, "/proc/driver/nvidia/gpus/0000:9b:00.0/information",
		  "Model: \t\t NVIDIA H200\nGPU Firmware: \t 570.86.15\n");
	tree_folders(root, "/sys/bus/pci/devices/");
	snprintf(link, sizeof(link), "%s/sys/bus/pci/devices/0000:9b:00.0",
		 root);
	assert_int_equal(symlink("../../.." "/devices/pci0000:97/0000:97:01.0/"
				 "0000:9b:00.0", link), 0);
	gpu_pci_facts(root, gpus, facts);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_non_null(value_of(facts, wanted[i][0]));
		assert_string_equal(value_of(facts, wanted[i][0]),
				    wanted[i][1]);
	}
	assert_int_equal(json_array_size(facts),
			 sizeof(wanted) / sizeof(wanted[0]));
	json_decref(facts);
	json_decref(gpus);
	tree_remove(root);
}

static void relaxed_ordering_is_a_bit_of_a_capability(void **state)
{
	unsigned char c[256] = { [0x34] = 0x60, [0x60] = 0x01, [0x61] = 0x78,
				 [0x78] = 0x10, [0x80] = 0x10 };

	(void)state;
	assert_int_equal(gpu_pci_relaxed(c, sizeof(c)), 1);
	c[0x80] = 0xef;
	assert_int_equal(gpu_pci_relaxed(c, sizeof(c)), 0);
	assert_int_equal(gpu_pci_relaxed(c, 64), -1);	/* not for all */
	assert_int_equal(gpu_pci_relaxed(c, 0), -1);
	c[0x61] = 0x60;		/* a chain without an end */
	assert_int_equal(gpu_pci_relaxed(c, sizeof(c)), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_tells_is_a_fact),
		cmocka_unit_test(relaxed_ordering_is_a_bit_of_a_capability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
