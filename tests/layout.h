/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_LAYOUT_H
#define TESTS_LAYOUT_H

#include "lib/base/str.h"
#include "probes/plan/layout.h"

/** A layout of nodes as three lists have them; 0, or -1 without memory. */
static inline int layout_of(struct layout *l, int n_nodes,
			    const char *const names[], const int gpus[],
			    const int nics[])
{
	if (layout_init(l, n_nodes) < 0) {
		return -1;
	}
	for (int i = 0; i < n_nodes; i++) {
		STR_COPY(l->nodes[i].name, names[i]);
		l->nodes[i].gpus = gpus[i];
		l->nodes[i].nics = nics[i];
	}
	return layout_number(l);
}

#endif
