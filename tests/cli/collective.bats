#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# allreduce and its kin on the model cluster: rows, comparisons, what breaks.

load helper

# sweep STATUS COMMAND [OPTION...]: a run into the folder run.
sweep()
{
	local want=$1
	shift
	rm -rf run
	run_p "$@" --transport=sim -o run
	[ "$status" -eq "$want" ] || { cat out err; return 1; }
}

column()
{
	columns_of "$1" run/results.csv | sort | uniq -c | xargs
}

finding()
{
	jq -r ".findings[0] | [.kind, .node, .index, .peer_node, .peer_index, .code] | map(tostring) | join(\" \")" run/verdict.json
}

@test "every collective has a row a size, out of place and in place" {
	for op in allreduce allgather reducescatter broadcast reduce \
		alltoall sendrecv; do
		sweep 0 $op --local=2x4 -b 1K -e 4K
		[ "$(column op)" = "6 $op" ]
		[ "$(column outcome)" = "6 ok" ]
		[ "$(column inplace)" = "3 0 3 1" ]
		[ "$(column size_B)" = "2 1024 2 2048 2 4096" ]
		[ "$(column ranks) $(column nodes)" = "6 8 6 2" ]
		[ "$(jq -r .status run/verdict.json)" = pass ]
	done
}

@test "sizes whose processes got no CPU time: partial, no part is blamed" {
	sweep 0 allreduce --local=2x4 -b 1K -e 4K
	awk -F, -v OFS=, 'NR == 3 || NR == 4 { $24 = "not_run"
		$25 = "starved" } 1' run/results.csv >rows
	mv rows run/results.csv
	run_p report run
	[ "$status" -eq 4 ]
	jq -e '.status == "partial" and .exclude == [] and
		([.findings[] | .severity, .code, .cells] ==
		 ["warn", "starved", 2])' run/verdict.json
}

@test "bus bandwidth is size over time, by the factor of nccl-tests" {
	sweep 0 allreduce --local=1x8 -b 1M -n 20
	awk -F, 'NR > 1 { alg = $12 / $16 / 1e3; bus = alg * 2 * 7 / 8
		if ($21 / alg > 1.001 || $21 / alg < 0.999) exit 1
		if ($22 / bus > 1.001 || $22 / bus < 0.999) exit 1
		if ($15 < 15 || $15 > 20) exit 1
		if (!($18 <= $17 && $17 <= $20 && $20 <= $19)) exit 1 }' \
		run/results.csv
}

@test "root, reduction and type stand in the rows" {
	sweep 0 reduce --local=1x4 -b 1K --redop=max --dtype=half
	[ "$(column root) $(column redop) $(column dtype)" = "2 0 2 max 2 half" ]
	[ "$(column count)" = "2 512" ]
	sweep 0 allgather --local=1x4 -b 1K
	[ "$(column root) $(column redop)" = "2 -1 2 none" ]
	[ "$(column count)" = "2 64" ]
}

@test "sizes are rounded as nccl-tests does, and it is said" {
	sweep 0 alltoall --local=1x6 -b 50 -e 1000 -f 10
	[ "$(column size_B)" = "2 480" ]
	grep -q "rounded down" out
	grep -q "sizes below 500 are too small: 6 ranks get zero" out
	[ "$(column inplace)" = "1 0 1 1" ]
}

@test "what cannot be checked is empty, not 0" {
	sweep 0 sendrecv --local=1x4 -b 1K
	[ "$(columns_of wrong run/results.csv | paste -sd ' ')" = "0 " ]
	sweep 0 allreduce --local=1x4 -b 1K -c 0
	[ "$(columns_of wrong run/results.csv | paste -sd ' ')" = " " ]
}

@test "every combination is a variant with workers of its own" {
	sweep 0 allreduce --local=1x4 -b 1K --algo=ring,Tree --proto=LL,Simple
	[ "$(column variant)" = "2 Ring LL 2 Ring Simple 2 Tree LL 2 Tree Simple" ]
	[ "$(column algo)" = "4 Ring 4 Tree" ]
	[ "$(jq -r '.variants[3].env.NCCL_PROTO' run/run.json)" = Simple ]
}

@test "variants that cannot be told apart have no winner" {
	sweep 0 allreduce --local=1x4 -b 1K -e 2K --env X=1,2
	grep -q 'fastest at 1 KiB to 2 KiB: X=1 and X=2 alike' out
	[ "$(grep -cE '^ +[12] KiB .*= .*=$' out)" -eq 2 ]
	[ "$(grep -oE ' [io]?=</strong>' run/report.html | wc -l)" -eq 4 ]
}

@test "what was asked for and not taken is a warning" {
	sweep 0 allreduce --local=2x4 -b 1K --algo=NVLS
	[ "$(column code)" = "2 not_as_asked" ]
	[ "$(jq -r .status run/verdict.json)" = warn ]
	[ "$(grep -c "requested NVLS, the library used" out)" -eq 1 ]
	sweep 1 allreduce --local=2x4 -b 1K --algo=NVLS --strict
}

@test "a rank that never arrives is named, the others go on" {
	echo 'dead gpu=1:2' >drill
	sweep 1 allreduce --local=2x4 -b 1K -e 2K --faults=drill
	[ "$(column code)" = "4 1 rank_absent" ]
	[ "$(column ranks)" = "4 7 1 8" ]
	[ "$(finding)" = "gpu n1 2 null null drill_dead" ]
	[ "$(jq -r '.exclude[0]' run/verdict.json)" = n1 ]
}

@test "a second is 1 s in the picture, not 1e+06" {
	with_pictures
	sweep 0 allreduce --local=2x2 -b 8M -e 8G -f 32
	grep -q '[> ]1 s<' run/curves.svg
	absent '1e[+]0' run/curves.svg
}

@test "words, picture, JSON and CSV say that it was a model, and a drill" {
	with_pictures
	echo 'dead gpu=1:2' >drill
	sweep 1 allreduce --local=2x4 -b 1K -e 2K --faults=drill
	grep -q '^FAIL  allreduce on 2 nodes with 8 ranks: sim, ' out
	grep -q '^      5 rows: 4 pass, 1 timeout$' out
	grep -q '^      note: DRILL' out
	grep -q '^      note: sim is a simulated cluster' out
	grep -q '^FAIL  n1:2 (rank 6) was excluded' out
	grep -q '^  do: (drill) on real nodes:$' out
	grep -q 'DRILL.*sim is a simulated cluster' run/curves.svg
	grep -q 'sim is a simulated cluster' run/report.html
	run_p report --json run
	[ "$(jq -r '.run.transport, .run.drill' out | xargs)" = "sim true" ]
	[ "$(column lib)" = "5 sim" ]
}

@test "a node of which nothing arrives is one finding" {
	echo 'dead node=1' >drill
	sweep 1 allreduce --local=2x4 -b 1K --faults=drill
	[ "$(jq '.findings | length' run/verdict.json)" -eq 1 ]
	[ "$(finding)" = "node n1 null null null drill_dead" ]
	[ "$(column ranks)" = "2 4 1 8" ]
}

@test "a rank that crashes is named, the others go on" {
	echo 'crash rank=3' >drill
	sweep 1 broadcast --local=1x4 -b 1K --faults=drill
	[ "$(column outcome)" = "1 crashed 2 ok" ]
	[ "$(finding)" = "gpu n0 3 null null worker_crashed" ]
}

@test "a way that hangs: nobody is to blame, and it ends" {
	echo 'hang pair=1-6' >drill
	sweep 1 allreduce --local=2x4 -b 1K -e 4K --faults=drill
	[ "$(column outcome)" = "4 not_run 2 timeout" ]
	grep -q -- --bisect out
	grep -q 'Nothing to draw: no size was measured' run/report.html
	jq '.notes = [7, null]' run/run.json >run.json
	mv run.json run
	run_p report run
	absent '^ +$' out
}

@test "bisect names a way between two GPUs" {
	echo 'hang pair=2-5' >drill
	sweep 1 allreduce --local=1x8 -b 1K --faults=drill --bisect
	[ "$(finding)" = "pair n0 2 n0 5 bisect_bad" ] ||
		{ cat out run/events.csv; return 1; }
}

@test "bisect names a node that is bad with every other one" {
	echo 'dead nic=3:0' >drill
	sweep 1 allreduce --local=6x2 -b 1K --faults=drill --bisect
	[ "$(finding)" = "node n3 null null null bisect_bad" ]
}

@test "bisect names two nodes" {
	echo 'dead node_pair=0-3' >drill
	sweep 1 allreduce --local=5x2 -b 1K --faults=drill --bisect
	[ "$(finding)" = "node_pair n0 null n3 null bisect_bad" ]
}

@test "bisect of a node that the run does not list accuses none" {
	echo 'dead nic=3:0' >drill
	sweep 1 allreduce --local=6x2 -b 1K --faults=drill --bisect
	jq '.bisect.parts[0].node = "n77"' run/run.json >run.json
	mv run.json run
	run_p report run
	[ "$(finding)" = "config null null null null bisect_bad" ]
}

@test "bisect names who gets the wrong data" {
	echo 'corrupt pair=0-3' >drill
	sweep 1 allreduce --local=1x6 -b 1K --faults=drill --bisect
	[ "$(column outcome)" = "2 corrupt" ]
	[ "$(finding)" = "pair n0 0 n0 3 bisect_bad" ]
}

@test "every size is verified, and right" {
	for op in allreduce alltoall; do
		sweep 0 $op --local=2x4 -b 1K -e 2K --verify=150
		# what is left in place of alltoall is not known
		[ "$(column verified)" = \
			"$([ $op = allreduce ] && echo 4 150 || echo 2 2 150)" ]
		[ "$(column verified_wrong | sed 's/^2 2 0/4 0/')" = "4 0" ]
		[ "$(column wrong_ranks) $(column outcome)" = "4 4 ok" ]
	done
	sweep 0 allreduce --local=2x4 -b 1K --verify=150 -c 0
	[ "$(column verified) $(column verified_wrong)" = "2 150 2 0" ]
	grep -q "Verified operations *: 300, 0 wrong" out
	sweep 0 allreduce --local=2x4 -b 1K
	[ "$(column verified)" = 2 ]
}

@test "a result that is wrong now and then: how often, and where" {
	echo 'wrong gpu=1:0 rate=0.02' >drill
	sweep 1 allreduce --local=2x4 -b 1K --faults=drill --verify=1000
	[ "$(column outcome) $(column code)" = \
		"2 corrupt 2 silent_corruption" ]
	jq -e '[.findings[0] | .kind, .code] == ["config", "silent_corruption"]
		and (.findings[0].says | test("^allreduce of 1.*: wrong result$"))
		and (.findings[0].evidence[0] | test(
	"^[0-9]+ of 1000 operations had a wrong result .* on all ranks$"))' \
		run/verdict.json
	# 20 of 1,000 on each rank
	columns_of wrong_ranks run/results.csv |
		grep -qE '^0=(1[0-9]|2[0-9]|3[0-9])( [1-7]=\1){7}$'
	echo 'wrong gpu=0:1 rate=0.02' >drill
	sweep 1 sendrecv --local=1x4 -b 1K --faults=drill --verify=500
	grep -q 'on rank 2 (n0:2) alone' out
}

@test "bisect repeats a set as often as it must to trust it" {
	echo 'wrong gpu=3:1 rate=0.02' >drill
	sweep 1 allreduce --local=6x2 -b 1K --faults=drill --bisect --verify=1000
	[ "$(finding)" = "node n3 null null null bisect_bad" ]
	jq -e '.bisect | .repeats > 200 and .repeats < 2000' run/run.json
	grep -q "n3 is the smallest set that gives wrong results" out
	grep -q "[0-9] of 1000 operations had a wrong result" out
	grep -q '^  do: (simulated) Test it alone' out
	grep -q "^          gpucheck gpu --local=6x2 --inject=$PWD/drill --transport=sim --compute=60s\$" out
	echo 'wrong pair=1-4 rate=0.05' >drill
	sweep 1 allreduce --local=1x6 -b 1K --faults=drill --bisect --verify=500
	[ "$(finding)" = "pair n0 1 n0 4 bisect_bad" ]
}

@test "bisect says so where it cannot narrow what is too rare" {
	echo 'wrong node=1 rate=0.005' >drill
	sweep 1 allreduce --local=4x1 -b 1K --faults=drill --bisect --verify=200
	jq -e '.bisect == null and (.notes[0] | test(
		"^bisect: not started: of 200 .* use --verify=[0-9]+ to narrow"))' run/run.json
	grep -q "do: Run again with the --verify" out
	more=$(jq -r '.notes[0] | capture("verify=(?<n>[0-9]+)").n' run/run.json)
	sweep 1 allreduce --local=4x1 -b 1K --faults=drill --bisect \
		--verify="$more"
	[ "$(finding)" = "node n1 null null null bisect_bad" ]
}

@test "bisect names what is slow" {
	echo 'slow node=2 factor=0.5' >drill
	sweep 1 allreduce --local=4x4 -b 1M --faults=drill --bisect
	[ "$(finding)" = "node n2 null null null bisect_slow" ]
	sweep 0 allreduce --local=4x4 -b 1M --bisect
	grep -q "no half is slower" out
}

@test "bisect names what is slow in the middle" {
	echo 'slow node=1 factor=0.5' >drill
	sweep 1 allreduce --local=3x4 -b 1M --faults=drill --bisect
	[ "$(finding)" = "node n1 null null null bisect_slow" ]
	sweep 0 allreduce --local=3x4 -b 1M --bisect
	grep -q "no half is slower" out
}

@test "what a bisection names comes with the line to test it" {
	what_to_do()
	{
		run_p report run
		jq -r '.findings[0].do' run/verdict.json
	}
	echo 'hang pair=0-2' >drill
	sweep 1 allreduce --local=1x3 -b 1K --faults=drill --bisect
	[ "$(what_to_do)" = "(simulated) Test the connections between them:
    gpucheck p2p --local=1x3 --inject=$PWD/drill --transport=sim \
--pairs=n0:0-n0:2" ]
	run_p p2p --local=1x3 "--inject=$PWD/drill" --transport=sim \
		--pairs=n0:0-n0:2 -o again
	[ "$status" -eq 1 ]
	tests=$(grep -c 'test [0-9]*: [gb]' run/events.csv)
	jq -r '.findings[0].says' run/verdict.json |
		grep -q "are the smallest set that fails, found in $tests tests"
	jq '.transport = "nccl" | .launcher = "srun" | del(.options.local) |
		.bisect.parts =
		[{node: "n0"}, {node: "n1"}, {node: "n2"}]' run/run.json >run.json
	mv run.json run
	[ "$(what_to_do)" = "Test the connections between them:
    gpucheck p2p --inject=$PWD/drill -N 3 --transport=nccl \
--pairs=inter --nodelist=n0,n1,n2" ]
	jq -r '.findings[0].says' run/verdict.json |
		grep -q '^n0, n1 and n2 are the smallest set'
}

@test "bisect compares ways where halves have none" {
	echo 'slow nic=1:1 factor=0.3' >drill
	for nodes in 3 4 5; do
		sweep 1 allreduce --local=${nodes}x2 -b 64M --faults=drill --bisect
		[ "$(finding)" = "node n1 null null null bisect_slow" ]
	done
	echo 'slow node_pair=0-2 factor=0.3' >drill
	sweep 1 allreduce --local=3x2 -b 64M --faults=drill --bisect
	[ "$(finding)" = "node_pair n0 null n2 null bisect_slow" ]
	# between halves that are alike
	for nodes in 4 7; do
		sweep 1 allreduce --local=${nodes}x2 -b 64M --faults=drill --bisect
		[ "$(finding)" = "node_pair n0 null n2 null bisect_slow" ]
	done
	echo 'slow node_pair=1-5 factor=0.3' >drill
	sweep 1 allreduce --local=7x2 -b 64M --faults=drill --bisect
	[ "$(finding)" = "node_pair n1 null n5 null bisect_slow" ]
	echo 'slow pair=1-6 factor=0.3' >drill
	sweep 1 allreduce --local=1x8 -b 64M --faults=drill --bisect
	[ "$(finding)" = "pair n0 1 n0 6 bisect_slow" ]
	echo 'slow nic=1:1 factor=0.3' >drill
	sweep 0 allreduce --local=2x2 -b 64M --faults=drill --bisect
	tr -s '\n ' ' ' <out |
		grep -q 'gpucheck p2p --local=2x2 --transport=sim --pairs=inter'
}

@test "words that NCCL does not know are refused, with those it knows" {
	run_p allreduce --local=1x4 --transport=sim --algo=Ringg
	fails 2 "Tree, Ring"
	fails 2 "did you mean 'Ring'?"
	run_p allreduce --local=1x4 --transport=sim --proto=LL127
	fails 2 "--proto: 'LL127' is not one of LL, LL128, Simple"
	run_p allreduce --local=1x4 --transport=sim --algo=Future
	fails 2 "hint: for an NCCL with other values: --env NCCL_ALGO=Future"
	run_p allreduce --local=1x4 --transport=sim --algo=Ring,
	fails 2 "--algo: a value of the list is empty"
	run_p allreduce --local=1x4 --transport=sim --algo=Ring --env NCCL_ALGO=Tree
	fails 2 "--env: NCCL_ALGO is already set by --algo"
	run_p allreduce --local=1x4 --transport=sim --env NCCL
	fails 2 "NAME=A,B"
	run_p allreduce --local=1x4 --transport=sim --dtype=flaot
	fails 2 "did you mean 'float'?"
}

@test "wishes that mean nothing to a collective are refused" {
	for op in allgather broadcast alltoall sendrecv; do
		run_p $op --local=1x4 --transport=sim --redop=max -o run
		fails 2 "--redop=max does not go with '$op'"
		fails 2 "hint: --redop is for allreduce, reducescatter and reduce"
	done
	for op in alltoall sendrecv; do
		run_p $op --local=1x4 --transport=sim --algo=Ring -o run
		fails 2 "--algo does not go with '$op'"
		run_p $op --local=1x4 --transport=sim --proto=LL -o run
		fails 2 "--proto does not go with '$op'"
		fails 2 "NCCL_P2P_LL_THRESHOLD"
	done
	[ ! -e run ]
}

@test "sizes and places that make no sense are refused" {
	run_p allreduce --local=1x4 --transport=sim -b 2M -e 1M
	fails 2 "above --maxbytes"
	run_p allreduce --local=1x4 --transport=sim -b 1K -e 2K -f 1
	fails 2 "--stepfactor"
	run_p allreduce --local=1x1 --transport=sim
	fails 2 "1 rank"
	run_p allreduce --local=1x4 --transport=tcp
	fails 2 "cannot run collectives"
	run_p allreduce --local=1x4 --nccl-lib=/not/there.so
	fails 2 "cannot read file '/not/there.so'"
	printf 'no library, ncclCommInitRank' >text
	run_p allreduce --local=1x4 --nccl-lib="$PWD/text"
	fails 2 "not a shared library"
	fails 2 "hint: name the file, such as"
	run_p allreduce --local=1x4 --transport=sim --nccl-lib="$PWD/text"
	fails 2 "--nccl-lib applies to NCCL, which --transport=sim does not use"
	run_p allreduce --local=1x4 --nccl-lib=/tmp
	fails 2 "cannot read file '/tmp': Is a directory"
	run_p allreduce --local=1x6 --transport=sim -b 2 -e 3
	fails 2 "allreduce of float needs at least -b 4"
	run_p allgather --local=1x6 --transport=sim -b 8 -e 64
	fails 2 "allgather of float needs at least -b 96"
	run_p allreduce --local=1x6 --transport=sim -b 8 --reference=nope -o no
	fails 2 "there is no reference 'nope'"
	run_p allreduce --local=1x6 --transport=sim -b 8 --reference=text -o no
	fails 2 "'text' has no known column"
	[ ! -e no ]
}

@test "out of time: what is left is not run, and nothing is lost" {
	sweep 4 allreduce --local=4x64 --max-time=3s -b 8 -e 8G --quiet \
		--env "X=$(seq -s, 60)"
	column outcome | grep -q " ok"
	column outcome | grep -q not_run
	column code | grep -q max_time
}

@test "the report gives the same answer again" {
	echo 'dead gpu=0:1' >drill
	sweep 1 allreduce --local=1x4 -b 1K --faults=drill
	cp out first
	run_p report run
	[ "$status" -eq 1 ]
	diff first out
	run_p report --json run
	[ "$(jq -r '.verdict.status' out)" = fail ]
	[ "$(jq -r '.rows | length' out)" -eq 3 ]
}

@test "report.html has all of it, and needs nothing else" {
	with_pictures
	printf 'dead gpu=1:2\n' >drill
	sweep 1 allreduce --local=2x4 -b 1K -e 4K --faults=drill \
		--algo=Ring,Tree --env 'X=<script>alert(1)</script>'
	grep -q 'badge fail">FAIL' run/report.html
	grep -q 'DRILL' run/report.html
	grep -q 'n1:2 (rank 6) was excluded' run/report.html
	grep -q '<code>drill_dead</code>' run/report.html
	grep -q 'did not arrive: rank 6' run/report.html
	# a row a measurement, each size once a variant in the comparison
	[ "$(grep -c '^<tr><td>[0-9]*</td>.*<td>ok</td>' run/report.html)" -eq 12 ]
	[ "$(grep -cE '^<tr><td>[124] KiB</td>.* [io]?\*</strong>' run/report.html)" -eq 3 ]
	grep -q '<p>fastest at 1 KiB to 4 KiB: ' run/report.html
	# one script, which is ours
	sed '/<script>$/d; /<script>\/\//,$d' run/report.html >words.html
	[ "$(grep -c '<script' run/report.html)" -eq 1 ]
	absent '<script|(src|href)="(?!data:)|\bnan\b' words.html
	sed -n 's/.*src="data:image.svg+xml;base64,\([^"]*\)".*/\1/p' \
		run/report.html | base64 -d >embedded.svg
	cmp embedded.svg run/curves.svg
	# without gnuplot what was drawn before stays
	mkdir path
	PATH=$PWD/path run_p report run
	[ "$status" -eq 1 ]
	grep -q 'data:image' run/report.html
	cmp embedded.svg run/curves.svg
	# and where nothing was, it says so
	rm run/curves.*
	PATH=$PWD/path run_p report run
	[ "$status" -eq 1 ]
	absent 'data:image' run/report.html
	grep -q 'gnuplot is missing' run/report.html
}

@test "a gnuplot that fails: its SVG is shown if whole, no older one is" {
	sweep 0 allreduce --local=1x4 -b 1K
	mkdir path
	cat >path/gnuplot <<-'EOF'
		#!/bin/sh
		echo '<svg></svg>' >"$6/picture.svg"
		exit 1
	EOF
	chmod +x path/gnuplot
	PATH=$PWD/path:$PATH run_p report run
	grep -q 'data:image' run/report.html
	absent 'Not drawn' run/report.html
	[ ! -e run/curves.png ]
	printf '#!/bin/sh\nexit 1\n' >path/gnuplot
	PATH=$PWD/path:$PATH run_p report run
	absent 'data:image' run/report.html
	grep -q 'Not drawn: .*or failed.*gpucheck report .*/run&' run/report.html
	[ ! -e run/curves.svg ]
}

@test "80 columns are enough for a screen, a file gets the whole table" {
	sweep 0 reduce --local=1x4 -b 1K -e 64M -f 64 --algo=Ring,Tree
	COLUMNS=80 run_p report run
	# commands are never wrapped
	[ "$(awk '!/^          gpucheck/ { print length }' out | sort -n |
		tail -n 1)" -le 80 ]
	grep -q '^# float, sum, root 0$' out
	grep -qE '^ +65536( +[0-9.]+){8}$' out
	unset COLUMNS
	run_p report run
	grep -qE '^ +65536 +16384 +float +sum +0( +[0-9.]+){8}$' out
	cp out table
	# the first half of a line is out of place, the second in place
	[ "$(awk '$1 == 65536 { print $6, $10; exit }' table)" = "$(awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["size_B"] == 65536 && n < 2 {
			printf "%s%.2f", n++ ? " " : "", $at["time_us"] }
		' run/results.csv)" ]
	run_p import --csv table
	[ "$(wc -l <out)" -eq 13 ]
}

@test "as many variants as there are, however narrow the screen" {
	sweep 0 allreduce --local=1x4 -b 1K -e 2K --algo=Ring,Tree \
		--proto=Simple,LL,LL128
	COLUMNS=80 run_p report run
	[ "$(awk '{ print length }' out | sort -n | tail -n 1)" -le 80 ]
	grep -qE '^ +size( +[1-5]){5} *$' out
	grep -qE '^ +size +6 *$' out
	# the same cells and marks as where they stand in one table
	COLUMNS=100 run_p report run
	grep -E '^ +[12] KiB' out >whole
	COLUMNS=80 run_p report run
	paste -d '' <(grep -E '^ +[12] KiB' out | head -n 2) \
		<(grep -E '^ +[12] KiB' out | tail -n 2 | cut -c 11-) >parts
	diff whole parts
}

@test "report.html of a run beside a reference" {
	sweep 0 allreduce --local=1x4 -b 1K -e 8M -f 8
	cp run/results.csv ref.csv
	run_p report --reference="$PWD/ref.csv" run
	[ "$status" -eq 0 ]
	grep -q 'against the reference.*10 sizes slower.*10 the same within' run/report.html
}

# by_hand RANK SIZE: an agent as mpirun would start it, in the background.
by_hand()
{
	OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=$2 \
		OMPI_COMM_WORLD_LOCAL_RANK=$1 \
		"$GPUCHECK" agent "$PWD/run" 3>&- 2>"agent$1" &
}

# Until the run directory has what its agents need.
await_dir()
{
	for _ in $(seq 300); do
		[ ! -e run/run.json ] || return 0
		sleep 0.1
	done
	return 1
}

@test "processes that mpirun starts, one of which never does" {
	timeout 120 "$GPUCHECK" allreduce --launcher=env --transport=sim -b 1K -o run \
		--boot-timeout=5s 3>&- >out 2>err &
	front=$!
	await_dir
	for r in 0 1 3; do
		by_hand $r 4
	done
	rc=0
	wait $front || rc=$?
	[ $rc -eq 1 ]
	[ "$(column outcome) $(column ranks)" = "2 ok 2 3" ]
	[ "$(jq -r '.dropped[0].code' run/run.json)" = rank_missing ]
	jq -e '.exclude == [] and (.findings | length) == 1 and
		.findings[0].index == 2' run/verdict.json
	wait
}

@test "processes that start before the command does" {
	for r in 0 1; do
		by_hand $r 2
	done
	# the command is the last to come, by some way
	sleep 0.5
	run_p allreduce --launcher=env --transport=sim -b 1K -o run
	[ "$status" -eq 0 ]
	[ "$(column outcome) $(column ranks)" = "2 ok 2 2" ]
	wait
}

@test "an agent that is lost in the middle is named, the others go on" {
	# who is waited for in vain holds the run until that timeout
	timeout 120 "$GPUCHECK" allreduce --launcher=env --transport=sim -b 8 -e 8G \
		--timeout=10m -o run \
		--env "X=$(seq -s, 50)" 3>&- >out 2>err &
	front=$!
	await_dir
	for r in 0 1 2 3; do
		by_hand $r 4
	done
	victim=$!
	for _ in $(seq 300); do
		[ "$(wc -l <run/results.csv 2>/dev/null || echo 0)" -lt 9 ] ||
			break
		sleep 0.1
	done
	# its last answer is in, and it is gone, before another order
	coordinator=$(pgrep -f "^$GPUCHECK coordinator $PWD/run")
	kill -STOP "$coordinator"
	sleep 0.2
	kill -KILL $victim
	kill -CONT "$coordinator"
	rc=0
	wait $front || rc=$?
	[ $rc -eq 1 ]
	[ "$(jq -r '.dropped[0].code' run/run.json)" = agent_lost ]
	column ranks | grep -qE '[0-9]+ 3 [0-9]+ 4'
	[ "$(columns_of outcome run/results.csv | grep -c ok)" -gt 1000 ]
	wait || true
}

@test "a coordinator that is gone does not hold the front" {
	timeout 120 "$GPUCHECK" allreduce --launcher=env --transport=sim -b 8 -e 8G -o run \
		--boot-timeout=1s --env "X=$(seq -s, 60)" 3>&- >out 2>err &
	front=$!
	await_dir
	for r in 0 1; do
		by_hand $r 2
	done
	for _ in $(seq 300); do
		[ "$(wc -l <run/results.csv 2>/dev/null || echo 0)" -lt 9 ] ||
			break
		sleep 0.1
	done
	pkill -KILL -f "^$GPUCHECK coordinator $PWD/run"
	rc=0
	wait $front || rc=$?
	[ $rc -eq 4 ] || { echo "exit $rc"; cat err; return 1; }
	grep -q "coordinator no longer responds" err
	wait || true
}

@test "a node that is set up otherwise is named" {
	run_p allreduce --local=3x2 --transport=sim -b 8 -e 8 -o run
	[ "$status" -eq 0 ]
	jq -e '.findings == []' run/verdict.json
	# three machines, of which n2 has another kernel
	awk -F, -v OFS=, '$3 == "host" { $4 = $1 }
		$3 == "kernel" && $1 == "n2" { $4 = "5.4.0-old" }
		{ print }' run/facts.csv >facts
	mv facts run/facts.csv
	run_p report run
	[ "$status" -eq 0 ]
	jq -e '.status == "warn" and (.findings | length) == 1 and
		(.findings[0] | .code == "config_skew" and .node == "n2" and
		(.says | endswith("; nothing failed")))' run/verdict.json
}

@test "--variant: named, not combined; --stat: which of its figures" {
	sweep 0 allreduce --local=2x4 -b 1K -e 2K --variant=plain: \
		--variant=ring:NCCL_ALGO=Ring,NCCL_PROTO=LL
	[ "$(column variant)" = "4 plain 4 ring" ]
	jq -e '[.variants[].env] == [{}, {NCCL_ALGO: "Ring", NCCL_PROTO: "LL"}]' \
		run/run.json
	grep -q 'the better of in place (i) and out of place (o)' out
	grep -Eq '1 KiB +[0-9.]+[io][*=]' out
	for stat in min avg max; do
		run_p report --stat=$stat run
		[ "$status" -eq 0 ]
		awk '$1 == "1" && $2 == "KiB" { print $3 + 0; exit }' out >$stat
	done
	[ "$(sort -n min avg max)" = "$(cat min avg max)" ]
	run_p allreduce --local=2x4 --variant=a:B=1 --algo=Ring
	fails 2 "--variant does not go with --algo"
	run_p allreduce --local=2x4 --transport=sim --variant=a
	fails 2 "NAME:VAR=VALUE"
}
