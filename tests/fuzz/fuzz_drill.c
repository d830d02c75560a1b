/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/plan/drill.h"
#include "tests/layout.h"

/** Any file is a drill or an error with a place; no drill breaks a cell. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "a", "b", "c" };
	static const int gpus[] = { 2, 0, 3 }, nics[] = { 1, 0, 0 };
	struct err e = { 0 };
	struct layout l;
	struct drill d;

	if (layout_of(&l, 3, names, gpus, nics) < 0) {
		return 0;
	}
	if (drill_parse((const char *)data, size, &d, &e) < 0) {
		if (strncmp(e.text, "line ", 5) != 0 || d.faults) {
			abort();
		}
	} else if (drill_check(&d, &l, &e) == 0) {
		drill_settle(&d, size & 1 ? DRILL_TCP : DRILL_NCCL, getenv);
		for (int cell = 0; cell < l.n_ranks * l.n_ranks; cell++) {
			struct drill_effect f =
				drill_effect(&d, &l, cell / l.n_ranks,
					     cell % l.n_ranks, 1, 1);

			if (!(f.factor > 0 && f.factor <= 1) || f.end < 0 ||
			    f.end >= l.n_ranks) {
				abort();
			}
		}
	}
	drill_release(&d);
	layout_release(&l);
	return 0;
}
