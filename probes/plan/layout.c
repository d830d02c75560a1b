/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* A pair of ranks on other rails may say otherwise: NCCL_CROSS_NIC=0. */
#define VOTES_MIN 2

int layout_init(struct layout *l, int n_nodes)
{
	*l = (struct layout){ .n_nodes = n_nodes };
	/* one more than needed: calloc(0) may be NULL with memory left */
	l->nodes = calloc((size_t)n_nodes + 1, sizeof(*l->nodes));
	return l->nodes != NULL ? 0 : -1;
}

/** The ranks of node number @i, one a GPU. */
static void fill_ranks(struct layout *l, int i)
{
	const struct layout_node *node = &l->nodes[i];

	for (int gpu = 0; gpu < node->gpus; gpu++) {
		l->ranks[node->first_rank + gpu] = (struct layout_rank){
			.node = i,
			.gpu = gpu,
			.nic = (int)((int64_t)gpu * node->nics / node->gpus),
			.planned = (int)((int64_t)gpu * node->nics /
					 node->gpus),
			.twin = node->first_rank + gpu,
		};
	}
}

int layout_number(struct layout *l)
{
	for (int i = 0; i < l->n_nodes; i++) {
		struct layout_node *node = &l->nodes[i];

		node->nics = node->nics ? node->nics : node->gpus;
		node->first_rank = l->n_ranks;
		node->first_nic = l->n_nics;
		l->n_ranks += node->gpus;
		l->n_nics += node->nics;
	}
	l->ranks = calloc((size_t)l->n_ranks + 1, sizeof(*l->ranks));
	if (l->ranks == NULL) {
		layout_release(l);
		return -1;
	}
	for (int i = 0; i < l->n_nodes; i++) {
		fill_ranks(l, i);
	}
	return 0;
}

int layout_name_nics(struct layout *l, const int *n_nics, const int *nic)
{
	int n = 0;

	for (int i = 0; i < l->n_nodes; i++) {
		n += n_nics[i];
	}
	l->nic_names = calloc((size_t)n + 1, sizeof(*l->nic_names));
	if (l->nic_names == NULL) {
		return -1;
	}
	l->n_nics = 0;
	for (int i = 0; i < l->n_nodes; i++) {
		l->nodes[i].nics = n_nics[i];
		l->nodes[i].first_nic = l->n_nics;
		l->n_nics += n_nics[i];
	}
	for (int r = 0; r < l->n_ranks; r++) {
		l->ranks[r].nic = l->ranks[r].planned = nic[r];
	}
	return 0;
}

const char *layout_nic(const struct layout *l, int rank, char buf[LAYOUT_NIC])
{
	const struct layout_rank *r = &l->ranks[rank];
	int at = layout_nic_at(l, r->node, r->nic);

	if (l->nic_names != NULL && l->nic_names[at][0] != '\0') {
		memcpy(buf, l->nic_names[at], LAYOUT_NIC);
	} else {
		snprintf(buf, LAYOUT_NIC, "nic%d", r->nic);
	}
	return buf;
}

void layout_hear_nic(struct layout *l, int rank, const char *name)
{
	struct layout_rank *r = &l->ranks[rank];
	int nic = 0, n = l->nic_names != NULL ? l->nodes[r->node].nics : 0;
	char first[LAYOUT_NIC];

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, "+"), name);
	while (nic < n &&
	       !str_names_meet(first, l->nic_names[layout_nic_at(
					      l, r->node, nic)])) {
		nic++;
	}
	if (nic == n) {
		return;
	}
	/* the one that is left over when each other one has cancelled one */
	if (r->votes == 0) {
		r->heard = nic;
	}
	r->votes += r->heard == nic ? 1 : -1;
}

bool layout_use_heard(struct layout *l, int rank)
{
	struct layout_rank *r = &l->ranks[rank];

	if (r->votes < VOTES_MIN || r->heard == r->nic) {
		return false;
	}
	r->nic = r->heard;
	return true;
}

void layout_share_gpu(struct layout *l, int a, int b)
{
	int after_a = l->ranks[a].twin;

	l->ranks[a].twin = l->ranks[b].twin;
	l->ranks[b].twin = after_a;
}

void layout_release(struct layout *l)
{
	if (l) {
		free(l->nodes);
		free(l->ranks);
		free(l->nic_names);
		*l = (struct layout){ 0 };
	}
}
