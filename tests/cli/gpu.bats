#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck gpu: tests of single GPUs, on its model and on rows that were
# changed; on real ones: tests/gpu/gpu.

# shellcheck disable=SC2016 # awk has dollars of its own

load helper

model()
{
	run_p gpu --local=2x8 --transport=sim -o run "$@"
}

# changed AWK: a healthy run whose rows are changed, judged again.
changed()
{
	model
	awk -F, -v OFS=, "$1"' { print }' run/results.csv >rows
	mv rows run/results.csv
	run_p report run
}

# findings: "SEVERITY KIND NODE:INDEX CODE" of the last run.
findings()
{
	jq -r '.findings[] | "\(.severity) \(.kind) \(.node):\(.index) \(.code)"' \
		run/verdict.json
}

@test "gpu: a healthy model passes" {
	model
	[ "$status" -eq 0 ]
	grep -q '^PASS  gpu: 16 GPUs on 2 nodes' out
	[ "$(grep -c ',ok,' run/results.csv)" -eq $((16 * 7)) ]
	jq -e '.cells.pass == 112 and .findings == []' run/verdict.json
	# a bar for each GPU and test, all of them good
	[ "$(grep -c '<title>' run/bars.svg)" -eq $((16 * 5)) ]
	absent d55e00 run/bars.svg
	grep -q 'base64' run/report.html
}

@test "gpu: a drill is found by part and test" {
	cat >drill <<-'D'
	slow h2d=1:3 factor=0.5
	wrong compute=0:2 rate=0.001
	busy gpu=1:1
	D
	model --faults=drill
	[ "$status" -eq 1 ]
	findings | sort >found
	diff - found <<-'F'
	fail gpu n0:2 wrong_result
	fail gpu n1:3 gpu_slow
	warn gpu n1:1 gpu_busy
	F
	grep -q '^FAIL  GPU 3 of n1 is 50 % slower than its 14 peers in h2d' out
	grep -q 'both: 50.* GB/s (peers: ' out
	# what nobody measured is empty
	grep -q '^n1,1,[^,]*,open,,,' run/results.csv
	[ "$(grep -c '^n1,1,' run/results.csv)" -eq 1 ]
	echo 'slow h2d=2:0 factor=0.5' >drill
	run_p gpu --local=2x8 --transport=sim --faults=drill
	[ "$status" -eq 2 ]
}

@test "gpu: 8 % slower than its peers is said, an index that is slow everywhere not" {
	changed '$1 == "n1" && $2 == 5 && $4 == "copy" { $6 *= 0.92 }'
	[ "$status" -eq 0 ]
	[ "$(findings)" = "warn gpu n1:5 gpu_slow" ]
	grep -q 'GPU 5 of n1 is 8 % slower than its 15 peers in copy' out
	rm -r run
	run_p gpu --local=4x8 --transport=sim -o run
	awk -F, -v OFS=, '$2 == 5 && $4 == "d2h" { $6 *= 0.92 } { print }' \
		run/results.csv >rows
	mv rows run/results.csv
	run_p report run
	[ -z "$(findings)" ]
}

@test "gpu: of a large model each node has rows" {
	run_p gpu --local=40x1 --transport=sim -q -o run
	[ "$status" -eq 0 ]
	[ "$(cut -d, -f1 run/results.csv | sed 1d | sort -u | wc -l)" -eq 40 ]
}

@test "gpu: a narrow link, a result that differs" {
	changed '$1 == "n0" && $2 == 7 && $4 == "h2d" {
			$9 = "16.0 GT/s x8"; $6 = 12; $7 = 13.7 }
		$1 == "n1" && $2 == 0 && $4 == "compute" {
			$12 = "0123456789abcdee" }'
	[ "$status" -eq 1 ]
	findings | sort >found
	diff - found <<-'F'
	fail gpu n0:7 gpu_link
	fail gpu n0:7 gpu_slow
	fail gpu n1:0 wrong_result
	F
	grep -q '16.0 GT/s x8 during a transfer (peers: 32.0 GT/s x16' \
		run/verdict.json
}

@test "gpu: of two results that differ none is accused" {
	changed 'NR > 1 && ($1 != "n0" || $2 > 1) { next }
		$2 == 0 && $4 == "compute" { $12 = "0123456789abcdee" }'
	[ "$status" -eq 0 ]
	findings >found
	[ "$(grep -c '^warn gpu n0:[01] wrong_result' found)" -eq 2 ]
	[ "$(wc -l <found)" -eq 2 ]
}

@test "gpu: a GPU that hung, and one that refused, cost their rows alone" {
	changed '$1 == "n0" && $2 == 1 && $4 != "open" {
			if ($4 != "h2d") next
			$6 = ""; $8 = ""; $9 = ""; $19 = "timeout"
			$20 = "gpu_stuck"; $21 = "no answer within 10 s" }
		$1 == "n1" && $2 == 2 {
			if ($4 != "open") next
			$19 = "error"; $20 = "gpu_exclusive" }'
	[ "$status" -eq 1 ]
	findings | sort >found
	diff - found <<-'F'
	fail gpu n0:1 gpu_stuck
	fail gpu n1:2 gpu_exclusive
	F
	[ "$(jq -r '.cells | "\(.pass) \(.timeout) \(.fail)"' \
		run/verdict.json)" = "99 1 1" ]
}

@test "gpu: --soak shows who gets slower, and what is wrong once" {
	model --soak=1h
	[ "$status" -eq 0 ]
	[ "$(grep -c ',ok,' run/results.csv)" -eq $((6 * 16 * 7)) ]
	[ -z "$(findings)" ]
	awk -F, -v OFS=, '
		$1 == "n1" && $2 == 3 && $4 == "copy" { $6 *= 1 - 0.02 * $23 }
		$1 == "n0" && $2 == 6 && $4 == "compute" && $23 == 4 {
			$12 = "0123456789abcdee" } { print }' \
		run/results.csv >rows
	mv rows run/results.csv
	run_p report run
	[ "$status" -eq 1 ]
	findings | sort >found
	diff - found <<-'F'
	fail gpu n0:6 wrong_result
	warn gpu n1:3 gpu_slow
	warn gpu n1:3 gpu_trend
	F
	[ "$(grep d55e00 run/bars.svg | grep -o '>n.*GB/s' | cut -c2-10)" = \
		"n1, GPU 3" ]
	grep -q 'in copy it lost 8 % between the first and the last third of 6 rounds' out
	grep -q '^n1  *3 .* 36[0-9][0-9]\.[0-9] ' out	# of all turns
}

@test "gpu: what is slow with all at once is a warning at most" {
	model --contrast=parallel --far
	[ "$status" -eq 0 ]
	[ "$(grep -c ',ok,' run/results.csv)" -eq $((16 * 11)) ]
	awk -F, -v OFS=, '$1 == "n1" && $2 < 2 && $4 ~ /_all/ { $6 /= 2 }
		{ print }' run/results.csv >rows
	mv rows run/results.csv
	run_p report run
	[ "$status" -eq 0 ]
	findings | sort >found
	diff - found <<-'F'
	warn gpu n1:0 gpu_slow
	warn gpu n1:1 gpu_slow
	F
}

@test "gpu: without a GPU nothing is measured" {
	[ ! -e /dev/nvidiactl ] || skip "this machine has a GPU"
	run_p gpu --local -o run
	[ "$status" -eq 3 ]
	grep -q '^WARN  n0 shows 0 GPUs' out
	run_p gpu --local=2x2
	[ "$status" -eq 2 ]
	grep -q 'transport=sim' err
}
