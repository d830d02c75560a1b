/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/look.h"

int64_t memlock_needed(const struct spec *s, int hcas)
{
	if (s->need_B > 0) {
		return s->need_B;
	}
	return (hcas > 0 ? hcas : 1) * NEED_HCA_B;
}
