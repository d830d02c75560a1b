/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_LINKS_H
#define PROBES_HOST_GPU_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "probes/dl/nvml.h"

/** The NVLinks of a GPU that are up, and what each has counted. */

#define GPU_LINK_COUNTS	 3
#define GPU_LINK_UNKNOWN UINT64_MAX	/* in place of a count */

/** The fact that has all of this. */
#define GPU_LINKS_FACT "nvlinks_up"
/** Names of the facts about all links together, in the order of counts. */
extern const char *const gpu_link_facts[GPU_LINK_COUNTS];

struct gpu_links {
	uint32_t up;		/* bit k: link k */
	uint64_t counts[NVML_LINKS_MAX][GPU_LINK_COUNTS];	/* of these */
};

/** "0-6:0/0/0 7:500/0/0", or without counts ("0-7:-/-/-") where they do not fit
 *  @size; "none" when none is up.  Returns @buf. */
const char *gpu_links_text(const struct gpu_links *l, char *buf, size_t size);
/** 0, or -1 when @text is nothing that gpu_links_text() writes: @l is undefined
 *  then. */
int gpu_links_parse(const char *text, struct gpu_links *l);

#endif
