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
	# long enough to be disturbed: 30 cells of 150 MiB
	"$GPUCHECK" p2p --local=2x3 --transport=tcp -b 1M -n 150 --timeout=60s \
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

# Python at every open port: peer is tests/security/peer.py, secret and ports
# are those of the run.
everywhere()
{
	# shellcheck disable=SC2086 # several words
	PYTHONPATH=$BATS_TEST_DIRNAME timeout 60 python3 -c "
import json, os, socket, sys, peer
secret = bytes.fromhex(json.load(open(sys.argv[1]))['token'])
ports = [int(port) for port in sys.argv[2:]]
$(cat)" "$dir/rendezvous" $open_ports
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

@test "no proof: hang up at once" {
	for port in $open_ports; do
		for _ in $(seq 50); do
			# on a busy machine the run may be over before
			{ : <>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || true
		done
	done
	undisturbed
	grep -q 'disconnected without a proof' "$dir/events.csv"
}

@test "a wrong key" {
	everywhere <<-'P'
		for port in ports:
		    for kind in 'AD':
		        for key in bytes(32), os.urandom(32):
		            sock = socket.create_connection(('127.0.0.1', port))
		            talk = peer.Talk(key, kind, port)
		            sock.sendall(talk.greet())
		            try:
		                assert not talk.hear(peer.read(sock, 80))
		                sock.sendall(talk.sign(peer.DIALLER))
		                assert sock.recv(1) == b''
		            except (EOFError, ConnectionError):
		                pass
	P
	undisturbed
	[ "$(grep -c 'does not know the secret' "$dir/events.csv")" -ge 6 ]
	grep -q 'wrong kind of connection' "$dir/events.csv"
}

@test "what opened the door once does not open it again" {
	everywhere <<-'P'
		for port in ports:
		    for kind in 'AD':
		        try:
		            _, talk = peer.dial(port, secret, kind)
		        except EOFError:
		            continue        # a door of the other kind
		        again = socket.create_connection(('127.0.0.1', port))
		        again.sendall(talk.hello)
		        peer.read(again, 80)
		        again.sendall(talk.sign(peer.DIALLER))
		        assert again.recv(1) == b''
	P
	undisturbed
	[ "$(grep -c 'does not know the secret' "$dir/events.csv")" -eq 3 ]
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

@test "the right secret opens the door, and no frame behind it harms" {
	everywhere <<-'P'
		for port in ports:
		    for kind in 'AD':
		        try:
		            sock, _ = peer.dial(port, secret, kind)
		            sock.sendall(bytes([255] * 4) + os.urandom(65536))
		        except (EOFError, ConnectionError):
		            pass
	P
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
