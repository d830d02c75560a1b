#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of attacks, with a few tries of each.

@test "every attack of the table is survived" {
	export GPUCHECK=${GPUCHECK:-$BATS_TEST_DIRNAME/../../gpucheck}
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	TMPDIR=$BATS_TEST_TMPDIR N=3 timeout 100 tests/security/run table \
		>"$BATS_TEST_TMPDIR/table" 2>&1 3>&- || code=$?
	cat "$BATS_TEST_TMPDIR/table"
	[ "${code-0}" -eq 0 ]
	# a table of nothing is survived, too
	[ "$(grep -c '^\(coordinator\|agent\): ' "$BATS_TEST_TMPDIR/table")" \
		-eq 18 ]
}
