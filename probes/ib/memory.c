/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/memory.h"

#if HAVE_VERBS

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "lib/base/limit.h"
#include "lib/data/pattern.h"
#include "probes/ib/gpu.h"

static int open_host(struct verbs_memory *m, const char **code, struct err *e)
{
	for (int i = 0; i < VERBS_SIDES; i++) {
		m->host[i] = verbs_area_new(m->d, m->bytes, &m->relaxed,
					    &m->side[i], code, e);
		if (m->host[i] == NULL) {
			return -1;
		}
	}
	return 0;
}

int verbs_memory_open(struct verbs_memory *m, const struct verbs_device *d,
		      size_t bytes, int gpu, const char **code, struct err *e)
{
	*m = (struct verbs_memory){
		.d = d, .bytes = bytes, .how = "",
		.relaxed = d->relaxed.value != 0,
	};
	return gpu < 0 ? open_host(m, code, e) :
			 verbs_gpu_open(m, gpu, code, e);
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

void verbs_memory_facts(const struct verbs_memory *m, json_t *facts)
{
	struct verbs_setting s = m->d->relaxed;

	if (s.value != 0 && !m->relaxed) {
		s.source = "refused";
	}
	s.value = m->relaxed;
	verbs_setting_fact(m->d, facts, "relaxed_ordering", &s);
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

static int64_t wrong_on_gpu(struct verbs_memory *m, size_t bytes,
			    uint64_t seed, int64_t deadline_ns)
{
	uint64_t wrong = 0;
	CUresult rc;

	if ((rc = gpu_check_begin(m->gpu)) == CUDA_SUCCESS &&
	    (rc = gpu_check(m->gpu, bytes, seed, deadline_ns)) ==
		    CUDA_SUCCESS) {
		rc = gpu_check_end(m->gpu, &wrong, deadline_ns);
	}
	return gpu_said(m, rc, "checking a buffer of the GPU") < 0 ?
		       -1 : (int64_t)wrong;
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
	return m->gpu != NULL ?
		       wrong_on_gpu(m, bytes, seed, deadline_ns) :
		       (int64_t)pattern_wrong(m->host[VERBS_RECV], bytes,
					      seed);
}

#endif
