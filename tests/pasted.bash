# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# pasted [FILE...]: the commands in the files, outputs of this test (out, err),
# work when they are pasted, as long as what they are about is still there: in
# one of eight tests, or with COMMANDS=all in each, but those that set PASTED=no.
pasted()
{
	local said
	[ $# -gt 0 ] || set -- out err
	[ "${PASTED-}" != no ] || return 0
	[ "${COMMANDS-}" = all ] ||
		[ $((BATS_SUITE_TEST_NUMBER % 8)) -eq 0 ] || return 0
	grep -qsE '^ {10}gpucheck |"gpucheck ' "$@" || return 0
	said=$("$BATS_TEST_DIRNAME/../golden/commands.py" "$@")
	[ -z "$said" ] || { echo "$said" >&2; return 1; }
}
