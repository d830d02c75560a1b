#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# One node of four cannot start an agent, and Slurm still shows it as idle: the
# others are measured wholly, and that node is the only finding.

load ../jobs/helper

setup_file()
{
	mkdir "$BATS_FILE_TMPDIR/bin"
	cp "$GPUCHECK" "$BATS_FILE_TMPDIR/bin/gpucheck"
	export GPUCHECK=$BATS_FILE_TMPDIR/bin/gpucheck
	# little locked memory is enough here
	export GPUCHECK_NEED=1M
	cat >"$CLUSTER/prolog" <<-P
	#!/bin/sh
	[ "\$SLURMD_NODENAME" != gcn3 ] || [ ! -e $CLUSTER/prolog-fails ]
	P
	chmod +x "$CLUSTER/prolog"
}

teardown()
{
	end_jobs
	heal
}

# Node 3 as it was.
heal()
{
	rm -f "$CLUSTER/prolog-fails"
	node-kill 3 || true
	nsenter --net="$CLUSTER/net/gcn3" nft flush ruleset
	node-up 3
	scontrol update nodename=gcn3 state=resume 2>err || true
	await 60 respond
}

# No star either, which a node has that Slurm waits for.
respond()
{
	[ "$(sinfo --noheader --Node --format=%T | sort | uniq -c | xargs)" = \
		"4 idle" ]
}

# packets RULE: node 3 drops those.
packets()
{
	node-run 3 nft -f - <<-N
	table inet lost {
		chain out { type filter hook output priority 0; $1 drop; }
		chain in { type filter hook input priority 0; $1 drop; }
	}
	N
}

# The ways.
slurmd_killed()
{
	node-run 3 pkill -KILL -x slurmd
}

unplugged()
{
	node-unplug 3
}

black_hole()
{
	packets 'meta l4proto tcp meta length > 1200'
}

# Between node 1, which has the coordinator, and node 3, but for Slurm's daemons.
firewall()
{
	packets "ip daddr 10.99.0.11 tcp dport != { 6817, 6818 } \
		tcp sport != { 6817, 6818 }"
}

prolog_fails()
{
	touch "$CLUSTER/prolog-fails"
}

program_missing()
{
	mkdir -p empty
	node-run 3 mount --bind "$PWD/empty" "$(dirname "$GPUCHECK")"
}

# "NODE" of each fault.
faults()
{
	jq -r '.findings[] | select(.severity == "fail") | .node' \
		"$1/verdict.json" | sort -u | xargs
}

# Good rows of the run $1 that are not about node 3, and the others.
rows_without()
{
	grep -v gcn3 "$1/results.csv" | tail -n +2 | grep -cE ',ok,'
}

# The run $2 of probe $1 measured all of the other three nodes, with $3 good
# pairs.
measured()
{
	case $1 in
	p2p)
		# a busy machine makes some slow; --quick takes a sample
		jq -e ".cells | .pass + .slow >= $3 and .error + .timeout +
			.corrupt + .not_run + .fail == 0" "$2/verdict.json"
		;;
	ping)
		[ "$(grep -v gcn3 "$2/results.csv" | tail -n +2 |
			grep -vc ',ok,')" = 0 ]
		[ "$(rows_without "$2")" -ge 6 ]
		;;
	memlock)
		[ "$(cut -d, -f1 "$2/results.csv" | grep gcn | grep -v gcn3 |
			sort -u | wc -l)" = 3 ]
		;;
	esac
}

# lost WAY WORDS: each command, with WORDS in what it prints of the node.
lost()
{
	local way=$1 words=$2 name start dir command

	for command in "p2p -G 2 --transport=tcp -b 64K" ping memlock \
		"all -G 2 --transport=tcp --quick"; do
		name=${command%% *}
		dir=$PWD/$name
		echo "$way: $command"
		$way
		start=$SECONDS
		# shellcheck disable=SC2086
		run_to 1 $command -N 4 -o "$dir"
		echo "$way: $name: $((SECONDS - start)) s"
		[ $((SECONDS - start)) -le 60 ]
		[ "$(faults "$dir")" = gcn3 ]
		tr -s ' \n' ' ' <out | grep -qE "$words" || { cat out; false; }
		if [ "$name" = all ]; then
			for name in memlock ping p2p; do
				measured "$name" "$dir/$name" 18
			done
		else
			measured "$name" "$dir" 30
		fi
		if [ -n "${KEEP-}" ]; then
			mkdir -p "$KEEP/$way"
			cp -r out err "$dir" "$KEEP/$way"
		fi
		end_jobs
		heal
	done
}

@test "slurmd of a node was killed" {
	lost slurmd_killed 'failed on node gcn3: Communication connection failure'
}

@test "a node is unplugged" {
	lost unplugged 'failed on node gcn3: Communication connection failure'
}

@test "a node loses TCP packets above 1,200 bytes" {
	lost black_hole 'nothing came back|reported in time|failed on node gcn3'
}

@test "a firewall is between a node and the coordinator" {
	lost firewall 'nothing came back within 30 s'
}

@test "the prolog fails on a node" {
	lost prolog_fails 'Slurm has gcn3 as drain.*Prolog error'
}

@test "a node has no such program" {
	lost program_missing 'execve\(\): .*/gpucheck: No such file or directory'
}

# Where the batch script runs: the job is submitted once more.
first_without_slurmd()
{
	node-run 1 pkill -KILL -x slurmd
}

first_unplugged()
{
	node-unplug 1
}

first_without_program()
{
	mkdir -p empty
	node-run 1 mount --bind "$PWD/empty" "$(dirname "$GPUCHECK")"
}

heal_first()
{
	node-kill 1 || true
	node-up 1
	scontrol update nodename=gcn1 state=resume 2>err || true
	await 60 respond
}

@test "the first node has no slurmd, no cable or no program" {
	local way start

	for way in first_without_program first_without_slurmd first_unplugged; do
		$way
		start=$SECONDS
		run_to 1 p2p -N 4 -G 2 --transport=tcp -b 64K -o "$PWD/$way"
		echo "$way: $((SECONDS - start)) s"
		[ $((SECONDS - start)) -le 60 ]
		[ "$(faults "$way")" = gcn1 ]
		measured p2p "$way" 30
		grep -qE 'job [0-9]+ is submitted without gcn1' err
		end_jobs
		heal_first
	done
}

@test "the other one of two nodes is silent" {
	local start

	firewall
	start=$SECONDS
	run_to 1 p2p --nodelist=gcn1,gcn3 -G 2 --transport=tcp -b 64K -o "$PWD/two"
	# of two nodes the other one may be importing an image: 60 s more
	[ $((SECONDS - start)) -le 110 ]
	[ "$(faults two)" = gcn3 ]
	[ "$(jq .cells.pass+.cells.slow two/verdict.json)" = 2 ]
}
