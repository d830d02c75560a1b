#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What NVML says about GPUs, before a run and after it; see fake_nvml.c.

load ../cli/helper
load ../await

setup()
{
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE FAKE_CUDA_GPUS=3
	cd "$BATS_TEST_TMPDIR" || return
}

# a_run STATUS [OPTION...]: of the three GPUs, into the folder run.
a_run()
{
	local want=$1
	shift
	run_p p2p --local=1x3 --transport=cuda -b 1M -n 8 -o run "$@"
	[ "$status" -eq "$want" ] || { cat out err; return 1; }
}

@test "links, modes and counters of each GPU are facts" {
	FAKE_NVML_FABRIC="3,0,0x1aa,1,0xa5,32766 2 3,6" FAKE_NVML_MODE=3 a_run 1
	for fact in gpu0-gpu1,link,NV16 gpu0-gpu2,link,NV2 gpu1-gpu2,link,PHB \
		gpu0,nvlinks,18 gpu1,nvlinks,17 gpu2,nvlinks,2 \
		gpu0,nvlink_replays,18 gpu1,nvlink_replays,500 \
		gpu0,nvlink_recoveries,0 gpu2,nvlink_recoveries,2 \
		node,cuda,12.8 gpu0,vbios,96.00.00 gpu2,vbios,96.00.02 \
		gpu0,ecc,on gpu0,mig,off gpu2,mig,off \
		gpu0,compute_capability,9.0 gpu0,compute_mode,default \
		gpu1,compute_mode,exclusive_process \
		gpu0,fabric_state,completed gpu0,fabric_health,healthy gpu1,fabric_state,in_progress \
		"gpu2,fabric_state,not found" gpu0,fabric_clique,32766 \
		gpu0,fabric_cluster,a5a5a5a5-a5a5-a5a5-a5a5-a5a5a5a5a5a5 \
		gpu0,throttled,no gpu2,throttled,hw_slowdown+sw_thermal+hw_thermal; do
		grep -q "^n0,$fact," run/facts.csv || { echo "$fact"; false; }
	done
	[ "$(grep -c _growth run/facts.csv)" -eq 0 ]
	[ "$(grep -c fabric_cluster run/facts.csv)" -eq 1 ]
	# pairs pass, and jobs of all GPUs would not
	jq -e '[.cells.fail, (.findings[] | select(.severity == "fail") |
		.code, .index)] == [0, "fabric_not_ready", 1,
		"fabric_not_ready", 2]' run/verdict.json
}

@test "over PCIe the path says how far, over NVLink it does not" {
	FAKE_CUDA_PCIE=2 a_run 0
	for way in 0,1,P2P/NVLink 1,2,P2P/PCIe/PHB 2,1,P2P/PCIe/PHB \
		0,2,P2P/PCIe; do
		paste -d , <(columns_of src_rank run/results.csv) \
			<(columns_of dst_rank run/results.csv) \
			<(columns_of path run/results.csv) |
			grep -qx "$way" || { echo "$way"; false; }
	done
}

@test "a counter that grows during the run is a warning about its GPU" {
	FAKE_NVML_LOOKS=$PWD/looks a_run 0
	grep -q '^n0,gpu1,ecc_uncorrected_growth,[1-9]' run/facts.csv
	[ "$(grep -c _growth run/facts.csv)" -eq 1 ]
	python3 - <<-'P'
	import json
	v = json.load(open("run/verdict.json"))
	assert v["status"] == "warn", v
	f, = v["findings"]
	assert (f["kind"], f["node"], f["index"]) == ("gpu", "n0", 1), f
	assert (f["code"], f["severity"]) == ("ecc_errors", "warn"), f
	P
}

@test "an NVLink that goes down is evidence, and one that comes up is none" {
	FAKE_NVML_LINK=down FAKE_NVML_LOOKS=$PWD/looks a_run 0
	grep -q '^n0,gpu1,nvlinks_lost_growth,1,,nvml: link 7' run/facts.csv
	absent 'nvlink_.*_growth' run/facts.csv
	jq -e '.findings[].evidence[] |
		select(contains("1 NVLinks went down"))' \
		run/verdict.json
	rm -rf looks run
	FAKE_NVML_LINK=up FAKE_NVML_LOOKS=$PWD/looks a_run 0
	absent 'nvlink.*_growth' run/facts.csv
}

@test "it is evidence for what is found about that GPU" {
	echo "dead gpu=0:1" >drill
	FAKE_NVML_LOOKS=$PWD/looks a_run 1 --faults=drill
	python3 - <<-'P'
	import json
	f, = json.load(open("run/verdict.json"))["findings"]
	assert (f["kind"], f["severity"]) == ("gpu", "fail"), f
	assert "ECC errors" in f["evidence"][-1], f
	P
}

@test "an NVML that hangs has said by then which GPUs there are" {
	FAKE_NVML_HANG=1 "$GPUCHECK" worker inventory >out &
	pid=$!
	for _ in $(seq 300); do
		[ "$(wc -l <out)" -eq 0 ] || break
		sleep 0.1
	done
	kill -KILL $pid
	wait $pid || true
	[ "$(wc -l <out)" -eq 1 ]
	grep -q '"uuid":"GPU-2"' out
}

# job: three processes that look like ranks, in pids.
job()
{
	head -c 8192 /dev/zero >libnccl.so.2
	for i in 0 1 2; do
		RANK=$i NCCL_RAS_ADDR=127.0.0.1:1 \
			"$BATS_TEST_DIRNAME/../fake/ras/rank" \
			libnccl.so.2 sleep >"ready$i" 3>&- &
		pids+=($!)
	done
	for i in 0 1 2; do
		await 20 test -s "ready$i"
	done
}

@test "hang: GPUs of ranks are known by the driver, with what they run" {
	job
	FAKE_NVML_PIDS="${pids[*]}" run_p hang --pid $$ -o run
	[ "$status" -eq 3 ]
	# of ranks 0 to 2: busy, power; SMs, warps, NVLink, why it is slow; GPU 2
	# is too old
	"$GPUCHECK" report run --json >said.json || [ $? -eq 3 ]
	jq -r '.rows | sort_by(.rank)[] | [.rank, .gpu, .gpu_busy_pct,
		.gpu_power_W, .gpu_sm_pct, .gpu_warp_pct, .gpu_link_MiB_s,
		.gpu_throttled] | map(. // "-") | join(" ")' said.json >said
	cat >want <<-W
	0 0 100 124 18.2 5.5 - -
	1 1 100 125 0.76 0.01 - -
	2 2 100 126 - - - hw_slowdown+sw_thermal+hw_thermal
	W
	diff want said
	kill -KILL "${pids[@]}"
	wait "${pids[@]}" || :
}
