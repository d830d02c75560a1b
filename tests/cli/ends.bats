#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Every probe through every end: status, exit code and headline go together, and
# the files are there.  A run is what its directory says, so they are made here.

load helper

# end, and what it comes to: status, exit code and the first word.
ends='
healthy		pass	0	PASS
warning		warn	0	WARN
strict		warn	1	WARN
fault		fail	1	FAIL
nothing		unknown	3	UNKNOWN
left		partial	4	PARTIAL
cut		partial	4	PARTIAL
interrupted	partial	4	PARTIAL
broken		fail	4	FAIL
unwritable	unknown	3	UNKNOWN'

# address NODE RAIL
address()
{
	printf '{"if": "eth%s", "ip": "10.%s.0.%s", "segment": "10.%s.0.0/24",
		"rail": %s, "state": "up"}' "$2" "$2" $(($1 + 1)) "$2" "$2"
}

# run_json PROBE END: two nodes of two ranks, with an address each for ping.
run_json()
{
	local strict=false reason='' ended='"ended_utc": "2026-01-01T00:00:01Z",'
	case $2 in
	strict) strict=true ;;
	cut) ended= ;;
	interrupted | broken) reason=interrupted ;;
	esac
	cat <<-E
	{"schema": 1, "probe": "$1", "argv": ["gpucheck", "$1"], "version": "0",
	 "options": {"strict": $strict}, "strict": $strict, "drill": false,
	 "launcher": "local", "started_utc": "2026-01-01T00:00:00Z", $ended
	 "transport": "sim", "schedule": "nic", "size_B": 4096,
	 "nodes": [{"name": "n0", "first_rank": 0, "gpus": 2, "nics": 2,
		    "here": true, "ends": [$(address 0 0), $(address 0 1)]},
		   {"name": "n1", "first_rank": 2, "gpus": 2, "nics": 2,
		    "here": true, "ends": [$(address 1 0), $(address 1 1)]}],
	 "planned": {"kind": "all", "cells": 12, "rungs": ["p2p", "allreduce"]},
	 "stop_reason": "$reason"}
	E
}

# outcome END I: of measurement I, from 0.
outcome()
{
	case $1:$2 in
	fault:0 | broken:0) echo error,error ;;
	nothing:*)	 echo not_run, ;;
	left:[1-9]* | interrupted:[1-9]* | broken:[1-9]*) echo not_run, ;;
	*)		 echo ok, ;;
	esac
}

# A node says what the others do not: enough for a warning.
facts()
{
	echo node,scope,fact,value,unit,source
	echo n0,node,state,ok,,coordinator
	echo n1,node,state,ok,,coordinator
	echo n0,node,kernel,6.1,,uname
	case $1 in
	warning | strict) echo n1,node,kernel,5.9,,uname ;;
	esac
}

rows_p2p()
{
	local s d i=0 o
	echo attempt,src_rank,src_node,src_gpu,src_nic,dst_rank,dst_node,dst_gpu,dst_nic,transport,path,op,mode,memory,schedule,size_B,iters,bw_GB_s,bw_min_GB_s,bw_max_GB_s,expected_GB_s,lat_us,lat_p99_us,wrong,outcome,code,detail,wall_s,start_utc
	for s in 0 1 2 3; do
		for d in 0 1 2 3; do
			[ $s -ne $d ] || continue
			[ "$1:$i" != cut:6 ] || return 0
			o=$(outcome "$1" "$i")
			i=$((i + 1))
			echo "1,$s,n$((s / 2)),$((s % 2)),nic$((s % 2)),$d,n$((d / 2)),$((d % 2)),nic$((d % 2)),sim,,send,uni,host,nic,4096,20,$([ "${o%,*}" != ok ] || echo 10),,,,,,,$o,,,"
		done
	done
}

rows_ib()
{
	rows_p2p "$1"
}

rows_ping()
{
	local s net i=0
	echo src_node,src_if,src_ip,dst_node,dst_if,dst_ip,segment,method,sent,received,rtt_min_us,rtt_avg_us,rtt_max_us,mtu_B,outcome,code,detail,start_utc
	for net in 0 1; do
		for s in 0 1; do
			[ "$1:$i" != cut:2 ] || return 0
			echo "n$s,eth$net,10.$net.0.$((s + 1)),n$((1 - s)),eth$net,10.$net.0.$((2 - s)),10.$net.0.0/24,icmp,10,10,5,6,7,1500,$(outcome "$1" "$i"),,"
			i=$((i + 1))
		done
	done
}

rows_memlock()
{
	local n i=0 soft=34603008
	echo node,context,check,hca,limit_B,needed_B,max_ok_B,min_fail_B,source,outcome,code,detail,start_utc
	for n in n0 n1; do
		[ "$1:$i" != cut:1 ] || return 0
		case $1:$i in
		fault:0 | broken:0) soft=65536 ;;
		nothing:* | left:1 | interrupted:1 | broken:1)
			echo "$n,,,,,,,,,not_run,,," && i=$((i + 1)) && continue ;;
		*) soft=34603008 ;;
		esac
		echo "$n,step,memlock_soft,,$soft,34603008,,,,$(outcome "$1" "$i"),,"
		i=$((i + 1))
	done
	case $1 in
	warning | strict) echo n1,step,stack,,,,,,,error,stack_unlimited,, ;;
	esac
}

rows_info()
{
	echo node,outcome,code,detail,start_utc
	echo "n0,$(outcome "$1" 0),,"
	[ "$1" = cut ] || echo "n1,$(outcome "$1" 1),,"
}

rows_allreduce()
{
	local i
	echo op,variant,table,lib,algo,proto,ranks,nodes,dtype,redop,root,size_B,count,inplace,iters,time_us,time_med_us,time_min_us,time_max_us,time_p99_us,algbw_GB_s,busbw_GB_s,wrong,outcome,code,detail,start_utc
	for i in 0 1 2; do
		[ "$1:$i" != cut:1 ] || return 0
		echo "allreduce,,,sim,,,4,2,float,sum,-1,$((8 << i)),2,0,20,10,10,10,10,10,1,1,0,$(outcome "$1" "$i"),,"
	done
}

# Of all: two probes, and what the first has found.
rows_all()
{
	local i=0 probe status=pass
	case $1 in
	warning | strict) status=warn ;;
	fault | broken) status=fail ;;
	esac
	echo rung,status,exit_code,pass,slow,fail,timeout,corrupt,skipped,not_run,findings,wall_s,outcome,code,detail,start_utc
	for probe in p2p allreduce; do
		[ "$1:$i" != cut:1 ] || return 0
		case $1:$i in
		nothing:*) echo "$probe,,,,,,,,,,,1,skipped,none,not here," ;;
		left:1 | interrupted:1 | broken:1) echo "$probe,,,,,,,,,,,,not_run,stopped,," ;;
		*)
			mkdir -p "$probe"
			found "$status" >"$probe/verdict.json"
			run_json "$probe" healthy >"$probe/run.json"
			echo "$probe,$status,0,12,0,0,0,0,0,0,0,1,ok,,,"
			status=pass ;;
		esac
		i=$((i + 1))
	done
}

# found STATUS: a verdict.json with one finding, or none.
found()
{
	local finding="{\"kind\": \"gpu\", \"node\": \"n1\", \"index\": 1,
		\"peer_node\": null, \"peer_index\": null,
		\"direction\": \"both\", \"severity\": \"$1\",
		\"code\": \"timeout\", \"cells\": 6, \"explained\": 6, \"or\": [],
		\"says\": \"GPU 1 of n1 is bad\", \"do\": \"look at it\",
		\"evidence\": [], \"members\": [], \"score\": null}"
	[ "$1" != pass ] || finding=
	cat <<-E
	{"schema": 1, "probe": "p2p", "status": "$1", "drill": false,
	 "cells": {"pass": 12, "slow": 0, "fail": 0, "timeout": 0, "corrupt": 0,
		   "skipped": 0, "not_run": 0},
	 "findings": [$finding], "exclude": [], "good": []}
	E
}

# partial PROBE CODE: a run that was cut says so, whatever it found, and where
# that can be done, how to go on; another does not.
partial()
{
	local cut=0 resumed=0
	[ "$2" -ne 4 ] || cut=1
	case $1 in
	p2p | ib | all) resumed=$cut ;;
	esac
	[ "$(grep -c '^ *partial: ' out)" -eq "$cut" ] &&
		[ "$(grep -c -- "--resume" err)" -eq "$resumed" ]
}

# Is the end of probe $1 in $2 as the table says: $3 $4 $5?
check()
{
	local rc=0
	mkdir -p "$2"
	cd "$2" || return 1
	run_json "$1" "$2" >run.json
	facts "$2" >facts.csv
	"rows_$1" "$2" >results.csv
	[ "$2" != unwritable ] || mkdir -p verdict.json/x
	"$GPUCHECK" report . >../out 2>../err || rc=$?
	cd .. || return 1
	[ "$rc" -eq "$4" ] || { echo "$1 $2: exit $rc, not $4"; return 1; }
	grep -q "^$5  *$1[: ]" <(head -n 1 out) ||
		{ echo "$1 $2: $(head -n 1 out)"; return 1; }
	partial "$1" "$4" || { echo "$1 $2:"; cat out err; return 1; }
	[ "$2" != unwritable ] || return 0
	jq -e --arg status "$3" --argjson code "$4" '.status == $status and
		has("good") and
		($code == 3 or has("reason") == ($code == 4)) and
		(.cells | length) == 7' "$2/verdict.json" >/dev/null ||
		{ echo "$1 $2: $(jq -c . "$2/verdict.json")"; return 1; }
	grep -q "class=\"badge $3\"" "$2/report.html" ||
		{ echo "$1 $2: report.html"; return 1; }
}

all_ends()
{
	local end status code word bad=0
	while read -r end status code word; do
		[ -z "$end" ] || check "$1" "$end" "$status" "$code" "$word" ||
			bad=1
	done <<<"$ends"
	return "$bad"
}

@test "p2p at every end" { all_ends p2p; }
@test "ib at every end" { all_ends ib; }
@test "ping at every end" { all_ends ping; }
@test "memlock at every end" { all_ends memlock; }
@test "info at every end" { all_ends info; }
@test "allreduce at every end" { all_ends allreduce; }
@test "all at every end" { all_ends all; }

# report_of CODE PATTERN: report refuses p2p/healthy as it stands now.
report_of()
{
	run_p report "$dir"
	fails "$1" "$2"
}

@test "results.csv that lacks a column, or has a context that is none" {
	dir=$PWD/lacks
	mkdir "$dir" && cd "$dir"
	run_json p2p healthy >run.json
	facts healthy >facts.csv
	rows_p2p healthy | cut -d, -f1-24,26- >results.csv
	cd ..
	report_of 3 "'results.csv' has no column 'outcome'"
	run_p report --json "$dir"
	[ "$status" -eq 3 ]
	jq -e '.run.probe == "p2p" and .verdict.status == "unknown" and
		(.verdict.reason | contains("outcome"))' out
	dir=$PWD/context
	mkdir "$dir" && cd "$dir"
	run_json memlock healthy >run.json
	facts healthy >facts.csv
	rows_memlock healthy | sed 's/,step,/,stop,/' >results.csv
	cd ..
	report_of 3 "'results.csv' has an unknown context 'stop'"
}

@test "half a last row is none" {
	dir=$PWD/half
	mkdir "$dir" && cd "$dir"
	run_json p2p healthy >run.json
	facts healthy >facts.csv
	rows_p2p healthy >results.csv
	truncate -s -1 results.csv
	cd ..
	run_p report "$dir"
	[ "$status" -eq 4 ]
	jq -e '.cells.pass == 11 and .cells.not_run == 1' "$dir/verdict.json"
	grep -q 'line 13: its end is missing' out
}

@test "a report that cannot be written whole leaves the result as it is" {
	dir=$PWD/page
	mkdir "$dir" && cd "$dir"
	run_json p2p healthy >run.json
	facts healthy >facts.csv
	rows_p2p healthy >results.csv
	mkdir -p report.html/x
	cd ..
	report_of 0 "cannot write '$dir/report.html'"
	jq -e '.status == "pass"' "$dir/verdict.json"
}

@test "a gnuplot that hangs costs 30 s" {
	dir=$PWD/hangs
	mkdir "$dir" bin && cd "$dir"
	run_json p2p healthy >run.json
	facts healthy >facts.csv
	rows_p2p healthy >results.csv
	cd ..
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nkill -STOP $$\n' >bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH
	SECONDS=0
	report_of 0 "gnuplot failed (no answer in time)"
	[ "$SECONDS" -lt 40 ]
}

@test "--json says why a run did not start" {
	mkdir -p taken/x
	run_p p2p --local=1x2 --transport=tcp --json -o taken
	[ "$status" -eq 2 ]
	jq -e '.run.probe == "p2p" and .verdict.status == "unknown" and
		.verdict.cells.pass == 0 and .rows == [] and
		(.verdict.reason | contains("cannot write into"))' out
	run_p p2p --local=1x2 --transport=tcp --json -o none/there
	[ "$status" -eq 3 ]
	jq -e '.verdict.reason | contains("No such file")' out
}
