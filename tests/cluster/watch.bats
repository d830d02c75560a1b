#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Runs that are repeated, as a chain of jobs.

load helper

has_run()
{
	grep -qs '"ended_utc": "2' "$dir/run-000$1/run.json"
}

has_summaries()
{
	[ "$(find "$dir/history" -name '*.json' 2>/dev/null | wc -l)" -ge "$1" ]
}

# No two of the runs in $dir overlap, and the job of the one after never began
# before --every was over.
in_turn()
{
	jq -rs --arg every "$1" '[.[] | [(.started_utc, .ended_utc) |
		sub("\\.[0-9]+Z"; "Z") | fromdate]] | sort |
		. as $r | [range(1; length) | select($r[.][0] < $r[. - 1][1] or
			$r[.][0] < $r[. - 1][0] + ($every | tonumber))] |
		length' "$dir"/run-*/run.json
}

@test "three runs in turn, each once, and then no more" {
	"$GPUCHECK" watch --every=4s --runs=3 -o "$dir" -- "${quick[@]}" \
		-- --comment=watched >out 2>err
	expect "$(sed -n 1p out)" "$dir"
	expect "$(squeue -h -o '%j %k' | sort -u)" \
		"gpucheck-watch-run watched"
	await 90 has_summaries 3
	await 30 queue_is_empty
	expect "$(find "$dir" -maxdepth 1 -name 'run-*' | wc -l)" 3
	expect "$(in_turn 2)" 0
	expect "$(jq -r .launcher "$dir/run-0002/run.json")" srun
	expect "$(jq -s 'map(.status) | unique[]' -r "$dir"/history/*.json)" pass
	"$GPUCHECK" history --history="$dir/history" >out
	says '^3 runs from ' out
	says 'this is the last run: all runs of the watch are made' "$dir/job.out"
}

@test "a claim of a job that nobody knows, and a bad turn, do not end it" {
	echo 'dead gpu=0:1' >drill
	"$GPUCHECK" watch --every=2s --runs=3 -o "$dir" -- "${quick[@]}" \
		--faults="$PWD/drill" -- --hold --open-mode=append \
		>out 2>err
	rm drill	# so that a turn fails before it has a directory
	python3 -c 'import fcntl, sys, time
f = open(sys.argv[1], "w")
f.write("process 5 on gone, job 999999")
f.flush()
fcntl.lockf(f, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(120)' "$dir/holder" >held 3>&- &
	holder=$!
	await 20 test -s held
	jq '.slurm -= ["--hold"]' "$dir/watch.json" >free
	cp free "$dir/watch.json"
	scontrol release "$(squeue --noheader --format=%i | paste -sd,)"
	await 90 queue_is_empty
	kill "$holder"
	says 'job 999999 has ended, and its claim is taken over' \
		"$dir/job.out"
	says 'this is the last run: all runs of the watch are made' \
		"$dir/job.out"
	expect "$(find "$dir/logs" -name 'run-*' | wc -l)" 3
	expect "$(find "$dir" -maxdepth 1 -name 'run-*' | wc -l)" 0
}

@test "a job that cannot begin, as without its directory, does not end it" {
	"$GPUCHECK" watch --every=2s --runs=2 -o "$dir" -- "${quick[@]}" \
		-- --hold >out 2>err
	jq '.slurm -= ["--hold"]' "$dir/watch.json" >free
	cp free "$dir/watch.json"
	mv "$dir" away
	first=$(sed -n 2p out)
	scontrol release "$first"
	await 30 is_over "$first"
	mv away "$dir"
	scontrol release "$(squeue --noheader --format=%i)"
	await 90 has_summaries 2
	await 60 queue_is_empty
}

is_over()
{
	[ -z "$(squeue --noheader --jobs="$1" 2>/dev/null)" ]
}

@test "one that is stopped begins no other run" {
	"$GPUCHECK" watch --every=2s -o "$dir" -- "${quick[@]}" >out 2>err
	await 60 has_run 1
	"$GPUCHECK" watch --stop="$dir" >out 2>err
	await 60 queue_is_empty
	find "$dir" -maxdepth 1 -name 'run-*' >before
	"$GPUCHECK" turn "$dir" >out 2>err
	says 'no run: the watch was stopped' err
	find "$dir" -maxdepth 1 -name 'run-*' >after
	cmp before after
}

@test "what would be submitted is what sbatch takes" {
	"$GPUCHECK" watch --every=1h --dry-run -o "$dir" -- "${quick[@]}" \
		--max-time=5m -- --partition=debug >out
	says "^exec .* turn $dir" out
	says '--nice --partition=debug --job-name=gpucheck-watch-run' out
	says '--dependency=singleton' out
	[ ! -e "$dir" ]
	bash -n out
	sbatch --test-only out
}
