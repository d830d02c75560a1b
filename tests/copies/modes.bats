#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# GPUs that a node has and a run does not get: NVML sees them, CUDA does not, or
# refuses; see fake_nvml.c and fake_cuda.c.

load ../cli/helper

setup()
{
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML
	export GPUCHECK_NCCL_LIB=$GPUCHECK_TEST_FAKE_NCCL
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE FAKE_CUDA_GPUS=3
	export PYTHONPATH=/nonexistent
	cd "$BATS_TEST_TMPDIR" || return
}

# a_run STATUS [OPTION...]: into the folder run.
a_run()
{
	local want=$1
	shift
	rm -rf run
	run_p p2p -b 1M -n 4 -o run "$@"
	[ "$status" -eq "$want" ] || { cat out err; return 1; }
	tr -s ' \n' ' ' <out >words
}

@test "CUDA_VISIBLE_DEVICES that leaves no GPU, or one, is named" {
	for list in '' 7 GPU-none MIG-1 0,0; do
		CUDA_VISIBLE_DEVICES=$list a_run 3 --local
		fails 3 "CUDA_VISIBLE_DEVICES='$list' hides all 3 GPUs"
		fails 3 "unset CUDA_VISIBLE_DEVICES"
	done
	CUDA_VISIBLE_DEVICES=1 a_run 3 --local
	fails 3 "a pair needs two; CUDA_VISIBLE_DEVICES='1' hides 2 of the 3"
	# one of a rank that was asked for, and nobody's fault
	CUDA_VISIBLE_DEVICES=1,2 a_run 1 --local=1x3
	[ "$(grep -c ',skipped,gpu_hidden,' run/results.csv)" -eq 4 ]
	jq -e '.exclude == [] and (.findings | length) == 1 and
		(.findings[0].code == "gpu_hidden") and
		(.findings[0].do | test("unset CUDA_VISIBLE"))' \
		run/verdict.json
	CUDA_VISIBLE_DEVICES='' run_p allreduce --local -b 1K -o run1
	fails 3 "CUDA_VISIBLE_DEVICES='' hides all 3 GPUs"
}

@test "MIG: divided GPUs are no ranks, and CUDA does not count them" {
	FAKE_NVML_MIG=012 a_run 3 --local
	fails 3 "MIG divides all 3 GPUs"
	FAKE_NVML_MIG=12 a_run 3 --local
	fails 3 "a pair needs two; MIG divides 2 of the 3 GPUs"
	FAKE_NVML_MIG=0 FAKE_CUDA_GPUS=2 a_run 0 --local
	[ "$(grep -c ',ok,' run/results.csv)" -eq 2 ]
	jq -e '.nodes[0].parts == ["GPU-1", "GPU-2"]' run/run.json
	grep -q "1 GPU was not tested: MIG divides it" words
	FAKE_NVML_MIG=2 FAKE_CUDA_GPUS=2 a_run 1 --local=1x3
	[ "$(grep -c ',skipped,gpu_mig,' run/results.csv)" -eq 4 ]
	jq -e '.exclude == []' run/verdict.json
}

@test "a compute mode that lets nobody else in, and MPS that refuses" {
	FAKE_NVML_MODE=3 FAKE_CUDA_REFUSE=1:46 a_run 1 --local=1x3
	[ "$(grep -c ',skipped,gpu_exclusive,' run/results.csv)" -eq 4 ]
	grep -q "its compute mode allows one process at a time" words
	jq -e '.exclude == [] and (.findings | length) == 1 and
		.findings[0].index == 1' run/verdict.json
	FAKE_NVML_MODE=2 FAKE_CUDA_REFUSE=1:999 a_run 1 --local=1x3 \
		--transport=cuda
	grep -q "its compute mode is prohibited" words
	FAKE_CUDA_REFUSE=1:807 a_run 1 --local=1x3
	[ "$(grep -c ',skipped,gpu_mps,' run/results.csv)" -eq 4 ]
	jq -e '.exclude == [] and (.findings[0].do | test("MPS"))' \
		run/verdict.json
	# the same code of a GPU that all may use is the driver's affair
	FAKE_CUDA_REFUSE=1:999 a_run 1 --local=1x3
	[ "$(grep -c ',skipped,open_failed,' run/results.csv)" -eq 4 ]
}

@test "a driver that takes its time to start is waited for, and said" {
	FAKE_NVML_INIT=2 a_run 0 --local=1x3
	grep -q '^n0,node,nvml_init,2' run/facts.csv
	grep -q "took 2.. s to start, as persistence mode is off" words
	FAKE_NVML_PERSISTENCE=on FAKE_NVML_INIT=2 a_run 0 --local=1x3
	[ "$(grep -c "took 2" words)" -eq 0 ]
}

@test "info: fewer GPUs than Slurm expects, which the node has" {
	CUDA_VISIBLE_DEVICES=0 run_p info --launcher=local -G 3 -o run
	[ "$status" -eq 0 ] || { cat out err; false; }
	jq -e '.status == "warn" and .findings[0].code == "gpu_hidden"' \
		run/verdict.json
	FAKE_NVML_MIG=2 run_p info --launcher=local -G 3 -o run1
	jq -e '.findings[0].code == "gpu_mig"' run1/verdict.json
	run_p info --launcher=local -G 4 -o run2
	jq -e '.findings[0].code == "gpu_missing" and .status == "fail"' \
		run2/verdict.json
}
