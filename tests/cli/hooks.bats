#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The hooks of data/site without Slurm: what they end with, and that they end.
# What stands for logger and scontrol writes down what it was told.

load helper
load ../await

# What is in quotes is for a script that is written:
# shellcheck disable=SC2016

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	unset "${!SLURM@}" "${!GPUCHECK_@}"
	export GPUCHECK_CONFIG=none
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	site=$root/data/site
	mkdir bin
	PATH=$PWD/bin:$PATH
	export GPUCHECK_SITE_SETTINGS=$PWD/settings SLURMD_NODENAME=n1
	export GPUCHECK_CONFIG=none
	export LOGGED=$PWD/logged ASKED=$PWD/asked STATE=IDLE
	tool logger 'printf "%s\n" "$*" >>"$LOGGED"'
	tool scontrol 'printf "%s\n" "$*" >>"$ASKED"
		echo "NodeName=n1 State=$STATE ThreadsPerCore=1 Comment=DRAIN"'
	: >logged
	: >asked
	settings gpucheck
	program 'echo "ok n1 8 GPUs"'
}

# tool NAME SCRIPT
tool()
{
	printf '#!/bin/bash\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}

program()
{
	tool gpucheck "printf '%s\n' \"\$*\" >'$PWD/typed'; $1"
}

# settings PROGRAM [LINE...]
settings()
{
	printf '%s\n' "GPUCHECK=$PWD/bin/$1" LIMIT_S=1 SYSLOG=/dev/null \
		FAIL_ON=port_down,gpu_lost "${@:2}" >settings
}

# hook ROLE STATUS: ends with that, within a deadline.
hook()
{
	local code=0
	timeout -s KILL 60 "$site/$1" >out 2>err || code=$?
	[ "$code" -eq "$2" ] || { echo "$1: $code, not $2"; cat out err logged; return 1; }
}

# told PATTERN FILE: its last line matches.
told()
{
	tail -n 1 "$2" | grep -qE -- "$1" || { cat "$2"; return 1; }
}

fault='echo "FAIL n1 port_down: mlx5_2: port is DOWN"; exit 1'

@test "a node that is well is logged, and nothing happens" {
	for role in prolog epilog healthcheck; do
		hook $role 0
		told "^-t gpucheck-$role -p daemon.info -- ok n1 8 GPUs$" logged
	done
	told '^node --time-limit=1s --fail-on=port_down,gpu_lost$' typed
	[ ! -s asked ] && [ ! -s out ] && [ ! -s err ]
}

@test "without a PATH nothing of the working directory is run" {
	for name in timeout logger scontrol gpucheck; do
		printf '#!/bin/bash\necho %s >>owned\n' $name >$name
		chmod +x $name
	done
	for path in '' : .; do
		env -i PATH="$path" GPUCHECK_SITE_SETTINGS="$PWD/settings" \
			"$site/healthcheck" 2>err
	done
	env -i -u PATH "$site/healthcheck" 2>err
	[ ! -e owned ] || { cat owned; return 1; }
}

@test "a hook that can start no process drains nothing" {
	[ "$(id -u)" = 0 ] || skip "this is not root"
	open=$(mktemp -d /tmp/gpucheck-hook-XXXXXX)
	chmod 755 "$open"
	cp "$site/prolog" "$open"
	run -0 env GPUCHECK_SITE_SETTINGS=/dev/null timeout -s KILL 60 \
		setpriv --reuid=64917 --clear-groups \
		bash -c "ulimit -u 1; exec $open/prolog"
	rm -r "$open"
	grep -q 'fork: ' <<<"$output"
}

@test "a chosen fault drains the node once, with gpucheck's words" {
	program "$fault"
	hook prolog 1
	told 'daemon.err -- FAIL n1 port_down: mlx5_2: port is DOWN$' logged
	told '^update nodename=n1 state=drain reason=gpucheck: port_down: mlx5_2: port is DOWN$' \
		asked
	: >asked
	STATE=IDLE+DRAIN hook epilog 1
	told '^--oneliner show node n1$' asked
	hook healthcheck 0
	told '^update nodename=n1 ' asked
	: >asked
	settings gpucheck DRAIN=no
	hook prolog 1
	[ ! -s asked ]
}

@test "no mistake in the settings makes a prolog fail" {
	for line in 'exit 1' 'set -eu' 'return 1' 'fault=yes; exit 1'; do
		settings gpucheck "$line"
		program 'echo "ok n1 8 GPUs"'
		hook prolog 0
	done
	settings gpucheck 'set -eu'
	program "$fault"
	hook prolog 1
	# a summary, and lines of its own wish
	settings gpucheck GPUCHECK_VERBOSE=1
	program "printf '%s\n' 'FAIL n1 port_down: a' 'warn other: b'; exit 1"
	hook prolog 1
	told 'daemon.err -- FAIL n1 port_down: a$' logged
}

@test "nothing else fails: other codes, warnings, partial, usage, other programs" {
	for end in 0 2 3 4 126 127 139; do
		program "echo 'FAIL n1 gpu_busy: held'; exit $end"
		hook prolog 0
		told 'daemon.warning -- FAIL n1 gpu_busy: held$' logged
	done
	program 'exit 1'
	hook prolog 0
	told 'daemon.warning -- no result .exit code 1.' logged
	settings ../../../../../../bin/false
	hook prolog 0
	settings gpucheck FAIL_ON=
	program "$fault"
	hook prolog 0
	told '^node --time-limit=1s$' typed
	[ ! -s asked ]
}

@test "the real program, where a file says that it be quiet" {
	printf 'quiet=1\n' >conf
	settings gpucheck LIMIT_S=4 "GPUCHECK=$GPUCHECK" \
		"GPUCHECK_CONFIG=$PWD/conf" GPUCHECK_IFNAME==none
	hook prolog 0
	told 'gpucheck-prolog -p daemon.[a-z]* -- [a-z]* n1 ' logged
}

@test "gpucheck is missing, no program, a folder, killed, or says too much" {
	settings nothing
	hook prolog 0
	told 'no result .exit code 127.' logged
	settings gpucheck
	chmod -x bin/gpucheck
	hook prolog 0
	told 'no result .exit code 126.' logged
	settings .
	hook prolog 0
	settings gpucheck
	program 'kill -9 $$'
	hook prolog 0
	told 'no result .exit code 137.' logged
	program 'yes | head -c 20000; echo FAIL n1 port_down: x; exit 1'
	hook prolog 1
	rm settings
	hook prolog 0
	told 'gpucheck-prolog: FAIL n1 port_down: x' err
}

@test "it ends while gpucheck, logger and scontrol hang" {
	program 'trap "" TERM; sleep 1000 & sleep 1000'
	hook prolog 0
	told 'no result' logged
	program "$fault; sleep 1000"
	tool logger 'trap "" TERM; sleep 1000'
	tool scontrol 'trap "" TERM; sleep 1000'
	hook prolog 1
	grep -q 'gpucheck-prolog: FAIL n1 port_down' err
	pkill -9 -f 'sleep 1000' || true
}

@test "a full disk, no stdin, no output: the same" {
	program "$fault"
	code=0
	"$site/prolog" >/dev/full 2>/dev/full <&- || code=$?
	[ "$code" -eq 1 ]
	code=0
	"$site/prolog" >&- 2>&- <&- || code=$?
	[ "$code" -eq 1 ]
	tool logger 'exit 1'
	program 'echo "ok n1 8 GPUs"'
	"$site/prolog" >&- 2>/dev/full
}

@test "NHC: the check fails for a chosen fault, and drains nothing itself" {
	cat >nhc <<-'N'
		die() { echo "ERROR: $2"; exit "$1"; }
		. "$1"
		check_gpucheck_node && echo fine
	N
	export GPUCHECK_SITE=$site
	run bash nhc "$site/gpucheck.nhc"
	[ "$status" -eq 0 ] && [ "$output" = fine ]
	program "$fault"
	run bash nhc "$site/gpucheck.nhc"
	[ "$status" -eq 1 ]
	[[ $output == *'FAIL n1 port_down: mlx5_2: port is DOWN' ]]
	[ ! -s asked ]
	GPUCHECK_SITE=/no/such/folder run bash nhc "$site/gpucheck.nhc"
	[ "$output" = fine ]
}

@test "make install puts them where they find the program" {
	make -s -C "$root" PROGRAM="$GPUCHECK" install DESTDIR="$PWD/root" \
		PREFIX=/usr >/dev/null
	cp "$PWD/bin/gpucheck" root/usr/bin/gpucheck
	echo SYSLOG=/dev/null >settings
	site=$PWD/root/usr/share/gpucheck/site
	hook prolog 0
	hook epilog 0
	hook healthcheck 0
	told 'ok n1 8 GPUs' logged
	[ -f "$site/gpucheck.nhc" ] && [ -f "$site/gpucheck.default" ]
	bash -n "$site/gpucheck.default"
	diff "$root/data/accept" "$site/../accept"
}
