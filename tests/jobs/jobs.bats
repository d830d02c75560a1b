#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Many small jobs, of nodes that are never all free.

load helper

# The same of the jobs, before they are merged.
jobs_have_good()
{
	# shellcheck disable=SC2034 # good() reads it
	local rows='run/parts/*/results.csv'
	[ "$(good "${@:2}" 2>/dev/null)" = "$1" ]
}

ended()
{
	[ "$(jq -r '.ended_utc // ""' run/run.json)" ]
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

# No job can start before a node is back.
done_as_far_as_can_be()
{
	! squeue --noheader --format='%T %r' |
		grep -qvE 'PENDING (ReqNodeNotAvail|Dependency)'
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
