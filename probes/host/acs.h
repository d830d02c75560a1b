/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_ACS_H
#define PROBES_HOST_ACS_H

#include <stddef.h>

/** Access Control Services of a PCIe device. */
enum acs_state {
	ACS_NONE,		/* no bridge, or none that has them */
	ACS_OFF,
	ACS_REDIRECTS_ON,	/* peer traffic takes the way over the root */
	ACS_UNKNOWN,		/* too little of the file may be read */
};

/** From the configuration space in /sys/bus/pci/devices/DEVICE/config. */
enum acs_state acs_of_config(const void *bytes, size_t len);

#endif
