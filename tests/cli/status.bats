#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# How a run stands, and following one that somebody else has started.

load helper
load ../await

has_rows()
{
	[ "$(wc -l 2>/dev/null <run/results.csv || echo 0)" -gt "$1" ]
}

files()
{
	find run -name logs -prune -o -type f -print | sort
}

@test "a run that goes on: status, attach, and not a file of theirs" {
	echo 'hang pair=0-1' >drill
	"$GPUCHECK" p2p --local=2x3 --transport=tcp --faults=drill \
		--timeout=60s -o run >front 2>&1 3>&- &
	pid=$!
	await 30 has_rows 8
	files >before
	run_p status run
	[ "$status" -eq 4 ]
	grep -q '^RUNNING p2p on 2 nodes' out
	grep -q 'running: [0-9]* of 30 measured so far; its coordinator is' out
	absent 'rows send' out
	run_p status --json run
	[ "$status" -eq 4 ]
	jq -e '.state == "running" and .probe == "p2p" and .job == null and
		.tests.planned == 30 and .tests.done >= 8 and .left_s >= 0 and
		.starts_utc == null and .verdict.status == "running"' out
	run_p status -q run
	[ "$status" -eq 4 ]
	[ ! -s out ]
	"$GPUCHECK" attach --progress=always run >words 2>seen 3>&- &
	follower=$!
	await 20 grep -q ' of 30 tests' seen
	files | diff before -
	# leaving it leaves the run
	kill -INT $follower
	rc=0
	wait $follower || rc=$?
	[ $rc -eq 4 ]
	grep -q 'stopped following; the run has not ended' seen
	kill -0 $pid
	"$GPUCHECK" attach --json run >words 2>seen 3>&- &
	follower=$!
	await 20 grep -q 'its coordinator is running' seen
	kill -INT $pid
	rc=0
	wait $follower || rc=$?
	[ $rc -eq 4 ]
	jq -e '.verdict.status == "partial" or .verdict.status == "fail"' words
	wait $pid || true
}

@test "a run that has ended: status and attach are its report in short" {
	mkdir here
	cd here
	run_p status
	fails 2 'there is no run in the current directory'
	run_p p2p --local=2x2 --transport=sim -q
	mkdir gpucheck-empty
	run=$(echo gpucheck-p2p-*)
	find "$run" -type f -printf '%p %T@\n' | sort >../before
	run_p status
	[ "$status" -eq 0 ]
	grep -q '^PASS  p2p on 2 nodes' out
	grep -q "^gpucheck: the latest run here: .*/$run\$" err
	run_p status --json "$run"
	jq -e '.state == "ended" and .left_s == null and .says == null and
		.verdict.status == "pass"' out
	run_p attach --csv "$run"
	[ "$status" -eq 0 ]
	cmp out "$run/results.csv"
	find "$run" -type f -printf '%p %T@\n' | sort | diff ../before -
	run_p status gpucheck-empty
	fails 3 'gpucheck-empty/run.json'
	run_p attach nowhere
	fails 2 "cannot open run directory 'nowhere'"
	run_p attach
	fails 2 'a run directory or a job'
	jq 'del(.ended_utc, .planned)' "$run/run.json" >without
	mv without "$run/run.json"
	run_p status --json "$run"
	[ "$status" -eq 3 ]
	jq -e '.state == "cut" and .verdict == null and
		.says == "the run ended before it planned a test"' out
}

fake()
{
	printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}

@test "a job that waits: why, until when, by its number too" {
	mkdir bin run
	PATH=$PWD/bin:$PATH
	export TZ=UTC0
	soon=$(date -d '2 days' +%Y-%m-%d)
	job='JobId=42 JobName=x Dependency=(null) ExitCode=0:0'
	echo "JobState=PENDING Reason=Resources $job StartTime=${soon}T09:15:02" >state
	fake sbatch true
	fake squeue "echo '42|$PWD/run/job.sbatch'"
	fake scontrol "sed 's/\\(.*\\)\\(JobId=42\\)\\(.*\\)/\\2 \\1 \\3/' '$PWD/state'"
	echo '{"schema":1,"probe":"p2p","launcher":"sbatch","options":{}}' \
		>run/run.json
	for name in run 42; do
		run_p status $name
		[ "$status" -eq 4 ]
		grep -q '^PENDING p2p$' out
		grep -q '^      job 42 is pending (Resources), expected' out
		grep -q 'the nodes are busy' out
	done
	run_p status --json 42
	jq -e --arg soon "$soon" '.state == "pending" and .job == "42" and
		.tests.planned == null and .verdict.status == "pending" and
		.starts_utc == $soon + "T09:15:02.000Z"' out
	# report says the same
	run_p report run
	[ "$status" -eq 4 ]
	grep -q '^PENDING p2p$' out
	grep -q '^      job 42 is pending (Resources), expected' out
	absent '0 nodes' out
	# where jobs have no limit Slurm plans for a year
	sed -i "s/$soon/2126-01-31/" state
	run_p status 42
	absent 'expected to start' out
	sed -i "s/2126-01-31/$soon/" state
	"$GPUCHECK" attach --progress=always 42 >words 2>seen 3>&- &
	follower=$!
	await 20 grep -q 'p2p pending, expected to start about '"$soon"' 09:15 UTC' seen
	sed -i 's/PENDING/RUNNING/' state
	await 20 grep -q 'gpucheck: job 42 is running' seen
	await 20 grep -q 'p2p starting' seen
	sed -i 's/RUNNING/CANCELLED/' state
	rc=0
	wait $follower || rc=$?
	[ $rc -eq 3 ]
	grep -q 'job 42 was cancelled before it started (pending: Resources)' seen
	run_p status run
	[ "$status" -eq 3 ]
	grep -q '^UNKNOWN p2p: job 42 was cancelled before it started' out
	run_p report --json=verdict run
	[ "$status" -eq 3 ]
	jq -e '.verdict.status == "unknown" and (.verdict.reason |
		contains("job 42 was cancelled before it started"))' out
	fake squeue "echo '42|/home/alice/train.sh'"
	run_p attach 42
	fails 2 'job 42 was not submitted by gpucheck'
	fake squeue 'echo "slurm_load_jobs error: Invalid job id" >&2; exit 1'
	run_p status 42
	fails 2 'Slurm does not know job 42: slurm_load_jobs error: Invalid'
}
