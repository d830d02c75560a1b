#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What a run listens on.

load helper
load ../await

listeners()
{
	ss -Hltn | awk '{ print $4 }' | sort
}

# So many, beside those of the machine.
listening()
{
	listeners | comm -13 before - >found
	[ "$(wc -l <found)" -ge "$1" ]
}

@test "--port-range: a run listens on ports of it only" {
	listeners >before
	"$GPUCHECK" p2p --local=2x2 --transport=tcp -b 8M -n 300 \
		--port-range=42200-42299 -o run --quiet 3>&- &
	await 20 listening 3
	cat found
	! grep -v ':422[0-9][0-9]$' found || false
	kill $!
	wait
}

@test "--port-range: so do those that ping" {
	run_p ping --local=2x1 --port-range=42200-42299 --tcp=auto -o run
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "--port-range without a free port says so" {
	run_p p2p --local=2x1 --transport=tcp --port-range=42200 -o run
	fails 3 'none of the TCP ports 42200-42200 is free'
	run_p p2p --local=2x1 --port-range=42299-42200
	fails 2 'not a port range'
}

@test "by ssh: the port that agents are told is never closed between" {
	mkdir bin
	cat >bin/ssh <<-'EOF'
		#!/bin/bash
		# the agent's command, here, once somebody listens at the port
		command=${*: -1}
		[[ $command =~ MASTER=\"\$a:([0-9]+)\" ]]
		: <"/dev/tcp/127.0.0.1/${BASH_REMATCH[1]}" || touch refused
		SSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec /bin/sh -c "$command"
	EOF
	chmod +x bin/ssh
	PATH=$PWD/bin:$PATH run_p p2p --ssh=a,b,c,d --ssh-path="$GPUCHECK" \
		--transport=tcp -G 1 -b 1K --port-range=42200-42299 -o run
	echo "$output"
	[ ! -e refused ]
	[ "$(grep -c ',ok,' run/results.csv)" -eq 12 ]
}
