#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A job that waits, runs, or that Slurm ended: front, status, attach, report, JSON
# and page say the same, with Slurm's reason.

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
	local good=true
	pasted || good=false
	scancel --quiet --user=root
	await 30 queue_is_empty
	resume_nodes
	$good
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

# all_say CODE PATTERN [STATE]: status, report, attach, both JSON and the page.  A
# run in STATE goes on, without a page, and attach follows it until ^C.
all_say()
{
	local how code wait

	for how in status report attach 'status --json' 'report --json=verdict'; do
		code=0 wait=60
		[ -z "${3-}" ] || [ "$how" != attach ] || wait=3
		# shellcheck disable=SC2086
		timeout --signal=INT "$wait" "$GPUCHECK" $how "$dir" >words \
			2>&1 || code=$?
		[ "$wait" = 3 ] || expect "$code" "$1"
		says_so "$how" "$2"
		silent '0 nodes|0 ranks' words
	done
	expect "$("$GPUCHECK" status --json "$dir" | jq -r .state |
		sed 's/cut/ended/')" "${3:-ended}"
	if [ "${3-}" ]; then
		[ ! -e "$dir/report.html" ]
	elif [ -e "$dir/results.csv" ]; then
		sed 's/<[^>]*>//g' "$dir/report.html" >words
		says_so page "$2"
	fi
}

says_so()
{
	tr -s ' \n' '  ' <words | grep -qE -- "$2" ||
		{ echo "$1: no '$2'"; cat words; return 1; }
}

@test "a job that waits, is held, and is cancelled before it starts" {
	busy
	submit "${quick[@]}"
	all_say 4 "job $job is pending \\((Resources|Priority)\\)" pending
	scontrol hold "$job"
	all_say 4 "job $job is pending \\(JobHeld" pending
	scancel "$job"
	await 10 state_is "$job" CANCELLED
	all_say 3 "job $job was cancelled before it started \\(pending: JobHeld"
	expect "$(jq -r .error.exit "$dir/run.json")" 3
	silent 'share this file system' words
}

@test "the front of a job that waits, is held, and is cancelled says so" {
	busy
	start "${quick[@]}" -o "$dir"
	await 20 says 'is pending \((Resources|Priority)\)' err
	job=$(squeue -h -t PD -o %i)
	scontrol hold "$job"
	await 20 says "^gpucheck: job $job is pending \\(JobHeld" err
	scancel "$job"
	finish 3
	says "^gpucheck: job $job was cancelled before it started" err
	silent 'share this file system|0 nodes' err
	all_say 3 "job $job was cancelled before it started"
}

# $job runs, with a front.
run_long()
{
	start "${long[@]}" -n 200 -o "$dir"
	await 30 rows 2
	job=$(squeue -h -t R -o %i)
}

# ends_as PATTERN: the front, and all others.
ends_as()
{
	finish 4 90
	tr -s ' \n' '  ' <out >words
	says_so front "the run did not finish \\($1"
	all_say 4 "the run did not finish \\($1"
}

@test "a job that runs, and is cancelled: partial, and by what" {
	run_long
	all_say 4 "job $job is running on gcn\\[1-2\\]" running
	scancel "$job"
	ends_as "job $job was cancelled\\)"
}

@test "a job that reaches its time limit" {
	run_long
	# refused in the second in which it started
	await 10 scontrol update jobid="$job" EndTime=now
	ends_as "job $job reached its time limit\\)"
}

@test "a job whose first node fails: which, and Slurm's reason" {
	run_long
	node-kill 1
	scontrol update nodename=gcn1 state=down reason='psu is dead'
	ends_as "job $job lost its first node gcn1; gcn1 is down\\*?: psu is dead\\)"
	node-up 1
}

@test "a job that ends since its only node fails" {
	run_long_on_one
	node-kill 1
	scontrol update nodename=gcn1 state=down reason='psu is dead'
	# Slurm says the first, or the front sees the node before Slurm does
	ends_as "job $job (ended because a node failed|lost its first node gcn1); gcn1 is down\\*?: psu is dead\\)"
	node-up 1
}

run_long_on_one()
{
	long=("${busy[@]}" -N 1 --nodelist=gcn1)
	run_long
}

@test "a job that is put back into the queue" {
	run_long
	scontrol update jobid="$job" requeue=1
	scontrol requeue "$job"
	ends_as "job $job was put back into the queue\\)"
	await 30 state_is "$job" PENDING
	says "gpucheck p2p --resume $dir" err
	# which it would disturb
	run_to 2 p2p --resume "$dir"
	says "has not ended: job $job was put back into the queue \\(BeginTime" err
	says "^hint: .*scancel $job" err
}

@test "a drained node is named with its reason, and the printed lines start the job" {
	scontrol update nodename=gcn2 state=drain reason='psu is dead'
	submit "${quick[@]}"
	all_say 4 'gcn2 \(drained: psu is dead\); -N asks for fewer' pending
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
	all_say 4 'gcn2 \(reserved by upgrade\)' pending
}

says_reserved()
{
	"$GPUCHECK" status "$dir" >words
	grep -q 'reserved by upgrade' words
}
