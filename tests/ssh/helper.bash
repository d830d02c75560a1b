# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Without Slurm: agents are started by ssh on nodes that have nothing but an
# sshd.  They are those of the mesh of tests/ping, and share no directory: n1,
# n2 and n3 can be used, n4 has another key than ssh remembers, n5 is dead.

load ../ping/helper

ssh_options=()
beside=()

# sshd_up K...: an sshd on every node, and a key that opens it.  Its host key is
# $key (host), whom it lets in says $door (authorized); the command $beside, if
# there is one, gets it as its arguments and goes on as that.
sshd_up()
{
	local k name

	command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || skip "no sshd"
	mkdir -p /run/sshd "$CLUSTER/ssh"
	for name in host other key; do
		[ -e "$CLUSTER/ssh/$name" ] ||
			ssh-keygen -q -t ed25519 -N '' -f "$CLUSTER/ssh/$name" \
				</dev/null
	done
	cp "$CLUSTER/ssh/key.pub" "$CLUSTER/ssh/authorized"
	for k in "$@"; do
		printf '%s\n' "HostKey $CLUSTER/ssh/${key:-host}" \
			StrictModes=no PidFile=none UsePAM=no \
			"AuthorizedKeysFile $CLUSTER/ssh/${door:-authorized}" \
			PermitRootLogin=yes | sed 's/=/ /' >"sshd.$k"
		node-run "$k" "${beside[@]}" /usr/sbin/sshd -D -e -f "$PWD/sshd.$k" \
			>>sshd.out 2>&1 3>&- 4>&- &
		# shellcheck disable=SC2034  # for teardown
		agents[k]=$!
		await 20 connects "$k"
	done
	ssh_options=(-oIdentitiesOnly=yes -i "$CLUSTER/ssh/key")
}

connects()
{
	(exec 5<>"/dev/tcp/10.99.0.$1/22") 2>/dev/null
}

# Nodes by name, and ssh knows the keys of all of them: those of "host".
know_hosts()
{
	local k

	for k in 1 2 3 4 5; do
		echo "10.99.0.$k n$k"
	done >hosts
	for k in 1 2 3 4 5; do
		echo "n$k $(<"$CLUSTER/ssh/host.pub")"
	done >known
	# of this mount namespace alone
	mountpoint -q /etc/hosts && umount /etc/hosts
	mount --bind hosts /etc/hosts
	ssh_options+=(-oUserKnownHostsFile="$PWD/known"
		-oStrictHostKeyChecking=yes)
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

# by_ssh CODE PROBE OPTION...: a run of it ends with CODE.  Without gnuplot: it
# takes longer than the rest.
by_ssh()
{
	local wanted=$1
	shift
	mkdir -p bin
	ln -sf /usr/bin/ssh bin
	PATH=$PWD/bin "$GPUCHECK" "$@" -o "$dir" -- \
		"${ssh_options[@]}" >out 2>err 3>&- 4>&- &
	# shellcheck disable=SC2034  # for finish
	front=$!
	finish "$wanted"
}

# "NODE CODE" of every finding of a node, in order.
bad_nodes()
{
	jq -r '.findings[] | select(.node // "" | test("^n[45]$")) |
		"\(.node) \(.code)"' "$dir/verdict.json" | sort
}

unusable="n4 ssh_host_key
n5 ssh_unreachable"

hosts_up()
{
	sshd_up 1 2 3
	key=other sshd_up 4
	know_hosts
}
