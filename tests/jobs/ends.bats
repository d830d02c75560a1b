#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Many small jobs whose front or jobs are ended, by a user or by a full disk.

load helper

gone()
{
	! kill -0 "$1" 2>/dev/null
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

job_of()
{
	squeue --noheader --format='%i %o' | awk -v s="/$1/job.sbatch" '
		index($2, s) { print $1 }'
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
	[ -d run/parts/0001-2 ]
	# of the others only those of which a test was too late, on a busy machine
	for part in run/parts/*-[2-9]; do
		[ "$part" = run/parts/0001-2 ] ||
			grep -qE ',(timeout|error|not_run),' \
				"${part%2}1/results.csv"
	done
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
