/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_GPU_H
#define PROBES_HOST_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "probes/dl/cuda.h"
#include "probes/host/gpu_state.h"

/* ---- gpu kernels --------------------------------------------------------- */

/**
 * Kernels for the GPU: PTX text that the driver compiles, so that no nvcc is
 * needed, for every GPU since Pascal.  The first two are pattern.h, for any
 * grid; the third is for one thread.
 *
 * pattern_fill(u64 mem, u64 words, u64 seed, u64 flip)
 *	Write @words 64-bit words, each XORed with @flip: 0, or all ones for a
 *	buffer in which every byte is wrong.
 * pattern_check(u64 mem, u64 bytes, u64 seed, u64 wrong)
 *	Add to *@wrong how many of the first @bytes bytes differ.
 * gate(u64 word, u64 ticket, u64 limit_ns)
 *	Wait until *@word reaches @ticket, for @limit_ns at most.
 */
extern const char gpu_kernels_ptx[];

#define GPU_KERNEL_FILL	 "pattern_fill"
#define GPU_KERNEL_CHECK "pattern_check"
#define GPU_KERNEL_GATE	 "gate"

/** %i = number of this thread in the grid, %step = threads in the grid;
 *  spoils %r1 to %r4 and %rd1. */
#define PTX_THREAD_INDEX \
	"	mov.u32		%r1, %ctaid.x;\n" \
	"	mov.u32		%r2, %ntid.x;\n" \
	"	mov.u32		%r3, %tid.x;\n" \
	"	mul.wide.u32	%i, %r1, %r2;\n" \
	"	cvt.u64.u32	%rd1, %r3;\n" \
	"	add.u64		%i, %i, %rd1;\n" \
	"	mov.u32		%r4, %nctaid.x;\n" \
	"	mul.wide.u32	%step, %r4, %r2;\n"

/* ---- gpu ----------------------------------------------------------------- */

/**
 * One GPU as a transport uses it: primary context, one stream, a send and a
 * receive buffer, time stamps, and the data check.  Calls queue work on the
 * stream and return the driver's code; only gpu_open(), gpu_reserve(),
 * gpu_drain() and the host's version of the check wait.
 */
#define GPU_STAMPS 128		/* events for time stamps */

enum gpu_buffer { GPU_SEND, GPU_RECV, GPU_BUFFERS };

/** 64-bit words that GPU and host share. */
enum gpu_word {
	GPU_WORD_WRONG,		/* bytes that the check found changed */
	GPU_WORD_MINE,		/* the word of this end ... */
	GPU_WORD_THEIRS,	/* ... and the other end's word */
	GPU_WORD_GATE,		/* the last gate that is open */
	GPU_WORDS
};

struct gpu {
	const struct cuda *cu;
	CUdevice dev;
	bool opened;		/* we are one of those that hold it */
	CUstream stream;
	CUevent stamps[GPU_STAMPS];
	CUdeviceptr buf[GPU_BUFFERS];
	uint64_t buf_bytes;	/* of each */
	CUdeviceptr words;	/* GPU_WORDS of them, on the GPU ... */
	uint64_t *host_words;	/* ... and pinned here */
	void *stage;		/* pinned; only without kernels */
	CUfunction fill, check, gate;	/* NULL: the driver refused them */
	uint64_t gates;		/* closed so far */
	char no_kernel[64];	/* and why */
	struct gpu_id id;
};

/**
 * Take GPU @index of those that CUDA enumerates.
 * Returns 0, or -1 with @e and *@code: gpu_missing, cuda_missing or the
 * driver's own.
 */
int gpu_open(struct gpu *g, int index, const char **code, struct err *e);

/** Load the kernel @name of the module @ptx; *@fn is NULL on failure. */
CUresult gpu_kernel(const struct gpu *g, const char *ptx, const char *name,
		    CUfunction *fn);
/** Queue @fn on a grid of @blocks of @threads. */
CUresult gpu_launch(struct gpu *g, CUfunction fn, unsigned blocks,
		    unsigned threads, void **params);

/** Copy a shared word to the GPU / back to the host; queued. */
CUresult gpu_word_push(struct gpu *g, enum gpu_word w);
CUresult gpu_word_pull(struct gpu *g, enum gpu_word w);
/** Its address on the GPU. */
CUdeviceptr gpu_word_at(const struct gpu *g, enum gpu_word w);

/** How many GPUs CUDA enumerates; -1 with @e.  Initialises CUDA. */
int gpu_count(const char **code, struct err *e);

/** Ask CUDA for the identity of GPU @index, after gpu_count(). Returns 0 or
 *  -1. */
int gpu_identify(int index, struct gpu_id *id);

/** Buffers of at least @bytes; contents are lost when they grow. */
CUresult gpu_reserve(struct gpu *g, uint64_t bytes);

/** Put the pattern, or with @poison what is wrong in every byte, into @b. */
CUresult gpu_fill(struct gpu *g, enum gpu_buffer b, uint64_t bytes,
		  uint64_t seed, bool poison, int64_t deadline_ns);

/** Set the count of wrong bytes to 0; queued. */
CUresult gpu_check_begin(struct gpu *g);
/** Count wrong bytes of GPU_RECV; queued, added to the count. */
CUresult gpu_check(struct gpu *g, uint64_t bytes, uint64_t seed,
		   int64_t deadline_ns);
/** The count so far; waits for the stream. */
CUresult gpu_check_end(struct gpu *g, uint64_t *wrong, int64_t deadline_ns);

/** Wait until the stream is empty; CUDA_ERROR_NOT_READY at @deadline_ns. */
CUresult gpu_drain(struct gpu *g, int64_t deadline_ns);
/** The same where @rc says that there is something to wait for; else @rc. */
CUresult gpu_drained(struct gpu *g, CUresult rc, int64_t deadline_ns);

/**
 * Hold the stream here until gpu_release(), so that the host has queued all of
 * a measurement before its first time stamp passes: else the stamps tell how
 * fast the host queues.  Without kernels it does nothing.  Whatever is queued
 * behind it must fit the GPU's queue, GPU_HOLD_MAX operations.
 */
#define GPU_HOLD_MAX 64
CUresult gpu_hold(struct gpu *g);
void gpu_release(struct gpu *g);

/** Explain the CUDA error @rc by @code and @e: the driver's words; for out of
 *  memory, GPU_BUSY or GPU_IN_USE (gpu_holders.h) also the processes that hold
 *  it; or GPU_LOST (gpu_refusal.h). */
void gpu_trouble(const struct gpu *g, CUresult rc, char code[DL_CUDA_CODE],
		 struct err *e);
/** The driver said @rc while @doing: -1 with @e and *@code as gpu_open(). */
int gpu_refused(const struct gpu *g, CUresult rc, const char *doing,
		const char **code, struct err *e);

/** Seconds between two stamps that have been recorded and passed. */
CUresult gpu_seconds(struct gpu *g, int from, int to, double *s);

#endif
