/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_MEMORY_H
#define PROBES_IB_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/ib/device.h"

/**
 * Registered buffers that data leaves from and arrives in, here or on a GPU.
 */
enum verbs_side { VERBS_SEND, VERBS_RECV, VERBS_SIDES };

struct verbs_area {
	uint64_t addr;
	uint32_t local_key, remote_key;
	struct ibv_mr *mr;
};

struct gpu;

#define VERBS_ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			  IBV_ACCESS_REMOTE_READ)

struct verbs_memory {
	const struct verbs_device *d;
	size_t bytes;			/* of each side */
	struct verbs_area side[VERBS_SIDES];
	void *host[VERBS_SIDES];	/* NULL: on the GPU */
	struct gpu *gpu;		/* NULL: here */
	char fault[160];		/* why it could not be filled or read */
	const char *how;		/* "", /dmabuf, /peermem */
};

/** @gpu < 0: host memory, else that of the GPU nearest to the HCA, of several
 *  the @gpu-th.  0, or -1 with @e and *@code; close it then too. */
int verbs_memory_open(struct verbs_memory *m, const struct verbs_device *d,
		      size_t bytes, int gpu, const char **code, struct err *e);
void verbs_memory_close(struct verbs_memory *m);

/** The pattern into the side that sends; nothing of it into the other.  -1
 *  with m->fault. */
int verbs_memory_fill(struct verbs_memory *m, enum verbs_side side,
		      size_t bytes, uint64_t seed, int64_t deadline_ns);
/** Change some bytes that have arrived: a drill. */
void verbs_memory_spoil(struct verbs_memory *m, size_t bytes);
/** Bytes that did not arrive as sent; -1 with m->fault. */
int64_t verbs_memory_wrong(struct verbs_memory *m, size_t bytes, uint64_t seed,
			   int64_t deadline_ns);

/** @bytes of zeros for the HCA, registered as @out; free() them after that.
 *  NULL with @e and *@code. */
void *verbs_area_new(const struct verbs_device *d, size_t bytes,
		     struct verbs_area *out, const char **code, struct err *e);
/** Register @bytes at @addr for all that a pair does; 0 or an errno. */
int verbs_register(const struct verbs_device *d, void *addr, size_t bytes,
		   struct verbs_area *out);
/** Take over @mr, of memory at @addr; 0, or the errno of its NULL. */
int verbs_take_mr(struct verbs_area *a, struct ibv_mr *mr, uint64_t addr);
/** Take both sides' registrations back. */
void verbs_forget_sides(struct verbs_memory *m);

#endif
