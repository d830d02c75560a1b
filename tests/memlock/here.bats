#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# This machine, with limits that the test sets.

load helper

@test "16 KiB, 64 KiB: the proof breaks at the limit" {
	for kib in 16 64; do
		at $kib look 1 --node --json
		is .verdict.status fail
		is '.rows[] | select(.check == "mlock") | .max_ok_B' \
			$((kib * 1024))
		is '.rows[] | select(.check == "mlock") | .min_fail_B' \
			$((kib * 1024 + 4096))
		is '.rows[] | select(.check == "mlock") | .code' memlock_enomem
		is '.rows[] | select(.context == "here" and
			.check == "memlock_soft") | .limit_B' $((kib * 1024))
	done
}

@test "8 MiB is a fault" {
	[ "$(ulimit -H -l)" = unlimited ] || [ "$(ulimit -H -l)" -ge 8192 ] ||
		skip "the hard limit is lower here"
	at 8192 look 1 --node --quiet
}

@test "--need: the user knows better" {
	at 64 look 0 --node --quiet --need=64K
	at 64 look 1 --node --quiet --need=65K
}

@test "--node --quiet says nothing, keeps nothing, takes less than a second" {
	# of CPU: the machine may have other things to do
	TIMEFORMAT='%3U %3S'
	{ time at 64 look 1 --node --quiet; } 2>cpu
	read -r user sys <cpu
	rm cpu
	[ $((10#${user/./} + 10#${sys/./})) -lt 1000 ]
	[ ! -s out ]
	[ ! -s err ]
	[ "$(find . -mindepth 1 | sort | xargs)" = "./err ./out" ]
}

@test "--node -o keeps a run directory, which report judges the same" {
	at 64 look 1 --node -o run
	says '^FAIL '
	cp out first
	run "$GPUCHECK" report run
	[ "$status" -eq 1 ]
	diff <(echo "$output") first
	[ "$(jq -r .probe run/verdict.json)" = memlock ]
	[ "$(head -1 run/results.csv)" = "node,context,check,hca,limit_B,needed_B,\
max_ok_B,min_fail_B,source,outcome,code,detail,start_utc" ]
}

@test "--node --quiet -o says nothing and keeps all" {
	at 64 look 1 --node -q -o run
	[ ! -s out ]
	for file in run.json results.csv verdict.json; do
		[ -s run/$file ]
	done
	GPUCHECK_OUT=run GPUCHECK_LOCAL=2x1 at 64 look 1 --node --quiet
	[ ! -s err ]
}

@test "--local: agents and coordinator give the same answer" {
	at 64 look 1 --local -o run
	says '^FAIL '
	at 64 look 1 --local=2x1 --json -o run2
	is '.run.nodes | map(.name) | join(" ")' "n0 n1"
	is '[.rows[] | select(.check == "mlock") | .max_ok_B] | join(" ")' \
		"65536 65536"
	is '.verdict.findings[0] | "\(.kind) \(.node)"' "limit null"
	is '.run.ended_utc != null' true
	[ "$(grep -c ,state,ok, run2/facts.csv)" = 2 ]
}

@test "--csv" {
	at 64 look 1 --node --csv
	says '^[^,]*,here,memlock_soft,,65536,'
}

@test "contexts that do not exist are skipped, each with a reason" {
	look 0 --node --need=4K --json
	is '[.rows[] | select(.outcome == "skipped" and
		.check == "memlock_soft") | .context] | sort |
		contains(["batch", "login", "step"])' true
	is '[.rows[] | select(.outcome == "skipped" and
		.detail == null)] | length' 0
}

@test "a child that is killed: what it said is kept, the row says how it ended" {
	cp "$GPUCHECK" gpucheck
	# after that it ends with its agent, it asks for capabilities when the
	# chain has been looked at
	printf '#include <stdlib.h>\n#include <sys/prctl.h>\n%s\n' \
		'int prctl(int what, ...)
		{ if (what != PR_SET_PDEATHSIG) abort(); return 0; }' |
		gcc -shared -fPIC -x c -o libabort.so - || skip "no compiler"
	LD_PRELOAD=$PWD/libabort.so ASAN_OPTIONS=verify_asan_link_order=0 \
		look 1 --node --json --need=4K
	is '.rows[-1] | "\(.outcome) \(.code)"' "crashed worker_crashed"
	is '[.rows[] | select(.check == "memlock_hard")] | length > 0' true
	is '.verdict.findings[] | select(.kind == "node") | .code' worker_crashed
}

@test "a node of any name" {
	SLURMD_NODENAME=$(printf 'n%.0s' {1..90}) \
		at 64 look 0 --node --need=64K --json
	is '.rows[] | select(.check == "mlock") | .node | length' 63
}

@test "bad use" {
	look 2 --node --local
	says 'this machine only' err
	look 2 --node --dry-run
	says 'submits nothing' err
	look 2 --need=3
	look 2 --sysroot=
	look 2 0 9
}
