/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/stats.h"
#include "lib/base/str.h"
#include "probes/host/port.h"
#include "probes/host/sysfile.h"

#define LINK_BYTES   (UINT64_C(64) << 20)
#define LEAST_BYTES  (UINT64_C(1) << 20)
#define COPIES	     8		/* of a sample: 512 MiB */
#define SAMPLES	     7
#define SMALL_COPIES 48		/* behind one gate */
#define SMALL_BYTES  8
#define COPY_BYTES   (UINT64_C(1) << 30)	/* inside its memory */
#define COPY_LEAST_BYTES (UINT64_C(16) << 20)
#define COPY_SAMPLES 5
/* Share of the raw rate that is left for data with packets of 256 bytes,
 * headers of 26 and the link's own traffic (PCI Express Base Specification 5.0,
 * 2.2 and 3.5). 55.3 of 63.0 GB/s were measured on H200. */
#define LINK_EFFICIENCY 0.87

enum way { TO_GPU, TO_HOST, WAYS, INSIDE = WAYS };

/** Pinned, on the socket where this process is kept. */
struct host_memory {
	void *at[WAYS];
	uint64_t bytes;		/* of each */
	CUstream second;	/* for both ways at once */
};

static CUresult copy(struct gpu_seat *s, const struct host_memory *h,
		     enum way way, uint64_t bytes, CUstream stream)
{
	return way == INSIDE ?
		       s->gpu.cu->copy(s->gpu.buf[GPU_RECV],
				       s->gpu.buf[GPU_SEND], bytes, stream) :
	       way == TO_GPU ?
		       s->gpu.cu->copy_to_gpu(s->gpu.buf[GPU_RECV],
					      h->at[way], bytes, stream) :
		       s->gpu.cu->copy_to_host(h->at[way],
					       s->gpu.buf[GPU_SEND], bytes,
					       stream);
}

/* Read the link's current speed: an idle link goes down to save power. */
static void read_link(struct gpu_seat *s)
{
	char speed[24], width[8];

	if (sysfile_read(speed, sizeof(speed), "/sys/bus/pci/devices/%s/"
			 "current_link_speed", s->id.bus) > 0 &&
	    sysfile_read(width, sizeof(width), "/sys/bus/pci/devices/%s/"
			 "current_link_width", s->id.bus) > 0) {
		double rate = strtod(speed, NULL);
		long lanes = strtol(width, NULL, 10);
		/* generations 3 to 5 send 130 bits for 128; those before 10
		 * for 8; of a flit of 256 bytes 236 are packets */
		double coded = rate < 8 ? 0.8 : rate > 32 ? 236.0 / 256 :
							    128.0 / 130;

		if (rate > 0 && lanes > 0) {
			snprintf(s->row->link, sizeof(s->row->link),
				 "%.1f GT/s x%ld", rate, lanes);
			s->row->expected_GB_s = rate * (double)lanes / 8 *
						coded * LINK_EFFICIENCY;
		}
	}
}

/** @n copies behind a gate: the seconds, by the GPU's clock. */
static CUresult timed(struct gpu_seat *s, const struct host_memory *h,
		      enum way way, uint64_t bytes, int n, double *seconds)
{
	struct gpu *g = &s->gpu;
	CUresult rc = gpu_hold(g);

	if (rc == CUDA_SUCCESS) {
		rc = g->cu->event_record(g->stamps[0], g->stream);
	}
	for (int i = 0; i < n && rc == CUDA_SUCCESS; i++) {
		rc = copy(s, h, way, bytes, g->stream);
	}
	if (rc == CUDA_SUCCESS) {
		rc = g->cu->event_record(g->stamps[1], g->stream);
	}
	gpu_release(g);
	if (way != INSIDE && bytes > SMALL_BYTES) {
		read_link(s);
	}
	rc = gpu_drained(g, rc, INT64_MAX);
	return rc == CUDA_SUCCESS ? gpu_seconds(g, 0, 1, seconds) : rc;
}

/** The median of @samples of @n copies: the seconds of one copy. */
static CUresult sampled(struct gpu_seat *s, const struct host_memory *h,
			enum way way, uint64_t bytes, int n, int samples,
			double *copy_s)
{
	CUresult rc = CUDA_SUCCESS;
	double v[SAMPLES];

	for (int i = 0; i < samples && rc == CUDA_SUCCESS; i++) {
		rc = timed(s, h, way, bytes, n, &v[i]);
	}
	*copy_s = rc == CUDA_SUCCESS ? stats_median(v, (size_t)samples) / n :
				       NAN;
	return rc;
}

/** The row of one way; the latency, too, where no other GPU disturbs it. */
static bool one_way(struct gpu_seat *s, const struct host_memory *h,
		    enum way way, bool alone)
{
	double factor = way == TO_GPU ? s->drill.h2d : s->drill.d2h;
	double large_s = NAN, small_s = NAN;
	CUresult rc = timed(s, h, way, h->bytes, 1, &large_s);

	if (rc == CUDA_SUCCESS) {
		rc = sampled(s, h, way, h->bytes, COPIES, SAMPLES, &large_s);
		s->row->bw_GB_s = (double)h->bytes / large_s / 1e9 * factor;
	}
	if (rc == CUDA_SUCCESS && alone) {
		rc = sampled(s, h, way, SMALL_BYTES, SMALL_COPIES, SAMPLES,
			     &small_s);
		s->row->lat_us = small_s * 1e6;
	}
	if (rc != CUDA_SUCCESS) {
		return seat_refused(s, rc, "a copy");
	}
	s->row->size_B = (int64_t)h->bytes;
	s->row->count = SAMPLES * COPIES;
	seat_good(s);
	return true;
}

/* Both streams are full for all of the time but the first and last copy. */
static bool both_ways(struct gpu_seat *s, const struct host_memory *h)
{
	CUresult rc = CUDA_SUCCESS;
	int64_t begun = clock_now_ns();

	for (int i = 0; i < SAMPLES * COPIES && rc == CUDA_SUCCESS; i++) {
		rc = copy(s, h, TO_GPU, h->bytes, s->gpu.stream);
		if (rc == CUDA_SUCCESS) {
			rc = copy(s, h, TO_HOST, h->bytes, h->second);
		}
	}
	read_link(s);
	rc = gpu_drained(&s->gpu, rc, INT64_MAX);
	while (rc == CUDA_SUCCESS &&
	       (rc = s->gpu.cu->stream_query(h->second)) ==
		       CUDA_ERROR_NOT_READY) {
		clock_sleep(10 * NS_PER_US);
		rc = CUDA_SUCCESS;
	}
	if (rc != CUDA_SUCCESS) {
		return seat_refused(s, rc, "copies both ways");
	}
	s->row->bw_GB_s = 2.0 * (double)h->bytes * SAMPLES * COPIES /
			  (double)(clock_now_ns() - begun) *
			  fmin(s->drill.h2d, s->drill.d2h);
	s->row->expected_GB_s = NAN;	/* hosts differ in what they take */
	s->row->size_B = (int64_t)h->bytes;
	s->row->count = SAMPLES * COPIES;
	seat_good(s);
	return true;
}

/** The next row has what was said of the memory, too. */
static void begin_next(struct gpu_seat *s, const char *test)
{
	char detail[sizeof(s->row->detail)];

	STR_COPY(detail, s->row->detail);
	seat_begin(s, test);
	STR_COPY(s->row->detail, detail);
}

/** The two ways as tests @names, then both at once as test @both (NULL: no). */
static bool link_tests(struct gpu_seat *s, const char *const names[WAYS],
		       const char *both, bool alone)
{
	const struct cuda *cu = s->gpu.cu;
	struct host_memory h = { .bytes = LINK_BYTES };
	CUresult rc;

	seat_begin(s, names[TO_GPU]);
	/* as much as the host locks: a cgroup may limit it */
	while ((rc = cu->mem_alloc_host(&h.at[TO_GPU], WAYS * h.bytes)) ==
		       CUDA_ERROR_OUT_OF_MEMORY &&
	       h.bytes > LEAST_BYTES) {
		h.bytes /= 2;
	}
	if (rc == CUDA_SUCCESS) {
		memset(h.at[TO_GPU], 1, WAYS * h.bytes);
		h.at[TO_HOST] = (char *)h.at[TO_GPU] + h.bytes;
		rc = gpu_reserve(&s->gpu, h.bytes);
	}
	if (rc == CUDA_SUCCESS) {
		rc = cu->stream_create(&h.second, CU_STREAM_NON_BLOCKING);
	}
	if (rc != CUDA_SUCCESS) {
		return seat_refused(s, rc, "getting pinned memory");
	}
	if (h.bytes < LINK_BYTES) {
		snprintf(s->row->detail, sizeof(s->row->detail),
			 "of %d MiB of pinned memory the host has %d",
			 (int)(WAYS * LINK_BYTES >> 20),
			 (int)(WAYS * h.bytes >> 20));
	}
	if (!one_way(s, &h, TO_GPU, alone)) {
		return false;
	}
	begin_next(s, names[TO_HOST]);
	if (!one_way(s, &h, TO_HOST, alone)) {
		return false;
	}
	if (both != NULL) {
		begin_next(s, both);
	}
	return both == NULL || both_ways(s, &h);
}

bool gpu_test_link(struct gpu_seat *s)
{
	static const char *const names[] = { GPU_TEST_H2D, GPU_TEST_D2H };

	return link_tests(s, names, GPU_TEST_BOTH, true);
}

bool gpu_test_far(struct gpu_seat *s)
{
	static const char *const names[] = { GPU_TEST_FAR_H2D,
					     GPU_TEST_FAR_D2H };
	bool good;

	if (!pin_far_from(s->id.bus)) {
		seat_begin(s, names[TO_GPU]);
		seat_say(s, OUTCOME_SKIPPED, GPU_ONE_SOCKET, "the host has no "
			 "other socket for us");
		return true;
	}
	good = link_tests(s, names, NULL, true);
	pin_to_device(s->id.bus);
	return good;
}

bool gpu_test_parallel(struct gpu_seat *s)
{
	static const char *const names[] = { GPU_TEST_ALL_H2D,
					     GPU_TEST_ALL_D2H };

	return link_tests(s, names, NULL, false);
}

bool gpu_test_copy(struct gpu_seat *s)
{
	uint64_t bytes = COPY_BYTES;
	double copy_s;
	CUresult rc;

	seat_begin(s, GPU_TEST_COPY);
	while ((rc = gpu_reserve(&s->gpu, bytes)) ==
		       CUDA_ERROR_OUT_OF_MEMORY &&
	       bytes > COPY_LEAST_BYTES) {
		bytes /= 2;
	}
	if (rc == CUDA_SUCCESS) {
		rc = sampled(s, NULL, INSIDE, bytes, COPIES, COPY_SAMPLES,
			     &copy_s);
	}
	if (rc != CUDA_SUCCESS) {
		return seat_refused(s, rc, "a copy inside its memory");
	}
	/* each byte is read and written */
	s->row->bw_GB_s = 2.0 * (double)bytes / copy_s / 1e9 * s->drill.copy;
	s->row->size_B = (int64_t)bytes;
	s->row->count = (int64_t)COPY_SAMPLES * COPIES;
	seat_good(s);
	return true;
}
