#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Packets that get lost on the way, one way, by chance, by filter.
# Each fault is made on real interfaces; the verdict names it, and nothing
# else.

load helper

@test "one direction between two nodes is dropped" {
	node-run 2 nft -f - <<-N
		table ip t {
			chain i {
				type filter hook input priority 0;
				ip saddr { 10.1.0.1, 10.2.0.1 } drop
			}
		}
	N
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "node_pair n1 null n2 tx one_way"
	expect "$(cells timeout)" 4
}

# filter K RULE: what node K sends meets that rule.
filter()
{
	node-run "$1" nft -f - <<-N
		table ip t {
			chain o {
				type filter hook output priority 0;
				$2
			}
		}
	N
}

@test "a filter of the sender: the sender, and the command that shows it" {
	filter 1 'icmp type echo-request drop'
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "node n1 null null tx sender_filtered"
	says "ssh n1 'sudo nft list ruleset; sudo iptables -S OUTPUT'" out
	expect "$(cells pass)" 18
}

@test "a filter of the sender that rejects all ICMP, answers too" {
	filter 2 'ip daddr 10.1.0.0/24 meta l4proto icmp reject'
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 0 null tx sender_filtered"
	expect "$(cells pass)" 18
}

@test "20 % of the packets to one interface are lost" {
	node-run 3 nft -f - <<-N
		table netdev t {
			chain i {
				type filter hook ingress device rail0 priority 0;
				ip protocol icmp numgen random mod 100 < 20 drop
			}
		}
	N
	mesh 1 --ifname=rail0,rail1 --count=25 --interval=20ms
	expect "$(findings)" "nic n3 0 null both loss"
	says 'lossy' out
}

@test "an answer with another address" {
	node-run 2 nft -f - <<-N
		table ip t {
			chain o {
				type filter hook output priority 0;
				icmp type echo-reply ip daddr 10.1.0.1 \
					ip saddr set 10.1.0.99
			}
		}
	N
	mesh 1 --ifname=rail0
	expect "$(findings)" "node_pair n1 null n2 tx wrong_reply"
	says 'the request went to 10.1.0.2, the reply came from 10.1.0.99' "$dir/verdict.json"
}

@test "an ICMP error, with its sender" {
	node-run 2 nft -f - <<-N
		table ip t {
			chain i {
				type filter hook input priority 0;
				icmp type echo-request \
					reject with icmp type host-prohibited
			}
		}
	N
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "node n2 null null rx icmp_error"
	says '10.1.0.2 reports .*host prohibited' "$dir/verdict.json"
}

@test "a node that does not answer ping, though UDP passes" {
	node-run 4 sysctl -q net.ipv4.icmp_echo_ignore_all=1
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "node n4 null null rx icmp_filtered"
	expect "$(jq '.findings[0].drain' "$dir/verdict.json")" false
}

@test "TCP: open, refused, filtered" {
	mesh 0 --ifname=rail0 --tcp=auto
	expect "$(rows '.code == "tcp_open"')" 12
	# --tcp is a way to ask here, no transport
	[ "$(grep -c GPUs out)" -eq 0 ]
	rm -rf "$dir"
	node-run 2 nft -f - <<-N
		table ip t {
			chain i {
				type filter hook input priority 0;
				ip saddr 10.1.0.0/24 tcp flags syn drop
			}
		}
	N
	mesh 1 --ifname=rail0 --tcp=9
	expect "$(findings)" "node n2 null null rx tcp_filtered"
	expect "$(rows '.code == "tcp_refused" and .outcome == "ok"')" 9
}
