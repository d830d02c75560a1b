#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Runs that are repeated, as cron does it: the line is run by hand.

load helper

# A watch of a run on both nodes: its line is in $line.
watch_of()
{
	"$GPUCHECK" watch --every=1h --show -o "$dir" "$@" >out 2>err
	line=$(cut -d' ' -f6- out)
}

tick()
{
	env -i "PATH=/usr/bin:/bin" "SLURM_CONF=${SLURM_CONF-}" sh -c "$line"
}

runs()
{
	find "$dir" -maxdepth 1 -name 'run-*' | wc -l
}

is_pending()
{
	[ "$(squeue --noheader --name="$1" --format=%T)" = PENDING ]
}

@test "runs are made one after the other, each once, and then no more" {
	watch_of --runs=2 -- "${quick[@]}" -- --comment=watched
	for _ in 1 2 3; do
		tick
	done
	expect "$(runs)" 2
	expect "$(jq -r .launcher "$dir/run-0002/run.json")" sbatch
	expect "$(grep -c '^run,.*,pass,' "$dir"/history/history-*.csv)" 2
	"$GPUCHECK" history --history="$dir/history" >out
	says '^2 runs from ' out
	says 'no run: all runs of the watch are made' "$dir/turns.log"
}

@test "while the job before waits or runs there is no other" {
	watch_of -- "${quick[@]}"
	name=$(jq -r .name "$dir/watch.json")
	# the nodes are busy
	sbatch --parsable --nodes=2 --exclusive --output=/dev/null \
		--wrap='sleep 600' >busy
	tick 3>&- &
	await 60 is_pending "$name"
	tick
	says 'no run: the one before is still at work' "$dir/turns.log"
	# the front is killed, its job waits
	kill -KILL "$(sed 's/process \([0-9]*\) .*/\1/' "$dir/holder")"
	await 20 turn_says 'no run: the one before, job [0-9]+, is PENDING'
	expect "$(squeue --noheader --name="$name" | wc -l)" 1
	scancel "$(<busy)"
	await 90 turn_says 'run-0002: its output'
	expect "$(grep -c '"ended_utc": "2' "$dir"/run-000[12]/run.json |
		grep -c ':1')" 2
}

turn_says()
{
	tick
	tail -n1 "$dir/turns.log" | grep -qE "$1"
}

@test "one that is stopped begins no other run, and its job does not wait" {
	watch_of -- "${quick[@]}"
	name=$(jq -r .name "$dir/watch.json")
	sbatch --parsable --nodes=2 --exclusive --output=/dev/null \
		--wrap='sleep 600' >busy
	tick 3>&- &
	await 60 is_pending "$name"
	"$GPUCHECK" watch --stop="$dir" >out 2>err
	await 30 queue_has_not "$name"
	scancel "$(<busy)"
	wait
	tick
	says 'no run: the watch was stopped' "$dir/turns.log"
	expect "$(runs)" 1
}

queue_has_not()
{
	[ -z "$(squeue --noheader --name="$1")" ]
}

@test "a run that meets a node which is down is one of the runs" {
	watch_of -- "${quick[@]}"
	scontrol update nodename=gcn2 state=down reason=test
	tick 3>&- &
	await 60 says 'run-0001: its output' "$dir/turns.log"
	sleep 2
	# it may be back by itself
	scontrol update nodename=gcn2 state=resume || true
	wait
	await 30 nodes_are_idle
	tick
	expect "$(grep -c '"ended_utc": "2' "$dir/run-0002/run.json")" 1
	expect "$(cat "$dir/turns")" 2
}

@test "scrontab has options that sbatch takes" {
	mkdir bin
	printf '#!/bin/sh\n[ "%s" = -l ] || cp "%s" %q\n' "\$1" "\$1" \
		"$PWD/table" >bin/scrontab
	chmod +x bin/scrontab
	PATH=$PWD/bin:$PATH "$GPUCHECK" watch --every=1h -o "$dir" -- \
		"${quick[@]}" --max-time=5m -- --partition=debug >out 2>err
	says '^#SCRON --partition=debug$' table
	says '^#SCRON --job-name=gpucheck-watch-run-' table
	# as Slurm does it: a job with these options and the command
	{
		echo '#!/bin/sh'
		sed -n 's/^#SCRON/#SBATCH/p' table
		tail -1 table | cut -d' ' -f6-
	} >job
	sbatch --wait --nice=0 job >>out
	expect "$(jq -r .launcher "$dir/run-0001/run.json")" srun
	expect "$(grep -c '^run,.*,pass,' "$dir"/history/history-*.csv)" 1
}
