#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The command that waits for a run, when the run does not end, or it is killed.

load helper

@test "the run directory is moved: the front ends, its rows can be read" {
	begin "${long[@]}"
	mv run run.moved
	ends 40 3
	grep -q "run directory .*run' was moved or removed" err
	grep -q "^hint: .*gpucheck report NEW" err
	[ ! -e run ]
	await 5 nobody_left
	mv run.moved run
	# the directory stays open: the run may have come to its end
	report_agrees 4 || report_agrees 0
}

@test "a run that does not end at --max-time is ended" {
	"$GPUCHECK" p2p --launcher=env --max-time=1s --boot-timeout=1s \
		-o run >out 2>err 3>&- </dev/null &
	front=$!
	# nor one of which no agent ever comes
	"$GPUCHECK" p2p --launcher=env --max-time=1s --boot-timeout=1s \
		-o none >none.out 2>none.err 3>&- </dev/null &
	none=$!
	await 10 test -e run/run.json
	# a coordinator that says that it lives, and no more
	while [ -d run ] && ! gone "$front"; do
		touch run/events.csv
		sleep 0.5
	done 3>&- &
	ends 90 3
	grep -q 'did not end at --time-limit' err
	front=$none
	ends 20 3
	grep -q 'no agent connected within --time-limit' none.err
	grep -q 'the job may still hold its nodes. Cancel: stop' none.err
}

@test "the front is killed: nothing lives on" {
	begin "${long[@]}"
	kill -9 "$front"
	wait "$front" || true
	await 15 nobody_left
	report_agrees 4
}

@test "the front is killed while an agent is stopped: nothing lives on" {
	begin "${long[@]}"
	kill -STOP "$(pids agent | tail -n 1)"
	kill -9 "$(pids coordinator)" "$front"
	wait "$front" || true
	await 15 nobody_left
	report_agrees 4
}
