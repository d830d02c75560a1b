/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_PING_FINDINGS_H
#define REPORT_JUDGE_PING_FINDINGS_H

#include "report/model/ping_run.h"
#include "report/judge/findings.h"
#include "report/model/part.h"
#include "report/judge/verdict.h"

/**
 * The parts of mesh_findings(), for a run that has run->mesh.  Those that find
 * give 0, or -1 when memory runs out; what a finding of theirs accounts for
 * they set in @explained, one byte a cell.
 */

/** The interface that @rank asks from. */
struct part mesh_nic(const struct run *run, int rank);
/** Name of the node of @rank. */
const char *mesh_node_name(const struct run *run, int rank);
/** A finding of @p whose words are @fmt, with what to type next; borrowed until
 *  the next one; NULL when memory runs out. */
__attribute__((format(printf, 6, 7)))
struct finding *mesh_add(const struct run *run, struct verdict *v,
			 const struct part *p, const char *code, bool fail,
			 const char *fmt, ...);

/** Two ranks that say they have one address. */
int mesh_duplicates(const struct run *run, uint8_t *explained,
		    struct verdict *v);
/** A machine that is no rank and answers for one. */
int mesh_usurpers(const struct run *run, uint8_t *explained,
		  struct verdict *v);
/** Addresses that are missing in a segment, and MTUs that differ. */
int mesh_segments(const struct run *run, struct verdict *v);

#endif
