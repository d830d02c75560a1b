#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# --flows: one of 16 paths between switches loses packets.  The paths are a fake:
# a packet filter chooses by the UDP source port, as a switch does by a hash.

load helper

# lossy RULE...: n2 drops packets of one source port in 16 that match RULE.
lossy()
{
	node-run 2 nft -f - <<-N
		table ip t {
			chain i {
				type filter hook input priority 0;
				iifname "rail0" udp sport & 15 == 5 $* drop
			}
		}
	N
}

# flows CODES: a run with 78 flows per path finds these, and no others.
flows()
{
	rm -rf "$dir"
	export agents=()
	mesh "0|1" --ifname==rail0 --flows=78
	[ "$(jq -r '[.findings[].code] | join(" ")' "$dir/verdict.json")" = "$1" ]
}

# often N RUNS CODES: RUNS times; at least N find these
often()
{
	local n=0 i

	for ((i = 0; i < $2; i++)); do
		n=$((n + $(flows "$3" >/dev/null && echo 1 || echo 0)))
	done
	echo "$n of $2"
	[ "$n" -ge "$1" ]
}

@test "one path of 16 that drops all: the flows are named, by their ports" {
	lossy
	flows path_flow || { cat out "$dir/results.csv"; false; }
	jq -e '.findings[0] | .severity == "fail" and .kind == "node_network" and
		.node == "n2"' "$dir/verdict.json"
	# each line of evidence is a flow that the filter drops
	jq -r '.findings[0].evidence[]' "$dir/verdict.json" |
		grep -oE 'UDP [0-9.]+ port [0-9]+ to 10.1.0.2 port [0-9]+' |
		while read -r _ _ _ port _; do
			[ $((port & 15)) -eq 5 ]
		done
	says '78 flows per path: 90 % sure that each of 16 links was used' out
	# rows of flows are no paths
	[ "$(cells pass)" -eq 12 ]
	[ "$(jq_rows | jq -r 'select(.flow).code' | sort -u)" = path_flow ]
}

@test "one path of 16 that drops 5 %, and none: as often as promised" {
	[ "${CASES-}" = all ] || skip "CASES=all"
	lossy numgen random mod 20 == 0
	often 18 20 path_flow
	node-heal
	often 50 50 ""
}
