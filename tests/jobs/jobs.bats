#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Many small jobs, of nodes that are never all free.

load helper

teardown()
{
	local good=true
	pasted || good=false
	end_jobs
	! does_not_answer gcn4 || node-up 4
	if [ -e loop ]; then
		for node in 1 2 3 4; do
			node-run $node umount "$PWD/small" || true
		done
		umount small
		losetup --detach "$(cat loop)"
	fi
	$good
}

# Six jobs of two nodes with two ranks each.
pairs=(p2p --jobs=pairs -G 2 --transport=tcp -b 64K --max-jobs=2 -o run)

says()
{
	grep -qE -- "$1" "$2" || { echo "no '$1' in:"; cat "$2"; return 1; }
}

# good NODES...: how many ordered cells between ranks of these have a good row.
good()
{
	# shellcheck disable=SC2086  # several files
	awk -F, -v "nodes= $* " '
		NR > 1 && $25 == "ok" && index(nodes, " " $3 " ") &&
			index(nodes, " " $7 " ") { print $3, $4, $7, $8 }
		' ${rows-run/results.csv} | sort -u | wc -l
}

# has_good COUNT NODES...
has_good()
{
	local n
	n=$(good "${@:2}")
	[ "$n" = "$1" ] && return
	echo "$n, not $1"
	cut -d, -f2,6,25,26 run/results.csv
	ls run/parts
	cut -c1-150 run/events.csv
	cat run/parts/*/job.out | grep -v '^env'
	return 1
}

# The same of the jobs, before they are merged.
jobs_have_good()
{
	local rows='run/parts/*/results.csv'
	[ "$(good "${@:2}" 2>/dev/null)" = "$1" ]
}

# A part of that number has begun to measure.
measures()
{
	[ -e "run/parts/$1/results.csv" ] &&
		[ "$(wc -l <"run/parts/$1/results.csv")" -gt 1 ]
}

ended()
{
	[ "$(jq -r '.ended_utc // ""' run/run.json)" ]
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

does_not_answer()
{
	sinfo --noheader --nodes="$1" --format=%T | grep -q '[*]'
}

answers()
{
	idle 4 && ! does_not_answer "$1"
}

# fails NODE CODES WORDS: the only finding that fails.
fails()
{
	jq -e --arg node "$1" --arg codes "$2" --arg words "$3" '
		[.findings[] | select(.severity == "fail")] |
		length == 1 and .[0].node == $node and
		(.[0].code | test("^(" + $codes + ")$")) and
		(.[0].says | contains($words))' run/verdict.json ||
		{ jq .findings run/verdict.json; return 1; }
}

# cancel: as printed in err, and none comes back.
cancel()
{
	local command
	command=$(sed -n 's/.*to cancel the jobs: //p' err)
	[ "$command" ]
	bash -c "$command"
	await 30 queue_is_empty
	sleep 3
	queue_is_empty
}

# No job can start before a node is back.
done_as_far_as_can_be()
{
	! squeue --noheader --format='%T %r' |
		grep -qvE 'PENDING (ReqNodeNotAvail|Dependency)'
}

# Each part has been submitted once, or twice if named here.
submitted_once()
{
	local wanted
	wanted=$(squeue --noheader --states=all --format=%o |
		grep -c "$PWD/run/parts/")
	[ "$wanted" = "$(find run/parts -name job.sbatch | wc -l)" ] &&
		[ "$(again)" = "${1-0}" ]
}

# How many parts were submitted again.
again()
{
	find run/parts -maxdepth 1 -name '*-2' | wc -l
}

job_of()
{
	squeue --noheader --format='%i %o' | awk -v s="/$1/job.sbatch" '
		index($2, s) { print $1 }'
}

@test "a plan, a dry run, and what does not go with it" {
	run_to 0 "${pairs[@]:0:2}" -G 2 --transport=tcp --dry-run
	[ "$(head -n 1 out)" = '#!/bin/bash' ]
	! type -P shellcheck || shellcheck out
	says '^# 6 jobs of 2 nodes, 3 rounds of 4 nodes' out
	! grep -q singleton out || false
	says '^# job 6: gcn[1-4],gcn[1-4]$' out
	says 'sbatch --parsable --nodelist=' out
	# the name that the option had before
	run_to 0 "${pairs[@]:0:2}" -G 2 --transport=tcp --dry-run --lanes=2 \
		--deadline=2h
	says '^# 6 jobs of 2 nodes, 2 at a time, 3 rounds of 4 nodes' out
	says '^#SBATCH --dependency=singleton' out
	says '^#SBATCH --time=60$' out
	says '^#SBATCH --deadline=now.10800$' out
	run_to 0 plan p2p --jobs=pairs -x gcn4 --transport=tcp
	says '^3 jobs of 2 nodes, 3 rounds of 3 nodes' out
	run_to 0 plan p2p --jobs=pairs --json --transport=tcp
	[ "$(jq .jobs,.max_jobs out | paste -sd' ')" = '6 1000' ]
	# Slurm's own words for nodes count, those for one job do not
	run_to 2 plan p2p --jobs=pairs --transport=tcp -- --constraint=f1
	says 'there is no pair of 1 node' err
	scontrol --quiet create reservation=mine nodes='gcn[1-3]' user=root \
		starttime=now duration=10
	run_to 0 plan p2p --jobs=pairs --transport=tcp -- --reservation=mine
	scontrol --quiet delete reservation=mine
	says '^3 jobs .* of 3 nodes' out
	run_to 2 p2p --jobs=pairs --transport=tcp -- --dependency=singleton
	says '--dependency after -- does not go with --jobs=pairs' err
	run_to 2 p2p --jobs=pairs --pairs=0-1
	says 'does not go with --pairs=0-1' err
	run_to 2 p2p --jobs=pairs --local=2x2
	says 'submits batch jobs of Slurm' err
	run_to 2 p2p --lanes=2
	says 'max-jobs needs --jobs=pairs' err
	run_to 2 p2p --deadline=1h
	says 'deadline needs --jobs=pairs' err
}

@test "a busy node is waited for, one that is lost costs its own pairs alone" {
	sbatch --quiet --nodelist=gcn2 --exclusive --job-name=other \
		--output=/dev/null --wrap='sleep 200'
	await 20 idle 3
	# nobody follows it
	SBATCH_ARRAY_INX=1-3 SBATCH_GRES=gpu:2 run_to 0 "${pairs[@]}" -b 1M \
		-n 40 --no-wait --max-jobs=1000 -- --gres=gpu:2 --partition=debug
	says '^/.*/run$' out
	says '6 jobs of 2 nodes, .*1 busy' err
	run_to 0 p2p --resume run --no-wait
	submitted_once
	await 30 measures 0001-1
	node-kill 4
	await 20 does_not_answer gcn4
	await 60 jobs_have_good 12 gcn1 gcn3
	run_to 4 status run
	says '6 jobs: .* waiting' out
	grep -v '^ *$' out | tr -s ' \n' ' ' >line
	# a node whose job ends just then may be among the busy ones
	says '; busy: [^;]*gcn2[^;]*; down: gcn4 ' line
	scancel --name=other
	await 60 done_as_far_as_can_be
	# jobs that wait for the lost node do so until somebody follows the run
	run_to 4 attach run
	ended
	await 30 queue_is_empty
	# 4 between two nodes, both ways, and 2 inside of each
	has_good 30 gcn1 gcn2 gcn3
	# whether a job of it ran just then or not, gcn4 is why
	run_to 4 report run
	fails gcn4 'slurm_out_of_use|task_launch_failed|agent_lost' gcn4
	says '"stop_reason": ?"Slurm has out of use: gcn4"' run/run.json
	[ "$(jq '[.cells[]] | add' run/verdict.json)" = 56 ]
	grep -q ',not_run,slurm_out_of_use,Slurm has it as down' run/results.csv
	# and when it is back
	node-up 4
	await 60 answers gcn4
	run_to 0 p2p --resume run
	has_good 56 gcn1 gcn2 gcn3 gcn4
	[ "$(jq -r .status run/verdict.json)" != fail ]
	[ "$(again)" -le 3 ]
}

@test "a job that does not start by its deadline leaves its pairs not run" {
	sbatch --quiet --nodelist=gcn2 --exclusive --job-name=other \
		--output=/dev/null --wrap='sleep 200'
	await 20 idle 3
	run_to 4 "${pairs[@]}" --max-jobs=1000 --deadline=60s
	has_good 30 gcn1 gcn3 gcn4
	says '6 jobs: 3 done, 3 lost' err
	says '3 of 6 jobs without a result: job [0-9]* missed its deadline' \
		run/run.json
	[ "$(grep -c ',not_run,job_lost,job [0-9]* missed its deadline before' \
		run/results.csv)" = 26 ]
	says 'p2p --resume' err
	scancel --name=other
	await 20 idle 4
	run_to 0 p2p --resume run
	has_good 56 gcn1 gcn2 gcn3 gcn4
	submitted_once 3
}

# The job of the run $1 waits for a node in use, and status names the way on.
names_pairs()
{
	"$GPUCHECK" status "$1" >words 2>&1
	tr -s ' \n' ' ' <words | grep -qE -- 'is pending \(Resources\).*nodes are '\
'busy; .*, and --jobs=pairs \(p2p, ib\) measures each two nodes as they get free'
}

@test "a job that waits for a busy node names --jobs=pairs, which measures" {
	sbatch --quiet --nodelist=gcn2 --exclusive --job-name=other \
		--output=/dev/null --wrap='sleep 200'
	await 20 idle 3
	run_to 0 p2p -N 4 -G 2 --transport=tcp -b 64K --no-wait -o whole
	await 30 names_pairs whole || { cat words; false; }
	# as it says, while the node is busy; the job that waits comes later
	scancel "$(sed -n 2p out)"
	run_to 0 "${pairs[@]}" --max-jobs=1000 --no-wait
	await 60 jobs_have_good 30 gcn1 gcn3 gcn4
	[ "$(squeue --noheader --name=other --format=%T)" = RUNNING ]
}

@test "where few jobs may be submitted: groups, without the nodes that are down" {
	mkdir bin
	printf '#!/bin/sh\necho "5|"\n' >bin/sacctmgr
	chmod +x bin/sacctmgr
	node-kill 4
	await 60 does_not_answer gcn4
	scontrol update nodename=gcn4 state=down reason='psu dead'
	PATH=$PWD/bin:$PATH run_to 4 "${pairs[@]}"
	says '1 job of 4 nodes, .*0 busy, 1 down' err
	says '^#SBATCH --nodes=3$' run/parts/0001-1/job.sbatch
	[ ! -e run/parts/0001-2 ]
	has_good 30 gcn1 gcn2 gcn3
	# besides, something may be slow on a busy machine
	fails gcn4 slurm_out_of_use 'Slurm has it as down*: psu dead'
	! grep job.out out || false
	node-up 4
	scontrol update nodename=gcn4 state=resume
	await 60 answers gcn4
	run_to 0 p2p --resume run
	has_good 56 gcn1 gcn2 gcn3 gcn4
}

@test "what is preempted is left to --resume; ^C leaves the jobs" {
	# what its user wants to see hides no job from it
	SQUEUE_STATES=COMPLETED SQUEUE_FORMAT2=jobid SINFO_STATES=down \
		"$GPUCHECK" "${pairs[@]}" -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	scancel "$(job_of 0001-1)"
	await 30 measures 0003-1
	kill -INT "$front"
	await 20 gone "$front"
	code=0
	wait "$front" || code=$?
	[ "$code" = 4 ]
	says 'stopped following; the jobs continue' err
	run_to 4 attach run
	says '^PARTIAL' out
	says '6 jobs: 5 done, 1 lost' err
	says 'p2p --resume' err
	run_to 0 p2p --resume run
	says '6 jobs: 6 done' err
	has_good 56 gcn1 gcn2 gcn3 gcn4
	[ "$(ls -d run/parts/*-[2-9])" = run/parts/0001-2 ]
	submitted_once 1
	await 30 queue_is_empty
}

@test "the front is killed at any time: --resume submits the rest, none twice" {
	mkdir bin
	printf '#!/bin/sh\nsleep .3\n%s "$@" || exit\nsleep .3\n' \
		"$(command -v sbatch)" >bin/sbatch
	chmod +x bin/sbatch
	local moments=(.9 1.7)
	[ "${CASES-}" != all ] || moments=(.5 .9 1.3 1.7 2.1)
	for after in "${moments[@]}"; do
		PATH=$PWD/bin:$PATH setsid "$GPUCHECK" "${pairs[@]:0:7}" \
			-o "run$after" >out 2>err 3>&- &
		front=$!
		await 10 test -d "run$after/parts"
		ln -sfn "run$after" run
		sleep "$after"
		kill -KILL "$front"
		await 10 gone "$front"
		run_to 0 p2p --resume run
		has_good 56 gcn1 gcn2 gcn3 gcn4
		# the job that was about to be submitted may have been refused
		[ "$(again)" -le 1 ]
		squeue --noheader --states=all --format=%o |
			grep "/run$after/" >listed
		for i in 1 2 3 4 5 6; do
			[ "$(grep -c "/parts/000$i-" listed)" = 1 ]
		done
	done
}

@test "the caller logs out: the jobs go on, and another user may look" {
	setsid "$GPUCHECK" "${pairs[@]}" -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	kill -HUP "$front"
	await 20 gone "$front"
	await 90 queue_is_empty
	chmod -R a+rX . "$BATS_TEST_TMPDIR"
	find run -printf '%p %T@\n' | sort >before
	code=0
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$GPUCHECK" report run >words 2>&1 || code=$?
	find run -printf '%p %T@\n' | sort | diff before -
	run_to 0 report run
	has_good 56 gcn1 gcn2 gcn3 gcn4
}

@test "a full disk: what was measured stays, --resume measures the rest" {
	local node
	mkdir small
	truncate -s 8M image
	mkfs.ext4 -q -m 0 image
	losetup --find --show image >loop || skip "no loop device"
	mount "$(cat loop)" small
	for node in 1 2 3 4; do
		node-run $node mount "$(cat loop)" "$PWD/small"
	done
	dd if=/dev/zero of=small/fill bs=1k 2>/dev/null || true
	truncate -s -80K small/fill
	code=0
	timeout 120 "$GPUCHECK" "${pairs[@]:0:7}" --max-jobs=1000 \
		-o small/run >out 2>err 3>&- || code=$?
	cat err
	[ "$code" = 3 ] || [ "$code" = 4 ]
	grep -iq 'no space' err
	await 60 queue_is_empty
	rm small/fill
	ln -s small/run run
	run_to 0 p2p --resume run
	has_good 56 gcn1 gcn2 gcn3 gcn4
}

@test "^C and --no-wait say how to cancel, which ends all jobs" {
	run_to 0 "${pairs[@]}" -n 4000 --no-wait
	await 30 measures 0001-1
	cancel
	rm -r run
	"$GPUCHECK" "${pairs[@]}" --max-jobs=1000 -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	kill -INT "$front"
	await 20 gone "$front"
	cancel
	# amid the submission as well
	rm -r run
	mkdir bin
	printf '#!/bin/sh\nsleep 3\nexec %s "$@"\n' "$(command -v sbatch)" \
		>bin/sbatch
	chmod +x bin/sbatch
	PATH=$PWD/bin:$PATH "$GPUCHECK" "${pairs[@]}" -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	kill -INT "$front"
	await 20 gone "$front"
	says 'stopped submitting; the submitted jobs continue' err
	[ ! -e run/parts/0006-1 ]
	cancel
}

@test "after a repair: a job for what was found and as much that is well" {
	echo 'dead node=3' >drill
	run_to 1 p2p -N 4 -G 2 --transport=tcp -b 64K --faults=drill -o found
	[ "$(jq -r '.findings[0] | "\(.kind) \(.node)"' \
		found/verdict.json)" = 'node gcn4' ]
	run_to 0 p2p --retest found -o again
	says '^(PASS|WARN)' out
	says "retest of the findings of '.*found'" out
	says 'node gcn4 \(drill_dead\): [0-9]+ tests pass' out
	jq -e '.nodes | map(.name) | index("gcn4")' again/run.json
}
