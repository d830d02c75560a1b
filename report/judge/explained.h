/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EXPLAINED_H
#define REPORT_JUDGE_EXPLAINED_H

/** What the judges of pairs have said of a cell so far, as bits: who comes
 *  later leaves out what is explained. */
enum explained {
	EXPLAINED = 1,		/* why it failed, or is slow */
	EXPLAINED_FLAKY = 2,	/* why it failed first, and passed later */
	COVERED = 4,		/* a part of it is bad: tells of no small one */
	SPARED = 8,		/* slow by parts that are a little slow */
	SAID = 16,		/* slow, which has been judged */
};

#endif
