#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Heading, last line, verdict.json, page, legends and CSV have the same counts,
# with the follow-up apart.

load helper

# counted DIR: report the run in DIR and compare all places that have counts.
counted()
{
	"$GPUCHECK" report "$1" >words 2>/dev/null || true
	python3 "$root/tests/golden/counts.py" --places "$1" words
}

# The last one that was counted, changed: it has to be seen.
differs()
{
	run python3 "$root/tests/golden/counts.py" --places run words
	[ "$status" -eq 1 ]
	grep -q 'run: ' <<<"$output"
}

# bats test_tags=dear
@test "all places of every recorded run have the same counts" {
	n=0
	for file in "$root"/data/reference/*/run.json \
		"$root"/tests/fixtures/runs/*/run.json \
		"$root"/tests/golden/runs/*/run.json; do
		name=$(basename "$(dirname "$file")")
		cp -r "$(dirname "$file")" "$name"
		rm -f "$name"/*.svg "$name"/*.png "$name"/report.html
		# nothing was measured: no count
		[ "$name" = p2p-2x2-lost ] || counted "$name"
		n=$((n + 1))
	done
	[ "$n" -ge 20 ]
}

@test "the follow-up is counted apart, and explained once" {
	echo 'dead nic=1:2' >dead.drill
	run_p ib --local=2x4 --transport=sim --faults=dead.drill -o run
	[ "$status" -eq 1 ]
	counted run
	jq -e '.follow_up.pass + .follow_up.fail == 16' run/verdict.json
	# a sentence that counts follow-up tests says how many of them are
	jq -e '.findings[0].says | test("[(]1?[0-9] follow-up tests[)] passed")
		' run/verdict.json
	python3 "$root/tests/golden/counts.py" run
	[ "$(grep -c 'follow-up:' words)" -eq 1 ]
	grep -q 'follow-up: 16 more tests' words
	grep -q '>failed (2, 4 in the follow-up)<' run/heatmap-bw.svg
	# as many as are planned, fewer by those that a note names
	(cd "$root/tests/machines/roce-4" &&
		for node in n*; do ../unpack "$node" "$OLDPWD/root/$node"; done)
	run_p p2p --local=2x8 --transport=sim --sysroot=root -o rails
	fails 0 ': 240 tests, about'
	fails 0 ': 144 of 240 pairs; 96 between rails are not connected'
	counted rails
	grep -q '144 tests: 144 pass' words
	grep -q '^PASS (144 of 240 pairs; 96 between rails are not' words
	grep -q '144 of 240 pairs; 96 between rails are not' rails/report.html
}

@test "a place whose count differs is found" {
	cp -r "$root/data/reference/drill-dead-gpu" run
	counted run
	sed -i 's/240 tests: 210 pass, 30 fail/240 tests: 211 pass, 29 fail/' words
	differs
	counted run
	sed -i '$d' run/results-final.csv
	differs
	counted run
	sed -i 's/failed (30)/failed (29)/' run/heatmap-bw.svg
	differs
	counted run
	sed -i 's/>240 tests: 210 pass/>240 tests: 209 pass/' run/report.html
	differs
}
