/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/exit_code.h"
#include "report/judge/drain.h"
#include "report/judge/findings.h"
#include "report/judge/gone.h"
#include "report/judge/next.h"
#include "report/judge/retest.h"
#include "report/judge/says.h"

const char *verdict_status_name(enum verdict_status s)
{
	static const char *const names[] = {
		[VERDICT_PASS]	  = "pass",
		[VERDICT_WARN]	  = "warn",
		[VERDICT_FAIL]	  = "fail",
		[VERDICT_PARTIAL] = "partial",
		[VERDICT_RUNNING] = "running",
		[VERDICT_PENDING] = "pending",
		[VERDICT_UNKNOWN] = "unknown",
	};

	return names[s];
}

/* ---- what they come to -------------------------------------------------- */

size_t verdict_measured(const struct verdict *v)
{
	size_t n = 0;

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		n += run_measured(c) ? v->cells[c] : 0;
	}
	return n;
}

/** Fails first, then what explains more, then the order of the kinds. */
static int finding_compare(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int parts = part_compare(&x->part, &y->part);

	if (x->fail != y->fail) {
		return x->fail ? -1 : 1;
	}
	if (x->explained != y->explained) {
		return x->explained > y->explained ? -1 : 1;
	}
	return parts ? parts : strcmp(x->code, y->code);
}

/** Leaving out a node helps against what sits in one node only, and is no
 *  matter of how it was started. */
static bool sits_in_nodes(const struct finding *f)
{
	return f->fail && !gone_is_set_up(f->code) &&
	       part_is(&f->part, KIND(NODE) | KIND(INTRA_NODE) |
				 KIND(NODE_NETWORK) | KIND(SOCKET) |
				 KIND(CABLE_SWAP) | KIND(NIC) | KIND(GPU) |
				 KIND(GPU_NVLINK) | KIND(LIMIT));
}

static void list_excluded(const struct run *run, struct verdict *v)
{
	v->exclude = calloc((size_t)run->n_nodes + 1, sizeof(*v->exclude));
	v->failed = v->failed || !v->exclude;
	for (int i = 0; v->exclude && i < run->n_nodes; i++) {
		for (size_t k = 0; k < v->n; k++) {
			if (sits_in_nodes(&v->findings[k]) &&
			    finding_sits_in(&v->findings[k], i)) {
				STR_COPY(v->exclude[v->n_exclude++],
					 run->nodes[i].name);
				break;
			}
		}
	}
}

static enum verdict_status status_of(const struct run *run,
				     const struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].fail) {
			return VERDICT_FAIL;
		}
	}
	if (verdict_measured(v) == 0) {
		return VERDICT_UNKNOWN;
	}
	return verdict_is_cut(run, v) || v->open ? VERDICT_PARTIAL :
	       v->n > 0		      ? VERDICT_WARN : VERDICT_PASS;
}

int verdict_whole(struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++) {
		v->failed = v->failed || v->findings[i].failed;
	}
	if (v->failed) {
		verdict_release(v);
		return -1;
	}
	return 0;
}

int verdict_close(const struct run *run, struct verdict *v)
{
	limit_findings(run, v);
	absent_findings(run, v);
	few_findings(run, v);
	for (size_t i = 0; i < v->n; i++) {
		says_switch(run, &v->findings[i]);
		if (!v->findings[i].act[0]) {
			says_act(run, &v->findings[i]);
		}
		if (sits_in_nodes(&v->findings[i])) {
			drain_weigh(run, v, &v->findings[i]);
		}
	}
	if (v->n > 0) {
		qsort(v->findings, v->n, sizeof(*v->findings),
		      finding_compare);
	}
	retest_weigh(run, v);
	v->status = status_of(run, v);
	list_excluded(run, v);
	v->failed = next_good(run, v) < 0 || v->failed;
	return verdict_whole(v);
}

void verdict_release(struct verdict *v)
{
	if (!v) {
		return;
	}
	for (size_t i = 0; i < v->n; i++) {
		finding_release(&v->findings[i]);
	}
	finding_release(&v->lost);
	free(v->findings);
	free(v->exclude);
	free(v->good);
	free(v->accepted.says);
	*v = (struct verdict){ 0 };
}

int verdict_exit(const struct run *run, const struct verdict *v)
{
	if (verdict_measured(v) == 0) {
		return CODE_UNABLE;
	}
	if (verdict_is_cut(run, v)) {
		return CODE_PARTIAL;
	}
	if (v->status == VERDICT_FAIL || v->still ||
	    (v->status == VERDICT_WARN && run->strict)) {
		return CODE_FAULT;
	}
	return v->open ? CODE_PARTIAL : CODE_HEALTHY;
}
