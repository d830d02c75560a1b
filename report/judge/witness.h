/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_WITNESS_H
#define REPORT_JUDGE_WITNESS_H

#include "report/judge/verdict.h"

/** What the cells say about one part.  Pure. */

struct witness {
	size_t cells[CELL_CLASSES];	/* of those that touch the part */
	size_t bad[CELL_CLASSES];	/* the ones that need explaining */
	size_t corrupted;	/* of the flaky ones: data arrived changed */
	char code[48];		/* the most telling one of the bad cells */
	double slow_ratio;	/* mean share of the median, or of packets lost;
				 * NAN = none slow, or too few peers */
	size_t below_line;	/* slow cells below what their line carries */
	size_t by_section;	/* of these, by expected.ini */
	double line_ratio;	/* mean share of what is expected; NAN = none */
};

/** Which of the cells that touch the part are asked. */
enum witness_about { ABOUT_FAULTS, ABOUT_SLOW, ABOUT_FLAKY, ABOUT_RATE };

/** Is the cell one that @about wants explained? */
bool witness_is_bad(const struct run *run, enum witness_about about, size_t at);

/** Did data arrive changed in a flaky cell, before it passed? */
bool witness_corrupted(const struct run *run, size_t at);

/** Hear the cells that touch @p to @w; some of them, word for word, are
 *  evidence of @f, whose example is the first bad one.  Those that another part
 *  explains bear no witness: @explained has EXPLAINED of each, or is NULL. */
void witness_hear(const struct run *run, const struct part *p,
		  enum witness_about about, const uint8_t *explained,
		  struct finding *f, struct witness *w);

#endif
