#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck explain: logs and codes.

load helper

a_log()
{
	cat <<-'END'
	n1:7:9 [0] NCCL WARN socketProgress: Connection closed by remote peer n2
	n1:7:9 [0] NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory
	n1:7:9 [0] NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory
	END
}

@test "a fault is exit 1, and comes before its echo" {
	a_log >log
	run_p explain log
	[ "$status" -eq 1 ]
	grep -q '^log: 2 known messages in 3 lines$' out
	grep -q '^ 1. memlock_cq: line 2, and 1 more$' out
	grep -q '^ 2. peer_closed, a consequence' out
	[ ! -s err ]
	awk 'length > 100 { exit 1 }' out
}

@test "standard input, --json, --csv, --quiet" {
	a_log | "$GPUCHECK" explain - --json >out && false
	[ "$(jq -r '.symptoms[0] | .code, .count, .line' out | xargs)" = \
		"memlock_cq 2 2" ]
	[ "$(jq .lines out)" -eq 3 ]
	a_log | "$GPUCHECK" explain --csv - >out && false
	[ "$(sed -n 2p out | cut -d , -f 1-4)" = "memlock_cq,fault,2,2" ]
	a_log | "$GPUCHECK" explain -q - >out && false
	[ ! -s out ]
}

@test "no known message is exit 0" {
	echo "all is well" >log
	run_p explain log
	[ "$status" -eq 0 ]
	grep -q 'no known message in 1 line$' out
	: >empty
	run_p explain empty
	[ "$status" -eq 0 ]
}

@test "a code, an unknown one, a directory" {
	run_p explain memlock_cq
	[ "$status" -eq 0 ]
	grep -q '^means ' out
	run_p explain wc_retry_exc
	[ "$status" -eq 0 ]
	grep -q '^wc_retry_exceeded$' out
	run_p explain memlok_cq
	fails 2 "did you mean 'memlock_cq'?"
	run_p explain .
	fails 3 "gpucheck report"
	run_p explain
	[ "$status" -eq 2 ]
}

@test "every code is in the manual page, and no other" {
	sed -n 's/^\[\([a-z0-9_]*\)\]$/\1/p' "$root/data/symptoms.ini" |
		sort >codes
	sed -n '/^\.Sh CODES/,/^\.Sh EXIT/{/^\./d;p;}' \
		"$root/cli/man/gpucheck-explain.1" | grep -oE '[a-z0-9_]+' |
		sort >listed
	diff codes listed
}

@test "binary data is no reason to stop" {
	head -c 3000000 /dev/urandom >log
	printf '\nNVRM: Xid (PCI:0000:2a:00): 79\n' >>log
	run_p explain log
	[ "$status" -eq 1 ]
	grep -q xid_79 out
}
