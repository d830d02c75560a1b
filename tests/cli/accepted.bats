#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# --reference of runs of pairs: what an accepted run shows as well is no finding.

load helper

# $1 on a model with the options $3.. and the drill $2; results in $out.
model()
{
	local command=$1 drill=$2
	shift 2
	printf '%s\n' "$drill" >drill
	rm -rf "$out"
	run_p "$command" --local=6x4 --transport=sim --faults=drill -o "$out" \
		"$@"
	tr -s ' \n' ' ' <out >words
}

@test "what was as slow is none, what is new or worse is one" {
	for command in p2p ib; do
		out=old model $command "slow nic=1:2 factor=0.8" --seed=7
		[ "$status" -eq 1 ]
		out=now model $command "slow nic=1:2 factor=0.8" \
			--reference=old
		[ "$status" -eq 0 ]
		jq -e '.status == "pass" and .findings == [] and .exclude == []
			and (.reference.accepted | length) == 1 and
			.reference.refused == null and
			(.reference.dir | endswith("/old"))' now/verdict.json
		grep -q "as in the accepted run of 2[0-9-]* [0-9:]* UTC: NIC 2 of n1" \
			words
		# the same answer from its files, wherever that is asked
		cp now/verdict.json one
		(cd / && "$GPUCHECK" report "$BATS_TEST_TMPDIR/now" >/dev/null)
		cmp one now/verdict.json
		# and another one beside nothing else
		rm -rf plain
		out=plain model $command "slow nic=1:2 factor=0.8"
		[ "$status" -eq 1 ]
		run_p report --reference=old plain
		[ "$status" -eq 0 ]
		run_p report plain
		[ "$status" -eq 1 ]

		out=now model $command "slow nic=1:2 factor=0.6" \
			--reference=old
		[ "$status" -eq 1 ]
		jq -e '.findings | length == 1' now/verdict.json
		out=now model $command \
			"slow nic=1:2 factor=0.8
			slow nic=4:0 factor=0.8" --reference=old
		[ "$status" -eq 1 ]
		jq -e '(.findings | length == 1 and .[0].node == "n4") and
			(.reference.accepted | length) == 1' now/verdict.json
		out=now model $command \
			"slow nic=1:2 factor=0.8
			dead nic=1:2" --reference=old
		[ "$status" -eq 1 ]
		jq -e '.findings | length == 1 and .[0].node == "n1"' \
			now/verdict.json
	done
}

@test "a reference that is none, or of another kind, is refused" {
	export PASTED=no	# the reference is removed
	out=old model p2p "slow nic=1:2 factor=0.8"
	for wrong in /nonexistent "$GPUCHECK" . aml; do
		run_p p2p --local=6x4 --transport=sim --reference="$wrong" -o no
		[ "$status" -eq 2 ]
		[ ! -e no ]
	done
	run_p ib --local=6x4 --transport=sim --reference=old -o no
	[ "$status" -eq 2 ]
	grep -q "has no run of ib: it is one of p2p" err
	# what only shows when it is measured: the answer is whole without it
	out=now model p2p "slow nic=1:2 factor=0.8" --reference=old -b 1M
	[ "$status" -eq 1 ]
	grep -q "not compared with the accepted run in .*messages of 64 MiB, now" \
		words
	jq -e '(.reference.refused | test("messages")) and
		.reference.accepted == []' now/verdict.json
	run_p report now
	[ "$status" -eq 1 ]
	run_p report --reference=old now
	[ "$status" -eq 3 ]
	out=plain model p2p "slow nic=1:2 factor=0.8" -b 1M
	run_p report --reference=old plain
	[ "$status" -eq 3 ]
	grep -q "is not like this run: messages of 64 MiB, now 1 MiB" err
	run_p report --reference=plain plain
	[ "$status" -eq 3 ]
	grep -q "it is this run" err
	# one that has gone meanwhile
	out=now model p2p "slow nic=1:2 factor=0.8" --reference=old
	[ "$status" -eq 0 ]
	mv old gone
	run_p report now
	[ "$status" -eq 1 ]
	tr -s ' \n' ' ' <out | grep -q "not compared with the accepted run in"
}

@test "a run of all stands for its steps" {
	out=old model all "slow nic=1:2 factor=0.5" --quick
	[ "$status" -eq 1 ]
	out=now model all "slow nic=1:2 factor=0.5" --quick --reference=old
	[ "$status" -eq 0 ]
	jq -e '.status == "pass"' now/verdict.json
	jq -e '.reference.accepted | length == 1' now/p2p/verdict.json
	jq -e '.reference.accepted | length == 1' now/ib/verdict.json
	out=plain model all "slow nic=1:2 factor=0.5" --quick
	run_p report --reference=old plain
	[ "$status" -eq 0 ]
	run_p p2p --local=6x4 --transport=sim --faults=drill --reference=old --quick \
		--iters=5 -o one
	[ "$status" -eq 0 ]
}
