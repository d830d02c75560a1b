#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Every node from every other, in a job; tests/ping has the faults.

load helper

@test "ping in a job: both ways, and then one of them is filtered" {
	run_to 0 ping -N 2 -G 1 -o "$dir"
	expect "$(columns src_node src_if dst_node dst_ip outcome | sort | xargs)" \
		"gcn1 eth0 gcn2 10.99.0.12 ok gcn2 eth0 gcn1 10.99.0.11 ok"
	expect "$(findings)" ""
	says '^PASS  ping, 2 nodes, ' out
	rm -rf "$dir"
	node-run 2 nft -f - <<-N
		table ip t {
			chain i {
				type filter hook input priority 0;
				icmp type echo-request drop
			}
		}
	N
	run_to 1 ping -N 2 -G 1 -o "$dir"
	node-run 2 nft delete table ip t
	says 'icmp_filtered' "$dir/verdict.json"
	expect "$(columns dst_node outcome | sort | xargs)" "gcn1 ok gcn2 error"
}
