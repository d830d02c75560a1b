#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# So many at the coordinator's door that honest agents have to wait: all of them
# come in, and what kept them out is on record.

load ../await

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	unset "${!SLURM_@}" "${!GPUCHECK_@}"
	export GPUCHECK_CONFIG=none
	GPUCHECK=$(realpath "${GPUCHECK:-$BATS_TEST_DIRNAME/../../gpucheck}")
}

teardown()
{
	local job
	for job in $(jobs -p); do
		kill "$job" 2>/dev/null || true
	done
	wait
}

# The front and agent $1 to $2 of 12.
begin()
{
	"$GPUCHECK" p2p --launcher=env --transport=tcp -b 1K -n 2 \
		--boot-timeout=60s -o run >out 2>err 3>&- &
	front=$!
	await 20 test -e run/run.json
	agents 0 0
	await 20 test -s run/rendezvous
	port=$(jq -r '.addrs[0] | sub(".*:"; "")' run/rendezvous)
}

agents()
{
	local r
	for ((r = $1; r <= $2; r++)); do
		RANK=$r WORLD_SIZE=12 LOCAL_RANK=$r "$GPUCHECK" agent run 3>&- &
	done
}

# knock N WORDS: N connections from here, which say WORDS (of Python: bytes of
# one at a time) and then hold the line.
knock()
{
	timeout 60 python3 -u - "$port" "$1" "${2-b''}" 3>&- <<-'P' &
		import resource, socket, sys, time
		port, n, words = int(sys.argv[1]), int(sys.argv[2]), eval(sys.argv[3])
		hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
		resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
		socks = [socket.create_connection(('127.0.0.1', port)) for _ in range(n)]
		open('knocked', 'w').close()
		for byte in words:
		    for sock in socks:
		        try:
		            sock.send(bytes([byte]))
		        except OSError:
		            pass
		    time.sleep(0.3)
		time.sleep(60)
	P
	stranger=$!
	await 30 test -e knocked
}

all_there()
{
	local code=0
	wait "$front" || code=$?
	cat err run/events.csv
	[ $code -eq 0 ]
	[ "$(grep -c '^1,.*,ok,,' run/results.csv)" -eq 132 ]
	kill "$stranger"
}

@test "200 strangers that say nothing, and 12 agents" {
	begin
	knock 200
	agents 1 11
	all_there
	grep -q ',stranger,.*refused 200 connections' run/events.csv
}

@test "1,000 half-open connections" {
	begin
	knock 1000
	agents 1 11
	all_there
	# all are counted, and the first few are listed
	[ "$(grep -c ',stranger,' run/events.csv)" -eq 21 ]
	grep -q 'refused 1000 connections' run/events.csv
}

@test "a hello of one byte after the other does not hold a place for long" {
	begin
	knock 100 "b'GPUCHK2\\nA' + bytes(55)"
	await 20 grep -q ',stranger,.*sent no proof in time' run/events.csv
	agents 1 11
	all_there
}

# One is that of rank 0, which has started the coordinator.
all_started()
{
	[ "$(pgrep -cf "$GPUCHECK agent $PWD/run")" -eq 150 ]
}

@test "150 agents and a coordinator that is stopped for two seconds" {
	"$GPUCHECK" p2p --local=151x1 --exclude=n150 --transport=sim --pairs=0-1 \
		--boot-timeout=120s -o run >out 2>err 3>&- &
	front=$!
	await 30 test -s run/rendezvous
	coordinator=$(pgrep -f "$GPUCHECK coordinator $PWD/run")
	kill -STOP "$coordinator"
	await 60 all_started
	sleep 2
	kill -CONT "$coordinator"
	wait "$front"
	cat err run/events.csv
	[ "$(grep -c 'agent [0-9]* of 150,' run/events.csv)" -eq 150 ]
}
