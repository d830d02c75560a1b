#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# No node has the program outside of the image: an agent that starts is inside.

load ../cluster/helper

bundle=/run/image/bundle

setup_file()
{
	mount -t tmpfs none /usr/local/bin &&
		cp "$GPUCHECK" /usr/local/bin/gpucheck
}

# p2p of all pairs in an allocation, which ends with exit code $1.
p2p()
{
	local code=0 wanted=$1
	shift

	# shellcheck disable=SC2154 # of the helper
	salloc --quiet --nodes=2 --exclusive --gres=gpu:8 \
		/usr/local/bin/gpucheck p2p -N 2 -G 8 -b 64K -o "$dir" "$@" \
		>out 2>err || code=$?
	expect "$code" "$wanted"
}

@test "crun runs the image, on a node" {
	cat >here <<-S
	mkdir $bundle/alone && cd $bundle/alone && ln -s ../rootfs rootfs &&
	jq '.process.args = ["gpucheck", "p2p", "--local=2x2",
		"--transport=tcp", "-o", "/root/run"]' ../config.json \
		>config.json &&
	crun --cgroup-manager=disabled run alone
	S
	node-run 1 bash "$PWD/here" >out 2>err 3>&-
	says '12 tests: 12 pass' out
	# by the gnuplot of the image
	node-run 1 test -s $bundle/rootfs/root/run/heatmap-bw.png
}

@test "srun --container: all 240 pairs of two nodes, by TCP" {
	p2p 0 --transport=tcp --srun-args=--container=$bundle
	expect "$(good_cells)" 240
	expect "$(senders)" "120 gcn1 120 gcn2"
}

@test "srun --container: a node with the NCCL that is mounted" {
	# These are substitutes for NCCL and CUDA: no GPU is here.  This NCCL
	# has no network.
	export FAKE_CUDA_GPUS=8 GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE
	p2p 0 -N 1 --transport=nccl --nccl-lib="$GPUCHECK_TEST_FAKE_NCCL" \
		--srun-args=--container=$bundle
	expect "$(good_cells)" 56
}

@test "without a container, no node has the program" {
	p2p 3 --transport=tcp
	says 'gcn2: error: execve.*gpucheck: No such file' err
}

@test "without oci.conf Slurm ignores --container" {
	mv "$CLUSTER/oci.conf" oci.conf
	p2p 3 --transport=tcp --srun-args=--container=$bundle || code=$?
	mv oci.conf "$CLUSTER/oci.conf"
	[ -z "${code-}" ]
	says 'gcn2: error: execve.*gpucheck: No such file' err
}
