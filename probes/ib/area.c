/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that an HCA may read and write. */
#include "probes/ib/memory.h"

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "lib/base/limit.h"

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

void verbs_forget_sides(struct verbs_memory *m)
{
	for (int i = 0; i < VERBS_SIDES; i++) {
		if (m->side[i].mr != NULL) {
			m->d->v->dereg_mr(m->side[i].mr);
		}
		m->side[i] = (struct verbs_area){ 0 };
	}
}

#endif
