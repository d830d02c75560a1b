#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What a coordinator cannot make an agent do, and who is none to it.

# An agent meets a coordinator that does as $3 says: "honest", "strange" (knows
# no secret), "relay" (passes on what a coordinator on another port says),
# "deaf" (hangs up before it says welcome, once), "fickle" (says welcome, and
# then no), "late" (takes no agent any more), "over" (quits the run before it
# says welcome), "rash" (orders before it says welcome), "ended" (says welcome,
# and quits the run before its order); or somebody on the way has "changed" a
# bit of its order, or "repeated" it.  The agent is told to "start" one worker:
# $1 for all, $2 for that one, as members of JSON.  What it says goes to stdout,
# a message a line, its own words to $BATS_TEST_TMPDIR/agent.
start()
{
	"$GPUCHECK" p2p --local=1x2 --transport=tcp -b 1K -o "$run" --quiet
	rm -f "$run/rendezvous"
	"${planted[@]}"
	play "$@" 2>"$BATS_TEST_TMPDIR/agent" && return
	cat "$BATS_TEST_TMPDIR/agent" >&2
	return 1
}

play()
{
	PYTHONPATH=$BATS_TEST_DIRNAME timeout 60 python3 - "$GPUCHECK" "$run" \
		"$1" "$2" "${3:-honest}" <<-'P'
		import json, os, socket, subprocess, sys
		import peer
		gpucheck, run, all, one, part = sys.argv[1:]
		secret = bytes([0x11] * 32)
		options = json.load(open(run + '/run.json'))['options']
		door = socket.create_server(('127.0.0.1', 0))
		env = dict(os.environ, GPUCHECK_BOOT_RANK='1',
		    GPUCHECK_BOOT_SIZE='2', GPUCHECK_BOOT_NODE='n1',
		    GPUCHECK_MASTER='127.0.0.1:%d' % door.getsockname()[1],
		    GPUCHECK_TOKEN='11' * 32)
		agent = subprocess.Popen([gpucheck, 'agent', run], env=env)
		conn, port = door.accept()[0], door.getsockname()[1]
		if part == 'deaf':
		    peer.accept(conn, port, secret)
		    conn.close()
		    conn = door.accept()[0]
		talk = peer.accept(conn, port + (part == 'relay'),
		    bytes(32) if part == 'strange' else secret)
		if talk is None:
		    print('not believed')
		    sys.exit(agent.kill())
		assert secret not in talk.hello
		damages = {
		    'changed': lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
		    'repeated': lambda sealed: sealed + sealed}
		wire = peer.Wire(conn, talk, True)
		worker = {'rank': 0, 'local_rank': 0, 'part': ''}
		worker.update(json.loads(one))
		start = {'t': 'start', 'transport': 'cuda', 'node': 'n1',
		    'pretend': False, 'open_ns': 10**10,
		    'options': options, 'workers': [worker]}
		start.update(json.loads(all))
		while True:
		    message = wire.hear()
		    print(json.dumps(message), flush=True)
		    if message is None or message['t'] == 'unusable':
		        break
		    if message['t'] == 'hello' and part == 'over':
		        wire.say({'t': 'quit'})
		    elif message['t'] == 'hello' and part == 'rash':
		        wire.say(start)
		    elif message['t'] == 'hello':
		        wire.say({'t': 'welcome', 'version': message['version'],
		            'why': 'the run has begun' if part == 'late' else ''})
		        if part == 'fickle':
		            wire.say({'t': 'welcome', 'why': 'no'})
		        if part == 'ended':
		            wire.say({'t': 'quit'})
		        wire.damage = damages.get(part, wire.damage)
		        wire.say(start)
		conn.close()
		leaves = message is None or part in damages or part == 'late'
		try:
		    agent.wait(1 if leaves else 0)
		    agent.wait(9 if leaves and part != 'over' else 0)
		except subprocess.TimeoutExpired:
		    if part == 'over':
		        peer.accept(door.accept()[0], port, secret)
		        print('dialled again', agent.wait(10))
		    agent.kill()
		print('agent', agent.wait())
	P
}

setup()
{
	export GPUCHECK=${GPUCHECK:-$BATS_TEST_DIRNAME/../../gpucheck}
	run=$BATS_TEST_TMPDIR/run
	planted=(:)	# what becomes of the run directory
}

@test "no library for the workers is taken from the connection" {
	start '{"env": {"GPUCHECK_CUDA_LIB": "/tmp/other.so"}}' '{}' \
		>"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said"
	! grep -q '"unusable"' "$BATS_TEST_TMPDIR/said" || false
}

@test "nor is one for a single worker" {
	start '{}' '{"env": {"GPUCHECK_CUDA_LIB": "/tmp/other.so"}}' \
		>"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said"
	! grep -q /tmp/other.so "$BATS_TEST_TMPDIR/said" || false
	grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said"
}

# The agent said why it does not start, and named $1; no worker has answered.
expect_refusal()
{
	cat "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/agent"
	! grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said" || return 1
	grep -q "refused to .*$1" "$BATS_TEST_TMPDIR/agent"
}

@test "nothing is set that loads, runs, reads or writes" {
	for name in GPUCHECK_NCCL_LIB NCCL_NET_PLUGIN NCCL_TOPO_DUMP_FILE \
		UCX_GDB_COMMAND LD_PRELOAD BASH_ENV; do
		start "{\"env\": {\"$name\": \"x\"}}" '{}' \
			>"$BATS_TEST_TMPDIR/said"
		expect_refusal "$name"
		rm -r "$run"
	done
}

@test "no value is a path, and no other place is read" {
	start '{"env": {"NCCL_NET": "../../tmp/x"}}' '{}' \
		>"$BATS_TEST_TMPDIR/said"
	expect_refusal NCCL_NET
	rm -r "$run"
	start '{"options": {"sysroot": "/tmp/x"}}' '{}' \
		>"$BATS_TEST_TMPDIR/said"
	expect_refusal /tmp/x
}

@test "settings are taken, and what the agent's own side has" {
	start '{"env": {"NCCL_ALGO": "Ring", "UCX_TLS": "tcp"}}' '{}' \
		>"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said"
	grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said"
	rm -r "$run"
	GPUCHECK_NCCL_LIB=/nowhere/libnccl.so \
		start '{"env": {"GPUCHECK_NCCL_LIB": "/nowhere/libnccl.so"}}' \
		'{}' >"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said"
	grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said"
}

@test "options are believed where the directory is nobody else's" {
	local said=$BATS_TEST_TMPDIR/said
	local asked='{"env": {"GPUCHECK_NCCL_LIB": "/nowhere/libnccl.so"}}'
	typed()
	{
		sed -i 's|"options": {|&"nccl-lib": "/nowhere/libnccl.so",|' \
			"$run/run.json"
		chmod "$1" "$run"
	}
	planted=(typed 755)
	start "$asked" '{}' >"$said"
	cat "$said" "$BATS_TEST_TMPDIR/agent"
	grep -q '"unusable"\|"ready"' "$said"
	rm -r "$run"
	planted=(typed 777)
	start "$asked" '{}' >"$said"
	expect_refusal GPUCHECK_NCCL_LIB
}

@test "an agent that was welcome is not turned away" {
	start '{}' '{}' fickle >"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/agent"
	grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said"
}

@test "a listener without the secret receives nothing" {
	start '{}' '{}' strange >"$BATS_TEST_TMPDIR/said"
	[ "$(cat "$BATS_TEST_TMPDIR/said")" = "not believed" ]
}

@test "a relay that passes on what a coordinator on another port says" {
	start '{}' '{}' relay >"$BATS_TEST_TMPDIR/said"
	[ "$(cat "$BATS_TEST_TMPDIR/said")" = "not believed" ]
}

@test "a frame that was changed on its way is not obeyed" {
	start '{}' '{}' changed >"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/agent"
	! grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said" || false
	grep -q 'a message was changed on its way' "$BATS_TEST_TMPDIR/agent"
}

@test "a frame that comes twice ends the connection" {
	start '{}' '{}' repeated >"$BATS_TEST_TMPDIR/said"
	grep -q 'a message was changed on its way' "$BATS_TEST_TMPDIR/agent"
}

@test "an agent connects again until its hello is answered" {
	start '{}' '{}' deaf >"$BATS_TEST_TMPDIR/said"
	grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said"
}

@test "and no more when the run goes on without it" {
	start '{}' '{}' late >"$BATS_TEST_TMPDIR/said"
	! grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said" || false
	grep -q 'rejected the agent: the run has begun' "$BATS_TEST_TMPDIR/agent"
}

@test "nor when the run is over before its hello is answered" {
	start '{}' '{}' over >"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/agent"
	grep -qx 'agent 3' "$BATS_TEST_TMPDIR/said"
	! grep -q 'dialled again' "$BATS_TEST_TMPDIR/said" || false
	grep -q 'the run ended before' "$BATS_TEST_TMPDIR/agent"
}

@test "no order is obeyed before welcome, and none after quit" {
	for part in rash ended; do
		start '{"reached": "127.0.0.1"}' '{}' "$part" \
			>"$BATS_TEST_TMPDIR/said"
		cat "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/agent"
		! grep -q '"unusable"\|"ready"' "$BATS_TEST_TMPDIR/said" ||
			return 1
		rm -r "$run"
	done
}
