#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# One probe by ssh, and hosts that cannot be used.

load helper

@test "p2p: what can be reached is measured, the others say why" {
	hosts_up
	printf '%s\n' '# five' 'n[1-2]' 'root@n3' n4 n5 >file
	by_ssh 1 p2p --ssh=file --transport=tcp -G 2 -b 64K -n 3
	expect "$(bad_nodes)" "$unusable"
	# on a busy machine some are slow
	expect "$(($(cells pass) + $(cells slow)))" 30
	expect "$(jq -r .launcher "$dir/run.json")" ssh
	expect "$(jq -r '[.nodes[].name] | join(" ")' "$dir/run.json")" \
		"n1 n2 n3 n4 n5"
	says 'ssh-keygen -R n4' "$dir/verdict.json"
	says 'REMOTE HOST IDENTIFICATION' "$dir/logs/ssh-n4.txt"
	[ -s "$dir/report.html" ]
	# the secret of the run is in no file; nothing stays over there
	expect "$(grep -rlE '\b[0-9a-f]{64}\b' "$dir")" ""
	await 20 nothing_left
}

@test "memlock and info" {
	hosts_up
	by_ssh 1 memlock --ssh=n[1-5]
	expect "$(bad_nodes)" "$unusable"
	rm -r "$dir"
	by_ssh 1 info --launcher=ssh --hosts=n[1-5]
	expect "$(bad_nodes)" "$unusable"
	expect "$(awk -F, '$2 == "node" && $3 == "state"' "$dir/facts.csv" |
		grep -c ',ok,')" 3
}

@test "a host that asks for a password, one without the program" {
	sshd_up 1 2
	door=nobody sshd_up 3
	know_hosts
	by_ssh 1 p2p --ssh=n[1-3] --transport=tcp -G 1 -b 64K -n 3
	expect "$(jq -r '.findings[] | "\(.node) \(.code)"' \
		"$dir/verdict.json")" "n3 ssh_login"
	expect "$(cells pass)" 2
	rm -r "$dir"
	by_ssh 3 p2p --ssh=n[1-2] --transport=tcp --ssh-path=/nowhere/gpucheck
	expect "$(jq -r .findings[].code "$dir/verdict.json" | sort -u)" \
		ssh_program
}

@test "hang: the rank that NCCL misses, on the nodes that are named" {
	# ranks 0 and 1 are on n1; 2, and once 3, on n2
	local k
	head -c 8192 /dev/zero >libnccl.so.2
	sed '/"rank": [23],/{n;s/127.0.0.1/10.99.0.2/}' \
		"$BATS_TEST_DIRNAME/../fixtures/ras/kill" >said
	cat >job <<-'E'
		#!/bin/bash
		# job PLACE SSHD...: ranks beside it
		ras=$1/../fake/ras
		shift
		ranks=2 addr=127.0.0.1:1
		if [ "$HOSTNAME" = n1 ]; then
			tail -f /dev/null | "$ras/ras" "$PWD/said" "$PWD/pids" >port &
			until [ -s port ]; do sleep 0.1; done
			ranks="0 1" addr=127.0.0.1:$(<port)
		fi
		recorded=($(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' said))
		for k in $ranks; do
			RANK=$k WORLD_SIZE=4 NCCL_RAS_ADDR=$addr \
				"$ras/rank" libnccl.so.2 sleep >"ready.$k" &
			echo "$! ${recorded[k]}" >>pids
		done
		exec "$@"
	E
	chmod +x job
	# shellcheck disable=SC2034  # for sshd_up
	beside=(unshare --pid --fork --kill-child --mount-proc ./job
		"$BATS_TEST_DIRNAME")
	sshd_up 1 2
	know_hosts
	for k in 0 1 2; do
		await 20 test -s "ready.$k"
	done
	by_ssh 1 hang --nodelist=n[1-2] --ssh
	expect "$(jq -r '.findings[] | "\(.node) \(.index) \(.code)"' \
		"$dir/verdict.json")" "n2 3 rank_gone"
	expect "$(tail -n +2 "$dir/results.csv" | cut -d, -f1,2 | sort)" \
		"$(printf '%s\n' 10.99.0.2,3 n1,0 n1,1 n2,2)"
	says '^>  *3 n2 ' out
	says "^  *ssh n2 'dmesg" out
}
