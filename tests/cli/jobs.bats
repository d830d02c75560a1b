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
		*--all*-keeper) grep keeper queue ;;
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
	run_p tend "$PWD/run"
	wait $front
	front=
	submitted 1 parts/0001-1/
	submitted 0 parts/0001-2/
	[ "$(cat run/parts/0001-1.job)" = 41 ]
	# nor is one whose partition is hidden, or whose state is not to be seen
	SQUEUE_STATES=RUNNING run_p tend "$PWD/run"
	submitted 0 parts/0001-2/
	# which nodes others have, and which are out of use
	sed -i -e '1s/idle/allocated/' -e '2s/idle.*/drained|x|psu dead/' nodes
	run_p status run
	grep -q 'waiting; busy: n1; down: n2' <<<"$output$stderr"
	sed -i 's/allocated\|drained/idle/' nodes
	# one that had a job, and has none, is
	grep -v 0001-1 queue >left || true
	cp left queue
	run_p status run
	[ "$status" -eq 4 ]
	grep -q '1 job: 1 lost; "gpucheck attach" submits what' <<<"$output"
	run_p tend "$PWD/run"
	submitted 1 parts/0001-2/
}

@test "what is refused is said once, and holds up no other" {
	fake_slurm 3
	echo n1,n2 >refuse
	"$GPUCHECK" "${pairs[@]}" >front.out 2>&1 3>&- &
	front=$!
	await 20 grep -q 'violates policy' front.out
	await 20 submitted 2 /job.sbatch
	await 20 said_again
	[ "$(grep -c 'violates policy' front.out)" -eq 1 ]
	rm refuse
	await 30 grep -q parts/0002-1/ submitted
	submitted 1 parts/0001-1/
	submitted 1 parts/0003-1/
}

# It was asked for once more.
said_again()
{
	[ "$(wc -l <refused)" -ge 3 ]
}

@test "there is one keeper, for whom the job is, and it does not give up" {
	fake_slurm 2
	SBATCH_ARRAY_INX=1-9 run_p "${pairs[@]}" --no-wait -- --gres=gpu:8 \
		-p debug --mem=0
	[ "$status" -eq 0 ]
	run_p p2p --resume run --no-wait
	submitted 1 keeper
	grep keeper submitted >words
	grep -q -- '--partition=debug' words
	! grep -qE -- 'gres|mem=0' words || false
	# it looks in vain, and has a next one, which knows
	grep -v keeper queue >left
	cp left queue
	: >submitted
	touch away
	run_p tend "$PWD/run" keeper 4
	[ "$status" -eq 3 ]
	submitted 1 keeper
	grep -q ' keeper 5$' run/parts/keeper.sbatch
	# but not for good
	run_p tend "$PWD/run" keeper 24
	submitted 1 keeper
	rm away
	grep -v keeper queue >left
	cp left queue
	run_p tend "$PWD/run" keeper 5
	[ "$status" -eq 0 ]
	submitted 2 keeper
	grep -q ' keeper 0$' run/parts/keeper.sbatch
}
