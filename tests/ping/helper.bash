# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here.  They run beside the mesh that netns makes:
# nodes n1 to n4, rails 10.1.0.0/24 to 10.4.0.0/24.

load ../await
load ../pasted

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb COLUMNS=80
	unset "${!SLURM_@}" "${!GPUCHECK_@}" GPUCHECK_BOOT
	export GPUCHECK_CONFIG=none
	dir=$BATS_TEST_TMPDIR/run
}

teardown()
{
	local pid good=true

	pasted || good=false
	for pid in "${agents[@]}" ${front-}; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	node-heal
	$good
}

agents=()

ended()
{
	! kill -0 "$1" 2>/dev/null
}

# agent K [COMMAND...]: start the agent of node K, by COMMAND.
agent()
{
	local k=$1
	shift
	node-run "$k" env RANK=$((k - 1)) WORLD_SIZE="$NODES" "$@" \
		"$GPUCHECK" agent "$dir" >>agents.out 2>&1 3>&- 4>&- &
	agents[k]=$!
}

# start OPTION...: the front, which waits for agents.  Without gnuplot, where no
# picture is looked at: it takes longer than the rest.
start()
{
	PATH=${pictures:-/nonexistent} "$GPUCHECK" ping --launcher=env -o "$dir" "$@" >out 2>err 3>&- 4>&- &
	front=$!
	await 20 test -s "$dir/run.json"
}

# finish CODE: the run ends with exit code CODE, or one of CODE|CODE.
finish()
{
	local code=0

	await 150 ended "$front" || { cat err agents.out; return 1; }
	wait "$front" || code=$?
	front=
	sed 's/^/# /' out >&3
	if [[ "|$1|" != *"|$code|"* ]]; then
		echo "exit $code, not $1"
		cat out err agents.out
		return 1
	fi
}

# mesh CODE [OPTION...]: a run of all nodes over the rails, which ends with CODE.
mesh()
{
	local wanted=$1 k
	shift
	[[ "$*" == *--ifname* ]] || set -- --ifname=rail "$@"
	start "$@"
	for ((k = 1; k <= NODES; k++)); do
		agent "$k"
	done
	finish "$wanted"
}

expect()
{
	if [ "$1" != "$2" ]; then
		echo "'$1', not '$2'"
		cat out "$dir/verdict.json"
		return 1
	fi
}

# says PATTERN FILE: some line of it matches, as it is or before it was wrapped.
says()
{
	grep -qE -- "$1" "$2" || grep -qE -- "$1" <(unwrapped "$2") || { echo "no '$1' in:"; cat "$2"; return 1; }
}

# File $1 with each line that is indented as a finding's joined to the one above.
unwrapped()
{
	sed -E ':more; N; $!b more; s/\n {6}([^ ])/ \1/g' "$1"
}

# "KIND NODE INDEX PEER DIRECTION CODE" of every finding.
findings()
{
	jq -r '.findings[] | "\(.kind) \(.node) \(.index) \(.peer_node) \(
		.direction) \(.code)"' "$dir/verdict.json"
}

# How many cells are of class $1.
cells()
{
	jq -r ".cells.$1" "$dir/verdict.json"
}

# Rows of results.csv that match the awk condition $1, by names of columns.
rows()
{
	jq_rows | jq -c "select($1)" | wc -l
}

jq_rows()
{
	PATH=/nonexistent "$GPUCHECK" report --json "$dir" 2>/dev/null | jq -c '.rows[]'
}
