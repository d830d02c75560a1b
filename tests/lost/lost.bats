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
	export PATH=$BATS_FILE_TMPDIR/bin:$PATH
	# no sshd is on the nodes; what is typed there is looked at, not the way
	cat >"$BATS_FILE_TMPDIR/bin/ssh" <<-'S'
	#!/bin/bash
	[ $# = 2 ] && exec node-run "${1#gcn}" bash -c "$2"
	S
	chmod +x "$BATS_FILE_TMPDIR/bin/ssh"
	# little locked memory is enough here
	export GPUCHECK_NEED=1M
	cat >"$CLUSTER/prolog" <<-P
	#!/bin/sh
	[ "\$SLURMD_NODENAME" != gcn3 ] || [ ! -e $CLUSTER/prolog-fails ]
	P
	chmod +x "$CLUSTER/prolog"
	[ ! -e "$CONTAINERS" ] ||
		echo "required $CONTAINERS" >"$CLUSTER/plugstack.conf"
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

# Every command that the words of out and err give: a line below a finding, or
# in quotes.  gpucheck's own come before those that change a node.
printed()
{
	{
		sed -n 's/^ \{10\}\([a-z]\+ [^ ].*\)$/\1/p' out
		cat out err | xargs -d '\n' |
			grep -oE '"(gpucheck|s[a-z]+|ssh|ping) [^"]+"' |
			sed 's/^.//; s/.$//'
	} | sort -u
}

# It waits for the node, and says so.
says_why()
{
	! kill -0 "$1" 2>/dev/null ||
		grep -qE 'is pending .*gcn[13]' <(xargs -d '\n' <words)
}

# It measures, 1 for what is still there; or it says why not.
works()
{
	local code=0 pid

	: >words	# those of the command before are not its own
	# of two nodes the silent one may still import an image, for a minute
	timeout --signal=INT 110 bash -c "$1" >words 2>&1 3>&- </dev/null &
	pid=$!
	await 111 says_why $pid
	kill -INT $pid 2>/dev/null || true
	wait $pid || code=$?
	case $1 in
	*,NODE)	# any other, as it says
		grep -q 'a node that Slurm does not know' words
		;;
	gpucheck*)
		[ "$code" -le 1 ] ||
			{ [ "$code" != 124 ] && grep -q 'gcn[13]' words; }
		;;
	*)
		[ "$code" != 255 ] && ! grep -q 'syntax error' words
		;;
	esac || {
		echo "$1: $code"
		cat words
		return 1
	}
}

# All that was printed, typed; each once.
printed_works()
{
	local command

	printed >commands
	[ -s commands ]
	while read -r command; do
		grep -qxF -- "$command" tried 2>/dev/null && continue
		echo "$command" >>tried
		echo "types: $command, $SECONDS s"
		works "$command" || return 1
		end_jobs
	done <commands
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
		printed_works
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
	lost black_hole 'no message arrived|reported in time|failed on node gcn3'
}

@test "a firewall is between a node and the coordinator" {
	lost firewall 'no message arrived within 30 s'
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
		printed_works
		heal_first
	done
}

@test "the other one of two nodes is silent" {
	local start

	firewall
	start=$SECONDS
	# and the minute in which it may import an image
	run_to 1 p2p --nodelist=gcn1,gcn3 -G 2 --transport=tcp -b 64K \
		--boot-timeout=5s -o "$PWD/two"
	[ $((SECONDS - start)) -le 90 ]
	[ "$(faults two)" = gcn3 ]
	[ "$(jq .cells.pass+.cells.slow two/verdict.json)" = 2 ]
	printed_works
}

small=(p2p -G 2 --transport=tcp -b 64K)

# The command of the last hint.
hinted()
{
	sed -n 's/^hint: .*to skip it: "\(gpucheck .*\)"$/\1/p' "$1" | tail -1
}

# others_tested FILE: the run whose report is there has tested the three other
# nodes; a busy machine makes some pairs slow.
others_tested()
{
	grep -Eq '^(PASS|WARN|FAIL).* on 3 nodes' "$1" || { cat "$1"; false; }
}

# Without gcn3 all is well.
skips()
{
	[ -n "$1" ]
	timeout 60 bash -c "$1" >words 2>&1 </dev/null || [ $? -eq 1 ]
	others_tested words
}

over()
{
	"$GPUCHECK" status "$1" >words 2>&1
	! grep -qE '^(PENDING|RUNNING|job [0-9]+ is )' words
}

@test "the prolog fails, and no command follows the job" {
	local command name

	for name in p2p all; do
		prolog_fails
		command=("${small[@]}")
		[ "$name" = p2p ] || command=(all -G 2 --transport=tcp --quick)
		run_to 0 "${command[@]}" -N 4 --no-wait -o "$PWD/$name"
		await 30 over "$name"
		grep -q 'Slurm has gcn3 as drain.*Prolog' <(tr -s ' \n' ' ' <words) ||
			{ cat words; false; }
		grep -q '^ *"gpucheck .*-N 3 -x gcn3"$' words || { cat words; false; }
		run_to 3 attach "$name"
		grep -q 'Slurm has gcn3 as drain.*: Prolog error$' err
		skips "$(hinted err)"
		printed_works
		heal
	done
}

@test "the prolog fails in an allocation, which is gone then" {
	prolog_fails
	# shellcheck disable=SC2016  # for that shell
	timeout 100 salloc --quiet -N 4 --gpus-per-node=2 bash -c '
		"$GPUCHECK" "$@" >out 2>err
		echo $? >code
		bash -c "$(sed -n "s/^hint: .*to skip it: .\(gpucheck .*\).$/\1/p" err)" \
			>words 2>&1' - "${small[@]}" 3>&- || { cat err words; false; }
	[ "$(cat code)" = 3 ]
	grep -q 'Slurm has gcn3 as drain.*: Prolog error$' err
	others_tested words
}

@test "the prolog fails at --resume" {
	local dir pid

	timeout --signal=INT 60 "$GPUCHECK" p2p -N 4 -G 2 --transport=tcp \
		--schedule=serial -b 8M -n 100 -o "$PWD/one" >out 2>err 3>&- &
	pid=$!
	# its agent has started
	await 50 grep -q gcn3 one/results.csv
	kill -INT $pid
	wait $pid || true
	end_jobs
	await 30 idle 4
	cp -r one two
	prolog_fails
	run_to 1 p2p --resume one
	grep -q 'job .* is submitted without gcn3' err
	[ "$(faults one)" = gcn3 ]
	grep -q 'Node gcn3 did not start when the run was resumed: ' \
		<(tr -s ' \n' ' ' <out) || { cat out; false; }
	[ "$(jq '.cells.pass + .cells.slow >= 30 and .cells.not_run == 0' \
		one/verdict.json)" = true ]
	printed_works
	heal
	prolog_fails
	run_to 0 p2p --resume two --no-wait
	await 30 over two
	grep -q '^PARTIAL' words
	grep -q 'not continued: .*Slurm has gcn3 as drain.*: Prolog error$' words
	skips "$(hinted words)"
}

@test "agents are in containers" {
	local way start

	[ -e "$CLUSTER/plugstack.conf" ] || skip "no headers of Slurm"
	for way in slurmd_killed prolog_fails; do
		$way
		start=$SECONDS
		GPUCHECK_SRUN_ARGS=--container-image=x run_to 1 "${small[@]}" -N 4 \
			-o "$PWD/$way"
		[ $((SECONDS - start)) -le 60 ]
		[ "$(faults "$way")" = gcn3 ]
		measured p2p "$way" 30
		end_jobs
		printed_works
		heal
	done
}
