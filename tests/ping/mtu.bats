#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Packets that are too large for an interface, or for what is between two.
# Each fault is made on real interfaces; the verdict names it, and nothing
# else.

load helper

@test "one interface of 1500 among jumbo frames" {
	node-run 2 ip link set rail1 mtu 1500
	mesh 0 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null both mtu_differs"
	rm -rf "$dir"
	mesh 0 --ifname=rail1 --df --timeout=200ms
	expect "$(findings)" "nic n2 0 null both mtu_differs"
	# veth lets a VLAN tag more through
	expect "$(rows '.mtu_B >= 1500 and .mtu_B <= 1504')" 6
	expect "$(rows '.mtu_B == 9000')" 6
}

@test "a cable that swallows jumbo frames, though both ends are set to them" {
	ip link set v3-rail0 mtu 1500
	mesh 1 --ifname=rail0,rail1 --df --timeout=200ms
	expect "$(findings)" "nic n3 0 null both mtu_small"
	says 'up to 150[04] bytes pass unfragmented' "$dir/verdict.json"
	expect "$(jq -r '.findings[].do' "$dir/verdict.json" |
		grep -o -- --find-mtu | wc -l)" 1
}

@test "a switch port with a smaller MTU: found by default" {
	ip link set v3-rail0 mtu 1500
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n3 0 null both mtu_small"
	says 'up to 1500 bytes pass unfragmented, but .* is 9000' \
		"$dir/verdict.json"
	expect "$(cells pass)" 18
	# what passes is not measured further
	expect "$(rows '.mtu_B != null')" 6
}

@test "probes that the own kernel takes apart say nothing about the MTU" {
	for k in 1 2 3 4; do
		node-run "$k" ip link set rail1 mtu 1500
	done
	mesh 0 --ifname=rail1 --df --size=4000 --timeout=200ms
	expect "$(rows '.mtu_B == 1500')" 12
}
