#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What NVML says of the GPUs of a job that hangs; see fake_nvml.c.

load ../cli/helper
load ../await

setup()
{
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML
	cd "$BATS_TEST_TMPDIR" || return
}

teardown()
{
	kill -KILL "${pids[@]}" 2>/dev/null || :
	wait "${pids[@]}" 2>/dev/null || :
}

@test "hang: GPUs of ranks are known by the driver, with what they run" {
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
	FAKE_NVML_PIDS="${pids[*]}" run_p hang --pid $$ -o run
	[ "$status" -eq 3 ]
	# of ranks 0 to 2: busy, power; SMs, warps, NVLink; GPU 2 is too old
	"$GPUCHECK" report run --json >said.json || [ $? -eq 3 ]
	jq -r '.rows | sort_by(.rank)[] | [.rank, .gpu, .gpu_busy_pct,
		.gpu_power_W, .gpu_sm_pct, .gpu_warp_pct, .gpu_link_MiB_s] |
		map(. // "-") | join(" ")' said.json >said
	cat >want <<-W
	0 0 100 124 18.2 5.5 -
	1 1 100 125 0.76 0.01 -
	2 2 100 126 - - -
	W
	diff want said
}
