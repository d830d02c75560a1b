#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Interfaces, segments and addresses that are broken.
# Each fault is made on real interfaces; the verdict names it, and nothing
# else.

load helper

@test "rail 2 of one node is down" {
	node-run 3 ip link set rail2 down
	mesh 1 --ifname=rail1,rail2
	expect "$(findings)" "nic n3 1 null both if_down"
	says 'rail2 of n3 is down' out
	expect "$(cells pass)" 18
}

@test "a node that has no address in a segment" {
	node-run 3 ip addr flush dev rail1
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n3 1 null both interface_missing"
}

@test "one segment is dark" {
	ip link set br1 down
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "rail null 1 null both arp_failed"
	says 'Segment 10.2.0.0/24' out
}

@test "an address that two nodes have" {
	node-run 3 ip addr add 10.2.0.2/24 dev rail1
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null both duplicate_address"
	says '10.2.0.2 is used twice' out
}

@test "an address that a machine outside of the run has taken" {
	ip addr add 10.2.0.2/24 dev br1
	node-run 1 ip neigh replace 10.2.0.2 dev rail1 nud permanent \
		lladdr "$(ip -br link show br1 | awk '{ print $3 }')"
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null both duplicate_address"
}

@test "two rails of a node are swapped" {
	ip link set v2-rail0 master br1
	ip link set v2-rail1 master br0
	mesh 1
	expect "$(findings)" "node n2 null null both rails_swapped"
	says 'rail0 is connected to the network of 10.2.0.0/24, rail1 is connected' out
	says ',arp_failed,no host on rail0 .*; it answers on rail1,' \
		"$dir/results.csv"
	expect "$(cells pass)" 36
	# of two nodes either may be the one; ARP fails before the timeout
	rm -rf "$dir"
	start --ifname=rail --timeout=5s
	agent 1 WORLD_SIZE=2
	agent 2 WORLD_SIZE=2
	finish 1
	expect "$(findings)" "node n1 null null both rails_swapped"
	says 'or those on n2 are swapped' out
}

@test "the wire of one rail is dead, and all rails are one network" {
	for k in 1 2 3 4; do
		ip link set "v$k-rail1" master br0
	done
	ip link set v2-rail1 nomaster
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null both arp_failed"
}

@test "by TCP too it is said that nobody has the address" {
	node-run 3 ip link set rail1 arp off
	node-run 3 ip addr flush dev rail1
	node-run 3 ip addr add 10.2.0.3/24 dev rail1
	mesh 1 --ifname=rail0,rail1 --tcp=auto
	says ',arp_failed,no host on rail1 answers ARP' "$dir/results.csv"
}
