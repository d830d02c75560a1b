#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Pairs of GPUs on two nodes by an NCCL with a network, which prints what NCCL
# prints and breaks as it breaks: tests/fake/nccl/net.h has its files.

load ../cli/helper

setup()
{
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE FAKE_CUDA_GPUS=4
	export GPUCHECK_NCCL_LIB=$GPUCHECK_TEST_FAKE_NCCL
	# pretend nodes use sockets unless they are told otherwise
	export NCCL_NET=IB FAKE_NCCL_NET=$BATS_TEST_TMPDIR/net
	cd "$BATS_TEST_TMPDIR" || return
}

# pairs 'STATUS...' [OPTION...] with the lines of the network on stdin
pairs()
{
	local want=$1
	shift
	{ echo gpus 2; cat; } >net
	rm -rf run
	run_p p2p --local=2x2 --transport=nccl -b 64K -n 2 -o run "$@"
	[[ $want == *$status* ]] || { cat out err; return 1; }
}

# paths: those of pairs of nodes, with how many have each
paths()
{
	columns_of path run/results.csv | grep -e NET -e MNNVL | sort |
		uniq -c | sed 's/^ *//'
}

finding()
{
	jq -r '.findings[0] | [.kind, .code, .severity] | join(" ")' \
		run/verdict.json
}

@test "what NCCL says of its network is in the rows" {
	pairs 0 <<<'nics 1'
	[ "$(paths)" = "8 NET/IB/0/GDRDMA" ] || { paths; false; }
	pairs 0 --pairs=inter <<-E
		network AWS Libfabric
		nics 2 rdmap
	E
	[ "$(paths | head -2)" = "2 NET/AWS Libfabric/0/GDRDMA
2 NET/AWS Libfabric/0/GDRDMA>NET/AWS Libfabric/1/GDRDMA" ] || { paths; false; }
	pairs 0 --pairs=inter <<<'mnnvl 2'
	[ "$(paths)" = "8 P2P/MNNVL" ]
}

@test "NCCL's own file takes RDMA away, and its log says why" {
	echo NCCL_IB_DISABLE=1 >nccl.conf
	NCCL_CONF_FILE=$PWD/nccl.conf pairs 0 --pairs=inter <<<''
	[ "$(columns_of path run/results.csv | cut -d/ -f1,2 | sort -u)" = NET/Socket ]
	grep -q ',network,Socket,' run/facts.csv
	grep -q ',network_why,NCCL_IB_DISABLE set by environment to 1' run/facts.csv
}

@test "rails that are not connected: one finding" {
	pairs 1 --pairs=inter <<<rail_only
	[ "$(finding)" = "cross_rail rtr_timeout fail" ] || { finding; false; }
}

@test "a pair that hangs, a process that crashes or aborts" {
	# where nothing gets to run it is no fault
	pairs '1 4' --pairs=n0:0-n1:0,n0:1-n1:1 --timeout=1s <<<'hang 0:0-1:0'
	[[ "$(finding)" =~ ^pair\ nccl_timeout\ fail|starved ]] || { finding; false; }
	for how in crash abort; do
		pairs 1 --pairs=n0:0-n1:0,n0:1-n1:1 <<<"$how 0:1-1:1"
		[ "$(columns_of outcome run/results.csv | sort -u | xargs)" = "crashed ok" ]
		jq -e '.findings | length == 1' run/verdict.json
	done
}
