# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here: a run in the background, its processes by
# name, and after each test proof that nothing of it is left.

load ../await
load ../pasted

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	unset "${!SLURM_@}" "${!GPUCHECK_@}"
	export GPUCHECK_CONFIG=none
	GPUCHECK=$(realpath "$GPUCHECK")	# as its children call it
	# marks every process below this test
	export GPUCHECK_TEST_MARK=$BATS_TEST_TMPDIR
	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
}

teardown()
{
	local left good=true
	pasted || good=false
	left=$(marked)
	# shellcheck disable=SC2086
	[ -z "$left" ] || kill -9 $left
	[ -z "$left" ]
	[ -z "$(ls -A "$TMPDIR")" ]
	[ -z "$(find /dev/shm -name '*gpucheck*' -newer "$TMPDIR")" ]
	# no half-written file
	[ -z "$(find . -path './run*/.*' | tee /dev/stderr)" ]
	$good
}

# The processes of this test that run the program, as "PID WORD" where WORD is
# the command: p2p, agent, coordinator, worker.
family()
{
	local pid me words
	pgrep -af "^$GPUCHECK " | while read -r pid me words; do
		if grep -qszxF "GPUCHECK_TEST_MARK=$BATS_TEST_TMPDIR" \
			"/proc/$pid/environ"; then
			echo "$pid $words"
		fi
	done
}

# signal_worker SIGNAL: to the last worker; one that ends just then is not it.
signal_worker()
{
	await 10 signal_last "$1"
}

signal_last()
{
	kill "-$1" "$(pids worker | tail -n 1)" 2>/dev/null
}

# pids WORD: of the processes with that command, oldest first.
pids()
{
	family | awk -v word="$1" '$2 == word && $3 != "inventory" { print $1 }' |
		sort -n
}

marked()
{
	family | awk '{ print $1 }'
}

# begin ARGS...: p2p in the background, into $dir or run, until it has measured
# something.
begin()
{
	# in a session that is not that of init, as any user's
	setsid "$GPUCHECK" p2p --transport=tcp --progress=never \
		-o "${dir:-run}" "$@" \
		>out 2>err 3>&- </dev/null &
	front=$!
	await 20 has_rows 2
}

has_rows()
{
	[ "$(wc -l 2>/dev/null <"${dir:-run}/results.csv" || echo 0)" -gt "$1" ]
}

# ends SECONDS CODE: the front ends in time, with that exit code (a pattern).
ends()
{
	local code=0
	await "$1" gone "$front" || { cat err; ps -ef; return 1; }
	wait "$front" || code=$?
	# shellcheck disable=SC2053
	if [[ $code != $2 ]]; then
		echo "exit $code, not $2"
		cat err out run/events.csv
		return 1
	fi
}

gone()
{
	local state
	! read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || [ "$state" = Z ]
}

nobody_left()
{
	[ -z "$(marked)" ]
}

# The report of what is there ends as the run did.
report_agrees()
{
	local code=0
	"$GPUCHECK" report run >report.out 2>&1 || code=$?
	if [ $code -ne "$1" ]; then
		echo "report ends with $code, not $1"
		cat report.out
		return 1
	fi
}

# outcomes PATTERN: how many first rows that match have which outcome.
outcomes()
{
	grep -- "$1" run/results.csv | awk -F, '$1 == 1 { print $25 }' |
		sort | uniq -c | awk '{ print $2 ":" $1 }'
}

# count OUTCOME: of first rows.
count()
{
	outcomes '' | sed -n "s/^$1://p"
}

# only OUTCOME...: no first row has another one.
only()
{
	local other
	other=$(outcomes '' | grep -vxE "($(tr ' ' '|' <<<"$*")):[0-9]+") || true
	[ -z "$other" ] || {
		echo "also $other"
		cat run/events.csv run/results.csv
		return 1
	}
}

# Every ordered pair of N ranks has exactly one first row.
every_cell()
{
	awk -F, -v n="$1" '
		NR > 1 && $1 == 1 && seen[$2, $6]++ {
			print "twice: " $0; bad = 1
		}
		END {
			for (s = 0; s < n; s++) {
				for (d = 0; d < n; d++) {
					if (s != d && !seen[s, d]) {
						print "no row: " s, d; bad = 1
					}
				}
			}
			exit bad
		}' run/results.csv
}

# Long enough to be disturbed: two seconds, and a second of real bytes.
# shellcheck disable=SC2034
long=(--local=2x4 -b 256K -n 8 --rate-limit=32M --timeout=20s)
# shellcheck disable=SC2034
busy=(--local=2x4 -b 4M -n 25 --timeout=20s)
