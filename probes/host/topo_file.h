/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_TOPO_FILE_H
#define PROBES_HOST_TOPO_FILE_H

#include <stdbool.h>

#include "probes/host/pcie.h"

/**
 * Where devices are by a file in NCCL's format: a virtual machine shows none of
 * the bridges above its devices, so the cloud says it there.  <pci> elements
 * with a busid, one below the other, in a <cpu> with a numaid.
 */
#define TOPO_FILE_MAX (256 * 1024)

/** Pure: put where @text (NUL-ended) has the device at @bus, 0000:1b:00.0, into
 *  @place; false, @place as it was, when it has none. */
bool topo_file_find(const char *text, const char *bus,
		    struct pcie_place *place);

/** The text of the file that NCCL reads below @root: NCCL_TOPO_FILE, by the
 *  environment or nccl.conf, or the one of nvidia-topologyd.  free() frees;
 *  NULL: there is none. */
char *topo_file_read(const char *root);

#endif
