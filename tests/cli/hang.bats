#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck hang beside real processes; what NCCL's RAS says of them was recorded
# from real jobs, as it needs GPUs (tests/fake/ras, tests/gpu/hang).

load helper
load ../await

setup_file()
{
	# what a rank has mapped
	head -c 8192 /dev/zero >"$BATS_FILE_TMPDIR/libnccl.so.2"
}

teardown()
{
	kill -KILL "${pids[@]}" 2>/dev/null || :
	wait "${pids[@]}" 2>/dev/null || :
	exec 8>&-	# the end of the fake RAS
}

# job ANSWER WHAT OTHERS: three ranks that do OTHERS and one that does WHAT.  RAS
# says of them what was recorded of a job whose rank 3 was ANSWER, in words where
# it ends in that; or it answers by silence or noise.
job()
{
	local answer=$1 i
	local said=$root/tests/fixtures/ras/$answer
	[ -f "$said" ] || said=$answer
	mkfifo fifo end
	touch pids
	"$root/tests/fake/ras/ras" "$said" pids <end >port 3>&- &
	exec 8>end
	await 10 test -s port
	for i in 0 1 2 3; do
		RANK=$i WORLD_SIZE=4 NCCL_RAS_ADDR=127.0.0.1:$(<port) \
			"$root/tests/fake/ras/rank" \
			"$BATS_FILE_TMPDIR/libnccl.so.2" \
			"$([ $i = 3 ] && echo "$2" || echo "$3")" fifo \
			>"ready$i" 3>&- 8>&- &
		pids+=($!)
	done
	for i in 0 1 2 3; do
		await 20 test -s "ready$i"
	done
	[ ! -f "$said" ] || paste -d ' ' <(printf '%s\n' "${pids[@]}") \
		<(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "${said%.words}") >pids
}

# A py-spy that says what it was asked.
py_spy()
{
	mkdir bin
	cat >bin/py-spy <<-S
		#!/bin/sh
		echo "\$*" >>$PWD/asked
		echo 'Thread 1 (idle): "MainThread"'
		echo "    sleep_of_\$3 (rank.py:1)"
	S
	chmod +x bin/py-spy
	PATH=$PWD/bin:$PATH
}

# named CODE: rank 3 and nobody else, and no node.
named()
{
	[ "$status" -eq 1 ]
	jq -e --arg code "$1" '.status == "fail" and .exclude == [] and
		[.findings[] | [.kind, .index, .code]] == [["process", 3, $code]]' \
		run/verdict.json
}

# They are below this process, as other jobs of this machine are not.
look()
{
	run_p hang --pid $$ -o run
}

@test "hang: a rank that sleeps before the collective" {
	job late sleep sleep
	py_spy
	run_p hang --pid $$ -o run --watch --stacks
	named rank_asleep
	sort asked | diff - <(printf 'dump --pid %s\n' "${pids[@]}" | sort)
	grep -q "in sleep_of_${pids[3]}$" out
	grep -q "^FAIL  hang: 4 processes on 1 node: the others wait" out
	grep -q "^          py-spy dump --pid ${pids[3]}$" out
	absent retest out
	grep -q "^>     3 n0 .* AllReduce 20 in hrtimer_nanosleep" out
	[ "$(grep -c ',answers,0x2260a31cfde91707,' run/results.csv)" -eq 4 ]
	# the job is as it was
	kill -0 "${pids[@]}"
}

# ... by an NCCL that has words only: without them nobody knew of rank 3.
@test "hang: a rank that was killed, and one that is stopped" {
	job kill.words sleep sleep
	kill -KILL "${pids[3]}"
	wait "${pids[3]}" 2>/dev/null || :
	look
	named rank_gone
	rm -r run
	kill -STOP "${pids[2]}"
	look
	[ "$status" -eq 1 ]
	[ "$(jq -c '[.findings[] | [.index, .code]] | sort' run/verdict.json)" = \
		'[[2,"rank_stopped"],[3,"rank_gone"]]' ]
}

@test "hang: RAS that talks nonsense, and a rank that waits for a FIFO" {
	local frame
	job noise fifo spin
	look
	named rank_waits_file
	grep -q ',ras_note,' run/facts.csv
	grep -q ',node,clock,.*,adjtimex$' run/facts.csv
	frame=$(sed -n '1s/.*] \([^+]*\)+.*/\1/p' "/proc/${pids[3]}/stack" \
		2>/dev/null || :)
	[ -z "$frame" ] || grep -q ",$frame < " run/results.csv
}

@test "hang: RAS that says nothing costs four seconds, with the watch" {
	local begun
	job silence sleep sleep
	py_spy
	kill -STOP "${pids[3]}"
	begun=${EPOCHREALTIME/./}
	look
	[ $((${EPOCHREALTIME/./} - begun)) -ge 4000000 ]
	named rank_stopped
	[ ! -e asked ]		# which stops them
}

@test "hang: nobody to look at" {
	run_p hang --pid $$ -o run
	[ "$status" -eq 3 ]
	grep -q "nothing to watch" out
	grep -q "There is no process with NCCL" out
	absent ras_note run/facts.csv
	# the process that is watched ends, and so does the watch
	sleep 1 3>&- &
	run_p hang --pid $! --watch
	[ "$status" -eq 3 ]
	PATH=$stub run_p hang 4711
	[ "$status" -eq 2 ]
	grep -q "cannot find the nodes of job 4711" err
	run_p hang 47x
	[ "$status" -eq 2 ]
	run_p hang --nodes='n[1-2]' --ssh
	[ "$status" -eq 2 ]
	grep -q "names of nodes: --nodelist" err
}

@test "hang: a process that is not there" {
	true &
	gone=$!
	wait "$gone"
	run_p hang --pid "$gone" -o run
	fails 2 "there is no process $gone on this machine"
	[ ! -e run ]
}
