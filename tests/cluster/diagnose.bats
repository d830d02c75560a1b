#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The layers of failed pairs, in the job that found them.

load helper

@test "a failed pair is diagnosed in its job, and who follows waits for it" {
	echo 'dead pair=0-2 unless=NCCL_IB_GID_INDEX=1' >drill
	run_to 1 "${quick[@]}" --faults=drill --diagnose -o "$dir"
	says 'waiting for the diagnosis' err
	says 'gcn1:0 -> gcn2:0: passes with NCCL_IB_GID_INDEX=1' out
	says '^exec .* conductor ' "$dir/job.sbatch"
	says 'diagnose: NCCL_IB_GID_INDEX=3: 0 of 1 pairs pass' "$dir/job.out"
	# the setting came as far as the agents of its own step
	expect "$(jq -r .environment.NCCL_IB_GID_INDEX \
		"$dir/diagnose/NCCL_IB_GID_INDEX=1/run.json")" 1
	expect "$(wc -l <"$dir/diagnose.csv")" 6
}
