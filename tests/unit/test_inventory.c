/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/host/gpu_state.h"
#include "probes/host/inventory.h"
#include "tests/unit/tree.h"

/** A root with the files that a GPU node has. */
static char root[] = "/tmp/gpucheck-root-XXXXXX";

static const struct {
	const char *path, *text;
} files[] = {
	{ "/proc/sys/kernel/random/boot_id",
	  "0b5f3b1e-0000-4000-8000-000000000001\n" },
	{ "/proc/driver/nvidia/version",
	  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
	  "580.159.04  Release Build\nGCC version:  gcc version 15.3.0\n" },
	{ "/proc/driver/nvidia/gpus/0000:1b:00.0/information",
	  "Model: \t\t NVIDIA H200\nIRQ:   \t\t 44\n"
	  "GPU UUID: \t GPU-11111111-2222-3333-4444-555555555555\n" },
	{ "/proc/driver/nvidia/gpus/0000:0a:00.0/information",
	  "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-\?\?\?\?-\?\?\n" },
	{ "/sys/class/infiniband/mlx5_10/ports/1/state", "4: ACTIVE\n" },
	{ "/sys/class/infiniband/mlx5_10/ports/1/rate",
	  "400 Gb/sec (4X NDR)\n" },
	{ "/sys/class/infiniband/mlx5_2/ports/1/state", "1: DOWN\n" },
	{ "/etc/nccl.conf", "# of the site\nNCCL_IB_TIMEOUT=22\n"
			    "NCCL_IB_TIMEOUT=18\nNCCL_IB_HCA=mlx5_7\n"
			    "SECRET=1\nNCCL_NO_VALUE\nNCCL_ALGO=a=b" },
	{ "/sys/module/nvidia/version", "580.159.04\n" },
	{ "/sys/module/nvidia_peermem/version", "580.159.04\n" },
	{ "/sys/module/mlx5_core/version", "24.10-0.7.0\n" },
	{ "/sys/kernel/iommu_groups/7/type", "DMA-FQ\n" },
	{ "/dev/nvidia-caps-imex-channels/channel0", "" },
	{ "/dev/nvidia-caps-imex-channels/channel1", "" },
	{ "/proc/77/comm", "nvidia-imex\n" },
	{ "/tmp/mps/control", "" },
};

static int make_root(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		tree_file(root, files[i].path, files[i].text);
	}
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	return tree_remove(root);
}

/** Value of the fact, "" when there is none. */
static const char *fact(const json_t *out, const char *scope, const char *name)
{
	json_t *facts = json_object_get(out, "facts"), *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		if (strcmp(json_string_value(json_object_get(f, "scope")),
			   scope) == 0 &&
		    strcmp(json_string_value(json_object_get(f, "fact")),
			   name) == 0) {
			return json_string_value(json_object_get(f, "value"));
		}
	}
	return "";
}

/** What srun would say of this host on the switches @above. */
static void set_address(const char *above)
{
	char host[64] = "", addr[160];

	gethostname(host, sizeof(host) - 1);
	snprintf(addr, sizeof(addr), "%s.%.*s", above,
		 (int)strcspn(host, "."), host);
	setenv("SLURM_TOPOLOGY_ADDR", addr, 1);
}

static struct port found[PORT_MAX];

static void a_host_says_what_it_is(void **state)
{
	json_t *out = json_object(), *ports, *first;

	(void)state;
	setenv("NCCL_IB_HCA", "=mlx5_2", 1);
	setenv("UCX_TLS", "rc", 1);
	setenv("MY_NCCL_SECRET", "hush", 1);
	set_address("core.leaf2");
	setenv("SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.node", 1);
	assert_int_equal(inventory_read_host(out, root, found), 2);
	assert_string_equal(found[0].name, "mlx5_2");
	assert_string_equal(json_string_value(json_object_get(out, "driver")),
			    "580.159.04");
	assert_string_equal(json_string_value(json_object_get(out, "boot_id")),
			    "0b5f3b1e-0000-4000-8000-000000000001");
	ports = json_object_get(out, "ports");
	assert_int_equal(json_array_size(ports), 2);
	/* in the order of their numbers */
	first = json_array_get(ports, 0);
	assert_string_equal(json_string_value(json_object_get(first, "name")),
			    "mlx5_2");
	assert_string_equal(json_string_value(json_object_get(first, "state")),
			    "DOWN");
	assert_string_equal(fact(out, "mlx5_2", "port_state"), "DOWN");
	assert_string_equal(fact(out, "mlx5_10", "rate"), "400");
	assert_string_equal(fact(out, "mlx5_10", "width"), "4X NDR");
	assert_string_equal(fact(out, "node", "nccl_conf"), "yes");
	assert_string_equal(fact(out, "node", "NCCL_IB_HCA"), "=mlx5_2");
	assert_string_not_equal(fact(out, "node", "memlock_soft"), "");
	/* of the file, less what the environment has */
	assert_string_equal(fact(out, "node", "NCCL_IB_TIMEOUT"), "22");
	assert_string_equal(fact(out, "node", "NCCL_ALGO"), "a=b");
	assert_string_equal(fact(out, "node", "SECRET"), "");
	assert_string_equal(fact(out, "node", "NCCL_NO_VALUE"), "");
	assert_string_equal(fact(out, "node", "UCX_TLS"), "rc");
	assert_string_equal(fact(out, "node", "MY_NCCL_SECRET"), "");
	assert_string_equal(fact(out, "node", "nvidia_peermem"), "yes");
	assert_string_equal(fact(out, "node", "mlx5_driver"), "24.10-0.7.0");
	assert_string_equal(fact(out, "node", "iommu"), "translates DMA");
	assert_string_equal(fact(out, "node", "imex"), "running");
	assert_string_equal(fact(out, "node", "imex_channels"),
			    "channel0 channel1");
	assert_string_equal(fact(out, "node", "mps"), "off");
	/* no bridge can be read: nobody knows */
	assert_string_equal(fact(out, "node", "acs"), "");
	assert_string_equal(fact(out, "node", "leaf_switch"), "leaf2");
	json_decref(out);
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps", 1);
	out = json_object();
	inventory_read_host(out, root, found);
	assert_string_equal(fact(out, "node", "mps"), "on");
	json_decref(out);
	unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	/* a pretend node, and one that has the environment of another */
	out = json_object();
	setenv("GPUCHECK_BOOT_NODE", "n1", 1);
	inventory_read_host(out, root, found);
	assert_string_equal(fact(out, "node", "leaf_switch"), "");
	json_decref(out);
	unsetenv("GPUCHECK_BOOT_NODE");
	out = json_object();
	setenv("SLURM_TOPOLOGY_ADDR", "core.leaf2.not-this-host", 1);
	inventory_read_host(out, root, found);
	assert_string_equal(fact(out, "node", "leaf_switch"), "");
	unsetenv("SLURM_TOPOLOGY_ADDR");
	unsetenv("SLURM_TOPOLOGY_ADDR_PATTERN");
	json_decref(out);
}

static void a_host_without_anything_has_no_driver(void **state)
{
	json_t *out = json_object();

	(void)state;
	assert_int_equal(inventory_read_host(out, "/nonexistent", found), 0);
	assert_null(json_object_get(out, "driver"));
	assert_int_equal(json_array_size(json_object_get(out, "ports")), 0);
	assert_string_equal(fact(out, "node", "nccl_conf"), "no");
	json_decref(out);
}

static void the_kernel_lists_gpus_too(void **state)
{
	struct gpu_list l;

	(void)state;
	gpu_list_read_proc(&l, root);
	assert_string_equal(l.source, "proc");
	assert_int_equal(l.n, 2);
	assert_string_equal(l.gpus[0].bus, "0000:0a:00.0");
	assert_string_equal(l.gpus[0].uuid, "");	/* not started */
	assert_string_equal(l.gpus[1].name, "NVIDIA H200");
	assert_string_equal(l.gpus[1].uuid,
			    "GPU-11111111-2222-3333-4444-555555555555");
	gpu_list_read_proc(&l, "/nonexistent");
	assert_string_equal(l.source, "none");
	assert_int_equal(l.n, 0);
}

static const struct {
	const char *text, *version;
} versions[] = {
	{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue",
	  "470.57.02" },
	{ "535.86\n", "535.86" },
	{ "NVRM version: 2 of x86_64", "" },
	{ "", "" },
	{ "1.2.3a 4.5.6", "4.5.6" },
};

static void driver_versions(void **state)
{
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		inventory_driver_version(versions[i].text, buf, sizeof(buf));
		assert_string_equal(buf, versions[i].version);
	}
	inventory_driver_version("1.23456789", buf, 5);
	assert_string_equal(buf, "1.23");
}

static const struct {
	const char *addr, *pattern;
	const char *leaf;	/* NULL: none */
} addrs[] = {
	{ "core.leaf2.n1", "switch.switch.node", "leaf2" },
	{ "leaf.n1", "switch.node", "leaf" },
	{ "n1", "node", NULL },			/* topology/flat */
	{ "b1.n1", "block.node", NULL },	/* topology/block */
	{ "core.leaf.2.n1", "switch.switch.node", NULL },
	{ "n1", "switch.node", NULL },
	{ "..n1", "switch.switch.node", NULL },
	{ "leaf.n1", "switch.node.node", NULL },
	{ "", "", NULL },
	{ "leaf.n1", "switches.node", NULL },
};

static void slurm_names_the_leaf(void **state)
{
	char leaf[16];

	(void)state;
	for (size_t i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		assert_int_equal(node_leaf_switch(addrs[i].addr,
						  addrs[i].pattern, leaf,
						  sizeof(leaf)),
				 addrs[i].leaf != NULL);
		if (addrs[i].leaf != NULL) {
			assert_string_equal(leaf, addrs[i].leaf);
		}
	}
	assert_true(node_is_last("s.n1", "n1.example.com"));
	assert_true(node_is_last("n1", "n1"));
	assert_false(node_is_last("s.n1", "n12"));
	assert_false(node_is_last("s.", ""));
	assert_false(node_leaf_switch("a-leaf-with-a-long-name.n1",
				      "switch.node", leaf, sizeof(leaf)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_says_what_it_is),
		cmocka_unit_test(a_host_without_anything_has_no_driver),
		cmocka_unit_test(the_kernel_lists_gpus_too),
		cmocka_unit_test(driver_versions),
		cmocka_unit_test(slurm_names_the_leaf),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
