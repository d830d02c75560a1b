/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison with an accepted run. */
#ifndef REPORT_JUDGE_ACCEPTED_H
#define REPORT_JUDGE_ACCEPTED_H

#include "report/judge/verdict.h"

/**
 * An earlier run of the same cluster that the user accepts as a baseline
 * (--reference): findings that it shows as well are part of the design of the
 * site and are dropped.  Pure.
 *
 * Only slow or late parts and groups at two levels can be accepted, and only to
 * the extent of that run: a part whose tests are slower now, compared with all
 * others, stays a finding, and so does a slow test that was fast.  Failures are
 * never accepted.
 */

/** Why the two cannot be compared: appends "transport sim, now tcp"; or false,
 *  and nothing. */
bool accepted_unlike(const struct run *then, const struct run *now,
		     struct str *out);

/** Returns true if @v has findings that can only be compared with the verdict
 *  of the accepted run, not with its rows. */
bool accepted_asks(const struct verdict *v);

/**
 * Drop those findings of @v, which is not closed yet, that @then shows as well,
 * @before being its verdict, which may be empty unless accepted_asks();
 * v->accepted has their sentences.  Where all tests of a kind are slower than
 * they were, there is one more, below_reference.  Memory that runs out,
 * verdict_close() says.
 */
void accepted_compare(const struct run *now, const struct run *then,
		      const struct verdict *before, struct verdict *v);

/** Writes line @i (from 0) of the comparison for the reader into @buf.  Returns
 *  false after the last line. */
bool accepted_note(const struct accepted *a, int i, char *buf, size_t size);

#endif
