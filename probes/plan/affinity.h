/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_AFFINITY_H
#define PROBES_PLAN_AFFINITY_H

#include <stdint.h>

#include <jansson.h>

#include "probes/plan/layout.h"

/**
 * Which NIC a GPU uses, by how far it is from each: as NCCL chooses.  Pure.
 *
 * The fastest one by rate, then the nearest; of several that are alike each GPU
 * that has them takes its share, from the one on that its number points to.  A
 * NIC that is nearest to no GPU (storage, management) is none of the layout.
 */
#define AFFINITY_NICS 64	/* of a node; more are not looked at */

/** As in pcie.h, the nearest first. */
enum affinity_way {
	WAY_PIX, WAY_PXB, WAY_PHB, WAY_NODE, WAY_SYS, WAY_UNKNOWN
};

/** What a node says of itself. */
struct affinity {
	int n_gpus, n_nics;
	struct affinity_nic {
		char name[LAYOUT_NIC];
		double rate_Gb_s;	/* 0: not known */
		char device[24];	/* its place on PCI, without what one
					 * NIC has several of; "" not known,
					 * or it is never merged */
	} *nics;		/* which NCCL may use: up, and not excluded */
	uint8_t (*ways)[AFFINITY_NICS];	/* of each GPU to each NIC */
};

/** One of @n_gpus ranks that knows of no NIC; 0, or -1 without memory.
 *  affinity_release() frees, and is safe on a zeroed one. */
int affinity_init(struct affinity *a, int n_gpus);
void affinity_release(struct affinity *a);

/** The number of NIC @name, which is added where it is new, of no known rate
 *  and with no known way; -1: there is no room. */
int affinity_add(struct affinity *a, const char *name);

/**
 * What an inventory (probes/host/inventory.h) knows of it, in which the GPU of
 * rank i has number @slots[i], -1: it is of another one.  NICs are ports that
 * are ACTIVE and that @hca, a list as port_matches() takes it, leaves in; NULL:
 * NCCL_IB_HCA, as jobs have it there.  Ports of one PCI bus (with
 * NCCL_IB_MERGE_VFS=0: of one device) and one rate are one NIC, four at most,
 * their names joined by '+', as NCCL merges them unless NCCL_NET_MERGE_LEVEL is
 * LOC or NCCL_IB_MERGE_NICS is 0; what higher levels merge is not known here.
 */
void affinity_add_inventory(struct affinity *a, const json_t *inventory,
			    const int *slots, const char *hca);

/**
 * Give each rank of @l its NIC by what the nodes say, @of[i] node i, and the
 * NICs their names.  A NIC has one number, that of its rail, on all nodes where
 * it has that name: in the order of all names that there are, so that one that
 * is missing on a node leaves a hole there.  Nodes that have no name in common
 * with others count their own.  Where no node knows anything @l stays as it is.
 * 0, or -1 without memory, @l as it was.
 */
int affinity_apply(struct layout *l, const struct affinity *of);

#endif
