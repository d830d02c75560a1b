/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/pass.h"

#include <stdio.h>

#include "lib/data/record.h"

/** What sets a pass apart from the other one is in its name. */
static void name_passes(struct pass *passes, int n)
{
	const struct pass *one = &passes[0];

	for (int i = 0; i < n; i++) {
		struct pass *p = &passes[i];

		snprintf(p->name, sizeof(p->name), "%s%s%s",
			 spec_choice_name("schedule", p->schedule),
			 n > 1 && p->pxn ? "+pxn" : "",
			 p->memory != one->memory ? "+gpu" : "");
	}
}

int pass_list(const struct spec *s, struct pass passes[PASS_MAX])
{
	int n = s->contrast == CONTRAST_NONE ? 1 : PASS_MAX;

	for (int i = 0; i < n; i++) {
		passes[i] = (struct pass){ .schedule = s->schedule,
					   .pxn = s->pxn,
					   .memory = s->memory };
	}
	switch (s->contrast) {
	case CONTRAST_SCHEDULE:
		/* alone first: what is slow then is not slow by the others */
		passes[0].schedule = SCHEDULE_SERIAL;
		passes[1].schedule = SCHEDULE_PARALLEL;
		break;
	case CONTRAST_PXN:
		passes[0].pxn = false;
		passes[1].pxn = true;
		break;
	case CONTRAST_MEMORY:
		passes[0].memory = MEMORY_HOST;
		passes[1].memory = MEMORY_GPU;
		break;
	default:
		break;
	}
	name_passes(passes, n);
	return n;
}

struct pass pass_follow(const struct pass *first)
{
	struct pass p = *first;

	snprintf(p.name, sizeof(p.name), "%s", P2P_FOLLOW_UP);
	return p;
}

bool pass_needs_fresh(const struct pass *a, const struct pass *b, bool model)
{
	return a->pxn != b->pxn || a->memory != b->memory ||
	       (model && a->schedule != b->schedule);
}
