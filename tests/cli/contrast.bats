#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# --contrast and --sample: the pairs twice, or fewer of them.

load helper

# Pass $1 and pass $2 have $3 rows each, and run.json says so.
twice()
{
	[ "$(grep -c ",$1," run/results.csv)" -eq "$3" ]
	[ "$(grep -c ",$2," run/results.csv)" -eq "$3" ]
	[ "$(jq -r '.schedule, .contrast.pass, .planned.cells' run/run.json |
		tr '\n' ' ')" = "$1 $2 $3 " ]
}

@test "--contrast=schedule: GPUs that share a NIC lose, the others do not" {
	with_pictures
	run_p p2p --local=2x4 --nics=2 --transport=sim --contrast=schedule \
		-o run
	[ "$status" -eq 0 ]
	twice serial parallel 56
	jq -e '.status == "warn" and .cells.pass == 56 and
		(.findings | length) == 1 and (.findings[0] |
		.kind == "config" and .code == "oversubscribed" and
		.or[0].kind == "inter_node" and .cells == 32)' run/verdict.json
	grep -q "keeps 50 % of its" out
	grep -q "between nodes: parallel / serial, median 0.50" out
	grep -q "inside a node: parallel / serial, median 1.00" out
	grep -q "^parallel / serial; rows send" out
	drawn run/heatmap-contrast.png run/heatmap-contrast.svg
	grep -q "parallel / serial, median" run/report.html

	run_p p2p --local=2x4 --transport=sim --contrast=schedule -o run2
	jq -e '.status == "pass"' run2/verdict.json
}

@test "--contrast=schedule over tcp: the cores are shared, no finding" {
	run_p p2p --local=2x3 --transport=tcp --contrast=schedule -b 256K \
		-o run
	[ "$status" -eq 0 ]
	[ "$(grep -c '^1,.*,serial,' run/results.csv)" -eq 30 ]
	[ "$(grep -c '^1,.*,parallel,' run/results.csv)" -eq 30 ]
	[ "$(jq '[.findings[] | select(.code == "oversubscribed")] | length' \
		run/verdict.json)" -eq 0 ]
	grep -q "; bandwidth" out
}

@test "--contrast=pxn: dead rails that PXN rescues are a warning" {
	echo "dead cross_rail" >drill
	run_p p2p --local=2x4 --transport=sim --contrast=pxn --faults=drill \
		-o run
	[ "$status" -eq 0 ]
	# second attempts are of the first pass
	[ "$(grep -c ',nic+pxn,' run/results.csv)" -eq 56 ]
	[ "$(grep ',nic+pxn,' run/results.csv | grep -c ',ok,')" -eq 56 ]
	jq -e '.status == "warn" and .cells.fail == 24 and
		(.findings | length) == 1 and (.findings[0] |
		.kind == "cross_rail" and .code == "pxn_needed" and
		.explained == 24)' run/verdict.json
	# without the contrast it is a fault
	run_p p2p --local=2x4 --transport=sim --faults=drill -o run2
	[ "$status" -eq 1 ]
}

@test "a contrast with workers: every pass has all its rows" {
	echo "crash rank=3" >drill
	run_p p2p --local=1x4 --transport=tcp --contrast=schedule -b 64K \
		--faults=drill -o run
	[ "$status" -eq 1 ]
	[ "$(grep -c '^1,.*,serial,' run/results.csv)" -eq 12 ]
	[ "$(grep -c '^1,.*,parallel,' run/results.csv)" -eq 12 ]
	jq -e '.findings | any(.kind == "gpu" and .index == 3 and
		.severity == "fail")' run/verdict.json
}

@test "--sample: so many partners a rank, what is left out is not planned" {
	run_p p2p --local=4x4 --transport=sim --sample=2 --quiet -o run
	# the chances of detection are above the map, to the last word
	grep -q "only 13 %<" run/heatmap-bw.svg
	[ "$status" -eq 0 ]
	cells=$(jq .planned.cells run/run.json)
	[ "$cells" -eq 32 ]
	jq -e '.planned.sample | .rail == 1 and .inside == 1 and
		.cross == 0' run/run.json
	jq -e '.sample.share > 0.13 and .sample.share < 0.14' run/verdict.json
	[ "$(wc -l <run/results.csv)" -eq $((cells + 1)) ]
	[ "$(columns_of src_rank run/results.csv | sort | uniq -c |
		awk '$1 < 2' | wc -l)" -eq 0 ]
	jq -e --argjson cells "$cells" '.cells.pass == $cells and
		.cells.not_run == 0 and .cells.skipped == 0' run/verdict.json
	run_p report run
	grep -q "^PASS (sample) p2p on 4 nodes" out
	tr -s ' \n' ' ' <out >line
	# one line in the terminal, the chances are in the picture and the page
	grep -q "a sample, 2 rounds (1 on rails, 1 inside nodes)" line
	grep -q "2 rounds (1 on rails, 1 inside nodes); always detected: a" \
		run/report.html

	# all pairs are no sample, whoever asks for more than there are
	run_p p2p --local=2x2 --transport=sim --sample=9 -o whole
	grep -q "^PASS  p2p" out
	jq -e '.planned.sample == null' whole/run.json
	jq -e '.sample == null' whole/verdict.json
	run_p p2p --local=4x4 --transport=sim --quick -o quick
	jq -e '.planned.cells == 48 and .planned.sample.cross == 1' \
		quick/run.json

	# the seed alone decides which
	for seed in 1 2; do
		run_p p2p --local=4x4 --transport=sim --sample=2 --quiet \
			--seed=$seed -o again$seed
		jq .planned.pairs again$seed/run.json >pairs$seed
	done
	jq .planned.pairs run/run.json | cmp - pairs1
	run cmp pairs1 pairs2
	[ "$status" -eq 1 ]
}

@test "a sample with a dead GPU names it" {
	# one inside the node tells it from the NIC
	for part in gpu nic; do
		echo "dead $part=1:2" >drill
		for sample in --sample=4 --sample=8 --quick; do
			run_p p2p --local=4x4 --transport=sim $sample \
				--faults=drill --quiet -o run-$part$sample
			[ "$status" -eq 1 ]
			jq -e --arg part $part '(.findings | length) == 1 and
				(.findings[0] | .kind == $part and
				.node == "n1" and .index == 2)' \
				run-$part$sample/verdict.json
		done
	done
}

@test "what does not go with a contrast or a sample: exit 2 and why" {
	run_p p2p --local=2x2 --contrast=schedule --schedule=serial
	fails 2 "--schedule does not go with --compare=schedule"
	run_p p2p --local=2x2 --contrast=pxn --pxn
	fails 2 "--pxn does not go with --compare=pxn"
	run_p p2p --local=2x2 --contrast=pxn --transport=tcp
	fails 2 "--compare=pxn applies to NCCL, which --transport=tcp does not use"
	run_p p2p --local=2x1 --compare=failover --transport=tcp
	fails 2 "--compare=failover applies to NCCL, which --transport=tcp does not use"
	run_p p2p --local=2x2 --contrast=both
	fails 2 "'both' is not one of none, schedule, pxn"
	run_p p2p --local=2x2 --sample=0
	fails 2 "--sample: 0 is not within 1 to 4096"
	run_p p2p --local=2x2 --sample=all
	fails 2 "--sample: 'all' is not a whole number"
	run_p p2p --local=2x2 --transport=sim --pairs=0-1 --sample=2
	fails 2 "a list of pairs is measured as it is"
	[ "$(ls)" = $'err\nout' ]
}

@test "a --timeout that no pair can keep is said before it is too late" {
	run_p p2p -N 4 -G 8 --launcher=sbatch -n 2000 -b 64M --dry-run
	absent 'hint:' err
	run_p p2p -N 4 -G 8 --launcher=sbatch -n 2000 -b 64M --timeout=20s \
		--dry-run
	absent 'hint:' err
	run_p p2p -N 4 -G 8 --launcher=sbatch -n 2000 -b 64M --timeout=3s \
		--dry-run
	grep -qE "hint: a healthy pair takes about 6 s and --test-timeout allows 3 s" \
		err
}

@test "the planned time comes first, and above ten minutes a way out" {
	run_p p2p -N 4 -G 8 --launcher=sbatch --dry-run
	grep -qE "sbatch.*: 992 tests, about [0-9]+ s after it starts; 672 fewer if rails" err
	absent 'hint:' err
	run_p p2p -N 4 --launcher=sbatch --dry-run
	grep -q "992 tests with 8 GPUs per node, about" err
	run_p p2p -N 200 -G 8 --pairs=all --launcher=sbatch --dry-run
	grep -qE "2558400 tests, about 1[0-9] min after it starts" err
	run_p p2p -N 200 -G 8 --launcher=sbatch --dry-run
	grep -qE "19200 tests, about 10 s after it starts" err
	run_p p2p -N 200 -G 8 --pairs=all --launcher=sbatch --dry-run
	grep -qE "hint: --sample=512 .*, in about [0-9] min" err
	run_p p2p -N 500 -G 8 --pairs=all --launcher=sbatch --dry-run
	grep -q "hint: --sample=8" err
	run_p p2p -N 200 -G 8 --sample=8 --launcher=sbatch --dry-run
	absent 'about .* min|hint:' err
	# a list that names nodes is not known yet
	run_p p2p -N 2 -G 8 --pairs=gpu7:1-gpu8:1 --launcher=sbatch --dry-run
	absent 'about' err
	run_p p2p --local=2x2 --transport=sim --dry-run
	grep -q "12 tests, about 1 s" err
	run_p p2p --local=2x2 --transport=tcp --dry-run
	grep -qE "\(--local\): 12 tests, about [0-9]+ s$" err
	run_p p2p --local=2x2 --quiet --dry-run
	[ ! -s err ]
}
