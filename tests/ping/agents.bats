#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Agents that are gone; both families.
# Each fault is made on real interfaces; the verdict names it, and nothing
# else.

load helper

@test "an agent that is killed in the middle: its rows are skipped, no others" {
	start --ifname=rail0,rail1 --count=30
	for k in 1 2 3 4; do
		agent $k
	done
	await 20 grep -q '"planned"' "$dir/run.json"
	kill -KILL "${agents[3]}"
	finish 1
	expect "$(findings)" "node n3 null null both agent_lost"
	expect "$(cells skipped)" 6
	expect "$(cells pass)" 18
}

@test "a child that hangs: the others end in order, with all they measured" {
	start --ifname=rail0,rail1 --count=30
	for k in 1 2 3 4; do
		agent $k
	done
	await 20 grep -q '"planned"' "$dir/run.json"
	kill -STOP "$(pgrep -P "${agents[3]}" -f 'worker ping')"
	finish 1
	expect "$(findings)" "node n3 null null both worker_hung"
	expect "$(rows '.src_node != "n3" and .outcome == "timeout"')" 0
	expect "$(rows '.code == "worker_hung"')" 1
	expect "$(cells pass)" 18
}

@test "a run that is cut short keeps what has come" {
	mesh 4 --ifname=rail0 --count=1000 --max-time=3s
	expect "$(cells pass)" 12
	says 'max_time' out
}

@test "an agent that never comes: skipped cells, with the reason" {
	start --ifname=rail0,rail1 --boot-timeout=8s
	for k in 1 2 3; do
		agent $k
	done
	# all nodes are this machine: if it is busy, nobody can tell
	finish '1|4'
	[[ "$(findings)" = *starved ]] ||
		expect "$(findings)" "node node3 null null both agent_missing"
	expect "$(cells pass)" 12
	expect "$(cells skipped)" 12
}

@test "IPv6 beside IPv4; an interface that is down is one finding" {
	for k in 1 2 3 4; do
		for r in 0 1; do
			node-run $k ip addr add "fd00:$r::$k/64" dev rail$r nodad
		done
	done
	mesh 0 --ifname=rail0,rail1
	expect "$(cells pass)" 48
	expect "$(rows '.segment == "fd00:1::/64"')" 12
	rm -rf "$dir"
	# the addresses of IPv6 go when it goes down, but not with the link
	ip link set v2-rail1 down
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null both if_down"
	expect "$(cells pass)" 36
}
