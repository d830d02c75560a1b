/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_STATE_H
#define PROBES_HOST_GPU_STATE_H

#include <jansson.h>

#include "probes/dl/nvml.h"
#include "probes/host/gpu_list.h"

/**
 * What driver and kernel count about the GPUs of a node: read before a run and
 * after it, so that what has grown meanwhile is evidence.  Facts as facts_add()
 * makes them, of scope "gpu3", or "gpu0-gpu3" for the link between two.
 */

/** By NVML; nothing where it is not there.  May hang: only in a child. */
void gpu_state_facts(const struct gpu_list *l, json_t *facts);

/** Of those, as facts of @scope, what says by itself that the GPU @dev is not
 *  well: memory errors, a reset that is due, clocks that are held down.  It may
 *  hang, too. */
void gpu_health_facts(const struct nvml *nvml, nvmlDevice_t dev,
		      const char *scope, json_t *facts);

/** NVML's reasons for a low clock that are no normal ones, as
 *  "hw_thermal+hw_power_brake"; "" = none.  Pure. */
void gpu_throttle_words(unsigned long long reasons, char *buf, size_t size);

/** Xids by the kernel's log, where it may be read; never blocks. */
void gpu_xid_facts(const struct gpu_list *l, json_t *facts);

/** "xids_growth" and its like to @out: the counters of @after above those of
 *  @before, each an array of facts; and GPU_JOINED, of gpu_holders.h. */
void gpu_growth_facts(const json_t *before, const json_t *after, json_t *out);

/** Pure: is @line of the kernel's log an Xid?  Its GPU's bus ("0000:1b:00")
 *  and number. */
bool gpu_xid_parse(const char *line, char bus[32], int *xid);

#endif
