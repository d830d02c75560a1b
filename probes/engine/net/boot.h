/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_NET_BOOT_H
#define PROBES_ENGINE_NET_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/net.h"
#include "lib/base/str.h"

/**
 * How an agent learns who it is and where the coordinator listens.
 *
 * Who am I, first that applies:
 *   inner  GPUCHECK_BOOT_RANK/SIZE[/NODE], set by our own launchers; with
 *	    GPUCHECK_BOOT=guest the coordinator is not one of them
 *   pmi2, slurm  as below, where GPUCHECK_BOOT says pmi2 or rendezvous: our own
 *	    srun does
 *   env    OMPI_COMM_WORLD_RANK/SIZE/LOCAL_RANK, FLUX_TASK_RANK/JOB_SIZE, or
 *	    those of torchrun where TORCHELASTIC_RUN_ID says that it set them
 *   slurm  SLURM_PROCID/NTASKS with GPUCHECK_BOOT=rendezvous (srun has no pmi2)
 *   pmi2   a PMI2 server (srun --mpi=pmi2)
 *   slurm  SLURM_PROCID/NTASKS where PMIX_NAMESPACE is Slurm's
 *   env    PMIX_RANK, RANK or JOB_COMPLETION_INDEX, of WORLD_SIZE
 *   single neither: one agent alone
 * Where is the coordinator: the one PMI2 fence, DIR/rendezvous and
 * GPUCHECK_MASTER=host:port with GPUCHECK_TOKEN are all watched; the first
 * that answers wins.
 */
enum boot_how { BOOT_INNER, BOOT_PMI2, BOOT_SLURM, BOOT_ENV, BOOT_SINGLE };

#define BOOT_TOKEN_BYTES 32

struct boot {
	enum boot_how how;
	int rank, size;
	bool guest;		/* rank 0 too: the coordinator runs elsewhere */
	int local_rank;		/* GPU of a one-worker agent; -1: all GPUs */
	int local_size;		/* such agents on its node; 0: not said */
	char node[64];		/* pretend node name, "" = the host's own */
};

/** Returns true if the agent @b starts the coordinator. */
static inline bool boot_hosts(const struct boot *b)
{
	return b->rank == 0 && !b->guest;
}

/** Returns true if Slurm starts the agents, in a step that may have to import a
 *  container image before. */
static inline bool boot_is_step(const struct boot *b)
{
	return b->how == BOOT_PMI2 || b->how == BOOT_SLURM;
}

/** Where the coordinator listens and the secret that opens its door. */
struct boot_contact {
	char addrs[NET_MAX_ADDRS][NET_ADDR_TEXT];	/* "host:port" */
	int n_addrs;
	uint8_t token[BOOT_TOKEN_BYTES];
	char nonce[33];		/* of the run directory */
};

/**
 * Find out who this process is.  Talks to the local PMI2 server at most; no
 * fence.  Returns 0, or -1 with @e; code EINVAL = usage (the singleton trap:
 * SLURM_NTASKS > 1 but PMI2 says 1; a SIZE without a RANK), else launch
 * trouble.
 */
int boot_identify(struct boot *b, struct err *e);

/**
 * Rank 0 only: write DIR/rendezvous (mode 0600) and enter the fence in a
 * thread of its own, so that no agent waits for others that never start.
 */
int boot_publish(const struct boot *b, const char *dir,
		 const struct boot_contact *c, struct err *e);

/**
 * Rank 0 only, where it has no coordinator, for @why: the others hear of that
 * in place of boot_publish(), and need not wait.  @nonce: of the run, "" where
 * that cannot be seen.
 */
void boot_publish_failure(const struct boot *b, const char *dir,
			  const char *nonce, const struct err *why);

/**
 * Other ranks: wait until any way says where the coordinator is, at most until
 * @deadline_ns (CLOCK_MONOTONIC).  @nonce: of run.json when this node can see
 * it, else NULL; a contact with another nonce is stale and ignored.
 */
int boot_find(const struct boot *b, const char *dir, const char *nonce,
	      struct boot_contact *c, int64_t deadline_ns, struct err *e);

/** How long agent @rank, which has waited for @waited_ns in vain, does not look
 *  at the file: an eighth of that, at most half a second, or up to twice as
 *  long, by chance, as those that started at once must not ask at once. */
int64_t boot_file_nap_ns(int rank, int64_t waited_ns);

/** Contact as text (an object of JSON; malloc'ed, NULL without memory) and
 *  back; fuzzed.  -1 with @e, code ECANCELED, where it says that there will be
 *  no coordinator; @c has the nonce then. */
char *boot_contact_text(const struct boot_contact *c);
int boot_contact_parse(const char *text, size_t len, struct boot_contact *c,
		       struct err *e);

/**
 * GPUCHECK_MASTER=host:port and GPUCHECK_TOKEN (64 hexadecimal digits), for
 * nodes that share no directory: rank 0 listens there, the others go there.
 * 1: @c is set (one address, the token, no nonce); 0: neither is set; -1 with
 * @e: only one of them, or not such a thing.
 */
int boot_contact_env(struct boot_contact *c, struct err *e);
/** Wipe GPUCHECK_TOKEN: neither children nor who reads /proc/PID/environ find
 *  it from now on. */
void boot_forget_env(void);

/*
 * The PMI2 part of boot: the rank, and one fence that carries the
 * contact from rank 0 to all.  PMI2 is a matter of the whole process, so its
 * state is too.
 *
 * Seen with Slurm 22.05: outside a PMI2 server PMI2_Init succeeds with size 1
 * and only PMI2_Job_GetId fails; a fence that one task never enters, because
 * it died or hangs, blocks the others for ever; a task that leaves without
 * PMI2_Finalize disturbs nobody, before or after the others' fence.
 */

/** 1: the fence brought @c; 0: not yet; -1 with @e: it failed. */
int boot_pmi2_result(struct boot_contact *c, struct err *e);

#endif
