#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Runs that go into the history, and what it says of them.

load helper

# The first line of a history.
header()
{
	"$GPUCHECK" help csv | awk '/^history:/ { on = 1; next }
		on && !NF { exit }
		on { line = line "," $1 }
		END { print substr(line, 2) }'
}

# begin DAY: its $id and $start
begin()
{
	mkdir -p past
	id=$(printf %08x "$1")
	start=$(date -u -d "2026-01-01 $1 days" +%Y-%m-%dT09:15:02.000Z)
	[ -e past/history-7.csv ] || header >past/history-7.csv
}

# add DAY STATUS NIC CODE: a run of n1, with a finding of its NIC if CODE
# is not empty, is added to past/history-7.csv.
add()
{
	local id start
	begin "$1"
	cat >>past/history-7.csv <<-EOT
	run,$id,p2p,,$2,$start,,0,0,nccl,nic,67108864,2,1,45,,,,,,,,,,,,,,,,.
	node,$id,,,tested,,,,,,,,,,,,,,n1,45,,$3,,,,,,,,,.
	EOT
	[ -z "$4" ] || cat >>past/history-7.csv <<-EOT
	finding,$id,,,fail,,,,,,,,,,,,,,n1,,,,,nic,0,,,,$4,,.
	EOT
}

# old DAY: a summary of an earlier version in old/.
old()
{
	local start
	mkdir -p old
	start=$(date -u -d "2026-01-01 $1 days" +%Y-%m-%dT09:15:02.000Z)
	cat >"old/$(date -u -d "$start" +%Y%m%dT%H%M%SZ)-p2p-$(printf %08x \
		"$1").json" <<-EOT
	{"schema":1,"id":"$(printf %08x "$1")","probe":"p2p","status":"pass",
	"started_utc":"$start","drill":false,"model":false,"transport":"nccl",
	"schedule":"nic","size_B":67108864,"ranks":2,"node_count":1,
	"inter_GB_s":45,"rail_GB_s":[],"findings":[{"kind":"nic","node":"n1",
	"index":0,"severity":"fail","code":"wc_retry_exceeded"}],
	"nodes":[{"node":"n1","bw_GB_s":45,"gpu_GB_s":[],"nic_GB_s":[44.5]}]}
	EOT
}

# field COLUMN FILE: its values in the lines of runs and nodes.
field()
{
	awk -F, -v name="$1" 'NR == 1 {
		for (i = 1; i <= NF; i++) at[$i] = i
		next
	}
	$at[name] != "" { print $at[name] }' "$2"
}

@test "a run counts once, however often it is reported" {
	run_p p2p --local=1x2 --transport=tcp -e 64K -o run --history=past -q
	[ "$status" -eq 0 ]
	file=past/history-$(id -u).csv
	cp "$file" before
	run_p report --history=past run
	[ "$status" -eq 0 ]
	grep -q "^gpucheck: history: $PWD/past\$" <<<"$stderr"
	GPUCHECK_HISTORY=$PWD/past run_p report run
	[ "$status" -eq 0 ]
	cmp before "$file"
	[ "$(field transport "$file")" = tcp ]
	[ "$(field ranks "$file")" = 2 ]
	[ "$(field status "$file")" = $'pass\ntested' ]
	# of this machine, not of a pretend node that any has
	[ "$(field node "$file")" = "$(hostname)" ]
	run_p history --history=past
	[ "$status" -eq 0 ]
	grep -q '^1 run from 20' <<<"$output"
	grep -q 'No run found a faulty part' <<<"$output"
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
	[ "$(find home -name 'history-*.csv' -perm 600 | wc -l)" -eq 1 ]
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
	grep -q 'No run that counts .* 2 drills or simulated runs' <<<"$output"
	run_p history --history=past --drills --json
	jq -e '.runs == 2 and .left_out == 0 and
		([.parts[] | select(.failed > 0) | .part] == ["n1 GPU 1"])' \
		<<<"$output"
	[ "$(field drill past/history-*.csv | xargs)" = '0 1' ]
}

@test "parts of two setups have the letter of their setup" {
	with_pictures
	echo 'dead gpu=0:1' >drill
	for nodes in 2 3; do
		run_p p2p --local=${nodes}x2 --transport=sim -q \
			--history=past --faults=drill -o r$nodes
	done
	run_p history --history=past --drills -o page n0 GPU 1
	[ "$status" -eq 0 ]
	grep -q '^n0 GPU 1 (A): found in 1 of 1 run,' <<<"$output"
	grep -q '^n0 GPU 1 (B): found in 1 of 1 run,' <<<"$output"
	drawn page/history.svg
	grep -q 'n0 GPU 1 (B)' page/history.svg
	# runs of one minute: no two ticks are alike; no run measured the part,
	# so that its crosses are below all levels, where no tick is
	[ "$(grep -oE '>[0-9]+:[0-9:]+<' page/history.svg | sort | uniq -d |
		wc -l)" -eq 0 ]
	[ "$(grep -oE '> [0-9]+<' page/history.svg | tr -d '<> ' | sort -n |
		head -1)" -ge 90 ]
}

@test "who fails again, and what gets slower" {
	for day in 0 5 10 15 20 25 30 35; do
		case $day in
		10 | 20 | 35) add $day fail '' wc_retry_exceeded ;;
		*) add $day pass "$((5000 - day * 20))e-2" '' ;;
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
		add $day pass "$((4500 - day * 20))e-2" ''
	done
	add 35 fail '' 'x<y'
	# and a part that no run has measured
	sed -n '$s/nic,0,,,,x<y/gpu,3,,,,gpu_lost/p' past/history-7.csv >found
	cat found >>past/history-7.csv
	run_p history --history=past -q -o page
	[ "$status" -eq 0 ]
	drawn page/history.svg page/history.png
	grep -q 'n1 NIC 0' page/history.svg
	grep -q 'n1 GPU 3' page/history.svg
	grep -q '<td>n1 NIC 0</td>.*<td>-1[0-9]\.[0-9]</td><td>x&lt;y</td>' \
		page/history.html
	grep -q 'src="data:image/svg+xml' page/history.html
	absent 'https?://(?!www.w3.org)' page/history.html
	# ticks of 40 days are days, and none is below the levels
	[ "$(grep -oE '>2026-[0-9-]*<' page/history.svg | sort | uniq -d |
		wc -l)" -eq 0 ]
	grep -q '> 100<' page/history.svg
	run_p history --history=past -q -o page
	fails 2 "cannot write into 'page': Directory not empty"
	PATH=${PATH#*:} run_p history --history=past -q -o "it's" n1
	drawn "it's/history.png"
}

@test "what cannot be written or read costs no result" {
	run_p p2p --local=1x2 --transport=sim -q --history=no/such/folder
	[ "$status" -eq 0 ]
	fails 0 "cannot create the history '$PWD/no/such/folder'"
	mkdir -m 777 open
	run_p p2p --local=1x2 --transport=sim -q --history=open
	fails 0 "all users may remove files from the history '$PWD/open'"
	[ -z "$(ls -A open)" ]
	[ ! -w /dev/full ] || ln -s /dev/full file
	run_p p2p --local=1x2 --transport=sim -q --history=file
	fails 0 'history'
	run_p history --history=nowhere
	fails 3 "cannot read the history '$PWD/nowhere'"
	add 1 pass 45 ''
	echo 'run,0a' >>past/history-7.csv
	add 2 pass 45 ''
	run_p history --history=past
	fails 0 'not read: history-7.csv: line 4: 2 fields, the first line has 31'
	grep -q '^2 runs from .*; 1 line cannot be read' <<<"$output"
}

@test "a disk that is full costs the entry of the run, and no result" {
	mkdir small
	unshare -m true 2>/dev/null || skip "no namespace of mounts"
	cat >there <<-'EOT'
		mount -t tmpfs -o size=8k,mode=700 none small
		"$GPUCHECK" p2p --local=1x2 --transport=sim -q --history=small
		# its next byte needs a block that there is not
		file=$(echo small/history-*.csv)
		printf '%*s\n' $((4095 - $(stat -c %s "$file"))) x >>"$file"
		cp "$file" before
		head -c 4096 /dev/zero >small/fill
		"$GPUCHECK" p2p --local=1x2 --transport=sim -q --history=small \
			--metrics=small/a.prom -o run
		echo "exit $?" >end
		ls -A small >left
		cmp "$file" before && touch same
	EOT
	unshare -m bash there 2>err
	[ "$(<end)" = 'exit 0' ]
	[ "$(grep -c 'No space left' err)" -eq 2 ]
	grep -q 'report --history=DIR /' err
	[ "$(<left)" = $'fill\n'"history-$(id -u).csv" ]
	[ -e same ]
	jq -e '.status == "pass"' run/verdict.json
}

@test "several runs at once are whole" {
	small_run -q -o run
	for i in 1 2 3; do
		small_run -q -o run$i
	done
	for i in 1 2 3; do
		"$GPUCHECK" report -q --history=past run$i 3>&- &
		"$GPUCHECK" report -q --history=past run 3>&- &
	done
	wait
	[ "$(find past -type f | wc -l)" -eq 1 ]
	run_p history --history=past --drills --json
	jq -e '.runs == 4 and .unread == 0' <<<"$output"
}

@test "several users share a directory, each with a file of its own" {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	mkdir -m 1777 past
	small_run -q -o run --history="$PWD/past"
	chmod -R a+rX .
	other=(setpriv --reuid=65534 --regid=65534 --clear-groups
		env HOME="$PWD" "$GPUCHECK")
	for dir in "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" \
		"$(dirname "$GPUCHECK")"; do
		chmod a+rx "$dir"
	done
	"${other[@]}" version >/dev/null || skip "no other user can run gpucheck"
	"${other[@]}" report -q --history="$PWD/past" run
	[ "$(stat -c '%U %a' past/history-0.csv)" = 'root 644' ]
	[ "$(stat -c '%u %a' past/history-65534.csv)" = '65534 644' ]
	# one run in two files is one run
	run_p history --history=past --drills --json
	jq -e '.runs == 1 and .unread == 0' <<<"$output"
	# what another user puts in place of root's file is left alone
	rm past/history-0.csv
	"${other[@]}" report -q --metrics="$PWD/past/history-0.csv" run
	cp past/history-0.csv before
	run_p report -q --history=past run
	fails 0 'not a file of this user alone'
	cmp before past/history-0.csv
}

@test "the history of an earlier version is taken in" {
	for day in 0 5 10; do
		old $day
	done
	echo '{' >old/20270101T000000Z-p2p-00000000.json
	run_p history --history=old
	fails 0 "gpucheck history --convert=$PWD/old"
	run_p history --convert old --history=past
	fails 0 'not read: 20270101T000000Z-p2p-00000000.json'
	grep -q '^gpucheck: 3 runs taken into' <<<"$stderr"
	cp past/history-*.csv before
	# once again adds nothing
	run_p history --convert=old --history=past
	cmp before past/history-*.csv
	run_p history --history=past n1 NIC 0
	[ "$status" -eq 0 ]
	grep -q '^n1 NIC 0: found in 3 of the last 3 runs, first on 2026-01-01' \
		<<<"$output"
	mkdir none
	run_p history --convert=none --history=past
	fails 3 "'none' has no summary of an earlier version"
}

@test "all is one run, its steps are none" {
	run_p all --local=2x2 --transport=sim --history=past -q -o run
	[ "$status" -eq 0 ]
	[ "$(field probe past/history-*.csv)" = all ]
	[ "$(field model past/history-*.csv)" = 1 ]
	[ "$(field ranks past/history-*.csv)" = 4 ]
	[ "$(field inter_GB_s past/history-*.csv | wc -l)" -eq 1 ]
	[ "$(field node past/history-*.csv | sort -u | xargs)" = 'n0 n1' ]
}

# pairs DAY NODES: a run of two nodes that were tested together.
pairs()
{
	local id start
	begin "$1"
	cat >>past/history-7.csv <<-EOT
	run,$id,p2p,,pass,$start,,0,0,nccl,nic,67108864,2,2,45,,,,,,,,,,,,,,,,.
	node,$id,,,tested,,,,,,,,,,,,,,$2,45,,,,,,,,,,,.
	pairs,$id,,,,,,,,,,,,,,,,,$2,,,,$3,,,,,,,,.
	node,$id,,,tested,,,,,,,,,,,,,,$3,45,,,,,,,,,,,.
	EOT
}

@test "pairs of nodes that were never tested, and the job that tests them" {
	pairs 0 n0 n1
	pairs 3 n2 n3
	run_p history --history=past --coverage
	[ "$status" -eq 0 ]
	grep -q '^4 nodes in 2 runs: 2 of 6 pairs' <<<"$output"
	grep -q '^n0 with n\[2,3\]$' <<<"$output"
	run_p history --history=past --coverage --json
	[ "$(jq -c '[.pairs, .never, .oldest_node]' <<<"$output")" = \
		'[6,4,"n0"]' ]
	run_p history --history=past --coverage --csv --nodelist=n0,n1
	[ "$(cut -d, -f1,2,4 <<<"$output" | tail -1)" = n0,n1,00000000 ]
	run_p history --history=past --coverage n0
	fails 2 'does not go with a part'
	# of three idle nodes no pair was tested but one
	printf '#!/bin/sh\necho "$*" >>asked\n%s\n' \
		'printf "%s|a*|%s||none\n" n0 idle n1 idle n2 idle n3 alloc' \
		>sinfo
	chmod +x sinfo
	PATH=$PWD:$PATH run_p plan p2p -N 2 --stale --history=past --json
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.nodes, .idle, .nodelist, .nights_until_tested, .nights]' \
		<<<"$output")" = '[4,3,"n0,n2",4,6]' ]
	PATH=$PWD:$PATH run_p p2p -N 2 --stale --history=past --dry-run \
		--launcher=sbatch
	grep -q "submitted with: .*--nodelist=n\[0,2\]" <<<"$output"
	printf '#!/bin/sh\nexit 1\n' >sinfo
	PATH=$PWD:$PATH run_p plan p2p -N 2 --stale --history=past
	[ "$status" -eq 3 ]
	PATH=$PWD:$PATH run_p plan p2p -N 2 --stale --history=past --json \
		--nodelist='n[0-3]' -x n0
	[ "$(jq -c '[.idle, .nodelist]' <<<"$output")" = '[3,"n1,n2"]' ]
	run_p plan p2p --stale
	fails 2 'at least -N 2'
	run_p p2p --local=2x2 --transport=sim --stale
	fails 2 'cannot be used with --local'
}
