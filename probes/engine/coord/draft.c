/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/data/hosts.h"

/* Names of all nodes as the launcher by ssh or Slurm lists them, when that is
 * one an agent. */
static char **slurm_names(const struct agents *s)
{
	const char *typed = getenv("GPUCHECK_NODELIST");
	const char *list = typed != NULL ? typed : getenv("SLURM_JOB_NODELIST");
	size_t n = 0;
	char **names = list != NULL ? hostlist_expand(list, &n, NULL) : NULL;

	if (names != NULL && n != (size_t)agents_expected(s)) {
		hostlist_free(names, n);
		return NULL;
	}
	return names;
}

bool agents_name_of(const struct agents *s, int task, char name[64])
{
	char **names = getenv("GPUCHECK_NODELIST") == NULL ? slurm_names(s) :
							     NULL;
	bool known = names != NULL && task < agents_expected(s);

	if (known) {
		str_copy(name, 64, names[task]);
	}
	if (names != NULL) {
		hostlist_free(names, (size_t)agents_expected(s));
	}
	return known;
}

/* Two machines of one name stay two nodes: the later ones get a number. */
static void name_draft(struct node_draft *d, int n, const char *host)
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

/* ---- agents of one rank ------------------------------------------------- */

/* Gives @a a slot of its own in its node: the local rank, if that is free. */
static int slot_single(struct node_draft *node, struct coord_agent *a,
		       struct err *e)
{
	int64_t at = a->local_rank, n = node->n_single;

	if (at >= SPEC_MAX_GPUS || node->single[at] != NULL) {
		for (at = 0; at < SPEC_MAX_GPUS && node->single[at] != NULL;) {
			at++;
		}
	}
	if (at == SPEC_MAX_GPUS) {
		err_set(e, 0, "node '%s' has more than %d ranks", node->name,
			SPEC_MAX_GPUS);
		return err_hint(e, "start fewer agents per node");
	}
	node->single[at] = a;
	n = at < n ? n : at + 1;
	node->n_single = (int)(a->local_size > SPEC_MAX_GPUS ||
					       a->local_size < n ?
				       n : a->local_size);
	return 0;
}

static int any_place(const struct node_draft *node)
{
	int i = 0;

	while (i < node->n_single &&
	       (node->single[i] != NULL || node->absent[i] != 0)) {
		i++;
	}
	return i < node->n_single ? i : -1;
}

/* Puts the missing rank @r of the launcher into a free slot: where it belongs,
 * if a node has its ranks in a row, else anywhere.  Returns false if there is
 * none. */
static bool slot_absent(struct node_draft *d, int n, int r)
{
	for (int i = 0; i < n; i++) {
		int k = 0, at;

		while (k < d[i].n_single && d[i].single[k] == NULL) {
			k++;
		}
		at = k < d[i].n_single ? r - d[i].single[k]->boot_rank + k : -1;
		if (d[i].present && at >= 0 && at < d[i].n_single &&
		    d[i].single[at] == NULL && d[i].absent[at] == 0) {
			d[i].absent[at] = r + 1;
			return true;
		}
	}
	for (int i = 0; i < n; i++) {
		int at = any_place(&d[i]);

		if (d[i].present && at >= 0) {
			d[i].absent[at] = r + 1;
			return true;
		}
	}
	return false;
}

/* Puts rank @r, whose node is not known, into a draft with its neighbours whose
 * node is not known either. */
static int place_apart(struct node_draft *d, int n, int r)
{
	struct node_draft *last = n > 0 ? &d[n - 1] : NULL;

	if (last == NULL || last->host[0] != '\0' ||
	    last->n_single == SPEC_MAX_GPUS ||
	    last->absent[last->n_single - 1] != r) {
		last = &d[n++];
		snprintf(last->name, sizeof(last->name), "rank%d", r);
	} else {
		snprintf(last->name, sizeof(last->name), "ranks%d-%d",
			 last->absent[0] - 1, r);
	}
	last->absent[last->n_single++] = r + 1;
	return n;
}

/* Puts the ranks of agents that never came into the @n drafts: those that named
 * their node when they gave up, then the others.  Returns how many drafts there
 * are then. */
static int draft_absent(const struct agents *s, struct node_draft *d, int n)
{
	const char *node;	/* that rank r named when it gave up; "" */
	int n_known;

	for (int r = 0; r < agents_expected(s); r++) {
		int i = 0, at;

		node = agents_absent_rank(s, r).node;
		if (agents_find(s, r) != NULL || node[0] == '\0') {
			continue;
		}
		while (i < n && strcmp(d[i].host, node) != 0) {
			i++;
		}
		if (i == n) {
			name_draft(d, n++, node);
		}
		at = any_place(&d[i]);
		if (at < 0 && d[i].n_single < SPEC_MAX_GPUS) {
			at = d[i].n_single++;
		}
		if (at >= 0) {
			d[i].absent[at] = r + 1;
		}
	}
	n_known = n;
	for (int r = 0; r < agents_expected(s); r++) {
		node = agents_absent_rank(s, r).node;
		if (agents_find(s, r) == NULL && node[0] == '\0' &&
		    !slot_absent(d, n_known, r)) {
			n = place_apart(d, n, r);
		}
	}
	/* slots for which no rank is left go: local ranks need not be in a
	 * row */
	for (int i = 0; i < n; i++) {
		int left = 0;

		for (int k = 0; k < d[i].n_single; k++) {
			if (d[i].single[k] != NULL || d[i].absent[k] != 0) {
				d[i].single[left] = d[i].single[k];
				d[i].absent[left++] = d[i].absent[k];
			}
		}
		d[i].n_single = left;
	}
	return n;
}

/* ---- all of them -------------------------------------------------------- */

/* Returns true if the launcher starts one agent per rank. */
static bool are_single(const struct agents *s)
{
	const struct coord_agent *a = agents_next(s, NULL);

	while (a != NULL && a->local_rank < 0) {
		a = agents_next(s, a);
	}
	return a != NULL;
}

int draft_nodes(const struct agents *s, bool local, struct node_draft *d,
		struct err *e)
{
	char **names = slurm_names(s);
	bool apart = names == NULL && are_single(s);
	int n = 0, rc = 0;

	for (int r = 0; r < agents_expected(s) && rc == 0; r++) {
		struct coord_agent *a = agents_find(s, r);
		struct node_draft *node = d;
		char missing[64];

		if (a == NULL) {
			STR_COPY(missing, agents_absent_rank(s, r).node);
			if (missing[0] == '\0') {
				snprintf(missing, sizeof(missing), "%s%d",
					 local ? "n" : "node", r);
			}
			if (!apart) {
				d[n].boot_rank = r + 1;
				name_draft(d, n++,
					   names != NULL ? names[r] : missing);
			}
			continue;
		}
		while (node < d + n &&
		       (!node->present || strcmp(node->host, a->node) != 0 ||
			(!a->pretend &&
			 strcmp(node->boot_id, a->boot_id) != 0))) {
			node++;
		}
		if (node == d + n) {
			name_draft(d, n++, a->node);
			STR_COPY(node->boot_id, a->boot_id);
			node->present = true;
		}
		if (a->local_rank < 0) {
			node->whole = a;
		} else {
			rc = slot_single(node, a, e);
		}
	}
	if (names != NULL) {
		hostlist_free(names, (size_t)agents_expected(s));
	}
	return rc < 0 ? -1 : apart ? draft_absent(s, d, n) : n;
}

void draft_model(const struct agents *s, int n, int hosted,
		 struct node_draft *d)
{
	for (int i = 0; i < n; i++) {
		struct coord_agent *a = agents_find(s, i / hosted);

		snprintf(d[i].name, sizeof(d[i].name), "n%d", i);
		STR_COPY(d[i].host, d[i].name);
		d[i].boot_rank = i / hosted + 1;
		d[i].present = a != NULL;
		d[i].whole = a;
	}
}
