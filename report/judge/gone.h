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
	const char *says;	/* the state that this is a case of */
	bool set_up;		/* no fault of the node: how it was started */
	const char *detail;	/* the sentence of the node; "" = none */
};

struct gone_list {
	struct gone *list;
	size_t n;
};

/** Is @code of how a part was started or installed, so that leaving its node out
 *  cures nothing? */
bool gone_is_set_up(const char *code);

/** 0, or -1 when memory runs out.  Text is borrowed from @run. */
int gone_find(const struct run *run, struct gone_list *out);
void gone_release(struct gone_list *g);

#endif
