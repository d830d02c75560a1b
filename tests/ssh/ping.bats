#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# ping by ssh, and what is left behind.

load helper

# ping_by_ssh CODE HOSTS OPTION...
ping_by_ssh()
{
	local wanted=$1 hosts=$2
	shift 2
	"$GPUCHECK" ping --ssh="$hosts" --ifname=rail0,rail1 -o "$dir" \
		"$@" -- "${ssh_options[@]}" -oUserKnownHostsFile=/dev/null \
		-oLogLevel=ERROR -oStrictHostKeyChecking=no \
		>out 2>err 3>&- 4>&- &
	# shellcheck disable=SC2034  # for finish
	front=$!
	finish "$wanted"
}

@test "a copy of the program is sent along, used and removed" {
	command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || skip "no sshd"
	sshd_up 1 2 3
	printf '%s\n' '# three of them' '10.99.0.[1-2]' 'root@10.99.0.3 # root' \
		>hosts
	ping_by_ssh 0 hosts
	expect "$(cells pass)" 12
	expect "$(jq -r '[.nodes[].name] | join(" ")' "$dir/run.json")" \
		"n1 n2 n3"
	await 20 nothing_left
	# the secret of the run is in no file and on no command line
	expect "$(find "$dir" -name rendezvous)" ""
	expect "$(grep -rlE '\b[0-9a-f]{64}\b' "$dir")" ""
}

@test "the program that is there; one machine does not answer" {
	command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || skip "no sshd"
	sshd_up 1 2
	ping_by_ssh 1 '10.99.0.[1-3]' --ssh-path="$GPUCHECK" --boot-timeout=15s
	expect "$(findings)" "node 10.99.0.3 null null both ssh_unreachable"
	expect "$(cells pass)" 4
}

@test "hosts that make no sense are refused before anything starts" {
	run "$GPUCHECK" ping --ssh --hosts=-oProxyCommand=x
	expect "$status" 2
	run "$GPUCHECK" ping --hosts=n1
	expect "$status" 2
	run "$GPUCHECK" ping --ssh
	expect "$status" 2
	run "$GPUCHECK" ping --ssh=n1 --nodelist=n2
	expect "$status" 2
	run "$GPUCHECK" ping --exclude=eth0,10.1.0.0/16
	expect "$status" 2
	[[ $output == *--skip* ]]
	run "$GPUCHECK" ping --exclude=lo
	expect "$status" 2
	[[ $output == *--skip=lo* ]]
	printf 'n1\nn2 n3\n' >hosts
	run "$GPUCHECK" ping --ssh --hosts=hosts
	expect "$status" 2
	[[ $output == *'line 2'* ]]
}
