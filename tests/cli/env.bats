#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Agents that somebody else starts, as torchrun or mpirun do.

load helper
load ../await

# A run directory as "gpucheck p2p --launcher=env" makes it.
make_dir()
{
	mkdir -p "$1/logs"
	cat >"$1/run.json" <<-'J'
	{"schema": 1, "probe": "p2p", "argv": [], "version": "0.1.0",
	 "nonce": "00112233445566778899aabbccddeeff",
	 "options": {"transport": "tcp"}, "drill": false, "launcher": "env",
	 "started_utc": "2026-01-01T00:00:00Z"}
	J
}

all_six_ok()
{
	cut -d, -f1,2,6,25- "$1/results.csv"
	cat "$1/events.csv"
	[ "$(grep -c '^1,.*,ok,' "$1/results.csv")" -eq 6 ]
}

@test "torchrun's variables and a shared directory" {
	make_dir run
	for r in 0 1 2; do
		RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r "$GPUCHECK" agent run 3>&- &
	done
	wait
	all_six_ok run
}

# Three ranks of one node in run $1, with more of its options, of probe $2.
report_of_three()
{
	local r
	make_dir "$1"
	sed -i "s/\"p2p\"/\"$2\"/; s/\"transport\": \"tcp\"/$3/" \
		"$1/run.json"
	for r in 0 1 2; do
		RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r "$GPUCHECK" agent "$1" 3>&- &
	done
	wait
	run "$GPUCHECK" report "$1" --color=never
	echo "$output"
}

@test "fewer ranks or nodes than were asked for are no PASS" {
	local probe
	report_of_three few p2p '"transport": "tcp", "nodes": 2, "gpus-per-node": 2'
	[ "$status" -eq 4 ]
	grep -q '^PARTIAL' <<<"$output"
	grep -q "Only 1 node with 3 ranks started, 2 with 4 were requested" \
		<<<"$output"
	# every test that it planned is measured: --resume has no more
	[[ $output != *--resume* ]]
	run "$GPUCHECK" status few --color=never
	[[ $output != *--resume* ]]
	report_of_three rank allreduce '"gpus-per-node": 4, "transport": "sim"'
	[ "$status" -eq 4 ]
	grep -q "Only 1 node with 3 ranks started, 1 with 4 " <<<"$output"
	for probe in info memlock; do
		report_of_three "$probe" "$probe" '"nodes": 2'
		grep -q "Only 1 node started, 2 were requested" <<<"$output"
		[ "$status" -eq 4 ]
	done
	report_of_three all p2p '"transport": "tcp", "nodes": 1, "gpus-per-node": 3'
	[ "$status" -eq 0 ]
}

@test "Open MPI's variables" {
	make_dir run
	for r in 0 1 2; do
		OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 \
			OMPI_COMM_WORLD_LOCAL_RANK=$r \
			"$GPUCHECK" agent run 3>&- &
	done
	wait
	all_six_ok run
}

@test "variables of Flux, PMIx and indexed jobs of Kubernetes" {
	local rank size r
	while read -r rank size; do
		make_dir "$rank"
		for r in 0 1 2; do
			# a host each, as a task, or a pod, of one node is
			env "$rank=$r" "$size=3" unshare --uts bash -c \
				"echo n$r >/proc/sys/kernel/hostname &&
				exec '$GPUCHECK' agent $rank" 3>&- &
		done
		wait
		all_six_ok "$rank"
	done <<-'END'
		FLUX_TASK_RANK FLUX_JOB_SIZE
		PMIX_RANK WORLD_SIZE
		JOB_COMPLETION_INDEX WORLD_SIZE
	END
}

@test "the pods of data/site/kubernetes-job.yaml" {
	local r pids=()
	cat >pod.py <<-'P'
		import sys, yaml
		pod = yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]
		print(pod["containers"][0]["command"][2])
	P
	python3 pod.py "$root/data/site/kubernetes-job.yaml" >pod
	sed -i 's/p2p/& --transport=tcp -b 64K -n 2/' pod
	mkdir bin
	ln -s "$GPUCHECK" bin/gpucheck
	for r in 0 1 2; do
		EVERY=$root/data/site/every-rank RUN=$PWD/run WORLD_SIZE=3 JOB_COMPLETION_INDEX=$r \
			PATH=$PWD/bin:$PATH unshare --uts bash -c "
			echo n$r >/proc/sys/kernel/hostname
			$(<pod)" >out$r 3>&- &
		pids+=($!)
	done
	for r in 0 1 2; do
		wait "${pids[r]}"
	done
	grep -qE '^(PASS|WARN)  p2p on 3 nodes' out0
	[ ! -s out1 ]
}

@test "mpirun: the same line on each rank, with the exit code of rank 0" {
	command -v mpirun >/dev/null || skip "no mpirun"
	mkdir bin
	ln -s "$GPUCHECK" bin/gpucheck
	export PATH=$PWD/bin:$PATH
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	echo 'dead gpu=0:2' >drill
	status=0
	mpirun --oversubscribe -np 3 "$root/data/site/every-rank" run p2p \
		--transport=tcp -b 64K -n 2 --inject=drill >out 2>err 3>&- ||
		status=$?
	[ "$status" -eq 1 ]
	grep -q '^1,.*,ok,' run/results.csv
	[ "$(jq -r '.findings[0] | .kind, .index' run/verdict.json | xargs)" = \
		"gpu 2" ]
	# what repeats a test starts the agents, too
	grep -q '^  *LAUNCHER every-rank NEW p2p .* --pairs=' out
	grep -q 'NEW: a new directory): "LAUNCHER every-rank NEW p2p --retest' err
	absent "gpucheck p2p" out
	absent "gpucheck p2p" err
	# one message if the directory is not new
	status=0
	mpirun -q --oversubscribe -np 3 "$root/data/site/every-rank" run p2p \
		>out 2>err 3>&- || status=$?
	[ "$status" -eq 2 ]
	[ "$(grep -cE '^(every-rank|gpucheck):' out err | paste -sd' ')" = \
		"out:0 err:1" ]
	grep -q '^every-rank: run has a run already: name a new directory' err
	run "$root/data/site/every-rank" other p2p
	[ "$status" -eq 2 ]
	[[ $output == *"no launcher has set a rank"* ]]
}

@test "one rank, from the source: what is wrong is said once" {
	local every=$root/data/site/every-rank steps step
	export RANK=0 WORLD_SIZE=1
	mkdir -p src/data/site
	cp "$every" src/data/site/
	ln -s "$GPUCHECK" src/gpucheck
	status=0
	src/data/site/every-rank run p2p --transport=tcp >out 2>err 3>&- ||
		status=$?
	[ "$status" -eq 3 ]
	[ ! -s out ]
	[ "$(grep -c 'a pair needs two' err)" -eq 1 ]
	[ "$(grep -c '^hint: use more' err)" -eq 1 ]
	absent "No such device" err
	grep -q 'a pair needs two$' run/job.out
	# no job: nothing asks for a time limit
	src/data/site/every-rank one memlock >out 2>err 3>&- || :
	grep -q '^ *tried' out
	absent "time limit" err
	# "all" is refused with each of its steps
	steps=$("$GPUCHECK" all --local=2x1 --dry-run |
		sed 's/^# no /- /; s/^[^ ]* \([a-z0-9]*\).*/\1/')
	[ "$(wc -l <<<"$steps")" -eq 6 ]
	run "$GPUCHECK" all --launcher=env
	[ "$status" -eq 2 ]
	[[ $output == *"LAUNCHER every-rank NEW"* ]]
	for step in $steps; do
		[[ ${output#*NEW} == *[\ ,]$step* ]]
	done
}

@test "nodes that share no directory are told where to go" {
	make_dir run
	GPUCHECK_TOKEN=$(printf '%064d' 7)
	export GPUCHECK_TOKEN GPUCHECK_MASTER=127.0.0.1:47211
	for r in 0 1 2; do
		RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r "$GPUCHECK" agent \
			"$([ $r -eq 0 ] && echo run || echo elsewhere)" \
			3>&- 2>"err$r" &
	done
	wait
	all_six_ok run
	[ ! -s err1 ]
}

# away RANKS SIZE [OPTION...]: the front, and agents of some ranks only.
away()
{
	local rc=0
	local what=(p2p --transport=tcp -b 64K -n 2)
	[ "${probe-p2p}" = p2p ] || what=("$probe")
	"$GPUCHECK" "${what[@]}" --launcher=env -o run "${@:3}" \
		>out 2>err 3>&- &
	await 20 test -e run/run.json
	for r in $1; do
		RANK=$r WORLD_SIZE=$2 LOCAL_RANK=$r "$GPUCHECK" agent run \
			3>&- &
	done
	wait %1 || rc=$?
	wait
	status=$rc
}

@test "agents are not waited for beyond --max-time" {
	SECONDS=0
	away "0 1" 3 --max-time=1s --boot-timeout=30s
	[ $SECONDS -lt 15 ]
	[ "$(grep -c ',ok,\|,not_run,' run/results.csv)" -eq 2 ]
	# who had no time to come is not missing
	jq -e '.findings == [] and .exclude == []' run/verdict.json
	rm -r run
	probe=info away "0 1" 3 --max-time=1s --boot-timeout=30s
	jq -e '[.findings[] | select(.code | test("missing"))] == []' \
		run/verdict.json
}

# lost: who is said to be, and where.
lost()
{
	jq -r '.findings[] | [.kind, .node, .index, .code] |
		map(tostring) | join(" ")' run/verdict.json
}

@test "a rank that never came makes no node" {
	LOCAL_WORLD_SIZE=3 away "0 1" 3 --boot-timeout=1s
	[ "$status" -eq 1 ]
	[ "$(lost)" = "gpu $(uname -n) 2 rank_missing" ]
	jq -e '.exclude == [] and (.findings[0].do | contains("ssh") | not)' \
		run/verdict.json
	grep -q '^FAIL  Rank 2 never started: ' out
	# and where nobody knows whose it is
	rm -r run
	away "1 0" 4 --boot-timeout=1s
	[ "$(lost)" = "node ranks2-3 null rank_missing" ]
	jq -e '.exclude == []' run/verdict.json
	grep -q '^FAIL  Ranks 2-3 never started: ' out
	# no node to look after either
	rm -r run
	probe=info away "0 1" 3 --boot-timeout=1s
	[ "$(lost)" = "node rank2 null rank_missing" ]
	grep -q '^FAIL  Rank 2 never started' out
}

@test "hosts that ssh does not reach are one finding in words" {
	mkdir bin
	cat >bin/ssh <<-'S'
		#!/bin/sh
		for a; do [ "$last" != -- ] || break; last=$a; done
		echo "ssh: Could not resolve hostname $a: no such name" >&2
		exit 255
	S
	chmod +x bin/ssh
	PATH=$PWD/bin:$PATH run_p p2p --ssh=a1,a2,a3 --boot-timeout=1s -o run
	[ "$status" -eq 3 ]
	[ "$(jq -r '[.findings[] | .node, .code] | join(" ")' run/verdict.json)" = \
		"a1 ssh_unreachable a2 ssh_unreachable a3 ssh_unreachable" ]
	jq -e '[.findings[] | select(.node == "a2") | tostring |
		contains("name a1")] == [false]' run/verdict.json
	[ "$(grep -c '^FAIL  Node' out)" -eq 1 ]
	grep -qF 'The same is true of 2 more nodes: a[2,3]' out
	absent "same pair again" out
	# nothing was measured: "." is not run, and no transport is told about
	grep -q '^\. not run' out
	absent 'GPUs were not tested' out
	# nor is there a plan for ping, and it says why as well
	PATH=$PWD/bin:$PATH run_p ping --ssh=a1,a2 --boot-timeout=1s -o ping
	[ "$status" -eq 3 ]
	grep -q '^FAIL  Node a1 never started' out
	PATH=$PWD/bin:$PATH run_p memlock --ssh=a1,a2 --boot-timeout=1s -o limits
	grep -q '^FAIL  memlock on 2 nodes: nothing was measured' out
	for probe in ib allreduce "allreduce -G 8"; do
		# shellcheck disable=SC2086	# words of it
		PATH=$PWD/bin:$PATH run_p $probe --ssh=a1,a2 \
			--boot-timeout=1s -o "${probe// /}"
		[ "$status" -eq 3 ]
		grep -q '^FAIL  Node a1 never started (ssh: Could' out
		grep -q 'The same is true of 1 more node: a2' out
		grep -q 'do: .* ssh reaches it' out
	done
	# the step that measured nothing is not a second finding
	PATH=$PWD/bin:$PATH run_p all --ssh=a1,a2 --boot-timeout=1s -o all
	[ "$status" -eq 3 ]
	absent '^WARN' out
	grep -q '^FAIL  node a1 .*, node a2 ' out
	absent 'and 1 more' out
}

@test "more ranks than a node can have are refused" {
	# whose launcher numbers them all alike
	"$GPUCHECK" info --launcher=env -o run >out 2>err 3>&- &
	await 20 test -e run/run.json
	for r in $(seq 0 64); do
		RANK=$r WORLD_SIZE=65 LOCAL_RANK=0 "$GPUCHECK" agent run \
			3>&- >agent.out 2>&1 &
	done
	status=0
	wait %1 || status=$?
	wait
	[ "$status" -eq 3 ]
	grep -q "node '$(uname -n)' has more than 64 ranks" err
}

@test "a token without an address is a usage error" {
	make_dir run
	rc=0
	GPUCHECK_TOKEN=$(printf '%064d' 7) RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 \
		"$GPUCHECK" agent run 2>err || rc=$?
	[ $rc -ne 0 ]
	grep -q 'GPUCHECK_TOKEN is set, but not GPUCHECK_MASTER' err
}

@test "a size without a rank is a usage error" {
	make_dir run
	WORLD_SIZE=2 run_p agent run
	fails 2 RANK
}

@test "a pretend node that never came has the name that it was given" {
	make_dir run
	jq '.options += {local: "2x2", "boot-timeout": "1s"}' run/run.json >j
	mv j run/run.json
	GPUCHECK_BOOT_RANK=0 GPUCHECK_BOOT_SIZE=2 GPUCHECK_BOOT_NODE=n0 \
		"$GPUCHECK" agent run 3>&-
	jq -e '[.nodes[].name] == ["n0", "n1"]' run/run.json
}

@test "a run to which nobody came begins with those who resume it" {
	make_dir run
	jq '.options += {"minbytes": "64K", "maxbytes": "64K", "iters": 2,
		"boot-timeout": "1s"}' run/run.json >j
	mv j run/run.json
	# the agent that started it was killed before it said a word
	status=0
	GPUCHECK_COORDINATOR_SIZE=3 "$GPUCHECK" coordinator run >contact ||
		status=$?
	[ "$status" -eq 3 ]
	jq -e '[.nodes[] | select(.missing)] | length == 3' run/run.json
	"$GPUCHECK" p2p --resume run --launcher=env >out 2>err 3>&- &
	await 20 grep -sq 'waiting for agents' err
	for r in 0 1 2; do
		RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r "$GPUCHECK" agent run 3>&- &
	done
	status=0
	wait %1 || status=$?
	wait
	[ "$status" -eq 0 ]
	jq -e '.cells.pass + .cells.slow == 6' run/verdict.json
	[ "$(grep -c ',skipped,' run/results.csv)" -eq 0 ]
	jq -e --arg n "$(uname -n)" '[.nodes[] | [.name, .gpus]] == [[$n, 3]]' \
		run/run.json
}

# deadly WORD: a library by which "gpucheck WORD" dies at its start, if $KILL_ENV
# is a variable that it has.
deadly()
{
	cat >kill.c <<-C
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		extern char **environ;
		static int chosen(const char *want)
		{
			char **e = environ;
			while (want && *e && strcmp(*e, want))
				e++;
			return !want || *e;
		}
		__attribute__((constructor)) static void begin(int n, char **word)
		{
			if (n > 1 && !strcmp(word[1], "$1") &&
			    chosen(getenv("KILL_ENV")))
				raise(SIGKILL);
		}
	C
	gcc -shared -fPIC -o libkill.so kill.c || skip "no compiler"
}

@test "a coordinator that is killed before it listens ends the run" {
	# nobody else would say so, and others may still come
	deadly coordinator
	"$GPUCHECK" p2p --transport=tcp --launcher=env -o run >out 2>err \
		3>&- &
	await 20 test -e run/run.json
	for r in 0 1; do
		RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r \
			LD_PRELOAD=$PWD/libkill.so \
			ASAN_OPTIONS=verify_asan_link_order=0 \
			"$GPUCHECK" agent run 3>&- 2>"err$r" &
	done
	status=0
	wait %1 || status=$?
	wait %2 || true
	kill %3 || true		# it waits for --boot-timeout
	[ "$status" -eq 3 ]
	grep -q 'coordinator ended before .*: signal 9 (SIGKILL)' err
	grep -q 'OOM' err
	grep -q 'signal 9' err0
	run_p report run
	[ "$status" -eq 3 ]
	grep -q 'signal 9 (SIGKILL)' <<<"$output$stderr"
}

# later PROBE: agents of n0 and n1, and that of n2 when the tests have begun; n1
# holds these up until then.
later()
{
	local pids=() k
	make_dir run
	jq --arg p "$1" '.probe = $p | .launcher = "local" | .options +=
		{local: "3x1", "boot-timeout": "1s", minbytes: "1M",
		 maxbytes: "1M", iters: 2, timeout: "20s"}' run/run.json >j
	mv j run/run.json
	export GPUCHECK_BOOT_SIZE=3
	for k in 0 1; do
		GPUCHECK_BOOT_RANK=$k GPUCHECK_BOOT_NODE=n$k \
			"$GPUCHECK" agent run 3>&- &
		pids+=($!)
	done
	await 20 grep -q ',n1,,agent,' run/events.csv
	kill -STOP "${pids[1]}"
	await 20 grep -q ',start,' run/events.csv
	GPUCHECK_BOOT_RANK=2 GPUCHECK_BOOT_NODE=n2 "$GPUCHECK" agent run \
		3>&- 2>/dev/null || true
	kill -CONT "${pids[1]}"
	wait
	run_p report run --json --quiet
	# what memlock says of this machine is another matter
	jq -e '[.verdict.findings[] | select(.node == "n2") |
		[.code, .severity]] == [["starved", "warn"]] and
		(.verdict.exclude | index("n2") | not)' <<<"$output"
	grep -q ',n2,.*,agent_late,"\?its agent connected' run/events.csv
	rm -r run
}

@test "an agent that comes late is no node that never started" {
	later p2p
	later memlock
	later info
}

@test "where nobody came no node is named, whatever was to be measured" {
	local p
	for p in p2p ping memlock info allreduce ib; do
		make_dir $p
		jq --arg p $p '.probe = $p | .options = {"boot-timeout": "1s",
			transport: {allreduce: "sim", ib: "verbs"}[$p]} |
			del(.options[] | nulls)' $p/run.json >j
		mv j $p/run.json
		GPUCHECK_COORDINATOR_SIZE=2 "$GPUCHECK" coordinator $p \
			>/dev/null 2>&1 3>&- &
	done
	wait
	for p in p2p ping memlock info allreduce; do
		run_p report $p --json
		echo "$p: $output"
		jq -e '.verdict | .exclude == [] and ([.findings[] |
			select(.severity == "fail") | [.kind, .code]] ==
			[["inter_node", "agent_missing"]])' <<<"$output"
	done
	# where ranks are parts of a machine there is no plan at all
	run_p report ib
	[ "$status" -eq 3 ]
	grep -Eq 'none of the 2 agents reported within [0-9.]+ m?s' <<<"$output$stderr"
}

@test "an agent that waits in vain for a coordinator is not why" {
	make_dir run
	sed -i 's/"options": {/&"boot-timeout": "100ms", /' run/run.json
	GPUCHECK_BOOT_RANK=1 GPUCHECK_BOOT_SIZE=2 run_p agent run
	[ "$status" -eq 4 ]
}

@test "who is killed before it comes is not waited for, nor called late" {
	deadly agent
	SECONDS=0
	LD_PRELOAD=$PWD/libkill.so ASAN_OPTIONS=verify_asan_link_order=0 \
		KILL_ENV=GPUCHECK_BOOT_RANK=2 run_p p2p --local=3x1 \
		--transport=tcp -b 64K -n 2 -o run --boot-timeout=60s
	[ "$status" -eq 1 ]
	[ $SECONDS -lt 50 ]
	grep -q ',n2,,agent_missing,its agent was killed by signal 9' \
		run/events.csv
	jq -e '.exclude == ["n2"]' run/verdict.json
}
