#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck diff: two runs of the same kind.

load helper

# run NAME [ARGS...]: a model cluster of 2 x 4.
model()
{
	local name=$1
	shift
	"$GPUCHECK" p2p --local=2x4 --transport=sim -q -o "$name" "$@" || true
}

@test "two healthy runs: nothing changed, exit 0" {
	model one --seed=1
	model two --seed=2
	run_p diff one two
	[ "$status" -eq 0 ]
	grep -q '56 pairs compared: 0 worse, 0 broke, 0 better' out
}

@test "what got worse is named as a part, with a map; back again is better" {
	printf 'slow gpu=1:3 factor=0.5\ndead pair=0-5\n' >drill
	model good --seed=1
	model bad --seed=2 --faults=drill
	with_pictures
	run_p diff good bad -o kept
	[ "$status" -eq 1 ]
	grep -q '14 worse, 2 broke, 0 better, 0 repaired, 40 the' out
	grep -q '^worse GPU 3 of n1: 14 of 14 pairs' out
	# its NIC is no second part
	absent '^worse NIC' out
	grep -q '^[^ ]* / [^ ]*; rows send' out
	drawn kept/heatmap-contrast.png
	[ "$(jq -c '[.regression, .cells.broke]' kept/diff.json)" = "[true,2]" ]
	run_p diff --csv good bad
	[ "$(columns_of change out | sort | uniq -c | xargs)" = \
		"2 broke 14 worse" ]
	run_p diff bad good
	[ "$status" -eq 0 ]
	grep -q '0 worse, 0 broke, 14 better, 2 repaired' out
	absent '^worse' out
	# what is too small to be seen in a pair is no part
	echo 'slow gpu=2:1 factor=0.95' >drill
	run_p p2p --local=4x4 --transport=sim --quiet -o large
	run_p p2p --local=4x4 --transport=sim --quiet --seed=5 --faults=drill \
		-o hardly
	run_p diff large hardly
	[ "$status" -eq 0 ]
	absent '^worse' out
	run_p diff --json good good
	[ "$status" -eq 0 ]
	[ "$(jq '.pairs | length' out)" -eq 0 ]
}

@test "nodes of other names are compared place by place" {
	model one --seed=1
	cp -r one two
	sed -i 's/"n0"/"a0"/; s/"n1"/"a1"/' two/run.json
	sed -i 's/,n0,/,a0,/g; s/,n1,/,a1,/g' two/results.csv
	run_p diff one two
	[ "$status" -eq 0 ]
	grep -q 'no node in common' out
	# the n-th GPU of the n-th node, though nodes differ in size
	model three --local=2x3 --seed=1
	sed -i 's/"n0"/"b0"/; s/"n1"/"b1"/' three/run.json
	sed -i 's/,n0,/,b0,/g; s/,n1,/,b1,/g' three/results.csv
	run_p diff one three
	[ "$status" -eq 4 ]
	grep -q '^PARTIAL *30 pairs compared: 0 worse' out
	# one node in common: the other one's pairs are not in both
	sed -i 's/"a0"/"n0"/' two/run.json
	run_p diff one two
	[ "$status" -eq 4 ]
	grep -q '12 pairs compared' <<<"$(tr -s '\n ' ' ' <out)"
}

@test "collectives: sizes that are slower, not a single noisy one" {
	log=$root/tests/fixtures/import/h200-threads.log
	"$GPUCHECK" import -q -o old "$log"
	cp -r old new
	awk -F, -v OFS=, '$12 >= 4194304 && $12 <= 67108864 && $14 == 0 {
		$16 *= 1.25 } $12 == 1024 && $14 == 1 { $16 *= 2 } 1' \
		old/results.csv >new/results.csv
	with_pictures
	run_p diff old new -o kept
	[ "$status" -eq 1 ]
	grep -q '5 worse, 0 lost, 0 better, 1 outliers' <<<"$(tr -s '\n ' ' ' <out)"
	grep -q '4 MiB to 64 MiB at 80 %' out
	grep -q '^alone .*1 KiB in place at 50 %' out
	drawn kept/curves.png
	run_p diff new old
	[ "$status" -eq 0 ]
	run_p diff old old
	[ "$status" -eq 0 ]
}

@test "collectives: what was not measured again is not the same" {
	"$GPUCHECK" import -q -o old "$root/tests/fixtures/import/aml.log"
	n=$(($(wc -l <old/results.csv) - 1))
	outcome=$(head -1 old/results.csv | tr , '\n' | grep -nx outcome)
	# nothing was run again
	cp -r old new
	awk -F, -v OFS=, -v c="${outcome%%:*}" 'NR > 1 { $16 = $21 = $22 = ""
		$c = "not_run" } 1' old/results.csv >new/results.csv
	run_p diff old new
	[ "$status" -eq 3 ]
	tr -s '\n ' ' ' <out | grep -q "^UNKNOWN 0 measurements compared"
	tr -s '\n ' ' ' <out | grep -q "; $n were measured only in the first run"
	# rows that say ok, and hold no figure
	awk -F, -v OFS=, 'NR > 1 { $16 = $21 = $22 = "" } 1' \
		old/results.csv >new/results.csv
	run_p diff --json old new
	[ "$status" -eq 3 ]
	[ "$(jq -c '[.missing, .counts.same]' out)" = "[$n,0]" ]
	# rows that are not there
	awk -F, 'NR == 1 || $14 == 0' old/results.csv >new/results.csv
	run_p diff --json old new
	[ "$status" -eq 4 ]
	[ "$(jq -c '[.missing, .counts.same]' out)" = "[$((n / 2)),$((n / 2))]" ]
	run_p diff --json new old
	[ "$(jq .missing out)" -eq 0 ]
	# a curve that is not there
	awk -F, 'NR == 1 || $3 == "Single Node"' old/results.csv \
		>new/results.csv
	run_p diff --json old new
	[ "$status" -eq 4 ]
	[ "$(jq -c '[.status, .curves_alone, .curves_missing]' out)" = \
		'["partial",1,1]' ]
	run_p diff --json new old
	[ "$status" -eq 0 ]
}

@test "runs of different shape: the common pairs, and what the rest is" {
	model two --seed=1
	model three --local=3x4 --seed=2
	run_p diff two three
	[ "$status" -eq 0 ]
	tr -s '\n ' ' ' <out | grep -q "; 76 measured only in the second run"
	grep -q '^ *only in the second run: 4 GPUs of n2$' out
	run_p diff three two
	[ "$status" -eq 4 ]
	grep -q '^PARTIAL *56 pairs compared' out
	tr -s '\n ' ' ' <out | grep -q "; 76 measured only in the first run"
	grep -q '^ *only in the first run: 4 GPUs of n2$' out
	run_p diff --json three two
	[ "$(jq -c '[.status, .regression, .missing, .added]' out)" = \
		'["partial",false,76,0]' ]
}

@test "two runs that are broken alike are no success" {
	printf 'dead pair=0-5\nslow gpu=1:3 factor=0.5\n' >drill
	model one --seed=1 --faults=drill
	model two --seed=2 --faults=drill
	run_p diff one two
	[ "$status" -eq 1 ]
	tr -s '\n ' ' ' <out | grep -q '^FAIL .*; 2 failed in both runs; 14 slow'
	run_p diff --json one two
	[ "$(jq -c '[.status, .regression, .cells.still_bad, .cells.same,
		(.pairs | length)]' out)" = '["fail",false,2,40,0]' ]
}

@test "another size or transport is compared by --force only" {
	model large
	model small -e 1M
	run_p diff large small -o kept
	fails 2 "messages of 64 MiB, now 1 MiB"
	grep -q '^hint: .*--force' err
	[ ! -e kept ]
	run_p diff --force large small -o kept
	[ "$status" -eq 1 ]
	grep -q 'compared by --force: messages of 64 MiB' err
	jq -e '.unlike == "messages of 64 MiB, now 1 MiB"' kept/diff.json
	cp -r large tcp
	sed -i 's/"transport": "sim"/"transport": "tcp"/' tcp/run.json
	run_p diff large tcp
	fails 2 "transport sim, now tcp"
	run_p diff -q --force large tcp
	[ "$status" -eq 0 ]
}

@test "pairs with other NICs (--nic-choice) are compared by --force only" {
	model plan
	sed -i 's,SIM/inter,NET/IB/0/GDRDMA,' plan/results*.csv
	cp -r plan nccl
	echo 'n0,gpu0,nccl_ib_hca,=mlx5_0:1,,worker' >>plan/facts.csv
	run_p diff nccl plan
	fails 2 "all near NICs, now those of the plan (--nic-choice)"
	run_p diff --force plan nccl
	[ "$status" -eq 0 ]
	grep -q 'compared by --force: NICs of the plan, now all near ones' err
	# another run, as a reference and in a history
	sed -i 's/"nonce": "/&1/; s/"id": "/&1/' nccl/run.json
	run_p report --reference=nccl plan
	fails 3 "all near NICs, now those of the plan (--nic-choice)"
	run_p report -q --history=past plan
	run_p report -q --history=past nccl
	run_p history --drills --history=past
	grep -q ' 8 ranks --nic-choice=nccl$' out
	[ "$(grep -c '^[AB] p2p sim' out)" -eq 2 ]
}

@test "NICs that NCCL used in place of the planned ones are nic_not_planned" {
	for n in n0 n1; do
		"$root/tests/machines/unpack" \
			"$root/tests/machines/dgx-h100/n0" "machines/$n"
	done
	model plan --local=2x8 --sysroot="$PWD/machines" --pairs=rail
	# NCCL's log named mlx5_9 for GPU 2 of n1
	sed -i 's,SIM/inter,NET/IB/0/GDRDMA,' plan/results*.csv
	awk -F, -v OFS=, '$3 == "n1" && $4 == 2 { $5 = "mlx5_9" } 1' \
		plan/results.csv >other
	mv other plan/results.csv
	# it was free to do so
	run_p report -o nccl plan
	[ "$status" -eq 0 ]
	jq -e '.findings == []' nccl/verdict.json
	echo 'n0,gpu0,nccl_ib_hca,=mlx5_0:1,,worker' >>plan/facts.csv
	run_p report -o given plan
	jq -e '.findings | map("\(.kind) \(.code) \(.severity)") ==
		["config nic_not_planned warn"]' given/verdict.json
	tr -s ' \n' ' ' <out |
		grep -q 'n1 GPU 2 used mlx5_9 over NET/IB/0/GDRDMA, planned mlx5_4'
}

@test "runs that cannot be compared" {
	model one
	"$GPUCHECK" import -q -o sweep "$root/tests/fixtures/import/aml.log"
	run_p diff one sweep
	fails 2 "cannot be compared"
	run_p diff one absent
	fails 2 "cannot open run directory 'absent'"
	fails 2 'hint: the run directory is the DIR of -o DIR'
	mkdir empty
	run_p diff one empty
	[ "$status" -eq 3 ]
	run_p diff one
	[ "$status" -eq 2 ]
}

@test "collectives of different sizes: by their shares of the ceilings" {
	logs=$root/tests/fixtures/import
	"$GPUCHECK" import -q --machine=ndv4 -o both "$logs/aml.log"
	awk '/Two Nodes/ { exit } { print }' "$logs/aml.log" >one.log
	sed -n '1p; /Two Nodes/,$p' "$logs/aml.log" >two.log
	for n in one two; do
		run_p import --machine=ndv4 -o $n $n.log
		[ "$status" -eq 0 ] || { cat out err; false; }
	done
	run_p diff one two
	xargs -d '\n' <out | tr -s ' ' |
		grep -q '16 ranks, and 8 before: compared by their shares'
	absent UNKNOWN out
	# without ceilings there is nothing to compare
	for n in one two; do
		"$GPUCHECK" import -q -o bare-$n $n.log
	done
	run_p diff bare-one bare-two
	grep -q UNKNOWN out
}
