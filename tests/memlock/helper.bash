# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here.

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb COLUMNS=80
	unset NO_COLOR "${!SLURM_@}" "${!GPUCHECK_@}"
	export GPUCHECK_CONFIG=none
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	# shellcheck disable=SC2034  # for the test files
	machines=$root/tests/fixtures/sysroot
}

# look CODE OPTION...: memlock ends with that exit code; its words are in out.
look()
{
	local wanted=$1 code=0
	shift

	timeout 200 "$GPUCHECK" memlock "$@" >out 2>err || code=$?
	if [ $code -ne "$wanted" ]; then
		echo "exit $code, not $wanted"
		cat out err
		return 1
	fi
}

# says PATTERN [FILE]: some line of it matches.
says()
{
	grep -qE -- "$1" "${2-out}" || { echo "no '$1' in:"; cat "${2-out}"; return 1; }
}

# is FILTER TEXT: jq's answer about the JSON in out.
is()
{
	local got

	got=$(jq -rc "$1" out)
	[ "$got" = "$2" ] || { echo "$1: $got, not $2"; return 1; }
}

# at KIB COMMAND...: with that limit of locked memory.
at()
{
	local kib=$1
	shift

	(ulimit -S -l "$kib" && "$@")
}
