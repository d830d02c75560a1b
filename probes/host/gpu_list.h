/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_LIST_H
#define PROBES_HOST_GPU_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/base/err.h"

#define GPU_LIST_MAX 64
#define CUDA_VISIBLE "CUDA_VISIBLE_DEVICES"

/** Of a UUID of 16 bytes "8-4-4-4-12" digits; returns @text. */
#define GPU_UUID_HEX 37
const char *gpu_uuid_hex(const void *raw, char text[GPU_UUID_HEX]);

/** One GPU of a node as NVML, CUDA or the kernel driver names it. */
struct gpu_id {
	char uuid[48];	/* GPU-8-4-4-4-12 */
	char bus[32];	/* 0000:1b:00.0 */
	char name[96];
	bool divided;	/* by MIG: CUDA shows parts of it, if any */
	bool hidden;	/* no GPU of this list to CUDA: it is divided, or
			 * CUDA_VISIBLE_DEVICES leaves it out */
};

struct gpu_list {
	struct gpu_id gpus[GPU_LIST_MAX];
	size_t n;
	char source[16];	/* nvml, cuda, proc, none */
	char why[200];		/* why not from a better source, "" = none */
};

/** By NVML, else by CUDA.  May hang with a sick driver: only in a child. */
void gpu_list_ask_driver(struct gpu_list *l);

/** From /proc/driver/nvidia/gpus below @root ("" = /): no library, no hang. */
void gpu_list_read_proc(struct gpu_list *l, const char *root);

/**
 * Order and hide as CUDA_VISIBLE_DEVICES = @text does (NULL: not set): the
 * GPUs that it names come first, in its order; indexes and unambiguous UUID
 * prefixes count; at the first that is wrong CUDA stops reading, a GPU named
 * twice makes it show none.  Divided ones are not among those that it numbers,
 * stand last and are hidden.
 */
void gpu_list_apply_visible(struct gpu_list *l, const char *text);

/** How many are not hidden. */
size_t gpu_list_visible(const struct gpu_list *l);

/** "00000000:1B:00.0" and "0000:1B:00.0" become "0000:1b:00.0". */
void gpu_list_plain_bus(const char *text, char bus[32]);

/** As the child prints it, and back with limits; 0 or -1 with @e. */
json_t *gpu_list_json(const struct gpu_list *l);
int gpu_list_parse(const json_t *json, struct gpu_list *l, struct err *e);

#endif
