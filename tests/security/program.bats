#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What the program is made of, and what it shows of itself.

load ../await

@test "the program needs libc alone" {
	# clang's is in the program itself
	grep -q __asan_init "$GPUCHECK" && skip "a sanitizer is linked in"
	run ldd "$GPUCHECK"
	[ -z "$(grep '=>' <<<"$output" |
		grep -vE 'lib(c|m|dl|rt|pthread)\.so' || true)" ]
}

# Once all have come and read what they were told: an agent that looks around
# has a worker for it too.
workers_are_there()
{
	[ "$(pgrep -cf "$GPUCHECK worker")" -eq 2 ]
}

@test "the secret of a run is on no command line, and in no environment" {
	cd "$BATS_TEST_TMPDIR" || return 1
	printf '%064d' 4711 >secret
	"$GPUCHECK" p2p --launcher=env --transport=tcp -b 8M -n 250 -o run \
		>out 2>&1 3>&- &
	await 20 test -e run/run.json
	for r in 0 1; do
		RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r GPUCHECK_TOKEN=$(<secret) \
			GPUCHECK_MASTER=127.0.0.1:47219 \
			"$GPUCHECK" agent run 3>&- &
	done
	await 20 grep -q ',start,' run/events.csv
	await 20 workers_are_there
	! grep -slf secret /proc/[0-9]*/{cmdline,environ} || false
	wait
	! grep -rlf secret run || false
}

# trap_folder: a folder of another user, in which each name that gpucheck, or a
# program that it starts, may look up writes to "$BATS_TEST_TMPDIR/owned".
trap_folder()
{
	local name
	owned=$BATS_TEST_TMPDIR/owned
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -r "$BATS_TEST_DIRNAME/../fixtures/runs/p2p-2x4-dead-nic" run
	mkdir -m 0777 trap
	cd trap || return 1
	for name in importlib os sys site encodings usercustomize torch; do
		echo "open('$owned', 'a').write('$name.py ')" >$name.py
	done
	echo "set print '$owned'; print 'gnuplot'" >.gnuplot
	for name in python3 gnuplot srun squeue scontrol sinfo nvidia-smi \
		journalctl lldpctl ssh; do
		printf '#!/bin/sh\necho %s >>%s\n' "$name" "$owned" >$name
		chmod +x $name
	done
	printf '#include <stdio.h>
		__attribute__((constructor)) static void begin(void) {
			FILE *f = fopen("%s", "a"); fputs("library ", f);
			fclose(f); }' "$owned" |
		${CC:-cc} -shared -fPIC -x c - -o libnccl.so.2
	for name in libcuda.so.1 libnvidia-ml.so.1 libibverbs.so.1; do
		cp libnccl.so.2 $name
	done
	[ "$(id -u)" != 0 ] || chown -R nobody .
}

# looks [NAME=VALUE...]: commands that look at much, with that environment.
looks()
{
	env PATH=/usr/bin:/bin "$@" "$GPUCHECK" info --local \
		-o "$BATS_TEST_TMPDIR/info" >out 2>&1 || true
	[ -s "$BATS_TEST_TMPDIR/info/facts.csv" ]
	env PATH=/usr/bin:/bin "$@" "$GPUCHECK" version -v >out 2>&1
	env PATH=/usr/bin:/bin "$@" "$GPUCHECK" report ../run >out 2>&1 || true
	rm -r "$BATS_TEST_TMPDIR/info"
	[ ! -e "$owned" ] || { echo "$*: $(<"$owned")"; return 1; }
}

@test "nothing of the working directory is run" {
	trap_folder
	looks
	looks PATH=:/usr/bin:/bin LD_LIBRARY_PATH=/opt: PYTHONPATH=:/opt
	looks PATH=.:/usr/bin:/bin LD_LIBRARY_PATH=. PYTHONPATH=.
	looks PATH= LD_LIBRARY_PATH=: PYTHONPATH=:
}

@test "nothing is run of a directory that all users may write" {
	trap_folder
	looks PATH="$PWD:/usr/bin:/bin" LD_LIBRARY_PATH="$PWD" \
		PYTHONPATH="$PWD"
}

@test "root runs nothing of a home that is another user's" {
	[ "$(id -u)" = 0 ] || skip "this is not root"
	trap_folder
	chmod 0755 .
	lib=$(cd / && HOME=$OLDPWD /usr/bin/python3 -m site --user-site)
	mkdir -p "$lib"
	cp usercustomize.py "$lib"
	rm -f "$owned"
	looks HOME="$PWD"
}

# run_in DIR: where the workers of a run are that was started there.
run_in()
{
	cd "$1" || return 1
	"$GPUCHECK" p2p --local=2x1 --transport=tcp -b 8M -n 250 \
		-o "$BATS_TEST_TMPDIR/run-${1##*/}" >"$1.out" 2>&1 3>&- &
	await 20 grep -q ',start,' \
		"$BATS_TEST_TMPDIR/run-${1##*/}/events.csv"
	await 20 workers_are_there
	for pid in $(pgrep -f "$GPUCHECK worker"); do
		readlink "/proc/$pid/cwd"
	done
	wait
	cat "$1.out" >&2
	grep -q ^PASS "$1.out"
}

@test "root's workers, which load libraries, leave a directory of another user" {
	[ "$(id -u)" = 0 ] || skip "this is not root"
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir own theirs
	chown nobody theirs
	[ "$(run_in "$PWD/own" | sort -u)" = "$PWD/own" ]
	[ "$(run_in "$PWD/theirs" | sort -u)" = / ]
}

@test "python3 finds the torch of its user, of its environment and of PYTHONPATH" {
	cd "$BATS_TEST_TMPDIR" || return 1
	/usr/bin/python3 -m venv --without-pip venv
	export HOME=$PWD/home PATH=/usr/bin:/bin
	for lib in "$(python3 -m site --user-site)" "$PWD/more" \
		"$(venv/bin/python3 -c 'import site
print(site.getsitepackages()[0])')"; do
		mkdir -p "$lib/torch"
		: >"$lib/torch/__init__.py"
		env PYTHONPATH=more:"$PWD/more" "$GPUCHECK" info \
			--local -o "run${#lib}" >out 2>&1 || true
		grep 'it has no .*libtorch_cuda.so' "run${#lib}/facts.csv"
		rm -r "$lib/torch" "run${#lib}"
		PATH=$PWD/venv/bin:$PATH
	done
}

@test "a run of this machine alone takes connections of no other" {
	local command run listens='' i own=gpc$$
	cp "$GPUCHECK" "$BATS_TEST_TMPDIR/$own"	# "ss" names no other's
	for command in 'ping --local=2x2 --count=300 --interval=5ms' \
		'p2p --local=2x2 --transport=tcp -b 1M -n 100'; do
		# shellcheck disable=SC2086 # several words
		"$BATS_TEST_TMPDIR/$own" $command -o "$BATS_TEST_TMPDIR/${command%% *}" \
			--quiet 3>&- &
		run=$!
		listens=''
		for ((i = 0; i < 200; i++)); do
			listens+=$(ss -Hlntup | grep "\"$own\"" || true)$'\n'
			kill -0 $run 2>/dev/null || break
			sleep 0.02
		done
		wait $run
		awk 'NF { print $1, $5 }' <<<"$listens" | sort -u \
			>"$BATS_TEST_TMPDIR/listens"
		cat "$BATS_TEST_TMPDIR/listens"
		[ -s "$BATS_TEST_TMPDIR/listens" ]
		if grep -Ev ' (127\.0\.0\.1|[^ ]*%lo):[0-9]+$' \
			"$BATS_TEST_TMPDIR/listens"; then
			return 1
		fi
	done
}
