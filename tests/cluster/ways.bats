#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Commands of gpucheck that a run prints work as printed, from where they are
# printed: on all nodes of a cluster, outside of any allocation.

load helper

# Each command that out and err name, once: below a finding, or in quotes.
printed()
{
	sed -n -e 's/^  *\(gpucheck .*\)$/\1/p' \
		-e 's/^hint: .*"\(gpucheck .*\)"$/\1/p' out err | sort -u
}

# It measures: 0, or 1 for the fault that is still there.
works()
{
	local code=0

	timeout 100 bash -c "$1" >words 2>&1 </dev/null || code=$?
	[ "$code" -le 1 ] || { echo "$1: $code"; cat words; return 1; }
}

@test "after a fault on the last node: -x, the same pair again, --retest" {
	mkdir bin
	ln -s "$GPUCHECK" bin/gpucheck
	PATH=$PWD/bin:$PATH
	echo 'dead gpu=1:1' >drill
	run_to 1 "${quick[@]}" --faults=drill -o "$dir"
	printed >commands
	says ' -N 1 -x gcn2' commands
	says "--retest $dir" commands
	says '--pairs=' commands
	while read -r command; do
		works "$command" || return 1
	done <commands
}

@test "a step of all is tested again outside of its job" {
	echo 'dead gpu=1:1' >drill
	run_to 1 all -N 2 -G 2 --transport=tcp --quick --faults=drill -o "$dir"
	works "$GPUCHECK p2p --retest $dir/p2p -o again"
	says 'sbatch' words
}
