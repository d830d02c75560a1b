#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The link of a whole node is cut in the middle of a run, by which agents and
# coordinator talk: who is to blame?

load helper

teardown()
{
	local k

	for k in 1 2 3 4; do
		ip link set "v$k-eth0" up
		tc qdisc del dev "v$k-eth0" root
	done
	node-heal
	kill -KILL "${agents[@]}" ${front-} 2>/dev/null || true
}

# begin: pairs of all nodes are measured.  Each agent has a /sys of its node's.
# There is one link a node, or agents would find another way; by its rate a pair
# lasts two seconds, however fast the machine is.
begin()
{
	local k r

	for k in $(seq "$NODES"); do
		for ((r = 0; r < RAILS; r++)); do
			ip link set "v$k-rail$r" down
		done
		tc qdisc add dev "v$k-eth0" root tbf rate 200mbit burst 64kb \
			latency 50ms
	done
	PATH=/nonexistent "$GPUCHECK" p2p --launcher=env --transport=tcp \
		--schedule=serial -b 1M -n 25 --pairs=inter --silence=2s \
		--timeout=8s --progress=never -o "$dir" >out 2>err 3>&- 4>&- &
	front=$!
	await 20 test -s "$dir/run.json"
	for k in $(seq "$NODES"); do
		agent "$k" unshare --mount sh -c \
			'mount -t sysfs sysfs /sys && exec "$@"' -
	done
	await 60 grep -qs ',ok,' "$dir/results.csv"
}

# cut K: node K has no link any more.
cut()
{
	begin
	ip link set "v$1-eth0" down
}

@test "the coordinator's link: it names itself, drains nobody" {
	cut 1
	ended_in 90 "$front"
	cat out "$dir/events.csv"
	expect "$(jq -c '[.findings[] | select(.severity == "fail") |
		[.node, .code, .drain]]' "$dir/verdict.json")" \
		'[["n1","coordinator_cut",false]]'
	expect "$(jq -c .exclude "$dir/verdict.json")" '["n1"]'
	says 'nodes at once .n2, n3, n4.: its own link is down, not these nodes' \
		"$dir/verdict.json"
	expect "$(grep -c drain out)" 0
	# nobody waits for ever, and those that it lost write what they saw
	await 30 all_ended
	"$GPUCHECK" report "$dir" >out || true
	says 'n2: lost the coordinator: no message .* own link: eth0 up' \
		"$dir/verdict.json"
}

all_ended()
{
	local pid

	for pid in "${agents[@]}"; do
		ended "$pid" || return 1
	done
}

ended_in()
{
	await "$1" ended "$2"
}

@test "the link of another: that node, as one that could not be reached" {
	cut 3
	ended_in 90 "$front"
	cat out "$dir/events.csv"
	expect "$(jq -c '[.findings[] | select(.severity == "fail") |
		[.node, .code, .drain]]' "$dir/verdict.json")" \
		'[["n3","agent_lost",false]]'
	says 'n3.* no message for .* its node does not respond' \
		"$dir/events.csv"
	await 30 all_ended
}

has_no_carrier()
{
	node-run "$1" ip link show eth0 | grep -q NO-CARRIER
}

@test "the coordinator's link, which came back: it names itself, too" {
	local k

	begin
	ip link set v1-eth0 down
	# a moment later the others' go, too: they are not to be the first
	await 10 has_no_carrier 1
	for k in 2 3 4; do
		ip link set "v$k-eth0" down
	done
	ip link set v1-eth0 up
	ended_in 90 "$front"
	cat out "$dir/events.csv"
	expect "$(jq -c '[.findings[] | select(.severity == "fail") |
		[.node, .code, .drain]]' "$dir/verdict.json")" \
		'[["n1","coordinator_cut",false]]'
	says 'its own link went down and came back, not these nodes' \
		"$dir/verdict.json"
	says "the coordinator's link: eth0: carrier_changes [+]2" \
		"$dir/verdict.json"
	await 30 all_ended
}
