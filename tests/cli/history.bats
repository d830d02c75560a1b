#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Runs that go into the history, and what it says of them.

load helper

# summary DAY STATUS NIC FINDINGS: a run of n1 in past/, of 60 days ago and
# later.
summary()
{
	local start
	mkdir -p past
	start=$(date -u -d "2026-01-01 $1 days" +%Y-%m-%dT09:15:02.000Z)
	cat >"past/$(date -u -d "$start" +%Y%m%dT%H%M%SZ)-p2p-$(printf %08x \
		"$1").json" <<-EOT
	{"schema":1,"id":"$(printf %08x "$1")","probe":"p2p","status":"$2",
	"started_utc":"$start","drill":false,"model":false,"transport":"nccl",
	"schedule":"nic","size_B":67108864,"ranks":2,"node_count":1,
	"inter_GB_s":45,"rail_GB_s":[],"findings":[$4],"nodes":[{"node":"n1",
	"bw_GB_s":45,"gpu_GB_s":[],"nic_GB_s":[$3]}]}
	EOT
}

@test "a run leaves one summary, however often it is reported" {
	run_p p2p --local=1x2 --transport=tcp -e 64K -o run --history=past -q
	[ "$status" -eq 0 ]
	run_p report --history=past run
	[ "$status" -eq 0 ]
	grep -q "^gpucheck: history: $PWD/past\$" <<<"$stderr"
	GPUCHECK_HISTORY=$PWD/past run_p report run
	[ "$status" -eq 0 ]
	files=(past/*)
	[ ${#files[@]} -eq 1 ]
	jq -e '.schema == 1 and .status == "pass" and .transport == "tcp" and
		.ranks == 2 and .nodes[0].bw_GB_s > 0 and (.drill | not)' \
		"${files[0]}"
	# of this machine, not of a pretend node that any has
	[ "$(jq -r '.nodes[0].node' "${files[0]}")" = "$(hostname)" ]
	run_p history --history=past
	[ "$status" -eq 0 ]
	grep -q '^1 run from 20' <<<"$output"
	grep -q 'No part was found' <<<"$output"
}

@test "without --history nothing is kept" {
	HOME=$PWD/home XDG_DATA_HOME='' run_p p2p --local=1x2 --transport=sim -q
	[ "$status" -eq 0 ]
	[ ! -e home ]
}

@test "a part of two nodes counts in the runs of both, and is a part of both" {
	echo 'dead pair=0-2' >drill
	: >none
	for run in none none drill; do
		run_p p2p --local=2x2 --transport=sim -q -o $RANDOM \
			--history=past --faults=$run
	done
	for part in n0 n1 'n0:0 - n1:0'; do
		# shellcheck disable=SC2086 # words of it
		run_p history --history=past --drills $part
		grep -q '^n0:0 - n1:0: found in 1 of the last 3 runs' out
	done
}

@test "by default it is below the home directory" {
	HOME=$PWD/home XDG_DATA_HOME='' run_p p2p --local=1x2 --transport=sim \
		-q --history
	[ "$status" -eq 0 ]
	[ "$(find home -name '*.json' | wc -l)" -eq 1 ]
	HOME=$PWD/home XDG_DATA_HOME='' run_p history --drills --json
	jq -e '.runs == 1' <<<"$output"
}

@test "drills and the model cluster are marked and do not count" {
	echo 'dead gpu=1:1' >drill
	small_run --history=past -q -o one
	small_run --history=past -q -o two --faults=drill
	[ "$status" -eq 1 ]
	run_p history --history=past
	[ "$status" -eq 0 ]
	grep -q 'No run that counts .* 2 drills or model runs' <<<"$output"
	run_p history --history=past --drills --json
	jq -e '.runs == 2 and .left_out == 0 and
		([.parts[] | select(.failed > 0) | .part] == ["n1 GPU 1"])' \
		<<<"$output"
	[ "$(grep -l '"drill":true' past/* | wc -l)" -eq 1 ]
}

@test "who fails again, and what gets slower" {
	local nic='{"kind":"nic","node":"n1","index":0,"severity":"fail",
		"code":"wc_retry_exceeded"}'
	for day in 0 5 10 15 20 25 30 35; do
		case $day in
		10 | 20 | 35) summary $day fail null "$nic" ;;
		*) summary $day pass "$((5000 - day * 20))e-2" '' ;;
		esac
	done
	COLUMNS=80 run_p history --history=past
	[ "$status" -eq 0 ]
	grep -qx 'lemon: n1 failed in 3 of its last 8 runs (NIC 0)' \
		<<<"$output"
	grep -qE '^n1 NIC 0 +A +3/8 +2026-01-11 2026-02-05 \.\.x\.x\.\.x' \
		<<<"$output"
	run_p history --history=past N1 nic 0
	[ "$status" -eq 0 ]
	grep -q '^n1 NIC 0: found in 3 of the last 8 runs, first on 2026-01-11' \
		<<<"$output"
	run_p history --history=past --csv
	[ "$(columns_of failed <(grep -E '^(part|n1 NIC 0),' <<<"$output"))" -eq 3 ]
	run_p history --history=past --last=2 --json
	jq -e '.runs == 2 and (.nodes[0].lemon | not)' <<<"$output"
	run_p history --history=past n2
	fails 2 "no run of the history knows a part 'n2'"
}

@test "a page with a picture of what a part did" {
	with_pictures
	for day in 0 5 10 15 20 25 30; do
		summary $day pass "$((4500 - day * 20))e-2" ''
	done
	summary 35 fail null '{"kind":"nic","node":"n1","index":0,
		"severity":"fail","code":"x<y"}'
	run_p history --history=past -q -o page
	[ "$status" -eq 0 ]
	drawn page/history.svg page/history.png
	grep -q 'n1 NIC 0' page/history.svg
	grep -q '<td>n1 NIC 0</td>.*<td>-1[0-9]\.[0-9]</td><td>x&lt;y</td>' \
		page/history.html
	grep -q 'src="data:image/svg+xml' page/history.html
	absent 'https?://(?!www.w3.org)' page/history.html
	run_p history --history=past -q -o page
	fails 2 'page'
	PATH=${PATH#*:} run_p history --history=past -q -o "it's" n1
	drawn "it's/history.png"
}

@test "what cannot be written or read costs no result" {
	run_p p2p --local=1x2 --transport=sim -q --history=no/such/folder
	[ "$status" -eq 0 ]
	fails 0 "cannot create the history 'no/such/folder'"
	mkdir -m 777 open
	run_p p2p --local=1x2 --transport=sim -q --history=open
	fails 0 "all users can write to history '$PWD/open'"
	[ -z "$(ls -A open)" ]
	[ ! -w /dev/full ] || ln -s /dev/full file
	run_p p2p --local=1x2 --transport=sim -q --history=file
	fails 0 'history'
	run_p history --history=nowhere
	fails 3 "cannot open the history 'nowhere'"
	summary 1 pass 45 ''
	echo '{' >past/20270101T000000Z-p2p-00000000.json
	run_p history --history=past
	fails 0 'not read: 20270101T000000Z-p2p-00000000.json'
	grep -q '1 file cannot be read' <<<"$output"
}

@test "a disk that is full costs the summary, and no result" {
	mkdir small
	unshare -m true 2>/dev/null || skip "no namespace of mounts"
	cat >there <<-'EOT'
		mount -t tmpfs -o size=4k,mode=700 none small
		head -c 4096 /dev/zero >small/fill
		"$GPUCHECK" p2p --local=1x2 --transport=sim -q --history=small \
			--metrics=small/a.prom -o run
		echo "exit $?" >end
		ls -A small >left
	EOT
	unshare -m bash there 2>err
	[ "$(<end)" = 'exit 0' ]
	[ "$(grep -c 'No space left' err)" -eq 2 ]
	grep -q 'report --history=DIR RUN' err
	[ "$(<left)" = fill ]
	jq -e '.status == "pass"' run/verdict.json
}

@test "several runs at once leave a whole summary each" {
	small_run -q -o run
	for i in 1 2 3; do
		small_run -q -o run$i
	done
	for i in 1 2 3; do
		"$GPUCHECK" report -q --history=past run$i 3>&- &
		"$GPUCHECK" report -q --history=past run 3>&- &
	done
	wait
	[ "$(find past -type f | wc -l)" -eq 4 ]
	run_p history --history=past --drills --json
	jq -e '.runs == 4 and .unread == 0' <<<"$output"
}

@test "an index that is broken is made anew, and is of this user alone" {
	local index
	summary 1 pass 45 ''
	run_p history --history=past --json
	index=$(find "$XDG_CACHE_HOME/gpucheck" -newer past -name 'history-*')
	[ "$(wc -l <<<"$index")" -eq 1 ]
	[ "$(stat -c %a "$(dirname "$index")")" = 700 ]
	cp out before
	echo rubbish >"$index"
	run_p history --history=past --json
	cmp out before
	[ "$(stat -c %s "$index")" -gt 1000 ]
	chmod 0 "$index"
	XDG_CACHE_HOME=$PWD/before run_p history --history=past --json
	cmp out before
}

@test "all is one run, its steps are none" {
	run_p all --local=2x2 --transport=sim --history=past -q -o run
	[ "$status" -eq 0 ]
	[ "$(find past -type f | wc -l)" -eq 1 ]
	jq -e '.probe == "all" and .model and .ranks == 4 and
		(.nodes | length) == 2 and .inter_GB_s > 0' past/*
}
