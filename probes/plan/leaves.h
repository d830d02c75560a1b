/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_LEAVES_H
#define PROBES_PLAN_LEAVES_H

#include <stddef.h>

#include <jansson.h>

#include "probes/plan/layout.h"

/**
 * Which ranks are on one leaf: filled in for the ranks of a layout by what the
 * nodes and the user say of switches.  Pure.  Each function returns 0, or -1
 * without memory; leaves_release() frees.
 */
struct leaves {
	struct layout *layout;
	const char *const *nics;	/* a rank's, several joined by '+' */
	char (*names)[64];		/* of leaf 1 and up */
	int n;
	int node;			/* of the link read last */
};

/** By @facts of node @node: what its ports hear by LLDP. */
int leaves_hear(struct leaves *v, int node, const json_t *facts);
/** By @text, as switches_parse() takes it: of those that said nothing. */
int leaves_read(struct leaves *v, const char *text, size_t len);
void leaves_release(struct leaves *v);

#endif
