/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_NCCL_ENV_H
#define PROBES_NCCL_ENV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/err.h"

/* ---- file ---------------------------------------------------------------- */

/**
 * Checks, by its bytes only, that the file @path is a library with NCCL's
 * functions.  It is neither loaded nor run, so this works on a login node.
 * Returns 0, or -1 with @e: it cannot be read, is not a shared library for this
 * kind of machine, or does not contain the name of ncclCommInitRank.
 */
int nccl_file_check(const char *path, struct err *e);
/** The same of the open file @f, called @path. */
int nccl_file_check_stream(FILE *f, const char *path, struct err *e);

/* ---- shm ----------------------------------------------------------------- */

/**
 * Unlink NCCL's files in /dev/shm that this process has mapped; call it when
 * none of its communicators will be used again.  NCCL unlinks one once all
 * ranks of its host have opened it, which a mate of a relayed pair never does
 * (seen with 2.28.9: 34 MB a worker stayed), or when the communicator is
 * destroyed, which may hang.  Returns how many were unlinked.
 */
int nccl_shm_unlink(void);

/* ---- env ----------------------------------------------------------------- */

/**
 * The NCCL settings of a run.  NCCL's defaults let one dead pair cost half a
 * minute to a minute; these make it cost seconds.  What the user has set, in
 * the environment or in one of NCCL's files, is not touched, unless it would
 * hide a part that fails, and is then said; only how much
 * NCCL writes to a log of our own does not follow the files, which speak of the
 * logs of jobs.
 */
struct nccl_setting {
	const char *name;
	const char *value;	/* NULL: must not be set at all */
	const char *why;
	bool always;		/* whatever the user has set */
	enum nccl_setting_for {
		NCCL_FOR_ALL,
		NCCL_FOR_PRETEND,	/* several nodes on one machine */
		NCCL_FOR_HASTE,		/* unless production_settings */
		NCCL_FOR_EACH_PORT,	/* nor with failover */
		NCCL_FOR_FAILOVER,	/* with failover */
		NCCL_FOR_OWN_NICS,	/* unless pxn */
		NCCL_FOR_NET_ONLY,	/* with force_net */
		NCCL_FOR_OWN_LOG,	/* if the log is our own */
		NCCL_FOR_CHOICES,	/* the same, with says_choices */
	} where;
};

extern const struct nccl_setting nccl_settings[];	/* NULL name ends */

/** Circumstances that the settings depend on. */
struct nccl_wishes {
	json_t *conf;	/* nccl_conf_read(); NULL: environment only */
	const char *pretend_node;	/* that this process belongs to, NULL */
	const char *ifname;	/* that connections to other nodes are known to
				 * work by; NULL or "": none is */
	const char *ports;	/* that the plan has for it, "mlx5_0:1,mlx5_1:1";
				 * NULL or "": all that NCCL takes */
	const char *debug_file;		/* our own, or NULL: the user's */
	bool production_settings;	/* NCCL's own patience with the dead */
	bool failover;			/* a failed port may be replaced */
	bool pxn;			/* by way of another GPU's NIC */
	bool force_net;			/* by the NIC inside a node too */
	bool says_choices;		/* log the algorithm of each
					 * operation */
};

/**
 * Set up the environment of this process before NCCL reads it (at its first
 * call; no other thread may run yet).  True: NCCL_SOCKET_IFNAME is set from
 * @w->ifname, another one on each node; so is NCCL_IB_HCA, from @w->ports,
 * unless the user has set it.  @recorded, or NULL, gets {NAME: value}
 * of what was set here, null for what was taken away.
 */
bool nccl_env_apply(const struct nccl_wishes *w, json_t *recorded);

#endif
