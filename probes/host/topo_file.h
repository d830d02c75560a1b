/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_TOPO_FILE_H
#define PROBES_HOST_TOPO_FILE_H

#include <stdbool.h>

#include "lib/base/str.h"
#include "probes/host/pcie.h"

/**
 * Where devices are by a file in NCCL's format: a virtual machine shows none of
 * the bridges above its devices, so the cloud says it there.  <pci> elements
 * with a busid, one below the other, in a <cpu> with a numaid.
 */
#define TOPO_FILE_MAX (256 * 1024)
/** The one that is read where no other is named. */
#define TOPO_FILE_USUAL "/var/run/nvidia-topologyd/virtualTopology.xml"

/** Pure: put where @text (NUL-ended) has the device at @bus, 0000:1b:00.0, into
 *  @place; false, @place as it was, when it has none. */
bool topo_file_find(const char *text, const char *bus,
		    struct pcie_place *place);

/** Pure: of @text into @out the elements with what says where devices are, and
 *  how they are connected: no comments, no GUIDs, no serial numbers, no hash of
 *  a host. */
void topo_file_plain(const char *text, struct str *out);

/** The text of the file that NCCL reads below @root: NCCL_TOPO_FILE, by the
 *  environment or nccl.conf, or the one of nvidia-topologyd.  free() frees;
 *  NULL: there is none. */
char *topo_file_read(const char *root);

#endif
