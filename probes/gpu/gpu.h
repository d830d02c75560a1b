/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_GPU_H
#define PROBES_GPU_GPU_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "probes/host/gpu.h"

struct node_args;

/* ---- dcgm ---------------------------------------------------------------- */

/** A failure that dcgmi diag reports: one test on one GPU, or on the node. */
struct dcgm_found {
	int gpu;		/* as NVML counts; -1 = the node */
	bool fail;		/* else a warning, or a setting of the node */
	char test[48];
	char words[320];	/* its own */
};
#define DCGM_FOUND_MAX 256	/* more are left out */

/**
 * Read what "dcgmi diag -j" prints, of DCGM 3 ("DCGM GPU Diagnostic", results
 * by gpu_ids) and 4 ("DCGM Diagnostic", by entity); lines before the JSON
 * are skipped.  Pure.  Returns how many failures it has, in @list, or -1 with
 * @e: it is none, or says that it failed.
 */
int dcgm_parse(const char *text, size_t len,
	       struct dcgm_found list[DCGM_FOUND_MAX], struct err *e);

/* ---- drills -------------------------------------------------------------- */

/** Effect of a drill on the tests of one GPU. */
struct gpu_drill {
	double h2d, d2h, copy;	/* factors of bandwidth */
	double wrong;		/* rate of wrong results */
	bool busy, dead;
};
/** Begins what a GPU (its index, its node) says of a drill. */
#define GPU_DRILL "(drill) GPU %lld of %s"

/* ---- kernels ------------------------------------------------------------- */

/**
 * Kernels of the GPU tests, as PTX text that the driver compiles.
 *
 * memory_check(u64 mem, u64 units, u64 seed, u64 flip, u64 found)
 *	Compare @units of 16 bytes, a multiple of four times the threads in the
 *	grid, with what pattern_fill (gpu_kernels.h) wrote.  Adds to @found[0]
 *	how many of the 64-bit words differ, takes the number of the first unit
 *	to @found[1] and the bits that differ to @found[2].
 * matrix(u64 sums, u64 sms, u32 rounds, u32 drill, u32 rate)
 *	The same arithmetic in every warp of every block.  Adds to @sums[block]
 *	what each of its threads made of its results, and says in @sms[block] on
 *	which multiprocessor it ran.  A block whose hash with @drill is below
 *	@rate has one bit flipped first: 0 = none.
 */
#define GPU_KERNEL_MEMORY "memory_check"
#define GPU_KERNEL_MATRIX "matrix"

extern const char gpu_memory_ptx[];
/* By tensor cores, from Ampere on; and by what every GPU since Pascal has.
 * Their results differ. */
extern const char gpu_matrix_ptx[], gpu_matrix_plain_ptx[];

/* ---- seat ---------------------------------------------------------------- */

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
/** Report the row as measured and good. */
void seat_good(struct gpu_seat *s);
/** Print the row with @outcome, @code and a sentence. */
void seat_say(struct gpu_seat *s, enum outcome outcome, const char *code,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Report that the driver said @rc while @doing; returns false. */
bool seat_refused(struct gpu_seat *s, CUresult rc, const char *doing);
/*
 * The tests: each says its rows, and returns false when the GPU is of no more
 * use.  All wait for the GPU without a deadline: the process that watches has
 * one.
 */
bool gpu_test_open(struct gpu_seat *s);
/** To the host and from it, one after the other and at once. */
bool gpu_test_link(struct gpu_seat *s);
/** The first two by memory of the other socket; with all GPUs at once. */
bool gpu_test_far(struct gpu_seat *s);
bool gpu_test_parallel(struct gpu_seat *s);
/** Copies inside its memory. */
bool gpu_test_copy(struct gpu_seat *s);
/** The same, then all of what is free of it with a pattern. */
bool gpu_test_memory(struct gpu_seat *s);
/** The same arithmetic again and again, for spec.compute_ns. */
bool gpu_test_compute(struct gpu_seat *s);

/* ---- gpu ----------------------------------------------------------------- */

/** The gpu probe, as probes/probe.c lists it: see struct probe.  Each GPU is
 *  tested in a process of its own, so that a driver that hangs, or a GPU that
 *  is lost, costs that GPU's rows alone. */
int gpu_child(const struct node_args *args, struct err *e);
/** Estimated duration of the tests of a healthy node, nanoseconds. */
int64_t gpu_takes_ns(const struct spec *s);

#endif
