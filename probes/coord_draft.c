/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hostlist.h"
#include "lib/str.h"

static struct coord_agent *agent_of_boot_rank(struct coord *c, int boot_rank)
{
	for (struct coord_agent *a = c->agents; a != NULL; a = a->next) {
		if (a->said_hello && a->boot_rank == boot_rank) {
			return a;
		}
	}
	return NULL;
}

/* Names of all nodes as the launcher by ssh or Slurm lists them, when that is one an agent. */
static char **slurm_names(const struct coord *c)
{
	const char *list = getenv("GPUCHECK_NODELIST");
	size_t n = 0;
	char **names = NULL;

	if (list == NULL) {
		list = getenv("SLURM_JOB_NODELIST");
	}
	if (list != NULL) {
		names = hostlist_expand(list, &n, NULL);
	}
	if (names != NULL && n != (size_t)c->size) {
		hostlist_free(names, n);
		return NULL;
	}
	return names;
}

static struct coord_draft *draft_of(struct coord_draft *d, int n,
				    const struct coord_agent *a)
{
	for (int i = 0; i < n; i++) {
		if (d[i].present && strcmp(d[i].host, a->node) == 0 &&
		    (a->pretend || strcmp(d[i].boot_id, a->boot_id) == 0)) {
			return &d[i];
		}
	}
	return NULL;
}

/* Two machines of one name stay two nodes: the later ones get a number. */
static void name_draft(struct coord_draft *d, int n, const char *host)
{
	int same = 1;

	STR_COPY(d[n].host, host);
	STR_COPY(d[n].name, host);
	for (int i = 0; i < n; i++) {
		same += strcmp(d[i].host, d[n].host) == 0;
	}
	if (same > 1) {
		d[n].name[52] = '\0';
		snprintf(d[n].name + strlen(d[n].name), 12, "~%d", same);
	}
}

int coord_draft_nodes(struct coord *c, struct coord_draft *d)
{
	char **names = slurm_names(c);
	int n = 0;

	for (int r = 0; r < c->size; r++) {
		struct coord_agent *a = agent_of_boot_rank(c, r);
		struct coord_draft *node;
		char missing[64];

		if (a == NULL) {
			snprintf(missing, sizeof(missing), "node%d", r);
			name_draft(d, n, names != NULL ? names[r] : missing);
			n++;
			continue;
		}
		node = draft_of(d, n, a);
		if (node == NULL) {
			node = &d[n];
			name_draft(d, n, a->node);
			STR_COPY(node->boot_id, a->boot_id);
			node->present = true;
			n++;
		}
		if (a->local_rank < 0) {
			node->whole = a;
		} else if (node->n_single < SPEC_MAX_GPUS) {
			node->single[node->n_single++] = a;
		}
	}
	if (names != NULL) {
		hostlist_free(names, (size_t)c->size);
	}
	return n;
}
