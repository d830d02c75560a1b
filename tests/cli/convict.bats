#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# From 128 ranks on, what has failed a dozen times and never passed is not
# tested to the bitter end, where that takes long.

load helper

# A model of $1 with the drill $2; how many tests of it timed out, and how many
# were skipped for that.
model()
{
	echo "$2" >drill
	rm -rf run
	run_p p2p --local="$1" --transport=sim --faults=drill -o run
	timeouts=$(grep -c ',timeout,' run/results.csv || true)
	skipped=$(grep -c ',skipped,part_convicted,' run/results.csv ||
		true)
}

@test "a NIC that hangs costs a dozen deadlines each way, and is found" {
	model 16x8 "hang nic=3:2"
	# the tests under way when the last proof comes, and second attempts
	[ "$timeouts" -ge 24 ]
	[ "$timeouts" -le 34 ]
	[ "$skipped" -ge 210 ]
	jq -e --argjson skipped "$skipped" '.status == "fail" and
		.cells.skipped == $skipped and .cells.not_run == 0 and
		(.findings | length) == 1 and (.findings[0] |
		.kind == "nic" and .node == "n3" and .index == 2 and
		.code == "drill_hang" and .cells == 240 and
		.explained == 240 and .or == [])' run/verdict.json
	grep -q "$skipped skipped" out
}

@test "failures that take no time, and smaller runs, are shown to the end" {
	model 16x8 "dead nic=3:2"
	[ "$skipped" -eq 0 ]
	model 15x8 "hang nic=3:2"
	[ "$skipped" -eq 0 ]
	[ "$timeouts" -ge 224 ]
}
