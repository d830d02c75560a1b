#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# All probes in one job.

load helper

# "RUNG OUTCOME" of every rung, in one line.
rungs()
{
	columns rung outcome | xargs
}

@test "all, from outside: one job, five rungs, under a minute" {
	local start=$SECONDS

	start all --quick -N 2 -G 2 --transport=tcp -o "$dir"
	finish 1	# the nodes have 8 MiB of locked memory, and a need
	[ $((SECONDS - start)) -lt 60 ]
	expect "$(rungs)" \
		"memlock ok ping ok ib skipped p2p ok allreduce skipped"
	expect "$(jq .cells.pass "$dir/p2p/verdict.json")" 12
	expect "$(jq -r .launcher "$dir/p2p/run.json")" srun
	says '^exec .* conductor ' "$dir/job.sbatch"
	says '^job [0-9]+|job [0-9]+, run directory' err
	says 'p2p +pass +12 pass' out
	expect "$(squeue --noheader)" ""
	"$GPUCHECK" report "$dir" >again || true
	diff out again
}
