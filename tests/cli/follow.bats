#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The follow-up: what a verdict leaves open is asked again, and nothing else.

load helper

# A model of $1 with the options $2 and the drill $3, by p2p or $command; results
# in run.
model()
{
	echo "$3" >drill
	rm -rf run
	# shellcheck disable=SC2086 # options are words
	run_p "${command:-p2p}" --local="$1" --transport=sim $2 --faults=drill -o run
	[ -f run/verdict.json ]
}

# The findings: severity, kind, place, direction, alternatives.
found()
{
	jq -r '.findings[] | "\(.kind) \(.node):\(.index) \(.direction) " +
		"\(.or | length)"' run/verdict.json
}

@test "where more nodes exist than suspects, no finding keeps an or" {
	while IFS='|' read -r layout options drill wanted; do
		model "$layout" "$options" "$drill"
		echo "$layout $options: $drill: $(found)"
		[ "$(found)" = "$wanted" ]
		[ "$(jq .follow_up.pass+.follow_up.fail run/verdict.json)" -gt 0 ]
	done <<-'END'
	4x8|--pairs=inter|dead gpu=1:0|gpu n1:0 both 0
	4x8|--pairs=inter|dead nic=1:0|nic n1:0 both 0
	4x8|--pairs=inter|dead gpu=1:0 direction=tx|gpu n1:0 tx 0
	4x8|--pairs=inter|slow gpu=1:0 factor=0.5|gpu n1:0 both 0
	4x8|--pairs=inter|slow nic=1:0 factor=0.5|nic n1:0 both 0
	4x8|--pairs=rail|dead gpu=1:0 direction=rx|gpu n1:0 rx 0
	4x8|--pairs=rail|dead nic=1:0|nic n1:0 both 0
	END
	# a sample of two has a pair inside the node, too: nothing is open
	model 8x8 --sample=2 "dead gpu=1:0"
	[ "$(found)" = "gpu n1:0 both 0" ]
}

@test "a part that is a little slow is a fault when a second look says so" {
	while IFS='|' read -r options wanted tests; do
		model 8x8 "$options" "slow gpu=1:0 factor=0.85"
		jq -e --arg wanted "$wanted" --argjson tests "$tests" '
			.status == $wanted and
			(.follow_up.pass // 0) == $tests and
			(.findings | length) == 1 and (.findings[0] |
			.kind == "gpu" and .node == "n1" and .index == 0)' \
			run/verdict.json
	done <<-'END'
	|fail|16
	--no-follow-up|warn|0
	END
}

@test "a part that several NICs or paths have in common is seen again" {
	while IFS='|' read -r layout drill wanted; do
		model "$layout" "" "slow $drill factor=0.6"
		echo "$layout: $drill: $(found)"
		jq -e --arg wanted "$wanted" '.status == "fail" and
			(.findings | length) == 1 and (.findings[0] |
			.kind == $wanted and .or == [] and (.evidence |
			index("confirmed by the follow-up: 8 of 8 slow tests " +
			"were slow again") != null))' run/verdict.json
	done <<-'END'
	4x4|node_network=1|node_network
	4x4|intra_node=1|intra_node
	4x4|gpu_nvlink=1:2|gpu_nvlink
	4x4|socket=1:0|socket
	4x4|cable_swap=1:0-2|cable_swap
	6x3|rail_leaf=1:0-2|rail_leaf
	9x1|leaf_pair=0-2:3-5|leaf_pair
	6x4|fabric_path=0-2:3-5|fabric_path
	END
}

@test "its tests are counted apart, and are the same each time" {
	model 4x8 --pairs=inter "dead gpu=1:0"
	[ "$(grep -c ',follow-up,' run/results.csv)" -eq 4 ]
	jq -e '.cells.pass + .cells.fail == 768 and .follow_up.fail == 4' \
		run/verdict.json
	jq -e '.findings[0].explained == 52 and (.findings[0].evidence | any(. ==
		"4 of these tests are follow-up tests: 4 failed or were slow"))' \
		run/verdict.json
	tr -s ' \n' ' ' <out >words
	grep -q "note: follow-up: 4 more tests .*, 4 of them bad" words
	grep -q "all 52 tests with this GPU failed (4 of them follow-up tests); the other 720 passed" words
	jq -e '.planned.cells == 768 and .follow_up.tests == 4 and
		.follow_up.rounds == 1' run/run.json
	grep ',follow-up,' run/results.csv | cut -d, -f1-14 | sort >one
	model 4x8 --pairs=inter "dead gpu=1:0"
	grep ',follow-up,' run/results.csv | cut -d, -f1-14 | sort >two
	cmp one two
}

@test "nothing is asked where nothing is open, or nobody wants it" {
	while IFS='|' read -r layout options drill; do
		model "$layout" "$options" "$drill"
		echo "$layout $options: $drill"
		! grep ',follow-up,' run/results.csv || false
		jq -e 'has("follow_up") | not' run/verdict.json
		jq -e 'has("follow_up") | not' run/run.json
	done <<-'END'
	4x8||noise percent=2
	4x8||dead nic=1:0
	4x8|--pairs=inter --no-follow-up|dead gpu=1:0
	4x8|--pairs=0-8,8-16|dead gpu=1:0
	END
}

# bats test_tags=dear
@test "HCA ports are asked again as GPUs are" {
	local command=ib
	while IFS='|' read -r layout options drill wanted verdict tests; do
		model "$layout" "$options" "$drill"
		echo "$layout $options: $drill: $(found)"
		[ "$(found)" = "$wanted" ]
		jq -e --arg verdict "$verdict" --argjson tests "$tests" '
			.status == $verdict and
			(.follow_up.pass // 0) + (.follow_up.fail // 0) ==
			$tests' run/verdict.json
	done <<-'END'
	8x4||slow nic=1:2 factor=0.85|nic n1:2 both 0|fail|16
	8x4|--no-follow-up|slow nic=1:2 factor=0.85|nic n1:2 both 0|warn|0
	8x4||slow nic=1:2 factor=0.85 direction=rx|nic n1:2 rx 0|fail|16
	8x4|--pairs=all|slow nic=1:2 factor=0.93|nic n1:2 both 0|warn|16
	8x4||dead nic=1:2|nic n1:2 both 0|fail|0
	8x4||noise percent=2||pass|0
	END
	jq -e '.findings == []' run/verdict.json
}
