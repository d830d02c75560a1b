/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_DRILL_CASE_H
#define TESTS_UNIT_DRILL_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probes/plan/drill.h"
#include "tests/layout.h"

/* 4 nodes x 4 GPUs x 2 NICs: all places follow from the rank alone. */
#define NODES 4
#define GPUS  4
#define NICS  2

static inline void make_layout(struct layout *l)
{
	static const char *const names[] = { "n0", "n1", "n2", "n3" };
	static const int gpus[] = { GPUS, GPUS, GPUS, GPUS };
	static const int nics[] = { NICS, NICS, NICS, NICS };

	assert_int_equal(layout_of(l, NODES, names, gpus, nics), 0);
}

static inline void parse(struct drill *d, const char *text)
{
	struct err e = { 0 };

	if (drill_parse(text, strlen(text), d, &e) < 0) {
		fail_msg("'%s': %s", text, e.text);
	}
}

#endif
