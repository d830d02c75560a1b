/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PEER_WAY_H
#define PROBES_HOST_PEER_WAY_H

#include <stddef.h>

#include "probes/host/acs.h"

/** What stands between a GPU and a NIC, read below @root ("" = /). */

#define ACS_STATES   (ACS_UNKNOWN + 1)
#define ACS_SOURCE   "/sys/bus/pci/devices"
#define IOMMU_SOURCE "/sys/kernel/iommu_groups"

/** How many PCI devices are in each state, to @count; returns how many devices
 *  there are. */
size_t acs_count(const char *root, int count[ACS_STATES]);

#define IOMMU_TRANSLATES "translates DMA"
/** IOMMU_TRANSLATES, "passes DMA through" or "off". */
const char *iommu_does(const char *root);

#endif
