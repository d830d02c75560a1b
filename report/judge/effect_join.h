/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_JUDGE_EFFECT_JOIN_H
#define REPORT_JUDGE_EFFECT_JOIN_H

#include "report/judge/effects.h"

/**
 * NICs that are all there are behind one socket, or all of one rail on the
 * nodes of a leaf switch, two at least, and about as bad as each other both
 * ways: it is the socket, or what they have at the switch, and no NIC.  It
 * takes their place in @e, whose ratios are logarithms still.
 */
void effects_join(const struct run *run, struct effects *e);

#endif
