#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# A run of real processes and sockets while strangers knock at every port that
# it listens on: nothing may be lost, and the strangers must be on record.

# Process $1 and all below it; one program, since a look has to be short beside
# the run.
family()
{
	ps -eo pid=,ppid= | awk -v top="$1" '
		{ parent[$1] = $2 }
		END {
			for (p in parent) {
				for (q = p; q in parent && q != top;)
					q = parent[q]
				if (q == top) print p
			}
		}'
}

# Their listening ports.
ports()
{
	local pids
	pids=$(family "$1" | paste -sd'|')
	ss -Hltnp | grep -E "pid=($pids)," | sed 's/.*:\([0-9]*\) .*users.*/\1/' |
		sort -u
}

setup()
{
	export GPUCHECK=${GPUCHECK:-$BATS_TEST_DIRNAME/../../gpucheck}
	dir=$BATS_TEST_TMPDIR/run
	# long enough to be disturbed: 30 cells of 300 MiB
	"$GPUCHECK" p2p --local=2x3 --transport=tcp -b 1M -n 300 --timeout=60s \
		--schedule=parallel -o "$dir" --quiet 3>&- &
	run_pid=$!
	for _ in $(seq 400); do
		# one control port and two data ports
		open_ports=$(ports "$run_pid")
		[ "$(wc -w <<<"$open_ports")" -eq 3 ] &&
			[ -s "$dir/results.csv" ] && break
		sleep 0.05
	done
	echo "ports: $open_ports; $(tail -n 3 "$dir/events.csv")"
	[ "$(wc -w <<<"$open_ports")" -eq 3 ]
}

teardown()
{
	local job
	for job in $(jobs -p); do	# the run, and strangers still silent
		kill "$job" 2>/dev/null || true
	done
	wait
}

# Every pair was measured at the first attempt, as if nobody had knocked.
undisturbed()
{
	local code=0
	wait "$run_pid" || code=$?
	[ $code -eq 0 ]
	[ "$(grep -c '^1,.*,ok,,' "$dir/results.csv")" -eq 30 ]
	grep -q ',end,complete' "$dir/events.csv"
}

# The 32 bytes of a token in hex.
bytes()
{
	local i
	for ((i = 0; i < ${#1}; i += 2)); do
		printf '%b' "\\x${1:i:2}"
	done
}

hello()	# KIND TOKEN_BYTES_FROM
{
	printf 'GPUCHK1\n%b\0\0\0\0\0\0\0' "$1"
	head -c 32 "$2"
	head -c 16 /dev/zero
}

@test "connections without a word" {
	for port in $open_ports; do
		for _ in $(seq 100); do
			{ sleep 4; } <>"/dev/tcp/127.0.0.1/$port" &
		done
	done
	undisturbed
	grep -q 'stranger' "$dir/events.csv"
}

@test "no token: hang up at once" {
	for port in $open_ports; do
		for _ in $(seq 50); do
			# on a busy machine the run may be over before
			{ : <>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || true
		done
	done
	undisturbed
	grep -q 'disconnected without a hello' "$dir/events.csv"
}

@test "a wrong token" {
	for port in $open_ports; do
		for kind in A D; do
			hello "$kind" /dev/urandom >"/dev/tcp/127.0.0.1/$port"
			hello "$kind" /dev/zero >"/dev/tcp/127.0.0.1/$port"
		done
	done
	undisturbed
	[ "$(grep -c 'wrong token' "$dir/events.csv")" -ge 6 ]
}

@test "one MiB of noise" {
	for port in $open_ports; do
		for _ in $(seq 10); do
			head -c 1M /dev/urandom 2>/dev/null \
				>"/dev/tcp/127.0.0.1/$port" || true
		done
	done
	undisturbed
	grep -q "not gpucheck's protocol" "$dir/events.csv"
}

@test "the right token opens the door, and no frame behind it harms" {
	token=$(jq -r .token "$dir/rendezvous")
	[ ${#token} -eq 64 ]
	for port in $open_ports; do
		for kind in A D; do
			{
				hello "$kind" <(bytes "$token")
				printf '\xff\xff\xff\xff'
				head -c 64K /dev/urandom
			} 2>/dev/null >"/dev/tcp/127.0.0.1/$port" || true
		done
	done
	undisturbed
}

@test "the secret is for the owner alone" {
	token=$(jq -r .token "$dir/rendezvous")
	[ ${#token} -eq 64 ]
	[ "$(stat -c %a "$dir/rendezvous")" = 600 ]
	leaks=$(grep -rlF "$token" "$dir/run.json" "$dir/events.csv" \
		"$dir/logs" || true)
	[ "$(family "$run_pid" | wc -l)" -ge 10 ]	# agents and workers
	for pid in $(family "$run_pid"); do
		if grep -qaF "$token" "/proc/$pid/cmdline"; then
			leaks+=" $pid"
		fi
	done
	[ -z "$leaks" ]
	undisturbed
}
