#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# All probes as one run.

load helper
load ../await

# "STEP OUTCOME" of every step of $1, in one line.
steps()
{
	paste -d ' ' <(columns_of rung "$1/results.csv") \
		<(columns_of outcome "$1/results.csv") | xargs
}

# The process of step $1 of the run in $2.
step_process()
{
	pgrep -f -- "gpucheck $1 .*--out=$2/$1\$"
}

# all in the background, $front its process.
start()
{
	"$GPUCHECK" all "$@" >out 2>err 3>&- &
	front=$!
}

@test "two pretend nodes by tcp: what cannot be used is skipped" {
	run_p all --local=2x2 --transport=tcp --quick -o run
	# the machine may lack locked memory
	[ "$status" -le 1 ]
	[ "$(steps run)" = \
		"memlock ok ping ok ib skipped gpu skipped p2p ok allreduce skipped" ]
	# a busy machine may hold up one pair or another
	jq -e '.cells | add == 12 and .pass + .slow + .timeout == 12 and
		.pass >= 8' run/p2p/verdict.json
	grep -q '^  ib  *skipped  no node has an HCA' out
	grep -q 'ib: skipped: ' err
	grep -q 'GPUs were not tested' out
	grep -q 'GPUs were not tested' run/report.html
	# a command is not broken
	awk 'length > 100 && $1 != "printf" { bad = 1 } END { exit bad }' out
	# each step is a run of its own
	"$GPUCHECK" report run/p2p | grep -qE '^(PASS|WARN|FAIL)  p2p'
	# and the whole is judged again from its files
	cp out before
	run_p report run
	# of the first that failed, or the last one
	# shellcheck disable=SC2016  # for that shell
	sed -n 's/^  more of a probe: gpucheck/"$GPUCHECK"/p' out >line
	grep -qE '/run/(memlock|p2p)$' line
	run bash line
	[ "$status" -le 1 ]
	diff before out
	run_p report --json run
	[ "$(jq -r .verdict.probe out)" = all ]
	[ "$(jq '.rows | length' out)" -eq 6 ]
	grep -q 'id="p2p"' run/report.html
}

@test "a fault that two steps see is one finding, the narrower one" {
	echo 'dead nic=0:2' >drill
	run_p all --local=2x4 --transport=sim --quick --faults=drill \
		--max-time=5m -o run
	[ "$status" -eq 1 ]
	# its retest has the options that were typed, as they were
	grep -q 'gpucheck ib .* --time-limit=5m ' out
	[ "$(steps run)" = \
		"memlock skipped ping skipped ib ok gpu ok p2p ok allreduce ok" ]
	jq -e '.drill and .status == "fail" and (.findings | length == 1) and
		(.findings[0] | .kind == "nic" and .node == "n0" and
		 .index == 2 and .rungs == ["ib", "p2p", "allreduce"])' \
		run/verdict.json
	[ "$(jq -r .exclude[0] run/verdict.json)" = n0 ]
	grep -q 'found by ib, p2p and allreduce' out
	# the steps after it were told
	"$GPUCHECK" report run/p2p | tr -s ' \n' ' ' |
		grep -q 'found before: ib: NIC 2 of n0'
	jq -e '.expect | length == 2' run/allreduce/run.json
	# what is lost is not good
	rm -r run/p2p
	run_p report run
	[ "$status" -eq 3 ]
	grep -q 'p2p  *error  *its verdict is lost' out
}

@test "a drill without a fault is one all the same" {
	: >drill
	run_p all --local=2x4 --transport=sim --quick --faults=drill -o run
	[ "$status" -eq 0 ]
	[ "$(steps run)" = \
		"memlock skipped ping skipped ib ok gpu ok p2p ok allreduce ok" ]
	# what passes by a sample of its pairs says so
	grep -q '^  p2p  *pass (sample) 24 pass' out
	grep -q '^PASS (sample) all on 2 nodes' out
	grep -q '^  allreduce  *pass  *[0-9]' out
	grep -q '<td>pass (sample)</td>' run/report.html
}

@test "GPUs by themselves: their links, with --deep memory and arithmetic" {
	echo 'slow h2d=1:3 factor=0.5' >drill
	run_p all --local=2x4 --transport=sim --quick --faults=drill -o run
	[ "$status" -eq 1 ]
	jq -e '[.findings[] | .code] == ["gpu_slow"]' run/verdict.json
	[ "$(wc -l <run/gpu/results.csv)" -eq $((8 * 4 + 1)) ]
	run_p all --local=2x4 --transport=sim --dry-run
	grep -q 'gpucheck gpu .*--quick' out
	run_p all --local=2x4 --transport=sim --dry-run --deep
	absent 'gpucheck gpu .*--quick' out
	run_p all --local=2x4 --transport=sim --deep --quick
	fails 2 "--quick does not go with --deep"
}

@test "one node alone: no ping, no ib, and that is no fault" {
	run_p all --local=1x2 --transport=tcp --quick --max-time=200s -o run
	[ "$status" -le 1 ]
	[ "$(steps run)" = \
		"memlock ok ping skipped ib skipped gpu skipped p2p ok allreduce skipped" ]
	# each is told what is left of the time, as people would say it
	jq -r '.argv[]' run/p2p/run.json | grep -qxE -- '--time-limit=[0-9]+ms'
	run_p all --local=1x1 --transport=tcp
	fails 2 "1 rank in total"
}

# A p2p that takes two seconds at least, as long as a pair may hang.
slow_p2p()
{
	echo 'hang pair=0-3' >drill
	start --local=2x2 --transport=tcp --quick --faults=drill -o run
	await 30 step_process p2p "$PWD/run"
	# what is stopped before it has a plan could not measure
	await 30 grep -qs '"planned"' run/p2p/run.json
}

@test "a step that is killed does not end the run" {
	slow_p2p
	kill -KILL "$(step_process p2p "$PWD/run")"
	wait "$front" || status=$?
	[ "$status" -eq 3 ]
	[ "$(steps run)" = \
		"memlock ok ping ok ib skipped gpu skipped p2p error allreduce skipped" ]
	grep -q 'p2p could not measure: gpucheck p2p was ended by signal 9' out
	jq -e '[.findings[] | select(.code == "could_not_measure")] |
		length == 1' run/verdict.json
}

@test "^C stops the step that runs, and keeps what is there" {
	slow_p2p
	# what has not measured anything could not: that is exit 3
	await 30 grep -qs ',ok,' run/p2p/results.csv
	"$GPUCHECK" report run >seen || code=$?
	[ "$code" -eq 4 ]
	grep -q '^RUNNING all on 2 nodes' seen
	grep -q '^  p2p .*it has not ended yet' seen
	# it does not know yet what the probes to come will count
	[ "$(grep -c 'measured so far' seen)" -eq 0 ]
	[ ! -e run/verdict.json ]
	kill -INT "$front"
	wait "$front" || status=$?
	[ "$status" -eq 4 ]
	[ "$(jq -r .stop_reason run/run.json)" = interrupted ]
	[ "$(jq -r .stop_reason run/p2p/run.json)" = interrupted ]
	grep -q 'did not finish' out
	[ -z "$(step_process p2p "$PWD/run")" ]
	# what it prints measures what is missing, and that alone
	read -r -a line < <(sed -n \
		's/.*run the missing tests: "gpucheck \(.*\)"$/\1/p' err)
	before=$(find run/memlock run/ping -type f -exec sha256sum {} +)
	measured=$(grep -c ',ok,' run/p2p/results.csv)
	jq '.drill_text = ""' run/p2p/run.json >j && mv j run/p2p/run.json
	run_p "${line[@]}"
	# this machine may limit locked memory
	[ "$status" -le 1 ]
	[ "$(jq '.cells.pass + .cells.slow' run/p2p/verdict.json)" = 12 ]
	[ "$(grep -c ',ok,' run/p2p/results.csv)" -eq 12 ] &&
		[ "$measured" -gt 0 ]
	[ "$(steps_last run)" = \
		"memlock ok ping ok ib skipped gpu skipped p2p ok allreduce skipped" ]
	[ -z "$(jq -r .stop_reason run/run.json)" ]
	[ "$before" = "$(find run/memlock run/ping -type f -exec sha256sum {} +)" ]
	run_p "${line[@]}"
	[ "$status" -le 1 ]
	grep -q 'nothing is left to measure in .*: all 6 probes ended' err
}

# The last outcome of each step of $1, as steps().
steps_last()
{
	paste -d ' ' <(columns_of rung "$1/results.csv") \
		<(columns_of outcome "$1/results.csv") |
		awk '{ n[$1] || o[++k] = $1; n[$1] = 1; l[$1] = $2 }
			END { for (i = 1; i <= k; i++) print o[i], l[o[i]] }' |
		xargs
}

@test "an all that is resumed and stopped again loses nothing" {
	slow_p2p
	await 30 grep -qs ',ok,' run/p2p/results.csv
	kill -INT "$front"
	wait "$front" || status=$?
	[ "$status" -eq 4 ]
	# as if the pings had been cut, too
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
		$c["rung"] == "ping" { $c["status"] = "partial" } { print }' \
		run/results.csv >results.csv
	cp results.csv run
	jq '.stop_reason = "interrupted"' run/ping/run.json >j
	mv j run/ping/run.json
	cp run/ping/results.csv pings
	run_p all --resume run --dry-run
	[ "$status" -eq 0 ]
	grep -q '^# no memlock: it has ended, and is kept' out
	grep -q ' ping .*--out=' out
	grep -q ' p2p --launcher=local --resume=' out
	"$GPUCHECK" all --resume run >out 2>err 3>&- &
	front=$!
	await 30 step_process_again p2p "$PWD/run"
	kill -INT "$front"
	wait "$front" || status=$?
	[ "$status" -eq 4 ]
	# what had not begun was none of it
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
		$c["outcome"] != "not_run"' results.csv >begun
	diff <(head -n "$(wc -l <begun)" run/results.csv) begun
	cmp pings run/ping-1/results.csv
	[ "$(grep -c ',ok,' run/p2p/results.csv)" -gt 0 ]
	run_p report run
	[ "$status" -eq 4 ]
	run_p all --resume run --local=3x2
	fails 2 "--local=3x2 does not go with --resume"
	run_p all --resume run/p2p
	fails 2 "is a run of 'p2p', not of all"
}

# The process that continues step $1 of the run in $2.
step_process_again()
{
	pgrep -f -- "gpucheck $1 .*--resume=$2/$1\$"
}

# in_job COMMAND: an allocation whose srun does COMMAND.
in_job()
{
	mkdir bin
	# shellcheck disable=SC2016
	printf '#!/bin/sh\ncase "$*" in\n--mpi=list | --version) echo none ;;\n*) %s ;; esac\n' \
		"$1" >bin/srun
	chmod +x bin/srun
	PATH=$PWD/bin:$PATH
	export SLURM_JOB_ID=1
}

@test "srun that fails: each step says why, in its own words" {
	in_job 'echo "error: no such node" >&2; exit 9'
	run_p all --launcher=srun -N 2 -G 2 --transport=sim -o run
	[ "$status" -eq 3 ]
	grep -q 'ib could not measure: the job ended immediately with exit code 9' out
	absent 'last words' run/results.csv
	jq -e '.error.text | contains("exit code 9")' run/ib/run.json
	run_p report run/ib
	[ "$status" -eq 3 ]
	grep -q 'exit code 9' err
}

@test "^C before a step has a plan: stopped, which is no fault of it" {
	in_job 'echo >srun.asked; exec sleep 60'
	start --launcher=srun -N 2 -G 2 --transport=sim -o run
	await 30 test -e srun.asked
	kill -INT "$front"
	wait "$front" || status=$?
	[ "$status" -eq 4 ]
	[ "$(steps run)" = \
		"memlock skipped ping skipped ib not_run gpu not_run p2p not_run allreduce not_run" ]
	absent 'could not measure' out
}

@test "nobody can be reached: no step calls its launcher an error" {
	mkdir bin
	printf '#!/bin/sh\necho "ssh: no way to it" >&2\nexit 255\n' >bin/ssh
	chmod +x bin/ssh
	PATH=$PWD/bin:$PATH run_p all --ssh=a,b -o run
	[ "$status" -eq 3 ]
	grep -q "Node a never started (ssh: no way to it)" out
	grep -q "memlock *error *a, b: ssh: no way to it" out
	grep -q "p2p *skipped *no node started" out
	absent "with --launcher" out
	absent "exclude leaves" out
}

@test "^C while a step draws: not the next one; again: not the drawing" {
	mkdir bin
	printf '#!/bin/sh\necho $$ >%q/drawing\nexec sleep 20\n' "$PWD" \
		>bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH start --local=2x2 --transport=sim -o run
	await 30 test -s drawing
	kill -INT "$front"
	await 10 grep -q 'stopping after the report' err
	kill -INT "$front"
	await 10 grep -q 'stopping at once' err
	kill "$(<drawing)" 2>/dev/null || :	# it may be over by now
	# the report of the whole is drawn, too
	printf '#!/bin/sh\nexit 1\n' >bin/gnuplot.new
	chmod +x bin/gnuplot.new
	mv bin/gnuplot.new bin/gnuplot
	wait "$front" || status=$?
	[ "$status" -eq 4 ]
	columns_of outcome run/results.csv | tail -2 | grep -c not_run | grep -qx 2
}

@test "--max-time is that of all" {
	# p2p alone would take more than six seconds: one rank, three times two
	printf 'hang pair=0-%d\n' 1 2 3 >drill
	run_p all --local=2x2 --transport=tcp --quick --faults=drill \
		--max-time=4s -o run
	[ "$status" -eq 4 ]
	jq -e '.cells.pass > 0' run/verdict.json
	grep -q 'no time was left' err ||
		[ "$(jq -r .stop_reason run/p2p/run.json)" = max_time ]
}

@test "--dry-run prints what would run, and makes nothing" {
	run_p all --local=2x2 --quick --dry-run -o run
	[ "$status" -eq 0 ]
	[ "$(grep -c -- '--launcher=local' out)" -eq 5 ]
	grep -q ' ping .*--count=2' out
	absent '--flows' out
	run_p all --local=2x2 --dry-run -o run
	[ "$(grep -cE ' (ping|ib) .*--flows=4 ' out)" -eq 2 ]
	run_p all -N 3 --launcher=sbatch --transport=sim --dry-run -o run
	grep -q '^exec .* conductor .*/run' out
	grep -q '^# no ping: a simulated cluster has no addresses' out
	grep -q ' p2p --launcher=srun --nodes=3 ' out
	# an image may have to be imported before the first agent comes
	run_p all -N 3 --launcher=sbatch --transport=sim --quick --dry-run -o run
	grep -q ' --agent-timeout=10030ms --start-timeout=15m ' out
	run_p all -N 3 --launcher=sbatch --transport=sim --quick --dry-run \
		--boot-timeout=3s -o run
	grep -q ' --agent-timeout=3s --start-timeout=3s ' out
	[ ! -e run ]
}

@test "a job that is started once more adds no steps to a run" {
	run_p all --local=1x2 --transport=sim --quick -o run
	cp run/results.csv before
	jq '.launcher = "sbatch" | del(.ended_utc)' run/run.json >j
	mv j run/run.json
	run_p conductor run
	fails 2 "the run in 'run' was started before and was interrupted"
	cmp before run/results.csv
}

@test "what one job cannot do is refused" {
	run_p all --launcher=env
	fails 2 "starts agents for one probe"
	run_p all --local=2x2 --transport=verbs
	fails 2 "--transport=verbs"
}
