#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck ib on HCAs that a library pretends, healthy and with one fault at a
# time: three nodes with two rails each.  tests/fake/verbs/README.md has what
# the library does and what it does not.

load helper

setup_file()
{
	local n

	machine=$BATS_TEST_DIRNAME/../fake/verbs/machine
	export machine
	FAKE_VERBS_LIB=$BATS_TEST_DIRNAME/../..
	FAKE_VERBS_LIB+=/${B-build}/tests/fake/libibverbs.so.1
	export FAKE_VERBS_LIB
	[ -e "$FAKE_VERBS_LIB" ] || skip "no header of libibverbs"
	n=$("$machine" why)
	[ -z "$n" ] || skip "$n"
	export fabric=$BATS_FILE_TMPDIR/fabric
	mkdir "$fabric"
	for n in 0 1 2; do
		echo "f$((2 * n)) gids=v1/fe80::a$n,v2/10.7.0.1$n rate=2 pace=2.5"
		echo "f$((2 * n + 1)) gids=v1/fe80::b$n,v2/10.7.1.1$n rate=2 pace=2.5"
	done >"$fabric/devices"
	"$machine" tree "$fabric"
}

# ib 'FAULT...' CODE [OPTION...]: a run, which ends with CODE
ib()
{
	local want=$2 program=$GPUCHECK
	printf '%s\n' "$1" >"$fabric/faults"
	rm -rf "$fabric/wire" run
	shift 2
	GPUCHECK=$machine run_p "$fabric" "$program" ib --local=3x2 \
		--map=never -o run "$@"
	[ "$status" = "$want" ] || { echo "$status"; cat out err; return 1; }
}

# findings: KIND NODE:INDEX CODE of those that fail
findings()
{
	jq -r '.findings[] | select(.severity == "fail") |
		"\(.kind) \(.node):\(.index) \(.code)"' run/verdict.json
}

is()
{
	[ "$(findings)" = "$1" ] || { findings; cat out; return 1; }
}

@test "healthy: every pair at the rate of its port" {
	ib '' 0
	is ''
	[ "$(columns_of path run/results.csv | sort -u)" = RoCEv2/gid1/mtu1024 ]
	jq -e '.cells.pass == 12' run/verdict.json
}

@test "a cable that is cut under load: its NIC, as the HCAs say it" {
	ib 'cut f1 after=500000' 1 --qp-timeout=10
	is 'nic n0:1 rtr_timeout'
	grep -q 'status 12, vendor error 0x81' run/results.csv
	grep -q '10.7.1.10.*Connection timed out' run/results.csv
}

@test "a rail whose switch is dead" {
	ib 'cut f[135] f[135]' 1
	is 'rail null:1 rtr_timeout'
}

@test "a slow NIC" {
	ib 'slow f1 factor=0.3' 1
	is 'nic n0:1 slow'
}

@test "a port that goes down under load says so" {
	ib 'down f1 after=500000' 1 --qp-timeout=10
	is 'nic n0:1 port_down'
}

@test "an address that no packet comes through by" {
	ib 'lost * * gid=0' 1 --gid-index=0 --qp-timeout=10
	is 'inter_node null:null wc_retry_exc'
	grep -q 'GID' out
}

@test "a node whose memory may not be locked" {
	ulimit -l 8192
	ib 'memlock f[23] bytes=65536' 1
	is 'node n1:null memlock'
}

@test "a NIC that changes data" {
	ib 'corrupt f1' 1 --check=1
	is 'nic n0:1 data_corrupt'
}
