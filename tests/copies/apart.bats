#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# One process a GPU, which sees no other: "srun --gpus-per-task=1" and the
# wrappers of mpirun start them so.  See fake_cuda.c.

load ../cli/helper
load ../await

setup()
{
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML
	export GPUCHECK_NCCL_LIB=$GPUCHECK_TEST_FAKE_NCCL
	cd "$BATS_TEST_TMPDIR" || return
}

# apart GPUS COMMAND...: ranks 0, 1, 2 see one of the GPUs each.
apart()
{
	local rc=0 rank=0 gpu
	"$GPUCHECK" "${@:2}" --launcher=env -o run >out 2>err 3>&- &
	await 20 test -e run/run.json
	for gpu in $1; do
		RANK=$rank WORLD_SIZE=3 LOCAL_RANK=$rank \
			CUDA_VISIBLE_DEVICES=$gpu \
			"$GPUCHECK" agent run 3>&- &
		rank=$((rank + 1))
	done
	wait %1 || rc=$?
	wait
	status=$rc
}

@test "each process sees its own GPU: all are measured, by an old NCCL too" {
	# before 2.13 communicators only block
	export GPUCHECK_NCCL_LIB=${GPUCHECK_NCCL_LIB/libnccl./libnccl_old.}
	apart "0 1 2" p2p -b 1M -n 4
	[ "$status" -eq 0 ] || { cat out err; false; }
	[ "$(grep -c '^1,.*,ok,' run/results.csv)" -eq 6 ]
	[ "$(columns_of src_gpu run/results.csv | sort -u | xargs)" = "0 1 2" ]
	# what each says of its GPU 0 is said of the right one
	for r in 0 1 2; do
		[ "$(grep -c ",gpu$r,uuid,GPU-$r," run/facts.csv)" -eq 1 ]
	done
	[ "$(grep -c ',uuid,' run/facts.csv)" -eq 3 ]
	[ "$(grep -c ',xids,' run/facts.csv)" -le 3 ]
}

@test "a collective of such processes" {
	apart "0 1 2" allreduce -b 4K -n 2
	[ "$status" -eq 0 ] || { cat out err; false; }
	[ "$(columns_of wrong run/results.csv | sort -u)" = 0 ]
	[ "$(columns_of ranks run/results.csv | sort -u)" = 3 ]
}

@test "two processes with one GPU: said, and no fault of the node" {
	apart "0 1 1" p2p -b 1M -n 4
	[ "$status" -eq 1 ]
	[ "$(grep -c '^1,.*,ok,' run/results.csv)" -eq 2 ]
	[ "$(grep -c ',skipped,gpu_shared,' run/results.csv)" -eq 4 ]
	jq -e '.exclude == [] and .findings[0].index == 2 and
		(.findings | length) == 1' run/verdict.json
	grep -q "is shared with another process: .*GPU-1 is already used by rank 1" <(xargs <out)
	grep -qe "--gpus-per-task=1" out
}

@test "a node that has no GPU in the job is short of none" {
	local rc=0 k

	"$GPUCHECK" p2p --transport=cuda -b 1M -n 2 --launcher=env -o run >out \
		2>err 3>&- &
	await 20 test -e run/run.json
	for k in 0 1; do
		# shellcheck disable=SC2016 # of the inner shell
		GPUCHECK_ALLOCATION="big=3 head=0" RANK=$k WORLD_SIZE=2 \
			FAKE_CUDA_GPUS=$((3 - 3 * k)) \
			unshare --uts sh -c 'hostname "$0"; exec "$@"' \
			"$([ $k -eq 0 ] && echo big || echo head)" \
			"$GPUCHECK" agent run 3>&- &
	done
	wait %1 || rc=$?
	wait
	[ $rc -eq 0 ] || { cat out err; false; }
	[ "$(grep -c '^1,.*,ok,' run/results.csv)" -eq 6 ]
	jq -e '.exclude == []' run/verdict.json
}
