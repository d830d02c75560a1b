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
		jq -e '.ended_utc and .options["max-time"] == "30m"' \
			"w/run-000$i/run.json"
	done
	run_p turn w
	fails 0 'no run: all runs of the watch are made'
	[ "$(find w/history -name '*.json' | wc -l)" -eq 2 ]
	[ ! -e w/run-0003 ]
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
