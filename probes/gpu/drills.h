/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_DRILLS_H
#define PROBES_GPU_DRILLS_H

#include <stdbool.h>

#include <jansson.h>

#include "lib/base/err.h"

/** What a drill does to the tests of one GPU. */
struct gpu_drill {
	double h2d, d2h, copy;	/* factors of bandwidth */
	double wrong;		/* rate of wrong results */
	bool busy, dead;
};

/** Of GPU @gpu of node number @node, by the text of a drill (NULL: none).  0,
 *  or -1 with @e: it has words that mean nothing here. */
int gpu_drill_read(const char *text, int node, int gpu, struct gpu_drill *d,
		   struct err *e);

#endif
