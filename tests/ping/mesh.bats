#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# How nodes ask: which paths, by what, and from where.
# Each fault is made on real interfaces; the verdict names it, and nothing
# else.

load helper

@test "all is well: every path passes, pictures are stored" {
	# shellcheck disable=SC2034  # for start
	pictures=$PATH
	mesh 0
	expect "$(cells pass)" 48
	expect "$(findings)" ""
	expect "$(rows '.outcome == "ok" and .sent >= 5 and .rtt_avg_us > 0')" 48
	for picture in nodes 10.1.0.0_24 10.4.0.0_24; do
		test -s "$dir/heatmap-$picture.svg"
	done
}

@test "cross: segments that are not routed to each other need not talk" {
	mesh 0 --cross --ifname=rail0,rail1
	expect "$(findings)" ""
	expect "$(cells pass)" 24
	expect "$(rows '.segment == "10.1.0.0/24->10.2.0.0/24" and
		.outcome == "skipped" and .code == "no_route"')" 12
	says '24 paths between segments are not expected to pass' out
	says 'NCCL_CROSS_NIC=0' out
	says '^  1 10.2.0.0/24 +- +100$' out
	test -s "$dir/heatmap-segments.svg"
	says "Report: $dir/report.html$" out
}

# ports: RoCE ports of rail0 and rail1, and the facts about routes between them
ports()
{
	local r port

	mount -t tmpfs none /sys/class
	for r in 0 1; do
		port=/sys/class/infiniband/roce$r/ports/1
		mkdir -p $port/gid_attrs/ndevs
		echo '4: ACTIVE' >$port/state
		echo Ethernet >$port/link_layer
		echo rail$r >$port/gid_attrs/ndevs/2
	done
	"$GPUCHECK" info --local -o "$1" >/dev/null 2>&1
	grep -o 'roce[01],\(no_\)\?route_to,[^,]*' "$1/facts.csv" || true
}

@test "RoCE ports: the routes of a node say which of them connect" {
	declare -f ports >ports.bash
	run node-run 1 unshare --mount bash -c '. ./ports.bash; ports apart'
	expect "$output" "roce0,no_route_to,roce1
roce1,no_route_to,roce0"
	# a table of its own for what comes from an address
	run node-run 1 unshare --mount bash -c '. ./ports.bash
		ip route add default via 10.1.0.254 dev rail0 table 7
		ip rule add from 10.1.0.1 table 7
		ports routed
		ip rule del from 10.1.0.1
		ip route flush table 7'
	expect "$output" "roce0,route_to,roce1
roce1,no_route_to,roce0"
}

# Every rail has a way to the other one.
route_all()
{
	ip addr add 10.1.0.254/24 dev br0
	ip addr add 10.2.0.254/24 dev br1
	sysctl -q net.ipv4.ip_forward=1
	for k in 1 2 3 4; do
		node-run $k ip route add 10.2.0.0/24 via 10.1.0.254 dev rail0 \
			metric 9
		node-run $k ip route add 10.1.0.0/24 via 10.2.0.254 dev rail1 \
			metric 9
		# an answer goes back by the interface that was asked
		node-run $k ip rule add from "10.1.0.$k" lookup 101
		node-run $k ip route add default via 10.1.0.254 dev rail0 \
			table 101
		node-run $k ip rule add from "10.2.0.$k" lookup 102
		node-run $k ip route add default via 10.2.0.254 dev rail1 \
			table 102
	done
}

@test "cross: segments that are" {
	route_all
	mesh 0 --cross --ifname=rail0,rail1
	expect "$(cells pass)" 48
}

@test "cross: one node has no route to where the others have one" {
	route_all
	node-run 3 ip rule del from 10.1.0.3 lookup 101
	node-run 3 ip route del 10.2.0.0/24 via 10.1.0.254 dev rail0
	mesh 1 --cross --ifname=rail0,rail1
	expect "$(findings)" "nic n3 0 null tx no_route"
	says 'no route of n3 leads to 10.2.0.[0-9]+ through rail0' out
	says 'ip route show table all' out
}

@test "a route to the own segment is missing" {
	node-run 2 ip route del 10.2.0.0/24 dev rail1
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null tx no_route"
	expect "$(cells pass)" 18
}

@test "no socket for ICMP is permitted: UDP between the agents, and it is said" {
	# all of the run is that of a user who is nobody
	work=$(mktemp -d "$CLUSTER/nobody.XXXXXX")
	cp "$GPUCHECK" "$work/program"
	GPUCHECK=$work/gpucheck
	cat >"$GPUCHECK" <<-S
		#!/bin/sh
		exec $(type -P setpriv) --reuid=65534 --regid=65534 \
			--clear-groups "$work/program" "\$@"
	S
	chmod +x "$GPUCHECK"
	chown 65534:65534 "$work"
	dir=$work/run
	start --ifname=rail0,rail1
	for k in 1 2 3 4; do
		agent $k
	done
	finish 0
	expect "$(cells pass)" 24
	expect "$(rows '.method == "udp"')" 24
	says 'method_ipv4,udp: cannot open a socket for icmp' "$dir/facts.csv"
}

@test "an ICMP socket for everybody is the first choice" {
	for k in 1 2 3 4; do
		node-run $k sysctl -q net.ipv4.ping_group_range="0 65535"
	done
	mesh 0 --ifname=rail0
	expect "$(rows '.method == "icmp"')" 12
}

@test "subnets can be chosen and addresses skipped" {
	start --subnet=10.1.0.0/16,10.3.0.0/24 --skip=10.3.0.1
	for k in 1 2 3 4; do
		agent $k
	done
	finish 0
	expect "$(cells pass)" 18
}

@test "strangers get no answer from the ports that answer" {
	start --ifname=rail0 --count=40 --method=udp
	for k in 1 2 3 4; do
		agent $k
	done
	await 20 grep -q '"planned"' "$dir/run.json"
	port=$(node-run 1 ss -Hulnp | awk '/gpucheck/ { print $4 }' |
		grep -oE '[0-9]+$' | head -1)
	head -c 60 /dev/zero >/dev/udp/10.99.0.1/"$port"
	node-run 2 bash -c "exec 3<>/dev/udp/10.1.0.1/$port
		printf 'GpcK\1%067d' 0 >&3; timeout 1 cat <&3 | wc -c" >said
	expect "$(<said)" 0
	finish 0
}
