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

@test "all whose job is cancelled: the printed line measures the whole" {
	local job

	export GPUCHECK_NEED=1M
	start all -N 2 -G 4 --transport=tcp -o "$dir"
	await 60 test -s "$dir/p2p/results.csv"
	job=$(squeue -h -t R -o %i)
	scancel "$job"
	finish 4
	mkdir bin
	ln -s "$GPUCHECK" bin/gpucheck
	PATH=$PWD/bin:$PATH
	sed -n '/all of it again:$/ { n; s/^ *//p }' out >line
	says '^gpucheck all .*--transport=tcp' line
	works "$(<line) -o again"
	[ "$(jq '.cells.pass + .cells.slow' again/p2p/verdict.json)" = 56 ]
}
