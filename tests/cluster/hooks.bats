#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The hooks of data/site as Prolog, Epilog and HealthCheckProgram of a real
# Slurm: none drains a node but for a fault that was chosen, and each ends in
# time.  $JOBS jobs in each case: 200 is what docs/slurm.md has the figures of.

load helper

JOBS=${JOBS:-8}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb
	cp "$SLURM_CONF" slurm.conf
	hooks=$CLUSTER/hooks
	mkdir -p "$hooks/site"
	cp "$BATS_TEST_DIRNAME"/../../data/site/* "$hooks/site"
	for role in prolog epilog healthcheck; do
		wrap $role >"$hooks/$role"
		chmod +x "$hooks/$role"
	done
	: >"$hooks/times"
	: >"$hooks/said"
	await 30 nodes_are_idle
}

teardown()
{
	local good=true
	pasted || good=false
	cp slurm.conf "$SLURM_CONF"
	scontrol reconfigure
	scancel --quiet --user=root
	await 60 queue_is_empty
	for node in gcn1 gcn2; do
		scontrol update nodename=$node state=resume 2>/dev/null || true
	done
	await 60 nodes_are_idle
	node-run 1 umount -q /var/tmp || true
	node-run 2 umount -q /var/tmp || true
	rm -rf "$hooks"
	$good
}

# The hook of role $1 with its settings, and how long it took.
wrap()
{
	cat <<-W
		#!/bin/bash
		export GPUCHECK_SITE_SETTINGS=$hooks/settings
		begin=\$EPOCHREALTIME
		$hooks/site/$1 >>$hooks/said 2>&1
		code=\$?
		echo "$1 \$begin \$EPOCHREALTIME \$code" >>$hooks/times
		exit \$code
	W
}

# settings [LINE...]: a node of eight GPUs by NVML, as Slurm has it.
settings()
{
	printf '%s\n' "GPUCHECK=$GPUCHECK" "SLURM_CONF=$SLURM_CONF" \
		FAKE_NVML_ALL=1 \
		"GPUCHECK_NVML_LIB=${GPUCHECK_TEST_FAKE%/*}/libnvml_fake.so" \
		FAKE_NVML_CLOCKS="'0 0 0 0 0 0 0 0'" \
		FAIL_ON=gpu_lost,gpu_missing,port_down,driver_mismatch \
		"$@" >"$hooks/settings"
}

use_hooks()
{
	printf '%s\n' "Prolog=$hooks/prolog" "Epilog=$hooks/epilog" \
		PrologEpilogTimeout=60 >>"$SLURM_CONF"
	scontrol reconfigure
}

ran()
{
	[ "$(grep -c "^$1 " "$hooks/times")" -ge "$2" ]
}

# Jobs that need a GPU, one after the other has ended, and all are heard of.
jobs_run()
{
	sbatch -Q --array="1-$JOBS" --gres=gpu:1 --ntasks=1 --mem=1 -o /dev/null \
		--wrap true
	await 300 ran epilog "$JOBS"
	await 60 queue_is_empty
	[ "$(grep -c '^prolog ' "$hooks/times")" -eq "$JOBS" ]
	[ "$(awk '$4 != 0' "$hooks/times" | wc -l)" -eq 0 ] ||
		{ cat "$hooks/times" "$hooks/said"; return 1; }
	await 30 nodes_are_idle
}

# figures NAME: how long the hooks took, in the TAP.
figures()
{
	awk '{ print $3 - $2 }' "$hooks/times" | sort -n | awk -v name="$1" '
		{ s[NR] = $1 }
		END {
			p99 = int(NR * 0.99 + 0.999999)
			printf "#| %-22s %4d hooks, %.2f s median, %.2f s p99, %.2f s most\n",
				name, NR, s[int((NR + 1) / 2)], s[p99], s[NR]
			exit s[p99] > 5
		}' >&3 || { echo "p99 above 5 s"; return 1; }
}

said()
{
	grep -qE -- "$1" "$hooks/said" || { cat "$hooks/said"; return 1; }
}

@test "healthy: jobs run, no node is drained" {
	settings
	use_hooks
	jobs_run
	said 'gpucheck-prolog: ok gcn[12] 1 GPU, '
	said 'gpucheck-epilog: ok gcn[12] 1 GPU, '
	figures healthy
}

@test "libraries missing: the same" {
	settings GPUCHECK_NVML_LIB=/no/such/libnvidia-ml.so
	use_hooks
	jobs_run
	said 'gpucheck-prolog: partial gcn[12] library_missing: '
	figures "libraries missing"
}

@test "NVML hangs: the same" {
	settings FAKE_NVML_INIT=1000
	use_hooks
	jobs_run
	said 'gpucheck-prolog: partial gcn[12] worker_hung: GPUs '
	figures "NVML hangs"
}

@test "the disk is full: the same" {
	settings TMPDIR=/var/tmp
	for node in 1 2; do
		node-run $node mount -t tmpfs -o size=16k full /var/tmp
		node-run $node dd if=/dev/zero of=/var/tmp/fill 2>/dev/null || true
	done
	sed -i '1a cd /var/tmp || exit 9; { : >/var/tmp/a && echo x >/var/tmp/a; } 2>/dev/null \&\& exit 9' \
		"$hooks/prolog" "$hooks/epilog"
	use_hooks
	jobs_run
	said 'gpucheck-prolog: ok gcn[12] 1 GPU, '
	figures "disk full"
}

@test "gpucheck is missing: the same" {
	settings GPUCHECK=/no/such/gpucheck
	use_hooks
	jobs_run
	said 'gpucheck-prolog: no result .exit code 127.'
}

drained()
{
	sinfo -h -n "$1" -t drain,draining -o %n | grep -qx "$1"
}

stays_up()
{
	if drained "$1"; then
		return 1
	fi
}

# How often Slurm was told to drain node $1 by gpucheck.
drains()
{
	grep -c "update_node: node $1 reason set to: gpucheck: " \
		"$CLUSTER/slurmctld.log"
}

@test "a chosen fault: the node is drained once, with its reason" {
	settings "[ \"\$SLURMD_NODENAME\" != gcn2 ] || FAKE_NVML_SICK=lost"
	use_hooks
	before=$(drains gcn2) || true
	# jobs that do not have the GPU are not hindered
	srun -Q --nodelist=gcn2 --gres=gpu:1 true
	srun -Q --nodelist=gcn1 --gres=gpu:8 true
	sbatch -Q --nodelist=gcn2 --gres=gpu:8 -o /dev/null --wrap true
	await 60 drained gcn2
	[ "$(scontrol -o show node gcn2 | grep -o 'Reason=gpucheck: gpu_lost: GPU 1: [^\[]*')" = \
		"Reason=gpucheck: gpu_lost: GPU 1: the driver cannot reach it: GPU is lost " ]
	[ "$(drains gcn2)" -eq $((before + 1)) ]
	stays_up gcn1
	srun -Q --gres=gpu:1 true
}

@test "the health check: drained once, and a node that is well is not" {
	settings "[ \"\$SLURMD_NODENAME\" != gcn1 ] || FAKE_NVML_SICK=lost"
	before=$(drains gcn1) || true
	printf '%s\n' "HealthCheckProgram=$hooks/healthcheck" \
		HealthCheckInterval=1 HealthCheckNodeState=ANY >>"$SLURM_CONF"
	scontrol reconfigure
	await 60 drained gcn1
	: >"$hooks/times"
	await 60 ran healthcheck 4
	scontrol -o show node gcn1 | grep -q 'Reason=gpucheck: gpu_lost: GPU 1: '
	[ "$(drains gcn1)" -eq $((before + 1)) ]
	stays_up gcn2
	said 'gpucheck-healthcheck: ok gcn2 8 GPUs, '
}
