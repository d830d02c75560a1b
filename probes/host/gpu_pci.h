/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_PCI_H
#define PROBES_HOST_GPU_PCI_H

#include <stddef.h>

#include <jansson.h>

/**
 * Facts of scope "gpu0" about the place of each of @gpus (of an inventory) in
 * its host, read below @root, as far as the kernel tells them: numa_node,
 * root_port, pcie_speed_max, pcie_width_max, pcie_width, relaxed_ordering (to
 * root alone), gsp_firmware.
 */
void gpu_pci_facts(const char *root, const json_t *gpus, json_t *facts);

/** May the device with @len bytes of configuration space @config ask for
 *  relaxed ordering?  1, 0, or -1: they do not say.  Pure. */
int gpu_pci_relaxed(const void *config, size_t len);

#endif
