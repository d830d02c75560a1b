/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_COLLECTIVE_H
#define LIB_DATA_RECORD_COLLECTIVE_H

#include "lib/data/record.h"

/** The collectives, as in the column op. */
enum collective {
	COLLECTIVE_ALLREDUCE,
	COLLECTIVE_ALLGATHER,
	COLLECTIVE_REDUCESCATTER,
	COLLECTIVE_BROADCAST,
	COLLECTIVE_REDUCE,
	COLLECTIVE_ALLTOALL,
	COLLECTIVE_SENDRECV,
	COLLECTIVES
};

/** "allreduce", "allgather", ... */
const char *collective_name(enum collective c);
/** COLLECTIVES when @text is none. */
enum collective collective_parse(const char *text);
/**
 * Bus bandwidth over algorithm bandwidth for @ranks ranks, as in
 * PERFORMANCE.md of nccl-tests; 1 for a single rank, where it has no meaning.
 */
double collective_bus_factor(enum collective c, int64_t ranks);

/**
 * One line of results.csv of allreduce and its kin: one size, in place or
 * not.  time_us is the mean, as nccl-tests prints it.
 */
struct collective_row {
	char op[16];		/* collective_name(), "" = not known */
	char variant[64];	/* what tells apart the variants of one run */
	char table[96];		/* heading of an imported table */
	char lib[160];		/* version or path of the library */
	char algo[32];
	char proto[16];
	int64_t ranks;
	int64_t nodes;
	char dtype[16];
	char redop[16];
	int64_t root;
	int64_t size_B;
	int64_t count;		/* elements */
	int64_t inplace;	/* 0, 1 */
	int64_t iters;
	double time_us;
	double time_med_us;
	double time_min_us;
	double time_max_us;
	double time_p99_us;
	double algbw_GB_s;	/* size / mean time; 10^9 bytes per second */
	double busbw_GB_s;
	int64_t wrong;		/* elements that came out wrong */
	enum outcome outcome;
	char code[48];
	char detail[400];
	char start_utc[32];
};

extern const struct schema schema_collective;

#endif
