#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Files of options: who has the last word, which file may be believed, and that
# what is printed to be pasted means the same beside them.

load helper

# The value of option $2 in the run directory $1; "" at its default.
option_of()
{
	jq -r --arg o "$2" '.options[$o] | if . == null then "" else . end' \
		"$1/run.json"
}

# site TEXT COMMAND...: with TEXT as /etc/gpucheck.conf, in a mount namespace
# of its own.
site()
{
	mkdir -p etc
	cp /etc/passwd /etc/group /etc/ld.so.cache etc
	cp -a /etc/alternatives etc
	printf '%b' "$1" >etc/gpucheck.conf
	unshare --mount --propagation private bash -c '
		mount --bind etc /etc && shift && exec "$@"' bash "$@"
}

as_root()
{
	[ "$(id -u)" -eq 0 ] || skip "it is about files of root"
	unshare --mount true || skip "this kernel gives no mount namespace"
}

@test "command line, environment, the user's file, the site's" {
	as_root
	mkdir -p home/.config
	printf 'iters=3\nwarmup_iters=3\nseed=3\n' >home/.config/gpucheck.conf
	unset GPUCHECK_CONFIG XDG_CONFIG_HOME
	HOME=$PWD/home GPUCHECK_SEED=4 GPUCHECK_ITERS=4 site \
		'iters=2\nwarmup_iters=2\nseed=2\nstrict=1\n[p2p]\ncheck=0\n[ib]\niters=9\n' \
		"$GPUCHECK" p2p --local=2x2 --transport=sim --iters=5 -o run >out
	[ "$(option_of run iters)" = 5 ]
	[ "$(option_of run seed)" = 4 ]
	[ "$(option_of run warmup-iters)" = 3 ]
	[ "$(option_of run strict)" = true ]
	[ "$(option_of run check)" = false ]
	mkdir xdg
	echo seed=7 >xdg/gpucheck.conf
	XDG_CONFIG_HOME=$PWD/xdg HOME=$PWD/home small_run -o other
	[ "$(option_of other seed)" = 7 ]
	[ "$(option_of other iters)" = "" ]
}

@test "version -v tells where each value comes from" {
	as_root
	mkdir -p home/.config
	printf 'iters=3\n[p2p]\nseed=3\n' >home/.config/gpucheck.conf
	unset GPUCHECK_CONFIG XDG_CONFIG_HOME
	HOME=$PWD/home GPUCHECK_SEED=4 COLUMNS=200 site 'iters=2\nstrict=1\n' \
		"$GPUCHECK" version -v >out
	grep -qx 'config    /etc/gpucheck.conf' out
	grep -qx " *$PWD/home/.config/gpucheck.conf" out
	grep -qx " *strict=1, from /etc/gpucheck.conf:2" out
	grep -q "iters=2, from /etc/gpucheck.conf:1; not used: .*home/.config/gpucheck.conf:1" out
	grep -q "\[p2p\] seed=3, from .*/gpucheck.conf:3; not used: GPUCHECK_SEED" out
	grep -qx ' *seed=4, from GPUCHECK_SEED' out
	absent '^(config|options)' <("$GPUCHECK" version)
	GPUCHECK_CONFIG=none run_p version -v
	grep -q 'no file is read' <<<"$output"
	grep -q 'all as they are built in' <<<"$output"
}

@test "a file with a mistake is named with its line, and help is there" {
	export GPUCHECK_CONFIG=$PWD/conf
	printf '# ours\nmax-tim=10m\n' >conf
	small_run
	fails 2 "$PWD/conf:2: there is no option 'max-tim'"
	fails 2 "did you mean 'time-limit'?"
	run_p report nowhere
	fails 2 "conf:2"
	run_p p2p -h
	[ "$status" -eq 0 ]
	run_p version
	[ "$status" -eq 0 ]
	run_p version -v
	fails 2 "conf:2"
	echo 'local=2x2' >conf
	small_run
	fails 2 "'local' is allowed only on the command line"
	rm conf
	small_run
	fails 2 "cannot read '$PWD/conf'"
}

@test "a file that others may have written is not followed" {
	export GPUCHECK_CONFIG=conf
	echo seed=7 >conf
	chmod 666 conf
	small_run
	fails 2 "'conf' is writable by all users"
	fails 2 "chmod go-w conf"
	mkfifo pipe
	GPUCHECK_CONFIG='pipe' small_run
	fails 2 "'pipe' is not a regular file"
	head -c 70000 /dev/zero | tr '\0' '#' >big
	GPUCHECK_CONFIG='big' small_run
	fails 2 "'big' has 70000 bytes"
	[ "$(id -u)" -eq 0 ] || return 0
	chmod 664 conf
	small_run
	fails 2 "is writable by a group"
	chmod 644 conf
	chown 1234 conf
	small_run
	fails 2 "'conf' belongs to user 1234"
	ln -s conf link
	GPUCHECK_CONFIG='link' small_run
	fails 2 "belongs to user 1234"
	chown 0 conf
	GPUCHECK_CONFIG='link' small_run -o run
	[ "$(option_of run seed)" = 7 ]
}

@test "what runs on the nodes reads no file: its run tells it" {
	export GPUCHECK_CONFIG=$PWD/conf
	printf 'seed=3\n[all]\nquick=1\n[p2p]\nschedule=serial\n' >conf
	run_p all --local=2x2 --transport=sim -o run
	[ "$(option_of run seed)" = 3 ]
	[ "$(option_of run/p2p seed)" = 3 ]
	[ "$(option_of run/p2p quick)" = true ]
	[ "$(option_of run/p2p schedule)" = "" ]
	echo nonsense >conf
	mkdir -p env/logs
	cat >env/run.json <<-'J'
	{"schema": 1, "probe": "p2p", "argv": [], "version": "0.1.0",
	 "nonce": "00112233445566778899aabbccddeeff",
	 "options": {"transport": "tcp"}, "drill": false, "launcher": "env",
	 "started_utc": "2026-01-01T00:00:00Z"}
	J
	for r in 0 1; do
		RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r "$GPUCHECK" agent env 3>&- &
	done
	wait
	[ "$(grep -c '^1,.*,ok,' env/results.csv)" -eq 2 ]
}

@test "a retest that is pasted beside the same file means the same" {
	export GPUCHECK_CONFIG=$PWD/conf
	printf 'schedule=serial\nstrict=1\niters=7\n' >conf
	echo 'dead gpu=1:1' >drill
	small_run --faults=drill --schedule=nic --strict=0 -o run
	[ "$status" -eq 1 ]
	retest=$(sed -n -E '/(retest|again):$/{n;s/^ *gpucheck //p;q}' out)
	[[ " $retest" == *" --schedule=nic"*" --strict=0"* ||
		" $retest" == *" --strict=0"*" --schedule=nic"* ]]
	[[ " $retest" == *" --iters=7"* ]]
	# shellcheck disable=SC2086 # words
	run_p $retest -o again
	[ "$status" -eq 1 ]
	for option in schedule strict iters; do
		[ "$(option_of again $option)" = "$(option_of run $option)" ]
	done
}

@test "the file that is to be copied has options that are there" {
	sed -n 's/^#\([a-z[].*\)/\1/p' "$root/data/site/gpucheck.conf" >conf
	[ "$(wc -l <conf)" -ge 8 ]
	GPUCHECK_CONFIG=conf run_p version -v
	[ "$status" -eq 0 ]
	absent '=' <(grep -v '^#' "$root/data/site/gpucheck.conf" || true)
}

# bats test_tags=dear
@test "gpucheck.conf(5) lists what no file may set" {
	export GPUCHECK_CONFIG=conf
	for command in $("$GPUCHECK" --list-commands); do
		"$GPUCHECK" --list-options "$command" | cut -f1
	done | sed -n 's/^--\([^=]*\).*/\1/p' | sort -u >options
	while read -r option; do
		echo "$option=1" >conf
		run_p version -v
		[[ $stderr != *"is allowed only on the command line"* ]] ||
			echo "$option"
	done <options >once
	[ "$(wc -l <once)" -gt 10 ]
	sed -n '/^Options for a single use/,/^An unknown option/{
		s/\\//g
		s/^\.Fl -\([a-z-]*\).*/\1/p
	}' "$root/cli/man/gpucheck.conf.5" | sort | diff once -
}

@test "the beginning of a long option is enough, if no other begins so" {
	run_p p2p --loc=2x2 --trans=sim --ite 4 --out=run
	[ "$status" -eq 0 ]
	[ "$(option_of run iters)" = 4 ]
	run_p p2p --local=2x2 --no
	fails 2 "'--no' may be --nodes, --nodelist, --no-wait, --no-follow-up"
	run_p p2p --local=2x2 --transpart=sim
	fails 2 "did you mean '--transport'?"
}

@test "earlier names of options: files, variables, command lines, run.json" {
	printf 'max-time=5m\n[p2p]\ntimeout=9s\nwarmup_iters=2\n' >conf
	GPUCHECK_CONFIG=$PWD/conf GPUCHECK_GENTLE=64G GPUCHECK_FAULTS=drill \
		"$GPUCHECK" version -v >shown
	grep -q 'GPUCHECK_GENTLE' shown
	echo 'dead gpu=1:2' >drill
	GPUCHECK_CONFIG=$PWD/conf GPUCHECK_GENTLE=64G run_p p2p --local=2x4 \
		--transport=sim --faults=drill --boot-timeout=20s -o new
	[ "$status" -eq 1 ]
	[ "$(jq -c '.options | [."time-limit", ."test-timeout",
		."warmup-iters", ."rate-limit", .inject, ."agent-timeout"]' \
		new/run.json)" = '["5m","9s",2,"64G","'"$PWD"'/drill","20s"]' ]
	# a run of an earlier version is judged, and resumed
	cp -r new old
	sed -e 's/"time-limit"/"max-time"/' -e 's/"test-timeout"/"timeout"/' \
		-e 's/"warmup-iters"/"warmup_iters"/' -e 's/"inject"/"faults"/' \
		-e 's/"rate-limit"/"gentle"/' \
		-e 's/"agent-timeout"/"boot-timeout"/' new/run.json >old/run.json
	"$GPUCHECK" report new --json=verdict | jq .verdict.findings >one || true
	"$GPUCHECK" report old --json=verdict | jq .verdict.findings >two || true
	[ -s one ]
	diff one two
	grep -q -- '--warmup-iters=2' two
	head -8 old/results.csv >some
	mv some old/results.csv
	run_p p2p --resume old
	[ "$status" -eq 1 ]
	[ "$(jq -r '.options."time-limit"' old/run.json)" = 5m ]
	[ "$(jq -r '.options."max-time"' old/run.json)" = null ]
}
