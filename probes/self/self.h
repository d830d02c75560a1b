/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_SELF_SELF_H
#define PROBES_SELF_SELF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "probes/host/gpu_state.h"

struct node_args;

/**
 * Children of "gpucheck node" that report on one node, beside
 * memlock_limits_child(). Each is a process, because a driver or a file system
 * may hang; facts reported before that are kept (probes/node/child.h). Input:
 * {"node":, "options":}. Return 0, or -1 with @e.
 */

/** HCA ports, interfaces, modules: what kernel files say. */
int self_host_child(const struct node_args *args, struct err *e);
/** The GPUs of the job, or of the node outside a job: how many there are and
 *  should be, their health, and the processes that hold them.  NVML is asked
 *  and nothing else, in particular no CUDA. */
int self_gpus_child(const struct node_args *args, struct err *e);

/** Facts by which a verdict is made. */
#define SELF_NVML	 "nvml"	/* of the node: ok, or ... */
#define SELF_NVML_ABSENT "missing"
#define SELF_NVML_OTHER	 "driver_mismatch"
#define SELF_NVML_NONE	 "no_driver"
#define SELF_NVML_FAILED "failed"
#define SELF_LOST	 "lost"	/* of a GPU: what NVML says */
#define SELF_LINK	 "link"	/* of an interface: up, down, no_carrier */
#define SELF_IB_WINDOW	 "nccl_ib_window"	/* of the node: seconds that
						 * NCCL waits for a link */

/** The GPUs of a node that are a job's. */
struct self_share {
	bool all;	    /* all are: nothing restricts them */
	const char *source; /* of the restriction; NULL: there is none */
	int wanted;	    /* GPUs that are named; 0 if a name is of no
			     * whole GPU */
};

/** A GPU of the node. */
struct self_gpu {
	int index;		/* as NVML counts, and Slurm names them */
	struct gpu_id id;	/* uuid "" = not known */
	bool taken;		/* by the job */
	nvmlDevice_t dev;	/* NULL: not available */
	int code;		/* of NVML, why not */
};

/**
 * Mark those of the @n @gpus that @visible (CUDA_VISIBLE_DEVICES) names, else
 * @job_gpus (SLURM_JOB_GPUS): numbers, ranges, UUIDs or their beginnings;
 * either may be NULL.  Where both are, @in_job decides: a job that was given
 * none has none.  Pure.
 */
void self_share_find(const char *visible, const char *job_gpus, bool in_job,
		     struct self_gpu *gpus, size_t n, struct self_share *share);

#endif
