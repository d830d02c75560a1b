/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_PEER_WAY_H
#define PROBES_HOST_PEER_WAY_H

#include <stddef.h>

/** What stands between a GPU and a NIC, read below @root ("" = /). */

/** Access Control Services of a PCIe device. */
enum acs_state {
	ACS_NONE,		/* no bridge, or none that has them */
	ACS_OFF,
	ACS_REDIRECTS_ON,	/* peer traffic takes the way over the root */
	ACS_UNKNOWN,		/* too little of the file may be read */
	ACS_STATES
};

/** From the configuration space in /sys/bus/pci/devices/DEVICE/config. */
enum acs_state acs_of_config(const void *bytes, size_t len);

#define ACS_SOURCE   "/sys/bus/pci/devices"
#define IOMMU_SOURCE "/sys/kernel/iommu_groups"

/** How many PCI devices are in each state, to @count; returns how many devices
 *  there are. */
size_t acs_count(const char *root, int count[ACS_STATES]);

#define IOMMU_TRANSLATES "translates DMA"
/** IOMMU_TRANSLATES, "passes DMA through" or "off". */
const char *iommu_does(const char *root);

#endif
