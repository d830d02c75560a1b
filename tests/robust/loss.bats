#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes of a run die or stop, one by one.

load helper

@test "the coordinator is killed: agents leave within 5 s, rows are kept" {
	begin "${long[@]}"
	kill -9 "$(pids coordinator)"
	await 5 nobody_but_front
	ends 5 4
	has_rows 2
	report_agrees 4
}

nobody_but_front()
{
	! marked | grep -qvx "$front"
}

child_ended()
{
	! kill -0 "$(<child)" 2>/dev/null
}

@test "a child that is stopped does not outlive its agent" {
	python3 - "$GPUCHECK" 2>err 3>&- <<-'P' &
	import socket, subprocess, sys
	ours, its = socket.socketpair()
	child = subprocess.Popen([sys.argv[1], 'worker', 'ping'], stdin=its)
	with open('child', 'w') as f:
	    print(child.pid, file=f)
	child.wait()
	P
	await 5 test -s child
	# it waits for what to do
	await 5 grep -q '^State:.S' "/proc/$(<child)/status"
	sleep 0.2
	kill -STOP "$(<child)"
	kill -9 $!
	await 5 child_ended
}

@test "an agent is killed: its cells are skipped, all others measured" {
	begin "${busy[@]}"
	kill -9 "$(pids agent | tail -n 1)"
	ends 60 1
	every_cell 8
	# inside n0 nothing is lost
	[ "$(outcomes ',n0,.*,n0,')" = "ok:12" ]
	only ok error skipped
	grep -q ',skipped,agent_lost,' run/results.csv
	jq -e '.findings[0] | .kind == "node" and .node == "n1" and
		.code == "agent_lost"' run/verdict.json
	report_agrees 1
}

# bats test_tags=dear
@test "an agent is killed a moment before the coordinator: no fault" {
	local coordinator
	begin --local=3x2 -b 4M -n 200 --timeout=20s
	coordinator=$(pids coordinator)
	kill -9 "$(pids agent | tail -n 1)"
	await 5 grep -q ',skipped,agent_lost,' run/results.csv
	kill -9 "$coordinator"
	ends 10 4
	# a busy machine makes some slow
	jq -e '.status == "partial" and .exclude == [] and
		(.findings | all(.code == "slow"))' run/verdict.json
	report_agrees 4
}

# bats test_tags=dear
@test "the agent beside the coordinator is killed: the run goes on" {
	begin "${long[@]}"
	kill -9 "$(pids agent | head -n 1)"
	ends 60 1
	every_cell 8
	[ "$(outcomes ',n1,.*,n1,')" = "ok:12" ]
	jq -e '.findings[0] | .kind == "node" and .node == "n0"' \
		run/verdict.json
}

@test "an agent is stopped: its node answers, so it is starved, not lost" {
	begin "${long[@]}" --silence=2s
	stopped=$(pids agent | tail -n 1)
	kill -STOP "$stopped"
	await 15 grep -q ',n1,,agent_lost,.*its node answers' run/events.csv
	await 60 grep -q ',end,complete' run/events.csv
	kill -CONT "$stopped"
	ends 60 4
	every_cell 8
	[ "$(outcomes ',n0,.*,n0,')" = "ok:12" ]
	jq -e '.status == "partial" and .exclude == [] and
		(.findings[0] | .severity == "warn" and .code == "starved" and
		 .kind == "node" and .node == "n1")' run/verdict.json
}

@test "the same in a collective: it goes on without, and accuses nobody" {
	local stopped
	"$GPUCHECK" allreduce --transport=sim --local=2x4 -b 1K -e 1G -n 1000 \
		--algo=ring,tree --proto=ll,ll128,simple --silence=2s \
		--progress=never -o run >out 2>err 3>&- </dev/null &
	front=$!
	await 20 has_rows 2
	stopped=$(pids agent | tail -n 1)
	kill -STOP "$stopped"
	await 60 grep -q ',end,complete' run/events.csv
	kill -CONT "$stopped"
	ends 60 4
	[ "$(awk -F, 'NR > 1 && $24 != "ok" { print $24 "," $25 }' \
		run/results.csv | sort -u)" = not_run,starved ]
	jq -e '.status == "partial" and .exclude == [] and
		(.findings | length == 1) and
		(.findings[0] | .severity == "warn" and .code == "starved" and
		 .kind == "node" and .node == "n1")' run/verdict.json
	report_agrees 4
}

# bats test_tags=dear
@test "an agent, then the coordinator do not run for a while: nobody is lost" {
	begin --local=2x4 -b 1M -n 200 --timeout=20s --silence=2s \
		--schedule=serial
	agent=$(pids agent | tail -n 1)
	coordinator=$(pids coordinator)
	kill -STOP "$agent"
	sleep 3
	# while the tests still wait for that agent
	kill -STOP "$coordinator"
	kill -CONT "$agent"
	sleep 3
	kill -CONT "$coordinator"
	ends 120 0
	every_cell 8
	# what waited for them in vain passed when it was tried again
	only ok not_run
	# a busy machine makes some of them slow, and that is a warning
	jq -e '[.cells | to_entries[] | select(.value > 0).key] - ["slow"] ==
		["pass"]' run/verdict.json
	[ "$(grep -c ',late,.*did not run for [2-9]\.' run/events.csv)" -eq 2 ]
	[ "$(grep -c agent_lost run/events.csv)" -eq 0 ]
}

@test "the coordinator is stopped: agents leave, and take it with them" {
	begin "${long[@]}" --silence=1s
	kill -STOP "$(pids coordinator)"
	ends 20 4
	report_agrees 4
}

@test "a worker is stopped: killed at the deadline, its pair is bad, no other" {
	begin --local=2x4 -b 4M -n 25 --timeout=4s
	signal_worker STOP
	ends 60 0
	every_cell 8
	# others of a busy machine may not get to run, which is no failure
	only ok timeout not_run
	[ "$(count timeout)" -ge 1 ] && [ "$(count timeout)" -le 2 ]
	grep -q 'worker_hung,.*worker hung and was killed' run/results.csv
	# it passed when tried again
	jq -e 'any(.findings[]; .code == "flaky" and .severity == "warn")' \
		run/verdict.json
}

@test "a worker is killed: its pair is bad, no other" {
	begin "${busy[@]}"
	signal_worker KILL
	ends 60 0
	every_cell 8
	only ok crashed
	grep -q ',worker_died,.*signal 9' run/events.csv
	crashed=$(count crashed)
	[ "${crashed:-0}" -le 2 ]
	# none where it was hit between two pairs
	if [ "${crashed:-0}" -gt 0 ]; then
		grep -q 'worker_crashed,.*signal 9' run/results.csv
		jq -e 'any(.findings[]; .code == "flaky")' run/verdict.json
	fi
}

# bats test_tags=dear
@test "workers are killed all the time: every cell has a row" {
	# so long that a worker is killed as often as it is started again
	begin --local=2x4 -b 4M -n 100 --timeout=20s
	while ! gone "$front"; do
		kill -9 "$(pids worker | shuf -n 1)" 2>/dev/null || true
		sleep 0.02
	done
	ends 1 1
	every_cell 8
	only ok crashed skipped
	jq -e '[.findings[].code] | index("rank_retired")' run/verdict.json
	report_agrees 1
}

@test "an agent is stopped and the coordinator killed: the front ends" {
	begin "${long[@]}" -n 200 --quiet
	kill -STOP "$(pids agent | tail -n 1)"
	kill -9 "$(pids coordinator)"
	ends 40 4
	[ ! -s err ] && [ ! -s out ]
	await 5 nobody_left
	report_agrees 4
	grep -q '^PARTIAL' report.out
	grep -q 'its coordinator was killed' <(tr -s ' \n' ' ' <report.out)
}

# bats test_tags=dear
@test "the agent beside the coordinator is killed, and that is stopped" {
	begin "${long[@]}" --silence=3s
	kill -STOP "$(pids coordinator)"
	kill -9 "$(pids agent | head -n 1)"
	ends 40 4
	await 5 nobody_left
}

@test "processes that share one core are starved, not hung" {
	taskset -c 0 "$GPUCHECK" p2p --local=2x4 --transport=tcp -b 64M -n 8 \
		--schedule=parallel --timeout=200ms --quiet -o run || true
	every_cell 8
	# a few of 56 may get a third of the core, and still be too slow
	only ok not_run timeout
	late=$(count timeout)
	[ "${late:-0}" -le 3 ]
	grep -q ',not_run,starved,' run/results.csv
	jq -e '.exclude == [] and .findings[0].code == "starved" and
		(.findings[0].evidence | any(test(
			"^n[01]: (waited in the last 10 s: cpu|load) [0-9]"))) and
		(.findings | all(.severity != "fail"))' run/verdict.json ||
		{ cat run/verdict.json; return 1; }
}
