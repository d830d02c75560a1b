#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A history whose writer was lost.

@test "100,000 lines cut at random bytes lose the torn line alone" {
	cd "$BATS_TEST_DIRNAME/../.."
	program=${B:-build}/tests/unit/test_history
	[ -x "$program" ] || make -s --no-print-directory "$program"
	SEED=${SEED:-$RANDOM}
	echo "SEED=$SEED"
	CUTS=$([ "${CASES-}" = all ] && echo 200 || echo 10) SEED=$SEED CMOCKA_TEST_FILTER='a_cut_*' "$program"
}
