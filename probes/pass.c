/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/pass.h"

#include <stdio.h>

static struct pass make_pass(int64_t schedule, bool pxn)
{
	return (struct pass){ .schedule = schedule, .pxn = pxn };
}

/** What sets a pass apart from the other one is in its name. */
static void name_passes(struct pass *passes, int n)
{
	for (int i = 0; i < n; i++) {
		bool by_pxn = n > 1 && passes[i].pxn;

		snprintf(passes[i].name, sizeof(passes[i].name), "%s%s",
			 spec_schedule_name(passes[i].schedule),
			 by_pxn ? "+pxn" : "");
	}
}

int pass_list(const struct spec *s, struct pass passes[PASS_MAX])
{
	int n = 0;

	switch (s->contrast) {
	case CONTRAST_SCHEDULE:
		/* alone first: what is slow then is not slow by the others */
		passes[n++] = make_pass(SCHEDULE_SERIAL, s->pxn);
		passes[n++] = make_pass(SCHEDULE_PARALLEL, s->pxn);
		break;
	case CONTRAST_PXN:
		passes[n++] = make_pass(s->schedule, false);
		passes[n++] = make_pass(s->schedule, true);
		break;
	default:
		passes[n++] = make_pass(s->schedule, s->pxn);
		break;
	}
	name_passes(passes, n);
	return n;
}

bool pass_needs_fresh(const struct pass *a, const struct pass *b, bool model)
{
	return a->pxn != b->pxn || (model && a->schedule != b->schedule);
}
