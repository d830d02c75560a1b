/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_MEMLOCK_VERDICT_H
#define REPORT_JUDGE_MEMLOCK_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/base/str.h"
#include "report/model/memlock_run.h"
#include "report/judge/verdict.h"

#define MEMLOCK_EVIDENCE 8

/** One cause, on as many nodes as have it. */
struct memlock_finding {
	const char *kind;	/* limit, config, node, nic */
	char code[48];
	bool fail;		/* severity: fail or warn */
	char about[64];		/* HCA of kind nic, "" */
	char (*nodes)[64];
	size_t n_nodes;
	size_t cells;		/* checks that it explains */
	char what[512];		/* says, less the nodes */
	char evidence[MEMLOCK_EVIDENCE][400];
	size_t n_evidence;
};

struct memlock_verdict {
	enum verdict_status status;
	size_t cells[CELL_CLASSES];	/* limits and proofs that count */
	struct memlock_finding *findings;	/* fails first */
	size_t n;
	bool unknown;		/* something that counts was not readable */
	size_t n_nodes;		/* of the run */
};

/** Pure: rows in, findings out.  0, or -1 without memory. */
int memlock_judge(const struct memlock_run *run, struct memlock_verdict *v);
void memlock_verdict_release(struct memlock_verdict *v);
/** Exit code by what was looked at and found: 0 1 3 4. */
int memlock_exit(const struct memlock_run *run,
		 const struct memlock_verdict *v);

/** "gcn1, gcn2 and 6 more: WHAT" */
void memlock_says(const struct memlock_finding *f, struct str *out);
/** What to type next: the remedy of data/symptoms.ini. */
const char *memlock_remedy(const struct memlock_finding *f);
/** verdict.json; NULL without memory. */
json_t *memlock_verdict_json(const struct memlock_run *run,
			     const struct memlock_verdict *v);
/** {run, verdict, rows} for --json to @out; 0, or -1 with @e. */
int memlock_json(const struct memlock_run *run,
		 const struct memlock_verdict *v, FILE *out, struct err *e);
/** Verdict, table of limits, proof and findings, for @width columns. */
void memlock_words(const struct memlock_run *run,
		   const struct memlock_verdict *v, int width, bool color,
		   struct str *out);

/** "64 KiB", "unlimited", "-" when there is no number. */
const char *memlock_bytes(int64_t bytes, char *buf, size_t size);
/** gcn2 before gcn10. */
void memlock_sort_names(char (*nodes)[64], size_t n);
/** "gcn1", "gcn1, gcn2", "gcn1, gcn2 and 6 more". */
void memlock_names(char (*nodes)[64], size_t n, struct str *out);

#endif
