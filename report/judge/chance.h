/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_CHANCE_H
#define REPORT_JUDGE_CHANCE_H

#include "report/judge/attribute.h"

/**
 * Lone pairs that are slow because something else was going on: flows that
 * meet, a busy host.  Whatever it is, it makes a share of all first tests
 * slow.  Were it that alone, of the tests that are made a second time such a
 * share at most would be slow again.  If no more are, no pair is to blame; one
 * of a quiet cluster is, as hardly any second test would be slow.  Nor is one
 * to blame that is as all of its class are, the same two GPU numbers as far
 * apart, or as slow as both of its ends: it is built so.  Nor is a part whose
 * slow tests are as fast as others of their class, or, as far as they were made
 * a second time, fast.  Pure.
 */

/** Forget those of @causes of slow cells that chance or design explains.  What
 *  is slow of named parts does not count for pairs, nor is one forgotten that
 *  is below what its line carries.  0, or -1 when memory runs out. */
int chance_drop(const struct run *run, struct causes *causes);

#endif
