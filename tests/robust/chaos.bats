#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# A few rounds of chaos, and that it sees a program that is broken.

load ../await

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	GPUCHECK=$(realpath "$GPUCHECK")
	[ "$(id -u)" -eq 0 ] || skip "only root can make namespaces"
	command -v python3 >/dev/null || skip "no python3"
}

chaos()
{
	python3 -B "$BATS_TEST_DIRNAME/chaos" "$@" --keep="$PWD/rounds"
}

@test "rounds of chaos" {
	# those that do not wait for a timeout
	local faults=kill,segv,term,disk,clock rounds=4
	[ "${CASES-}" != all ] || rounds=8
	# a false clock and a sanitizer wait for each other at the start
	! grep -q __asan_init "$GPUCHECK" || faults=${faults%,clock}
	chaos $rounds "${SEED:-2}" --scenes=local,sim --lanes=8 --faults="$faults"
}

none_left()
{
	! pgrep -f "$PWD/rounds" >/dev/null
}

@test "rounds end with the program that is killed" {
	# itself, not a shell that waits for it, with a round that takes most
	# of a minute: an agent is stopped
	python3 -B "$BATS_TEST_DIRNAME/chaos" 1 34 --scenes=local \
		--faults=stop --keep="$PWD/rounds" >out 2>&1 3>&- &
	await 30 pgrep -f "gpucheck .*-o $PWD/rounds" >/dev/null
	kill -KILL $!
	wait $! || true
	await 15 none_left
}

# broken SHELL: a run that nothing is done to, after which SHELL is done as the
# program would have; prints what is complained of.
broken()
{
	mkdir bin
	cat >bin/gpucheck <<-S
		#!/bin/bash
		"$GPUCHECK" "\$@"
		code=\$?
		PATH=$PATH
		run=\$(find "$PWD/rounds" -name run.json -printf %h)
		if [ "\$1" = p2p ] && [ -e "\$run/verdict.json" ]; then
			$1
		fi
		exit \$code
	S
	chmod +x bin/gpucheck
	GPUCHECK=$PWD/bin/gpucheck chaos 1 1 --scenes=sim \
		--faults=none --linger=2
}

sees()
{
	local said
	if said=$(broken "$1"); then
		echo "not seen: $said"
		return 1
	fi
	grep -qF -- "$2" <<<"$said" || { echo "$said"; return 1; }
}

@test "a healthy run is none" {
	broken :
}

@test "a row that is lost, twice or another's" {
	# shellcheck disable=SC2016 # for the program
	sees 'sed -i 9d "$run/results.csv"' 'cells without a row'
	rm -r bin rounds
	# shellcheck disable=SC2016
	sees 'sed -i 9p "$run/results.csv"' 'row twice'
	rm -r bin rounds
	# shellcheck disable=SC2016
	sees 'sed -i "9s/,n[0-9],/,n9,/" "$run/results.csv"' 'is not on n9'
}

@test "a row that is bad for no reason" {
	# shellcheck disable=SC2016
	sees 'sed -i "9s/,ok,,/,timeout,worker_hung,/" "$run/results.csv"' \
		'is timeout worker_hung'
}

@test "a healthy node that is accused" {
	# shellcheck disable=SC2016
	sees 'sed -i "s/\"exclude\": \[/&\"n1\"/" "$run/verdict.json"' \
		'accused n1'
}

@test "a wrong exit code" {
	sees 'code=1' 'exit code 1'
}

@test "a process or a file that is left behind" {
	sees 'sleep 60 & code=0' 'left behind: process'
	rm -r bin rounds
	# shellcheck disable=SC2016
	sees 'touch "$TMPDIR/left"' 'left behind: file'
}
