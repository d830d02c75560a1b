/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_RECORD_H
#define PROBES_HOST_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/**
 * Record this machine, as found below @root ("" = /), into two new files of the
 * new folder @dir: "tree", the files of /sys, /proc and /etc that gpucheck
 * reads, a line each, and INVENTORY_ANSWER.  Which these are is a closed list;
 * nothing in it is secret: of nccl.conf and slurm.conf only settings that have
 * to do with fabrics and GPUs and hold no address, GPUs without their UUIDs, no
 * GID, of NCCL's topology file what topo_file_plain() leaves.  The driver is
 * asked until @deadline_ns.  0, or -1 with @e.
 */
int record_machine(const char *root, const char *dir, int64_t deadline_ns,
		   struct err *e);

#endif
