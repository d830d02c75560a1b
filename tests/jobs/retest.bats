#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# From a node that is cut off, by the lines that gpucheck prints, to one that is
# used again.

load helper

teardown()
{
	local good=true
	pasted || good=false
	mend
	scontrol delete reservation=fix 2>/dev/null || true
	end_jobs
	$good
}

state_is()
{
	[ "$(sinfo --noheader --nodes=gcn4 --format=%T)" = "$1" ]
}

# sinfo of Slurm 22.05 may call it mixed when it was drained in a job.
is_resumed()
{
	scontrol -o show node gcn4 | grep -q ' State=IDLE '
}

# Its agent keeps its way to the coordinator, whose port is the first that it
# dials; its ranks reach nobody, and nobody reaches them.  The kernel must not
# take these ports for other connections: Slurm's would be cut off as well.
cut()
{
	mend
	node-run 4 nft -f - <<-'N'
		table inet cut {
			set first {
				type inet_service
				size 1
				flags dynamic
			}
			chain in {
				type filter hook input priority 0
				iif != lo tcp dport 21000-21040 reject with tcp reset
			}
			chain out {
				type filter hook output priority 0
				tcp dport 21000-21040 goto dial
			}
			chain dial {
				oif lo accept
				add @first { tcp dport } accept
				reject with tcp reset
			}
		}
	N
}

mend()
{
	node-run 4 nft flush ruleset
}

# The line of out that has Slurm do it; none is a failure.
line()
{
	sed -n "s/^ *\(scontrol .*nodename=gcn4 state=$1.*\)/\1/p" out | grep .
}

@test "a node is drained, tested while it is cut off, repaired, and used again" {
	command -v nft || skip "no nft to cut a node off with"
	cut
	run_to 1 p2p -N 4 -G 2 --transport=tcp -b 4M -n 5 -o found \
		--port-range=21000-21040
	[ "$(jq -r '.findings[0] | "\(.kind) \(.node)"' \
		found/verdict.json)" = 'node_network gcn4' ] || {
		cat out
		false
	}
	# not what the same words of NCCL mean
	jq -e '.findings[0].evidence | any(test(
		"^connect_refused means: the other rank"))' found/verdict.json
	# as it is printed
	eval "$(line drain)"
	await 60 state_is drained

	# nobody else gets it meanwhile
	scontrol create reservation=fix nodes=ALL users=root starttime=now \
		duration=30 flags=ignore_jobs
	scontrol update nodename=gcn4 state=resume
	cut
	run_to 1 p2p --retest found -o still -- --reservation=fix
	tr -s '\n ' ' ' <out |
		grep -q 'network of gcn4 (.*): still faulty: .* failed'
	[ "$(jq -r '.retest[0].state' still/verdict.json)" = fails ]
	[ "$(jq -r '.retest[0].undrain' still/verdict.json)" = null ]
	[ -z "$(line resume)" ]
	eval "$(line drain)"
	await 60 state_is drained

	mend
	scontrol update nodename=gcn4 state=resume
	run_to 0 p2p --retest found -o repaired -- --reservation=fix
	grep -q 'network of gcn4 (.*): [0-9]* tests pass' out
	[ "$(jq -r '.retest[0].state' repaired/verdict.json)" = passes ]
	# it is in use again, and no line says what Slurm would refuse
	[ "$(jq -r '.retest[0].undrain' repaired/verdict.json)" = null ]
	[ -z "$(line resume)" ]
	scontrol delete reservation=fix
	await 60 state_is idle
}

@test "in an allocation: a node that we have drained gets the line, and no other" {
	command -v nft || skip "no nft to cut a node off with"
	cut
	run_to 1 p2p -N 4 -G 2 --transport=tcp -b 4M -n 5 -o found \
		--port-range=21000-21040
	line drain >drained_by || {
		cat out found/events.csv found/job.out
		false
	}
	mend
	salloc -Q -N 4 --gres=gpu:2 bash -c "eval \"\$(cat drained_by)\" &&
		$GPUCHECK p2p --retest found -o repaired" >out 2>err
	[ -n "$(line resume)" ]
	await 20 state_is drained
	eval "$(line resume)"
	await 10 is_resumed
	scontrol update nodename=gcn4 state=resume 2>&1 | grep -q 'Invalid node'
	salloc -Q -N 4 --gres=gpu:2 bash -c "scontrol update nodename=gcn4 \
		state=drain reason=\"fan is loud\" &&
		$GPUCHECK p2p --retest found -o again" >out 2>err
	[ -z "$(line resume)" ]
	scontrol update nodename=gcn4 state=resume
}
