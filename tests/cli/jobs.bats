#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Many small jobs, where Slurm is slow, refuses, or does not answer: what a real
# one (tests/jobs) cannot be made to do.

load helper
load ../await

# Commands of Slurm with its queue in a file.  Nodes n1 ... are idle; nothing
# that is submitted ever runs.
fake_slurm()
{
	local i

	mkdir bin
	: >queue
	: >submitted
	for ((i = 1; i <= $1; i++)); do
		echo "n$i|debug*|idle|(null)"
	done >nodes
	cat >bin/squeue <<-'EOT'
		#!/bin/sh
		[ ! -e away ] || { echo 'Unable to contact' >&2; exit 1; }
		[ -z "$SQUEUE_STATES" ] || exit 0
		case $* in
		*--all*) cat queue ;;	# the partition is a hidden one
		esac
		exit 0
	EOT
	cat >bin/sbatch <<-'EOT'
		#!/bin/sh
		for script; do :; done
		[ ! -e refuse ] || ! echo "$*" | grep -q "$(cat refuse)" || {
			echo "$script" >>refused
			echo 'Job violates policy' >&2
			exit 1
		}
		echo "$@" >>submitted
		[ ! -e slow ] || sleep 3
		id=$(($(wc -l <submitted) + 40))
		echo "$id|PENDING|Resources|$script" >>queue
		echo "$id"
	EOT
	cat >bin/sinfo <<-'EOT'
		#!/bin/sh
		case $* in
		*%N*) cat nodes ;;
		esac
	EOT
	printf '#!/bin/sh\necho "$@" >>cancelled\n' >bin/scancel
	printf '#!/bin/sh\n' | tee bin/scontrol >bin/sacctmgr
	chmod +x bin/*
	PATH=$PWD/bin:$PATH
}

teardown()
{
	[ -z "${front-}" ] || kill "$front" || true
}

pairs=(p2p --jobs=pairs -G 1 --transport=tcp -o run)

# submitted COUNT NAME: so many of the jobs that were submitted are of it.
submitted()
{
	local n
	n=$(grep -c "$2" submitted || true)
	[ "$n" -eq "$1" ] || { echo "$n of $2, not $1"; cat submitted; false; }
}

@test "a job that is being submitted is neither lost nor submitted twice" {
	fake_slurm 2
	touch slow
	"$GPUCHECK" "${pairs[@]}" --no-wait >front.out 2>&1 3>&- &
	front=$!
	await 20 test -s submitted
	[ ! -s queue ]
	run_p status run
	grep -q '1 job: 1 waiting' <<<"$output$stderr"
	# until Slurm lists it, which it does
	run_p p2p --resume run --no-wait
	[ "$status" -eq 0 ]
	wait $front
	front=
	submitted 1 parts/0001-1/
	submitted 0 parts/0001-2/
	# nor is one whose partition is hidden, or whose state is not to be seen
	SQUEUE_STATES=RUNNING run_p p2p --resume run --no-wait
	submitted 0 parts/0001-2/
	# which nodes others have, and which are out of use
	sed -i -e '1s/idle/allocated/' -e '2s/idle.*/drained|x|psu dead/' nodes
	run_p status run
	grep -q 'waiting; busy: n1; down: n2' <<<"$output$stderr"
	sed -i 's/allocated\|drained/idle/' nodes
	# one that is no longer in the queue, and never was there for long
	: >queue
	run_p status run
	grep -q '1 job: 1 waiting' <<<"$output$stderr"
	touch -d '1 minute ago' run/parts/0001-1
	run_p report run
	[ "$status" -eq 3 ]
	grep -q 'no job measured anything: .*has no record of it' \
		<<<"$output$stderr"
	run_p p2p --resume run --no-wait
	submitted 1 parts/0001-2/
}

@test "what is refused is said, holds up no other, and is left to --resume" {
	fake_slurm 3
	echo n1,n2 >refuse
	run_p "${pairs[@]}" --no-wait
	[ "$status" -eq 0 ]
	grep -q 'not all jobs could be submitted: Job violates policy' \
		<<<"$output$stderr"
	submitted 2 /job.sbatch
	run_p status run
	grep -q '3 jobs: 2 waiting, 1 lost' <<<"$output$stderr"
	rm refuse
	run_p p2p --resume run --no-wait
	submitted 3 /job.sbatch
	submitted 1 /000[1-3]-2/
}

@test "more jobs than --max-jobs wait in lanes; its earlier name, too" {
	fake_slurm 4
	for how in --max-jobs=2 --lanes=2 env file; do
		rm -rf run
		: >submitted
		: >queue
		unset GPUCHECK_LANES GPUCHECK_CONFIG
		case $how in
		env) export GPUCHECK_LANES=2 ;;
		file) export GPUCHECK_CONFIG=$PWD/conf
			printf '[p2p]\nlanes=2\n' >conf ;;
		esac
		run_p "${pairs[@]}" --no-wait ${how##[ef]*}
		[ "$status" -eq 0 ]
		submitted 6 /job.sbatch
		[ "$(grep -h job-name run/parts/*/job.sbatch | sort -u |
			wc -l)" -eq 2 ]
		[ "$(grep -l singleton run/parts/*/job.sbatch | wc -l)" -eq 6 ]
		[ "$(jq .options.\"max-jobs\" run/run.json)" = 2 ]
	done
	unset GPUCHECK_LANES GPUCHECK_CONFIG
	rm -r run
	: >submitted
	run_p "${pairs[@]}" --no-wait
	[ "$(grep -h job-name run/parts/*/job.sbatch | sort -u | wc -l)" -eq 1 ]
	! grep -q singleton run/parts/*/job.sbatch || false
	grep -q 'scancel --name=gpucheck-[0-9a-f]*$' <<<"$stderr"
}

@test "each job of a pair asks for a time limit" {
	fake_slurm 4
	run_p "${pairs[@]}" --no-wait
	[ "$status" -eq 0 ]
	grep -q 'each job asks for a time limit of 30 min' err
	jq -e '.jobs.minutes == 30' run/run.json
	for script in run/parts/*/job.sbatch; do
		grep -qx '#SBATCH --time=30' "$script"
	done
	run_p "${pairs[@]}" --dry-run -- --time=5
	absent '^#SBATCH --time' out
	absent 'time limit' err
}
