#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What the nodes of a job say about themselves.

load helper

@test "info in a job: each node answers, and the GPUs that Slurm has are missed" {
	run_to 1 info -N 2 -G 2 -o "$dir"
	expect "$(columns node outcome | sort | xargs)" "gcn1 ok gcn2 ok"
	expect "$(findings | sort | xargs)" \
		"config null gpu_missing"
	says '^gcn\[1,2\]$' out
	says '^gcn2,node,gpus_expected,2,' "$dir/facts.csv"
	says '2 GPUs are expected by --gpus-per-node' out
	bare out
}

# The words and the verdict say once what all nodes lack, and blame no node.
bare()
{
	[ "$(grep -cE '^(WARN|FAIL)  gcn.* show 0 of [28] GPUs \(libnvidia-ml' \
		"$1")" = 1 ] || { cat "$1"; return 1; }
	! grep -qE 'was not found|drain \(needs' "$1"
	jq -e '[.findings[] | select(.code == "gpu_missing")] | length == 1 and
		.[0].kind == "config" and .[0].drain == false and
		.[0].members == ["gcn1", "gcn2"]' "$dir/verdict.json"
}

@test "no NVML on any node: p2p, pairs, gpu and allreduce say the same, 3" {
	local probe

	for probe in p2p 'p2p --jobs=pairs' gpu allreduce; do
		rm -rf "$dir"
		# shellcheck disable=SC2086	# two words
		run_to 3 $probe -N 2 -G 8 -o "$dir" || return 1
		bare out || { echo "$probe"; return 1; }
		jq -e '.status == "unknown" and .exclude == []' \
			"$dir/verdict.json" || return 1
		run_to 3 report "$dir" --json=verdict || return 1
		jq -e '.verdict.status == "unknown" and
			(.verdict.findings | length) == 1' out || return 1
	done
	node-run 1 "$GPUCHECK" node >out || [ $? = 4 ]
	says 'gcn1 shows 0 of 8 GPUs \(libnvidia-ml.so.1 cannot' out
}

@test "no NVML on any node: all has one finding about it, and no drain line" {
	run_to 3 all -N 2 -G 8 --quick -o "$dir"
	bare out
	[ "$(grep -c 'could not measure: no GPU' out)" -eq 0 ]
	jq -e 'all(.findings[]; .drain == false or .code != "gpu_missing")' \
		"$dir/verdict.json"
}
