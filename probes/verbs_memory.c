/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/verbs_memory.h"

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "probes/pattern.h"

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ)

static void take_mr(struct verbs_area *a, struct ibv_mr *mr, uint64_t addr)
{
	*a = (struct verbs_area){
		.addr = addr,
		.local_key = mr->lkey,
		.remote_key = mr->rkey,
		.mr = mr,
	};
}

int verbs_register(const struct verbs_device *d, void *addr, size_t bytes,
		   struct verbs_area *out)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = d->v->reg_mr(d->pd, addr, bytes, ALL_ACCESS);
	if (mr == NULL) {
		return errno != 0 ? errno : EIO;
	}
	take_mr(out, mr, (uint64_t)(uintptr_t)addr);
	return 0;
}

static int open_host(struct verbs_memory *m, const char **code, struct err *e)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < VERBS_SIDES; i++) {
		int rc = posix_memalign(&m->host[i], page, m->bytes);

		if (rc != 0) {
			m->host[i] = NULL;
			*code = "no_memory";
			return err_set(e, rc, "no memory for buffers of %zu "
				       "bytes", m->bytes);
		}
		memset(m->host[i], 0, m->bytes);
		rc = verbs_register(m->d, m->host[i], m->bytes, &m->side[i]);
		if (rc != 0) {
			*code = verbs_call_fault(m->d, VERBS_REG_MR, rc, e);
			return -1;
		}
	}
	return 0;
}

int verbs_memory_open(struct verbs_memory *m, const struct verbs_device *d,
		      size_t bytes, int gpu, const char **code, struct err *e)
{
	(void)gpu;
	*m = (struct verbs_memory){ .d = d, .bytes = bytes, .how = "" };
	return open_host(m, code, e);
}

void verbs_memory_close(struct verbs_memory *m)
{
	for (int i = 0; i < VERBS_SIDES; i++) {
		if (m->side[i].mr != NULL) {
			m->d->v->dereg_mr(m->side[i].mr);
		}
		free(m->host[i]);
	}
	memset(m, 0, sizeof(*m));
}

int verbs_memory_fill(struct verbs_memory *m, enum verbs_side side,
		      size_t bytes, uint64_t seed, int64_t deadline_ns)
{
	(void)deadline_ns;
	if (side == VERBS_SEND) {
		pattern_fill(m->host[side], bytes, seed);
	} else {
		memset(m->host[side], 0, bytes);
	}
	return 0;
}

void verbs_memory_spoil(struct verbs_memory *m, size_t bytes)
{
	pattern_spoil(m->host[VERBS_RECV], bytes);
}

int64_t verbs_memory_wrong(struct verbs_memory *m, size_t bytes, uint64_t seed,
			   int64_t deadline_ns)
{
	(void)deadline_ns;
	return (int64_t)pattern_wrong(m->host[VERBS_RECV], bytes, seed);
}

#endif
