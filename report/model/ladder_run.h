/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_LADDER_RUN_H
#define REPORT_MODEL_LADDER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/str.h"
#include "report/judge/ladder_verdict.h"

#define LADDER_MAX 16

/** A run of several probes, as read from its files. */
struct ladder_run {
	json_t *json;		/* run.json */
	struct ladder_rung rungs[LADDER_MAX];
	size_t n;
	size_t n_nodes;		/* the most that any rung saw; 0 = none */
	const char *note;	/* what was not touched; NULL = nothing */
	bool ended, strict, drill;
	char stop_reason[64];
	char started_utc[32];
	json_t *netdevs;	/* of struct ladder_facts */
	json_t *verdict;	/* ladder_verdict() */
};

/**
 * Read DIR, judge each rung that has no verdict.json yet, and all together.
 * A rung that was planned and has no row is not_run.  0, or -1 with @e;
 * ladder_run_release() frees.
 */
int ladder_run_read(const char *dir, struct ladder_run *run, struct err *e);
void ladder_run_release(struct ladder_run *run);

/** Exit code of the run: ladder_exit(). */
int ladder_run_exit(const struct ladder_run *run);

/** Verdict, a line a rung, findings, next steps, for @width columns. */
void ladder_words(const struct ladder_run *run, int width, bool color,
		  struct str *out);
/** report.html: the same, with the words and pictures of every rung.  0, or -1
 *  with @e. */
int ladder_html(const char *dir, const struct ladder_run *run, struct err *e);
/** {run, verdict, rows}; 0, or -1 with @e. */
int ladder_json(const struct ladder_run *run, FILE *out, struct err *e);

/** "pass 56", "fail 30 of 240", "skipped", ...: what came of a rung; @buf. */
const char *ladder_rung_text(const struct ladder_rung *r, char *buf,
			     size_t size);

#endif
