#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Without Slurm: agents are started by ssh on nodes that have nothing but an
# sshd.

load helper

# An sshd on every node, and a key that opens it.
sshd_up()
{
	local k

	mkdir -p /run/sshd "$CLUSTER/ssh"
	ssh-keygen -q -t ed25519 -N '' -f "$CLUSTER/ssh/host" <<<y >/dev/null
	ssh-keygen -q -t ed25519 -N '' -f "$CLUSTER/ssh/key" <<<y >/dev/null
	cp "$CLUSTER/ssh/key.pub" "$CLUSTER/ssh/authorized"
	printf '%s\n' "HostKey $CLUSTER/ssh/host" StrictModes=no PidFile=none \
		"AuthorizedKeysFile $CLUSTER/ssh/authorized" UsePAM=no \
		PermitRootLogin=yes | sed 's/=/ /' >"$CLUSTER/ssh/config"
	for k in "$@"; do
		node-run "$k" /usr/sbin/sshd -D -e -f "$CLUSTER/ssh/config" \
			>>sshd.out 2>&1 3>&- 4>&- &
		# shellcheck disable=SC2034  # for teardown
		agents[k]=$!
		await 20 connects "$k"
	done
}

connects()
{
	(exec 5<>"/dev/tcp/10.99.0.$1/22") 2>/dev/null
}

# by_ssh CODE HOSTS OPTION...
by_ssh()
{
	local wanted=$1 hosts=$2
	shift 2
	"$GPUCHECK" ping --ssh="$hosts" --ifname=rail0,rail1 -o "$dir" \
		"$@" -- -oUserKnownHostsFile=/dev/null -oLogLevel=ERROR \
		-oStrictHostKeyChecking=no -oIdentitiesOnly=yes \
		-i "$CLUSTER/ssh/key" >out 2>err 3>&- 4>&- &
	# shellcheck disable=SC2034  # for finish
	front=$!
	finish "$wanted"
}

# What a copied program and its agent leave over there.
leftovers()
{
	pgrep -f "agent $dir" || true
	find "${TMPDIR:-/tmp}" -maxdepth 2 -name gpucheck -path '*/tmp.*' \
		-newer "$BATS_TEST_TMPDIR" 2>/dev/null || true
}

nothing_left()
{
	[ -z "$(leftovers)" ]
}

@test "a copy of the program is sent along, used and removed" {
	command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || skip "no sshd"
	sshd_up 1 2 3
	printf '%s\n' '# three of them' '10.99.0.[1-2]' 'root@10.99.0.3 # root' \
		>hosts
	by_ssh 0 hosts
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
	by_ssh 1 '10.99.0.[1-3]' --ssh-path="$GPUCHECK" --boot-timeout=15s
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
