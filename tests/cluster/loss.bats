#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What is lost in the middle costs itself only.

load helper

@test "scancel in the middle: a readable partial result, exit 4" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	scancel --name=gpucheck-p2p
	finish 4
	rows 4
	code=0
	"$GPUCHECK" report "$dir" >out 2>err || code=$?
	expect "$code" 4
	[ "$(jq .cells.not_run "$dir/verdict.json")" -gt 0 ]
	expect "$(jq -r .status "$dir/verdict.json")" partial
}

# ^C of a run inside an allocation, as salloc is told.
stopped_inside()
{
	salloc --quiet "$@" -o "$dir" >out 2>err 3>&- &
	front=$!
	await 30 rows 2
	kill -INT "$(pgrep -P "$front")"
	finish 4
	expect "$(jq -r .stop_reason "$dir/run.json")" interrupted
	await 10 no_agent_on 2
}

@test "^C inside an allocation: stopped in order, exit 4, nothing left" {
	stopped_inside -N 2 --exclusive --gres=gpu:8 "$GPUCHECK" "${long[@]}"
}

@test "^C of a step in the second group of a job: stopped in order" {
	stopped_inside -N1 --gres=gpu:2 : -N1 --gres=gpu:4 "$GPUCHECK" \
		"${busy[@]}" -N 1 -x gcn1
}

@test "a killed slurmd disturbs nothing" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	node-run 2 pkill -KILL -x slurmd
	finish 0 90
	node-run 2 slurmd -f "$SLURM_CONF" -N gcn2 3>&-
	expect "$(good_cells)" 56
}

@test "an agent that dies at once: its node is skipped, with a finding" {
	printf '#!/bin/sh\nexit 1\n' >never
	chmod +x never
	node-run 2 mount --bind "$PWD/never" "$GPUCHECK"
	run_to 1 "${quick[@]}" --boot-timeout=5s -o "$dir"
	node-run 2 umount --lazy "$GPUCHECK"
	says '^node gcn2 agent_missing' <(findings)
	expect "$(good_cells)" 2
}

# explained CODE: the log of srun has that cause, on gcn2.
explained()
{
	local code=0

	"$GPUCHECK" explain --json log >out 2>err || code=$?
	expect "$code" 1
	expect "$(jq -r '.first, .symptoms[0].host' out | xargs)" "$1 gcn2"
}

@test "explain names the node on which srun could start nothing" {
	mkdir bin
	cp "$(type -P sleep)" bin/nap
	node-run 2 mount -t tmpfs none "$PWD/bin"
	srun -N 2 "$PWD/bin/nap" 1 >log 2>&1 3>&- || true
	node-run 2 umount "$PWD/bin"
	explained program_not_started
	node-run 2 pkill -KILL -x slurmd
	srun -N 2 sleep 30 >log 2>&1 3>&- || true
	node-run 2 slurmd -f "$SLURM_CONF" -N gcn2 3>&-
	explained task_launch_failed
}

@test "an agent that never answers: its node is skipped, with a finding" {
	printf '#!/bin/sh\nsleep 300\n' >never
	chmod +x never
	node-run 2 mount --bind "$PWD/never" "$GPUCHECK"
	run_to 1 "${quick[@]}" --boot-timeout=5s -o "$dir"
	says '^node gcn2 slurm_silent' <(findings)
	says 'within 1 min 5 s' <(tr -s '\n ' ' ' <out)
	expect "$(good_cells)" 2
	await 30 queue_is_empty
	node-run 2 umount --lazy "$GPUCHECK"
}

@test "a node that loses its processes: the others are measured" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	node-kill 2
	finish 1 90
	node-up 2
	says '^node gcn2 agent_lost' <(findings)
	[ "$(good_cells)" -ge 12 ]
}

@test "a node that loses power: the others are measured" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	node-unplug 2
	finish 1 90
	node-kill 2
	node-up 2
	says '^node gcn2 agent_lost' <(findings)
	jq -e '.findings[].evidence[] | select(
		startswith("gcn2: Slurm has it as "))' "$dir/verdict.json"
	[ "$(good_cells)" -ge 12 ]
}

@test "the coordinator's node is lost: rows are kept, exit 4" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	node-kill 1
	finish 4 90
	node-up 1
	rows 4
	await 10 no_agent_on 2
}

no_agent_on()
{
	! node-run "$1" pgrep -f 'gpucheck (agent|worker)'
}

@test "the coordinator is killed, an agent hangs: the front leaves the job" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	node-run 2 pkill -STOP -f 'gpucheck agent'
	node-run 1 pkill -KILL -f 'gpucheck coordinator'
	finish 4 90
	says 'job [0-9]+ may still hold its nodes. Cancel: scancel [0-9]+' err
	says 'gpucheck p2p --resume ' err
}

@test "slurmstepd and its tasks are killed: the front does not wait for Slurm" {
	start "${long[@]}" -o "$dir"
	await 30 rows 4
	node-run 1 pkill -KILL -f 'slurmstepd: .*[.]0|gpucheck (agent|coord|work)'
	finish 4 90
	says '^PARTIAL' out
}

@test "srun is killed: the run was cut, no node is at fault" {
	# nothing is left to do once the other node is gone
	start "${long[@]}" --pairs=inter -o "$dir"
	await 30 rows 4
	node-run 1 pkill -KILL -x srun
	finish 4 90
	says '^PARTIAL' out
	says 'gpucheck p2p --resume ' err
	jq -e '.exclude == [] and all(.findings[]; .severity == "warn")' \
		"$dir/verdict.json"
}

@test "a job that was cancelled is resumed on its nodes" {
	start p2p -N 2 -G 2 --transport=tcp --schedule=serial -b 8M -n 12 \
		-o "$dir"
	await 20 rows 2
	scancel --signal=KILL --full "$(squeue --noheader --format=%A)"
	finish 4
	says "gpucheck p2p --resume $dir" err
	await 30 queue_is_empty
	kept=$(good_cells)
	grep ',ok,' "$dir/results.csv" >good
	"$GPUCHECK" p2p --resume "$dir" --dry-run >script 2>err
	says '^# submitted with: sbatch --parsable --nodelist=gcn1,gcn2 ' script
	says '^#SBATCH --nodes=2$' script

	# without one of them
	run_to 1 p2p --resume "$dir" -- --nodes=1 --nodelist=gcn2
	[ "$(columns outcome src_node dst_node |
		grep -c '^ok gcn2 gcn2$')" -eq 2 ]
	columns outcome code | grep -q '^skipped agent_missing$'
	# with both
	run_to 0 p2p --resume "$dir"
	expect "$(good_cells)" 12
	expect "$(grep -c ',skipped,' "$dir/results.csv")" 0
	cmp good <(head -n $((kept + 1)) "$dir/results.csv" | tail -n +2)
}

@test "a job that waits is not resumed" {
	"$GPUCHECK" "${quick[@]}" --no-wait -o "$dir" -- --begin=now+1hour >out \
		2>err
	run_to 2 p2p --resume "$dir"
	says 'has not ended: job [0-9]+ is pending' err
	says '^hint: .*scancel [0-9]+' err
}

# All that is known of the run, but not what is made anew for each job.
known()
{
	find "$dir" -type f ! -name 'job.*' -exec sha256sum {} + | sort
}

@test "a --resume that is cancelled in the queue changes nothing" {
	start p2p -N 2 -G 2 --transport=tcp --schedule=serial -b 8M -n 12 \
		-o "$dir"
	await 60 rows 2
	node-kill 2
	finish 1
	[ "$(findings)" = 'node gcn2 agent_lost' ]
	"$GPUCHECK" report -q "$dir" || [ $? -eq 1 ]
	before=$(known)
	await 60 queue_is_empty

	start p2p --resume "$dir" --progress=always -- --begin=now+1hour
	await 20 grep -q 'is pending' err
	await 20 grep -q 'p2p pending' err
	code=0
	"$GPUCHECK" status "$dir" >state 2>&1 || code=$?
	[ "$code" -eq 1 ]
	says '^job [0-9]+ is pending.*: a --resume that has not begun' state
	says 'gcn2' state
	scancel "$(squeue --noheader --format=%A)"
	finish 3
	says 'was not continued: job [0-9]+ was cancelled' err
	says '^hint: nothing has changed in it; .*gpucheck report ' err
	[ "$(grep -c '%' err)" = 0 ]
	diff <(echo "$before") <(known)

	# the same when its front has left; a second one finds the first
	run_to 0 p2p --resume "$dir" --no-wait -- --begin=now+1hour
	run_to 2 p2p --resume "$dir"
	says 'has not ended: job [0-9]+ is pending' err
	scancel "$(squeue --noheader --format=%A)"
	await 30 queue_is_empty
	run_to 1 report "$dir"
	says 'gcn2' out
	node-up 2
	await 60 nodes_are_idle
	run_to 0 p2p --resume "$dir"
	[ ! -e "$dir/resume.json" ]
	expect "$(good_cells)" 12
}
