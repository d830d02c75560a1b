/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_GONE_H
#define REPORT_JUDGE_GONE_H

#include "report/model/part.h"

/**
 * Parts that are gone by their own word (facts.csv): no cell has to show it.
 * A node whose every GPU is gone is one part, and hides its GPUs.  Pure.
 */
struct gone {
	struct part part;
	const char *code;	/* gpu_missing, agent_lost, memlock ... */
	const char *says;	/* the code that this is a case of */
	const char *detail;	/* the sentence of the node; "" = none */
};

struct gone_list {
	struct gone *list;
	size_t n;
};

#define GONE_OPEN_FAILED "open_failed"
/** Not gone, but cut off from most others: cut_findings(). */
#define GONE_CUT "coordinator_cut"
/** ... of the run: who had started the agents ended them. */
#define GONE_ENDED "agents_ended"

/** What befell a part that is gone by @code; NULL: it is no such code. */
const char *gone_text(const char *code);
/** Is a part at fault for a cell that was skipped with @code? */
bool gone_accuses(const char *code);
/** Is @code of how a part was started or installed, so that leaving its node
 *  out cures nothing? */
bool gone_is_set_up(const char *code);

/** Is @code why the launcher of a node could not start an agent there? */
bool gone_never_started(const char *code);

/** Is @code said of a part by who heard nothing of it, not by its node? */
bool gone_is_silence(const char *code);

/** 0, or -1 when memory runs out.  Text is borrowed from @run. */
int gone_find(const struct run *run, struct gone_list *out);
/** Add nodes that no fact calls lost, as where a run went on with them and was
 *  cut, but a cell not @explained does: events.csv says which end it was.  0,
 *  or -1 when memory runs out. */
int gone_find_lost(const struct run *run, const uint8_t *explained,
		   struct gone_list *g);
void gone_release(struct gone_list *g);

#endif
