/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_SKEW_FACTS_H
#define REPORT_MODEL_SKEW_FACTS_H

#include "report/model/run.h"

/** A fact that is compared. */
struct skew_fact {
	const char *fact;	/* as in facts.csv; "NCCL_*": all that begin
				 * so */
	bool part;		/* of a GPU, port or interface: the set of the
				 * values of a node counts,
				 * not whose they are */
	const char *by;		/* of parts: those that are alike in this fact
				 * are compared, "" = in their name */
	const char *absent;	/* a node without it: what that means; NULL =
				 * nobody knows */
	bool active;		/* only of ports that are up */
	bool setting;		/* one a node each may be meant so */
	bool ports_say;		/* port_findings() has it, where ranks are
				 * ports */
	bool mesh_says;		/* and mesh_findings(), where they are
				 * addresses */
};

/** The row of the table that @f is compared by in @run, or NULL. */
const struct skew_fact *skew_fact_of(const struct run *run,
				     const struct fact_row *f);

#endif
