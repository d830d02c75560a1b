#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# --retest: after a repair, what a run has found, and as many that are well.

load helper

@test "a part that was repaired passes, one that was not is still there" {
	printf 'dead gpu=1:4\n' >drill
	run_p p2p --local=6x8 --transport=sim --faults=drill -q -o found
	[ "$status" -eq 1 ]
	run_p p2p --retest found -o repaired
	[ "$status" -eq 0 ] || { echo "$status $stderr"; false; }
	grep -q '^PASS' out
	grep -q "retest of the findings of '.*found':" out
	grep -q 'GPU 4 of n1 (drill_dead): 12 tests pass' out
	# that GPU, three partners and their like: not the whole cluster
	[ "$(jq -r '[.nodes[].name] | join(",")' repaired/run.json)" = \
		n0,n1,n2,n3,n4 ] ||
		[ "$(jq '.nodes | length' repaired/run.json)" -eq 4 ]
	[ "$(jq '[.cells[]] | add' repaired/verdict.json)" -le 56 ]
	[ "$(jq -r '.retest[0].state' repaired/verdict.json)" = passes ]
	"$root/tests/lint/formats" repaired >lint
	[ ! -s lint ] || { cat lint; false; }
	# the drill counts the nodes of this run
	run_p p2p --retest found --faults=drill -o still
	[ "$status" -eq 1 ] || { echo "$status $stderr"; false; }
	grep -q 'GPU 4 of n1 (drill_dead): still faulty: 12 of 12 tests failed' out
	[ "$(jq -r '.findings[0] | "\(.kind) \(.node) \(.index)"' \
		still/verdict.json)" = 'gpu n1 4' ]
}

@test "of a run with a transport of its own" {
	echo 'dead node=3' >drill
	run_p p2p --local=4x1 --transport=tcp -b 64K -n 2 --faults=drill -q \
		-o found
	[ "$status" -eq 1 ]
	run_p p2p --retest found -o now
	[ "$status" -eq 0 ] || { echo "$status $stderr"; false; }
	[ "$(jq -r .transport now/run.json)" = tcp ]
	grep -q 'n3 .*pass' out
}

@test "a retest that was cut is no pass, that of many jobs is one of its own" {
	echo 'dead gpu=1:4' >drill
	run_p p2p --local=6x8 --transport=sim --faults=drill -q -o found
	jq '.options.jobs = "pairs" | .options.lanes = 3' found/run.json >j
	mv j found/run.json
	run_p p2p --retest found -q -o cut
	[ "$status" -eq 0 ] || { echo "$status $stderr"; false; }
	awk -F, '!($3 == "n1" && $4 == 4 || $7 == "n1" && $8 == 4) || !n++' \
		cut/results.csv >rows
	mv rows cut/results.csv
	run_p report cut
	[ "$status" -eq 4 ]
	grep -q 'GPU 4 of n1 (drill_dead): open: 1' out
	[ "$(jq -r '.retest[0].state' cut/verdict.json)" != passes ]
	# what it left open is not forgotten
	run_p p2p --retest cut -o last
	[ "$status" -eq 0 ] || { echo "$status $stderr"; false; }
	grep -q 'GPU 4 of n1 (drill_dead): 12 tests pass' out
}

@test "what is still slower than the controls is said" {
	echo 'slow nic=2:1 factor=0.88' >drill
	run_p p2p --local=6x4 --transport=sim --faults=drill -q -o found
	[ "$status" -eq 1 ]
	run_p p2p --retest found --faults=drill -o still
	[ "$status" -eq 1 ] || { echo "$status $stderr"; cat out; false; }
	grep -q 'still slow: .* at 8[0-9] %' out
	run_p p2p --retest found -o repaired
	[ "$status" -eq 0 ]
	grep -Eq 'pass, at (9[89]|10[0-2]) %' out
}

@test "a GPU that is not there does not keep others from their retest" {
	printf 'dead gpu=1:4\ndead gpu=2:1\n' >drill
	run_p p2p --local=6x8 --transport=sim --faults=drill -q -o found
	[ "$status" -eq 1 ]
	# they come back with four GPUs each
	jq '.options.local = "6x4"' found/run.json >j
	mv j found/run.json
	run_p p2p --retest found -o now
	[ "$status" -eq 1 ] || { echo "$status $stderr"; false; }
	grep -q 'GPU 4 of n1 (.*): still missing: n1 now has 4 GPUs; it had 8' \
		out
	grep -q 'GPU 1 of n2 (.*): still missing: n2' out
	[ "$(jq -r '[.retest[].state] | unique | join(" ")' \
		now/verdict.json)" = missing ]
	[ "$(jq -r '[.findings[] | .code] | unique | join(" ")' \
		now/verdict.json)" = still_missing ]
	"$root/tests/lint/formats" now >lint
	[ ! -s lint ] || { cat lint; false; }
	# what it prints can be typed
	again=$(sed -n -E '/(retest|again):$/{n;s/^ *gpucheck //p;q}' out)
	# shellcheck disable=SC2086 # words
	run_p $again -q -o again
	[ "$status" -eq 1 ] || { echo "$again"; cat err; false; }
}

@test "one that is repaired passes, whoever else is broken now" {
	printf 'dead gpu=1:4\n' >drill
	run_p p2p --local=6x8 --transport=sim --faults=drill -q -o found
	printf 'dead gpu=2:4\n' >drill
	run_p p2p --retest found --faults=drill -o now
	[ "$status" -eq 1 ] || { echo "$status $stderr"; false; }
	grep -q 'GPU 4 of n1 (drill_dead): 10 tests pass' out
	[ "$(jq -r '.findings[0] | "\(.kind) \(.node) \(.index)"' \
		now/verdict.json)" = 'gpu n2 4' ]
}

@test "of a collective the nodes that were found, and others to compare" {
	echo 'dead gpu=3:0' >drill
	run_p allreduce --local=6x2 --transport=sim --bisect --faults=drill \
		-e 1M -q -o found
	[ "$status" -eq 1 ]
	run_p allreduce --retest found -q -o now
	[ "$status" -eq 0 ] || { echo "$status $stderr"; false; }
	[ "$(jq '.nodes | length' now/run.json)" -eq 3 ]
	jq -e '[.nodes[].name] | index("n3")' now/run.json
	[ "$(jq -r '.retest[0].state' now/verdict.json)" = passes ]
}

@test "a slow node of a collective passes when it was compared, not before" {
	echo 'slow node=3 factor=0.5' >drill
	run_p allreduce --local=6x2 --transport=sim --bisect --faults=drill \
		-b 1M -q -o found
	[ "$status" -eq 1 ]
	run_p allreduce --retest found -q -o now
	[ "$status" -eq 0 ] || { echo "$status $stderr"; false; }
	[ "$(jq -r '.retest[0].state' now/verdict.json)" = passes ]
	echo 'slow node=2 factor=0.5' >drill	# the third of this run
	run_p allreduce --retest found --faults=drill -o still
	[ "$status" -eq 1 ] || { echo "$status"; cat out; false; }
	grep -q 'node n3 (bisect_slow): still ' out
	# nobody has compared
	jq '.notes = []' now/run.json >j
	mv j now/run.json
	run_p report now
	[ "$status" -eq 4 ] || { echo "$status"; cat out; false; }
	grep -q 'node n3 (bisect_slow): open: its nodes were not compared' out
}

@test "a GPU of a collective that is not there does not pass" {
	echo 'dead gpu=3:1' >drill
	run_p allreduce --local=6x2 --transport=sim --bisect --faults=drill \
		-e 1M -q -o found
	[ "$status" -eq 1 ]
	jq '.options.local = "6x1"' found/run.json >j
	mv j found/run.json
	run_p allreduce --retest found -o now
	[ "$status" -eq 1 ] || { echo "$status"; cat out; false; }
	grep -q ': still missing: n3 now has 1 GPU; it had 2' out
	[ "$(jq -r '.status + " " + .findings[0].code' now/verdict.json)" = \
		'fail still_missing' ]
}

@test "a run that found nothing, and options that would change the tests" {
	small_run -q -o well
	run_p p2p --retest well
	fails 2 'has no findings to retest: pass'
	# and nothing is left to measure
	absent resume err
	run_p ib --retest well
	fails 2 "is a run of 'p2p', not of ib"
	grep -q "hint: gpucheck p2p --retest .*well" err
	run_p p2p --retest nowhere
	fails 2 'cannot open run directory'
	fails 2 'hint: the run directory is the DIR of -o DIR'
	echo 'dead gpu=1:0' >drill
	small_run --faults=drill -q -o found
	run_p p2p --retest found --bidi
	fails 2 'does not go with --retest'
	run_p p2p --retest found --resume found
	fails 2 '--resume does not go with --retest'
	run_p p2p --retest found --dry-run
	[ "$status" -eq 0 ]
	grep -q agent out
}
