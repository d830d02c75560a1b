#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Bad input: what is wrong, where, what to do; exit 2 before anything starts.

load helper

# Nothing was made and nothing was printed on stdout.
nothing_made()
{
	rm -f out err
	[ -z "$output" ]
	[ -z "$(ls)" ] || { echo "made: $(ls)"; false; }
}

@test "no command: the overview on stderr" {
	run_p
	fails 2 "usage: gpucheck COMMAND"
	[ -z "$output" ]
}

@test "an unknown command names the nearest" {
	run_p p2q
	fails 2 "there is no command 'p2q'"
	fails 2 "hint: did you mean 'p2p'?"
	run_p wombat
	fails 2 "gpucheck help"
}

@test "an unknown option names the nearest" {
	run_p p2p --trasport=tcp
	fails 2 "did you mean '--transport'?"
	run_p report --nodes=2 x
	fails 2 "'report' has no option '--nodes=2'"
	run_p p2p -Z
	fails 2 "'-Z'"
}

@test "a run directory that cannot be made" {
	run_p p2p --local=2x2 --transport=sim -o no/such/run
	fails 3 "hint: its parent directory does not exist: create it first"
	touch file
	run_p p2p --local=2x2 --transport=sim -o file
	fails 3 "hint: choose a new directory with -o"
}

@test "a file of hosts as mpirun takes it" {
	echo 'gpu01 slots=8' >hosts
	run_p p2p --ssh=hosts
	fails 2 "line 1: 'gpu01 slots=8' is not a host name"
	[ "$(tail -n 1 err)" = "hint: write one host name or one list such as \
gpu[01-16] per line, without slots=" ]
	absent 'Invalid argument' err
}

@test "a pretend node that is not there, before what is left without it" {
	for nodes in --nodelist=n7 --nodelist=n1,n7 -xn7; do
		run_p p2p --local=2x4 --transport=sim $nodes
		fails 2 "no node of this run is called 'n7'"
	done
	nothing_made
}

@test "an option is named as other programs name theirs" {
	run_p p2p --output=x
	fails 2 "did you mean '--out'?"
	run_p explain --dir x
	fails 2 "\"gpucheck explain -h\" lists its options"
	run_p allreduce --size=1M
	fails 2 "did you mean '--minbytes'?"
	nothing_made
}

@test "-w is not --nodelist" {
	run_p p2p -w gpu01
	fails 2 "--warmup-iters: 'gpu01' is not a whole number"
	fails 2 "hint: nodes are chosen by --nodelist=gpu01"
	run_p allreduce '-wgpu[01-04]'
	fails 2 "hint: nodes are chosen by --nodelist='gpu[01-04]'"
	run_p p2p -w 2000000
	absent nodelist err
	run_p p2p --warmup_iters=few
	absent nodelist err
	nothing_made
}

@test "options of Slurm come last" {
	for option in --partition=gpu -p --account=ops -A; do
		run_p p2p -N 4 $option
		fails 2 "options of Slurm come last: gpucheck p2p -N 4 -- -"
	done
	run_p report --partition=gpu x
	fails 2 "\"gpucheck report -h\" lists its options"
	nothing_made
}

@test "a value behind a blank that needs a =" {
	run_p p2p --local 2x4
	fails 2 "did you mean '--local=2x4'?"
	run_p memlock --local 2x4 -q
	fails 2 "did you mean '--local=2x4'?"
	run_p ib --ssh hosts.txt
	fails 2 "did you mean '--ssh=hosts.txt'?"
	run_p report --json verdict x
	fails 2 "did you mean '--json=verdict'?"
	run_p report --json x y
	fails 2 "hint: gpucheck report [OPTION...]"
	run_p p2p --local 3
	fails 2 "name both: gpucheck p2p 0 9"
}

@test "the command comes before its options" {
	run_p --local=2x4 p2p
	fails 2 "the command comes first: gpucheck p2p"
	nothing_made
}

@test "an unknown word names the nearest" {
	run_p p2p --transport=ncl
	fails 2 "did you mean 'nccl'?"
}

@test "--local=0x3, one rank and other shapes" {
	run_p p2p --local=0x3
	fails 2 "--local: 0 is not within 1 to"
	nothing_made
	run_p p2p --local=1x1
	fails 2 "1 rank in total"
	run_p p2p --local=two
	fails 2 "'two' is not of the form NxG"
	run_p p2p --local=2x8 -N 2
	fails 2 "--local does not go with --nodes"
	run_p p2p -N 1 -G 1 --launcher=local
	fails 2 "1 rank in total"
}

@test "-b 8Q and other sizes" {
	run_p p2p --local=2x2 -b 8Q
	fails 2 "--minbytes: '8Q' is not a size"
	nothing_made
	run_p p2p --local=2x2 -b 8KB
	fails 2 "hint: write '8K'"
	run_p p2p --local=2x2 -b 8 -e 4
	fails 2 "--minbytes 8 is above --maxbytes 4"
}

@test "what has no meaning together is refused" {
	for option in --find-mtu --size=100 --method=udp --flows=4; do
		run_p ping --local=2x1 --tcp=auto $option
		fails 2 "${option%=*} does not go with --tcp"
	done
	run_p ping --local=2x1 --ssh-path=/opt/gpucheck
	fails 2 "--ssh-path needs --ssh"
	nothing_made
}

@test "durations need a unit" {
	run_p p2p --local=2x2 --timeout=3
	fails 2 "'3' is not a duration"
}

@test "a pair is two ranks of the run" {
	run_p p2p --local=2x2 3
	fails 2 "a pair needs two ranks, and '3' is one"
	run_p p2p --local=2x2 0 9
	fails 2 "9"
	run_p p2p --local=2x2 --pairs=0-
	fails 2 "column"
	run_p p2p --local=2x2 --pairs=0-0
	fails 2 "0"
	run_p p2p --local=2x2 --pairs=inter 0 1
	fails 2 "does not go with --pairs"
	run_p p2p --local=1x4 --pairs=inter
	[ "$status" -eq 2 ]
	nothing_made
}

@test "too many words" {
	run_p p2p 0 1 2
	fails 2 "unexpected argument '2'"
	run_p report
	fails 2 "report needs a run directory or a job: gpucheck report DIR|JOB"
	run_p version now
	fails 2 "unexpected argument 'now'"
}

@test "a drill file is read before anything starts" {
	run_p p2p --local=2x2 --faults=missing
	fails 2 "cannot read drill file 'missing': No such file"
	echo "dead gpu=0:1" >good
	for text in "ded gpu=0:1" "dead gpu=0:9" "dead node=7" "slow gpu=0:1" \
		"slow gpu=0:1 factor=2" "flaky pair=0-1 rate=0" "dead"; do
		printf '# drill\n%s\n' "$text" >drill
		run_p p2p --local=2x2 --transport=sim --faults=drill
		fails 2 "drill: line 2, column "
	done
	run_p p2p -N 2 -G 2 --launcher=local --faults=drill
	[ "$status" -eq 2 ]
	[ -z "$(compgen -G 'gpucheck-p2p-*')" ]
}

@test "a drill file has a limit" {
	run_p p2p --local=2x2 --faults=/dev/zero
	fails 2 "drill file '/dev/zero' is a device, not a file"
	grep -q "^hint: use a regular file" err
	head -c 2M /dev/zero >large
	run_p p2p --local=2x2 --faults=large
	fails 2 "larger than 1 MiB"
	run_p p2p --local=2x2 --faults=.
	fails 2 "cannot read drill file '.': Is a directory"
}

@test "a word is none of those that the command takes" {
	run_p p2p --transport=verb
	fails 2 "'verb' is not one of auto, nccl, cuda, tcp, sim"
	absent hint err
	run_p ib --transport=verb
	fails 2 "did you mean 'verbs'?"
}

@test "the environment sets defaults, the command line wins" {
	GPUCHECK_TRANSPORT=telex run_p p2p --local=2x2
	fails 2 "GPUCHECK_TRANSPORT in the environment"
	GPUCHECK_LOCAL=2x3 GPUCHECK_TRANSPORT=sim run_p p2p --csv -o run
	[ "$status" -eq 0 ]
	[ "$(wc -l <out)" -eq 31 ]
	GPUCHECK_LOCAL=2x3 run_p p2p --transport=sim --local=2x2 --csv -o run2
	[ "$(wc -l <out)" -eq 13 ]
}

@test "a default that means nothing to a command does not stop it" {
	GPUCHECK_ALGO=Ring GPUCHECK_REDOP=max run_p alltoall --local=2x2 \
		--transport=sim -b 1K --csv -o group
	[ "$status" -eq 0 ]
	[ "$(columns_of redop out | sort -u)" = none ]
	absent Ring out
	GPUCHECK_SSH_PATH=/x GPUCHECK_HOSTS=a,b run_p ping --local=2x1 --dry-run
	[ "$status" -eq 0 ]
	GPUCHECK_DF=1 GPUCHECK_SIZE=100 run_p ping --tcp=auto --local=2x1 \
		--dry-run
	[ "$status" -eq 0 ]
	GPUCHECK_TCP=auto run_p ping --df --local=2x1 --dry-run
	[ "$status" -eq 0 ]
	for option in --algo=Ring --proto=LL --redop=max; do
		GPUCHECK_ALGO=Tree run_p alltoall --local=2x2 $option
		fails 2 "does not go with 'alltoall'"
	done
}

@test "what is typed wins over a default that goes against it" {
	# VARIABLE=VALUE, then what is typed: as without the variable
	while read -r set words; do
		# shellcheck disable=SC2086
		run_p $words --dry-run
		[ "$status" -eq 0 ]
		sed 's/ping-[0-9]*//' out >plain
		(export "GPUCHECK_${set?}"
		# shellcheck disable=SC2086
		run_p $words --dry-run
		[ "$status" -eq 0 ] &&
			sed 's/ping-[0-9]*//' out | diff plain -) || {
			echo "GPUCHECK_$set $words: $(<err)"
			return 1
		}
	done <<-'EOF'
		NODES=16 ping --ssh --hosts=a,b
		LAUNCHER=sbatch ping --ssh --hosts=a,b
		LOCAL=2x1 ping --ssh --hosts=a,b
		SSH=1 ping --local=2x1
		NO_WAIT=1 ping --local=2x1
		LAUNCHER=sbatch ping --local=2x1
		LOCAL=2x4 ping -N 2 --launcher=srun
		LOCAL=2x4 ping --launcher=srun
		GPUS_PER_NODE=8 p2p --local=1x4
		CSV=1 p2p --local=1x4 --json
		NO_WAIT=1 ping --launcher=local
		LAUNCHER=env p2p --launcher=local --diagnose
		DIAGNOSE=1 p2p --launcher=env
		LAUNCHER=env all --local=2x1
		PXN=1 p2p --local=1x4 --transport=tcp
		TRANSPORT=tcp p2p --local=1x4 --pxn
		TRANSPORT=tcp ib --local=1x4
		CONTRAST=memory p2p --local=1x4
		CONTRAST=schedule p2p --local=1x4 --schedule=serial
		MAXBYTES=1K p2p --local=1x4 -b 1M
		MAXBYTES=1M p2p --local=1x4
		PAIRS=rail p2p --local=2x2 0 1
	EOF
	GPUCHECK_LOCAL=2x1 run_p ping --launcher=local --dry-run
	[ "$status" -eq 0 ]
	# both typed: neither wins
	run_p ping --ssh --hosts=a,b -N 2
	fails 2 "--nodes=2 does not go with --ssh, which uses all hosts"
	run_p p2p --ssh=a,b --local
	fails 2 "--local tests this machine and --ssh tests others"
	run_p p2p --ssh=a,b --launcher=srun
	fails 2 "--launcher=srun does not go with --ssh"
	run_p p2p --local=1x4 -G 8
	fails 2 "--local does not go with"
}

@test "an -o that is not empty is a usage error" {
	mkdir run
	touch run/mine
	small_run -o run
	fails 2 "run"
	[ "$(ls run)" = mine ]
}

@test "an -o that cannot be written: exit 3" {
	small_run -o /proc/nowhere
	[ "$status" -eq 3 ]
	grep -q "^gpucheck: .*/proc/nowhere" err
	small_run -o missing/run
	[ "$status" -eq 3 ]
	touch file
	small_run -o file
	[ "$status" -ge 2 ]
}

@test "report of what is no run directory" {
	run_p report missing
	fails 2 "cannot open run directory 'missing': No such file"
	mkdir empty
	run_p report empty
	[ "$status" -eq 3 ]
	grep -q "^gpucheck: " err
	touch file
	run_p report file
	[ "$status" -eq 3 ]
}

@test "--no-wait needs a batch job" {
	run_p p2p --local=2x2 --no-wait
	fails 2 "--no-wait needs a batch job"
	PATH=/usr/bin:/bin run_p p2p --launcher=local --no-wait
	fails 2 "--no-wait needs a batch job"
}

@test "an option that no launcher can serve: why, and what works" {
	mkdir bin
	PATH=$PWD/bin run_p p2p --launcher=sbatch
	fails 3 "no 'sbatch' on PATH"
	fails 3 "hint: --local"
}
