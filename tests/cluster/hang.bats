#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck hang of a job that runs, by its number.

load helper

# job [SBATCH-OPTION...]: four ranks on two nodes, of which the last sleeps.
job()
{
	local ranks=$BATS_TEST_DIRNAME/../fake/ras
	head -c 8192 /dev/zero >libnccl.so.2
	cat >job <<-E
		#!/bin/sh
		exec srun --ntasks-per-node=2 --mpi=none sh -c 'RANK=\$SLURM_PROCID
			what=spin; [ \$RANK != 3 ] || what=sleep; export RANK
			exec nice $ranks/rank $PWD/libnccl.so.2 \$what' >ready
	E
	job=$(sbatch --parsable -N 2 --gres=gpu:8 --exclusive --mem=0 "$@" job)
	await 60 all_ready
}

@test "hang: a step of ours finds the rank of a running job that does nothing" {
	job
	run_to 1 hang "$job" -o "$dir"
	expect "$(findings)" "process gcn2 rank_asleep"
	says '^FAIL  hang: 4 processes on 2 nodes: the others wait' out
	# it goes on as if nothing had been
	[ "$(squeue --noheader --job="$job" --format=%T)" = RUNNING ]
	scancel "$job"
	# and one that is over
	await 30 queue_is_empty
	run_to 3 hang "$job" -o "$dir.2"
}

# Slurm lets nobody else make a step there, and root be its user.
@test "hang: root looks at the job of somebody else, as that user" {
	chmod a+rwx .
	chmod a+x .. ../.. ../../..
	job --uid=nobody
	run_to 1 hang "$job" -o "$dir"
	expect "$(findings)" "process gcn2 rank_asleep"
	says '^gpucheck: running as nobody, the owner of the job' err
	[ "$(stat -c %U "$dir")" = nobody ]
	scancel "$job"
	await 30 queue_is_empty
}

all_ready()
{
	[ "$(grep -c ready ready)" = 4 ]
}
