/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/link.h"

/* ---- gpu ----------------------------------------------------------------- */

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "lib/base/limit.h"
#include "probes/host/port.h"

/* Allocations of this size begin on a page of their own, as dma-buf wants. */
#define WHOLE_BYTES (UINT64_C(2) << 20)

static void verbs_forget_sides(struct verbs_memory *m);

/* Count the folders that the paths of the GPU and the HCA @at share. */
static int nearness(int gpu, const struct pcie_place *at)
{
	struct pcie_place place;
	struct gpu_id id;

	if (gpu_identify(gpu, &id) < 0) {
		return -1;
	}
	pcie_find("", id.bus, &place);
	return pcie_common(place.path, at->path);
}

/* Return the @index-th of the GPUs nearest to @hca. */
static int nearest(int count, const char *hca, int index)
{
	struct pcie_place at;
	int best = -1, n = 0;

	pcie_find_hca("", hca, &at);
	if (at.path[0] == '\0') {
		return index % count;	/* soft-RoCE is as near to each */
	}
	for (int i = 0; i < count; i++) {
		int near = nearness(i, &at);

		n = near > best ? 1 : n + (near == best);
		best = near > best ? near : best;
	}
	index %= n;
	for (int i = 0; i < count; i++) {
		if (nearness(i, &at) == best && index-- == 0) {
			return i;
		}
	}
	return 0;
}

/* Register both buffers of the GPU; 0 or an errno. */
static int register_all(struct verbs_memory *m, bool dmabuf)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int rc = 0;

	m->how = dmabuf ? "/dmabuf" : "/peermem";
	m->relaxed = m->d->relaxed.value != 0;
	if (dmabuf && (m->d->v->reg_dmabuf_mr == NULL ||
		       m->gpu->cu->mem_handle == NULL)) {
		return EOPNOTSUPP;
	}
	for (int i = 0; i < VERBS_SIDES && rc == 0; i++) {
		CUdeviceptr buf = m->gpu->buf[i];
		uint64_t offset = dmabuf ? buf % page : 0;
		uint64_t bytes = (offset + m->bytes + page - 1) / page * page;
		int fd = -1;

		if (dmabuf && m->gpu->cu->mem_handle(&fd, buf - offset, bytes,
						     DL_CUDA_DMABUF_FD,
						     0) != CUDA_SUCCESS) {
			return EOPNOTSUPP;
		}
		rc = verbs_register(m->d, buf, m->bytes, fd, offset,
				    &m->relaxed, &m->side[i]);
		if (fd >= 0) {
			close(fd); /* the registration holds it */
		}
	}
	return rc;
}

/* Open the GPU that shares the longest way of PCI bridges with the HCA, of
 * several equal ones the @index-th, counted round, as m->gpu; with buffers of
 * m->bytes each, registered with m->d: by dma-buf, else by nvidia-peermem, and
 * m->how says which.  0, or -1 with @e and *@code. */
static int verbs_gpu_open(struct verbs_memory *m, int index, const char **code,
			  struct err *e)
{
	uint64_t bytes = m->bytes > WHOLE_BYTES ? m->bytes : WHOLE_BYTES;
	int count = gpu_count(code, e), dmabuf, peermem;
	CUresult rc;

	if (count < 0) {
		return -1;
	}
	if (count == 0) {
		*code = "gpu_missing";
		return err_set(e, ENODEV, "there is no GPU");
	}
	m->gpu = calloc(1, sizeof(*m->gpu));
	if (m->gpu == NULL) {
		*code = LIMIT_MEMORY;
		return err_set(e, ENOMEM, "no memory for a GPU");
	}
	if (gpu_open(m->gpu, nearest(count, m->d->hca, index), code, e) < 0) {
		return -1;
	}
	rc = gpu_reserve(m->gpu, bytes);
	if (rc != CUDA_SUCCESS) {
		*code = "no_memory";
		return err_set(e, 0, "no memory on the GPU: %s",
			       dl_cuda_text(m->gpu->cu, rc));
	}
	if ((dmabuf = register_all(m, true)) == 0) {
		return 0;
	}
	verbs_forget_sides(m);
	if ((peermem = register_all(m, false)) == 0) {
		return 0;
	}
	*code = "gpu_memory";
	return err_set(e, 0,
		       "%s cannot register memory of %s: dma-buf: %s, "
		       "nvidia-peermem: %s",
		       m->d->name, m->gpu->id.name, strerror(dmabuf),
		       strerror(peermem));
}

#endif

/* ---- area ---------------------------------------------------------------- */

/* Memory that an HCA may read and write. */

#if HAVE_VERBS

/* One attempt; NULL with errno. */
static struct ibv_mr *reg_mr(const struct verbs_device *d, uint64_t addr,
			     size_t bytes, int fd, uint64_t offset, int access)
{
	void *at = (void *)(uintptr_t)addr;

	errno = 0;
	return fd >= 0 ? d->v->reg_dmabuf_mr(d->pd, offset, bytes, addr, fd,
					     access) :
	       /* the older call takes no access that is optional */
	       access != VERBS_ALL_ACCESS ?
			 d->v->reg_mr_iova2(d->pd, at, bytes, addr,
					    (unsigned int)access) :
			 d->v->reg_mr(d->pd, at, bytes, access);
}

int verbs_register(const struct verbs_device *d, uint64_t addr, size_t bytes,
		   int fd, uint64_t offset, bool *relaxed,
		   struct verbs_area *out)
{
	struct ibv_mr *mr = NULL;

	*relaxed = *relaxed && d->v->reg_mr_iova2 != NULL;
	if (*relaxed) {
		mr = reg_mr(d, addr, bytes, fd, offset,
			    VERBS_ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING);
		*relaxed = mr != NULL;
	}
	if (mr == NULL) {
		mr = reg_mr(d, addr, bytes, fd, offset, VERBS_ALL_ACCESS);
	}
	if (mr == NULL) {
		return errno != 0 ? errno : EIO;
	}
	*out = (struct verbs_area){
		.addr = addr,
		.local_key = mr->lkey,
		.remote_key = mr->rkey,
		.mr = mr,
	};
	return 0;
}

void *verbs_area_new(const struct verbs_device *d, size_t bytes, bool *relaxed,
		     struct verbs_area *out, const char **code, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *mem = aligned_alloc(page, (bytes + page - 1) / page * page);
	int rc;

	if (mem == NULL) {
		*code = LIMIT_MEMORY;
		err_set(e, ENOMEM, "no memory for buffers of %zu bytes",
			bytes);
		return NULL;
	}
	memset(mem, 0, bytes);
	rc = verbs_register(d, (uint64_t)(uintptr_t)mem, bytes, -1, 0, relaxed,
			    out);
	if (rc != 0) {
		verbs_call_fault(d, VERBS_REG_MR, rc, code, e);
		free(mem);
		return NULL;
	}
	return mem;
}

/* Take both sides' registrations back. */
static void verbs_forget_sides(struct verbs_memory *m)
{
	for (int i = 0; i < VERBS_SIDES; i++) {
		if (m->side[i].mr != NULL) {
			m->d->v->dereg_mr(m->side[i].mr);
		}
		m->side[i] = (struct verbs_area){ 0 };
	}
}

#endif

/* ---- memory -------------------------------------------------------------- */

#if HAVE_VERBS

#include <stdio.h>

#include "lib/base/hash.h"

int verbs_memory_open(struct verbs_memory *m, const struct verbs_device *d,
		      size_t bytes, int gpu, const char **code, struct err *e)
{
	*m = (struct verbs_memory){
		.d = d, .bytes = bytes, .how = "",
		.relaxed = d->relaxed.value != 0,
	};
	if (gpu >= 0) {
		return verbs_gpu_open(m, gpu, code, e);
	}
	for (int i = 0; i < VERBS_SIDES; i++) {
		m->host[i] = verbs_area_new(d, bytes, &m->relaxed, &m->side[i],
					    code, e);
		if (m->host[i] == NULL) {
			return -1;
		}
	}
	return 0;
}

/* The GPU's own memory goes with the process, as its context does. */
void verbs_memory_close(struct verbs_memory *m)
{
	verbs_forget_sides(m);
	for (int i = 0; i < VERBS_SIDES; i++) {
		free(m->host[i]);
	}
	free(m->gpu);
	memset(m, 0, sizeof(*m));
}

static int gpu_said(struct verbs_memory *m, CUresult rc, const char *doing)
{
	if (rc != CUDA_SUCCESS) {
		snprintf(m->fault, sizeof(m->fault), "%s: %s", doing,
			 dl_cuda_text(m->gpu->cu, rc));
	}
	return rc == CUDA_SUCCESS ? 0 : -1;
}

static int fill_gpu(struct verbs_memory *m, enum gpu_buffer b, size_t bytes,
		    uint64_t seed, int64_t deadline_ns)
{
	CUresult rc = gpu_fill(m->gpu, b, bytes, seed, b == GPU_RECV,
			       deadline_ns);

	return gpu_said(m, gpu_drained(m->gpu, rc, deadline_ns),
			"filling a buffer of the GPU");
}

int verbs_memory_fill(struct verbs_memory *m, enum verbs_side side,
		      size_t bytes, uint64_t seed, int64_t deadline_ns)
{
	if (m->gpu != NULL) {
		return fill_gpu(m, side == VERBS_SEND ? GPU_SEND : GPU_RECV,
				bytes, seed, deadline_ns);
	}
	if (side == VERBS_SEND) {
		pattern_fill(m->host[side], bytes, seed);
	} else {
		memset(m->host[side], 0, bytes);
	}
	return 0;
}

void verbs_memory_spoil(struct verbs_memory *m, size_t bytes)
{
	if (m->gpu != NULL) {
		/* any other pattern will do; a failure shows at the check */
		fill_gpu(m, GPU_RECV, bytes, 0, INT64_MAX);
	} else {
		pattern_spoil(m->host[VERBS_RECV], bytes);
	}
}

int64_t verbs_memory_wrong(struct verbs_memory *m, size_t bytes, uint64_t seed,
			   int64_t deadline_ns)
{
	uint64_t wrong = 0;
	CUresult rc;

	if (m->gpu == NULL) {
		return (int64_t)pattern_wrong(m->host[VERBS_RECV], bytes, seed);
	}
	if ((rc = gpu_check_begin(m->gpu)) == CUDA_SUCCESS &&
	    (rc = gpu_check(m->gpu, bytes, seed, deadline_ns)) ==
		    CUDA_SUCCESS) {
		rc = gpu_check_end(m->gpu, &wrong, deadline_ns);
	}
	return gpu_said(m, rc, "checking a buffer of the GPU") < 0 ?
		       -1 :
		       (int64_t)wrong;
}

#endif
