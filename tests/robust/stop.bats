#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs that are told to end before they are through.

load helper

# Stopped in order: whole files, rows of what was not measured, exit 4.
stopped_in_order()
{
	ends 15 4
	every_cell 8
	[ "$(count not_run)" -gt 0 ]
	[ "$(count ok)" -gt 0 ]
	grep -q ",not_run,$1," run/results.csv
	jq -e --arg reason "$2" '.ended_utc and .stop_reason == $reason' \
		run/run.json
	accuses_nobody
}

# What a test that was cut in its middle would have come to, nobody knows.
accuses_nobody()
{
	only ok not_run
	jq -e '.status == "partial" and (.findings | all(.severity != "fail"))' \
		run/verdict.json
	report_agrees 4
}

@test "SIGTERM stops in order" {
	begin "${long[@]}"
	kill -TERM "$front"
	stopped_in_order interrupted interrupted
}

@test "^C stops in order" {
	begin "${long[@]}"
	kill -INT "$front"
	stopped_in_order interrupted interrupted
}

@test "a second ^C stops at once" {
	echo 'hang gpu=1:3' >drill
	begin --local=2x4 --faults=drill --timeout=60s
	# all that the hanging pair does not hold up
	await 20 has_rows 30
	kill -INT "$front"
	sleep 0.4
	kill -INT "$front"
	ends 3 4
	await 3 nobody_left
	# there was no time for the end, but for why
	jq -e '.stop_reason == "interrupted" and (.ended_utc | not)' \
		run/run.json
	report_agrees 4
}

@test "a worker that does not answer when the run is stopped is not hung" {
	begin "${long[@]}"
	signal_worker STOP
	kill -TERM "$front"
	stopped_in_order interrupted interrupted
}

@test "a test that is cut before its own timeout accuses no GPU" {
	echo 'hang gpu=1:3' >drill
	begin --local=2x4 --faults=drill --timeout=60s --max-time=6s
	stopped_in_order out_of_time max_time
}

@test "an agent that ends while the run is stopped is not lost" {
	echo 'hang gpu=1:3' >drill
	begin --local=2x4 --faults=drill --timeout=60s
	kill -TERM "$front"
	await 3 grep -q ',stop,interrupted' run/events.csv
	kill -9 "$(pids agent | tail -n 1)"
	stopped_in_order interrupted interrupted
}

@test "SIGTERM while nodes are at work: none of them has failed" {
	"$GPUCHECK" ping --local=3x2 --count=200 --progress=never -o run \
		>out 2>err 3>&- </dev/null &
	front=$!
	await 20 grep -qs ',start,' run/events.csv
	sleep 0.3
	kill -TERM "$front"
	ends 15 '[34]'		# nothing was measured, or little
	jq -e '.findings == [] and .exclude == []' run/verdict.json
}

@test "SIGTERM to every agent, as a batch system does" {
	begin "${long[@]}"
	{ pids agent; pids coordinator; } | xargs kill -TERM
	stopped_in_order interrupted interrupted
}

@test "--max-time" {
	# a busy machine takes a second to start, a quiet one 20 s in all
	begin --local=2x4 -b 256K -n 8 --rate-limit=4M --max-time=3s
	stopped_in_order out_of_time max_time
}
