#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What our own processes may not have: that is said with its number, nothing is
# accused of it, and what can be measured is measured.

load helper

# lacks PATTERN FILE...: nobody says so.
lacks()
{
	! grep -E "$@"
}

# short CODE ARGS...: p2p in $limit, which runs words; ends with CODE, accuses
# nobody, and every test that was not run is so for a limit.
short()
{
	local code=$1 status=0
	shift
	timeout 60 "${limit[@]}" "$GPUCHECK" p2p --transport=tcp \
		--progress=never -o "${dir:-run}" "$@" >out 2>err 3>&- \
		</dev/null || status=$?
	cat out err
	[ $status -eq "$code" ]
	lacks 'FAIL|drain|to skip|reboot|stopped without' out err
	await 5 nobody_left
}

# measured MIN: so many tests at least passed, all others wait for --resume.
measured()
{
	only ok not_run
	[ "$(count ok)" -ge "$1" ]
	grep -q '"exclude": *\[\]' run/verdict.json
	grep -q '"kind": *"limit"' run/verdict.json
	lacks '"severity": *"fail"' run/verdict.json
	lacks '[,]not_run,([^l]|l[^i])' run/results.csv
}

files()
{
	limit=(prlimit --nofile="$1")
}

# As a user whom the limit of processes binds: root is exempt.
tasks()
{
	[ "$(id -u)" -eq 0 ] || skip "only root can be another user"
	setpriv --reuid=65533 --regid=65533 --clear-groups "$GPUCHECK" version \
		>/dev/null 2>&1 || skip "no other user here"
	limit=(setpriv --reuid=65533 --regid=65533 --clear-groups
		prlimit --nproc="$1")
	export PASTED=no	# another user's run
	chmod o+x "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
	chmod 777 .
}

# group CONTROLLER FILE VALUE: a cgroup with that limit.
group()
{
	group=/sys/fs/cgroup/$1/gpucheck-test.$$
	mkdir "$group" 2>/dev/null || skip "no cgroup to be made"
	[ -e "$group/$2" ] || skip "no such cgroup"
	echo "$3" >"$group/$2"
	# shellcheck disable=SC2016  # for the other shell
	limit=(bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group")
}

group_away()
{
	await 10 rmdir "$group" 2>/dev/null
}

@test "too few open files for the coordinator" {
	for n in 13 16 24; do
		rm -rf run
		files $n
		short 3 --local=2x4
		grep -q "open files are limited to $n (ulimit -n; hard limit $n), but [0-9]* are needed" err
		grep -qE '(agent|coordinator) on ' err
	done
}

@test "too few open files for a process to start" {
	for n in 4 5 6 9 10; do
		for command in 'info --local' 'p2p --local=2x2 -o run' \
			'agent run' 'version'; do
			code=0
			bash -c "ulimit -n $n; exec $GPUCHECK $command" \
				>out 2>err </dev/null 3>&- 4>&- || code=$?
			cat out err
			[ $code -eq 3 ]
			grep -q 'too few file descriptors' err
			grep -q "limited to $n (ulimit" err
			[ ! -e run ]
		done
	done
}

@test "too few open files for all workers" {
	files 32
	short 4 --local=2x4
	grep -q 'open files are limited to 32 (ulimit' run/events.csv
	grep -q -- '--resume' err
	measured 2
	# with enough it goes on, and the limit is history
	"$GPUCHECK" p2p --resume run >out 2>err 3>&-
	grep -q '56 tests: 56 pass' out
	lacks 'limit' out
}

@test "enough open files, once the soft limit is raised" {
	limit=(prlimit --nofile=20:)
	short 0 --local=2x4
	grep -q 'nofile_soft,20,' run/facts.csv
}

@test "workers have the soft limit of a job" {
	echo 'hang pair=0-1' >drill
	prlimit --nofile=100: "$GPUCHECK" p2p --local=2x2 --transport=tcp \
		--faults=drill --timeout=3s --progress=never -o run \
		>out 2>err 3>&- </dev/null &
	front=$!
	await 20 has_rows 2
	for pid in $(pids worker); do
		[ "$(awk '/open files/ { print $4 }' "/proc/$pid/limits")" -eq 100 ]
	done
	for pid in $(pids agent) $(pids coordinator); do
		[ "$(awk '/open files/ { print $4 }' "/proc/$pid/limits")" -gt 100 ]
	done
	# at high load it may not get to run, which is another finding
	await 60 gone "$front"
}

@test "too few processes for the coordinator" {
	tasks 3
	short 3 --local=2x4
	grep -q 'processes and threads of user 65533 are limited to 3 (ulimit -u), [0-9]* are running' err
}

@test "too few processes for all workers" {
	tasks 7
	short 4 --local=2x4
	grep -q 'user 65533 are limited to 7 (ulimit -u)' run/events.csv
	measured 2
}

@test "too few processes in the cgroup" {
	group pids pids.max 10
	short 4 --local=2x4
	group_away
	grep -q "of the cgroup are limited to 10 ($group/pids.max)" run/events.csv
	measured 2
}

@test "no memory for large messages" {
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer takes more"
	limit=(prlimit --as=30720000)
	short 3 --local=2x2 -b 64M
	grep -q 'the address space of a process is limited to 29.3 MiB (ulimit -v)' run/events.csv
	only not_run
}

@test "an agent without memory for an order is short of it, not lost" {
	local mb=4 r
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer takes more"
	mkdir -p run/logs
	printf '{"schema": 1, "probe": "info", "argv": [], "options": {},
		"version": "0.1.0", "drill": true, "launcher": "env",
		"nonce": "00112233445566778899aabbccddeeff",
		"started_utc": "2026-01-01T00:00:00Z",
		"drill_text": "# %s"}' "$(head -c 3000000 /dev/zero |
			tr '\0' x)" >run/run.json
	# what it needs to start and a little more, but not the order
	until prlimit --as=${mb}000000 "$GPUCHECK" version 2>/dev/null; do
		mb=$((mb + 1))
	done
	limit=(prlimit --as=$((mb + 2))000000)
	for r in 0 1 2; do
		GPUCHECK_HOST=n$r RANK=$r WORLD_SIZE=3 LOCAL_RANK=0 \
			"${limit[@]:0:r == 2 ? 2 : 0}" "$GPUCHECK" agent run \
			2>"err.$r" 3>&- &
	done
	wait
	code=0
	"$GPUCHECK" report run --color=never >out 2>err || code=$?
	cat out err err.2 run/events.csv
	[ $code -eq 4 ]
	grep -q '^PARTIAL info: 2 of 3 nodes' out
	grep -q "^WARN .* processes on n2 ran into a limit: no memory" out
	grep -q 'n2,.*limit_memory,.*the address space of a process is limited to' run/events.csv
	grep -q '"exclude": *\[\]' run/verdict.json
	lacks 'FAIL|drain|reboot|Protocol error' out err.2
}

# agents SHORT FILES PROBE [OPTIONS]: four ranks of two nodes as torchrun starts
# them, rank SHORT with FILES descriptors, and what report says of that.
agents()
{
	local r from=$SECONDS
	rm -rf run
	mkdir -p run/logs
	printf '{"schema": 1, "probe": "%s", "argv": [], "version": "0.1.0",
		"options": {"boot-timeout": "40s"%s}, "launcher": "env",
		"nonce": "00112233445566778899aabbccddeeff",
		"started_utc": "2026-01-01T00:00:00Z"}' "$3" "${4-}" \
		>run/run.json
	for r in 0 1 2 3; do
		files "$2"
		GPUCHECK_HOST=n$((r / 2)) RANK=$r WORLD_SIZE=4 \
			LOCAL_RANK=$((r % 2)) LOCAL_WORLD_SIZE=2 \
			"${limit[@]:0:r == $1 ? 2 : 0}" "$GPUCHECK" agent run \
			2>"err.$r" 3>&- </dev/null &
	done
	wait
	code=0
	"$GPUCHECK" report run --color=never >out 2>err || code=$?
	cat out err err.?
	# it is known at once: nothing waits for --boot-timeout
	[ $((SECONDS - from)) -lt 30 ]
}

@test "too few open files for an agent to join: the same answer for all" {
	local few=(4 9 14 19)
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer takes more"
	[ "${CASES-}" != all ] || few=({4..19})
	for n in "${few[@]}"; do
		agents 3 "$n" p2p ', "transport": "tcp"'
		[ $code -eq 4 ]
		grep -q "on n1 ran into a limit: too few" out
		grep -q "limited to $n (ulimit -n; hard limit $n), but 20 are needed" run/facts.csv
		grep -q "too few .*: Too many open files" err.3
		measured 6
		lacks 'FAIL|drain|reboot|firewall' out err.?
	done
	# info asks each node once; without rank 0 there is no coordinator
	agents 2 12 info
	[ $code -eq 4 ]
	for n in 4 9 15; do
		agents 0 "$n" p2p ', "transport": "tcp"'
		[ $code -eq 3 ]
		grep -q "too few .* files\|too few file descriptors" err
		lacks 'FAIL|drain|firewall' out err
	done
}

@test "killed for want of memory" {
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer takes more"
	group memory memory.limit_in_bytes 24M
	short 3 --local=2x2 -b 64M
	group_away
	grep -q "the memory of the cgroup is limited to 24 MiB ($group/memory" run/events.csv
	only not_run
}

@test "a disk that is full says how large it is" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	mkdir disk
	mount -t tmpfs -o size=8k tmpfs disk || skip "cannot mount here"
	limit=(env)
	dir=disk/run short 3 --local=2x4
	umount disk
	grep -q "the file system of '.*/disk/run' has 0 B of 8 KiB" err
}
