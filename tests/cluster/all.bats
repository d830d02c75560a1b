#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# All probes in one job.

load helper

# "STEP OUTCOME" of every step, in one line.
steps()
{
	columns rung outcome | xargs
}

@test "all from outside, a node never comes: one job, one finding" {
	# the program is there on one node only
	node-run 2 mount --bind /bin/false "$GPUCHECK"
	printf 'seed=3\n[p2p]\nbidi=1\n' >conf
	export GPUCHECK_CONFIG=$PWD/conf
	start all --quick -N 2 -G 2 --transport=tcp --boot-timeout=5s -o "$dir" \
		-- --comment=mine
	# the job reads no file: its run tells it all
	await 20 test -e "$dir/run.json"
	echo nonsense >conf
	finish 1 || { node-run 2 umount --lazy "$GPUCHECK"; false; }
	node-run 2 umount --lazy "$GPUCHECK"
	expect "$(steps)" \
		"memlock ok ping skipped ib skipped gpu skipped p2p ok allreduce skipped"
	export GPUCHECK_CONFIG=none
	expect "$(jq -r '.options | "\(.seed) \(.bidi)"' "$dir/p2p/run.json")" \
		"3 null"
	says '^exec .* conductor ' "$dir/job.sbatch"
	expect "$(findings | grep gcn2)" "node gcn2 agent_missing"
	expect "$(jq -c '.findings[] | select(.node == "gcn2").rungs' \
		"$dir/verdict.json")" '["memlock"]'
	# the shell that submitted is known to the step as well
	says ',login,memlock_soft,' "$dir/memlock/results.csv"
	# the retest of a step is what was typed, to its end
	says ' --agent-timeout=5s .*-- --comment=mine$' out
	expect "$(grep -c start-timeout out)" 0
	# p2p was told
	expect "$(jq -r '.expect[]' "$dir/p2p/run.json" | grep -c gcn2)" 1
	expect "$(squeue --noheader)" ""
	"$GPUCHECK" report "$dir" >again || true
	diff out again
}

@test "all inside an allocation: a job step a probe, well under a minute" {
	local start=$SECONDS

	salloc --quiet -N 2 --exclusive --gres=gpu:8 \
		"$GPUCHECK" all --quick -G 2 --transport=tcp -o "$dir" \
		>out 2>err || [ $? -eq 1 ]
	[ $((SECONDS - start)) -lt 60 ]
	says 'with srun in the allocation' err
	expect "$(steps)" \
		"memlock ok ping ok ib skipped gpu skipped p2p ok allreduce skipped"
	# a busy machine makes some slow
	expect "$(jq ".cells.pass + .cells.slow" "$dir/p2p/verdict.json")" 12
	[ ! -e "$dir/job.sbatch" ]
}

# The command that $1 gives for what is missing, without its first word.
way_on()
{
	sed -n 's/.*run the missing tests: "gpucheck \(.*\)"$/\1/p' "$1"
}

step_goes_on()
{
	grep -qs ',ok,' "$dir/$1/results.csv" && [ ! -e "$dir/$1/verdict.json" ]
}

@test "all whose job is cancelled goes on in a new job, by the line it prints" {
	echo 'hang pair=0-3' >drill
	start all -N 2 -G 2 --quick --transport=tcp --faults=drill \
		-o "$dir"
	await 60 step_goes_on p2p
	scancel --user=root
	finish 4
	sha256sum "$dir"/ping/results.csv >kept
	read -r -a line < <(way_on err)
	run_to 4 status "$dir"
	expect "$(way_on err)" "${line[*]}"
	expect "${line[0]} ${line[1]}" "all --resume"
	run_to 1 "${line[@]}"
	sha256sum --check --quiet kept
	expect "$(jq '.cells.pass + .cells.slow' "$dir/p2p/verdict.json")" 10
	expect "$(jq -r .stop_reason "$dir/run.json")" ""
	# the shell of the first time counts
	says 'sbatch' "$dir/run.json"
}

@test "all in an allocation that ends stops once, and goes on in another" {
	echo 'hang pair=0-3' >drill
	salloc --quiet -N 2 --exclusive --gres=gpu:8 \
		"$GPUCHECK" all --quick -G 2 --transport=tcp --faults=drill \
		-o "$dir" >out 2>err 3>&- &
	front=$!
	await 60 step_goes_on p2p
	scancel --signal=TERM --full --user=root 2>/dev/null || true
	scancel --user=root
	await 60 ended "$front"
	run_to 4 report "$dir"
	expect "$(grep -c 'could not measure' out)" 0
	read -r -a line < <(way_on err)
	run_to 1 "${line[@]}"
	expect "$(jq '.cells.pass + .cells.slow' "$dir/p2p/verdict.json")" 10
}
