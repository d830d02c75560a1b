#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A job that waits, or that Slurm ended: front, status, attach, report and JSON
# say the same, with Slurm's reason.

load helper

resume_nodes()
{
	scontrol update nodename=gcn1,gcn2 state=resume 2>/dev/null || true
	for r in $(scontrol -o show reservation |
		sed -n 's/^ReservationName=\([^ ]*\).*/\1/p'); do
		scontrol delete reservation="$r"
	done
}

teardown()
{
	scancel --quiet --user=root
	await 30 queue_is_empty
	resume_nodes
}

# Submit and leave; $job is its number.
submit()
{
	"$GPUCHECK" "$@" --no-wait -o "$dir" >out 2>err
	job=$(sed -n 2p out)
}

busy()
{
	blocker=$(sbatch --parsable -N 2 --exclusive -o /dev/null \
		--wrap 'sleep 60')
	await 10 state_is "$blocker" RUNNING
}

# state_is JOB STATE
state_is()
{
	[ "$(squeue -a -h -t all --jobs="$1" --format=%T)" = "$2" ]
}

# silent PATTERN FILE: no line of it matches.
silent()
{
	if grep -E -- "$1" "$2"; then
		return 1
	fi
}

# all_say CODE PATTERN: status, report, attach and both JSON.
all_say()
{
	local how code

	for how in status report attach 'status --json' 'report --json=verdict'; do
		[ "$how" != attach ] || [ "$1" != 4 ] || continue
		code=0
		# shellcheck disable=SC2086
		"$GPUCHECK" $how "$dir" >words 2>&1 || code=$?
		expect "$code" "$1"
		tr -s ' \n' '  ' <words | grep -qE -- "$2" ||
			{ echo "$how: no '$2'"; cat words; return 1; }
		silent '0 nodes|0 ranks' words || return 1
	done
}

@test "a job that waits, is held, and is cancelled before it starts" {
	busy
	submit "${quick[@]}"
	all_say 4 "job $job is pending \\((Resources|Priority)\\)"
	scontrol hold "$job"
	all_say 4 "job $job is pending \\(JobHeld"
	scancel "$job"
	await 10 state_is "$job" CANCELLED
	all_say 3 "job $job was cancelled before it started \\(pending: JobHeld"
	expect "$(jq -r .error.exit "$dir/run.json")" 3
	silent 'share this file system' words
}

@test "the front of a job that is cancelled while it waits says so" {
	busy
	start "${quick[@]}" -o "$dir"
	await 20 says 'is pending' err
	job=$(squeue -h -t PD -o %i)
	scancel "$job"
	finish 3
	says "^gpucheck: job $job was cancelled before it started" err
	silent 'share this file system|0 nodes' err
	all_say 3 "job $job was cancelled before it started"
}

@test "a running job that is cancelled: partial, and by what" {
	submit "${long[@]}" -n 200
	await 30 rows 2
	scancel "$job"
	await 30 state_is "$job" CANCELLED
	all_say 4 "the run did not finish \\(job $job was cancelled\\)"
	grep -q "job $job was cancelled" "$dir/report.html"
}

@test "a drained node is named with its reason, and the printed lines start the job" {
	scontrol update nodename=gcn2 state=drain reason='psu is dead'
	submit "${quick[@]}"
	all_say 4 'gcn2 \(drained: psu is dead\); -N asks for fewer'
	scancel "$job"
	dir=${dir}2
	submit "${quick[@]}" --nodelist=gcn1,gcn2
	await 20 waits_for_node
	sed -n 's/.*after a repair: "\(.*\)"/\1/p' words >line
	says reservation=gpucheck line
	USER=root bash -e line
	await 60 state_is "$job" COMPLETED
	"$GPUCHECK" status "$dir" >words
	says '^PASS' words
}

waits_for_node()
{
	"$GPUCHECK" status --json "$dir" | jq -r .hint >words
	grep -q 'gcn2 (drained: psu is dead); after a repair' words
}

@test "a reserved node is named with its reservation" {
	scontrol create reservation=upgrade nodes=gcn2 users=nobody \
		starttime=now duration=30 flags=ignore_jobs
	submit "${quick[@]}"
	await 20 says_reserved
	all_say 4 'gcn2 \(reserved by upgrade\)'
}

says_reserved()
{
	"$GPUCHECK" status "$dir" >words
	grep -q 'reserved by upgrade' words
}
