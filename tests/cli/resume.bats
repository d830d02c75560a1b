#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# --resume: what was measured stays, what is missing or bad is measured.

load helper
load ../await

# cut LINES: run/ as a coordinator leaves it that was killed after so many rows
# and a half.
cut_short()
{
	local half
	half=$(sed -n "$(($1 + 2))p" run/results.csv)
	head -n $(($1 + 1)) run/results.csv >kept
	{ cat kept; printf %s "${half:0:30}"; } >run/results.csv
	jq 'del(.ended_utc, .stop_reason)' run/run.json >j
	mv j run/run.json
	rm -f run/facts.csv
}

# All columns but the times, in an order of their own.
figures()
{
	cut -d, -f1-27 "$1/results.csv" | sort
}

# No key is there twice, in rows without quotes before these columns.
keys_are_unique()
{
	local twice
	twice=$(cut -d, -f1,2,6,10,12-16 run/results.csv | sort | uniq -d)
	[ -z "$twice" ] || { echo "twice: $twice"; return 1; }
}

# resumes CODE OPTION...: a run of the model that is cut short and resumed is
# what it would have been, and its rows are as they were.
resumes()
{
	local code=$1 rows nonce
	shift
	run_p p2p --local=2x3 --transport=sim -q -o run "$@"
	[ "$status" -eq "$code" ] || { echo "$status: $stderr"; return 1; }
	cp -r run whole
	for rows in "${at[@]}"; do
		cut_short "$rows"
		nonce=$(jq -r .nonce run/run.json)
		run_p p2p --resume run -q
		# what is left of the run before is none of this one's
		[ "$(jq -r .nonce run/run.json)" != "$nonce" ]
		[ "$status" -eq "$code" ] || { echo "$status: $stderr"; return 1; }
		cmp kept <(head -n $((rows + 1)) run/results.csv)
		keys_are_unique
		diff <(figures whole) <(figures run)
	done
	rm -r run whole
}

@test "a run that was cut short becomes what it would have been" {
	at=(0 7)
	resumes 0
	at=(11)
	resumes 0 --bidi --seed=7
	resumes 0 --sample=2
	resumes 0 --pairs=n0:1-n1:2,0-1,2-3,4-5,1-2,0-5 --schedule=serial
	at=(12 42)		# in one pass, and in the other
	resumes 0 --contrast=schedule
	printf 'dead pair=4-5\nnoise percent=1\n' >drill
	at=(20)
	resumes 1 --faults=drill
	# all measured, and the slow and dead ones not yet again
	echo 'slow pair=0-3 factor=0.5' >>drill
	at=(30)
	resumes 1 --faults=drill
}

@test "several sizes: what lacks the largest is measured whole" {
	run_p p2p --local=1x3 --transport=sim -b 8 -e 8K -f 1024 -q -o run
	cut_short 7
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	keys_are_unique
	jq -e '.cells.pass == 6' run/verdict.json
	[ "$(grep -c '^2,' run/results.csv)" -eq 2 ]
	[ "$(grep -c '^1,' run/results.csv)" -eq 11 ]
}

@test "ib" {
	run_p ib --local=3x2 --transport=sim -q -o run
	cp -r run whole
	cut_short 3
	run_p ib --resume run -q
	[ "$status" -eq 0 ]
	diff <(figures whole) <(figures run)
}

@test "what was bad is tried again, what was not measured makes room" {
	echo 'crash rank=1' >drill
	run_p p2p --local=1x4 --transport=sim -q -o run --faults=drill
	[ "$status" -eq 1 ]
	grep '^1,.*,\(ok\|crashed\),' run/results.csv >measured
	[ "$(grep -c ,skipped, run/results.csv)" -gt 0 ]
	# mended
	jq '.drill_text = "noise percent=1"' run/run.json >j
	mv j run/run.json
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	grep -qE 'tests completed and are kept, 6 are left;' <<<"$stderr"
	grep -Fxf measured run/results.csv | diff measured -
	keys_are_unique
	absent ',skipped,' run/results.csv
	jq -e '.cells.pass == 12 and .findings == []' run/verdict.json
	grep -q 'resumed 1 time, .* tests failed before and pass' <<<"$output"
	grep -q '^2,.*,ok,' run/results.csv
	grep -q ',resume,"\?6 of 12 tests' run/events.csv
	# events go on counting, facts are those of now
	columns_of seq run/events.csv >counts
	sort -nuC counts
	absent ',retired,' run/facts.csv
	[ "$(grep -c ',gpus_expected,' run/facts.csv)" -eq 1 ]
}

@test "nothing left: it says so and reports" {
	small_run -q -o run
	cp run/results.csv before
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	grep -q 'nothing is left to measure in .* all 12 tests completed' <<<"$stderr"
	grep -q '^PASS' <<<"$output"
	cmp before run/results.csv
	jq -e '.resumes | not' run/run.json
}

@test "a run that never had a plan begins" {
	small_run -q -o run
	jq '{schema, probe, argv, version, nonce, options, drill, launcher,
		started_utc}' run/run.json >j
	rm run/*.csv
	mv j run/run.json
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	grep -q 'no test was measured so far' <<<"$stderr"
	[ "$(wc -l <run/results.csv)" -eq 13 ]
	# one that failed before it had any cells
	jq '. + {planned: {kind: "all", cells: 0, passes: 0}, ended_utc: "2",
		nodes: [{name: "x", gpus: 1}],
		error: {text: "1 rank", exit: 3}}' run/run.json >j
	rm run/*.csv
	mv j run/run.json
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	jq -e '.planned.cells == 12 and (.error | not)' run/run.json
}

@test "--diagnose of a run without a fault says that there is nothing" {
	small_run -q -o run
	run_p p2p --resume run --diagnose
	[ "$status" -eq 0 ]
	grep -q 'nothing to diagnose: no pair failed or is slow' <<<"$stderr"
	[ ! -e run/diagnose ]
	run_p p2p --resume run
	[ "$(grep -c 'to diagnose' <<<"$stderr")" -eq 0 ]
}

@test "what was diagnosed then is put aside" {
	echo 'dead pair=0-1 unless=NCCL_CUMEM_ENABLE=0' >drill
	run_p p2p --local=1x2 --transport=sim --faults=drill --diagnose -q \
		-o run
	[ "$status" -eq 1 ]
	cp run/diagnose.csv first
	run_p p2p --resume run
	[ "$status" -eq 1 ]
	cmp first run/diagnose-1/diagnose-1.csv
	[ -d run/diagnose-1/sim ]
	[ -d run/diagnose/sim ]
	grep -q ',NCCL_CUMEM_ENABLE=0,' run/diagnose.csv
	grep -q 'passes with NCCL_CUMEM_ENABLE=0' <<<"$output"
}

@test "options that change what is measured are refused by name" {
	echo 'dead pair=0-1' >drill
	small_run --faults=drill --bidi -b 8M -q -o run || true
	cut_short 5
	cp -r run before
	run_p p2p --resume run --seed=2
	fails 2 "--seed=2 does not go with --resume: the run was started without --seed"
	fails 2 "hint: leave it out to continue the run"
	run_p p2p --resume run -b 4M
	fails 2 "--minbytes=4M does not go with --resume: the run has --minbytes=8M"
	run_p p2p --resume run --local=2x4
	fails 2 "the run has --local=2x2"
	run_p p2p --resume run 0 1
	fails 2 "--pairs=0-1 does not go with --resume: the run was started without"
	run_p p2p --resume run -o other
	fails 2 "--out does not go with --resume"
	echo 'dead pair=0-2' >drill
	run_p p2p --resume run --faults=drill
	fails 2 "the run has another drill"
	run_p ib --resume run
	fails 2 "is a run of 'p2p', not of ib"
	run_p p2p --resume nowhere
	fails 2 "cannot open run directory 'nowhere'"
	run_p plan p2p --resume run
	fails 2 "plan does not go with --resume"
	run_p ping --resume run
	fails 2 "'ping' has no option '--resume'"
	diff -r before run
	# the same again, and what is about now, may be said
	echo 'dead pair=0-1' >again
	run_p p2p --resume run --bidi -b 8M --local=2x2 --faults=again \
		--timeout=5s --max-time=1m -o run --csv
	[ "$status" -eq 1 ]
	[ "$output" = "$(<run/results-final.csv)" ]
	jq -e '.options | .["test-timeout"] and .["time-limit"] and .bidi and
		(.resume or .csv | not)' run/run.json
}

@test "another machine than the run's is refused, and nothing touched" {
	small_run -q -o run
	cut_short 5
	jq '.nodes[1].name = "gone"' run/run.json >j
	cp j run/run.json
	run_p p2p --resume run -q
	fails 3 "node 'n1' is not one of the run's 2 nodes, the first of which is 'n0'"
	fails 3 "to use other nodes, start a new run without --resume"
	cmp kept run/results.csv
	jq -e '.nodes[1].name == "gone" and .planned.cells == 12' run/run.json
}

# agent RANK: one of two, of node nRANK.
agent()
{
	GPUCHECK_BOOT_RANK=$1 GPUCHECK_BOOT_SIZE=2 GPUCHECK_BOOT_NODE=n$1 \
		"$GPUCHECK" agent run >>agents 2>&1 3>&- </dev/null &
}

# agents CODE RANK... -- OPTION...: a run with these agents ends with CODE.
agents()
{
	local code=0 wanted=$1 ranks=()
	shift
	while [ "$1" != -- ]; do
		ranks+=("$1")
		shift
	done
	shift
	"$GPUCHECK" p2p "$@" >out 2>err 3>&- </dev/null &
	front=$!
	await 20 is_waiting
	for rank in "${ranks[@]}"; do
		agent "$rank"
	done
	wait "$front" || code=$?
	[ "$code" -eq "$wanted" ] || { cat out err agents; return 1; }
	wait
}

is_waiting()
{
	[ -e run/resume.json ] || jq -e '.ended_utc | not' run/run.json
}

# What is known of the run: every file but those of whom is at work on it.
known()
{
	find run -type f ! -name holder ! -name resume.json -exec sha256sum {} + | sort
}

@test "a --resume that measures nothing changes nothing" {
	local before
	agents 1 0 -- --launcher=env -G 2 --transport=sim --boot-timeout=1s \
		-o run
	printf 'probe,step\n' >run/diagnose.csv
	run_p report run
	before=$(known)
	# left while it waits
	"$GPUCHECK" p2p --resume run --progress=always >out 2>err 3>&- &
	front=$!
	await 20 is_waiting
	run_p report run
	[ "$status" -eq 1 ]
	sleep 1.5
	kill -INT "$front"
	code=0
	wait "$front" || code=$?
	[ "$code" -eq 4 ]
	absent '100 %|of 12' err
	grep -q 'p2p pending' err
	diff <(echo "$before") <(known)
	# refused by its coordinator
	rm run/resume.json
	jq '.nodes[0].name = "n7" | del(.nodes[1].missing)' run/run.json >j
	mv j run/run.json
	before=$(known)
	touch -d '1 hour ago' run/events.csv	# no coordinator signs
	agents 3 0 -- --resume run
	grep -q "node 'n0' is not one of the run's 2 nodes" err
	grep -q 'nothing has changed in it; .*gpucheck report ' err
	[ ! -e run/resume.json ]
	diff <(echo "$before") <(known)
	# one that was lost
	jq '. + {nonce: "0"} | del(.ended_utc)' run/run.json >run/resume.json
	run_p report run
	[ "$status" -eq 1 ]
	run_p status run
	[ "$status" -eq 1 ]
}

@test "a node that never came takes its place when it does" {
	agents 1 0 -- --launcher=env -G 2 --transport=sim --boot-timeout=1s \
		-o run
	[ "$(grep -c ',skipped,agent_missing,' run/results.csv)" -eq 10 ]
	jq -e '.nodes[1] | .missing and .name == "node1"' run/run.json
	# nobody asked for more
	agent 0
	wait
	grep -q "the run in 'run' has ended" agents
	[ "$(wc -l <run/results.csv)" -eq 13 ]

	agents 0 0 1 -- --resume run
	jq -e '.nodes[1] | .name == "n1" and (.missing | not)' run/run.json
	[ "$(grep -c ',ok,' run/results.csv)" -eq 12 ]
	# from now on it is that one
	sed -i '$d' run/results.csv
	jq '.nodes[1].name = "n7"' run/run.json >j
	mv j run/run.json
	agents 3 0 1 -- --resume run
	grep -q "node 'n1' is not one of the run's 2 nodes" err
}

@test "agents that are started once more add nothing to a run cut short" {
	agents 0 0 1 -- --launcher=env -G 2 --transport=sim -o run
	cut_short 5
	SLURM_RESTART_COUNT=1 agent 0
	wait
	grep -q "the run in 'run' was started before and was interrupted, and Slurm has restarted its job" agents
	grep -q '^hint: .*--resume' agents
	cmp kept run/results.csv
	run_p report run
	[ "$status" -eq 4 ]
	grep -q 'partial: 5 of 12 measured' out

	# one that was cut before its plan begins now
	jq 'del(.planned, .nodes)' run/run.json >j
	mv j run/run.json
	rm -f run/results.csv run/rendezvous
	agent 0
	agent 1
	wait
	[ "$(grep -c ',ok,' run/results.csv)" -eq 12 ]
}

@test "a batch job asks for the same nodes, and what was asked of Slurm" {
	small_run -q -o run
	cut_short 5
	mkdir bin
	for name in sbatch sinfo srun squeue; do
		printf '#!/bin/sh\n' >bin/$name
		chmod +x bin/$name
	done
	PATH=$PWD/bin:$PATH
	jq '.launcher = "sbatch" | del(.options.local) |
		.argv += ["--", "--partition=gpu", "--qos=high"]' run/run.json >j
	mv j run/run.json
	run_p p2p --resume run --dry-run
	[ "$status" -eq 0 ]
	grep -q '^#SBATCH --nodes=2$' <<<"$output"
	grep -q "^# submitted with: sbatch --parsable --nodelist=n0,n1 \
--partition=gpu --qos=high $PWD/run/job.sbatch" <<<"$output"
	run_p p2p --resume run --dry-run -- --account=ops
	grep -qF -- '--nodelist=n0,n1 --account=ops ' <<<"$output"
	absent 'partition' out
	SLURM_JOB_ID=1 run_p p2p --resume run --dry-run
	grep -q '^GPUCHECK_BOOT.* --nodelist=n0,n1 ' <<<"$output"
	absent 'partition' out
	# waits in the queue, be it of a hidden partition, or nobody knows
	echo "case \$* in *--all*) echo '42|$PWD/run/job.sbatch' ;; esac" \
		>>bin/squeue
	run_p p2p --resume run
	fails 2 "has not ended: job 42 is in the queue"
	fails 2 "hint: wait for it, or cancel it: scancel 42"
	rm run/verdict.json
	run_p report run
	[ "$status" -eq 4 ]
	grep -q '^RUNNING p2p on 2 nodes' out
	grep -q 'running: 5 of 12 measured so far; job 42 is in the queue' out
	absent '--resume' err
	[ ! -e run/verdict.json ]
	printf '#!/bin/sh\necho down >&2\nexit 1\n' >bin/squeue
	run_p p2p --resume run
	fails 3 "Slurm must say that the job has ended"
	jq -e '.resumes | not' run/run.json
}

# What was measured so far stays as it is, from now on.
keep_measured()
{
	grep ',ok,' run/results.csv >measured
}

measured_is_kept()
{
	grep -Fxf measured run/results.csv | diff measured -
}

more_rows_than()
{
	[ "$(grep -c ',ok,' run/results.csv)" -gt "$1" ]
}

@test "out of time, resumed, its coordinator killed, resumed: real bytes" {
	run_p p2p --local=2x4 --transport=tcp -b 256K -n 8 --rate-limit=16M \
		--max-time=1s -o run
	fails 4 "gpucheck p2p --resume $PWD/run"
	[ "$(grep -c ,not_run, run/results.csv)" -gt 0 ]
	keep_measured

	"$GPUCHECK" p2p --resume run --max-time=1m >out 2>err 3>&- </dev/null &
	front=$!
	await 20 more_rows_than "$(($(wc -l <measured) + 3))"
	run_p p2p --resume run
	fails 2 "has not ended: process $front on $(uname -n) is running it"
	pkill -KILL -f "coordinator $PWD/run\$"
	wait "$front" || code=$?
	[ "$code" -eq 4 ]
	measured_is_kept
	keep_measured

	run_p p2p --resume run -q
	[ "$status" -le 1 ]
	measured_is_kept
	keys_are_unique
	[ "$(cut -d, -f1,2,6 run/results.csv | grep -c '^1,')" -eq 56 ]
	absent ',not_run,' run/results.csv
	jq -e '.resumes | length == 2' run/run.json
}

@test "a node that was missing in a part that never had a plan" {
	run_p p2p --local=2x2 --transport=sim -o run
	jq 'del(.nodes, .planned, .ended_utc, .transport)' run/run.json >j
	mv j run/run.json
	head -n 1 run/results.csv >j
	mv j run/results.csv
	echo n1,node,state,agent_missing,,coordinator >>run/facts.csv
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	jq -e '.findings == []' run/verdict.json
}

@test "three at once: one runs, the others say who does" {
	run_p p2p --local=2x4 --transport=tcp -b 256K -n 8 --rate-limit=16M \
		--max-time=1s -o run
	nonce=$(jq -r .nonce run/run.json)
	for i in 1 2 3; do
		{
			rc=0
			"$GPUCHECK" p2p --resume run -q --max-time=1m \
				>"out$i" 2>"err$i" || rc=$?
			echo "$rc" >"rc$i"
		} 3>&- </dev/null &
	done
	wait
	[ "$(cat rc? | grep -cx 2)" -eq 2 ]
	[ "$(cat rc? | grep -cx '[01]')" -eq 1 ]
	[ "$(cat err? | grep -c 'process [0-9]* on ')" -eq 2 ]
	jq -e '.exclude == []' run/verdict.json
	jq -e --arg was "$nonce" '.nonce != $was and (.resumes | length == 1)' \
		run/run.json
	[ ! -e run/holder ]
}
