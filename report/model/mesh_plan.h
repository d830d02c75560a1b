/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_MESH_PLAN_H
#define REPORT_MODEL_MESH_PLAN_H

#include "lib/data/pinglist.h"
#include "report/model/ping_run.h"

/** Of ping: what run.json says of who asks whom. */
struct mesh_plan {
	struct pinglist list;
	bool cross, by_rail;
};

/** That of @run, whose nodes are known. */
struct mesh_plan mesh_plan_read(const struct run *run);
/** Was a path from rank @s to rank @d planned, whose addresses are known? */
bool mesh_plan_has(const struct mesh_plan *plan, const struct run *run, int s,
		   int d);
/**
 * Which paths of @run have a cell: where not all nodes ask all, those that are
 * planned; else all of a square.  0, or -1 with @e: no memory, or more than can
 * be judged.
 */
int mesh_plan_grid(const struct mesh_plan *plan, struct run *run,
		   struct err *e);

#endif
