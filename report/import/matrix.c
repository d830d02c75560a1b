/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of one test between all ranks are a matrix, whoever measured them. */
#include "report/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"

#define RANKS_MAX 4096

/** The node of each rank, of rows that are all of one test; 0 ranks: they are
 *  no whole matrix. */
struct matrix_ranks {
	char node[RANKS_MAX][64];
	int64_t n;
};

static bool same_test(const struct p2p_row *a, const struct p2p_row *b)
{
	return strcmp(a->detail, b->detail) == 0 &&
	       strcmp(a->op, b->op) == 0 && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->mode, b->mode) == 0 && a->size_B == b->size_B &&
	       isfinite(a->bw_GB_s) == isfinite(b->bw_GB_s);
}

static bool take_end(struct matrix_ranks *m, int64_t rank, const char *node)
{
	if (rank < 0 || rank >= RANKS_MAX || !node[0] ||
	    (m->node[rank][0] && strcmp(m->node[rank], node) != 0)) {
		return false;
	}
	m->n = rank + 1 > m->n ? rank + 1 : m->n;
	return STR_COPY(m->node[rank], node);
}

static bool take_rows(const struct import *x, struct matrix_ranks *m)
{
	struct p2p_row first, row;
	bool whole = x->rows.schema == &schema_p2p && x->rows.n > 0;

	for (size_t i = 0; whole && i < x->rows.n; i++) {
		record_list_get(&x->rows, i, &row);
		first = i == 0 ? row : first;
		whole = same_test(&row, &first) &&
			take_end(m, row.src_rank, row.src_node) &&
			take_end(m, row.dst_rank, row.dst_node);
	}
	return whole && (size_t)m->n * (size_t)(m->n - 1) == x->rows.n;
}

json_t *import_matrix_layout(const struct import *x)
{
	struct matrix_ranks *m = calloc(1, sizeof(*m));
	json_t *nodes = json_array();
	bool whole = m && take_rows(x, m);
	int64_t last;

	for (int64_t i = 0; whole && i < m->n; i = last) {
		last = i;
		while (last < m->n && strcmp(m->node[last], m->node[i]) == 0) {
			last++;
		}
		json_array_append_new(nodes, json_pack(
			"{s:o, s:I, s:I, s:I}", "name", json_text(m->node[i]),
			"first_rank", (json_int_t)i, "gpus",
			(json_int_t)(last - i), "nics",
			(json_int_t)(last - i)));
	}
	if (whole) {
		nodes = json_pack("{s:o, s:{s:s, s:I}}", "nodes", nodes,
				  "planned", "kind", "all", "cells",
				  (json_int_t)(m->n * (m->n - 1)));
	} else {
		json_decref(nodes);
		nodes = NULL;
	}
	free(m);
	return nodes;
}
