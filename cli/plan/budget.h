/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PLAN_BUDGET_H
#define CLI_PLAN_BUDGET_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/spec/spec.h"
#include "probes/probe.h"

/**
 * Make a run of @probe by @launcher fit into s->budget_ns, where that is asked
 * for: of what nobody has set, fewer partners, messages and sizes, the least
 * loss first; and a --max-time that leaves time for the report.
 * @probe  NULL: several in turn, each of which is given its share
 * @says   what was left out, one sentence; "" where nothing was
 */
void budget_fit(struct spec *s, const struct probe *probe,
		const char *launcher, struct str *says);

/** Check that a run that is given @percent of s->budget_ns may measure for a
 *  second, the least --max-time.  0, or -1 with @e. */
int budget_check(const struct spec *s, int percent, struct err *e);

#endif
