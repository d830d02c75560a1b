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
	bool relaxed;			/* PCIe may order data as it likes */
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

/** @bytes of zeros for the HCA, registered as @out, *@relaxed or not; free()
 *  them after that.  NULL with @e and *@code. */
void *verbs_area_new(const struct verbs_device *d, size_t bytes, bool *relaxed,
		     struct verbs_area *out, const char **code, struct err *e);
/**
 * Register @bytes at @addr for all that a pair does, in a dma-buf @offset bytes
 * in where @fd >= 0; 0 or an errno.  With *@relaxed, PCIe may order what is
 * written there as it likes, as jobs have it: some hosts are slow without.
 * Where the HCA or its library refuses that it is as strict as ever, and
 * *@relaxed false.  What tells that other data has arrived must not be relaxed.
 */
int verbs_register(const struct verbs_device *d, uint64_t addr, size_t bytes,
		   int fd, uint64_t offset, bool *relaxed,
		   struct verbs_area *out);
/** Facts of scope d->name. */
void verbs_memory_facts(const struct verbs_memory *m, json_t *facts);
/** Take both sides' registrations back. */
void verbs_forget_sides(struct verbs_memory *m);

#endif
