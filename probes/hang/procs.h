/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_PROCS_H
#define PROBES_HANG_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- stacks -------------------------------------------------------------- */

/** Stacks are read of at most this many processes of a node. */
#define STACKS_MAX 64
#define STACK_SIZE 400

struct procs;

/**
 * Read the stacks of the first STACKS_MAX processes by py-spy, else by gdb,
 * whichever is installed: each stops its process for as long as it looks.  One
 * that has not answered at @deadline_ns is ended, which lets its process go.
 * Returns the name of the tool; NULL if neither is there.
 */
const char *stacks_read(struct procs *p, int64_t deadline_ns);

/** Pure: the frames of the main thread in what py-spy or gdb has printed, or of
 *  the one in /proc/PID/task/TID/stack. */
void stack_parse(const char *printed, char text[STACK_SIZE]);

/* ---- procs --------------------------------------------------------------- */

/**
 * Processes as the kernel shows them, by reading alone: none is stopped,
 * signalled or traced.
 */

/** Threads in state D that are remembered of a process. */
#define PROC_BLOCKED 16

/** A thread in state D, which no signal reaches. */
struct proc_thread {
	int64_t tid;		/* 0 = none */
	int64_t switches;	/* how often it has left a CPU: unchanged, it
				 * has not left this sleep */
	char name[32];
	char waits_in[64];	/* as below */
};

/** State of a process at one moment. */
struct proc_look {
	int64_t at_ns;		/* clock_now_ns() */
	char state;		/* R S D T t Z, 'X' = it is gone */
	int64_t parent;
	int64_t ticks;		/* of CPU, user and system, so far */
	int64_t started;	/* ticks after the boot: tells it from another
				 * one of its number */
	int64_t faults;		/* pages that were read from disk, so far */
	int64_t switches;	/* how often its main thread has slept */
	int64_t unread_B, unsent_B;	/* in its TCP sockets; -1 = not known */
	int64_t swapped_B;	/* -1 = not known */
	char command[32];
	char waits_in[64];	/* in the kernel; "" = it does not wait, or this
				 * may not be read */
};

/** A process that may be a rank. */
struct proc {
	int64_t pid;
	int64_t rank;		/* by its environment; -1 = that has none */
	bool rank_own;		/* ... not one of the launcher's alone */
	int64_t world;		/* how many ranks, the same way; -1 */
	char job[32];		/* SLURM_JOB_ID, "" = none, or not readable */
	char ras_addr[96];	/* NCCL_RAS_ADDR, "" = not set */
	char store[96];		/* "MASTER_ADDR:MASTER_PORT", "" = not set */
	int64_t local;		/* ranks on its node, which are numbered in a
				 * row; -1 */
	struct proc_look first, last;
	bool looked_at;		/* first is complete */
	struct proc_thread blocked[PROC_BLOCKED];	/* at the first one */
	size_t n_blocked;
	struct proc_thread stuck;	/* which was in one sleep at both, its
					 * main thread before others */
	char stack[STACK_SIZE]; /* "read < load < main", the last called first;
				 * "" = not known */
};

struct procs {
	struct proc *list;
	size_t n;
	int mute;		/* processes that could not be read */
};

/** Below @root ("" = /): -1 when there is no such process, and @l says 'X'.
 *  Sockets are left to proc_sockets(). */
int proc_look(const char *root, int64_t pid, struct proc_look *l);

/**
 * Find the processes below @root ("" = /) that have NCCL or CUDA mapped, as far
 * as this user may see them: of the Slurm job @job ("" = any), or, with @pid >
 * 0, that process and those below it.  The memory map of a process that hangs
 * while it changes the map cannot be read: some of these are left out, and
 * counted.  0, or -1 without memory; procs_release() frees.
 */
int procs_find(const char *root, const char *job, int64_t pid,
	       struct procs *p);
/** The process of that number; NULL if it is not among them. */
struct proc *procs_at(const struct procs *p, int64_t pid);
/** One more by its number, if it is not among them: the place, NULL without
 *  memory. */
struct proc *procs_add(struct procs *p, int64_t pid);
/** Leave those that are ranks: not what starts ranks, nor what a rank has
 *  forked and which has its rank from there. */
void procs_keep_ranks(struct procs *p);
void procs_release(struct procs *p);

/** Bytes that wait in the TCP connections of @pid, by the tables of its network
 *  namespace, into @l. */
void proc_sockets(const char *root, int64_t pid, struct proc_look *l);

/** "futex_wait_queue 12, ep_poll 3": where the threads of @pid wait, the most
 *  frequent place first; "" where this may not be read. */
void proc_threads(const char *root, int64_t pid, char *buf, size_t size);

/** Its threads in state D, before the first look, and which of them is still in
 *  the same sleep, after the last one. */
void proc_note_blocked(const char *root, struct proc *p);
void proc_find_stuck(const char *root, struct proc *p);

/** "4 S, 1 Z": states of the children of @pid, "" for none. */
void proc_children(const char *root, int64_t pid, char *buf, size_t size);

/** CPU that it used between its two looks, 1 = one core; NAN where it was not
 *  there for both. */
double proc_cpu(const struct proc *p);

#endif
