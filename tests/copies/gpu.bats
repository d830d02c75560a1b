#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck gpu on fake GPUs, and what goes wrong with one of them: its own rows
# say so, and the others' go on.  See fake_cuda.c and fake_nvml.c.

# shellcheck disable=SC2016 # awk has dollars of its own

load ../cli/helper

setup()
{
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE FAKE_CUDA_GPUS=3
	export FAKE_CUDA_LIGHT=1
	unset SLURM_JOB_ID
	cd "$BATS_TEST_TMPDIR" || return
}

# gpus STATUS [OPTION...]: a run of three GPUs into the folder run.
gpus()
{
	local want=$1
	shift
	rm -rf run
	run_p gpu --local --compute=20ms -o run "$@"
	[ "$status" -eq "$want" ] || { cat out err; return 1; }
}

# rows OUTCOME [CODE]: how many there are, as "0:3 1:7 2:3", by GPU.
rows()
{
	awk -F, -v o="$1" -v c="$2" '$19 == o && $20 == c { n[$2]++ }
		END { for (g = 0; g < 3; g++) if (n[g]) printf "%s%d:%d",
			s++ ? " " : "", g, n[g] }' run/results.csv
}

findings()
{
	jq -r '.findings[] | "\(.severity) \(.kind) \(.index) \(.code)"' \
		run/verdict.json | sort
}

@test "gpu: every test of every GPU, with figures" {
	# GPU 2's NVML says that it is hot
	gpus 0 --far --contrast=parallel
	[ "$(rows ok '')" = "0:9 1:9 2:9" ]
	# the clock of the fake GPU, less its first microsecond
	[ "$(awk -F, '$4 ~ /h2d|d2h/ && $19 == "ok" { print int($6 + .5) }' \
		run/results.csv | sort -u)" = 50 ]
	[ "$(rows skipped one_socket)" = "0:1 1:1 2:1" ]
	[ "$(findings)" = 'warn gpu 2 throttled' ]
}

@test "gpu: one that hangs in a copy, one that breaks, one that refuses" {
	FAKE_CUDA_HANG=1 gpus 1 --timeout=3s
	[ "$(rows ok '') $(rows timeout gpu_stuck)" = "0:7 1:1 2:7 1:1" ]
	FAKE_CUDA_BREAK=1 FAKE_CUDA_BROKE=$PWD/broke gpus 1
	[ "$(rows error cuda_illegal_address)" = 1:1 ]
	[ "$(rows ok '')" = "0:7 1:4 2:7" ]
	FAKE_NVML_MODE=3 FAKE_CUDA_REFUSE=1:46 gpus 1
	[ "$(rows error gpu_exclusive) $(rows ok '')" = "1:1 0:7 2:7" ]
}

@test "gpu: one that falls off the bus, one that we may not use" {
	FAKE_CUDA_BREAK=1 FAKE_CUDA_BREAK_BY=999 FAKE_NVML_LOST=1 \
		FAKE_CUDA_BROKE=$PWD/broke gpus 1
	[ "$(rows error gpu_lost)" = 1:1 ]
	# what was measured before stands, and the others go on
	[ "$(rows ok '')" = "0:7 1:4 2:7" ]
	findings | grep -x 'fail gpu 1 gpu_lost'
	[ "$(findings | grep -c ' fail\|^fail')" -eq 1 ]
	grep -q 'a copy inside its memory failed: NVML says that the GPU is lost' \
		run/results.csv
	FAKE_CUDA_REFUSE=1:800 gpus 1
	[ "$(rows error open_failed) $(rows ok '')" = "1:1 0:7 2:7" ]
	grep -q 'operation not permitted' run/results.csv
	# of all: nobody can be told from a broken one by the others
	unset FAKE_CUDA_LIGHT
	FAKE_CUDA_REFUSE=0:800 run_p p2p --local=1x3 --transport=cuda -b 1M \
		-n 4 -o run2
	[ "$status" -eq 1 ]
	jq -e '[.findings[] | .kind, .index] == ["gpu", 0]' run2/verdict.json
}

@test "gpu: a wrong result, counters that grow" {
	FAKE_CUDA_WRONG=1 FAKE_NVML_LOOKS=$PWD/looks gpus 1
	[ "$(rows corrupt wrong_result)" = 1:1 ]
	grep -q 'the first of multiprocessor 7' run/results.csv
	findings | grep -x 'fail gpu 1 wrong_result'
	grep -q 'uncorrectable ECC errors during the run' out
}

@test "gpu: little memory that can be locked is used as it is" {
	FAKE_CUDA_PINNED=32000000 gpus 0 --quick
	[ "$(awk -F, '$4 == "d2h" { print $5 }' run/results.csv |
		sort -u)" = 8388608 ]
	grep -q 'of 128 MiB of pinned memory the host has 16' run/results.csv
}

@test "gpu: divided by MIG, or hidden" {
	FAKE_NVML_MIG=012 gpus 3
	jq -e '.findings[0].code == "gpu_mig"' run/verdict.json
	CUDA_VISIBLE_DEVICES='' gpus 3
	jq -e '.findings[0].code == "gpu_hidden"' run/verdict.json
}

@test "who holds a GPU is said, by gpu, p2p and all; it is not broken" {
	export FAKE_NVML_PIDS="- $$"
	gpus 0 --quick
	[ "$(rows skipped gpu_busy)" = 1:1 ]
	tr -s ' \n' ' ' <out | grep -q "GPU 1 of n0 is held by pid $$ (bash,\
 user $(id -un), 142 GB, no Slurm job) and was not tested"
	findings | grep -x 'warn gpu 1 gpu_busy'
	# what holds a GPU that is ours is left from somebody
	SLURM_JOB_ID=7 gpus 1 --quick --launcher=local
	findings | grep -x 'fail gpu 1 gpu_busy'
	unset FAKE_CUDA_LIGHT
	run_p p2p --local=1x3 --transport=cuda -b 1M -n 4 -o run2
	[ "$status" -eq 0 ]
	jq -e '[.findings[] | .code, .severity] == ["gpu_busy", "warn"]' \
		run2/verdict.json
	FAKE_CUDA_REFUSE=1:2 run_p p2p --local=1x3 --transport=cuda -b 1M \
		-n 4 -o run3
	[ "$status" -eq 0 ]
	[ "$(grep -c ",skipped,gpu_busy,.*held by pid $$ (bash" \
		run3/results.csv)" -eq 4 ]
	jq -e '[.findings[] | .code, .severity] == ["gpu_busy", "warn"]' \
		run3/verdict.json
}

@test "who comes to use a GPU meanwhile is said beside its figures" {
	FAKE_NVML_JOIN="- $$" gpus 0
	# all but the look whether it may be used
	[ "$(rows ok gpu_joined) $(rows ok '')" = "1:6 0:7 1:1 2:7" ]
	grep -q ",gpu_joined,.*used meanwhile by pid $$ (bash" run/results.csv
	findings | grep -x 'warn gpu 1 gpu_joined'
	tr -s ' \n' ' ' <out | grep -q "GPU 1 of n0 was used by other processes"
	unset FAKE_CUDA_LIGHT
	FAKE_NVML_JOIN="- - $$" FAKE_NVML_LOOKS=$PWD/looks run_p p2p \
		--local=1x3 --transport=cuda -b 1M -n 4 -o run2
	[ "$status" -eq 0 ]
	jq -e '.findings[] | select(.code == "gpu_joined") |
		.severity == "warn" and
		(.says | test("pid '$$' \\(bash"))' \
		run2/verdict.json
}

@test "a worker of another agent is nobody who came" {
	cp "$(command -v sleep)" gpucheck
	./gpucheck 60 3>&- &
	other=$!
	unset FAKE_CUDA_LIGHT
	FAKE_NVML_JOIN="- - $other" FAKE_NVML_LOOKS=$PWD/looks run_p p2p \
		--local=1x3 --transport=cuda -b 1M -n 4 -o run
	kill $other
	[ "$status" -eq 0 ]
	absent gpu_joined run/verdict.json
}

@test "in a container our own process, by its host's number, is nobody else" {
	export FAKE_NVML_OWN=4194999	# above the highest number of a process
	gpus 0
	[ "$(rows ok '')" = "0:7 1:7 2:7" ]
	unset FAKE_CUDA_LIGHT
	FAKE_CUDA_MEMORY=200000 run_p p2p --local=1x3 --transport=cuda -b 1M \
		-n 4 -o run2
	[ "$status" -ne 0 ]
	grep -q 'cuda_out_of_memory' run2/results.csv
	absent gpu_in_use run2/results.csv run2/verdict.json
	# another one that is seen here is told
	FAKE_NVML_JOIN="$$ $$ $$" FAKE_CUDA_MEMORY=200000 run_p p2p \
		--local=1x3 --transport=cuda -b 1M -n 4 -o run3
	grep -q ",gpu_busy,.*held by pid $$ (bash" run3/results.csv
}

@test "gpu: what DCGM finds is said in its words; without it nothing" {
	gpus 0 --quick --dcgm
	[ -z "$(findings)" ]
	mkdir bin
	cat >bin/dcgmi <<-'D'
	#!/bin/sh
	[ "$*" = "diag -r 1 -j" ] && cat <<'J'
	{"DCGM Diagnostic":{"test_categories":[{"category":"Deployment",
	"tests":[{"name":"software","results":[
	{"entity_group":"GPU","entity_id":0,"status":"Pass"},
	{"entity_group":"GPU","entity_id":1,"status":"Fail","warnings":[
	{"error_severity":2,"warning":"a page is pending"}]},
	{"entity_group":"GPU","entity_id":2,"status":"Fail","warnings":[
	{"error_severity":5,"warning":"a mode is off"}]}]}]}]}}
	J
	D
	chmod +x bin/dcgmi
	PATH=$PWD/bin:$PATH gpus 1 --quick --dcgm
	[ "$(findings)" = "$(printf '%s\n' 'fail gpu 1 dcgm_fail' \
		'warn gpu 2 dcgm_warn')" ]
	grep -q 'GPU 1 of n0: software: a page is pending' out
	printf '#!/bin/sh\necho no host engine\n' >bin/dcgmi
	PATH=$PWD/bin:$PATH gpus 0 --quick --dcgm
	grep -q 'dcgm_note,dcgmi printed no JSON' run/facts.csv
}

@test "gpu: nodes start to compute one after the other" {
	# as its agent does: a frame on the socket that is its stdin; a row is a
	# map, of which a text has its length in front
	python3 - "$GPUCHECK" >starts <<-'P'
	import re, socket, struct, subprocess, sys
	ours, its = socket.socketpair()
	task = (b'{"t":"node_task","probe":"gpu","args":{"node":"n40",'
	        b'"number":40,"options":{"compute":"20ms"}}}')
	ours.sendall(struct.pack('<I', len(task)) + task)
	child = subprocess.Popen([sys.argv[1], 'worker', 'gpu'], stdin=its)
	its.close()
	said = b''.join(iter(lambda: ours.recv(65536), b''))
	for row in said.split(b'node_said'):
	    start = re.search(rb'start_utc..?(2[-0-9T:.]*Z)', row, re.S)
	    test = re.search(rb'dtest.([a-z]*)', row)
	    if start and re.search(rb'cgpu\x00', row):
	        print(test[1].decode(), start[1].decode())
	P
	waited=$(awk '/^(pattern|compute)/ { split($2, t, ":"); print t[3] }' \
		starts | sed 's/Z//' | paste -sd ' ' |
		awk '{ d = $2 - $1; print d < 0 ? d + 60 : d }')
	awk -v w="$waited" 'BEGIN { exit !(w >= 0.4) }'
}
