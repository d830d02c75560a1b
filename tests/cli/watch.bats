#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Runs that are repeated, without Slurm; cron and Slurm are scripts.

load helper
load ../await

again=(p2p --local=1x2 --transport=sim -q)

# Commands crontab and scrontab, whose tables are files NAME.me; those
# of Slurm, with its queue in a file.
fakes()
{
	mkdir bin
	: >queue
	for tool in "$@"; do
		cat >"bin/$tool" <<-EOT
			#!/bin/sh
			cd "$PWD" || exit 2
			[ ! -e denied ] || { echo "you may not use it" >&2; exit 1; }
			case \$1 in
			-l) [ -e $tool.me ] ||
				{ echo "no crontab for me" >&2; exit 1; }
				cat $tool.me ;;
			-r) rm $tool.me ;;
			*) cp "\$1" $tool.me ;;
			esac
		EOT
	done
	cat >bin/squeue <<-EOT
		#!/bin/sh
		[ ! -e "$PWD/away" ] || { echo 'Unable to contact' >&2; exit 1; }
		cat "$PWD/queue"
	EOT
	printf '#!/bin/sh\necho "$@" >>%q\n' "$PWD/cancelled" >bin/scancel
	printf '#!/bin/sh\necho "$@" >>%q\nexit 1\n' "$PWD/submitted" >bin/sbatch
	printf '#!/bin/sh\n' | tee bin/sinfo bin/scontrol >bin/srun
	chmod +x bin/*
	PATH=$PWD/bin:$PATH
}

@test "a line of crontab makes the next run, until all are made" {
	fakes crontab
	echo '0 0 * * * mine' >crontab.me
	run_p watch --every=1h --runs=2 -o w -- "${again[@]}" -G 2
	fails 2 'does not go with'
	run_p watch --every=1h --runs=2 -o w -- "${again[@]}"
	[ "$status" -eq 0 ]
	[ "$(head -1 <<<"$output")" = "$PWD/w" ]
	[ "$(head -1 crontab.me)" = '0 0 * * * mine' ]
	line=$(tail -1 crontab.me)
	[ "$(wc -l <crontab.me)" -eq 2 ]
	[ "$(tail -1 <<<"$output")" = "$line" ]
	grep -qE "^[0-9]+ \* \* \* \* /.* turn $PWD/w >>" <<<"$line"
	jq -e '.every_s == 3600 and .max_time_s == 1800' w/watch.json
	for i in 1 2; do
		# as cron does: another directory, hardly any environment
		(cd / && env -i HOME=/ PATH=/usr/bin:/bin sh -c \
			"$(cut -d' ' -f6- <<<"$line")")
		jq -e '.ended_utc and .options["time-limit"] == "30m"' \
			"w/run-000$i/run.json"
	done
	grep -q 'run-0002: its output is in' w/turns.log
	[ "$(wc -l <crontab.me)" -eq 2 ]
	run_p turn w
	fails 0 'no run: all runs of the watch are made'
	# then the line is not needed any more
	[ "$(<crontab.me)" = '0 0 * * * mine' ]
	[ "$(grep -c '^run,' w/history/history-*.csv)" -eq 2 ]
	[ ! -e w/run-0003 ]
}

@test "the line is printed where it is not permitted, or asked for" {
	fakes crontab
	touch denied
	run_p watch --every=6h -o w -- "${again[@]}"
	fails 0 'you may not use it'
	grep -qE "^[0-9]+ [0-9,]+ \* \* \* .* turn $PWD/w >>" <<<"$output"
	[ ! -e crontab.me ]
	rm denied
	run_p watch --every=15m --show -o v -- "${again[@]}"
	[ "$status" -eq 0 ]
	grep -qE "^[0-9,]+ \* \* \* \* .* turn $PWD/v >>" <<<"$output"
	[ ! -e crontab.me ]
	cp out line
	run_p watch --show=v
	cmp out line
	# the line that is pasted works
	sh -c "$(cut -d' ' -f6- line)"
	jq -e .ended_utc v/run-0001/run.json
	run_p watch --every=1h --dry-run -o u -- "${again[@]}"
	grep -q "turn u >>" <<<"$output"
	[ ! -e u ]
}

@test "entries are listed and removed, those of others stay" {
	fakes crontab scrontab
	printf '#SCRON --mem=1\n1 2 * * * theirs\n' >scrontab.me
	cp scrontab.me before
	run_p watch --every=1h -o 'a b' -- "${again[@]}"
	run_p watch --every=24h -o w -- "${again[@]}"
	run_p watch --every=1h -o v -- p2p -N 2 -- -p debug --nodelist n1,n2
	[ "$status" -eq 0 ]
	grep -qx '#SCRON --nodes=2' scrontab.me
	grep -qx '#SCRON -p debug' scrontab.me
	grep -qx '#SCRON --nodelist n1,n2' scrontab.me
	grep -qx '#SCRON --nice' scrontab.me
	grep -qE '^#SCRON --job-name=gpucheck-watch-v-[0-9a-f]{8}$' scrontab.me
	grep -qE '^#SCRON --time=[0-9]+$' scrontab.me
	[ "$(tail -1 scrontab.me | cut -d' ' -f6-)" = "$(tail -1 out |
		cut -d' ' -f6-)" ]
	run_p watch --list
	[ "$(grep -c '^crontab: ' <<<"$output")" -eq 2 ]
	[ "$(grep -c '^scrontab: ' <<<"$output")" -eq 1 ]
	run_p watch --remove='a b'
	[ "$status" -eq 0 ]
	[ "$(grep -c 'turn ' crontab.me)" -eq 1 ]
	# its directory is gone
	rm -r w
	run_p watch --remove=w
	fails 0 'its entry is removed'
	[ ! -e crontab.me ]
	run_p watch --stop=v
	fails 0 'its entry is removed'
	cmp before scrontab.me
	grep -qE '^--quiet --state=PENDING --name gpucheck-watch-v-' cancelled
	run_p watch --remove=v
	fails 0 'it has no entry'
	run_p watch --list
	fails 0 'no entry of gpucheck'
}

@test "a turn waits for the job before it" {
	fakes crontab
	run_p watch --every=1h -o w -- p2p -N 2
	[ "$status" -eq 0 ]
	printf 'a plugin talks\n77|PENDING\n' >queue
	run_p turn w
	fails 0 'no run: the one before, job 77, is PENDING'
	touch away
	run_p turn w
	fails 0 'no run: Slurm does not say whether the one before has ended'
	rm away
	: >queue
	[ ! -e submitted ]
	run_p turn w
	grep -qE -- '--nice --job-name=gpucheck-watch-w-[0-9a-f]{8} ' submitted
	# one that failed counts
	[ "$(<w/turns)" = 1 ]
	[ ! -e w/run-0001 ]
}

@test "a turn that finds another at work leaves; TERM ends one in order" {
	local code=0
	echo 'hang pair=0-1' >drill
	run_p watch --every=1h --show -o w -- p2p --local=1x2 \
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
	# one that was killed holds nobody up
	"$GPUCHECK" turn w >first 2>&1 3>&- &
	pid=$!
	await 30 grep -sq ,start, w/run-0002/events.csv
	kill -KILL $pid
	rm drill
	await 60 turn_begins 3
}

turn_begins()
{
	run_p turn w
	grep -q "run-000$1: its output" err
}

@test "a turn counts, also one that fails before it has a directory" {
	echo 'dead gpu=0:1' >drill
	run_p watch --every=1h --runs=2 --systemd -o w -- "${again[@]}" \
		--faults="$PWD/drill"
	run_p turn w
	[ "$status" -eq 1 ]
	rm drill
	run_p turn w
	[ "$status" -eq 2 ]
	[ ! -e w/run-0002 ]
	run_p turn w
	fails 0 'no run: all runs of the watch are made'
}

@test "runs end with the time of the watch" {
	run_p watch --every=1h --for=1s --show -o w -- "${again[@]}"
	sleep 2
	run_p turn w
	fails 0 'no run: the time of the watch is over'
}

@test "a run has the place and the settings of the shell that made the watch" {
	mkdir 'a b'
	cd 'a b'
	GPUCHECK_HISTORY=past GPUCHECK_TOKEN=secret run_p watch --every=1h \
		--show -o w -- "${again[@]}"
	[ "$status" -eq 0 ]
	[ "$(grep -c secret w/watch.json)" -eq 0 ]
	(cd / && env -i sh -c "$(cut -d' ' -f6- <<<"$output")")
	[ "$(grep -c '^run,' past/history-*.csv)" -eq 1 ]
	[ ! -e w/history ]
	mkdir '100%'
	run_p watch --every=1h --show -o '100%/w' -- "${again[@]}"
	fails 3 'cannot be in an entry of cron or systemd'
}

@test "units go where systemd finds them" {
	mkdir units
	run_p watch --every=90m --systemd -o v -- "${again[@]}"
	grep -qxF 'Type=oneshot' <<<"$output"
	grep -qxF 'OnUnitActiveSec=5400' <<<"$output"
	run_p watch --every=90m --systemd=units -o "o d" -- "${again[@]}"
	[ "$status" -eq 0 ]
	[ "$(head -1 <<<"$output")" = "$PWD/o d" ]
	timer=$(cd units && echo gpucheck-watch-o_d-*.timer)
	grep -q "enable --now $timer" <<<"$stderr"
	grep -qE "^ExecStart=\"/.*\" turn \"$PWD/o d\"\$" "units/${timer%timer}service"
	! command -v systemd-analyze >/dev/null ||
		systemd-analyze verify units/*.timer
	run_p watch --stop="o d"
	fails 0 'its entry is removed'
	[ -z "$(ls units)" ]
	run_p turn "o d"
	fails 0 'no run: the watch was stopped'
}

@test "what cannot be repeated is refused, and nothing is made" {
	while read -r words; do
		# shellcheck disable=SC2086
		run_p watch --every=1h --show -o w $words
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
	run_p watch --every=90m --show -o w -- "${again[@]}"
	fails 2 'cron cannot start a run every 5400 s'
	[ ! -e w ]
	run_p turn w
	fails 2 "cannot open 'w'"
	mkdir w
	echo '{"schema":2,"name":"../x"}' >w/watch.json
	run_p turn w
	fails 3 'w/watch.json'
}
