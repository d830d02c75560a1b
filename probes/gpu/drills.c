/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/drills.h"

#include <string.h>

#include "probes/plan/drill.h"

static void apply(const struct drill_fault *f, struct gpu_drill *d)
{
	double factor = f->kind == DRILL_SLOW ? f->value : 1;

	switch (f->part) {
	case DRILL_GPU:
		d->busy |= f->kind == DRILL_BUSY;
		d->dead |= f->kind == DRILL_DEAD;
		d->h2d *= factor;
		d->d2h *= factor;
		d->copy *= factor;
		break;
	case DRILL_H2D:
		d->h2d *= factor;
		break;
	case DRILL_D2H:
		d->d2h *= factor;
		break;
	case DRILL_COMPUTE:
		d->wrong = f->kind == DRILL_WRONG ? f->value : d->wrong;
		break;
	default:
		break;	/* of pairs */
	}
}

int gpu_drill_read(const char *text, int node, int gpu, struct gpu_drill *d,
		   struct err *e)
{
	struct drill drill = DRILL_INIT;

	*d = (struct gpu_drill){ .h2d = 1, .d2h = 1, .copy = 1 };
	if (text && drill_parse(text, strlen(text), &drill, e) < 0) {
		return -1;
	}
	for (size_t i = 0; i < drill.n; i++) {
		const struct drill_fault *f = &drill.faults[i];

		if (f->at[0] == node && f->at[1] == gpu) {
			apply(f, d);
		}
	}
	drill_release(&drill);
	return 0;
}
