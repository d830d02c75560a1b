/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_SAYS_H
#define REPORT_JUDGE_SAYS_H

#include "report/judge/gone.h"
#include "report/judge/verdict.h"
#include "report/judge/witness.h"

/**
 * The sentences of a finding: what is broken and how we know (says), and what
 * to type next (do).  Pure; code, counts and alternatives are already in it.
 */

/** Fill in f->says, by what @w says of it and v->cells of all. */
void says_what(const struct run *run, const struct verdict *v,
	       struct finding *f, enum witness_about about,
	       const struct witness *w);
/** The same for the @n bad cells at @rest, in order, that no part explains, all
 *  of one class. */
void says_scatter(const struct run *run, struct finding *f,
		  enum witness_about about, const uint32_t *rest, size_t n);
/** The same for a part that is gone by its own word. */
void says_gone(const struct run *run, struct finding *f, const struct gone *g);

/** Add the switch and port of a NIC or rail, by facts, to f->says: nobody is
 *  accused by them. */
void says_switch(const struct run *run, struct finding *f);

/** Fill in f->act. */
void says_act(const struct run *run, struct finding *f);

#endif
