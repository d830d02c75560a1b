#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# How agents find out who they are and where the coordinator is.

load helper

# A run directory without any launcher.
prepare()
{
	"$GPUCHECK" p2p --launcher=env --no-wait --transport=tcp -o "$dir" \
		"$@" >/dev/null 2>err
}

@test "srun --mpi=none is refused: use srun --mpi=pmi2" {
	prepare -G 2
	code=0
	srun -N 2 --mpi=none "$GPUCHECK" agent "$dir" >out 2>err || code=$?
	expect "$code" 2
	expect "$(grep -c 'use srun --mpi=pmi2' err)" 2
	[ ! -e "$dir/results.csv" ]
}

@test "srun --mpi=pmi2 by hand" {
	prepare -G 2
	srun -N 2 --mpi=pmi2 "$GPUCHECK" agent "$dir" >out 2>err
	expect "$(good_cells)" 12
}

@test "srun --mpi=pmix by hand, the default of many sites" {
	srun -N 1 --mpi=pmix true 2>/dev/null || skip "no PMIx in this Slurm"
	prepare -G 2
	srun -N 2 --mpi=pmix "$GPUCHECK" agent "$dir" >out 2>err
	expect "$(good_cells)" 12
}

@test "where srun has no pmi2 the rendezvous file serves" {
	mkdir bin
	cat >bin/srun <<-'S'
	#!/bin/sh
	[ "$1" = --mpi=list ] && { echo 'MPI plugin types are... none' >&2; exit; }
	PATH=${PATH#*:} exec srun "$@"
	S
	chmod +x bin/srun
	PATH=$PWD/bin:$PATH run_to 0 "${quick[@]}" -o "$dir"
	says 'srun --mpi=none' "$dir/job.out"
	expect "$(good_cells)" 12
}

@test "typed by a worker of torchrun, all agents have its environment" {
	TORCHELASTIC_RUN_ID=none RANK=0 WORLD_SIZE=8 LOCAL_RANK=0 \
		run_to 0 "${quick[@]}" -o "$dir"
	expect "$(good_cells)" 12
}

@test "a node without libpmi2 meets the others all the same" {
	prepare -G 2
	export GPUCHECK_PMI2_LIB=/nowhere/libpmi2.so
	srun -N 2 --mpi=pmi2 "$GPUCHECK" agent "$dir" >out 2>err
	expect "$(good_cells)" 12
}

@test "torchrun's environment: one worker a process, nodes by host" {
	prepare
	for rank in 0 1 2 3; do
		node-run $((rank / 2 + 1)) env RANK=$rank WORLD_SIZE=4 \
			LOCAL_RANK=$((rank % 2)) MASTER_ADDR=gcn1 \
			MASTER_PORT=29500 "$GPUCHECK" agent "$dir" \
			>"out$rank" 2>&1 3>&- &
	done
	wait
	expect "$(good_cells)" 12
	expect "$(senders)" "6 gcn1 6 gcn2"
}

@test "mpirun's environment" {
	prepare
	for rank in 0 1; do
		node-run $((rank + 1)) env OMPI_COMM_WORLD_RANK=$rank \
			OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
			"$GPUCHECK" agent "$dir" >"out$rank" 2>&1 3>&- &
	done
	wait
	expect "$(good_cells)" 2
}

@test "a size without a rank is a usage error" {
	prepare
	code=0
	WORLD_SIZE=4 "$GPUCHECK" agent "$dir" 2>err || code=$?
	expect "$code" 2
	says 'RANK is not set' err
}

@test "a directory that the second node does not see: PMI2 does without" {
	mkdir run
	node-run 2 mount -t tmpfs hidden "$dir"
	run_to 0 "${quick[@]}" -o "$dir"
	node-run 2 umount "$dir"
	expect "$(good_cells)" 12
}

@test "a directory that the first node does not see: blamed, exit 3" {
	mkdir shared
	node-run 1 mount -t tmpfs -o ro hidden "$PWD/shared"
	dir=$PWD/shared/run
	run_to 3 "${quick[@]}" -o "$dir"
	node-run 1 umount "$PWD/shared"
	says "file system" err
}

# Once, node gcn2 imports an image for so many seconds before its agent starts,
# which is longer than agents are waited for after the first: 1 s, or 30 s when
# it is not given and 10 s for --quick.
@test "a node that imports an image for ${IMAGE_S:-3} s is not missing" {
	local s=${IMAGE_S:-3} limits=()

	# shellcheck disable=SC2016  # for the script
	printf '#!/bin/sh\n[ -e %s ] || [ $(hostname) = gcn1 ] || {
		sleep %s; touch %s; }\n' "$PWD/there" "$s" "$PWD/there" >import
	chmod +x import
	[ "$s" -gt 30 ] || limits=(--boot-timeout=1s --start-timeout=1m)
	run_to 0 "${quick[@]}" "${limits[@]}" -o "$dir" \
		--srun-args="--task-prolog=$PWD/import"
	[ -e there ]
	expect "$(good_cells)" 12
	[ "$s" -gt 30 ] || return 0
	rm there
	dir=$PWD/all
	start all --quick -N 2 -G 2 --transport=tcp -o "$dir" \
		--srun-args="--task-prolog=$PWD/import"
	await 120 ended "$front"
	[ -e there ]
	jq -e '[.findings[] | select(.code == "agent_missing")] == []' \
		"$dir/verdict.json"
}

# A program of another version on the disk of node $1 alone: $own and $other.
old_copy()
{
	own=$("$GPUCHECK" version | awk '$1 == "gpucheck" { print $2 }')
	other=${own%?}x
	LC_ALL=C sed "s/\\x00${own//./\\.}\\x00/\\x00$other\\x00/g" "$GPUCHECK" \
		>copy
	chmod +x copy
	says "^gpucheck +$other\$" <(./copy version)
	node-run "$1" mount --bind "$PWD/copy" "$GPUCHECK"
}

@test "another version on one node: both are said at once" {
	old_copy 2
	run_to 1 "${quick[@]}" -o "$dir"
	node-run 2 umount --lazy "$GPUCHECK"
	expect "$(findings)" 'node gcn2 version_differs'
	says "gcn2 is gpucheck $other, not $own" out
	expect "$(good_cells)" 2
}

@test "another version on the first node: both are said at once" {
	old_copy 1
	run_to 3 "${quick[@]}" -o "$dir"
	node-run 1 umount --lazy "$GPUCHECK"
	says "front .* is gpucheck $own, not $other" err
}
