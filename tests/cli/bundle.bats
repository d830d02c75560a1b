#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What of a run goes to a vendor.

load helper

# A run with a fault on node n1, and what others may have left in there.
faulty_run()
{
	echo 'dead node=1' >drill
	run_p p2p --local=2x2 --transport=sim --faults=drill -q -o run
	[ "$status" -eq 1 ]
	mkdir -p run/logs
	printf 'n1 says\nWANDB_API_KEY=tiger-1\nx password: tiger 2\n' \
		>run/logs/n1-rank0.log
	echo 'export HF_TOKEN="tiger-3"; cd /home/alice' >run/job.sbatch
	echo '{"token":"tiger-4"}' >run/rendezvous
	echo 'n1,node,env_A_TOKEN,tiger-5,,x
n1,gpu0,uuid,GPU-1234,,nvml
n1,gpu0,vbios,96.00,,nvml' >>run/facts.csv
	echo tiger-6 >run/mine.txt
	touch run/results-final.csv run/schema.csv
	jq '.argv += ["--token", "tiger-7"] |
		.environment.NCCL_X_SECRET = "tiger-8"' run/run.json >run.json
	mv run.json run/run.json
}

@test "a run with a fault: what is in there, no secret, and it can be judged" {
	faulty_run
	find run -type f -exec sha256sum {} + | sort >before
	run_p bundle run
	[ "$status" -eq 0 ]
	[ ! -s out ]
	grep -q 'wrote run.tar, [0-9]* bytes' err
	[ "$(stat -c %a run.tar)" = 600 ]
	find run -type f -exec sha256sum {} + | sort | diff before -
	tar tf run.tar >names
	[ "$(head -1 names)" = run/README ]
	for name in run.json verdict.json events.csv facts.csv results.csv \
		job.sbatch logs/n1-rank0.log; do
		grep -qx "run/$name" names
	done
	absent 'rendezvous|html|svg|png|mine' names
	mkdir there
	tar xf run.tar -C there
	cd there
	[ "$(grep -rl tiger . | wc -l)" -eq 0 ]
	grep -qx 'WANDB_API_KEY=\[removed\]' run/logs/n1-rank0.log
	grep -q '^n1,node,env_A_TOKEN,\[removed\],' run/facts.csv
	for says in '^FAIL  Node n1: all 10 tests' 'n1 .* vbios .* 96.00' \
		'uuid .* GPU-1234' 'rendezvous: the key of the run' \
		'mine.txt: not a file' 'results-final.csv: gpucheck report' \
		'schema.csv: gpucheck help csv' 'results.csv, [0-9]* bytes$' \
		': [6-9] values'; do
		grep -q "$says" run/README
	done
	cmp run/results.csv ../run/results.csv
	run_p report -o shown run
	[ "$status" -eq 1 ]
	diff <(jq .findings shown/verdict.json) <(jq .findings run/verdict.json)
}

# Names and identifiers in files of all kinds, by which a site is known.
marked_run()
{
	local word words='gpu7.hpc.example login3.hpc.example alice 10.99.4.7
		b8:ce:f6:12:34:56 b8ce:f603:0012:3456 0xb8cef60300123456
		fe80:0000:0000:0000:b8ce:f603:0012:3456 fd12:3456::b8ce:7
		GPU-c882b768-98d6-6761-a79f-efc2b50db9b6 1654321098765 leaf-a
		enxb8cef6123456'

	faulty_run
	for word in $words; do
		echo "n1,node,x,$word,,x" >>run/facts.csv
		echo "\"$word\"" >>run/notes.json
		printf '2026-01-31T09:15:02.000Z,,n1,0,said,%s\r\n' "$word" \
			>>run/events.csv
	done
	echo 'n1,node,host,gpu7.hpc.example,,gethostname
n1,nic0,board_serial,1654321098765,,x' >>run/facts.csv
	echo 'SwitchName=leaf-a Nodes=n[0-1]' >run/switches
	jq --slurpfile seen run/notes.json '. + {user: "alice", seen: $seen}' \
		run/run.json >run.json
	mv run.json run/run.json
	rm run/notes.json
	for word in logs/gpu7-alice.log job.out report.html map.svg; do
		tr -s '[:space:]' ' ' <<<"of $words" >>"run/$word"
	done
}

@test "--share: no name and no identifier is left, and the verdict is the same" {
	export PASTED=no	# no machine has these names
	marked_run
	mv run n1-alice
	run_p bundle --share -o its.tar n1-alice
	[ "$status" -eq 0 ]
	mkdir there
	tar xf its.tar -C there
	cd there
	mv node2-user1 its
	find . >names
	absent 'gpu7|alice|html|svg' names
	grep -rnwE 'n[01]|gpu7|login3|hpc|alice|10\.99\.[0-9.]*|leaf-a' its >left ||
		true
	grep -rniE 'b8:?ce|f6:?12|12:?34:?56|c882b768|1654321098765' its >>left ||
		true
	[ ! -s left ] || { cat left; false; }
	grep -q 'cd /home/user1' its/job.sbatch
	grep -q '^FAIL  Node node2: all 10 tests' its/README
	grep -q 'hosts (node1, ...): [4-6]    users (user1, ...): [1-3]$' \
		its/README
	# the same substitutes in each file
	tail -1 its/job.out | sed 's/^of //' >words
	for file in run.json events.csv facts.csv logs/node4-user1.log; do
		for word in $(<words); do
			grep -qF -- "$word" "its/$file"
		done
	done
	# a GID has the GUID of its port
	guid=$(awk '{ print substr($7, 3) }' words)
	[ "$(awk '{ gsub(":", ""); print $6, substr($8, 17) }' words)" = \
		"$guid $guid" ]
	run_p report -o shown its
	[ "$status" -eq 1 ]
	jq -e '.findings[0].node == "node2" and .exclude == ["node2"]' \
		shown/verdict.json
	run_p report -o before ../n1-alice
	diff <(jq -c '.status, .cells, (.findings[] | [.kind, .code, .cells])' \
		shown/verdict.json) \
		<(jq -c '.status, .cells, (.findings[] | [.kind, .code, .cells])' \
		before/verdict.json)
}

@test "several directories, and what info --record wrote, in one archive" {
	export PASTED=no
	faulty_run
	run_p info --local=1x1 --record=record -q -o info
	mv record/n0 record/n7
	run_p bundle --anonymous -o its.tar run info record
	[ "$status" -eq 0 ]
	tar tf its.tar >names
	for name in run/README run/verdict.json info/facts.csv \
		record/node[3-5]/tree; do
		grep -qx "$name" names
	done
	tar xOf its.tar run/README >readme
	grep -q 'command "p2p"' readme
	grep -q 'command "info"' readme
	grep -q '^    record/node[3-5]/tree, [0-9]* bytes' readme
	grep -q '^A file "tree" has the files of /sys, /proc and /etc' readme
	for name in run info; do
		grep -q "^    $name/report.html: gpucheck report makes it" readme
	done
	mkdir other
	run_p bundle run other
	fails 3 'run.json'
}

@test "5 MB: what matters comes first, and what is missing is said" {
	faulty_run
	good=$(grep -m1 ',ok,' run/results.csv | tr -d '\r' | sed 's/n1/n0/g')
	yes "$good" | head -60000 >>run/results.csv
	last=$(grep -m1 drill_dead run/results.csv)
	echo "${last//drill_dead/the_last}" >>run/results.csv
	yes 'a line of a log' | head -100000 >run/job.out
	echo 'the end' >>run/job.out
	run_p bundle run
	[ "$status" -eq 0 ]
	[ "$(stat -c %s run.tar)" -le 5000000 ]
	[ "$(stat -c %s run.tar)" -ge 4000000 ]
	tar xOf run.tar run/README >readme
	grep -qE 'results.csv, [0-9]+ bytes: [0-9]+ of 600[0-9]+ rows' readme
	grep -q 'job.out, .* of 1600008 bytes: its begin and end' readme
	tar xOf run.tar run/job.out | tail -1 | grep -qx 'the end'
	tar xOf run.tar run/results.csv | tail -1 | grep -q the_last
	[ "$(tar xOf run.tar run/results.csv | grep -c drill_dead)" -eq \
		"$(grep -c drill_dead run/results.csv)" ]
}

@test "a directory of somebody else: no link is followed, nothing waits" {
	faulty_run
	echo tiger-9 >beside
	ln -sf "$PWD/beside" run/job.out
	mkdir far
	cp beside far/x.log
	ln -s "$PWD/far" run/logs/far
	mkfifo run/expected.ini
	echo '{' >run/verdict.json
	chmod a-w run
	run_p bundle run
	[ "$status" -eq 0 ]
	[ "$(tar xOf run.tar | grep -c tiger)" -eq 0 ]
	tar xOf run.tar run/README >readme
	grep -q "job.out: .* is a symbolic link" readme
	grep -q "logs/far: .* is a symbolic link" readme
	grep -q "expected.ini: .* is not a file" readme
	grep -q "verdict.json: " readme
	chmod u+w run
}

@test "what cannot be done is said, and leaves nothing" {
	small_run --out=run
	echo mine >run.tar
	run_p bundle run
	fails 2 "cannot create 'run.tar': File exists"
	ln -s nowhere link.tar
	run_p bundle -o link.tar run
	fails 2 'File exists'
	run_p bundle -o none/run.tar run
	fails 3 "cannot create 'none/run.tar'"
	[ "$(<run.tar)" = mine ]
	[ ! -e nowhere ]
	run_p bundle
	fails 2 'a run directory or a job'
	PATH=/nowhere run_p bundle 4711
	fails 2 'specify the run directory'
	run_p bundle nowhere
	fails 2 "cannot open run directory 'nowhere'"
	mkdir empty
	run_p bundle empty
	fails 3 'empty/run.json'
	fails 3 'hint: there is no run in it; the run directory is the DIR'
	run_p report run/results.csv
	fails 3 'hint: this is a file: specify the run directory that contains it'
	(
		ulimit -f 8	# as a full disk
		trap '' XFSZ
		run_p bundle -o full.tar run
		fails 3 "cannot write 'full.tar'"
		[ ! -e full.tar ]
	)
}
