#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck node by an NVML without a GPU, which is sick, hangs, or is not there;
# see fake_nvml.c.

load ../cli/helper
load ../await

setup()
{
	export GPUCHECK_NVML_LIB=$GPUCHECK_TEST_FAKE_NVML FAKE_NVML_CLOCKS="0 0 0"
	unset "${!SLURM@}" CUDA_VISIBLE_DEVICES
	export GPUCHECK_HCA="=none" GPUCHECK_IFNAME="=none"
	export GPUCHECK_CONFIG=none
	cd "$BATS_TEST_TMPDIR" || return
}

teardown()
{
	[ ! -e frozen/looks ] || fsfreeze -u frozen 2>/dev/null || true
	[ ! -e frozen/looks ] || await 30 umount frozen
}

# node STATUS LINE [OPTION...]: the first line matches LINE.
node()
{
	local want=$1 line=$2
	shift 2
	run_p node "$@"
	# shellcheck disable=SC2053 # it is a pattern
	if [ "$status" -ne "$want" ] || [[ ${output%%$'\n'*} != $line ]]; then
		echo "exit $status, not $want, or not '$line':"
		cat out err
		return 1
	fi
}

@test "three GPUs, as many as expected, and one fewer" {
	node 0 'ok * 3 GPUs, *' --expect-gpus=3
	node 1 'FAIL * gpu_missing: * shows 3 of 4 GPUs, expected by --expect-gpus' \
		--expect-gpus=4
	SLURMD_NODENAME=n7 node 0 'ok n7 3 GPUs, *'
}

@test "whoever starts it may ignore the end of children" {
	GPUCHECK_EXPECT_GPUS=3 env --ignore-signal=CHLD "$GPUCHECK" node >out
	grep -q '^ok .* 3 GPUs' out
}

@test "slurm.conf says how many; where it is silent nobody does" {
	echo 'NodeName=n[1-2] Gres=gpu:4' >more.conf
	printf 'ClusterName=x\ninclude more.conf\n' >slurm.conf
	export SLURM_CONF=$PWD/slurm.conf
	SLURMD_NODENAME=n1 node 1 'FAIL n1 gpu_missing: *slurm.conf'
	SLURMD_NODENAME=n3 node 0 'ok n3 3 GPUs, *'
}

@test "a sick GPU is named" {
	FAKE_NVML_SICK=lost node 1 'FAIL * gpu_lost: GPU 1: *GPU is lost' \
		--expect-gpus=3
	FAKE_NVML_SICK=recovery node 1 'FAIL * xid_154_reset: GPU 1: *'
	FAKE_NVML_SICK=mismatch node 1 'FAIL * driver_mismatch: *' \
		--expect-gpus=3
	FAKE_NVML_SICK=mismatch node 0 'ok * 0 GPUs, *'
}

# fabric WORD...: node, with that state of each of three GPUs
fabric()
{
	local want=$1 line=$2
	shift 2
	FAKE_NVML_FABRIC="$*" node "$want" "$line"
}

@test "the NVLink fabric: each state, each field of its health, each version" {
	for FAKE_NVML_FABRIC_V in 1 2 3; do
		export FAKE_NVML_FABRIC_V
		fabric 0 'ok *' 0 0 0
		fabric 0 'ok *' 3 3 3
		fabric 1 'FAIL * fabric_not_ready: GPU 1: *: not_started' 3 1 3
		fabric 1 'FAIL * fabric_not_ready: GPU 1: *: in_progress' 3 2 3
		fabric 1 'FAIL * fabric_not_ready: GPU 1: *: not found' 3 3,6 3
		fabric 1 'FAIL * fabric_not_ready: * all 3 GPUs: in_progress' 2 2 2
	done
	# 0x1aa: all four fields are false, and no incorrect configuration
	fabric 0 'ok *' 3,0,0x1aa,1 3,0,0x1aa,1 3,0,0x1aa,1
	while read -r mask want code words; do
		for FAKE_NVML_FABRIC_V in 2 3; do
			fabric "$want" "* $code: GPU 1: *: $words*" \
				3,0,0x1aa,1 "3,0,$mask,2" 3,0,0x1aa,1
		done
	done <<-E
		0x1a9 0 fabric_degraded degraded_bandwidth
		0x1a6 0 fabric_degraded route_recovery
		0x19a 1 fabric_degraded route_unhealthy
		0x16a 0 fabric_degraded access_timeout_recovery
		0x2aa 1 fabric_degraded incorrect_sysguid
		0x3aa 1 fabric_degraded incorrect_chassis_sn
		0x4aa 1 fabric_degraded no_partition
		0x5aa 1 fabric_degraded insufficient_nvlinks
		0x6aa 1 fabric_degraded incompatible_gpu_fw
		0x7aa 1 fabric_degraded invalid_location
		0xfaa 1 fabric_degraded 15
	E
	fabric 1 'FAIL * fabric_degraded: GPU 1: *: unhealthy' 3 3,0,0,2 3
	fabric 0 'warn * fabric_degraded: GPU 1: *: limited_capacity' 3 3,0,0,3 3
	fabric 0 'warn * fabric_cliques: *clique 1*clique 2*' \
		3,0,0,0,7,1 3,0,0,0,7,2 3,0,0,0,7,1
}

@test "a fabric manager of another version than the driver" {
	mkdir bin
	PATH=$PWD/bin:$PATH
	for version in 580.159.04 570.1.2; do
		printf '#!/bin/sh\necho "Fabric Manager version is : %s"\n' \
			$version >bin/nv-fabricmanager
		chmod +x bin/nv-fabricmanager
		case $version in
		580*) node 0 'ok *' ;;
		*) node 0 'warn * fabricmanager_version: *570.1.2 and 580.159.04' ;;
		esac
	done
	# one that hangs is left alone
	printf '#!/bin/sh\nexec sleep 100\n' >bin/nv-fabricmanager
	node 0 'ok *'
}

@test "of GPUs that are not the job's nothing is said" {
	export FAKE_NVML_SICK=lost SLURM_JOB_ID=7
	CUDA_VISIBLE_DEVICES=0,2 node 0 'ok * 2 GPUs, *'
	SLURM_JOB_GPUS=0,2 node 0 'ok * 2 GPUs, *' --expect-gpus=8
	SLURM_JOB_GPUS=1-2 node 1 'FAIL * gpu_lost: GPU 1: *'
	SLURM_JOB_GPUS=0,3 node 1 \
		'FAIL * gpu_missing: * shows 1 of 2 GPUs, expected by SLURM_JOB_GPUS'
	# Slurm gives out GPUs, and gave it none
	echo 'NodeName=n1 Gres=gpu:4' >slurm.conf
	SLURM_CONF=$PWD/slurm.conf SLURMD_NODENAME=n1 node 0 'ok n1 0 GPUs, *'
	# Slurm gives out none
	SLURM_CONF=$PWD/none node 1 'FAIL * gpu_lost: GPU 1: *'
	SLURM_JOB_GPUS=0 node 0 'ok * 1 GPU, *' -v
	[ "$(grep -c '^gpu[12]' out)" -eq 0 ]
}

@test "who holds a GPU is said, and never fails a hook" {
	sleep 100 &
	FAKE_NVML_PIDS=$! node 0 "warn * gpu_busy: GPU 0: held by pid $! (sleep*"
	FAKE_NVML_PIDS=$! SLURM_JOB_ID=7 node 1 'FAIL * gpu_busy: GPU 0: *' \
		--max-time=10s
	kill $!
	node 2 '' --fail-on=gpu_busy
	fails 2 "'gpu_busy' never fails a node"
	node 2 '' --fail-on=gpu_lost,gpu_losst
	fails 2 "there is no code 'gpu_losst'"
}

@test "--fail-on: its codes alone" {
	export FAKE_NVML_SICK=lost
	node 1 'FAIL * gpu_lost: *' --fail-on=port_down,gpu_lost
	node 0 'FAIL * gpu_lost: *' --fail-on=port_down
}

@test "a driver that hangs is no fault, and what was said before counts" {
	FAKE_NVML_INIT=100 node 4 'partial * worker_hung: GPUs *' \
		--expect-gpus=3 --max-time=1s
	FAKE_NVML_HANG=1 FAKE_NVML_SICK=lost node 4 \
		'FAIL * gpu_lost: GPU 1: *; worker_hung: *' --max-time=1s
	FAKE_NVML_HANG=1 FAKE_NVML_SICK=lost node 1 'FAIL *' --max-time=1s \
		--fail-on=gpu_lost
	FAKE_NVML_INIT=100 node 0 'partial *' --max-time=1s --fail-on=gpu_missing
	[ "$(pgrep -fc "worker node_")" -eq 0 ]
}

@test "what a file sets for runs does not make it wait" {
	printf 'max-time=30m\n' >conf
	FAKE_NVML_INIT=100 GPUCHECK_CONFIG=$PWD/conf node 4 \
		'partial * worker_hung: GPUs *'
}

@test "without its libraries it is partial where GPUs are expected" {
	export GPUCHECK_NVML_LIB=/no/such/lib.so
	node 0 'ok * 0 GPUs, *'
	node 4 'partial * library_missing: *' --expect-gpus=3
	node 0 'partial *' --expect-gpus=3 --fail-on=gpu_missing
}

@test "a reader that is gone does not keep it" {
	mkfifo pipe
	exec 5<>pipe
	# what fills it before leaves no room for the line
	dd if=/dev/zero bs=65536 count=1 2>/dev/null >&5
	rc=0
	timeout 60 "$GPUCHECK" node --max-time=1s >&5 5>&- || rc=$?
	[ "$rc" -eq 3 ]
}

@test "--json has the verdict, rows and facts; -v all of it in words" {
	FAKE_NVML_SICK=lost node 1 '{*' --json
	jq -e '.verdict.findings[0] | .code == "gpu_lost" and .kind == "gpu" and
		.index == 1 and (.do | length) > 0' out
	jq -e '.run.probe == "node" and (.rows | length) > 10 and
		(.facts | map(select(.fact == "uuid")) | length) == 3' out
	FAKE_NVML_SICK=lost node 1 '{*' --json=verdict
	jq -e 'keys == ["run", "verdict"]' out
	FAKE_NVML_SICK=lost node 1 'FAIL *' -v
	grep -q 'do: Power-cycle the node' out
	grep -q '^gpu0 *ecc_uncorrected *0' out
	node 0 '' -q
}

# A file system that is frozen: who writes to it waits in the kernel, where no
# signal reaches it.
@test "a process that cannot be killed is left behind" {
	[ "$(id -u)" = 0 ] && command -v mkfs.ext4 >/dev/null || skip "not root, or no ext4"
	truncate -s 8M image
	mkfs.ext4 -q image
	mkdir frozen
	mount -o loop image frozen || skip "no loop device"
	touch frozen/looks
	fsfreeze -f frozen
	# whatever comes of the test
	(sleep 60; fsfreeze -u frozen) >/dev/null 2>&1 3>&- &
	thaw=$!
	FAKE_NVML_LOOKS=$PWD/frozen/looks node 4 'partial * worker_hung: *state D*' \
		--max-time=3s
	left=$(pgrep -r D -f 'worker node_gpus')
	printf '%s\n' "GPUCHECK=$GPUCHECK" LIMIT_S=3 FAIL_ON=gpu_lost \
		"FAKE_NVML_LOOKS=$PWD/frozen/looks" >settings
	GPUCHECK_SITE_SETTINGS=$PWD/settings timeout 60 \
		"$BATS_TEST_DIRNAME/../../data/site/prolog" >said 2>&1 && went=well
	fsfreeze -u frozen
	pkill -P $thaw || true
	wait $thaw || true
	await 30 umount frozen
	[ -n "$left" ] && [ "$went" = well ]
	grep -q 'worker_hung' said
}
