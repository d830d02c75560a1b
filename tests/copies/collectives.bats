#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives by real workers on fake GPUs with a fake NCCL; see fake_cuda.c and
# tests/fake/nccl.  What is measured there says nothing; that data is made, moved,
# reduced and checked, and what happens when ranks break, is real.

load ../cli/helper

setup_file()
{
	fake_cuda=$GPUCHECK_TEST_FAKE
	fake_nccl=$GPUCHECK_TEST_FAKE_NCCL
	export fake_cuda fake_nccl
}

# group STATUS OP [OPTION...]: a run of four GPUs into the folder run.
group()
{
	local want=$1
	shift
	rm -rf run
	export GPUCHECK_CUDA_LIB=$fake_cuda FAKE_CUDA_GPUS=${gpus-4}
	export GPUCHECK_NCCL_LIB=$fake_nccl
	run_p "$1" --local=1x4 -o run "${@:2}"
	[ "$status" -eq "$want" ] || { cat out err; return 1; }
}

column()
{
	columns_of "$1" run/results.csv | sort | uniq -c | xargs
}

finding()
{
	jq -r '.findings[0] | [.kind, .node, .index, .code] | map(tostring) | join(" ")' run/verdict.json
}

@test "every collective moves the right data, out of place and in place" {
	for op in allreduce allgather reducescatter broadcast reduce; do
		group 0 $op -b 1000 -e 300K -f 300 -n 5
		[ "$(column wrong) $(column outcome)" = "4 0 4 ok" ]
		[ "$(column inplace)" = "2 0 2 1" ]
	done
	for op in alltoall sendrecv; do
		group 0 $op -b 1000 -e 300K -f 300 -n 5
		# what is left in place is not known
		[ "$(column wrong) $(column outcome)" = "2 2 0 4 ok" ]
	done
}

@test "the network that NCCL has chosen is a fact of each rank" {
	printf '%s\n' 'network Socket' 'gpus 2' 'nics 1 eth' \
		'info NET/IB : No device found.' >net
	FAKE_NCCL_NET=$PWD/net group 0 allreduce -b 1K -n 2
	[ "$(grep -c ',network,Socket,' run/facts.csv)" -eq 4 ]
	[ "$(grep -c ',network_nic,eth0,' run/facts.csv)" -eq 4 ]
	[ "$(grep -c ',network_why,NET/IB : No device found' run/facts.csv)" -eq 4 ]
}

# bats test_tags=dear
@test "every type, and every reduction" {
	for type in uint8 int64 half double bfloat16 f8e4m3; do
		group 0 allreduce -b 4K -n 2 --dtype=$type
		[ "$(column wrong) $(column dtype)" = "2 0 2 $type" ]
	done
	for redop in max avg; do
		group 0 reducescatter -b 4K -n 2 --redop=$redop
		[ "$(column wrong) $(column redop)" = "2 0 2 $redop" ]
	done
}

@test "a wrong element is counted" {
	FAKE_NCCL_WRONG=2 group 1 allreduce -b 4K -n 2
	[ "$(column wrong) $(column outcome)" = "2 1 2 corrupt" ]
	FAKE_NCCL_WRONG=2 group 1 allgather -b 4K -n 2 --dtype=half
	[ "$(column wrong)" = "2 1" ]
	FAKE_NCCL_WRONG=2 group 0 allreduce -b 4K -n 2 -c 0
}

@test "verify finds one wrong result in ten, on the rank that had it" {
	export FAKE_NCCL_WRONG=2 FAKE_NCCL_WRONG_EVERY=10
	# what is checked first is right
	group 1 allreduce -b 4K -n 2 -w 0 --verify=100
	[ "$(column outcome)" = "2 corrupt" ]
	[ "$(column code)" = "2 silent_corruption" ]
	[ "$(column verified)" = "2 100" ]
	for n in $(columns_of verified_wrong run/results.csv); do
		[ "$n" -ge 9 ] && [ "$n" -le 11 ]
	done
	grep -q "on rank 2 (n0:2) alone" out
	unset FAKE_NCCL_WRONG
	for op in allreduce allgather reducescatter broadcast reduce alltoall \
		sendrecv; do
		group 0 $op -b 4K -n 2 --verify=70
		[ "$(column verified_wrong | sed 's/^1 1 0/2 0/')" = "2 0" ]
	done
}

@test "a GPU that is wrong now and then, found by bisection" {
	echo 'wrong gpu=0:1 rate=0.1' >drill
	group 1 allreduce -b 4K -n 2 --faults=drill --verify=200 --bisect
	grep -q "on all ranks" run/results.csv
	[ "$(jq -r '.bisect.says' run/run.json)" = "n0:1" ]
	[ "$(finding)" = "gpu n0 1 bisect_bad" ]
}

@test "where the GPU takes no kernels the host looks at the data" {
	FAKE_CUDA_NO_KERNELS=1 group 0 allreduce -b 400 -e 3M -f 1000 -n 2
	[ "$(column wrong)" = "4 0" ]
	grep -q "data_check,on the host" run/facts.csv
	grep -q "GPUs cannot run kernels" out
	FAKE_CUDA_NO_KERNELS=1 FAKE_NCCL_WRONG=1 group 1 allreduce -b 4K -n 2
	[ "$(column wrong)" = "2 1" ]
}

@test "the largest size is lowered to the memory that there is" {
	FAKE_CUDA_MEMORY=200000 group 0 allreduce -b 64K -e 512K -n 2
	[ "$(column size_B)" = "2 131072 2 65536" ]
	grep -q "too little memory" out
}

@test "what NCCL took is read from its log" {
	group 0 allreduce -b 1K -n 2 --algo=Ring,Tree --proto=LL
	[ "$(column algo) $(column proto)" = "2 Ring 2 Tree 4 LL" ]
	[ "$(column code)" = "4" ]
	group 0 allgather -b 1K -n 2 --algo=PAT
	[ "$(column code) $(column algo)" = "2 not_as_asked 2 Ring" ]
	grep -q "requested PAT, the library used Ring" out
}

@test "an algorithm that NCCL refuses costs its own rows only" {
	FAKE_NCCL_REFUSES=NVLS group 1 allreduce -b 1K -e 4K -n 2 \
		--algo=NVLS,Ring
	[ "$(columns_of outcome run/results.csv | sort | uniq -c | xargs)" = \
		"2 error 4 not_run 6 ok" ]
	grep -q "No algorithm/protocol available" run/results.csv
}

@test "a link that is gone for a moment fails no sweep, as it fails no job" {
	FAKE_NCCL_FLAP=1500 group 0 allreduce -b 4K -n 2
	[ "$(column outcome)" = "2 ok" ]
	jq -e '.settings | has("NCCL_IB_TIMEOUT") | not' run/run.json
	# what the user sets counts
	FAKE_NCCL_FLAP=1500 NCCL_IB_TIMEOUT=14 group 1 allreduce -b 4K -n 2
	grep -q remote_error run/results.csv
}

@test "libraries: one that does not load, and one that does" {
	{ head -c 64 "$fake_nccl"; echo ncclCommInitRank; } >broken.so
	group 1 allreduce -b 1K -n 2 --nccl-lib="$fake_nccl" \
		--nccl-lib="$PWD/broken.so"
	[ "$(column outcome)" = "2 ok 2 skipped" ]
	grep -q "broken.so was not measured" out
	group 3 allreduce -b 1K -n 2 --nccl-lib="$PWD/broken.so"
	# no NCCL at all is seen before anything starts
	group 2 allreduce -b 1K -n 2 --nccl-lib="$fake_cuda"
	fails 2 "libcuda_fake.so' has no ncclCommInitRank"
}

# A node that cannot read the run directory has the connection's word alone.
@test "a library that only the connection names is not loaded" {
	export GPUCHECK_CUDA_LIB=$fake_cuda FAKE_CUDA_GPUS=2
	GPUCHECK_TOKEN=$(printf '%064d' 7)
	export GPUCHECK_TOKEN GPUCHECK_MASTER=127.0.0.1:47213
	mkdir -p run/logs
	cat >run/run.json <<-J
	{"schema": 1, "probe": "allreduce", "argv": [], "version": "0.1.0",
	 "nonce": "00112233445566778899aabbccddeeff",
	 "options": {"transport": "nccl", "nccl-lib": "$fake_nccl"},
	 "drill": false, "launcher": "env",
	 "started_utc": "2026-01-01T00:00:00Z"}
	J
	for r in 0 1; do
		RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r "$GPUCHECK" agent \
			"$([ $r -eq 0 ] && echo run || echo elsewhere)" \
			3>&- 2>"err$r" &
	done
	wait
	cat err0 err1
	[ "$(grep -c refused err0)" = 0 ]
	grep -q "refused to set GPUCHECK_NCCL_LIB" err1
}

@test "MSCCL is another library, with the file of its schedule" {
	# a substitute: the NCCL of this suite, which notes that file
	cat >msccl.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	const char has[] = "ncclCommInitRank";
	__attribute__((constructor)) static void note(void)
	{
		FILE *f = fopen(NOTES, "a");
		fprintf(f, "%s\n", getenv("MSCCL_XML_FILES"));
		fclose(f);
	}
	C
	"${CC:-cc}" -shared -fPIC -Wl,--no-as-needed -o msccl.so msccl.c \
		-DNOTES="\"$PWD/schedules\"" "$fake_nccl"
	group 0 allreduce -b 1K -n 2 --variant=nccl: \
		--variant="msccl:GPUCHECK_NCCL_LIB=$PWD/msccl.so,MSCCL_XML_FILES=/a.xml"
	[ "$(column variant)" = "2 msccl 2 nccl" ]
	grep -qx /a.xml schedules
	MSCCL_XML_FILES=/b.xml group 0 allreduce -b 1K -n 2 \
		--nccl-lib="$PWD/msccl.so"
	grep -qx /b.xml schedules
}

@test "every variant has workers of its own" {
	group 0 allreduce -b 1K -n 2 --env NCCL_PROTO=LL,Simple --algo=Ring
	[ "$(column proto)" = "2 LL 2 Simple" ]
	[ "$(column variant)" = "2 Ring NCCL_PROTO=LL 2 Ring NCCL_PROTO=Simple" ]
}

@test "a rank that never arrives: the others wait for it, and go on" {
	echo 'dead gpu=0:2' >drill
	group 1 allreduce -b 1K -n 2 --faults=drill --timeout=1500ms
	[ "$(column outcome) $(column ranks)" = "2 ok 1 timeout 2 3 1 4" ]
	[ "$(column code)" = "2 1 rank_absent" ]
	[ "$(finding)" = "gpu n0 2 drill_dead" ]
}

@test "a rank that hangs in the middle" {
	echo 'hang gpu=0:1' >drill
	group 1 allreduce -b 1K -n 2 --faults=drill --timeout=1500ms
	[ "$(column outcome) $(column ranks)" = "2 ok 1 timeout 2 3 1 4" ]
	[ "$(finding)" = "gpu n0 1 drill_hang" ]
}

@test "a rank that crashes in the middle" {
	echo 'crash rank=3' >drill
	group 1 allreduce -b 1K -n 2 --faults=drill
	[ "$(column outcome) $(column ranks)" = "1 crashed 2 ok 2 3 1 4" ]
	[ "$(finding)" = "gpu n0 3 worker_crashed" ]
}

@test "a way that hangs, found by bisection" {
	echo 'hang pair=1-2' >drill
	group 1 allreduce -b 1K -n 2 --faults=drill --timeout=500ms --bisect
	[ "$(column outcome)" = "2 timeout" ]
	[ "$(jq -r '.bisect.says' run/run.json)" = "n0:1, n0:2" ]
}

@test "a drill that corrupts is seen by the check" {
	echo 'corrupt pair=0-3' >drill
	group 1 allreduce -b 1K -n 2 --faults=drill
	[ "$(column outcome)" = "2 corrupt" ]
}

@test "a GPU that is not there" {
	gpus=3 group 1 allreduce -b 1K -n 2
	[ "$(column outcome) $(column ranks)" = "2 ok 2 3" ]
	[ "$(finding)" = "gpu n0 3 gpu_missing" ]
}

@test "the benchmark for real GPUs prints every figure and keeps the run" {
	mkdir bin
	cat >bin/nvidia-smi <<-'S'
	#!/bin/sh
	case $1 in
	-L) printf 'GPU %d: fake\n' 0 1 ;;
	--query-gpu=name) printf 'NVIDIA Fake\nNVIDIA Fake\n' ;;
	*) printf 'NVIDIA Fake, 0\nNVIDIA Fake, 0\n' ;;
	esac
	S
	chmod +x bin/nvidia-smi
	FAKE_CUDA_GPUS=2 GPUCHECK_CUDA_LIB=$fake_cuda \
		GPUCHECK_NCCL_LIB=$fake_nccl PATH=$PWD/bin:$PATH B=$BUILD \
		TURNS=1 LAST_B=64 ITERS=2 timeout 120 \
		"$root/tests/gpu/bench/collectives" "$PWD/figures" >out 2>err
	for figure in '^data of collectives: [1-9][0-9]* ok, 0 not ok$' \
		'^ +64( +[0-9.]+){7}$' \
		'^bare: busbw ratio, below 1 MiB: [0-9]' \
		'^bare: latency of the smallest size: [0-9.]+ us of [0-9]' \
		'^bare: our spread over the turns, worst size: [0-9]' \
		'^bare: whole sweep: [0-9.]+ s, [0-9.]+ of [0-9.]+ s$' \
		'^the data check: -?[0-9.]+ % of the sweep' \
		'^99th percentile over median: [0-9]'; do
		grep -qE -- "$figure" out || { cat out err; return 1; }
	done
	cmp out figures/figures.txt
	run_p report --quiet figures/allreduce-2xFake
	[ "$status" -eq 0 ]
	absent "$PWD" figures/allreduce-2xFake/run.json
}

@test "--register=symmetric beside plain buffers, if the library has windows" {
	group 0 allreduce -b 1K -e 4K -n 2 --register=symmetric
	[ "$(column variant)" = "6 plain 6 symmetric" ]
	[ "$(column outcome) $(column wrong)" = "12 ok 12 0" ]
}
