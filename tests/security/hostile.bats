#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Names and messages that others chose: what they do to who reads them.

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	# U+009B begins a sequence of a terminal, U+202E turns what follows
	evil=$'=n1\xc2\x9b31m\xe2\x80\xaetxt'
	shown='=n1?31m?txt'
	teeth='[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]'
}

# harmless FILE...: UTF-8 without control characters, or overrides of direction.
harmless()
{
	local file
	for file; do
		[ -s "$file" ]
		iconv -f utf-8 -t utf-8 "$file" >/dev/null
		if LC_ALL=C grep -aqP "$teeth" "$file"; then
			echo "$file has teeth"
			return 1
		fi
	done
}

# A run of nodes n0 and $evil, in which a test failed with a detail.
evil_run()
{
	cp -r "$root/tests/fixtures/runs/p2p-2x4-dead-nic" run
	LC_ALL=C sed -i "s/,n1,/,$evil,/g; s/^n1,/$evil,/" run/*.csv
	LC_ALL=C sed -i "s/\"n1\"/\"$evil\"/" run/run.json
	detail=$'@SUM(1+1)*cmd|\xc2\x9b\x9b M\xc3\xbcnchen' LC_ALL=C awk -F, \
		-v OFS=, 'NR > 1 && $25 != "ok" { $27 = ENVIRON["detail"] } 1' \
		run/results.csv >new
	mv new run/results.csv
}

@test "a hostile name of a node, of strangers' files" {
	evil_run
	"$GPUCHECK" report run --color=never >words 2>err && false
	harmless words run/report.html run/verdict.json
	grep -qF "$shown" words
	grep -qF "$shown" run/report.html
	[ "$(jq -r '.exclude[], .findings[0].node' run/verdict.json | sort -u)" \
		= "$shown" ]
	"$GPUCHECK" report run --csv >csv && false
	harmless csv
	grep -qF ",'$shown," csv
	if grep -E '(^|,)"?[=+@]' csv; then
		return 1
	fi
	grep -qF ",'@SUM(1+1)*cmd|?? München," csv
}

@test "what is read back is the text, not its protection" {
	evil_run
	"$GPUCHECK" report run --csv >csv && false
	"$GPUCHECK" report run --json >before && false
	[ "$(jq -r '.rows[].detail // empty' before | sort -u)" = \
		'@SUM(1+1)*cmd|?? München' ]
	cp -r run again
	cp csv again/results.csv
	"$GPUCHECK" report again --json >after && false
	jq -S '.rows | map(select(.detail != null)) | unique' before >x
	jq -S '.rows | map(select(.detail != null)) | unique' after >y
	diff x y
	jq -r .verdict.findings[].says before >x
	jq -r .verdict.findings[].says after >y
	diff x y
	"$GPUCHECK" diff run again >out && false
	[ -s out ]
	harmless out
}

@test "a hostile log, and a hostile name of it" {
	log=$'-\x9b31m\xc2\x9b2J\xe2\x80\xaegol'
	printf '=1+1 NCCL WARN \x9b31mNo transport\xc2\x9b \xe2\x80\xae%s\n' \
		'München 東京' >"./$log"
	printf '=1+1 \x9b\xc2\x9b\xe2\x80\xaeNVRM: Xid (PCI:0000:2a:00): 79 %s\n' \
		'München 東京' >>"./$log"
	"$GPUCHECK" explain "./$log" --color=never >words && false
	harmless words
	grep -qF './-?31m?2J?gol: 1 known' words
	grep -qF '=1+1 ???NVRM: Xid (PCI:0000:2a:00): 79 München 東京' words
	"$GPUCHECK" explain "./$log" --color=always | tr -d '\033' >words
	harmless words
	"$GPUCHECK" explain "./$log" --csv >csv && false
	harmless csv
	grep -qF ",'=1+1 ???NVRM" csv
	rm "./$log"
	"$GPUCHECK" import "./$log" 2>err && false
	harmless err
	grep -qF "./-?31m?2J?gol" err
}

@test "a hostile host name in a table of pings" {
	{
		echo SourceNode,SourceIP,DestinationNode,DestinationIP,NetworkSegment,Status
		echo "$evil,10.1.0.1,@SUM(1),10.1.0.2,10.1.0,Success"
		echo "@SUM(1),10.1.0.2,$evil,10.1.0.1,10.1.0,Success"
	} >a_cluster_connectivity.csv
	"$GPUCHECK" import a_cluster_connectivity.csv >csv
	harmless csv
	grep -q "^'$shown,.*,'@SUM(1)," csv
	"$GPUCHECK" import -o run a_cluster_connectivity.csv >words
	harmless words run/report.html run/results.csv
	[ "$(jq -r .status run/verdict.json)" = pass ]
	[ "$(jq -r '.nodes[].name' run/run.json | xargs)" = "$shown @SUM(1)" ]
}

@test "JSON has no character that steers a terminal, and loses none" {
	evil_run
	LC_ALL=C sed -i "s/\"ended_utc\"/\"note\": \"$evil\", &/" run/run.json
	"$GPUCHECK" report run --json >all && false
	harmless all
	[ "$(jq -r .run.note all)" = "$evil" ]
	"$GPUCHECK" diff run run --json >both || true
	"$GPUCHECK" status run --json >state || true
	harmless both state
}

# The commands that report prints, a line each, of run $1.
commands()
{
	"$GPUCHECK" report "$1" --color=never >words 2>&1
	jq -r '.findings[].do' "$1/verdict.json" |
		cat - words | grep -E '^ {4,}(gpucheck|ssh|scontrol|mlx|show|ib|nvidia)'
}

@test "no command that is printed runs a word of a stranger" {
	local name line
	# shellcheck disable=SC2016 # names, as they are
	for name in 'n1;touch${IFS}HIT' "n1';touch HIT;'" 'n1$(touch HIT)' \
		'n1`touch HIT`' '-oProxyCommand=touch HIT' 'n1|touch HIT' \
		'n1 & touch HIT'; do
		rm -rf run
		cp -r "$root/tests/fixtures/runs/p2p-2x4-dead-nic" run
		NAME=$name python3 - <<-'P'
			import csv, io, json, os
			name = os.environ['NAME']
			for file in ('results.csv', 'facts.csv', 'events.csv'):
			    path = 'run/' + file
			    if not os.path.exists(path):
			        continue
			    rows = [[name if cell == 'n1' else name + 'mlx'
			        if cell in ('mlx5_1', 'nic1') else cell for cell in row]
			        for row in csv.reader(open(path))]
			    csv.writer(open(path, 'w'), lineterminator='\n').writerows(rows)
			run = json.load(open('run/run.json'))
			for node in run['nodes']:
			    node['name'] = node['name'].replace('n1', name)
			run['launcher'] = 'srun'
			run['options'] = {'x;touch HIT;': True, 'transport': name}
			json.dump(run, open('run/run.json', 'w'))
		P
		commands run >lines || true
		cat lines
		[ -s lines ]
		mkdir -p bin
		for line in gpucheck ssh scontrol; do
			ln -sf /bin/true "bin/$line"
		done
		while read -r line; do
			PATH=$PWD/bin:$PATH bash -c "$line" </dev/null || true
		done <lines
		[ -z "$(find . -name 'HIT*')" ]
	done
}

@test "a probe or transport that is not a word is refused" {
	local key name
	# shellcheck disable=SC2016 # names, as they are
	for key in probe transport; do
		for name in 'p;touch${IFS}x' 'p2p $(id)' '-o' "p'" $'p\n' \
			$'p\e[8m\xc2\x9b31m\xe2\x80\xae'; do
			rm -rf run
			cp -r "$root/tests/fixtures/runs/p2p-2x4-dead-nic" run
			jq --arg name "$name" ".$key = \$name" run/run.json >new
			mv new run/run.json
			rm -f run/verdict.json run/report.html
			for command in 'report run' 'report run --json' \
				'status run' 'p2p --retest run' \
				'p2p --resume run' 'ib --resume run' \
				'diff run run'; do
				code=0
				# shellcheck disable=SC2086 # several words
				"$GPUCHECK" $command --color=never >words \
					2>&1 </dev/null || code=$?
				cat -v words
				harmless words
				[ $code -eq 2 ] || [ $code -eq 3 ]
				# in no command that is printed
				[[ $(cat words) != *"gpucheck $name"* ]]
				[[ $(cat words) != *"transport=$name"* ]]
			done
			"$GPUCHECK" report run >words 2>&1 && false
			grep -q 'run.json names the \(probe\|transport\)' words
		done
	done
	cp -r "$root/tests/fixtures/runs/p2p-2x4-dead-nic" other
	jq '.probe = "ping\u001b[8m"' other/run.json >run/run.json
	"$GPUCHECK" diff other run >words 2>&1 && false
	harmless words
	grep -qF "a run of 'p2p' and one of 'ping?[8m' cannot be" words
	"$GPUCHECK" p2p --retest run >words 2>&1 && false
	harmless words
	grep -qF "is a run of 'ping?[8m', not of p2p" words
}
