/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_NETS_H
#define REPORT_JUDGE_NETS_H

#include "report/model/run.h"

/** What a node has for its traffic to others. */
struct node_net {
	struct rdma {
		double GB_s;	/* of its fastest active port; 0: it has none */
		char name[64];
		bool efa;	/* which NCCL only uses by a plugin */
	} rdma, left_out;	/* of those planned, of those NCCL_IB_HCA leaves
				 * out */
	const struct fact_row *hca;	/* NCCL_IB_HCA, where it is set */
	const char *network;	/* that NCCL has chosen; NULL: not said */
	char socket[64];	/* the interface that NCCL uses */
	double socket_GB_s;	/* NAN: not known */
	const struct fact_row *set;	/* what keeps NCCL from RDMA, */
	const struct fact_row *gdr;	/* from GPUDirect, but for links as near
					 * as gdr_reach: the user's */
	enum link { LINK_FAR, LINK_PXB, LINK_PIX, LINK_NONE } gdr_reach;
	const char *why;	/* NCCL's words, "" = none */
	int by_link;		/* ports whose address NCCL takes for jobs has
				 * no route, though there is one that has */
	char by_link_name[64];	/* the first of them */
	bool gid_set;		/* the user says which address it is */
};

struct nets {
	const struct run *run;
	struct node_net *nodes;
	enum link *near;	/* of ranks to a NIC below one PCIe switch with
				 * their GPU, of a model that can */
};

/** By the facts of @run, which is borrowed: 0, or -1 without memory.
 *  nets_release() in any case. */
int nets_init(const struct run *run, struct nets *x);
void nets_release(struct nets *x);

#endif
