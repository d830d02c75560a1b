#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Collectives under real launchers: the job files of the manual, as printed.
# What no machine of tests has (torchrun, containers) is a script that does to
# its command what the real one does: who it is and what it sees.

load helper

setup_file()
{
	mkdir "$BATS_FILE_TMPDIR/bin"
	ln -s "$GPUCHECK" "$BATS_FILE_TMPDIR/bin/gpucheck"
	PATH=$BATS_FILE_TMPDIR/bin:$PATH
	export PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	# no GPU is here, and a small sweep says as much as a large one
	export GPUCHECK_TRANSPORT=sim GPUCHECK_MINBYTES=1K GPUCHECK_MAXBYTES=4K
}

# printed WORD: the example of the manual that has it, with our run directory.
printed()
{
	awk '/^\.Bd -literal/ { on = 1; print ""; next }
	     /^\.Ed/ { on = 0 }
	     on { gsub(/\\e/, "\\"); print }' \
		"$BATS_TEST_DIRNAME/../../cli/man/gpucheck-allreduce.1" |
		awk -v RS= -v ORS='\n' -v want="$1" 'index($0, want)' |
		sed "s,/shared/run,$dir,; s,/shared,$PWD,g"
}

# tool NAME: a program of that name, the text on stdin.
tool()
{
	mkdir -p tools
	cat >"tools/$1"
	chmod +x "tools/$1"
	PATH=$PWD/tools:$PATH
}

# whole RANKS: the run has every row, all good, of two nodes.
whole()
{
	expect "$(columns ranks nodes outcome inplace | sort | uniq -c | xargs)" \
		"3 $1 2 ok 0 3 $1 2 ok 1"
	expect "$(jq -r .status "$dir/verdict.json")" pass
	[ -s "$dir/report.html" ]
}

@test "from outside an allocation, by sbatch" {
	run_to 0 allreduce -N 2 -o "$dir"
	whole 16
	says '^PASS +allreduce' out
}

@test "inside an allocation srun is used" {
	salloc --quiet -N 2 --exclusive --gres=gpu:8 \
		gpucheck alltoall -o "$dir" >out 2>err
	says 'with srun in the allocation' err
	whole 16
}

@test "the manual's Slurm job file" {
	printed '#SBATCH' >job
	[ "$(grep -c . job)" -ge 4 ]
	timeout 60 sbatch --wait --output="$PWD/out" job
	says '^PASS +allreduce' out
	whole 16
}

@test "the manual's lines for mpirun" {
	command -v mpirun >/dev/null || skip "no mpirun"
	printed 'mpirun ' >job
	timeout 60 salloc --quiet -N 2 --ntasks-per-node=8 --exclusive \
		bash -e job >out 2>err
	whole 16
	# one process a GPU: what a node has is what its processes are
	expect "$(jq -r '[.nodes[].gpus] | join(" ")' "$dir/run.json")" "8 8"
}

@test "the recipe's line for torchrun, inside srun or not" {
	tool torchrun <<-'S'
	#!/bin/bash
	# --nnodes=N --nproc-per-node=G --node-rank=K ... --no-python COMMAND
	for word; do
		shift
		case $word in
		--nnodes=*) nodes=${word#*=} ;;
		--nproc-per-node=*) each=${word#*=} ;;
		--node-rank=*) node=${word#*=} ;;
		--no-python) break ;;
		esac
	done
	export TORCHELASTIC_RUN_ID=none WORLD_SIZE=$((nodes * each))
	for ((i = 0; i < each; i++)); do
		# subprocess.Popen closes what it has not made
		RANK=$((node * each + i)) LOCAL_RANK=$i "$@" 3>&- 4>&- 5>&- \
			6>&- 7>&- 8>&- 9>&- &
	done
	wait
	S
	grep '^    torchrun ' "$BATS_TEST_DIRNAME/../../docs/recipes.md" |
		sed "s,/shared/run p2p,$dir allreduce," >line
	[ -s line ]
	export EVERY=$BATS_TEST_DIRNAME/../../data/site/every-rank
	K=0 node-run 1 bash "$PWD/line" >out &
	K=1 node-run 2 bash "$PWD/line"
	wait
	says '^PASS +allreduce' out
	whole 16
	# one task a node, which Slurm tells that they are ranks 0 and 1 of 2
	rm -r "$dir"
	sed -i "1i K=\$SLURM_NODEID" line
	timeout 60 srun -N 2 --ntasks-per-node=1 --mpi=pmi2 bash line
	whole 16
}

@test "the manual's lines for docker, an agent a node" {
	tool docker <<-'S'
	#!/bin/bash
	# run [OPTION...] IMAGE COMMAND: nothing of the environment gets in
	vars=(PATH="$PATH")
	while [ "$1" != IMAGE ]; do
		case $1 in
		-e) vars+=("$2"); shift ;;
		esac
		shift
	done
	shift
	exec env -i "${vars[@]}" "$@"
	S
	printed 'docker run' >line
	[ -s line ]
	start allreduce -G 8 --launcher=env -o "$dir"
	K=0 node-run 1 bash "$PWD/line" &
	K=1 node-run 2 bash "$PWD/line" &
	finish 0
	whole 16
	wait
}

@test "the manual's lines for pyxis and for Apptainer" {
	tool apptainer <<-'S'
	#!/bin/bash
	while [ "$1" != IMAGE.sif ]; do shift; done
	shift
	exec "$@"
	S
	# the plugin's options are not Slurm's own
	srun=$(command -v srun)
	export srun
	tool srun <<-'S'
	#!/bin/bash
	for word; do
		shift
		case $word in
		--container-*) ;;
		*) set -- "$@" "$word" ;;
		esac
	done
	exec "$srun" "$@"
	S
	for way in --container-image 'apptainer exec'; do
		rm -rf "$dir"
		printed "$way" >line
		[ -s line ]
		start allreduce --launcher=env -o "$dir"
		timeout 60 bash -e line
		finish 0
		whole 16
	done
	# no libpmi2 in the container
	rm -r "$dir"
	start allreduce --launcher=env -o "$dir"
	GPUCHECK_PMI2_LIB=/nowhere GPUCHECK_BOOT=rendezvous timeout 60 \
		bash -e line
	finish 0
	whole 16
}

@test "a node's agent is lost in the middle: named, the other goes on" {
	GPUCHECK_MINBYTES=8 GPUCHECK_MAXBYTES=8G start allreduce -N 2 \
		-o "$dir" --env "X=$(seq -s, 15)"
	await 30 rows 9
	node-run 2 pkill -KILL -f " agent $dir\$"
	finish 1 120
	expect "$(findings)" "node gcn2 agent_lost"
	expect "$(jq -r '.dropped | length' "$dir/run.json")" 8
	expect "$(jq -r '.exclude | join(" ")' "$dir/verdict.json")" gcn2
	columns ranks nodes outcome | sort | uniq -c >counts
	says ' 16 2 ok' counts
	says ' 8 1 ok' counts
}

@test "workers of a job, with an NCCL made of shared memory" {
	export GPUCHECK_TRANSPORT=nccl FAKE_CUDA_GPUS=4
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE
	GPUCHECK_NCCL_LIB=$GPUCHECK_TEST_FAKE_NCCL run_to 0 reducescatter \
		-N 1 -G 4 -n 2 -o "$dir"
	expect "$(columns ranks nodes outcome wrong | sort | uniq -c | xargs)" \
		"6 4 1 ok 0"
	GPUCHECK_NCCL_LIB=$GPUCHECK_TEST_FAKE_NCCL FAKE_NCCL_WRONG=2 \
		run_to 1 allreduce -N 1 -G 4 -n 2 -o "$dir-wrong"
	says 'wrong result' out
}
