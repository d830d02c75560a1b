/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_GROUP_VERDICT_H
#define REPORT_JUDGE_GROUP_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "lib/data/record_allreduce.h"
#include "lib/base/str.h"
#include "report/model/part.h"

/**
 * What a sweep of collectives found to be broken: pure.  @run is run.json, of
 * which "dropped" names ranks that are to blame for a failure, "bisect" the
 * smallest bad set.  Returns verdict.json, NULL without memory.
 */
json_t *group_verdict(const json_t *run, const struct allreduce_row *rows,
		      size_t n);
/** Exit code of that verdict: 0 1 3 4. */
int group_exit(const json_t *run, const json_t *verdict);
/** What @run was, of which run_read_header() has read the json, and the findings
 *  as sentences, for @width columns. */
void group_words(const struct run *run, const json_t *verdict, int width,
		 bool color, struct str *out);

#endif
