/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_HANG_H
#define LIB_DATA_RECORD_HANG_H

#include "lib/data/record.h"

/* Values of the column ras: what NCCL's own watch says of a process. */
#define HANG_RAS_ANSWERS "answers"
#define HANG_RAS_MISSING "missing"	/* it has not said anything lately */
#define HANG_RAS_DEAD	 "dead"		/* its connection is closed */
#define HANG_RAS_NONE	 "none"		/* nobody there to be asked */

/** How often RAS is asked. */
#define HANG_LOOKS 3

/** A process that is not there any more, in the column state. */
#define HANG_GONE "X"

/** Fact of a node: processes of the job that the kernel has killed there for
 *  want of memory. */
#define HANG_OOM "job_oom_kills"

/* Facts of a node: what its kernel has written since the job began. */
#define HANG_KERNEL_XID	 "kernel_xid"	/* a GPU has reported an error */
#define HANG_KERNEL_OOM	 "kernel_oom"	/* it has killed for want of memory */
#define HANG_KERNEL_LINK "kernel_link"	/* a port has lost its link */
#define HANG_KERNEL_DISK "kernel_disk"	/* a disk or a server is silent */

/** One line of results.csv of hang: a process of the job in one of its
 *  communicators, or, where RAS does not answer, in none. */
#define HANG_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node it is, or was, on; not looked at: its address") \
	INT(rank, "its rank in the job, else in the communicator") \
	INT(pid, "its process number there") \
	TEXT(command, 32, "its name") \
	TEXT(state, 4, "as ps has it: R S D T t Z; X: it is gone") \
	TEXT(waits_in, 64, "function of the kernel that it waits in") \
	REAL(cpu, "CPU that it used while watched, 1 = one core") \
	TEXT(children, 96, "states of its child processes, as \"4 S, 1 Z\"") \
	INT(gpu, "its GPU, index on the node") \
	REAL(gpu_busy_pct, "time in which that GPU ran something, percent") \
	REAL(gpu_power_W, "power that it drew, watts") \
	TEXT(ras, 12, "NCCL's RAS on it: answers, missing, dead, none") \
	TEXT(comm, 24, "communicator, by its hash") \
	INT(comm_rank, "rank in it") \
	INT(comm_size, "ranks of it") \
	TEXT(calls, 120, "collectives begun in it, as \"AllReduce 21\"") \
	TEXT(calls_later, 120, "the same at the end of the watch") \
	INT(behind, "looks of 3 that had it behind another rank of it") \
	INT(async_error, "NCCL's error there, 0 = none") \
	OUTCOME(outcome, "ok; error, timeout, crashed, not_run: of the node") \
	TEXT(code, 48, "why not ok, one word") \
	TEXT(detail, 400, "the same in one sentence") \
	TEXT(start_utc, 32, "when it was looked at, RFC 3339") \
	REAL(gpu_sm_pct, "SMs of that GPU that had work, percent") \
	REAL(gpu_warp_pct, "warps there, of those it has room for, percent") \
	REAL(gpu_link_MiB_s, "what that GPU sent and received by NVLink") \
	INT(swapped_B, "memory of it that is swapped out") \
	INT(faults, "pages that it had to read back while watched") \
	TEXT(stack, 400, "--stacks: its innermost frames, the last first") \
	INT(stuck_tid, "its thread in one sleep of state D all the time") \
	TEXT(stuck_in, 100, "name of that, and function of the kernel") \
	TEXT(gpu_throttled, 48, "why that GPU's clocks were low most of the time") \
	REAL(gpu_clock_MHz, "clock of its SMs") \
	TEXT(kernel_stack, 400, "stuck_tid's, else the main thread's, if allowed")
struct hang_row {
	RECORD_FIELDS(HANG_COLUMNS)
};

extern const struct schema schema_hang;

#endif
