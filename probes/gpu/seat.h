/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_SEAT_H
#define PROBES_GPU_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/data/record_gpu.h"
#include "lib/spec/spec.h"
#include "probes/gpu/drills.h"
#include "probes/host/gpu.h"

/** A GPU under test, in the process that tests it. */
struct gpu_seat {
	struct gpu gpu;
	struct gpu_id id;
	struct gpu_drill drill;
	const struct spec *spec;
	struct gpu_row *row;	/* of the test at work; shared with the process
				 * that watches, which says it if we cannot */
	int64_t began_ns;
};

/** A row of @test, with nothing measured. */
void seat_begin(struct gpu_seat *s, const char *test);
/** It is measured, and good: say it. */
void seat_good(struct gpu_seat *s);
/** It is measured, and what came out is wrong: say so, with @code and how. */
void seat_wrong(struct gpu_seat *s, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** It is not, as the driver said @rc while @doing; returns false. */
bool seat_refused(struct gpu_seat *s, CUresult rc, const char *doing);
/** It was left out: @code and why. */
void seat_skip(struct gpu_seat *s, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The tests: each says its rows, and returns false when the GPU is of no more
 * use.  All wait for the GPU without a deadline of their own: who watches has
 * it.
 */
bool gpu_test_open(struct gpu_seat *s);
/** To the host and from it, one after the other and at once. */
bool gpu_test_link(struct gpu_seat *s);
/** The first two by memory of the other socket; with all GPUs at once. */
bool gpu_test_far(struct gpu_seat *s);
bool gpu_test_parallel(struct gpu_seat *s);
/** Copies inside its memory, then all of what is free of it with a pattern. */
bool gpu_test_memory(struct gpu_seat *s);
/** The same arithmetic again and again, for spec.compute_ns. */
bool gpu_test_compute(struct gpu_seat *s);

#endif
