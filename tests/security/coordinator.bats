#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What a coordinator cannot make an agent do, which has whoever answers at its
# address for one.

# An agent that is told to "start" one worker: $1 for all, $2 for that one, as
# members of JSON.  What it says goes to stdout, a message a line.
start()
{
	"$GPUCHECK" p2p --local=1x2 --transport=tcp -b 1K -o "$run" --quiet
	rm -f "$run/rendezvous"
	timeout 20 python3 - "$GPUCHECK" "$run" "$1" "$2" <<-'P'
		import json, os, socket, struct, subprocess, sys
		gpucheck, run, all, one = sys.argv[1:]
		options = json.load(open(run + '/run.json'))['options']
		door = socket.create_server(('127.0.0.1', 0))
		env = dict(os.environ, GPUCHECK_BOOT_RANK='1',
		    GPUCHECK_BOOT_SIZE='2', GPUCHECK_BOOT_NODE='n1',
		    GPUCHECK_MASTER='127.0.0.1:%d' % door.getsockname()[1],
		    GPUCHECK_TOKEN='11' * 32)
		agent = subprocess.Popen([gpucheck, 'agent', run], env=env)
		wire = door.accept()[0].makefile('rwb')
		assert len(wire.read(64)) == 64
		def say(message):
		    text = json.dumps(message).encode()
		    wire.write(struct.pack('<I', len(text)) + text)
		    wire.flush()
		def hear():
		    head = wire.read(4)
		    if len(head) < 4:
		        return None
		    return json.loads(wire.read(struct.unpack('<I', head)[0]))
		worker = {'rank': 0, 'local_rank': 0, 'part': ''}
		worker.update(json.loads(one))
		start = {'t': 'start', 'transport': 'cuda', 'node': 'n1',
		    'pretend': False, 'open_ns': 10**10,
		    'options': options, 'workers': [worker]}
		start.update(json.loads(all))
		while True:
		    message = hear()
		    print(json.dumps(message), flush=True)
		    if message is None or message['t'] == 'unusable':
		        break
		    if message['t'] == 'hello':
		        say(start)
		wire.close()
		agent.kill()
		agent.wait()
	P
}

setup()
{
	export GPUCHECK=${GPUCHECK:-$BATS_TEST_DIRNAME/../../gpucheck}
	run=$BATS_TEST_TMPDIR/run
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
