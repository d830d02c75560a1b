/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/gpu.h"

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "lib/base/limit.h"
#include "probes/host/pcie.h"

/* Allocations of this size begin on a page of their own, as dma-buf wants. */
#define WHOLE_BYTES (UINT64_C(2) << 20)

/* How many folders of their way the GPU and the HCA @at have in common. */
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

/* Of the GPUs that are nearest to @hca the @index-th. */
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

static int by_dmabuf(struct verbs_memory *m, CUdeviceptr buf,
		     struct verbs_area *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t offset = buf % page;
	uint64_t bytes = (offset + m->bytes + page - 1) / page * page;
	int fd = -1, rc;

	if (m->d->v->reg_dmabuf_mr == NULL || m->gpu->cu->mem_handle == NULL ||
	    m->gpu->cu->mem_handle(&fd, buf - offset, bytes,
				   DL_CUDA_DMABUF_FD, 0) != CUDA_SUCCESS) {
		return EOPNOTSUPP;
	}
	rc = verbs_register(m->d, buf, m->bytes, fd, offset, &m->relaxed, out);
	close(fd);	/* the registration holds it */
	return rc;
}

static int register_all(struct verbs_memory *m, bool dmabuf)
{
	int rc = 0;

	m->how = dmabuf ? "/dmabuf" : "/peermem";
	m->relaxed = m->d->relaxed.value != 0;
	for (int i = 0; i < VERBS_SIDES && rc == 0; i++) {
		CUdeviceptr buf = m->gpu->buf[i];

		rc = dmabuf ? by_dmabuf(m, buf, &m->side[i]) :
			      verbs_register(m->d, buf, m->bytes, -1, 0,
					     &m->relaxed, &m->side[i]);
	}
	return rc;
}

static int register_gpu(struct verbs_memory *m, const char **code,
			struct err *e)
{
	uint64_t bytes = m->bytes > WHOLE_BYTES ? m->bytes : WHOLE_BYTES;
	CUresult rc = gpu_reserve(m->gpu, bytes);
	int dmabuf, peermem;

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
	return err_set(e, 0, "%s cannot register memory of %s: dma-buf: %s, "
		       "nvidia-peermem: %s", m->d->name, m->gpu->id.name,
		       strerror(dmabuf), strerror(peermem));
}

int verbs_gpu_open(struct verbs_memory *m, int index, const char **code,
		   struct err *e)
{
	int count = gpu_count(code, e);

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
	return gpu_open(m->gpu, nearest(count, m->d->hca, index), code, e) < 0 ?
		       -1 :
		       register_gpu(m, code, e);
}

#endif
