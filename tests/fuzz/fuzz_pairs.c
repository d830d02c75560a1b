/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/plan/plan.h"
#include "tests/layout.h"

/** Any text is an error or pairs; what gets planned is within the run. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "n0", "a-1", "7" };
	static const int gpus[] = { 2, 3, 2 }, nics[] = { 1, 0, 0 };
	char *text = calloc(1, size + 1);
	struct layout l = { 0 };
	struct pairs p = { 0 };
	struct plan plan;

	if (!text || layout_of(&l, 3, names, gpus, nics) < 0) {
		free(text);
		return 0;
	}
	memcpy(text, data, size);
	if (pairs_parse(text, &p, NULL) == 0 &&
	    plan_pairs(&l, &p, &plan, NULL) == 0) {
		for (size_t i = 0; i < plan.n; i++) {
			const struct task *t = &plan.tasks[i];

			if (t->a < 0 || t->a >= t->b || t->b >= l.n_ranks) {
				abort();
			}
		}
		if (plan.n == 0 || plan.n > 21 || plan.cells != 2 * plan.n) {
			abort();
		}
		plan_release(&plan);
	}
	pairs_release(&p);
	layout_release(&l);
	free(text);
	return 0;
}
