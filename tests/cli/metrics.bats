#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What the monitoring of a site is told of a run.

load helper

# parsed FILE: its samples in "samples"; promtool looks at it where it is there.
parsed()
{
	"$root/tests/cli/openmetrics" "$1" >samples || { cat samples; return 1; }
	! command -v promtool >/dev/null || promtool check metrics <"$1"
}

has()
{
	grep -qxF -- "$1" samples || { echo "no '$1' in:"; cat samples; false; }
}

@test "a run tells levels, findings, age and status" {
	echo 'dead gpu=1:1' >drill
	run_p p2p --local=2x2 --transport=sim --faults=drill -q -o run \
		--metrics=p2p.prom
	[ "$status" -eq 1 ]
	parsed p2p.prom
	has 'gpucheck_run_status{probe=p2p,status=fail} 1'
	has 'gpucheck_run_status{probe=p2p,status=pass} 0'
	has 'gpucheck_run_exit_code{probe=p2p} 1'
	has 'gpucheck_run_drill{probe=p2p} 1'
	has 'gpucheck_findings{probe=p2p,severity=fail,code=drill_dead} 1'
	has 'gpucheck_node_findings{probe=p2p,node=n1,severity=fail} 1'
	has 'gpucheck_node_findings{probe=p2p,node=n0,severity=fail} 0'
	grep -q '^gpucheck_rail_bandwidth_bytes_per_second{probe=p2p,rail=0} 4' \
		samples
	grep -q '^gpucheck_run_duration_seconds{probe=p2p} [0-9]' samples
	[ "$(date -u -d "$(jq -r .ended_utc run/run.json)" +%s)" -eq "$(sed -n \
		's/^gpucheck_run_end_timestamp_seconds.* //p' samples)" ]
	# of GPU 1 of n1 nothing was measured: no sample, never 0
	absent 'n1,rail=1' samples
	# whoever collects it may read it, and finds nothing half written
	[ "$(stat -c %a p2p.prom)" = 644 ]
	[ "$(find . -maxdepth 1 -name '.p2p*' | wc -l)" -eq 0 ]
}

@test "on stdout they are all there is, and report tells the same" {
	run_p gpu --local=1x2 --transport=sim --metrics=- -o run
	[ "$status" -eq 0 ]
	cp out first
	parsed first
	has 'gpucheck_run_status{probe=gpu,status=pass} 1'
	run_p report --metrics=- run
	cmp out first
	run_p report --metrics=- --json run
	fails 2 '--metrics=- '
	run_p report --metrics=m.prom --json run
	[ "$status" -eq 0 ]
	jq -e .verdict.status <<<"$output"
	cmp m.prom first
}

@test "all of the probes can be told" {
	for probe in all allreduce info memlock; do
		run_p $probe --local=1x2 --transport=sim -q --metrics=m.prom ||
			true
		[ "$status" -ne 2 ] ||
			run_p $probe --local=1x2 -q --metrics=m.prom
		parsed m.prom
		grep -q "^gpucheck_run_exit_code{probe=$probe} " samples
	done
}

@test "metrics that cannot be written cost no result" {
	run_p p2p --local=1x2 --transport=sim -q --metrics=no/where.prom
	[ "$status" -eq 0 ]
	fails 0 "cannot write 'no/where.prom'"
	mkdir dir.prom
	run_p p2p --local=1x2 --transport=sim -q --metrics=dir.prom
	fails 0 'dir.prom'
}

# unknown PROBE TIMES: m.prom has it as that, and the history so many runs.
unknown()
{
	[ "$status" -eq 3 ]
	parsed m.prom
	has "gpucheck_run_status{probe=$1,status=unknown} 1"
	has "gpucheck_run_status{probe=$1,status=pass} 0"
	has "gpucheck_run_exit_code{probe=$1} 3"
	[ $(($(date +%s) - $(sed -n \
		's/^gpucheck_run_timestamp_seconds.* //p' samples))) -lt 60 ]
	[ "$(grep -c '^run,' hist/history-*.csv)" -eq "$2" ]
}

@test "a run that comes to nothing is told as unknown" {
	local keep=(--metrics=m.prom --history=hist)
	mkdir hist bin
	run_p p2p --local=1x2 --transport=sim -q "${keep[@]}"
	[ "$status" -eq 0 ]
	parsed m.prom
	has 'gpucheck_run_status{probe=p2p,status=pass} 1'
	# its directory cannot be made
	run_p p2p --local=1x2 --transport=sim "${keep[@]}" -o /proc/no
	unknown p2p 2
	# its job ends before an agent has started
	for tool in 'sinfo gpu:8' 'srun pmi2' 'sbatch 42' \
		'scontrol JobId=42 JobState=FAILED ExitCode=1:0'; do
		printf '#!/bin/sh\necho "%s"\n' "${tool#* }" >"bin/${tool%% *}"
	done
	chmod +x bin/*
	PATH=$PWD/bin:$PATH run_p p2p -N 2 -G 2 "${keep[@]}" -o run
	unknown p2p 3
	# report says the same of it
	run_p report -q --metrics=again.prom run
	cmp m.prom again.prom
	# and attach, which waits for it where the front did not
	run_p attach --metrics=attached.prom run
	[ "$status" -eq 3 ]
	cmp m.prom attached.prom
	# its job is refused, and leaves no directory
	printf '#!/bin/sh\nexit 1\n' >bin/sbatch
	PATH=$PWD/bin:$PATH run_p p2p -N 2 -G 2 "${keep[@]}" -o job
	[ ! -e job ]
	unknown p2p 4
	absent gpucheck_run_end_timestamp_seconds samples
	# and what all comes to, before its first step
	PATH=$PWD/bin:$PATH run_p all -N 2 -G 2 "${keep[@]}" -o job --json
	jq -e '.verdict.status == "unknown"' out
	unknown all 5
}

@test "names with quotes and backslashes are escaped" {
	small_run -q -o run
	sed -i 's/"n0"/"n\\"0\\\\"/' run/run.json
	run_p report -q --metrics=m.prom run
	parsed m.prom
	has 'gpucheck_node_findings{probe=p2p,node=n\"0\\,severity=fail} 0'
}

@test "the dashboard asks for metrics that there are" {
	local board=$root/data/site/grafana-dashboard.json
	echo 'dead gpu=1:1' >drill
	run_p p2p --local=2x2 --transport=sim --faults=drill -q --metrics=a.prom
	run_p allreduce --local=2x2 --transport=sim -q --metrics=b.prom
	cat a.prom b.prom | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort -u >told
	jq -e '.title and (.panels | length) > 8 and
		all(.panels[]; .targets[0].expr | length > 0)' "$board"
	jq -r '.panels[].targets[].expr, .templating.list[].query' "$board" |
		grep -oE 'gpucheck_[a-z_]+' | sort -u >asked
	[ "$(wc -l <asked)" -gt 8 ]
	[ -z "$(comm -13 told asked)" ]
	# ... by labels that they have
	parsed a.prom
	jq -r '.panels[].targets[].legendFormat' "$board" |
		grep -oE '\{\{[a-z]+\}\}' | tr -d '{}' | sort -u |
		while read -r label; do grep -q "[{,]$label=" samples; done
}

@test "the alerts ask for metrics that there are" {
	local rules=$root/data/site/gpucheck-alerts.yml
	run_p p2p --local=2x2 --transport=sim -q --metrics=a.prom
	sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' a.prom | sort -u >told
	grep -v '^ *#' "$rules" | grep -oE 'gpucheck_[a-z_]+' | sort -u >asked
	[ "$(wc -l <asked)" -eq 3 ]
	[ -z "$(comm -13 told asked)" ]
	[ "$(grep -c '^ *- alert: ' "$rules")" -eq 3 ]
	python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' \
		"$rules"
	! command -v promtool >/dev/null || promtool check rules "$rules"
}
