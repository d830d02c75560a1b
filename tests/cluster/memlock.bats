#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Who lowers the locked-memory limit of a job: slurmd, or Slurm on its way from
# the login shell?  Jobs are an unprivileged user's, because root's may exceed
# their limits.  What stands for "unlimited" is the most that this machine
# gives to anybody; where that is little, --need says that little is enough.

load helper

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb COLUMNS=80
	most=$(ulimit -H -l)
	need=()
	[ "$most" = unlimited ] || need=(--need=1M)
	cp "$SLURM_CONF" slurm.conf
	# for a user who may not look into a home of root's
	work=$(mktemp -d "$CLUSTER/memlock.XXXXXX")
	chmod 777 "$work"
	cp "$GPUCHECK" "$work/gpucheck"
	dir=$work/run
	await 30 nodes_are_idle
}

teardown()
{
	local good=true
	pasted || good=false
	await 30 queue_is_empty
	cp slurm.conf "$SLURM_CONF"
	slurmd_at "$most"
	rm -rf "$work"
	$good
}

# propagate LINE...: what slurm.conf says about the limits of jobs.
propagate()
{
	printf '%s\n' "$@" >>"$SLURM_CONF"
	scontrol reconfigure
}

# Start slurmd again on both nodes, with a limit of $1 KiB.
slurmd_at()
{
	local node

	for node in 1 2; do
		node-kill $node
		(
			ulimit -S -l "$1"
			ulimit -H -l "$1"
			node-up $node
		) 3>&- 4>&-
	done
	scontrol reconfigure
	await 30 nodes_are_idle
}

# look CODE LIMIT [OPTION...]: from a login shell with a soft limit of LIMIT KiB.
look()
{
	local wanted=$1 limit=$2 code=0
	shift 2

	(
		cd "$work" || exit
		ulimit -S -l "$limit"
		exec setpriv --reuid=65534 --regid=65534 --clear-groups \
			./gpucheck memlock -N 2 -G 1 "${need[@]}" "$@" -o "$dir"
	) >out 2>err 3>&- || code=$?
	sed 's/^/# /' out >&3
	expect "$code" "$wanted"
}

# Soft limits in context $1, in KiB.
soft()
{
	awk -F, -v context="$1" '
		$2 == context && $3 == "memlock_soft" && $5 != "" {
			print $5 / 1024 }' "$dir/results.csv" | sort -u
}

@test "propagated from a login shell at 64 KiB: the finding is propagation" {
	propagate PropagateResourceLimits=ALL
	look 1 64
	expect "$(findings | grep -v slurmd_unseen | head -1)" \
		"config null memlock_propagated"
	expect "$(soft login)" 64
	expect "$(soft batch)" 64
	expect "$(soft step)" 64
	expect "$(count context batch | grep -c 0)" 0
	says 'do: Add this line to slurm.conf: PropagateResourceLimitsExcept=MEMLOCK' out
	says '^  batch +64 KiB ' out
	says '^  mlock .* 64 KiB +64 KiB +68 KiB ' out
}

@test "slurmd started at 64 KiB: the finding is slurmd" {
	slurmd_at 64
	look 1 "$most"
	expect "$(findings | head -1)" "limit null memlock_slurmd_outside"
	expect "$(soft slurmd)" 64
	expect "$(soft step)" 64
	# it is not a unit of systemd here
	says 'ulimit -l unlimited && slurmd' out
}

@test "one slurmd at 64 KiB: that node, and no other" {
	node-kill 2
	(ulimit -S -l 64 && ulimit -H -l 64 && node-up 2) 3>&- 4>&-
	await 30 nodes_are_idle
	look 1 "$most"
	expect "$(findings | head -1)" "limit gcn2 memlock_slurmd_outside"
	expect "$(jq -c .exclude "$dir/verdict.json")" '["gcn2"]'
}

@test "nothing propagated and enough for slurmd: pass" {
	propagate PropagateResourceLimits=NONE
	look 0 64
	expect "$(soft login)" 64
	expect "$(soft step | grep -cx 64)" 0
	expect "$(jq '[.findings[] | select(.severity == "fail")] | length' \
		"$dir/verdict.json")" 0
	says 'PropagateResourceLimits=NONE' "$dir/results.csv"
}

@test "all propagated except MEMLOCK: pass" {
	propagate PropagateResourceLimitsExcept=MEMLOCK
	look 0 64
	expect "$(soft login)" 64
	expect "$(soft step | grep -cx 64)" 0
}

@test "except MEMLOCK, and slurmd at 64 KiB: the finding is slurmd" {
	propagate PropagateResourceLimitsExcept=MEMLOCK
	slurmd_at 64
	look 1 64
	expect "$(findings | head -1)" "limit null memlock_slurmd_outside"
}

@test "on a node root judges slurmd, not the own shell" {
	slurmd_at 64
	run node-run 1 "$GPUCHECK" memlock --node "${need[@]}"
	expect "$status" 1
	[[ $output == *'slurmd is limited to 64 KiB'* ]]
	slurmd_at "$most"
	run node-run 1 prlimit --memlock=65536: "$GPUCHECK" memlock --node \
		--quiet "${need[@]}"
	expect "$status" 0
	[ -z "$output" ]
}

@test "a node whose agent never comes up is skipped, with its reason" {
	# the program is there on one node only
	node-run 2 mount --bind /bin/false "$work/gpucheck"
	look 1 "$most" --boot-timeout=3s
	node-run 2 umount "$work/gpucheck"
	expect "$(findings | head -1)" "node gcn2 agent_missing"
	expect "$(grep -c '^gcn2,,,.*,skipped,agent_missing,' \
		"$dir/results.csv")" 1
	expect "$(soft step | grep -c .)" 1
}
