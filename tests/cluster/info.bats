#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What the nodes of a job say about themselves.

load helper

@test "info in a job: each node answers, and the GPUs that Slurm has are missed" {
	run_to 1 info -N 2 -G 2 -o "$dir"
	expect "$(columns node outcome | sort | xargs)" "gcn1 ok gcn2 ok"
	expect "$(findings | sort | xargs)" \
		"node gcn1 gpu_missing node gcn2 gpu_missing"
	says '^gcn\[1,2\]$' out
	says '^gcn2,node,gpus_expected,2,' "$dir/facts.csv"
	says '0 GPUs of 2, expected by --gpus-per-node' out
}
