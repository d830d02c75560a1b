#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What an agent that knows the secret cannot say about other nodes.

# A run of probe $1 with an honest agent on this host and one that says, as node
# n1, what $2 has as JSON: a row of "rows", and other messages, each after its
# order.  HOST is the honest node.
lie()
{
	local dir=$BATS_TEST_TMPDIR/$1
	"$GPUCHECK" "$1" --launcher=env "${@:3}" -o "$dir" --quiet \
		>"$dir.out" 2>&1 3>&- &
	for _ in $(seq 200); do
		[ ! -s "$dir/run.json" ] || break
		sleep 0.05
	done
	RANK=0 WORLD_SIZE=2 "$GPUCHECK" agent "$dir" 3>&- &
	PYTHONPATH=$BATS_TEST_DIRNAME timeout 60 python3 - "$dir" \
		"${2//HOST/$host}" <<-'P'
		import json, os, socket, sys, time
		import peer
		dir, said = sys.argv[1], json.loads(sys.argv[2])
		for _ in range(400):
		    try:
		        contact = json.load(open(dir + '/rendezvous'))
		        break
		    except (OSError, ValueError):
		        time.sleep(0.05)
		secret = bytes.fromhex(contact['token'])
		port = int(contact['addrs'][0].rsplit(':', 1)[1])
		sock, talk = peer.dial(port, secret, 'A')
		wire = peer.Wire(sock, talk, False)
		run = json.load(open(dir + '/run.json'))
		wire.say({'t': 'hello', 'rank': 1, 'local_rank': -1,
		    'node': os.environ.get('NODE', 'n1'),
		    'pretend': False, 'sees_dir': True,
		    'version': run['versions']['gpucheck'] if 'versions' in run
		        else run['version'],
		    'inventory': {'boot_id': 'another', 'interfaces': [
		        {'name': 'e0', 'addr': '192.0.2.9/24', 'mtu_B': 1500,
		         'mac': '', 'state': 'up'}]}})
		while True:
		    message = wire.hear()
		    if message is None or message['t'] == 'quit':
		        break
		    if message['t'] == 'node_task':
		        wire.say(peer.encode({'t': 'node_said', 'said': [
		            peer.encode({'row': row}) for row in said]}))
		        wire.say({'t': 'node_done', 'outcome': 'ok',
		            'code': '', 'detail': ''})
		    elif message['t'] == 'start':
		        for line in said:
		            wire.say(line)
		        wire.say({'t': 'unusable', 'rank': 1, 'code': 'honest',
		            'detail': 'of its own rank'})
	P
	wait
	cat "$dir.out" "$dir/events.csv" "$dir/results.csv"
	! grep -q planted "$dir/results.csv" || false
}

dropped()
{
	grep -q ',n1,,foreign_row,' "$BATS_TEST_TMPDIR/$1/events.csv"
}

setup()
{
	export GPUCHECK=${GPUCHECK:-$BATS_TEST_DIRNAME/../../gpucheck}
	host=$(uname -n)
	unset SLURMD_NODENAME GPUCHECK_HOST
}

@test "no row of another node is taken" {
	local probe row='"outcome": "error", "code": "planted", "detail": "x"'
	for probe in info memlock gpu hang; do
		lie "$probe" "[{\"node\": \"HOST\", \"gpu\": 0, \"test\":
			\"open\", \"check\": \"memlock_soft\", \"context\":
			\"here\", \"rank\": 0, \"pid\": 1, \"ras\": \"dead\",
			$row}]"
		dropped "$probe"
	done
	# the liar is one that reported nothing; its victim is none
	grep -q '^n1,error,worker_noise,' "$BATS_TEST_TMPDIR/info/results.csv"
	jq -e '[.findings[].node] == ["n1"]' "$BATS_TEST_TMPDIR/info/verdict.json"
}

@test "nor a ping from another node, or from another address" {
	local row='"dst_node": "HOST", "dst_ip": "192.0.2.2", "dst_if": "e0",
		"outcome": "error", "code": "planted"'
	lie ping "[{\"src_node\": \"HOST\", \"src_ip\": \"192.0.2.2\",
		\"src_if\": \"e0\", $row}, {\"src_node\": \"n1\", \"src_ip\":
		\"192.0.2.2\", \"src_if\": \"e0\", $row}]"
	dropped ping
}

@test "nor a word about the rank of another node" {
	lie p2p '[{"t": "unusable", "rank": 0, "code": "planted", "detail": ""},
		{"t": "died", "rank": 0, "id": -1, "signal": 11, "exit": 0,
		 "hung": false, "code": "", "detail": "", "retired": true,
		 "step": "planted"}]' --transport=tcp -G 1 -b 1K
	dropped p2p
	! grep -q 'rank_retired\|planted' "$BATS_TEST_TMPDIR/p2p/events.csv" ||
		false
}

@test "an agent whose node has no name of a node takes no part" {
	local words
	# shellcheck disable=SC2016 # a name, as it is
	NODE='n1;touch${IFS}HIT' lie info '[]' --boot-timeout=5s
	grep -q ',agent_missing,"agent 1 reports the node name' \
		"$BATS_TEST_TMPDIR/info/events.csv"
	words=$(jq -r '.findings[] | .node, .do' \
		"$BATS_TEST_TMPDIR/info/verdict.json")
	grep -qx node1 <<<"$words"
	! grep -q HIT <<<"$words" || false
}
