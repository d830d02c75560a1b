#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Pairs of GPUs on two nodes by an NCCL with a network, which prints what NCCL
# prints and breaks as it breaks: tests/fake/nccl/net.h has its files.

load ../cli/helper
load ../await

setup()
{
	export GPUCHECK_CUDA_LIB=$GPUCHECK_TEST_FAKE FAKE_CUDA_GPUS=8
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
	{ echo gpus 2; cat; } >net	# the last one counts
	rm -rf run
	run_p p2p --local="${nodes-2x2}" --transport=nccl -b 64K -n 2 -o run "$@"
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

# The figures are a fake's: what NCCL prints without multicast objects.
@test "NVLS that NCCL cannot use: a warning with its reason" {
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML FAKE_NVML_FABRIC=3
	why="NVLS multicast support is not available on dev 0"
	pairs 0 <<<''
	jq -e '[.findings[].code] | index("nvls_missing") == null' \
		run/verdict.json
	pairs 0 <<<"info $why"
	jq -e --arg why "$why" '.findings | length > 0 and all(
		.code == "nvls_missing" and .severity == "warn" and
		(.says | contains($why)))' run/verdict.json
}

@test "rails that are not connected: one finding" {
	pairs 1 --pairs=inter <<<rail_only
	[ "$(finding)" = "cross_rail rtr_timeout fail" ] || { finding; false; }
}

@test "PXN: a GPU of the same node relays from rail to rail" {
	pairs 0 --pairs=inter --pxn <<<rail_only
	[ "$(columns_of outcome run/results.csv | sort | uniq -c | xargs)" = "8 ok" ]
	[ "$(paths | grep -c PXN)" -eq 2 ]
	# the relay is the sender's, both ways: no set-up to wonder about
	jq -e '.findings == []' run/verdict.json
	pairs 0 --pairs=inter --contrast=pxn <<<rail_only
	[ "$(finding)" = "cross_rail pxn_needed warn" ]
	grep -q -- --fabric=rail-only out
}

@test "rails that are not meant to connect are not tested" {
	pairs 0 --fabric=rail-only <<<rail_only
	jq -e '.status == "pass" and .cells.pass == 8 and .cells.not_run == 0' run/verdict.json
	grep -q 'pairs between rails were not tested' out
}

# bats test_tags=dear
@test "PXN: pairs whose relay is gone are skipped, and accuse nobody" {
	nodes=2x4 pairs 1 --pxn --schedule=serial <<-E
		gpus 4
		rail_only
		crash 0:1-*
	E
	grep -q ',skipped,relay_missing,' run/results.csv
	jq -e '.findings | length == 1 and .[0].kind == "gpu" and
		.[0].node == "n0" and .[0].index == 1' run/verdict.json
}

# bats test_tags=dear
@test "rails that do not connect are convicted by a dozen tests" {
	nodes=2x4 pairs 1 --schedule=serial --pairs=inter <<-E
		gpus 4
		rail_only
	E
	[ "$(finding)" = "cross_rail rtr_timeout fail" ] || { finding; false; }
	[ "$(grep -c '^1,.*,error,' run/results.csv)" -eq 12 ]
	[ "$(grep -c ',skipped,rails_apart,' run/results.csv)" -eq 12 ]
}

# bats test_tags=dear
@test "a pair that hangs, a process that crashes or aborts" {
	# where nothing gets to run, as its events say, it is no fault
	pairs '1 4' --pairs=n0:0-n1:0,n0:1-n1:1 --timeout=1s <<<'hang 0:0-1:0'
	[[ "$(finding)" =~ nccl_timeout\ fail ]] ||
		{ [[ "$(finding)" =~ starved ]] &&
			grep -qE ',(late|pressure),' run/events.csv; } ||
		{ finding; false; }
	for how in crash abort; do
		pairs 1 --pairs=n0:0-n1:0,n0:1-n1:1 <<<"$how 0:1-1:1"
		[ "$(columns_of outcome run/results.csv | sort -u | xargs)" = "crashed ok" ]
		jq -e '.findings | length == 1' run/verdict.json
	done
}

@test "a dead port of a NIC is found, and jobs with port failover continue" {
	export COMMANDS=all	# TCP has no failover to compare
	export NCCL_IB_RESILIENCY_PORT_FAILOVER=1
	nodes=3x1 pairs 1 <<-E
		gpus 1
		port 0:0-*
		port *-0:0
	E
	jq -e '.findings | map("\(.kind) \(.node) \(.code) \(.severity)") ==
		["node n0 rtr_timeout fail", "config null port_failover warn"]' \
		run/verdict.json || { cat out; false; }
	grep -q '^n0,gpu0,port_failover,off,' run/facts.csv
	[ "$(awk -F, '$15 == "failover" { print $25, $26 }' run/results.csv |
		sort | uniq -c | xargs)" = "4 ok port_failover" ]
	tr -s ' \n' ' ' <out | grep -q \
		'port failover: 4 of 4 failed tests pass when repeated with it: jobs'
	# with settings as in jobs, nothing fails and nothing is hidden
	nodes=3x1 pairs 0 --production-settings <<-E
		gpus 1
		port 0:0-*
	E
	jq -e '.findings | map(.code) == ["port_failover"]' run/verdict.json
	# without it in jobs, nothing is repeated unless the user asks
	unset NCCL_IB_RESILIENCY_PORT_FAILOVER
	nodes=3x1 pairs 1 <<<$'gpus 1\nport 0:0-*'
	absent ',failover,' run/results.csv
	nodes=3x1 pairs 1 --compare=failover <<<$'gpus 1\nport 0:0-*'
	grep -q ',failover,.*,ok,port_failover,' run/results.csv
}

# bats test_tags=dear
@test "two NICs for four GPUs: a dead one is one finding, by its name" {
	export COMMANDS=all	# a node alone has no pair between nodes
	machines=$BATS_TEST_DIRNAME/../machines
	for node in n0 n1; do
		"$machines/unpack" "$machines/a100-mig/$node" "root/$node"
		# as it was before two of its GPUs were divided
		sed 1q "root/$node/nvml" | jq -c '.gpus |= (sort_by(.bus) |
			map(.hidden = false | del(.divided)))' >whole
		mv whole "root/$node/nvml"
	done
	printf '%s\n' 'gpus 4' 'nics 2' 'error 1:2-*' 'error 1:3-*' \
		'error *-1:2' 'error *-1:3' >net
	FAKE_CUDA_GPUS=4 run_p p2p --local=2x4 --transport=nccl -b 64K -n 2 \
		--pairs=inter --sysroot="$PWD/root" -o run
	[ "$status" -eq 1 ] || { cat out err; false; }
	jq -e '.findings | length == 1' run/verdict.json
	jq -e '.findings[0] | [.kind, .node, .index, .name] ==
		["nic", "n1", 1, "mlx5_1"]' run/verdict.json
	[ "$(columns_of dst_nic run/results.csv | sort -u | xargs)" = \
		"mlx5_0 mlx5_1" ]
}

@test "--diagnose keeps the library of NCCL that the run had" {
	printf '%s\n' 'gpus 2' 'error 0:0-*' >net
	"$GPUCHECK" p2p --local=1x2 --transport=nccl -b 64K -n 2 --diagnose \
		-o run >out 2>err 3>&- &
	await 60 test -s run/diagnose/nccl/verdict.json
	kill -INT $!	# the first step is enough
	wait $! || true
	[ "$(columns_of code run/results.csv | sort -u)" = \
		"$(columns_of code run/diagnose/nccl/results.csv | sort -u)" ]
}

# Layers that a file paces, as tests/gpu/fabric has them with a GPU.
@test "a paced NIC on nodes that ssh enters: its layer and its name" {
	[ "${CASES-}" = all ] || skip "CASES=all"
	printf '%s\n' 'gpus 1' 'rate 0.6' 'slow 0:0-* 0.3' 'slow *-0:0 0.3' >net
	FAKE_CUDA_GPUS=1 GPUS=1 B=$BUILD run "$BATS_TEST_DIRNAME/../gpu/fabric" slow
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	[[ $output != *SKIP* ]] || skip "${output#*SKIP }"
}

@test "a setting of the job that slows NCCL: its layer and what mends it" {
	[ "${CASES-}" = all ] || skip "CASES=all"
	printf '%s\n' 'gpus 1' 'rate 0.6' 'slow *-* 0.3 NCCL_BUFFSIZE=8388608' >net
	FAKE_CUDA_GPUS=1 GPUS=1 B=$BUILD run "$BATS_TEST_DIRNAME/../gpu/fabric" \
		setting
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	[[ $output != *SKIP* ]] || skip "${output#*SKIP }"
}
