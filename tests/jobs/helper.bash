# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here, which runs in a cluster of four nodes that are
# idle.

load ../await
load ../pasted

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb
	await 30 idle 4
}

idle()
{
	[ "$(sinfo --noheader --states=idle --format=%D)" = "$1" ]
}

# No job is left, whoever had them.
end_jobs()
{
	scancel --quiet --user=root
	await 30 queue_is_empty
}

queue_is_empty()
{
	[ -z "$(squeue --noheader)" ]
}

# run_to CODE ARG...: that exit code within two minutes, words in out and err.
run_to()
{
	local code=0 wanted=$1
	shift
	timeout 120 "$GPUCHECK" "$@" >out 2>err 3>&- || code=$?
	[ "$code" = "$wanted" ] && return
	echo "$code, not $wanted"
	cat out err
	return 1
}

teardown()
{
	local good=true
	pasted || good=false
	end_jobs
	! does_not_answer gcn4 || node-up 4
	if [ -e loop ]; then
		for node in 1 2 3 4; do
			node-run $node umount "$PWD/small" || true
		done
		umount small
		losetup --detach "$(cat loop)"
	fi
	$good
}

# shellcheck disable=SC2034 # for the test files
# Six jobs of two nodes with two ranks each.
pairs=(p2p --jobs=pairs -G 2 --transport=tcp -b 64K --max-jobs=2 -o run)

says()
{
	grep -qE -- "$1" "$2" || { echo "no '$1' in:"; cat "$2"; return 1; }
}

# good NODES...: how many ordered cells between ranks of these have a good row.
good()
{
	# shellcheck disable=SC2086  # several files
	awk -F, -v "nodes= $* " '
		NR > 1 && $25 == "ok" && index(nodes, " " $3 " ") &&
			index(nodes, " " $7 " ") { print $3, $4, $7, $8 }
		' ${rows-run/results.csv} | sort -u | wc -l
}

# has_good COUNT NODES...
has_good()
{
	local n
	n=$(good "${@:2}")
	[ "$n" = "$1" ] && return
	echo "$n, not $1"
	cut -d, -f2,6,25,26 run/results.csv
	ls run/parts
	cut -c1-150 run/events.csv
	cat run/parts/*/job.out | grep -v '^env'
	return 1
}

# A part of that number has begun to measure.
measures()
{
	[ -e "run/parts/$1/results.csv" ] &&
		[ "$(wc -l <"run/parts/$1/results.csv")" -gt 1 ]
}

does_not_answer()
{
	sinfo --noheader --nodes="$1" --format=%T | grep -q '[*]'
}

# Each part has been submitted once, or twice if named here.
submitted_once()
{
	local wanted
	wanted=$(squeue --noheader --states=all --format=%o |
		grep -c "$PWD/run/parts/")
	[ "$wanted" = "$(find run/parts -name job.sbatch | wc -l)" ] &&
		[ "$(again)" = "${1-0}" ]
}

# How many parts were submitted again.
again()
{
	find run/parts -maxdepth 1 -name '*-2' | wc -l
}
