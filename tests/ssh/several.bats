#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Several probes in turn, and nodes that are chosen.

load helper

@test "ib and collectives, on nodes that are chosen" {
	hosts_up
	by_ssh 0 ib --ssh=n[1-5] -x n[4-5] --transport=sim -G 2
	expect "$(cells pass)" 6
	rm -r "$dir"
	by_ssh 0 allreduce --ssh --nodelist=n[1,3] --transport=sim -G 2 \
		-b 8 -e 64
	expect "$(jq -r '[.nodes[].name] | join(" ")' "$dir/run.json")" "n1 n3"
}

@test "all: several probes in turn" {
	hosts_up
	by_ssh 1 all --quick --ssh=n[1-4] --transport=tcp -G 2 --max-time=100s
	says '^n4 ssh_host_key$' <(bad_nodes)
	# the first probe found it; later ones do without, not to wait again
	jq -r '.findings[].code' "$dir/memlock/verdict.json" |
		grep -qx ssh_host_key
	expect "$(jq -r '[.nodes[].name] | join(" ")' "$dir/p2p/run.json")" \
		"n1 n2 n3"
	expect "$(jq -c '.cells | [.skipped, .fail, .timeout, .pass > 9]' \
		"$dir/p2p/verdict.json")" '[0,0,0,true]'
	[ -s "$dir/ping/results.csv" ]
}

@test "--diagnose: its steps run by ssh, with their settings" {
	hosts_up
	echo 'dead pair=0-2' >drill
	by_ssh 1 p2p --ssh=n[1-2] --transport=sim -G 2 --faults=drill --diagnose
	says '^' "$dir/diagnose.csv"
	expect "$(jq -r .launcher "$dir"/diagnose/*/run.json | sort -u)" ssh
}
