#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What happens to the follow-up of a run does nothing to the run: all that was
# planned is measured by then.

load helper

# The judge of $front in $judge, which lives for some milliseconds; false when
# there is none any more.
find_judge()
{
	local coordinator='' words
	until [ -n "$coordinator" ]; do
		! gone "$front" || return 1
		coordinator=$(pids coordinator)
	done
	while [ -e "/proc/$coordinator" ]; do
		read -r judge _ 2>/dev/null \
			<"/proc/$coordinator/task/$coordinator/children" || true
		# not before it is one: its parent waits for that
		mapfile -d '' -t words 2>/dev/null <"/proc/${judge:-0}/cmdline" ||
			continue
		if [ "${words[1]-}" = judge ] &&
			kill -STOP "$judge" 2>/dev/null; then
			return
		fi
	done
	return 1
}

# A model whose verdict leaves something open, its judge stopped in its work.
begin_follow_up()
{
	echo 'dead gpu=1:0' >drill
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rm -rf run
		"$GPUCHECK" p2p --local=16x8 --transport=sim --pairs=inter \
			--faults=drill -o run --progress=never \
			>out 2>err 3>&- </dev/null &
		front=$!
		if find_judge; then
			return
		fi
		wait "$front" || true
	done
	false
}

# The main verdict, with as much of the "or" as is left, and beside it no more
# than $1, a code.
is_whole()
{
	ends 60 1
	jq -e --arg more "${1-}" '.cells.pass == 15120 and
		.cells.fail == 240 and .cells.not_run == 0 and
		.status == "fail" and (.findings[0] | .node == "n1" and
		.index == 0 and .code == "drill_dead" and
		(.kind == "gpu" or .or[0].kind == "gpu")) and
		(.findings[1:] | all(.code == $more))' run/verdict.json
	jq -e '.ended_utc and .stop_reason == ""' run/run.json
	report_agrees 1
	await 10 nobody_left
}

@test "a node that dies in the follow-up, or a judge" {
	begin_follow_up
	kill -9 "$(pids agent | tail -1)"
	await 20 grep -q ,agent_lost, run/events.csv
	kill -CONT "$judge"
	is_whole agent_lost
	begin_follow_up
	kill -9 "$judge"
	is_whole
	grep -q ",follow_up_end,.*SIGKILL" run/events.csv
}

@test "^C in the follow-up ends that alone" {
	begin_follow_up
	kill -INT "$front"
	is_whole
}
