#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck info: what nodes say about themselves.

load helper

# A run directory whose agents somebody else starts, as the front makes it.
make_dir()
{
	mkdir -p "$1/logs"
	cat >"$1/run.json" <<-'J'
	{"schema": 1, "probe": "info", "argv": [], "version": "0.1.0",
	 "nonce": "00112233445566778899aabbccddeeff",
	 "options": {"boot-timeout": "1s"}, "drill": false, "launcher": "env",
	 "started_utc": "2026-01-01T00:00:00Z"}
	J
}

# agent RANK SIZE: that node answers.
agent()
{
	GPUCHECK_BOOT_RANK=$1 GPUCHECK_BOOT_SIZE=$2 GPUCHECK_BOOT_NODE=n$1 \
		"$timeout" 60 "$GPUCHECK" agent run 3>&- &
}

# told NODE...: a run in which these have answered; its facts on stdin.
told()
{
	make_dir run
	sed -i 's/"started_utc"/"ended_utc": "2026-01-01T00:00:01Z",\n&/' \
		run/run.json
	{
		echo node,outcome,code,detail,start_utc
		for node; do
			echo "$node,ok,,,"
		done
	} >run/results.csv
	{
		echo node,scope,fact,value,unit,source
		for node; do
			echo "$node,node,host,$node,,gethostname"
			echo "$node,node,kernel,6.1.0,,uname"
			echo "$node,node,state,ok,,coordinator"
		done
		cat
	} >run/facts.csv
}

@test "the version of nvcc is a fact where nvcc is found" {
	mkdir -p nvcc
	printf '#!/bin/sh\necho "tools, release 11.8, V11.8.89"\n' >nvcc/nvcc
	chmod +x nvcc/nvcc
	PATH=$PWD/nvcc:$PATH run_p info --local=1x1 -o run
	grep -qx '    nvcc  *11.8.89' out
	grep -qx 'n0,node,nvcc,11.8.89,,nvcc' run/facts.csv
}

@test "info: this machine, in words, as rows, as an object" {
	NCCL_NET=Socket run_p info --local=2x1 -o run
	[ "$status" -eq 0 ]
	grep -q "^PASS  info: 2 of 2 nodes responded" out
	grep -qx "n\[0,1\]" out
	[ "$(grep -c '^    kernel  *'"$(uname -r)" out)" -eq 1 ]
	grep -q "^    NCCL_NET  *Socket$" out
	grep -q "^    nccl_version " out
	[ "$(columns_of outcome run/results.csv | xargs)" = "ok ok" ]
	jq -e '.status == "pass" and .cells.pass == 2 and
		.findings == []' run/verdict.json
	cp out words
	run_p report run
	diff words out
	run_p report run --csv
	cmp out run/facts.csv
	run_p report run --json
	jq -e '(.rows | length) == 2 and .verdict.probe == "info" and
		any(.facts[]; .node == "n1" and .fact == "kernel")' out
	[ "$(jq '.facts | length' out)" -eq $(($(wc -l <run/facts.csv) - 1)) ]
}

@test "info: without Slurm and without options, this machine" {
	PATH=$stub:/nowhere run_p info --quiet -o run
	[ "$status" -eq 0 ]
	[ ! -s out ]
	[ ! -s err ]
	[ "$(columns_of node run/results.csv)" = n0 ]
	[ -s run/verdict.json ]
}

@test "info: a node that never answers is named, the others are shown" {
	make_dir run
	agent 0 3
	agent 2 3
	wait
	run_p report run
	grep -q "info: 2 of 3 nodes responded" out
	grep -q "^n\[*0,.*2" out
	# all nodes are this machine: if it is busy, nobody can tell
	jq -e '[.findings[0].code, .status, .cells.skipped, .cells.not_run] |
		IN(["agent_missing", "fail", 1, 0],
			["starved", "partial", 0, 1])' run/verdict.json
}

@test "info: nodes that differ, and what each alone has" {
	told n0 n1 n2 <<-'F'
		n0,node,driver,570.86,,nvml
		n1,node,driver,550.54,,nvml
		n2,node,driver,570.86,,nvml
		n0,gpu0,name,NVIDIA H200,,nvml
		n1,gpu0,name,NVIDIA H100,,nvml
		n0,mlx5_0,port_state,ACTIVE,,sys
		n0,mlx5_0,pcie_speed,16,GT/s,sys
		n0,mlx5_0,pcie_speed_max,32,GT/s,sys
	F
	run_p report run
	[ "$status" -eq 0 ]
	grep -q "^WARN  info: 3 of 3" out
	grep -q "driver 550.54 (others: 570.86)" out
	grep -q "different GPU models (NVIDIA H200, NVIDIA H100)" out
	grep -q "mlx5_0 of n0: its PCIe link runs at 16 of 32 GT/s" out
	# all; the two alike; each of the three
	[ "$(grep -c '^n' out)" -eq 5 ]
	[ "$(grep '^n' out | head -2 | xargs)" = "n[0-2] n[0,2]" ]
	run_p report run -v
	grep -q "config_skew\|score" out
}

@test "info: fewer GPUs than there should be" {
	told n0 n1 n2 <<-'F'
		n0,gpu0,uuid,GPU-0,,nvml
		n1,node,gpus_expected,2,,SLURM_GPUS_ON_NODE
		n1,gpu0,uuid,GPU-1,,nvml
		n2,node,gpu_note,the driver does not answer,,none
	F
	run_p report run
	[ "$status" -eq 1 ]
	jq -e '[.findings[] | [.node, .code, .severity]] ==
		[["n1", "gpu_missing", "fail"], ["n2", "gpu_missing", "warn"]] and
		.exclude == ["n1"]' run/verdict.json
}

@test "info: of many nodes the first sets, and all with -v" {
	mapfile -t nodes < <(printf 'n%d\n' {10..40})
	told "${nodes[@]}" </dev/null
	run_p report run
	[ "$(grep -c '^n' out)" -eq 12 ]
	grep -q "^20 more" out
	run_p report run -v
	[ "$(grep -c '^n' out)" -eq 32 ]
	[ "$(grep -cx 'n40' out)" -eq 1 ]
}

@test "info: no node answered is exit 3" {
	told </dev/null
	echo "n0,not_run,interrupted,,2026-01-01T00:00:00Z" >>run/results.csv
	run_p report run
	[ "$status" -eq 3 ]
	grep -q "^UNKNOWN" out
	jq -e '.status == "unknown"' run/verdict.json
}

# bond ROOT STATE PARTNER: bond0 of two legs, the second in these LACP states
bond()
{
	local leg
	mkdir -p "$1/proc/net/bonding"
	{
		echo 'Bonding Mode: IEEE 802.3ad Dynamic link aggregation'
		for leg in ens1f0 ens1f1; do
			printf '\n%s\n' "Slave Interface: $leg" \
				'MII Status: up' 'Permanent HW addr: 02:00:00:00:00:01' \
				'Aggregator ID: 1'
			mkdir -p "$1/sys/class/net/$leg/bonding_slave"
			echo 63 >"$1/sys/class/net/$leg/bonding_slave/ad_actor_oper_port_state"
			echo 61 >"$1/sys/class/net/$leg/bonding_slave/ad_partner_oper_port_state"
		done
	} >"$1/proc/net/bonding/bond0"
	echo "$2" >"$1/sys/class/net/ens1f1/bonding_slave/ad_actor_oper_port_state"
	echo "$3" >"$1/sys/class/net/ens1f1/bonding_slave/ad_partner_oper_port_state"
}

# leg_down FILE: the one finding of a verdict is that of n1's bond
leg_down()
{
	jq -e '.status == "warn" and (.findings | map("\(.kind) \(.node) \(.code)") ==
		["node n1 bond_leg_down"])' "$1" || { cat "$1"; false; }
}

@test "a leg of a bond that LACP does not use is bond_leg_down" {
	bond root/n0 63 61
	bond root/n1 7 5
	run_p info --local=2x1 --sysroot="$PWD/root" -o run --record=kept
	[ "$status" -eq 0 ]
	leg_down run/verdict.json
	grep -q '^n1,ens1f1,lacp_partner_state,5,' run/facts.csv
	tr -s ' \n' ' ' <out | grep -q 'a leg of bond0 does not work: ens1f1 is up, but LACP does not use it (port state 7, of the switch 5)'
	# what is recorded says the same, without addresses
	absent 02:00 kept/n1/tree
	"$root/tests/machines/unpack" kept/n1 again
	run_p info --local=1x1 --sysroot="$PWD/again" -o second
	jq -e '.findings[0].code == "bond_leg_down"' second/verdict.json
	run_p node --sysroot="$PWD/root/n1" --json
	jq -e '.verdict.findings | map(.code) == ["bond_leg_down"]' out
	run_p p2p --local=2x2 --transport=sim --sysroot="$PWD/root" -o pairs
	leg_down pairs/verdict.json
	# one finding of all steps that have it
	run_p all --local=2x2 --transport=sim --quick -o all
	cp pairs/verdict.json all/p2p
	cp pairs/verdict.json all/ib
	run_p report -o steps all
	[ "$status" -eq 0 ]
	leg_down steps/verdict.json
	grep -q 'found by ib and p2p' out
}

@test "info: --record keeps what shows the fabric, and no secret" {
	mkdir -p root/etc/slurm root/sys/class/infiniband/mlx5_0/ports/1
	echo '4: ACTIVE' >root/sys/class/infiniband/mlx5_0/ports/1/state
	printf '%s\n' '# secret 1' NCCL_IB_TC=106 NCCL_COMM_ID=secret:1 \
		NCCL_IB_ADDR_RANGE=secret/8 PASSWORD=secret \
		NCCL_DEBUG_FILE=/home/secret/nccl.log NCCL_HOSTID=secret \
		NCCL_NET_PLUGIN=/home/secret/libnccl-net.so \
		NCCL_TOPO_FILE=/home/secret/topo.xml >root/etc/nccl.conf
	mkdir -p root/home/secret
	printf '%s\n' '<!-- secret --><system version="1">' \
		'<cpu numaid="0" host_hash="0xsecret"><pci busid="0000:1b:00.0">' \
		'<net name="mlx5_0" guid="0xsecret" sn="secret"/></pci></cpu>' \
		'</system>' >root/home/secret/topo.xml
	printf '%s\n' 'SlurmctldHost=secret' 'AuthInfo=secret' \
		'MpiDefault=pmix # as it is' 'NodeName=secret' \
		>root/etc/slurm/slurm.conf
	SECRET=secret NCCL_SECRET=secret run_p info --local=1x1 \
		--sysroot="$PWD/root" --record=kept -o run
	[ "$status" -eq 0 ] || { cat out err; false; }
	[ "$(<kept/n0/tree)" = "etc/nccl.conf = NCCL_IB_TC=106
etc/slurm/slurm.conf = MpiDefault=pmix
sys/class/infiniband/mlx5_0/ports/1/state = 4: ACTIVE
var/run/nvidia-topologyd/virtualTopology.xml = <system version=\"1\">\\n\
<cpu numaid=\"0\">\\n<pci busid=\"0000:1b:00.0\">\\n<net name=\"mlx5_0\"/>\\n\
</pci>\\n</cpu>\\n</system>" ]
	run grep -r secret kept
	[ "$status" -eq 1 ]
	grep -q "^n0,node,recorded,$PWD/kept/n0," run/facts.csv
	# into a folder of its own, and only when it runs
	run_p info --local=1x1 --record=kept
	fails 2 "cannot create the folder 'kept'"
	run_p info -N 2 --launcher=sbatch --record=other --dry-run
	[ ! -e other ]
	# what a run left that did not start is in nobody's way
	run_p info --local=1x1 --record=again -o "$PWD/run"
	fails 2 'run'
	[ -d again ]
	run_p info --local=1x1 --record=again -o run2
	[ "$status" -eq 0 ] && [ -f again/n0/tree ]
}

@test "info: a recorded machine, what would run, what makes no sense" {
	run_p info --local --sysroot="$root/tests/fixtures/sysroot/hgx-healthy" \
		--csv
	[ "$status" -eq 0 ]
	grep -q "^n0,node,driver,580.95.05," out
	run_p info -N 3 --launcher=sbatch --dry-run
	[ "$status" -eq 0 ]
	grep -q "gpucheck-info" out
	run_p info --pairs=all
	fails 2 "'info' has no option '--pairs=all'"
	run_p info --local=2x1 -N 2
	fails 2 "--local does not go with"
	run_p plan info -N 4
	grep -q "20 s  at most" out
}
