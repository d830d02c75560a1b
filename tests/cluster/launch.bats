#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Getting agents onto nodes, and what is said when that is not so easy.

load helper

@test "from outside an allocation: 240 good rows, a picture, exit 0" {
	run_to 0 p2p -N 2 -G 8 --transport=tcp -b 64K -o "$dir"
	expect "$(good_cells)" 240
	expect "$(senders)" "120 gcn1 120 gcn2"
	says '#SBATCH --ntasks-per-node=1' "$dir/job.sbatch"
	says 'max locked memory' "$dir/job.out"
	! command -v gnuplot || [ -s "$dir/heatmap-bw.png" ]
}

@test "inside an allocation srun is used" {
	salloc --quiet -N 2 --exclusive --gres=gpu:8 \
		"$GPUCHECK" p2p -G 8 --transport=tcp -b 64K -o "$dir" >out 2>err
	says 'with srun in the allocation' err
	expect "$(good_cells)" 240
	[ ! -e "$dir/job.sbatch" ]
}

@test "nodes that are left out, in a job and in an allocation" {
	local code=0

	run_to 0 "${quick[@]}" -N 1 -x gcn1 -o "$dir"
	expect "$(jq -c '[.nodes[].name]' "$dir/run.json")" '["gcn2"]'
	rm -r "$dir"
	salloc -Q -N 2 "$GPUCHECK" "${quick[@]}" -N 1 -x gcn1 -o "$dir" \
		>out 2>err
	expect "$(jq -c '[.nodes[].name]' "$dir/run.json")" '["gcn2"]'
	salloc -Q -N 2 "$GPUCHECK" p2p -x 'gcn[1-2]' >out 2>err || code=$?
	expect "$code" 2
	says 'leave no node of the allocation$' err
}

@test "-G comes from sinfo when it is not given" {
	"$GPUCHECK" p2p --dry-run -o "$dir" >out
	says '^#SBATCH --gres=gpu:8$' out
}

@test "the script of --dry-run is one that sbatch takes" {
	"$GPUCHECK" p2p -N 2 --max-time=90s --dry-run -o "$dir" \
		-- --partition=debug >out
	says '^#SBATCH --time=4$' out
	says '^# submitted with: sbatch --parsable --partition=debug ' out
	[ ! -e "$dir" ]
	bash -n out
	sbatch --test-only out
}

@test "a directory with odd characters" {
	dir="$BATS_TEST_TMPDIR/it's 100%j \$HOME & \"more\" #1"
	run_to 0 "${quick[@]}" -o "$dir"
	expect "$(good_cells)" 12
	[ -s "$dir/job.out" ]
}

@test "--no-wait prints the directory and leaves" {
	"$GPUCHECK" "${quick[@]}" --no-wait -o "$dir" >out 2>err
	expect "$(head -n 1 out)" "$dir"
	says 'scancel [0-9]+' err
	await 30 queue_is_empty
	"$GPUCHECK" report "$dir" >out
	expect "$(good_cells)" 12
}

@test "a job that waits says why and until when, and runs later" {
	local code=0

	blocker=$(sbatch --parsable -N 2 --exclusive -o /dev/null --time=9 \
		--wrap 'sleep 60')
	await 10 is_running "$blocker"
	start "${quick[@]}" -o "$dir"
	await 20 says 'is pending \((Resources|Priority)\)' err
	[ ! -e "$dir/results.csv" ]
	# the scheduler that plans ahead looks every 30 s
	await 60 starts_are_planned
	tr -s ' \n' ' ' <out2 >line
	says '^PENDING p2p, .* job [0-9]+ is pending .*, expected to start' line
	job=$(squeue --noheader --states=pending --format=%i)
	"$GPUCHECK" status "$job" >out2 || code=$?
	expect "$code" 4
	"$GPUCHECK" attach "$job" >words 2>seen 3>&- &
	follower=$!
	await 20 says 'is pending' seen
	scancel "$blocker"
	finish 0
	wait "$follower"
	says 'gpucheck: job [0-9]+ is running on gcn' seen
	# a busy machine makes some slow
	says '^(PASS|WARN)  p2p on 2 nodes' words
	"$GPUCHECK" status "$job" >out2
	says '^(PASS|WARN)  p2p on 2 nodes' out2
}

starts_are_planned()
{
	"$GPUCHECK" status "$dir" >out2
	grep -q 'expected to start about' out2
}

is_running()
{
	[ "$(squeue --noheader --jobs="$1" --format=%T)" = RUNNING ]
}

@test "a refused job: Slurm's own words, exit 3" {
	run_to 3 "${quick[@]}" -o "$dir" -- --partition=nope
	says 'Invalid partition name specified' err
	says '^hint: .*--partition=NAME' err
}

@test "a controller that is silent for a while does not end the job" {
	mkdir bin
	cat >bin/scontrol <<-'S'
	#!/bin/sh
	if [ "$(wc -l <asked)" -lt 5 ]; then
		echo again >>asked
		echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2
		exit 1
	fi
	PATH=${PATH#*:} exec scontrol "$@"
	S
	chmod +x bin/scontrol
	: >asked
	PATH=$PWD/bin:$PATH run_to 0 "${quick[@]}" -o "$dir"
	says 'Unable to contact' err
	expect "$(good_cells)" 12
}

@test "^C leaves the job running and prints the scancel line" {
	start "${busy[@]}" -o "$dir"
	await 30 rows 2
	kill -INT "$front"
	finish 4
	says 'stopped following; job [0-9]+ still runs. Cancel: scancel [0-9]+' err
	"$GPUCHECK" status "$dir" >out2 || expect $? 4
	says '^RUNNING p2p on 2 nodes' out2
	tr -s ' \n' '  ' <out2 >line
	says 'so far; job [0-9]+ is running on gcn.*, about .* left' line
	[ -n "$(squeue --noheader --states=running)" ]
}

@test "TERM before the time limit: stopped in order, exit 4" {
	# the limit of a minute makes Slurm send TERM, 60 s ahead, as soon as
	# it looks, which it does every 30 s or so: now and then before there is
	# anything, but not twice
	start "${long[@]}" -n 200 -o "$dir" -- --time=1
	await 90 ended "$front"
	if [ "$(good_cells)" = 0 ]; then
		finish 3
		dir=${dir}2
		start "${long[@]}" -n 200 -o "$dir" -- --time=1
		await 90 ended "$front"
	fi
	finish 4
	expect "$(jq -r .stop_reason "$dir/run.json")" interrupted
}

@test "the leaf switches of topology.conf are facts" {
	"$GPUCHECK" "${quick[@]}" -o "$dir" >out 2>err
	[ "$(grep -c ',node,leaf_switch,' "$dir/facts.csv")" = 2 ]
	grep -q '^gcn1,node,leaf_switch,leaf1,,SLURM_TOPOLOGY_ADDR$' \
		"$dir/facts.csv"
	grep -q '^gcn2,node,leaf_switch,leaf2,,' "$dir/facts.csv"
	# two nodes that are set up alike
	jq -e '[.findings[] | select(.code == "config_skew")] == []' \
		"$dir/verdict.json"
}
