/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_COLLECTIVE_H
#define LIB_DATA_RECORD_COLLECTIVE_H

#include "lib/data/record.h"

/** How the note of a run begins that says that bisect has compared, and found
 *  nothing. */
#define RECORD_ALIKE "bisect: no half is slower than the other"

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
/** Bytes that one operation of @size_B sends from node to node, about: each
 *  boundary is crossed by what the bus carries once, of alltoall by the share
 *  of each rank for the others. */
double collective_bytes_between(enum collective c, int64_t ranks,
				int64_t nodes, double size_B);

/**
 * One line of results.csv of allreduce and its kin: one size, in place or
 * not.  time_us is the mean, as nccl-tests prints it.
 */
#define COLLECTIVE_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(op, 16, "the collective: allreduce, allgather, ...") \
	TEXT(variant, 64, "which of the compared settings") \
	TEXT(table, 96, "heading of the table in an imported file") \
	TEXT(lib, 160, "version or path of the library") \
	TEXT(algo, 32, "algorithm, as the library calls it") \
	TEXT(proto, 16, "protocol, as the library calls it") \
	INT(ranks, "ranks that took part") \
	INT(nodes, "nodes that took part") \
	TEXT(dtype, 16, "type of the elements") \
	TEXT(redop, 16, "reduction: sum, prod, min, max, avg, none") \
	INT(root, "root rank; -1 = the collective has none") \
	INT(size_B, "bytes, counted as nccl-tests does") \
	INT(count, "elements, counted as nccl-tests does") \
	INT(inplace, "1: the result overwrites the input") \
	INT(iters, "operations timed") \
	REAL(time_us, "mean time of one, microseconds") \
	REAL(time_med_us, "median time, microseconds") \
	REAL(time_min_us, "shortest time, microseconds") \
	REAL(time_max_us, "longest time, microseconds") \
	REAL(time_p99_us, "99th percentile, microseconds") \
	REAL(algbw_GB_s, \
	     "algorithm bandwidth: size over time, 10^9 bytes per second") \
	REAL(busbw_GB_s, \
	     "bus bandwidth: rate of the links, 10^9 bytes per second") \
	INT(wrong, "elements with a wrong result") \
	OUTCOME(outcome, \
		"ok, error, timeout, crashed, corrupt, skipped, not_run") \
	TEXT(code, 48, "kind of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence") \
	TEXT(start_utc, 32, "when it began, RFC 3339") \
	INT(verified, "operations that --verify checked") \
	INT(verified_wrong, "of these: with a wrong result at any rank") \
	TEXT(wrong_ranks, 160, "ranks that had it, as RANK=OPERATIONS")
struct collective_row {
	RECORD_FIELDS(COLLECTIVE_COLUMNS)
};

extern const struct schema schema_collective;

#endif
