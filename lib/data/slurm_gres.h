/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_SLURM_GRES_H
#define LIB_DATA_SLURM_GRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** GPUs in one gres text such as "gpu:a100:4(S:0-1),mps:400"; no more than
 *  ALLOCATION_MAX_GPUS. */
int64_t slurm_gres_gpus(const char *gres);

#define SLURM_CONF_INCLUDES 8

/** What slurm.conf and the files that it includes say of one node.  Zeroed
 *  but for @node before the first. */
struct slurm_conf_node {
	const char *node;	/* as Slurm calls it; borrowed */
	bool listed;		/* is it there at all? */
	int64_t gpus;		/* 0: none, or nobody says it */
	int64_t preset;		/* of NodeName=DEFAULT */
	char includes[SLURM_CONF_INCLUDES][256];	/* as written */
	size_t n_includes;
};

/**
 * Take in @text, of a file of that kind: its lines "NodeName=n[1-8] ...
 * Gres=gpu:8" as far as they are about the node.  Pure; whatever is none of
 * these is passed over.
 */
void slurm_conf_take(struct slurm_conf_node *c, const char *text);

#endif
