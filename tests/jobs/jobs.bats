#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Many small jobs, of nodes that are never all free.

load helper

teardown()
{
	end_jobs
	! does_not_answer gcn4 || node-up 4
}

# Six jobs of two nodes with two ranks each.
pairs=(p2p --jobs=pairs -G 2 --transport=tcp -b 64K --lanes=2 -o run)

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
	squeue --noheader --format=%j | grep -q keeper
	bash -c "$command"
	await 30 queue_is_empty
	sleep 3
	queue_is_empty
}

# The nodes that are up have no job of ours any more.
done_as_far_as_can_be()
{
	! squeue --noheader --format='%T %r %j' | grep -v keeper |
		grep -qv 'PENDING ReqNodeNotAvail'
}

# It would not for minutes.
keeper_comes()
{
	scontrol update StartTime=now JobId="$(squeue --noheader --format=%i:%j |
		sed -n 's/:.*-keeper$//p')"
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
	says '^# 6 jobs of 2 nodes in 4 lanes, 3 rounds of 4 nodes' out
	says '^#SBATCH --dependency=singleton' out
	says '^# job 6, lane 2: gcn[1-4],gcn[1-4]$' out
	says 'sbatch --parsable --nodelist=' out
	run_to 0 plan p2p --jobs=pairs -x gcn4 --transport=tcp
	says '^3 jobs of 2 nodes in 3 lanes, 3 rounds of 3 nodes' out
	run_to 0 plan p2p --jobs=pairs --json --transport=tcp
	[ "$(jq .jobs out)" = 6 ]
	# Slurm's own words for nodes count, those for one job do not
	run_to 2 plan p2p --jobs=pairs --transport=tcp -- --constraint=f1
	says 'there is no pair of 1 node' err
	scontrol --quiet create reservation=mine nodes='gcn[1-3]' user=root \
		starttime=now duration=10
	run_to 0 plan p2p --jobs=pairs --transport=tcp -- --reservation=mine
	scontrol --quiet delete reservation=mine
	says '^3 jobs .* of 3 nodes' out
	run_to 2 p2p --jobs=pairs --transport=tcp -- --dependency=singleton
	says 'dependency behind -- does not go with --jobs=pairs' err
	run_to 2 p2p --jobs=pairs --pairs=0-1
	says 'does not go with --pairs=0-1' err
	run_to 2 p2p --jobs=pairs --local=2x2
	says 'submits batch jobs of Slurm' err
	run_to 2 p2p --lanes=2
	says 'lanes needs --jobs=pairs' err
}

@test "a busy node is waited for, one that is lost costs its own pairs alone" {
	sbatch --quiet --nodelist=gcn2 --exclusive --job-name=other \
		--output=/dev/null --wrap='sleep 200'
	await 20 idle 3
	# nobody follows it
	SBATCH_ARRAY_INX=1-3 SBATCH_GRES=gpu:2 run_to 0 "${pairs[@]}" -b 1M \
		-n 40 --no-wait -- --gres=gpu:2 --partition=debug
	says '^/.*/run$' out
	says '6 jobs of 2 nodes in 2 lanes, .*1 busy' err
	# one keeper, which keeps no GPU from others, also after another start
	run_to 0 p2p --resume run --no-wait
	[ "$(squeue --noheader --array --format='%b %P %j' | grep keeper$ |
		cut -d' ' -f1,2)" = 'N/A debug' ]
	await 30 measures 0001-1
	node-kill 4
	await 20 does_not_answer gcn4
	await 60 measures 0003-1
	run_to 4 status run
	says '6 jobs: .* waiting' out
	grep -v '^ *$' out | tr -s ' \n' ' ' >line
	# a node whose job ends just then may be among the busy ones
	says '; busy: [^;]*gcn2[^;]*; down: gcn4 ' line
	scancel --name=other
	await 60 done_as_far_as_can_be
	ended || keeper_comes
	await 30 ended
	await 30 queue_is_empty
	# 4 between two nodes, both ways, and 2 inside of each
	has_good 30 gcn1 gcn2 gcn3
	# whether a job of it ran just then or not, gcn4 is why
	run_to 4 report run
	fails gcn4 'slurm_out_of_use|task_launch_failed|agent_lost' gcn4
	says '"stop_reason": ?"Slurm has out of use: gcn4"' run/run.json
	[ "$(jq '[.cells[]] | add' run/verdict.json)" = 56 ]
	# and when it is back
	node-up 4
	await 60 answers gcn4
	run_to 0 p2p --resume run
	has_good 56 gcn1 gcn2 gcn3 gcn4
	[ "$(jq -r .status run/verdict.json)" != fail ]
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
	run_to 0 "${pairs[@]}" --no-wait
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
	says '1 job of 4 nodes in 1 lane, .*0 busy, 1 down' err
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

@test "what is preempted is submitted again, once; ^C leaves the jobs" {
	# what its user wants to see hides no job from it
	SQUEUE_STATES=COMPLETED SQUEUE_FORMAT2=jobid SINFO_STATES=down \
		"$GPUCHECK" "${pairs[@]}" -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	scancel "$(job_of 0001-1)"
	await 30 test -e run/parts/0001-2/job.sbatch
	kill -INT "$front"
	await 20 gone "$front"
	code=0
	wait "$front" || code=$?
	[ "$code" = 4 ]
	says 'stopped following; the jobs go on' err
	run_to 0 attach run
	says '^(PASS|WARN)' out
	says '6 jobs: 6 done' err
	has_good 56 gcn1 gcn2 gcn3 gcn4
	[ "$(ls -d run/parts/*-[2-9])" = run/parts/0001-2 ]
	await 30 queue_is_empty
}

@test "^C and --no-wait say how to cancel, which ends all jobs" {
	run_to 0 "${pairs[@]}" -n 4000 --no-wait
	await 30 measures 0001-1
	cancel
	rm -r run
	"$GPUCHECK" "${pairs[@]}" -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	kill -INT "$front"
	await 20 gone "$front"
	cancel
	# amid the submission as well
	rm -r run
	mkdir bin
	printf '#!/bin/sh\nsleep 1\nexec %s "$@"\n' "$(command -v sbatch)" \
		>bin/sbatch
	chmod +x bin/sbatch
	PATH=$PWD/bin:$PATH "$GPUCHECK" "${pairs[@]}" -n 4000 >out 2>err 3>&- &
	front=$!
	await 30 measures 0001-1
	kill -INT "$front"
	await 20 gone "$front"
	cancel
}

@test "after a repair: a job for what was found and as much that is well" {
	echo 'dead node=3' >drill
	run_to 1 p2p -N 4 -G 2 --transport=tcp -b 64K --faults=drill -o found
	[ "$(jq -r '.findings[0] | "\(.kind) \(.node)"' \
		found/verdict.json)" = 'node gcn4' ]
	run_to 0 p2p --retest found -o again
	says '^(PASS|WARN)' out
	says "retest of what '.*found' has found" out
	says 'node gcn4 \(drill_dead\): [0-9]+ tests pass' out
	jq -e '.nodes | map(.name) | index("gcn4")' again/run.json
}
