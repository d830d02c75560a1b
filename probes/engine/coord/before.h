/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_BEFORE_H
#define PROBES_ENGINE_COORD_BEFORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "probes/engine/coord/agents.h"

/*
 * A run that ended early as it was left: its run.json then.  Who goes on with
 * it needs the same nodes and parts of them.
 */

/** What @run, its run.json, says, into @out (a copy, json_decref() frees); NULL
 *  there when it is a new one, or never came as far as a plan, and without
 *  nodes when that was made for nodes of which none came.  0, or -1 with @e. */
int before_open(json_t *run, json_t **out, struct err *e);
size_t before_n_nodes(const json_t *b); /* 0 when @b is NULL */
/** Put the @n nodes of @d, which has room for those of both, into the places
 *  that they had, and those that never came into the places of such.  Returns
 *  how many these are, or -1 with @e: another node.  Only where @b has
 *  nodes. */
int before_nodes(const json_t *b, struct node_draft *d, int n, struct err *e);
/** Its entry of run.json, borrowed; NULL: it has none, or @b is NULL. */
const json_t *before_node(const json_t *b, const char *name);
/** UUID or port of number @part of @node, "" where not known; @b NULL too. */
const char *before_part(const json_t *b, const char *node, int part);
/** Has no agent of @node come so far?  True when @b is NULL. */
bool before_missing(const json_t *b, const char *node);
/** Was the plan of these @sizes (bytes) and so many @cells, as far as it was of
 *  nodes that had come?  0, or -1 with @e. */
int before_check_plan(const json_t *b, const int64_t *sizes, int n_sizes,
		      size_t cells, struct err *e);

#endif
