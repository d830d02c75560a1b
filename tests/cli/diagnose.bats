#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# p2p --diagnose: failed pairs once more, layer by layer, then setting by
# setting.

load helper
load ../await

# diagnose CODE OPTION...: a run with the drill on stdin, its words in out.
diagnose()
{
	local code=$1
	shift
	cat >drill
	run_p p2p --faults=drill --diagnose -o run --progress=never "$@"
	[ "$status" -eq "$code" ] || { cat out err; false; }
	tr -s ' \n' ' ' <out >flat
}

says()
{
	grep -qF -- "$1" flat || { echo "no '$1' in:"; cat out err; false; }
}

steps()
{
	columns_of step run/diagnose.csv | sort -u | paste -sd' '
}

@test "layers pass up to the one that fails; no setting helps" {
	diagnose 1 --local=2x2 --transport=sim <<<'dead nic=1:1 from=verbs'
	says 'ping passes, TCP passes, RDMA in host memory fails (drill_dead), RDMA in GPU memory fails, the simulation fails: the fault is in RDMA in host memory, on NIC 1 of n1'
	says 'fails with every setting tried: NCCL_IB_GID_INDEX=3, NCCL_IB_GID_INDEX=1, NCCL_CROSS_NIC=0, NCCL_IB_DISABLE=1, NCCL_NET=Socket'
	says 'not tested: NCCL_DMABUF_ENABLE=0 (RDMA also fails in host memory)'
	absent 'export' out
	# each step is a run that can be looked at, all of it is in the files
	"$GPUCHECK" report run/diagnose/tcp | grep -q 'PASS  p2p'
	[ "$(columns_of dir run/diagnose.csv | grep -c '^diagnose/tcp$')" -eq 2 ]
	"$GPUCHECK" report run >again || true
	diff out again
	"$GPUCHECK" report --json run >json || true
	jq -e '.verdict.findings[0].evidence[0] | contains("the fault is in")' json
	jq -e '.diagnose | map(select(.step == "verbs")) | length == 2 and
		all(.outcome == "error" and .code == "drill_dead")' json
	grep -q 'Failed and slow pairs, layer by layer' run/report.html
}

@test "the smallest change that mends a pair is named, and the rest left out" {
	diagnose 1 --local=1x4 --transport=tcp \
		<<<'dead pair=0-1 unless=NCCL_SHM_DISABLE=1'
	says 'TCP fails (drill_dead)'
	says 'n0:0 -> n0:1: passes with NCCL_SHM_DISABLE=1, fails with NCCL_CUMEM_ENABLE=0'
	grep -qx '      permanent repair (drill) on real nodes:' out
	says 'With this setting n0:0 -> n0:1 passes'
	grep -qx '          export NCCL_SHM_DISABLE=1' out
	# inside a node there is no ping, and of TCP nothing is below
	[ "$(steps)" = \
		"NCCL_CUMEM_ENABLE=0 NCCL_SHM_DISABLE=1 tcp without-NCCL_SHM_DISABLE=1" ]
	# the pair alone, by workers that had the setting
	[ "$(wc -l <run/diagnose/NCCL_SHM_DISABLE=1/results.csv)" -eq 3 ]
	jq -e '.environment.NCCL_SHM_DISABLE == "1"' \
		run/diagnose/NCCL_SHM_DISABLE=1/run.json
}

@test "a setting is not credited with what passes without it by then" {
	# as if somebody had mended the pair while its first step was drawn
	mkdir bin
	printf '#!/bin/sh\n: >%q/run/drill\nexit 1\n' "$PWD" \
		>bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH diagnose 1 --local=1x2 --transport=sim \
		<<<'dead pair=0-1'
	says 'passes with NCCL_CUMEM_ENABLE=0, and now also without it'
	absent 'export' out
}

@test "a slow pair: the layer that loses the rate, the settings that give it back" {
	diagnose 1 --local=2x4 --transport=sim <<-'EOF'
		slow pair=0-4 factor=0.5 from=nccl unless=NCCL_CROSS_NIC=1
		slow pair=0-4 factor=0.5 from=nccl unless=NCCL_BUFFSIZE=8388608
	EOF
	says 'RDMA is at full rate, the simulation is not: check'
	says "with NCCL_CROSS_NIC=1+NCCL_BUFFSIZE=8388608, 1"
	says 'With this setting n0:0 -> n1:0 is not slow (all of them are needed)'
	grep -qx '          export NCCL_CROSS_NIC=1 NCCL_BUFFSIZE=8388608' out
	# beside it, a good pair in each layer, which nothing is said of
	jq -e '.findings | length == 1' run/verdict.json
	[ "$(columns_of kind run/diagnose.csv | grep -c rung)" -eq 9 ]
	columns_of bw_GB_s run/diagnose.csv | head -n 2 >GB_s
	awk 'NR == 1 { low = $1 } END { exit !(low < 14 && $1 > 40) }' GB_s
	# each rate is a bar of the page
	[ "$(grep -o 'style="--bar:[0-9]*%"' run/report.html | wc -l)" -eq \
		"$(columns_of bw_GB_s run/diagnose.csv | grep -c .)" ]
	# and of the table and the picture, from the lowest layer up
	# the model has no link whose rate it could be
	says 'n0:0 to n1:0 by layer layer or setting GB/s good pair TCP'
	grep -q '>n0:0 to n1:0 by layer, GB/s<' run/report.html
	grep -Eq '^  the simulation +1[0-9.]+ +4[0-9.]+ *$' out
	# run.json may say anything: this transport has no layers
	jq '.transport = "shm"' run/run.json >run.json
	mv run.json run/run.json
	run_p report run
	[ "$status" -eq 1 ]
	[ "$(grep -c "by layer" <<<"$output")" -eq 0 ]
}

@test "a slow NIC: --diagnose is the next step, and tries no setting" {
	echo 'slow nic=1:2 factor=0.5 from=verbs' >drill
	run_p p2p --faults=drill -o run --local=2x4 --transport=sim
	[ "$status" -eq 1 ]
	grep -qx " *gpucheck p2p --resume $PWD/run --diagnose" out
	absent 'score 0.00' run/report.html
	run_p p2p --resume run --diagnose --progress=never
	tr -s ' \n' ' ' <out >flat
	# a pair that is slow, still, has not passed
	grep -q 'diagnose: TCP: 2 of 2 pairs pass, n' err
	grep -q 'RDMA in host memory: 1 of 2 pairs pass, 1 slow, n' err
	grep -q 'RDMA in host memory, again: 1 of 2 pairs pass, 1 slow' err
	absent '--diagnose$' out
	# the page has the names of layers, and no column without a value
	grep -q '<td>RDMA in host memory</td>' run/report.html
	absent '<th>detail</th><th>run</th>' run/report.html
	says 'the rate is lost in RDMA in host memory, on NIC 2 of n1'
	[ "$(steps)" = 'sim tcp verbs verbs_gpu' ]
}

# told ROW...: the words about a run with these rows of diagnose.csv.
told()
{
	cp -r "$root/tests/fixtures/runs/p2p-2x4-dead-nic" run
	{
		echo src_rank,dst_rank,kind,step,outcome,code,detail
		printf '0,7,%s\n' "$@"
	} >run/diagnose.csv
	run_p report run
	tr -s ' \n' ' ' <out >flat
}

@test "what is not there is skipped with its reason, not bad" {
	told rung,nccl,timeout,slow_peer, rung,ping,ok,, rung,tcp,ok,, \
		rung,verbs,skipped,absent,'no HCA' \
		knob,NCCL_NET=Socket,skipped,unset,'not set'
	says 'ping passes, TCP passes, RDMA in host memory was not tested (no HCA), NCCL fails (slow_peer): the fault is in NCCL or its settings, on NIC 1 of n1 (nic1), or in a layer that was not tested'
	says 'n0:0 -> n1:3: not tested: NCCL_NET=Socket (not set)'
}

@test "a pair that passes alone is said to fail beside others" {
	told rung,nccl,ok,,
	says 'n0:0 -> n1:3: NCCL passes when retried alone'
}

@test "no time left: the layers are not tested, and the report says so" {
	echo 'dead pair=0-1' >drill
	run_p p2p --faults=drill --diagnose -o run --local=1x2 --transport=sim \
		--max-time=1s
	[ "$status" -ne 4 ] || return 0	# nor was there for the run
	tr -s ' \n' ' ' <out >flat
	grep -q 'n0:0 -> n0:1, for 1 of 1 findings, at most 0 s' err
	says 'the simulation was not tested (no time was left)'
	[ "$(columns_of outcome run/diagnose.csv)" = not_run ]
}

# within SECONDS COMMAND...: it ends by then
within()
{
	local until=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	"$@"
	[ "${EPOCHREALTIME/./}" -lt "$until" ] || { cat err; false; }
}

@test "--time-budget: the steps end within it, as many as there are" {
	within 7 diagnose 1 --local=2x4 --transport=sim --time-budget=7s \
		<<<'slow pair=0-4 factor=0.5 from=nccl'
	grep -q 'diagnose: at most 4 s more' err
	# what no time was left for is not left out: all were to be tried
	columns_of step run/diagnose.csv | grep -qx NCCL_MIN_NCHANNELS=16
	# of all probes together
	[ "${CASES-}" = all ] || return 0
	within 15 run_p all --faults=drill -o all --local=2x4 --transport=sim \
		--time-budget=15s
	[ "$status" -eq 1 ]
	grep -q ',not_run,no_time,' all/p2p/diagnose.csv ||
		{ cat err all/p2p/diagnose.csv; false; }
	[ "$(jq .cells.pass all/allreduce/verdict.json)" -gt 0 ]
}

@test "each pair is tried, alone, whatever the others are called" {
	# n0:10-n1:10 comes first, and n0:10-n1:1 is a part of it
	printf '%s\n' 'dead gpu=1:10' 'dead pair=10-12' >drill
	"$GPUCHECK" p2p --faults=drill --diagnose -o run --local=2x11 \
		--transport=sim --schedule=parallel >out 2>err 3>&- &
	await 60 test -s run/diagnose/sim/run.json
	kill -INT $!	# the first step is enough
	wait $! || true
	jq -r '.options | .pairs, .schedule' run/diagnose/sim/run.json >asked
	grep -qE '(^|,)n0:10-n1:10(,|$)' asked
	grep -qE '(^|,)n0:10-n1:1(,|$)' asked
	grep -qx serial asked
}

@test "nothing failed: no layer is tested" {
	diagnose 0 --local=2x2 --transport=sim </dev/null
	[ ! -e run/diagnose ]
	[ ! -e run/diagnose.csv ]
	absent '^gpucheck: diagnose' err
}

@test "--diagnose with a launcher that starts agents once is refused" {
	run_p p2p --diagnose --launcher=env -o run
	fails 2 "launcher 'env' starts agents for one probe"
	fails 2 'leave out --diagnose'
}
