#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck ib on HCAs that a library pretends, healthy and with one fault at a
# time: three nodes with two rails each.  tests/fake/verbs/README.md has what
# the library does and what it does not.

load helper

setup_file()
{
	local n

	machine=$BATS_TEST_DIRNAME/../fake/verbs/machine
	export machine
	FAKE_VERBS_LIB=$BATS_TEST_DIRNAME/../..
	FAKE_VERBS_LIB+=/${B-build}/tests/fake/libibverbs.so.1
	export FAKE_VERBS_LIB
	[ -e "$FAKE_VERBS_LIB" ] || skip "no header of libibverbs"
	n=$("$machine" why)
	[ -z "$n" ] || skip "$n"
	export fabric=$BATS_FILE_TMPDIR/fabric FAKE_VERBS_RESOLVE_MS=200
	mkdir "$fabric"
	for n in 0 1 2; do
		echo "f$((2 * n)) gids=v1/fe80::a$n,v2/10.7.0.1$n rate=0.5 pace=0.6"
		echo "f$((2 * n + 1)) gids=v1/fe80::b$n,v2/10.7.1.1$n rate=0.5 pace=0.6"
	done >"$fabric/devices"
	"$machine" tree "$fabric"
}

# ib 'FAULT...' CODE [OPTION...]: a run, which ends with CODE
ib()
{
	local want=$2 program=$GPUCHECK
	printf '%s\n' "$1" >"$fabric/faults"
	rm -rf "$fabric/wire" run
	shift 2
	GPUCHECK=$machine run_p "$fabric" "$program" ib --local=3x2 \
		--map=never -n 100 -o run "$@"
	[ "$status" = "$want" ] || { echo "$status"; cat out err; return 1; }
}

# findings: KIND NODE:INDEX CODE of those that fail
findings()
{
	jq -r '.findings[] | select(.severity == "fail") |
		"\(.kind) \(.node):\(.index) \(.code)"' run/verdict.json
}

# flowing FAULT CODE [OPTION...]: 32 flows between two nodes; ports with rows of
# their own are those that the fault is about, of 32 two
flowing()
{
	ib "$1" "$2" --flows=32 --nodelist=n0,n1 "${@:3}"
	awk -F, '/path_flow/ { print $(NF - 4) }' run/results.csv >flows
	[ -n "${3-}" ] || while read -r n; do
		[ $((n & 15)) = 5 ]
	done <flows
}

is()
{
	[ "$(findings)" = "$1" ] || { findings; cat out; return 1; }
}

@test "healthy: every pair at the rate of its port" {
	ib '' 0
	is ''
	[ "$(columns_of path run/results.csv | sort -u)" = RoCEv2/gid1/mtu1024 ]
	jq -e '.cells.pass == 12' run/verdict.json
}

@test "a cable that is cut under load: its NIC, as the HCAs say it" {
	ib 'cut f1 after=500000' 1 --qp-timeout=10
	is 'nic n0:1 rtr_timeout'
	grep -q 'status 12, vendor error 0x81' run/results.csv
	grep -q '10.7.1.10.*Connection timed out' run/results.csv
}

@test "a rail whose switch is dead" {
	ib 'cut f[135] f[135]' 1
	is 'rail null:1 rtr_timeout'
}

@test "a slow NIC" {
	ib 'slow f1 factor=0.3' 1
	is 'nic n0:1 slow'
}

@test "a port that goes down under load says so" {
	ib 'down f1 after=500000' 1 --qp-timeout=10
	is 'nic n0:1 port_down'
}

@test "an address that no packet comes through by" {
	ib 'lost * * gid=0' 1 --gid-index=0 --qp-timeout=10
	is 'inter_node null:null wc_retry_exc'
	grep -q 'GID' out
}

@test "a node whose memory may not be locked" {
	ulimit -l 8192
	ib 'memlock f[23] bytes=65536' 1
	is 'node n1:null memlock'
}

@test "a NIC that changes data" {
	ib 'corrupt f1' 1 --check=1
	is 'nic n0:1 data_corrupt'
}

@test "one path of 16 that loses packets: --flows names its ports, and no other" {
	flowing 'lost f1 port&15=5' 1
	is 'node_pair n0:null path_flow'
	[ "$(wc -l <flows)" = 4 ]
	jq -r '.findings[0].evidence[]' run/verdict.json |
		grep -q 'UDP 10.7.1.10 port [0-9]* to 10.7.1.11 port 4791 (flow'
	grep -q '32 flows per path: 90 % sure that each of 7 links was used' out
	grep -q '4 tests: 4 pass; 4 of their UDP flows lose packets' out
	jq -r '.findings[0].says' run/verdict.json |
		grep -q '^4 of the 64 UDP flows of 2 paths lose all packets'
	# a lost packet takes a timeout
	flowing 'lost f1 port&15=5 percent=15' 0
	jq -e '[.findings[] | [.code, .severity]] == [["path_flow", "warn"]]' \
		run/verdict.json
	jq -r '.findings[0].evidence[]' run/verdict.json |
		grep -q 'messages had to be sent again after 67 ms'
	# all flows of the path: none is apart.  On a busy machine the others'
	# acknowledgements, by a program here, may take longer than 4 ms.
	flowing 'lost f1' 1 --qp-timeout=10
	jq -e '[.findings[] | select(.code == "path_flow") | .evidence[] |
		select(test("no acknowledgement"))] == []' run/verdict.json
}

# gains LOW HIGH: in how many tests several flows have that multiple of one
gains()
{
	awk -F, -v low="$1" -v high="$2" 'NR > 1 && $(NF - 1) > 0 &&
		$NF / $(NF - 1) > low && $NF / $(NF - 1) < high' \
		run/results.csv | wc -l
}

@test "several flows at once against one: what they gain, and NCCL's setting" {
	ib '' 0 --flows=32 --nodelist=n0,n1
	jq -e '.findings == [] and .notes == null' run/verdict.json
	[ "$(gains 0.8 1.25)" = 4 ]
	tr -s ' \n' ' ' <out |
		grep -q '; 16 at once have [01].[0-9]* times the bandwidth'
	# a port has three times what each of its queue pairs has
	sed -i 's/pace=0.6$/pace=1.8 queue=0.6/' "$fabric/devices"
	ib '' 0 --flows=8 --nodelist=n0,n1 --op=read
	[ "$(jq -r '.notes[] | [.kind, .do] | @csv' run/verdict.json)" = \
		'"flows","NCCL_IB_QPS_PER_CONNECTION=8"' ]
	[ "$(gains 2 4)" = 4 ]
	jq -e '.findings == [] and .exclude == [] and .status == "pass"' \
		run/verdict.json
	grep -q 'PASS.*(8 flows at once: [23]' out
	tr -s ' \n' ' ' <out | grep -q 'one: try this number in NCCL_IB_QPS_PER_CONN'
	# they have it already
	ib '' 0 --flows=4 --qps=4 --nodelist=n0,n1 --bidi
	jq -e '.notes == null' run/verdict.json
	# a flow that loses packets is measured alone with no other
	ib 'lost f1 port&15=5' 1 --flows=32 --nodelist=n0,n1 --op=send
	[ "$(gains 0 99)" = 2 ]
	sed -i 's/pace=1.8 queue=0.6/pace=0.6/' "$fabric/devices"
}

@test "InfiniBand has no flows, and says so" {
	sed -i 's/$/ link=InfiniBand/' "$fabric/devices"
	"$machine" tree "$fabric"
	ib '' 0 --flows=8 --nodelist=n0,n1
	grep -q 'no flows on f0 of n0: InfiniBand packets have no UDP' out
	grep -q ',lmc,0,' run/facts.csv
	# a run in which the user did not ask for them, as 'all' has it
	jq '.whole = {"argv": ["gpucheck", "all"], "options": {}}' \
		run/run.json >whole
	mv whole run/run.json
	run_p report run
	grep -q '4 tests: 4 pass$' out
	absent 'no flows' out
	sed -i 's/ link=InfiniBand//' "$fabric/devices"
	"$machine" tree "$fabric"
}

@test "a model has no flows, and says so" {
	run_p ib --transport=sim --flows=8 --local=2x2 -o run
	[ "$status" = 0 ]
	grep -q 'flows has no effect: a simulated cluster has no UDP' out
}

# ---- NCCL's own IB transport, without a GPU ---------------------------------

# net 'FAULT...' END DEVICE [NAME=VALUE...]: 40 messages of 1 MB from mlx5_0 of
# n0 to mlx5_DEVICE of n1; the transport is that of libnccl.so.2, its log and
# what it did are in $output
net()
{
	local want=$2 device=$3 lib address n r

	lib=$(ldconfig -p | awk '$1 == "libnccl.so.2" { print $NF; exit }')
	for n in "$lib" /usr/local/cuda*/lib*/libnccl.so.2; do
		[ ! -e "$n" ] || lib=$n
	done
	[ -e "$lib" ] || skip "no libnccl.so.2"
	grep -qaE 'NCCL version 2\.2[89]' "$lib" || skip "not NCCL 2.28 or 2.29"
	address=$(nm "$lib" 2>/dev/null | awk '$3 == "ncclNetIb" { print $1 }')
	[ -n "$address" ] || skip "libnccl.so.2 is without symbols"
	mkdir -p net
	for n in 0 1; do
		for r in 0 1; do
			echo "mlx5_$r node=n$n rate=10" \
				"gids=v1/fe80::$n$r,v2/10.7.$r.1$n"
		done
	done >net/devices
	printf '%s\n' "$1" >net/faults
	rm -f net/wire
	shift 3
	status=0
	output=$(env NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=lo NCCL_IB_TIMEOUT=10 \
		NCCL_IB_MQP_RETRY_CNT=1 "$@" \
		timeout 60 "$machine" net "${FAKE_VERBS_LIB%/*}/nccl_net" \
		"$lib" "$address" 0 "$device" 1000000 40 2>&1) || status=$?
	[ "$status" = "$want" ] || { echo "$status: $output"; return 1; }
}

@test "NCCL finds the devices and moves data by them" {
	net '' 0 0
	[[ $output == *'Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE'* ]]
	[[ $output == *'receiver: ok, 0 wrong'* ]]
	net 'corrupt n0/mlx5_0' 0 0
	[[ $output == *'receiver: ok, 40 wrong'* ]]
}

@test "NCCL says what the HCAs say: rails apart, a dead cable, a flap" {
	net 'cut */mlx5_0 */mlx5_1' 1 1
	[[ $output == *'ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1'* ]]
	net 'cut n0/mlx5_0 after=5000000' 1 0
	[[ $output == *'status=IBV_WC_RETRY_EXC_ERR(12)'*'vendor_err=129'* ]]
	net 'down n0/mlx5_0 after=5000000 for=0.1' 0 0 NCCL_IB_TIMEOUT=14
	[[ $output == *'mlx5_0:1 Got non-fatal async event: port error'* ]]
	[[ $output == *'receiver: ok, 0 wrong'* ]]
}

@test "NCCL says what the HCAs say: an address, locked memory" {
	net 'lost * * gid=0' 1 0 NCCL_IB_GID_INDEX=0
	[[ $output == *'status=IBV_WC_RETRY_EXC_ERR(12)'*'localGid fe80::'* ]]
	net 'memlock n1/* bytes=4096' 1 0
	[[ $output == *'Call to ibv_create_cq failed with error Cannot allocate memory'* ]]
}
