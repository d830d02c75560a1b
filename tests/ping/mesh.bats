#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Each fault is made on real interfaces; the verdict names it, and nothing
# else.

load helper

@test "all is well: every path passes, pictures are stored" {
	mesh 0
	expect "$(cells pass)" 48
	expect "$(findings)" ""
	expect "$(rows '.outcome == "ok" and .sent >= 5 and .rtt_avg_us > 0')" 48
	for picture in nodes 10.1.0.0_24 10.4.0.0_24; do
		test -s "$dir/heatmap-$picture.svg"
	done
}

@test "cross: segments that are not routed to each other" {
	mesh 1 --cross --ifname=rail0,rail1
	expect "$(findings)" "cross_rail null null null both arp_failed"
	expect "$(cells pass)" 24
	expect "$(rows '.segment == "10.1.0.0/24->10.2.0.0/24"')" 12
	says 'NCCL_CROSS_NIC=0' out
}

@test "cross: segments that are" {
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
	mesh 0 --cross --ifname=rail0,rail1
	expect "$(cells pass)" 48
}

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

@test "one interface of 1500 among jumbo frames" {
	node-run 2 ip link set rail1 mtu 1500
	mesh 0 --ifname=rail0,rail1
	expect "$(findings)" "nic n2 1 null both mtu_differs"
	rm -rf "$dir"
	mesh 0 --ifname=rail1 --df --timeout=300ms
	expect "$(findings)" "nic n2 0 null both mtu_differs"
	# veth lets a VLAN tag more through
	expect "$(rows '.mtu_B >= 1500 and .mtu_B <= 1504')" 6
	expect "$(rows '.mtu_B == 9000')" 6
}

@test "a cable that swallows jumbo frames, though both ends are set to them" {
	ip link set v3-rail0 mtu 1500
	mesh 1 --ifname=rail0,rail1 --df --timeout=300ms
	expect "$(findings)" "nic n3 0 null both mtu_small"
	says 'up to 150[04] bytes pass whole' "$dir/verdict.json"
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
	says '10.1.0.2 was asked and 10.1.0.99 answered' "$dir/verdict.json"
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
	says '10.1.0.2 says .*host prohibited' "$dir/verdict.json"
}

@test "a node that does not answer ping, though UDP passes" {
	node-run 4 sysctl -q net.ipv4.icmp_echo_ignore_all=1
	mesh 1 --ifname=rail0,rail1
	expect "$(findings)" "node n4 null null rx icmp_filtered"
}

@test "no socket for ICMP is permitted: UDP between the agents, and it is said" {
	# where a user who is nobody may read and write
	work=$(mktemp -d "$CLUSTER/nobody.XXXXXX")
	chmod 777 "$work"
	cp "$GPUCHECK" "$work/gpucheck"
	GPUCHECK=$work/gpucheck
	dir=$work/run
	start --ifname=rail0,rail1
	chmod 777 "$dir" "$dir"/logs
	for k in 1 2 3 4; do
		agent $k setpriv --reuid=65534 --regid=65534 --clear-groups
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

@test "an agent that never comes: skipped cells, with the reason" {
	start --ifname=rail0,rail1 --boot-timeout=2s
	for k in 1 2 3; do
		agent $k
	done
	finish 1
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

@test "TCP: open, refused, filtered" {
	mesh 0 --ifname=rail0 --tcp=auto
	expect "$(rows '.code == "tcp_open"')" 12
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

@test "subnets and nodes can be chosen" {
	start --subnet=10.1.0.0/16,10.3.0.0/24 --exclude=n4,10.3.0.1
	for k in 1 2 3 4; do
		agent $k
	done
	finish 0
	expect "$(cells pass)" 8
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
