/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that NCCL misses on another node than the one that asked it: that
 * one knows their address, and the other node what it has found.
 */
#include "report/judge/hang.h"

#include <string.h>

/** "10.0.0.2/24, mtu 9000" is a fact of the node with @address; NULL. */
static const char *node_at(const struct run *run, const char *address)
{
	size_t len = strlen(address);

	for (size_t i = 0; i < run->n_facts; i++) {
		const struct fact_row *f = &run->facts[i];

		if (strcmp(f->fact, "address") == 0 &&
		    strncmp(f->value, address, len) == 0 &&
		    strchr("/, ", f->value[len])) {
			return f->node;
		}
	}
	return NULL;
}

/** Has @node looked, and not seen process @pid? */
static bool is_lost(const struct hang_rows *rows, const char *node,
		    int64_t pid)
{
	for (size_t i = 0; i < rows->n_silent; i++) {
		if (strcmp(rows->silent[i].node, node) == 0) {
			return false;
		}
	}
	for (size_t i = 0; i < rows->n; i++) {
		const struct hang_row *r = &rows->list[i];

		if (r->state[0] && r->pid == pid &&
		    strcmp(r->node, node) == 0) {
			return false;
		}
	}
	return true;
}

void hang_find_far(const struct run *run, struct hang_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct hang_row *r = &rows->list[i];
		const char *node = r->state[0] ? NULL : node_at(run, r->node);

		if (node && is_lost(rows, node, r->pid)) {
			STR_COPY(r->node, node);
			STR_COPY(r->state, HANG_GONE);
		}
	}
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->list[i].state[0]) {
			rows->list[n++] = rows->list[i];
		}
	}
	rows->n = n;
}
