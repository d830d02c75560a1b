#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Runs that are repeated, without Slurm.

load helper
load ../await

again=(p2p --local=1x2 --transport=sim -q)

@test "a turn makes the next run, until all are made" {
	run_p watch --every=1h --runs=2 --systemd -o w -- "${again[@]}" -G 2
	fails 2 'does not go with'
	run_p watch --every=1h --runs=2 --systemd -o w -- "${again[@]}"
	[ "$status" -eq 0 ]
	grep -qxF 'Type=oneshot' <<<"$output"
	grep -qE "^ExecStart=\"/.*\" turn \"$PWD/w\"\$" <<<"$output"
	grep -qxF 'OnUnitActiveSec=3600' <<<"$output"
	jq -e '.every_s == 3600 and .max_time_s == 1800' w/watch.json
	for i in 1 2; do
		run_p turn w
		[ "$status" -eq 0 ]
		grep -q "run-000$i ended with exit code 0" <<<"$stderr"
		jq -e '.ended_utc and .options["time-limit"] == "30m"' \
			"w/run-000$i/run.json"
	done
	run_p turn w
	fails 0 'no run: all runs of the watch are made'
	[ "$(find w/history -name '*.json' | wc -l)" -eq 2 ]
	[ ! -e w/run-0003 ]
}

# Somebody who holds the claim of w, and says of himself $1.
hold()
{
	rm -f held
	python3 -c 'import fcntl, sys, time
f = open("w/holder", "w")
f.write(sys.argv[1])
f.flush()
fcntl.lockf(f, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)' "$1" >held 3>&- &
	holder=$!
	await 20 test -s held
}

teardown()
{
	[ -z "${holder-}" ] || kill "$holder"
}

# Commands of Slurm, with its queue in a file; what is submitted waits.
fake_slurm()
{
	mkdir bin
	: >queue
	cat >bin/squeue <<-'EOT'
		#!/bin/sh
		[ ! -e away ] || { echo 'Unable to contact' >&2; exit 1; }
		case $* in
		*--jobs*) [ -e over ] || { echo RUNNING; exit; }
			echo 'Invalid job id specified' >&2
			exit 1 ;;
		esac
		cat queue
	EOT
	cat >bin/sbatch <<-'EOT'
		#!/bin/sh
		echo "$@" >>submitted
		for script; do :; done
		id=$((76 + $(wc -l <submitted)))
		echo "$id|PENDING|BeginTime|$script" >>queue
		echo "$id"
	EOT
	printf '#!/bin/sh\necho "$@" >>cancelled\n' >bin/scancel
	printf '#!/bin/sh\necho "$@" >>updated\n' >bin/scontrol
	printf '#!/bin/sh\n' | tee bin/sinfo >bin/srun
	chmod +x bin/*
	PATH=$PWD/bin:$PATH
}

@test "a turn counts, also one that fails before it has a directory" {
	echo 'dead gpu=0:1' >drill
	run_p watch --every=1h --runs=2 --systemd -o w -- "${again[@]}" \
		--faults="$PWD/drill"
	rm drill
	for i in 1 2; do
		run_p turn w
		[ "$status" -eq 2 ]
		grep -q "run-000$i ended with exit code 2" <<<"$stderr"
		[ ! -e "w/run-000$i" ]
	done
	run_p turn w
	fails 0 'no run: all runs of the watch are made'
}

@test "the claim of a job that has ended is taken over, no other one" {
	fake_slurm
	run_p watch --every=1h --systemd -o w -- "${again[@]}"
	hold 'process 5 on gone, job 41'
	run_p turn w
	fails 0 'no run: the one before is still at work (process 5 on gone, job 41)'
	touch away
	run_p turn w
	fails 0 'no run: the one before is still at work (process 5 on gone, job 41)'
	rm away
	touch over
	run_p turn w
	[ "$status" -eq 0 ]
	grep -q 'job 41 has ended, and its claim is taken over' <<<"$stderr"
	jq -e .ended_utc w/run-0001/run.json
	kill "$holder"
	hold 'process 5 on here'
	run_p turn w
	fails 0 'no run: the one before is still at work'
}

@test "a job that makes no run has others that follow it, and two alone" {
	fake_slurm
	run_p watch --every=1h -o w -- p2p -N 2
	[ "$status" -eq 0 ]
	[ "$output" = "$PWD/w"$'\n77' ]
	[ "$(wc -l <submitted)" -eq 2 ]
	[ "$(grep -c -- '--begin=now+3600' submitted)" -eq 1 ]
	hold 'process 5 on here'
	# by hand: the job that waits is the next
	run_p turn w
	[ "$(wc -l <submitted)" -eq 2 ]
	# the job itself, whose directory is away for a while, its disk full
	id=$(stat -c %i w/job.sbatch)
	mv w away-w
	(sleep 1; mv away-w w) 3>&- &
	SLURM_JOB_ID=77 run_p turn w
	fails 0 'no run: the one before is still at work'
	[ "$(stat -c %i w/job.sbatch)" = "$id" ]
	# the spare is the next one, and there is a new spare
	grep -q 'next: job 78' <<<"$stderr"
	grep -q 'JobId=78 StartTime=now+3600' updated
	grep -q 'and a spare: job 79' <<<"$stderr"
	[ "$(wc -l <submitted)" -eq 3 ]
	tail -1 submitted | grep -qE -- '--begin=now\+(7200|7199)'
	# where two wait none is submitted
	SLURM_JOB_ID=77 run_p turn w
	grep -q 'next: job 78' <<<"$stderr"
	[ "$(wc -l <submitted)" -eq 3 ]
	# one that was stopped leaves others alone
	echo "80|PENDING|None|/elsewhere/w/job.sbatch" >>queue
	run_p watch --stop=w
	[ "$(cut -d' ' -f3 cancelled | sort -u | xargs)" = '77 78 79' ]
	: >queue
	SLURM_JOB_ID=77 run_p turn w
	fails 0 'no run'
	[ "$(wc -l <submitted)" -eq 3 ]
}

@test "no spare where no run is left for it" {
	fake_slurm
	run_p watch --every=1h --runs=1 -o w -- p2p -N 2
	[ "$(wc -l <submitted)" -eq 1 ]
	run_p watch --every=1h --for=30m -o v -- p2p -N 2
	[ "$(wc -l <submitted)" -eq 2 ]
}

@test "units have the place and the settings of the shell that made them" {
	mkdir -p 'a b/units'
	cd 'a b'
	GPUCHECK_HISTORY=past GPUCHECK_TOKEN=secret run_p watch --every=1h \
		--systemd=units -o w -- "${again[@]}"
	[ "$status" -eq 0 ]
	service=units/gpucheck-watch-w.service
	grep -qxF "WorkingDirectory=$PWD" $service
	grep -qxF 'Environment="GPUCHECK_HISTORY=past"' $service
	[ "$(grep -c secret $service)" -eq 0 ]
	# as systemd would
	eval "$(sed -n 's/^Environment=\(.*\)/export \1/p' $service)"
	cd "$(sed -n 's/^WorkingDirectory=//p' $service)"
	run_p turn w
	[ "$status" -eq 0 ]
	[ "$(find past -name '*.json' | wc -l)" -eq 1 ]
	mkdir $'new\nline'
	cd $'new\nline'
	run_p watch --every=1h --systemd -o "$BATS_TEST_TMPDIR/n" -- \
		"${again[@]}"
	fails 3 'cannot be used in a systemd unit: it has control characters'
}

@test "units go where systemd finds them" {
	mkdir units
	run_p watch --every=90m --systemd=units -o "o d" -- "${again[@]}"
	[ "$status" -eq 0 ]
	[ "$output" = "$PWD/o d" ]
	grep -q 'enable --now gpucheck-watch-o_d.timer' <<<"$stderr"
	grep -qF "turn \"$PWD/o d\"" units/gpucheck-watch-o_d.service
	! command -v systemd-analyze >/dev/null ||
		systemd-analyze verify units/*.timer
	run_p watch --stop="o d"
	[ "$status" -eq 0 ]
	run_p turn "o d"
	fails 0 'no run: the watch was stopped'
}

@test "a turn that finds another at work leaves; TERM ends one in order" {
	local code=0
	echo 'hang pair=0-1' >drill
	run_p watch --every=1h --systemd -o w -- p2p --local=1x2 \
		--transport=tcp --timeout=60s --faults="$PWD/drill"
	"$GPUCHECK" turn w >first 2>&1 3>&- &
	pid=$!
	await 30 grep -sq ,start, w/run-0001/events.csv
	run_p turn w
	fails 0 'no run: the one before is still at work'
	kill -TERM $pid
	wait $pid || code=$?
	[ "$code" -eq 3 ]
	jq -e '.ended_utc and .stop_reason == "interrupted"' \
		w/run-0001/run.json
	[ "$(find w -maxdepth 1 -name 'run-*' | wc -l)" -eq 1 ]
}

@test "the exit code of a turn is that of its run" {
	echo 'dead gpu=0:1' >drill
	run_p watch --every=1h --systemd -o w -- "${again[@]}" \
		--faults="$PWD/drill" --history="$PWD/past"
	run_p turn w
	[ "$status" -eq 1 ]
	[ ! -e w/history ]
	[ "$(find past -name '*.json' | wc -l)" -eq 1 ]
}

@test "what cannot be repeated is refused, and nothing is made" {
	while read -r words; do
		# shellcheck disable=SC2086
		run_p watch --every=1h -o w $words
		[ "$status" -eq 2 ] || { echo "$words: $stderr"; false; }
		[ ! -e w ]
	done <<-'EOT'

	-- nothing
	-- report w
	-- watch --every=1h
	-- p2p -o there
	-- p2p --no-wait
	-- p2p --nods=2
	-- p2p -h
	EOT
	run_p watch -- p2p
	fails 2 '--every is missing'
	run_p turn w
	fails 2 "cannot open 'w'"
	mkdir w
	echo '{"schema":1,"name":"../x"}' >w/watch.json
	run_p turn w
	fails 3 'w/watch.json'
}
