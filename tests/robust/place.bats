#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Run directories that are full, gone or in use; sizes at the edge.

load helper

run_p()
{
	status=0
	timeout 60 "$GPUCHECK" "$@" >out 2>err 3>&- </dev/null || status=$?
}

@test "a directory is used once" {
	run_p p2p --local=2x2 --transport=sim -o run
	[ $status -eq 0 ]
	cp run/results.csv before
	run_p p2p --local=2x2 --transport=sim -o run
	[ $status -eq 2 ]
	grep -q "cannot write into 'run': Directory not empty" err
	cmp before run/results.csv
}

# A file system of $1 bytes at ./disk.
small_disk()
{
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	mkdir disk
	mount -t tmpfs -o size="$1" tmpfs disk || skip "cannot mount here"
	export PASTED=no	# the disk is unmounted at the end
}

full_disk_is_said()
{
	[ $status -eq "${1:-3}" ]
	grep -q 'No space left on device' err
	[ -z "$(marked)" ]
}

@test "a disk that is full from the start" {
	small_disk 4k
	head -c 4k /dev/zero >disk/filler || true
	run_p p2p --local=2x4 --transport=tcp -b 64K -o disk/run
	umount disk
	full_disk_is_said
}

@test "a disk with room for run.json and no more" {
	small_disk 16k
	run_p p2p --local=2x4 --transport=tcp --boot-timeout=3s -o disk/run
	umount disk
	full_disk_is_said
}

@test "a disk that fills up with rows" {
	small_disk 96k
	run_p p2p --local=4x8 --transport=tcp -b 64K -o disk/run
	rows=$(grep -c ',ok,' disk/run/results.csv)
	umount disk
	full_disk_is_said 4
	[ "$rows" -gt 50 ]
	tail -n 1 err | grep -q 'gpucheck p2p --resume .*disk/run"'
}

# $1 (front, status, report) was printed to out with exit code $2: it is what
# verdict.json, where there is one, and results-final.csv say.
one_answer()
{
	local word
	word=$(sed -n '1s/ .*//p' out)
	echo "$1 at ${k}k: $word, exit code $2" >&2
	case $2 in
	0) [ "$word" = PASS ] && [ -s disk/run/results-final.csv ] ;;
	3) [ "${word:-UNKNOWN}" = UNKNOWN ] ;;
	4) [ "$word" = PARTIAL ] ;;
	*) false ;;
	esac
	if [ -s disk/run/verdict.json ]; then
		[ "$(jq -r '.status | ascii_upcase' disk/run/verdict.json)" = \
			"${word:-UNKNOWN}" ]
	fi
}

@test "front, status, report and verdict.json agree on a disk of any size" {
	local step=16
	[ "${CASES-}" != all ] || step=4
	declare -A seen
	small_disk 4k
	for ((k = 20; k <= 200; k += step)); do
		mount -o remount,size=${k}k disk
		run_p p2p --local=2x8 --transport=sim -o disk/run
		front=$status
		seen[$front]=1
		one_answer front $front
		if [ $front -eq 4 ]; then
			tail -n 1 err | grep 'gpucheck p2p --resume .*disk/run"'
		elif [ -s disk/run/results.csv ] && [ $front -eq 3 ]; then
			grep 'cannot write .*: No space left on device' err
		fi
		run_p status disk/run
		one_answer status $status
		[ $status -eq $front ]
		# which has the room of what the front has removed
		run_p report disk/run
		[ $status -eq $front ] || [ $front$status = 30 ]
		one_answer report $status
		report=$status
		run_p status disk/run
		[ $status -eq $report ]
		rm -rf disk/run
	done
	umount disk
	[ ${#seen[@]} -eq 3 ]
}

@test "a disk without room for a verdict" {
	small_disk 2m
	run_p p2p --local=2x8 --transport=sim -o disk/run
	[ $status -eq 0 ]
	rm disk/run/results-final.csv disk/run/verdict.json disk/run/report*
	cat /dev/zero >disk/filler || true
	run_p report disk/run
	one_answer report 3
	[ $status -eq 3 ]
	run_p status disk/run
	[ $status -eq 3 ]
	grep -q '^UNKNOWN' out
	rm disk/filler
	run_p report disk/run
	[ $status -eq 0 ]
	run_p status disk/run
	one_answer status $status
	[ $status -eq 0 ]
	umount disk
}

@test "a disk that fills while the report is written" {
	small_disk 84k	# rows fit, results-final.csv does not
	run_p p2p --local=2x8 --transport=sim --metrics=metrics -o disk/run
	k=84 one_answer front 3
	[ $status -eq 3 ]
	grep -q 'cannot write results-final.csv, .*report.html in' err
	grep -q 'results-final.csv could not be written' out
	grep -q '^gpucheck_run_status{.*status="unknown"} 1' metrics
	[ "$(jq -r .unwritten disk/run/verdict.json)" = results-final.csv ]
	[ ! -e disk/run/results-final.csv ]
	mount -o remount,size=2m disk
	run_p report disk/run
	[ $status -eq 0 ]
	[ -s disk/run/results-final.csv ] && [ -s disk/run/report.html ]
	jq -e '.status == "pass" and (has("unwritten") | not)' \
		disk/run/verdict.json
	umount disk
}

@test "a report on a disk that is full writes into the room of the last one" {
	small_disk 2m
	run_p p2p --local=2x8 --transport=sim -o disk/run
	[ $status -eq 0 ]
	cp disk/run/results-final.csv before
	dd if=/dev/zero of=disk/filler bs=4k || true
	run_p report disk/run
	[ $status -eq 0 ]
	cmp before disk/run/results-final.csv
	# the verdict has no room but that of the rows
	rm disk/run/verdict.json
	dd if=/dev/zero of=disk/filler2 bs=4k || true
	run_p report disk/run
	k=full one_answer report $status
	[ $status -eq 3 ]
	grep -q "cannot write .*results-final.csv" err
	[ "$(jq -r .status disk/run/verdict.json)" = unknown ]
	umount disk
}

@test "a run whose disk was full is completed by --resume" {
	small_disk 48k
	run_p p2p --local=2x8 --transport=sim -o disk/run
	[ $status -eq 4 ]
	for command in status report; do
		run_p $command disk/run
		[ $status -eq 4 ]
		grep -q '^PARTIAL' out
	done
	[ "$(jq -r .status disk/run/verdict.json)" = partial ]
	mount -o remount,size=2m disk
	run_p p2p --resume disk/run
	[ $status -eq 0 ]
	[ "$(jq .cells.pass disk/run/verdict.json)" -eq 240 ]
	umount disk
}

@test "a disk that fills in the middle: the reason and the verdict are there" {
	small_disk 2m
	dir=disk/run begin --local=2x4 -b 4M -n 25 --timeout=20s
	# as somebody else's data does
	dd if=/dev/zero of=disk/filler bs=4k || true
	ends 60 4
	cp -r disk/run run
	umount disk
	grep -q 'results.csv.: No space left on device' err
	grep -q 'has 0 B of 2 MiB' err
	jq -e '.stop_reason == "write_error" and .ended_utc and
		(.error.text | endswith("No space left on device"))' \
		run/run.json
	jq -e '.status == "partial" and .exclude == []' run/verdict.json
	report_agrees 4
	grep -q '^PARTIAL' report.out
	grep -q 'No space left on device' <(tr -s ' \n' ' ' <report.out)
}

@test "the run directory is removed in the middle" {
	begin "${long[@]}"
	rm -r run
	ends 60 3
	grep -q "run" err
}

@test "no rank, or one" {
	for local in 0 0x3 3x0 1x1 1; do
		run_p p2p --local=$local --transport=tcp -o run-$local
		[ $status -eq 2 ]
		grep -q hint err
	done
}

@test "an agent without a directory" {
	# of a launcher of ours: it does not wait for one
	GPUCHECK_BOOT_RANK=0 GPUCHECK_BOOT_SIZE=1 run_p agent "$PWD/nowhere"
	[ $status -eq 3 ]
	grep -q "nowhere" err
	[ ! -e nowhere ]
	run_p agent
	[ $status -eq 2 ]
}

@test "a coordinator and a worker that nobody started" {
	run_p coordinator "$PWD"
	[ $status -eq 3 ]
	run_p worker
	[ $status -ne 0 ] && [ $status -ne 124 ]
}

@test "64 ranks on this machine" {
	run_p p2p --local=8x8 --transport=tcp -b 4K -n 4 --timeout=30s \
		--pairs=rail -o run
	[ $status -eq 0 ]
	[ "$(outcomes '')" = "ok:448" ]
}
