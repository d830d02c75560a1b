#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck explain: logs and codes.

load helper

a_log()
{
	cat <<-'END'
	n1:7:9 [0] NCCL WARN socketProgress: Connection closed by remote peer n2
	n1:7:9 [0] NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory
	n1:7:9 [0] NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory
	END
}

@test "a fault is exit 1, and comes before its echo" {
	a_log >log
	run_p explain log
	[ "$status" -eq 1 ]
	grep -q '^log: 2 known messages in 3 lines$' out
	grep -q '^ 1. memlock_cq: line 2, and 1 more$' out
	grep -q '^ 2. peer_closed, a consequence' out
	[ ! -s err ]
	awk 'length > 100 { exit 1 }' out
}

@test "standard input, --json, --csv, --quiet" {
	a_log | "$GPUCHECK" explain - --json >out && false
	[ "$(jq -r '.symptoms[0] | .code, .count, .line' out | xargs)" = \
		"memlock_cq 2 2" ]
	[ "$(jq .lines out)" -eq 3 ]
	a_log | "$GPUCHECK" explain --csv - >out && false
	[ "$(sed -n 2p out | cut -d , -f 1-4)" = "memlock_cq,fault,2,2" ]
	a_log | "$GPUCHECK" explain -q - >out && false
	[ ! -s out ]
}

@test "no known message is exit 0" {
	echo "all is well" >log
	run_p explain log
	[ "$status" -eq 0 ]
	grep -q 'no known message in 1 line$' out
	: >empty
	run_p explain empty
	[ "$status" -eq 0 ]
}

@test "a code, an unknown one, a directory" {
	run_p explain memlock_cq
	[ "$status" -eq 0 ]
	grep -q '^means ' out
	run_p explain wc_retry_exc
	[ "$status" -eq 0 ]
	grep -q '^wc_retry_exceeded$' out
	run_p explain memlok_cq
	fails 2 "did you mean 'memlock_cq'?"
	mkdir run
	echo '{}' >run/run.json
	run_p explain run
	fails 3 "gpucheck report"
	run_p explain memlock_cq no-such-file
	[ "$status" -eq 3 ]
	run_p explain
	[ "$status" -eq 2 ]
}

# What four ranks, their launcher and a kernel leave behind: rank 1 is killed at
# 10:01, rank 3 never comes to work 118, the others wait for it.
a_job()
{
	local r
	mkdir -p logs/deep
	for r in 0 2; do
		cat >logs/rank_$r.log <<-END
		n0:10$r:200 [$r] NCCL INFO comm 0x557f rank $r nranks 4 cudaDev $r nvmlDev $r busId 1${r}000 commId 0x5ae7 - Init COMPLETE
		n0:10$r:200 [$r] NCCL INFO NET/IB : No device found.
		[rank$r]:[E621 10:30:00.2 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank $r] Exception (either an error or timeout) detected by watchdog at work: 118, last enqueued NCCL work: 118, last completed NCCL work: 117.
		ValueError: shape $r is odd
		END
	done
	cat >logs/deep/rank_3.log <<-'END'
	[rank3]:[E621 10:30:01.2 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 3] Exception (either an error or timeout) detected by watchdog at work: 117, last enqueued NCCL work: 117, last completed NCCL work: 116.
	END
	cat >logs/launcher.err <<-'END'
	Root Cause (first observed failure):
	[0]:
	  time      : 2025-06-21_10:01:03
	  host      : n1
	  rank      : 1 (local_rank: 1)
	  exitcode  : -9 (pid: 14750)
	  error_file: <N/A>
	  traceback : Signal 9 (SIGKILL) received by PID 14750
	END
}

@test "of all logs of a job the first cause is first, with rank, node and time" {
	a_job
	run_p explain logs
	[ "$status" -eq 1 ]
	grep -q '^4 files: 3 known messages in 17 lines$' out
	grep -q '^First: rank_killed, rank 1, n1, pid 14750, 2025-06-21 10:01:03$' out
	grep -q '^Rank 3 never enqueued work 118 of group 0, for which 2 others' out
	grep -q '^ 1. rank_killed: logs/launcher.err line 6, and 1 more$' out
	grep -q '^ 2. collective_hang, ranks wait for another one: ' out
	grep -q "^            ssh n1 'dmesg" out
	grep -q '^2 lines look like errors and are not known:$' out
	grep -q '^2 *ValueError: shape 0 is odd$' out
	# files by name and from a pipe: the same
	run_p explain logs/launcher.err logs/deep/rank_3.log logs/rank_2.log
	grep -q '^First: rank_killed, rank 1' out
	run_p explain logs/rank_0.log logs/deep - <logs/launcher.err
	grep -q '^First: rank_killed, rank 1' out
	"$GPUCHECK" explain --json logs >out && false
	[ "$(jq -r '[.first, .files, .symptoms[0].rank, .symptoms[0].host,
		.symptoms[0].pid, .waits.behind, .unknown.lines] | join(" ")' \
		out)" = "rank_killed 4 1 n1 14750 3 2" ]
	"$GPUCHECK" explain --csv logs >out && false
	[ "$(sed -n 1p out)" = "code,effect,count,line,overruled_by,text,file,host,rank,gpu,bus,hca,port,pid,time" ]
	grep -q '^rank_killed,.*,logs/launcher.err,n1,1,,,,,14750,2025-06-21 10:01:03$' out
}

@test "the first error of all logs is shown, known or not" {
	mkdir logs
	cat >logs/rank_0.log <<-'END'
	2025-06-21 10:00:05 RuntimeError: NCCL error in: x.cpp:1, unhandled cuda error, NCCL version 2.21.5
	2025-06-21 10:00:06 ERROR: rank 1 does not respond
	END
	cat >logs/rank_1.log <<-'END'
	Traceback (most recent call last):
	2025-06-21 10:00:03 ValueError: shape 0 is odd
	END
	run_p explain logs
	[ "$status" -eq 1 ]
	grep -q '^First error, not known to gpucheck: logs/rank_1.log line 2, rank 1,' out
	grep -q '^says    2025-06-21 10:00:03 ValueError: shape 0 is odd$' out
	grep -q '^All of them follow from another error, such as the first one above.$' out
	"$GPUCHECK" explain --json logs >out && false
	jq -e '.first == null and .unknown.first.file == "logs/rank_1.log" and
		.unknown.first.rank == 1 and .unknown.first.line == 2' out
	# no fault is recognised
	run_p explain logs/rank_1.log
	[ "$status" -eq 0 ]
	grep -q '^First error, not known to gpucheck: line 2, rank 1,' out
	sed -i 2d logs/rank_0.log
	run_p explain logs/rank_0.log
	grep -q 'its cause is in an earlier' out
}

@test "a file of source code is not a node" {
	echo '[2025-06-21 10:00:05] [INFO] [launch.py:319:sigkill_handler] 7 exits with return code = -9' >log
	run_p explain log
	grep -q '^ 1. rank_killed' out
	grep -q "ssh NODE 'dmesg" out
}

@test "two GPUs are two entries, and have their numbers and ranks" {
	a_job
	cat >logs/syslog <<-'END'
	Jun 21 09:59:03 n0 kernel: NVRM: Xid (PCI:0000:12:00): 119, pid=102, name=python, Timeout after 45s
	Jun 21 09:59:04 n0 kernel: NVRM: Xid (PCI:0000:9b:00): 119, pid=301, name=python, Timeout after 45s
	Jun 21 09:59:05 n0 kernel: NVRM: Xid (PCI:0000:12:00): 119, pid=102, name=python, Timeout after 45s
	END
	run_p explain logs
	grep -q '^First: xid_119, rank 2, n0, GPU 2 (0000:12:00), pid 102, 2025-06-21 09:59:03$' out
	grep -q '^ 1. xid_119: logs/syslog line 1, and 1 more$' out
	grep -q 'ssh n0 nvidia-smi --gpu-reset -i 2$' out
	grep -q '^ 2. xid_119: logs/syslog line 2$' out
	grep -q '^means   as 1. above$' out
}

@test "names in a log cannot harm the terminal or a command" {
	# shellcheck disable=SC2016	# nobody is to expand it
	printf 'srun: error: -oProxyCommand: task 1: Killed\nn0\033[2J:1:2 [0] NCCL WARN No transport found for rank \033]0;x\a1\nFATAL \033[31m$(id)\n' >log
	run_p explain log
	[ "$status" -eq 1 ]
	[ "$(grep -c $'\033' out)" -eq 0 ]
	[ "$(grep -c 'ssh -o' out)" -eq 0 ]
}

@test "every code is in the manual page, and no other" {
	sed -n 's/^\[\([a-z0-9_]*\)\]$/\1/p' "$root/data/symptoms.ini" |
		sort >codes
	sed -n '/^\.Sh CODES/,/^\.Sh EXIT/{/^\./d;p;}' \
		"$root/cli/man/gpucheck-explain.1" | grep -oE '[a-z0-9_]+' |
		sort >listed
	diff codes listed
}

@test "binary data is no reason to stop" {
	head -c 3000000 /dev/urandom >log
	printf '\nNVRM: Xid (PCI:0000:2a:00): 79\n' >>log
	run_p explain log
	[ "$status" -eq 1 ]
	grep -q xid_79 out
}

@test "a finding names the logs of its run, which explain reads" {
	echo 'dead pair=2-5' >drill
	run_p p2p --local=2x4 --transport=sim --faults=drill -o 'a run'
	# shellcheck disable=SC2016  # for that shell
	sed -n 's/^ *gpucheck explain/"$GPUCHECK" explain/p' out >line
	grep -q "/a run/logs'$" line
	run bash line
	[ "$status" = 0 ]
	# as it is called now
	mv 'a run' moved
	run_p report moved
	grep -q ' gpucheck explain .*/moved/logs$' out
	# of no run
	run_p explain fail
	grep -q ' gpucheck explain LOGS$' out
}

@test "a message can be the argument" {
	run_p explain 'ibv_create_cq(cqe=4096) failed: Cannot allocate memory'
	[ "$status" -eq 1 ]
	grep -q '^ 1. memlock_cq' out
	grep -q 'docker run --ulimit memlock=-1:-1' out
	run_p explain --json 'CUDA error: out of memory
at line 3'
	jq -e '.file == "the message"' out
	run_p explain 'all is well'
	fails 2 "'all is well' is neither a file nor a known message"
	# a file whose name has a blank is one
	echo 'Call to ibv_create_cq failed' >'my log'
	run_p explain 'my log'
	grep -q '^my log: 1 known message' out
}
