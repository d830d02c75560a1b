/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_ROWS_H
#define LIB_DATA_RECORD_ROWS_H

#include "lib/data/record.h"

/* ---- record gpu ---------------------------------------------------------- */

/* Values of the column test, in the order in which they are done. */
#define GPU_TEST_OPEN	 "open"		/* the device can be opened and used */
#define GPU_TEST_H2D	 "h2d"
#define GPU_TEST_D2H	 "d2h"
#define GPU_TEST_BOTH	 "both"		/* the two at once */
#define GPU_TEST_FAR_H2D "h2d_far"	/* by memory of the other socket */
#define GPU_TEST_FAR_D2H "d2h_far"
#define GPU_TEST_ALL_H2D "h2d_all"	/* all GPUs of the node at once */
#define GPU_TEST_ALL_D2H "d2h_all"
#define GPU_TEST_COPY	 "copy"		/* inside its memory */
#define GPU_TEST_PATTERN "pattern"	/* of all its free memory */
#define GPU_TEST_COMPUTE "compute"
#define GPU_TEST_DCGM	 "dcgm"		/* a failure that dcgmi diag found */

/* Codes of dcgm. */
#define GPU_DCGM_FAIL	 "dcgm_fail"
#define GPU_DCGM_WARN	 "dcgm_warn"
/* A code: there is no socket but that of the GPU. */
#define GPU_ONE_SOCKET	 "one_socket"

/** One line of results.csv of gpu: a test of a GPU. */
#define GPU_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node of the GPU") \
	INT(gpu, "CUDA index of the GPU on the node") \
	TEXT(model, 64, "its name") \
	TEXT(test, 16, "open h2d d2h both copy ..., as gpucheck-gpu(1) has " \
		       "them") \
	INT(size_B, "bytes per transfer, or bytes tested") \
	REAL(bw_GB_s, "median bandwidth, 10^9 bytes per second") \
	REAL(expected_GB_s, "bandwidth that the host link should allow") \
	REAL(lat_us, "median time of an 8-byte transfer, microseconds") \
	TEXT(link, 32, "PCIe link during the transfer, as \"32.0 GT/s x16\"") \
	INT(count, "number of repetitions") \
	INT(wrong, "number of wrong words or results") \
	TEXT(hash, 20, "hash of the result of most thread blocks") \
	INT(sm, "multiprocessor of the first wrong result") \
	REAL(power_W, "mean power during the test, watts") \
	REAL(temp_C, "highest temperature during the test, degrees Celsius") \
	REAL(clock_MHz, "lowest multiprocessor clock during the test") \
	TEXT(throttled, 64, "why its clocks were lowered during the test") \
	REAL(wall_s, "duration of the test, seconds") \
	OUTCOME(outcome, "ok, error, timeout, crashed, corrupt, skipped, " \
			 "not_run") \
	TEXT(code, 48, "type of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence") \
	TEXT(start_utc, 32, "start time, RFC 3339") \
	INT(turn, "round of --soak, from 1")
struct gpu_row {
	RECORD_FIELDS(GPU_COLUMNS)
};

extern const struct schema schema_gpu;

/* ---- record hang --------------------------------------------------------- */

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
#define HANG_COLUMNS(TEXT, INT, REAL, OUTCOME)                                 \
	TEXT(node, 64, "node of the process; its address if not inspected") \
	INT(rank, "its rank in the job, or in the communicator") \
	INT(pid, "its process ID there") \
	TEXT(command, 32, "its name") \
	TEXT(state, 4, "state as in ps: R S D T t Z; X: exited") \
	TEXT(waits_in, 64, "kernel function in which it waits") \
	REAL(cpu, "CPU use during the watch, 1 = one core") \
	TEXT(children, 96, "states of its child processes, as \"4 S, 1 Z\"") \
	INT(gpu, "index of its GPU on the node") \
	REAL(gpu_busy_pct, "time in which that GPU was busy, percent") \
	REAL(gpu_power_W, "power of that GPU, watts") \
	TEXT(ras, 12, "its state in NCCL RAS: answers, missing, dead, none") \
	TEXT(comm, 24, "hash of its communicator") \
	INT(comm_rank, "rank in it") \
	INT(comm_size, "ranks of it") \
	TEXT(calls, 120, "collectives started in it, as \"AllReduce 21\"") \
	TEXT(calls_later, 120, "the same at the end of the watch") \
	INT(behind, "samples (of 3) in which it was behind another rank") \
	INT(async_error, "NCCL error code, 0 = none") \
	OUTCOME(outcome, "ok; error, timeout, crashed, not_run: of the node") \
	TEXT(code, 48, "reason if not ok, one word") \
	TEXT(detail, 400, "the reason in one sentence") \
	TEXT(start_utc, 32, "time of inspection, RFC 3339") \
	REAL(gpu_sm_pct, "busy SMs of that GPU, percent") \
	REAL(gpu_warp_pct, "occupied warp slots of that GPU, percent") \
	REAL(gpu_link_MiB_s, "NVLink traffic of that GPU in both directions") \
	INT(swapped_B, "memory of the process that is swapped out") \
	INT(faults, "pages that it swapped in during the watch") \
	TEXT(stack, 400, \
	     "--stacks: its innermost frames, the innermost first") \
	INT(stuck_tid, "its thread that stayed in uninterruptible sleep (D)") \
	TEXT(stuck_in, 100, "name of that thread, and its kernel function") \
	TEXT(gpu_throttled, 48, "why that GPU's clocks were usually low") \
	REAL(gpu_clock_MHz, "clock of its SMs") \
	TEXT(kernel_stack, 400, \
	     "kernel stack of stuck_tid or the main thread") \
	TEXT(threads, 160, "kernel functions in which its threads wait") \
	INT(switches, "times that its main thread slept during the watch") \
	INT(unread_B, "bytes in its TCP sockets that it has not read") \
	INT(unsent_B, "bytes in its TCP sockets that are not acknowledged") \
	INT(local_ranks, "ranks on its node, by its environment") \
	TEXT(store, 96, "rendezvous store, by its environment")
struct hang_row {
	RECORD_FIELDS(HANG_COLUMNS)
};

extern const struct schema schema_hang;

/* ---- record info --------------------------------------------------------- */

/** Facts by which a verdict is made. */
#define INFO_EXPECTED "gpus_expected"	/* of a node, by -G or Slurm */
#define INFO_NONE     "none"		/* of a library that is not there */

/** One line of results.csv of info: whether the node answered.  Its answer is
 *  in facts.csv. */
#define INFO_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node that was queried") \
	OUTCOME(outcome, \
		"ok: it reported; error, crashed, timeout, skipped, not_run") \
	TEXT(code, 48, "reason if not ok, one word") \
	TEXT(detail, 400, "the reason in one sentence") \
	TEXT(start_utc, 32, "time of the query, RFC 3339")
struct info_row {
	RECORD_FIELDS(INFO_COLUMNS)
};

extern const struct schema schema_info;

/* ---- record memlock ------------------------------------------------------ */

/** "unlimited" in a column of bytes: comparisons come out right. */
#define MEMLOCK_UNLIMITED INT64_MAX

/** Where a limit holds, in the order in which it is handed on. */
enum memlock_context {
	MEMLOCK_LOGIN,		/* the shell that submits */
	MEMLOCK_SLURMD,
	MEMLOCK_BATCH,
	MEMLOCK_STEP,
	MEMLOCK_CONTAINER,
	MEMLOCK_HERE,		/* a process outside of any job */
	MEMLOCK_CONTEXTS
};

/** As in the column context; a NULL ends them. */
extern const char *const memlock_context_names[];
/** MEMLOCK_CONTEXTS when @text is none. */
enum memlock_context memlock_context_parse(const char *text);

/*
 * Values of the column check that the verdict looks for; probes/ has more of
 * them, which it only shows.
 */
#define CHECK_SOFT	  "memlock_soft"
#define CHECK_HARD	  "memlock_hard"
#define CHECK_CAP	  "cap_ipc_lock"
#define CHECK_UNIT	  "systemd_unit"
#define CHECK_LIMITS_CONF "limits_conf"
#define CHECK_PROPAGATION "propagation"
#define CHECK_CQ	  "ibv_create_cq"
#define CHECK_QP	  "ibv_create_qp"
#define CHECK_MR	  "ibv_reg_mr"
#define CHECK_MLOCK	  "mlock"

/* Values of the column code. */
#define CODE_BELOW_NEED	 "below_need"	 /* a limit under needed_B */
#define CODE_UNKNOWN	 "unknown"	 /* it is there and not readable */
#define CODE_ABSENT	 "absent"	 /* there is no such context here */
#define CODE_PROPAGATED	 "propagated"
#define CODE_KEPT	 "not_propagated"
#define CODE_HAS_CAP	 "cap_ipc_lock"	 /* the process may exceed limits */
#define CODE_ENOMEM	 "memlock_enomem" /* broke at the limit */
#define CODE_UNUSED	 "unit_unused"	/* systemd did not start slurmd */
#define CODE_IGNORED	 "memlock_unit_ignored" /* systemd passes a line over */

/** One line of results.csv of memlock. */
#define MEMLOCK_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node concerned") \
	TEXT(context, 16, "login, slurmd, batch, step, container, here") \
	TEXT(check, 32, "what was read or tried") \
	TEXT(hca, 64, "HCA that was tested") \
	INT(limit_B, "the limit, bytes; 2^63-1 is unlimited") \
	INT(needed_B, "what an NCCL job needs, bytes") \
	INT(max_ok_B, "largest size that succeeded, bytes") \
	INT(min_fail_B, "smallest size that failed, bytes") \
	TEXT(source, 160, "source of the number") \
	OUTCOME(outcome, "ok, error, timeout, crashed, skipped, not_run") \
	TEXT(code, 48, "type of failure, one word") \
	TEXT(detail, 400, "the reason in one sentence") \
	TEXT(start_utc, 32, "time of reading, RFC 3339")
struct memlock_row {
	RECORD_FIELDS(MEMLOCK_COLUMNS)
};

extern const struct schema schema_memlock;

/* ---- record ping --------------------------------------------------------- */

/*
 * Values of the column code: what probes/ sees on one path, and what report/
 * looks for.
 */
#define PING_LOSS	"loss"		/* outcome ok: some were lost */
#define PING_NO_REPLY	"no_reply"
#define PING_ARP	"arp_failed"	/* no neighbour has the address */
#define PING_NEIGH_FULL	"neighbour_overflow"
#define PING_UNSENT	"send_buffer_full"	/* outcome skipped */
#define PING_ICMP	"icmp_error"	/* a router or host says so */
#define PING_NO_ROUTE	"no_route"	/* the own kernel says so; skipped: to
					 * another segment */
#define PING_SENDER	"sender_filtered"	/* by a filter on its way out */
#define PING_SWAPPED	"rails_swapped"	/* of findings */
#define PING_IF_DOWN	"if_down"
#define PING_WRONG	"wrong_reply"	/* answered by another address */
#define PING_STRAY	"wrong_interface"	/* came in elsewhere */
#define PING_DUPLICATE	"duplicate_address"
#define PING_FLUX	"arp_flux"	/* another port of the node answers */
#define PING_FOREIGN	"foreign_mac"	/* outcome ok: whose is not known */
#define PING_FILTERED	"icmp_filtered"	/* UDP comes back, ICMP does not */
#define PING_ECHO_GONE	"echo_closed"	/* host answers, our agent does not */
#define PING_MTU	"mtu_small"
#define PING_TCP_OPEN	"tcp_open"
#define PING_TCP_CLOSED	"tcp_refused"
#define PING_TCP_SILENT	"tcp_filtered"

/** Fact of a node: it has heard the trace of a path whose answers are lost. */
#define PING_FACT_HEARD "heard"
/** "rail0 rail1 10.1.0.2": what should answer on the first interface of a node
 *  answers on the second. */
#define PING_FACT_FOUND "found_on"
/** "7992 1024": it is to ask more neighbours than its kernel keeps. */
#define PING_FACT_NEIGHBOURS "neighbours_planned"
/** And the code of the warning. */
#define PING_NEIGH_SHORT "neighbour_limit"

/** One line of results.csv of ping: from one address to another. */
#define PING_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(src_node, 64, "node that sends the requests") \
	TEXT(src_if, 32, "its interface") \
	TEXT(src_ip, 56, "its address") \
	TEXT(dst_node, 64, "node that replies") \
	TEXT(dst_if, 32, "its interface") \
	TEXT(dst_ip, 56, "its address") \
	TEXT(segment, 120, "subnet of both, or a->b") \
	TEXT(method, 16, "icmp, icmp_raw, udp, tcp") \
	INT(sent, "packets sent, retries included") \
	INT(received, "replies within the timeout") \
	REAL(rtt_min_us, "minimum round trip, microseconds") \
	REAL(rtt_avg_us, "mean round trip, microseconds") \
	REAL(rtt_max_us, "maximum round trip, microseconds") \
	INT(mtu_B, "largest packet that passes unfragmented, bytes") \
	OUTCOME(outcome, "ok, error, timeout, skipped, not_run") \
	TEXT(code, 48, "type of failure or observation, one word") \
	TEXT(detail, 400, "the reason in one sentence") \
	TEXT(start_utc, 32, "start time, RFC 3339") \
	INT(flow, "UDP source port, in a row of packets lost on it") \
	INT(flows, "UDP source ports that were tested: --flows")
struct ping_row {
	RECORD_FIELDS(PING_COLUMNS)
};

extern const struct schema schema_ping;

/* ---- record step --------------------------------------------------------- */

/** Values of the column code. */
#define STEP_ABSENT  "absent"	/* skipped: what it measures is not there */
#define STEP_UNFIT   "does_not_apply"	/* skipped: by an option */
#define STEP_FAILED  "could_not_measure"	/* outcome error */
#define STEP_STOPPED "stopped"	/* not_run: by hand, or no time was left */

/** One line of results.csv of all: one probe, whose own run is a directory of
 *  that name below. */
#define STEP_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(rung, 16, "probe, and its run directory") \
	TEXT(status, 16, "status of its verdict: pass, warn, fail, partial, " \
			 "unknown") \
	INT(exit_code, "its exit code") \
	INT(pass, "its tests, by class") \
	INT(slow, "slow tests") \
	INT(fail, "tests with an error or a crash") \
	INT(timeout, "tests that timed out") \
	INT(corrupt, "tests with corrupt data") \
	INT(skipped, "tests skipped for a reason") \
	INT(not_run, "tests that were not measured") \
	INT(findings, "number of findings") \
	REAL(wall_s, "time from start to report, seconds") \
	OUTCOME(outcome, "ok, error, skipped, not_run") \
	TEXT(code, 48, "reason if not ok, one word") \
	TEXT(detail, 648, "the reason in one sentence") \
	TEXT(start_utc, 32, "start time, RFC 3339")
struct step_row {
	RECORD_FIELDS(STEP_COLUMNS)
};

extern const struct schema schema_step;

/* ---- record diagnose ----------------------------------------------------- */

/** Values of the column kind. */
#define DIAGNOSE_LAYER "rung"	/* a test of one layer */
#define DIAGNOSE_KNOB "knob"	/* the run's own test with a setting changed */

/** One line of diagnose.csv: one pair, failed or slow or compared with that, in
 *  one test of its layers. */
#define DIAGNOSE_COLUMNS(TEXT, INT, REAL, OUTCOME)                             \
	INT(src_rank, "one rank of the pair, bad or good to compare with")     \
	TEXT(src_node, 64, "its node") \
	INT(src_gpu, "index of its GPU on the node") \
	INT(dst_rank, "the other rank") \
	TEXT(dst_node, 64, "its node") \
	INT(dst_gpu, "index of its GPU on the node") \
	TEXT(kind, 8, "rung: test of one layer; knob: test of one setting") \
	TEXT(step, 200, "name of the layer or setting") \
	TEXT(dir, 240, "run directory of this test, relative to this one") \
	OUTCOME(outcome, \
		"worse outcome of both directions, as in results.csv") \
	TEXT(code, 48, "type of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence, or why it was not " \
	     "tested") \
	REAL(wall_s, "duration of this test for all pairs, seconds") \
	TEXT(start_utc, 32, "start time, RFC 3339") \
	REAL(bw_GB_s, \
	     "fastest rate from src to dst, 10^9 bytes per second") \
	REAL(expected_GB_s, "expected rate of the link, 10^9 bytes per second")
struct diagnose_row {
	RECORD_FIELDS(DIAGNOSE_COLUMNS)
};

extern const struct schema schema_diagnose;

/* ---- record collective --------------------------------------------------- */

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
extern const char *const collective_names[];	/* a NULL ends them */
/** COLLECTIVES when @text is none. */
enum collective collective_parse(const char *text);
/** NCCL's names of its algorithms and protocols, NULL at the end. */
extern const char *const nccl_algos[], *const nccl_protos[];
#define NCCL_CHOSEN_ALGO 32
#define NCCL_CHOSEN_PROTO 16
/**
 * Read the choice for a size of a message from a line that NCCL logs with the
 * subsystem TUNING: "AllReduce: 1024 Bytes -> Algo Ring proto LL channel...",
 * with numbers instead of names in older versions, or "... Bytes -> Kernel
 * NAME".  Returns the size in bytes; -1: not such a line.
 */
int64_t nccl_choice_parse(const char *line, char algo[NCCL_CHOSEN_ALGO],
			  char proto[NCCL_CHOSEN_PROTO]);
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
	TEXT(variant, 64, "the compared setting") \
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
	REAL(time_us, "mean time of an operation, microseconds") \
	REAL(time_med_us, "median time, microseconds") \
	REAL(time_min_us, "shortest time, microseconds") \
	REAL(time_max_us, "longest time, microseconds") \
	REAL(time_p99_us, "99th percentile, microseconds") \
	REAL(algbw_GB_s, \
	     "algorithm bandwidth: size over time, 10^9 bytes per second") \
	REAL(busbw_GB_s, \
	     "bus bandwidth: load of the links, 10^9 bytes per second") \
	INT(wrong, "elements with a wrong result") \
	OUTCOME(outcome, \
		"ok, error, timeout, crashed, corrupt, skipped, not_run") \
	TEXT(code, 48, "type of failure, one word") \
	TEXT(detail, 400, "the failure in one sentence") \
	TEXT(start_utc, 32, "start time, RFC 3339") \
	INT(verified, "operations that --verify checked") \
	INT(verified_wrong, "operations with a wrong result on any rank") \
	TEXT(wrong_ranks, 160, "ranks with wrong results, as RANK=OPERATIONS")
struct collective_row {
	RECORD_FIELDS(COLLECTIVE_COLUMNS)
};

extern const struct schema schema_collective;

/* ---- record history ------------------------------------------------------ */

/* Values of the column line. */
#define HISTORY_RUN	"run"		/* a run begins: the lines that follow
					 * it are about it */
#define HISTORY_NODE	"node"		/* a node that took part, its levels */
#define HISTORY_PAIRS	"pairs"		/* nodes that it was tested with */
#define HISTORY_FINDING	"finding"
/** The column end of a whole line. */
#define HISTORY_END	"."

/** One line of a history: a run, or what it says of one part.  The lists of
 *  levels are separated by semicolons; a level that was not measured is
 *  empty.  New columns go in front of the last one. */
#define HISTORY_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(line, 8, "what it is about: run, node, pairs, finding") \
	TEXT(run, 40, "ID of the run") \
	TEXT(probe, 16, "run: its probe") \
	TEXT(version, 32, "run: version of gpucheck") \
	TEXT(status, 16, "of the verdict; node: tested; finding: fail, warn") \
	TEXT(started_utc, 32, "run: when it began, RFC 3339") \
	TEXT(ended_utc, 32, "run: when it ended; empty: it was lost") \
	INT(drill, "run: 1: faults were injected on purpose") \
	INT(model, "run: 1: it ran on a simulated cluster") \
	TEXT(transport, 16, "run: transport of the pairs") \
	TEXT(schedule, 16, "run: schedule of the pairs") \
	INT(size_B, "run: bytes of one message") \
	INT(ranks, "run: ranks of all nodes") \
	INT(nodes, "run: nodes that took part") \
	REAL(inter_GB_s, "run: median of the good pairs between nodes") \
	REAL(intra_GB_s, "run: median of the good pairs inside nodes") \
	REAL(busbw_GB_s, "run: of a collective, at its largest size") \
	TEXT(rail_GB_s, 768, "run: median of each rail, between nodes") \
	TEXT(node, 132, "node, or node of the finding") \
	REAL(bw_GB_s, "node: median to other nodes, or inside the only one") \
	TEXT(gpu_GB_s, 768, "node: median of each GPU, inside the node") \
	TEXT(nic_GB_s, 768, "node: median of each NIC, to other nodes") \
	TEXT(tested_with, 2048, "pairs: host list of nodes tested with it") \
	TEXT(kind, 24, "finding: kind of the part, as in verdict.json") \
	INT(index, "finding: number of the part") \
	TEXT(peer_node, 132, "finding: node of the other end") \
	INT(peer_index, "finding: number of the other end") \
	TEXT(name, 64, "finding: name of a NIC or switch") \
	TEXT(code, 48, "finding: as in verdict.json") \
	TEXT(nic_choice, 8, "run: NICs of pairs by NCCL: plan or nccl") \
	TEXT(end, 4, "a full stop: a line without it was cut")
struct history_row {
	RECORD_FIELDS(HISTORY_COLUMNS)
};

extern const struct schema schema_history;

#endif
