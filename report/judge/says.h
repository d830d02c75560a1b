/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_SAYS_H
#define REPORT_JUDGE_SAYS_H

#include "report/judge/verdict.h"
#include "report/judge/witness.h"

/**
 * The sentences of a finding: what is broken and how we know (says), and what
 * to type next (do).  Pure; code, counts and alternatives are already in it.
 */

/** Fill in f->says. @pass: cells of the whole run that pass or are slow;
 *  @measured: all that came to a measurement. */
void says_what(const struct run *run, struct finding *f,
	       enum witness_about about, const struct witness *w, size_t pass,
	       size_t measured);
/** The same for a part that is gone by its own word (@detail, or ""); @state
 *  is the code of its state, which f->code may be a special case of. */
void says_gone(const struct run *run, struct finding *f, const char *state,
	       const char *detail);

/** Fill in f->act. @src, @dst: a bad cell to try again, -1 = none. */
void says_act(const struct run *run, struct finding *f, int src, int dst);

#endif
