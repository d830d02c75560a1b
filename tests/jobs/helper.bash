# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here, which runs in a cluster of four nodes that are
# idle.

load ../await
load ../pasted

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb
	await 30 idle 4
}

idle()
{
	[ "$(sinfo --noheader --states=idle --format=%D)" = "$1" ]
}

# No job is left, whoever had them.
end_jobs()
{
	scancel --quiet --user=root
	await 30 queue_is_empty
}

queue_is_empty()
{
	[ -z "$(squeue --noheader)" ]
}

# run_to CODE ARG...: that exit code within two minutes, words in out and err.
run_to()
{
	local code=0 wanted=$1
	shift
	timeout 120 "$GPUCHECK" "$@" >out 2>err 3>&- || code=$?
	[ "$code" = "$wanted" ] && return
	echo "$code, not $wanted"
	cat out err
	return 1
}
