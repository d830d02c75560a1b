#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Recipes of docs/recipes.md on two nodes; tests/cli/env.bats has them on one.

load helper

every=$BATS_TEST_DIRNAME/../../data/site/every-rank
small=(p2p --transport=tcp -b 64K -n 2)

program()
{
	[ "${CASES-}" = all ] || skip "make check-all has it"
	mkdir bin
	ln -s "$GPUCHECK" bin/gpucheck
	PATH=$PWD/bin:$PATH
}

@test "Open MPI in a job of Slurm: the same line on each rank" {
	program
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	echo 'dead gpu=1:1' >drill
	code=0
	# shellcheck disable=SC2154 # of the helper
	salloc --quiet --nodes=2 --ntasks-per-node=8 mpirun -x PATH "$every" \
		"$dir" "${small[@]}" --inject=drill >out 2>err || code=$?
	expect "$code" 1
	expect "$(findings)" "gpu gcn2 drill_dead"
	expect "$(good_cells)" 210
}

@test "torchrun's and Azure ML's variables on nodes without a shared directory" {
	program
	GPUCHECK_TOKEN=$(openssl rand -hex 32)
	export GPUCHECK_TOKEN WORLD_SIZE=4 MASTER_ADDR=gcn1 MASTER_PORT=6105
	for rank in 0 1 2 3; do
		node-run $((rank / 2 + 1)) env -C / RANK=$rank \
			LOCAL_RANK=$((rank % 2)) unshare --mount sh -c \
			"mount -t tmpfs none /mnt && $every /mnt/run \
			${small[*]} && cat /mnt/run/results.csv" \
			>"out$rank" 2>&1 3>&- &
	done
	wait
	says '^PASS  p2p on 2 nodes with 4 ranks' out0
	# pairs with a good row: a slow one is measured again
	expect "$(grep ',ok,' out0 | cut -d, -f2,6 | sort -u | wc -l)" 12
	# a process of another rank has no directory to print
	says 'No such file' out3
}

@test "pods of an indexed job: a node each" {
	program
	export WORLD_SIZE=2
	for rank in 0 1; do
		node-run $((rank + 1)) env JOB_COMPLETION_INDEX=$rank "$every" \
			"$dir" "${small[@]}" -G 8 >"out$rank" 2>&1 3>&- &
	done
	wait
	expect "$(good_cells)" 240
}
