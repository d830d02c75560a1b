/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_HANG_H
#define PROBES_HANG_HANG_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/data/record_rows.h"
#include "probes/hang/procs.h"
#include "probes/hang/ras.h"

struct node_args;

/* ---- host ---------------------------------------------------------------- */

/** Returns the fact that the kernel message @text stands for; NULL if it is of
 *  no interest.  Pure. */
const char *hang_kernel_fact(const char *text);

/* ---- gpu watch ----------------------------------------------------------- */

/**
 * Activity of this node's GPUs while a job is watched: by NVML in a thread, so
 * that a driver that hangs does not stop the rest.
 */
#define GPU_WATCH_MAX  64
#define GPU_WATCH_PIDS 32	/* of a GPU */

struct gpu_use {
	/* means; NAN = not known */
	double busy_pct, power_W, clock_MHz;	/* of its SMs */
	double sm_pct, warp_pct;	/* of its SMs those with work, of the
					 * warps that it has room for those
					 * there: from Hopper on */
	double link_MiB_s;		/* by NVLink, both ways: the same */
	char throttled[48];	/* most of the time, by what:
				 * gpu_throttle_words(); "" = it was not */
	unsigned int pids[GPU_WATCH_PIDS], n_pids;	/* that use it */
};

struct gpu_watch;

/* ---- look ---------------------------------------------------------------- */

/** Declarations that the files of hang_child() share. */

/** The objects of a node that are watched. */
struct look {
	char node[64], root[PATH_MAX];
	char job[32];
	int64_t end_ns;
	struct procs procs;
	struct ras_answer ras[HANG_LOOKS];
	int answers;		/* that came */
	char utc[CLOCK_UTC_SIZE];
	struct gpu_use use[GPU_WATCH_MAX];
};

/** The end of a part of it that takes so long at most. */
int64_t look_within_ns(const struct look *l, int64_t ns);

/** Ask RAS, until @until_ns at the latest.  Returns true if it answered.  Asks
 *  nothing if this node has no processes of the job. */
bool look_ask(const struct look *l, int64_t until_ns, struct ras_answer *a);
/** Report what NCCL's diagnostics say as facts, if it has them: one node
 *  asks. */
void look_diagnose(const struct look *l);
/** The rank of @a that is @like in its communicator; NULL: it has none. */
const struct ras_rank *look_rank(const struct ras_answer *a,
				 const struct ras_rank *like);
/** Words do not tell of ranks while all agree: those of another look stand for
 *  that with no number, which is not the same one. */
void look_complete(struct look *l);
/** Looks that had another rank of the communicator further than this one; in
 *  RECORD_NONE where it did not answer each time. */
int64_t look_behind(const struct look *l, const struct ras_rank *like);

/* ---- hang ---------------------------------------------------------------- */

/** The hang probe, as probes/probe.c lists it: see struct probe.  It reads and
 *  asks; the job is not touched. */
int hang_child(const struct node_args *args, struct err *e);

#endif
