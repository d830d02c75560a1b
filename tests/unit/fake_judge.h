/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_FAKE_JUDGE_H
#define TESTS_UNIT_FAKE_JUDGE_H

#include "tests/unit/fake_run.h"

#include "report/judge/pairs.h"

/** The verdict of a run made by hand; verdict_release() frees. */
static inline struct verdict judge(const struct run *r)
{
	struct verdict v;

	assert_int_equal(verdict_compute(r, &v), 0);
	return v;
}

#endif
