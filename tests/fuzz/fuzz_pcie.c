/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data/json.h"
#include "probes/host/port.h"
#include "tests/fuzz/folder.h"

/** Folders of /sys that links stand in, from above. */
static const char *const places[] = {
	"sys", "sys/bus", "sys/bus/pci", "sys/bus/pci/devices",
	"sys/class", "sys/class/infiniband", "sys/class/infiniband/mlx5_0", NULL
};
static struct folder folder = { .root = "/tmp/gpucheck-fuzz-pcie-XXXXXX",
				.below = places };
/** A GPU, and an HCA with the device that it is on. */
static const char *const links[] = {
	"sys/bus/pci/devices/0000:1b:00.0",
	"sys/bus/pci/devices/0000:1c:00.0",
	"sys/class/infiniband/mlx5_0/device",
};
#define N_LINKS (sizeof(links) / sizeof(*links))

static void remove_links(void)
{
	char path[128];

	for (size_t i = 0; i < N_LINKS; i++) {
		unlink(folder_path(&folder, links[i], path));
	}
}

static void remove_all(void)
{
	remove_links();
	folder_remove(&folder);
}

/** A place is as far from another as that from it, and next to itself. */
static void check_places(const struct pcie_place *a, const struct pcie_place *b)
{
	if (strcmp(pcie_class(a, b), pcie_class(b, a)) != 0 ||
	    pcie_common(a->path, b->path) > pcie_common(a->path, a->path) ||
	    strlen(a->path) >= sizeof(a->path)) {
		abort();
	}
}

/** Lines: where each link points; what is left is JSON, the GPUs and facts of
 *  an inventory. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), *rest = text, path[128];
	struct pcie_place gpu, hca;
	json_t *facts, *gpus;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	folder_make(&folder, remove_all);
	for (size_t i = 0; i < N_LINKS; i++) {
		const char *line = strsep(&rest, "\n");

		if (line && line[0] &&
		    symlink(line, folder_path(&folder, links[i], path))) {
			break;	/* too long */
		}
	}
	pcie_find(folder.root, "0000:1b:00.0", &gpu);
	pcie_find_hca(folder.root, "mlx5_0", &hca);
	check_places(&gpu, &hca);
	json_decref(nccl_tree(folder.root, NULL, NULL));
	check_places(&gpu, &gpu);
	gpus = rest ? json_parse(rest, strlen(rest), NULL) : NULL;
	facts = json_array();
	pcie_facts(folder.root, gpus, facts);
	pcie_link(facts, "gpu0", "mlx5_0");
	pcie_link(gpus, "mlx5_0", "gpu0");
	json_decref(facts);
	json_decref(gpus);
	remove_links();
	free(text);
	return 0;
}
