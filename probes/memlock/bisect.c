/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/prove.h"

/* True when @size_B works. */
static bool try_size(const struct bisect *b, struct bisect_result *r,
		     int64_t size_B)
{
	int why = b->attempt(size_B, b->arg);

	if (why == 0) {
		r->max_ok_B = size_B;
		return true;
	}
	r->min_fail_B = size_B;
	r->error = why;
	return false;
}

void bisect_run(const struct bisect *b, struct bisect_result *r)
{
	int64_t size = b->first_B;

	*r = (struct bisect_result){ .min_fail_B = RECORD_NONE };
	while (try_size(b, r, size)) {
		if (size >= b->ceiling_B) {
			return;
		}
		size = size > b->ceiling_B / 2 ? b->ceiling_B : 2 * size;
	}
	while (r->min_fail_B - r->max_ok_B > b->unit_B) {
		int64_t units = (r->min_fail_B - r->max_ok_B) / b->unit_B;

		try_size(b, r, r->max_ok_B + (units + 1) / 2 * b->unit_B);
	}
}
