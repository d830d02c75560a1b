/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_CONVICT_H
#define PROBES_PLAN_CONVICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/data/record.h"
#include "probes/plan/layout.h"

/**
 * What has failed so often, and never come through, that its other tests would
 * fail as well: a NIC or a GPU, as sender or as receiver, and all that goes
 * from one rail to another.  A dozen failures with partners that pass elsewhere
 * are proof; each more costs a deadline.  Pure: outcomes in, a reason out.
 */

/** Failures with different partners. */
#define CONVICT_PROOF 12
/** A part of a smaller run is tested to its end ... */
#define CONVICT_RANKS 128
/** ... and where that makes the run longer by no more than this share. */
#define CONVICT_SHARE 0.1

struct convict;

/** Nothing is known of @l (borrowed).  NULL without memory; convict_free() is
 *  safe on NULL. */
struct convict *convict_new(const struct layout *l);
void convict_free(struct convict *c);

/** The test src -> dst is planned. */
void convict_expect(struct convict *c, int src, int dst);
/** It came to @o at its first attempt, in which it took @cost_ns. */
void convict_hear(struct convict *c, int src, int dst, enum outcome o,
		  int64_t cost_ns);

/** Why a test need not be made. */
struct convict_reason {
	const char *code;	/* NULL: it must be made */
	char text[160];
};

/**
 * Need src -> dst be tested?  Not if the other tests of a part take @spare_ns
 * longer, one after the other, than if they passed; @rails: nor if rails do not
 * connect, which a drill and a model show to the end.
 */
struct convict_reason convict_of(const struct convict *c, int src, int dst,
				 int64_t spare_ns, bool rails);

#endif
