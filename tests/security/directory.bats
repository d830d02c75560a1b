#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What root does with directories and files of another user.

load ../await

setup()
{
	[ "$(id -u)" -eq 0 ] || skip "only root can give files away"
	cd "$BATS_TEST_TMPDIR" || return 1
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" .
	other=65534
	mkdir bin
	# whatever starts it has obeyed the other user
	printf '#!/bin/sh\necho "ssh $*" >>%s/obeyed\nexit 1\n' "$PWD" >bin/ssh
	chmod 755 bin/ssh
	export PATH="$PWD/bin:$PATH"
}

# A run of 4 nodes with one dead GPU, as another user made it: its options
# name a program, a library and words for ssh.
evil_run()
{
	printf 'dead gpu=1:1\n' >drill
	"$GPUCHECK" p2p --local=4x2 --transport=sim --faults=drill -q \
		-o "$1" >/dev/null && return 1
	jq '.options.launcher = "ssh" | .options.ssh = "n0,n1,n2,n3" |
		del(.options.local, .options.inject) | .launcher = "ssh" |
		.options["ssh-path"] = "/tmp/evil" | .options.env = "EVIL=1" |
		.argv += ["--", "-oProxyCommand=touch /tmp/evil"]' \
		"$1/run.json" >json
	cat json >"$1/run.json"
	chown -R "$other:$other" "$1"
}

@test "--retest takes nodes and pairs of another user's run, and no option" {
	evil_run found
	timeout 60 "$GPUCHECK" p2p --retest found -q -o no >out 2>err || true
	[ ! -e obeyed ] || { cat obeyed; false; }
	timeout 60 "$GPUCHECK" p2p --retest found --local=4x2 -o now \
		>out 2>err || { cat out err; false; }
	grep -q "other users can write to '.*/found': of its options only" err
	grep -q 'GPU 1 of n1 (drill_dead): .* pass' out
	[ "$(jq -r '.options | [.transport, .env, ."ssh-path"] |
		map(. // "-") | join(" ")' now/run.json)" = 'sim - -' ]
	# root's own is obeyed as before
	chown -R root found
	timeout 60 "$GPUCHECK" p2p --retest found -q -o own >out 2>err || true
	grep -q ProxyCommand obeyed
}

@test "--resume refuses another user's run" {
	evil_run found
	sed -i 3,9d found/results.csv
	run timeout 60 "$GPUCHECK" p2p --resume found -q
	[ "$status" -eq 3 ]
	[[ "$output" == *"belongs to user $other"* ]]
	[ ! -e obeyed ]
}

@test "commands that are printed of another user's run have none of its options" {
	evil_run found
	"$GPUCHECK" report found -o page >words 2>err || true
	"$GPUCHECK" status found >>words 2>>err || true
	grep -q 'gpucheck p2p ' words
	tr -s ' \n' ' ' <words | grep -q 'shown without the options of the run'
	# run.json itself is shown, as data
	if grep -E 'gpucheck .*(evil|EVIL|Proxy)' words err page/report.html \
		page/verdict.json; then
		false
	fi
	# nor is the reference that it names opened
	mkfifo fifo
	jq '.options.reference = "'"$PWD/fifo"'"' found/run.json >json
	cat json >found/run.json
	timeout 20 "$GPUCHECK" report found >words 2>err || [ $? -eq 1 ]
	# root's own are printed whole
	jq 'del(.options.reference)' found/run.json >json
	cat json >found/run.json
	chown -R root found
	"$GPUCHECK" report found >words 2>err || true
	grep -q ProxyCommand words
}

@test "what is read of another user's run writes nothing, and follows no link" {
	printf '#!/bin/sh\n' | tee bin/squeue >bin/sinfo
	chmod 755 bin/*
	"$GPUCHECK" p2p --local=2x1 --transport=sim -q -o run >/dev/null
	mkdir run/parts
	cp -r run part
	mv part run/parts/0001-1
	jq '.jobs = { id: "1", kind: "all", lanes: 1, gpus: -1,
		nodes: ["n0", "n1"], parts: [{ nodes: "n0,n1",
		pairs: "n0:*-n1:*", lane: 1 }] } | del(.ended_utc)' \
		run/run.json >json
	cat json >run/run.json
	cp -r run own
	ln -s "$PWD/escaped" run/results-final.csv.new
	chown -hR "$other:$other" run
	for i in run own; do
		find $i -printf '%p %i %T@\n' | sort >before
		timeout 60 "$GPUCHECK" status $i >out 2>&1 || true
		find $i -printf '%p %i %T@\n' | sort >after
		cat out
		[ $i = own ] || diff before after
	done
	[ ! -e escaped ]
	# it looked: root's own run is merged
	[ "$(jq -r .planned.kind own/run.json)" = all ]
	[ "$(jq -r '.ended_utc // ""' own/run.json)" ]
}

# exchange A B: put the one in the place of the other, for 4 s, as fast as it
# goes.
exchange()
{
	python3 - "$1" "$2" 3>&- <<'END'
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
a, b = sys.argv[1].encode(), sys.argv[2].encode()
end = time.time() + 4
while time.time() < end:
    libc.renameat2(-100, a, -100, b, 2)
END
}

# obeys USER: coordinators of USER in open/run, which is his or another user's,
# named by its whole path and from here in turn.
obeys()
{
	local run='{"schema":1,"probe":"p2p","nonce":"%032d","version":"%s",
		"options":{"local":"1x2","transport":"sim"}}\n' version from=
	version=$("$GPUCHECK" version | awk '{ print $2; exit }')
	mkdir -p open/run open/evil
	touch open/{run,evil}/run.json
	chmod 755 open open/run
	chmod 777 open/evil	# what is obeyed there leaves files
	chown -R "$other:$other" open
	chown -R "$1:$1" open/run
	exchange open/run open/evil &
	while kill -0 $! 2>/dev/null; do
		# shellcheck disable=SC2059 # the format is ours
		printf "$run" 1 "$version" | tee open/{run,evil}/run.json \
			>/dev/null
		GPUCHECK_BOOT_RANK=0 GPUCHECK_BOOT_SIZE=1 \
			GPUCHECK_BOOT_NODE=n0 timeout 20 setpriv --reuid="$1" \
			--regid="$1" --clear-groups "$PWD/program" agent \
			"${from}open/run" 3>&- >>out 2>&1 || true
		[ -z "$from" ] && from=$PWD/ || from=
	done
	wait
}

@test "a directory that is exchanged is not obeyed: by root" {
	cp "$GPUCHECK" program
	obeys 0
	# neither is: the other user could put any of root's there
	find open -name events.csv -exec ls -ldn {} +
	[ -z "$(find open -name events.csv)" ]
	grep -q "other users can rename entries of" out
}

@test "a directory that is exchanged is not obeyed: by a user" {
	cp "$GPUCHECK" program
	chmod 755 program
	obeys 65533
	# what was done was done in the user's own
	find open -name events.csv -exec ls -ldn {} + | tee events
	[ "$(wc -l <events)" -eq 1 ]
	for dir in open/*; do
		[ "$(stat -c %u "$dir")" -eq 65533 ] ||
			[ ! -e "$dir/events.csv" ]
	done
}

@test "root's -o follows no link of another user" {
	mkdir mine theirs
	ln -s "$PWD/mine" theirs/link
	ln -s "$PWD/mine" theirs/run
	chown -hR "$other:$other" theirs
	for out in theirs/run theirs/link/run; do
		run "$GPUCHECK" p2p --local=1x2 --transport=sim -q -o "$out"
		[ "$status" -eq 3 ]
		[[ "$output" == *"root does not follow the link to '$PWD/mine'"* ]]
	done
	[ -z "$(ls -A mine)" ]
}

# ends SECONDS WORDS COMMAND...: it ends by then, refusing with WORDS.
ends()
{
	local rc=0 out=out.$BASHPID.$RANDOM
	timeout "$1" "${@:3}" >"$out" 2>&1 </dev/null 3>&- || rc=$?
	if [ $rc -eq 124 ] || [ $rc -eq 0 ] || ! grep -q "$2" "$out"; then
		echo "${*:3}: $rc"
		cat "$out"
		return 1
	fi
}

@test "a FIFO or a device in place of a file that was named ends" {
	local from path probe=(p2p --local=1x2 --transport=sim)
	mkfifo FIFO
	from=$SECONDS
	for path in FIFO /dev/zero; do
		is="'$path' is a ${path#/dev/}, not a file"
		is=${is/a zero/a device}
		ends 20 "log $is" "$GPUCHECK" explain $path
		ends 20 "list of switches $is" "$GPUCHECK" "${probe[@]}" \
			--switches=$path -o a
		ends 20 "drill file $is" "$GPUCHECK" "${probe[@]}" \
			--faults=$path -o b
		ends 20 "file $is" "$GPUCHECK" import $path
		ends 20 "reference $is" "$GPUCHECK" allreduce --local=1x2 \
			--transport=sim --reference=$path -o c
	done
	# none was waited for
	[ $((SECONDS - from)) -lt 20 ]
	[ ! -e a ] && [ ! -e b ]
	# a pipe without an end is read up to a limit
	ends 20 'drill file .* is larger than 1 MiB' "$GPUCHECK" \
		"${probe[@]}" --faults=<(exec cat /dev/zero) -o d
	ends 20 'list of switches .* is larger than 32 MiB' "$GPUCHECK" \
		"${probe[@]}" --switches=<(exec cat /dev/zero) -o e
	# pipes are read
	log="$BATS_TEST_DIRNAME/../fixtures/logs"
	log=$(grep -rlm1 'NCCL WARN' "$log" | head -n 1)
	"$GPUCHECK" explain "$log" --json >file || true
	"$GPUCHECK" explain - --json <"$log" >stdin || true
	sed '' "$log" | "$GPUCHECK" explain - --json >pipe || true
	"$GPUCHECK" explain <(cat "$log") --json >fd || true
	for f in stdin pipe fd; do
		diff <(jq -S .found file) <(jq -S .found $f)
	done
	[ -s file ]
}

@test "a node cannot name the folder of --record" {
	mkdir machines
	cp -r "$BATS_TEST_DIRNAME/../machines/h200" machines/x 2>/dev/null || true
	GPUCHECK_HOST=../escaped GPUCHECK_BOOT_RANK=0 GPUCHECK_BOOT_SIZE=1 \
		timeout 60 "$GPUCHECK" info --launcher=env --record=rec -o run \
		>out 2>&1 3>&- &
	sleep 1
	GPUCHECK_HOST=../escaped RANK=0 WORLD_SIZE=1 timeout 60 "$GPUCHECK" \
		agent "$PWD/run" >out.agent 2>&1 3>&- || true
	wait
	[ -d rec ] && [ ! -e escaped ]
}

@test "ranks that run.json claims beside no rows make no file of a GiB" {
	"$GPUCHECK" p2p --local=3x2 --transport=sim -q -o run >/dev/null
	jq '.nodes[].gpus = 1024 | .planned.cells = 9434112' run/run.json >json
	cat json >run/run.json
	sed -i 2,\$d run/results.csv
	timeout 120 "$GPUCHECK" report run >words 2>err || true
	tr -s ' \n' ' ' <words | grep -q 'results-final.csv is not written'
	[ "$(du -sm run | cut -f 1)" -lt 60 ]
}

# claim RANKS: run.json of ./run claims so many, in nodes of 64.
claim()
{
	jq --argjson n "$1" '.nodes = [range(0; $n; 64) | { name: "n\(. / 64)",
		first_rank: ., gpus: ([64, $n - .] | min), nics: 2 }] |
		.planned.cells = $n * ($n - 1)' run/run.json >json
	cat json >run/run.json
}

@test "ranks that run.json claims take memory up to a limit" {
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer takes more"
	local rc limit=(prlimit --as=600000000)
	"$GPUCHECK" p2p --local=3x2 --transport=sim -q -o run >/dev/null
	# 40 bytes for each of their pairs
	claim 2048
	rc=0
	"${limit[@]}" "$GPUCHECK" report run >words 2>err || rc=$?
	cat err
	[ $rc -eq 4 ]
	grep -q 'p2p on 32 nodes with 2048 ranks' words
	# more than a report can hold: nothing is taken for them
	claim 8193
	for command in 'report run' 'report --json run' 'status run' \
		'diff run run' 'p2p --retest run'; do
		rc=0
		# shellcheck disable=SC2086 # several words
		timeout 60 "${limit[@]}" "$GPUCHECK" $command >words 2>&1 ||
			rc=$?
		head -c 400 words
		[ $rc -eq 2 ] || [ $rc -eq 3 ]
		grep -qE '8193 ranks, at most (of )?8192' words
	done
	# a node with more GPUs than any has
	jq '.nodes[0].gpus = 100000' run/run.json >json
	cat json >run/run.json
	timeout 60 "${limit[@]}" "$GPUCHECK" report run >words 2>&1 && false
	grep -q "'gpus' is 100000" words
}
