#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What the front says about a batch job, with a Slurm of three small scripts:
# sbatch runs $FAKE_JOB with the script as its argument, scontrol tells the
# state that stands in the file "state".

load helper
load ../await

fake()
{
	printf '#!/bin/bash\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}

# fakes STATE JOB: a job that does JOB in the run directory, then is in STATE.
fakes()
{
	mkdir -p bin
	here=$PWD
	fake sbatch "cd \"\$(dirname \"\${@: -1}\")\" && $2 >job.out 2>&1
		echo '42;cluster'"
	fake scontrol "echo 'JobId=42 JobName=x UserId=root(0) $1 Dependency=(null)'"
	fake sinfo 'echo gpu:8'
	fake srun 'echo pmi2'
	fake scancel "echo \"\$@\" >>'$here/scancelled'"
	PATH=$here/bin:$PATH
}

@test "a job that never sees the directory: shared file system?" {
	fakes 'JobState=COMPLETED Reason=None ExitCode=0:0' 'rm -rf logs; true'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "wrote nothing to '$PWD/run'"
	fails 3 "share this file system"
}

@test "a job that has words of its own sees the directory" {
	fakes 'JobState=COMPLETED Reason=None ExitCode=0:0' \
		'echo "srun: error: task 1 launch failed: no such image"'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "the job ended before an agent had started"
	fails 3 "  | srun: error: task 1 launch failed: no such image"
	absent 'share this file system' err
}

@test "a job that dies at once: exit code and its last words" {
	fakes 'JobState=FAILED Reason=NonZeroExitCode ExitCode=127:0' \
		'{ seq 100; echo "srun: command not found"; }'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "exit code 127"
	fails 3 "  | srun: command not found"
	fails 3 "  | 100"
	absent '\| 80$' err
	run_p p2p -N 2 -G 2 -o other --json
	fails 3 "exit code 127"
	jq -e '.run.nonce and .verdict.status == "unknown" and
		(.verdict.reason | contains("exit code 127"))' out
}

@test "--diagnose in a job: what srun fails with is what the job fails with" {
	fakes 'JobState=FAILED Reason=NonZeroExitCode ExitCode=9:0' \
		'{ SLURM_JOB_ID=1 bash job.sbatch; echo $? >code; }'
	# shellcheck disable=SC2016
	fake srun 'case "$*" in --mpi=list | --version) echo none ;; *) exit 9 ;; esac'
	run_p p2p --diagnose -N 2 -G 2 --transport=sim -o run
	fails 3 "exit code 9"
	[ "$(<run/code)" -eq 9 ]
}

@test "control characters of a job do not reach the terminal" {
	fakes 'JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0' \
		'printf "\033[31mred\033[0m\n"'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "  | ?[31mred"
}

@test "a job that sbatch refuses: Slurm's own words" {
	fakes 'JobState=PENDING' true
	fake sbatch 'echo "sbatch: error: invalid partition specified: nope" >&2
		exit 1'
	run_p p2p -N 2 -G 2 -o run -- --partition=nope
	fails 3 "invalid partition specified: nope"
	fails 3 'hint: "sinfo -s" lists the partitions'
	# what tells nothing is not in the way of the next try
	[ ! -e run ]
	mkdir run
	run_p p2p -N 2 -G 2 -o run -- --partition=nope
	fails 3 "invalid partition"
	rmdir run
	fake sbatch 'echo "sbatch: error: Invalid node name specified" >&2
		exit 1'
	run_p p2p -N 2 -G 2 -x gpu99 -o run
	fails 3 "hint: --nodelist or -x names a node that Slurm does not know"
	# there may be the programs and no cluster
	fake sbatch 'echo "sbatch: error: fetch_config: DNS SRV lookup failed" >&2
		exit 1'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "no controller is configured"
	fails 3 "hint: --local tests this machine, --ssh=HOSTS others"
}

@test "a job that sbatch refuses: the words of the plugin too" {
	fakes 'JobState=PENDING' true
	fake sbatch 'printf "sbatch: error: %s\n" "lua: name an account" "" \
		"Batch job submission failed: Unspecified error" >&2
		exit 1'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "gpucheck: sbatch: error: lua: name an account; sbatch: error: "
	fails 3 "failed: Unspecified error"
}

@test "sbatch says nothing, or not what: its directory is kept and named" {
	fakes 'JobState=PENDING' true
	fake sbatch 'echo submitted, I think'
	run_p p2p -N 2 -G 2 -o run
	fails 3 "no job number"
	fails 3 "squeue --me"
	fails 3 "run directory: $PWD/run"
	[ -s run/job.sbatch ]
	# shellcheck disable=SC2016
	fake sbatch 'kill -9 $$'
	run_p p2p -N 2 -G 2 -o killed
	fails 3 "run directory: $PWD/killed"
	# or something is there that nobody of us has put there
	# shellcheck disable=SC2016
	fake sbatch 'touch "$(dirname "${@: -1}")/theirs"; exit 1'
	run_p p2p -N 2 -G 2 -o foreign
	fails 3 "run directory: $PWD/foreign"
	[ -s foreign/run.json ]
}

@test "words on a terminal fit it, a command in them stays whole" {
	fakes 'JobState=PENDING' true
	fake sbatch 'echo "sbatch: error: Batch job submission failed:" \
		"Invalid account or account/partition combination specified" \
		>&2; exit 1'
	script -qec "stty cols 80; '$GPUCHECK' p2p -N 2 -G 2 -o run" screen \
		>/dev/null || true
	tr -d '\r' <screen >said
	grep -qx ' *account/partition combination specified' said
	grep -qx '      "-- --partition=NAME --account=NAME"' said
	# the same in a file is a line each, to be searched
	run_p p2p -N 2 -G 2 -o other
	fails 3 "submission failed: Invalid account or account/partition comb"
}

@test "a pending job: its reason, once; ^C leaves it there" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	"$GPUCHECK" p2p -N 2 -G 2 -o run >out 2>err &
	pid=$!
	for _ in $(seq 100); do
		! grep -q Priority err || break
		sleep 0.1
	done
	sleep 1
	kill -INT $pid
	rc=0
	wait $pid || rc=$?
	[ "$rc" -eq 4 ]
	[ "$(grep -c Priority err)" -eq 1 ]
	grep -q "stopped following; job 42 still waits. Cancel: scancel 42$" err
	grep -q 'hint: to follow it to its result: "gpucheck attach .*run"' err
	[ ! -e scancelled ]
}

@test "^C while the job is submitted: it is heard, and the job is named" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	fake sbatch "kill -INT \$PPID; echo 42"
	run_p p2p -N 2 -G 2 -o run
	[ "$status" -eq 4 ]
	grep -q "stopped following; job 42 still waits. Cancel: scancel 42$" err
	grep -q 'hint: to follow it to its result: "gpucheck attach .*run"' err
	[ ! -e scancelled ]
}

@test "--no-wait prints the directory and the job's number" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	run_p p2p -N 2 -G 2 -o run --no-wait
	[ "$status" -eq 0 ]
	printf '%s\n42\n' "$PWD/run" | diff out -
	grep -q "scancel 42" err
}

@test "--no-wait leaves --metrics and --history to attach" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	for kept in --metrics=m.prom --history=hist; do
		run_p p2p -N 2 -G 2 -o run --no-wait "$kept"
		fails 2 "--no-wait does not go with ${kept%=*}"
		grep -q "hint: .*gpucheck attach ${kept%=*}=... DIR" err
		[ ! -e run ]
	done
	# a site has them for all runs: then it is said
	GPUCHECK_METRICS='a b.prom' GPUCHECK_HISTORY=hist run_p p2p -N 2 -G 2 \
		-o run --no-wait
	[ "$status" -eq 0 ]
	grep -q 'hint: .* and write that: "gpucheck attach .*--history=hist ' err
	grep -qF -- "--metrics='a b.prom'" err
}

@test "what stands behind -- goes to sbatch as it is" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	fake sbatch "printf '%s\n' \"\$@\" >'$PWD/arguments'; echo 42"
	run_p p2p -N 2 -G 2 -o run --no-wait -- --comment='a b' --qos=x
	[ "$status" -eq 0 ]
	grep -qx -- "--comment=a b" arguments
	grep -qx -- "--qos=x" arguments
}

@test "a run is one job: --array and --requeue are refused" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	for word in --array=1-2 --requeue; do
		run_p p2p -N 2 -G 2 -o run --no-wait -- "$word"
		fails 3 "${word%=*} would start the run in '$PWD/run' several"
	done
	[ ! -e run ]
	run_p p2p -N 2 -G 2 -o run --no-wait -- --no-requeue
	[ "$status" -eq 0 ]
}

@test "a partition that is too small is refused at once, with --no-wait too" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	fake sinfo 'echo "debug*|2|gpu:8|a"'
	fake scontrol 'echo "JobSubmitPlugins = (null)"'
	fake sbatch "touch '$here/submitted'; echo 42"
	for more in --no-wait --dry-run --diagnose; do
		run_p p2p -N 3 -G 2 -o run "$more"
		fails 3 "partition 'debug' has 2 nodes, and 3 are asked for"
	done
	run_p all -N 3 -o run --no-wait
	fails 3 "partition 'debug' has 2 nodes, and 3 are asked for"
	[ ! -e submitted ] && [ ! -e run ]
}

@test "a script that --dry-run prints is clean, and ends where it ends" {
	type -P shellcheck || skip "no shellcheck"
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	for words in 'p2p -N 2 -G 2' 'memlock -N 2' 'all -N 2' \
		'p2p -N 2 -G 2 --diagnose --srun-args=--container-image=x' \
		'p2p -N 2 --max-time=5m'; do
		# shellcheck disable=SC2086
		run_p ${words/ / --dry-run }
		[ "$status" -eq 0 ]
		[ "$(head -n 1 out)" = '#!/bin/bash' ]
		shellcheck out
	done
	for words in 'p2p --launcher=srun' 'all --launcher=srun' \
		'p2p --local=2x2' 'all --local=2x2' 'p2p --ssh=a,b' \
		'all --ssh=a,b'; do
		# shellcheck disable=SC2086
		SLURM_JOB_ID=1 run_p $words --dry-run
		[ "$status" -eq 0 ]
		# a quotation within a quotation within one
		shellcheck --shell=sh --exclude=SC1003 out
	done
}

@test "what tests no GPUs starts on nodes with and without them at once" {
	fakes 'JobState=PENDING Reason=Priority ExitCode=0:0' true
	fake sinfo 'printf "%s\n" "debug*|1|gpu:8|a" "debug*|3|(null)|a"'
	fake scontrol 'echo "JobSubmitPlugins = (null)"'
	for probe in ping info memlock ib 'p2p --transport=tcp'; do
		# shellcheck disable=SC2086 # an option, too
		run_p $probe -N 4 -o run --dry-run
		[ "$status" -eq 0 ]
		absent '^#SBATCH --gres' out
	done
	run_p p2p -N 4 -o run --dry-run
	fails 3 "4 nodes, 1 of them with 8 GPUs, and 4 are asked for"
	run_p p2p -N 4 -o run --dry-run -- --gres=none
	[ "$status" -eq 0 ]
	# whatever GPUs these are, there are not so many nodes
	run_p info -N 200 -o run --dry-run -- --gres=gpu:1
	fails 3 "partition 'debug' has 4 nodes, and 200 are asked for"
}

@test "a node that Slurm took out of its job is named, with Slurm's reason" {
	fakes 'JobState=CANCELLED Reason=None ExitCode=0:15 NodeList=n[1-3]' true
	fake sinfo "echo \"\$*\" >>'$here/asked'
		echo 'n1|idle|none'; echo 'n2|drained|Prolog error'"
	run_p p2p -N 3 -G 2 -o run
	fails 3 "Slurm has n2 as drained: Prolog error"
	fails 3 "hint: the prolog"
	grep -q -- '--nodes=n\[1-3\]$' asked
	jq -e '.error.text | contains("n2 as drained")' run/run.json
}

@test "a job that cannot be submitted again without a node ends as it did" {
	fakes 'JobState=CANCELLED Reason=None ExitCode=0:15 NodeList=n[1-3]' true
	fake sinfo "echo 'n1|idle|none'; echo 'n2|drained|Prolog error'"
	fake sbatch "[ ! -e '$here/once' ] || {
			echo 'sbatch: error: too many jobs' >&2; exit 1; }
		touch '$here/once'; echo 42"
	run_p p2p -N 3 -G 2 -o run
	fails 3 "Slurm has n2 as drained: Prolog error"
}

# The script of a job that was submitted, with a sleep that takes no time, and
# srun as SRUN has it.
script_of_job()
{
	fakes 'JobState=PENDING Reason=None ExitCode=0:0' true
	fake sleep "exec /bin/sleep 0.01"
	fake srun "case \"\$*\" in
		*--mpi=list*) echo none ;; --version) echo slurm 22.05.8 ;;
		*) $1 ;; esac"
	fake scancel "echo \"\$@\" >>'$here/scancelled'; kill \$(<'$here/srun')"
	run_p p2p -N 2 -G 2 -o run --no-wait
	[ "$status" -eq 0 ]
}

# No process of the script is left.
script_is_gone()
{
	! pgrep -f "$PWD/run/job.sbatch" >/dev/null
}

@test "the script of a job leaves nothing when srun ends before the run" {
	script_of_job '/bin/sleep 0.2; exit 7'
	# nor does it finish a nap
	fake sleep 'exec /bin/sleep 60'
	rc=0
	SLURM_JOB_ID=1 "$timeout" 30 bash "$PWD/run/job.sbatch" 3>&- || rc=$?
	[ "$rc" -eq 7 ]
	await 3 script_is_gone
	[ ! -e scancelled ]
}

@test "agents that hang do not outlive a lost run in the script of a job" {
	local lost rc
	for lost in 'mv run moved' '/bin/sleep 1; touch run/events.csv'; do
		script_of_job "echo \$\$ >'$PWD/srun'
			cd '$PWD'; $lost
			while :; do sleep 1; done"
		cp run/job.sbatch script
		# of an earlier run, which is no sign of this one
		touch -d @1 run/events.csv
		rc=0
		SLURM_JOB_ID=1 "$timeout" 30 bash script 3>&- || rc=$?
		[ "$rc" -eq 143 ]	# that of srun, which got TERM
		rm -rf run moved
	done
}

@test "nor do those that TERM does not end, whoever else was killed" {
	local others script
	script_of_job "trap '' TERM
		touch '$PWD/started'
		while [ -e '$PWD/started' ]; do sleep 1; done"
	jq '.ended_utc = "2026-11-22T12:00:00.000Z"' run/run.json >json
	SLURM_JOB_ID=1 bash "$PWD/run/job.sbatch" >said 2>&1 3>&- &
	script=$!
	await 10 test -e started
	# as the kernel does without memory
	for others in $(pgrep -P $script -f job.sbatch); do
		kill -KILL "$others" || true	# it may have ended by itself
	done
	mv json run/run.json
	await 30 script_is_gone
	rc=0
	wait $script || rc=$?
	[ "$rc" -eq 137 ]
}

@test "a job without a limit of the user asks for one, and says so" {
	fakes 'JobState=COMPLETED Reason=None ExitCode=0:0' true
	fake sinfo 'case $* in
		*%l*) printf "debug*|20:00\\nbig|infinite\\n" ;;
		*) echo "debug*|8|gpu:8|(null)" ;;
		esac'
	run_p p2p -N 2 --dry-run --launcher=sbatch
	grep -qx '#SBATCH --time=20' out
	grep -q 'a time limit of 20 min (the partition.s maximum)' err
	run_p p2p -N 2 --dry-run --launcher=sbatch -- -p big
	grep -qx '#SBATCH --time=30' out
	run_p p2p -N 2 --dry-run --launcher=sbatch -- --time=5
	absent '^#SBATCH --time' out
	run_p all -N 2 --dry-run --launcher=sbatch -- -p big
	grep -qx '#SBATCH --time=[3-9][0-9]' out
	run_p p2p -N 2 --diagnose --dry-run --launcher=sbatch -- -p big
	grep -qx '#SBATCH --time=30' out
	for command in ping memlock; do
		run_p $command -N 2 --dry-run --launcher=sbatch
		[ "$status" -eq 0 ]
		absent '^#SBATCH --(exclusive|mem|gres)' out
	done
	run_p info -N 2 --dry-run --launcher=sbatch
	grep -qx '#SBATCH --gres=gpu:8' out
	fake sinfo 'exit 1'
	run_p p2p -N 2 --dry-run --launcher=sbatch
	grep -q 'the number of GPUs per node is unknown' err
}

@test "Slurm without a controller: one line and one hint" {
	fakes 'JobState=COMPLETED Reason=None ExitCode=0:0' true
	for command in sbatch sinfo squeue scontrol; do
		# shellcheck disable=SC2016 # for the fake to expand
		fake $command 'for i in 1 2 3; do
			echo "$0: error: DNS SRV lookup failed" >&2
			done
			echo "$0: fatal: Could not establish a configuration source" >&2
			exit 1'
	done
	run_p p2p --jobs=pairs --dry-run
	fails 3 'no controller is configured'
	[ "$(wc -l <err)" -eq 2 ]
	grep -q '^hint: --local tests' err
	# nothing runs on the login node instead
	run_p p2p -o run
	fails 3 'no controller is configured'
	grep -q '^hint: --local tests' err
	[ ! -e run/results.csv ]
	for command in sbatch sinfo squeue scontrol; do
		fake $command 'echo "error: Unable to contact slurm controller" >&2
			exit 1'
	done
	run_p p2p --jobs=pairs --dry-run
	fails 3 'Unable to contact slurm controller'
	run_p p2p -o run
	fails 3 'Unable to contact slurm controller'
	grep -q '^hint: --local tests' err
	[ ! -e run/results.csv ]
}

@test "without sbatch a run is on this machine, and says so in one line" {
	ln -s "$(command -v env)" "$(command -v gnuplot)" .
	PATH=$PWD run_p p2p -G 2 --transport=sim -o run
	[ "$status" -eq 0 ]
	grep -qx 'gpucheck: on this machine (no Slurm here).*' err
	[ "$(grep -c 'on this machine' err)" -eq 1 ]
	PATH=$PWD run_p p2p -N 2 --transport=sim
	fails 3 "there is no 'sbatch' on PATH"
}

@test "a dry run by ssh prints one command, and counts the others" {
	run_p p2p --dry-run "--ssh=a[001-070]-gw"
	[ "$status" -eq 0 ]
	[ "$(wc -l <out)" -eq 2 ]
	grep -q '^ssh .* -- a001-gw ' out
	[ "$(tail -n 1 out)" = \
		"# and 69 more, which differ in host and rank" ]
	bash -n out
	run_p p2p --dry-run --ssh=a1
	[ "$(wc -l <out)" -eq 1 ]
}
