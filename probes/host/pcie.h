/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PCIE_H
#define PROBES_HOST_PCIE_H

#include <limits.h>

#include <jansson.h>

/**
 * How far two PCI devices of a node are from each other, by /sys.  The words
 * are those of nvidia-smi topo -m and of NCCL:
 *   PIX   below one switch at most
 *   PXB   below several switches of one host bridge's port
 *   PHB   below one host bridge: by way of the CPU
 *   NODE  below two host bridges of one NUMA node
 *   SYS   on two NUMA nodes
 */
struct pcie_place {
	char path[PATH_MAX];	/* pci0000:17/0000:17:01.0/...; "" = unknown */
	int numa;		/* -1 = unknown */
};

/** Where the device at @bus, such as 0000:1b:00.0, is; read below @root. */
void pcie_find(const char *root, const char *bus, struct pcie_place *place);
/** Where the PCI device of HCA @hca is; a software one has none. */
void pcie_find_hca(const char *root, const char *hca, struct pcie_place *place);

/** How many folders from the beginning two paths have in common.  Pure. */
int pcie_common(const char *a, const char *b);

/** The word for two places, "" when one of them is not known.  Pure. */
const char *pcie_class(const struct pcie_place *a, const struct pcie_place *b);

/**
 * A fact "link" of scope "gpu0-mlx5_0" for each of @gpus (of an inventory) and
 * each HCA below @root, as far as both are known.
 */
void pcie_facts(const char *root, const json_t *gpus, json_t *facts);

/** The value of "link" between @a and @b ("gpu0", "gpu1", "mlx5_0"), either way
 *  round, in an inventory's facts; NULL = not known. */
const char *pcie_link(const json_t *facts, const char *a, const char *b);

#endif
