#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What the program is made of.

@test "the program needs libc alone" {
	# clang's is in the program itself
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer is linked in"
	run ldd "$GPUCHECK"
	[ -z "$(grep '=>' <<<"$output" |
		grep -vE 'lib(c|m|dl|rt|pthread)\.so' || true)" ]
}
