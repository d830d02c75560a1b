/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_HOST_H
#define PROBES_HANG_HOST_H

#include <stdbool.h>
#include <stdint.h>

/**
 * What the node itself says, as facts: since @since_us after its boot, when the
 * job began, what its kernel has written of GPUs, memory, links and disks; now,
 * who waits for what, and how much memory the job has left (@job: we are in its
 * cgroup).  Below @root ("" = /); at @deadline_ns the journal is given up.
 */
void hang_host_facts(const char *root, int64_t since_us, bool job,
		     int64_t deadline_ns);

/** Pure: is the message @text of the kernel of interest?  The fact that it
 *  is, NULL: no. */
const char *hang_kernel_fact(const char *text);

#endif
