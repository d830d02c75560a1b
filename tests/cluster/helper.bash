# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here.  They run on the login node of the cluster
# that slurm-netns makes: nodes gcn1 and gcn2, 8 pretend GPUs each.

load ../await
load ../pasted

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=dumb XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
	dir=$BATS_TEST_TMPDIR/run
	await 30 nodes_are_idle
}

teardown()
{
	local good=true
	pasted || good=false
	scancel --quiet --user=root
	await 30 queue_is_empty
	$good
}

nodes_are_idle()
{
	[ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]
}

queue_is_empty()
{
	[ -z "$(squeue --noheader)" ]
}

# shellcheck disable=SC2034  # for the test files
# A run that is small and quick.
quick=(p2p -N 2 -G 2 --transport=tcp -b 64K)
# shellcheck disable=SC2034
# Runs that go on for some seconds, so that something can happen in their middle:
# between nodes, and on one.
long=(p2p -N 2 -G 4 --transport=tcp --schedule=serial -b 256K -n 8 --rate-limit=8M)
# shellcheck disable=SC2034
busy=(p2p -N 2 -G 4 --transport=tcp --schedule=serial -b 8M -n 30)

# gpucheck in the background, $front its process; its words go to out and err.
start()
{
	"$GPUCHECK" "$@" >out 2>err 3>&- &
	front=$!
}

# finish CODE [SECONDS]: the run that start began ends with exit code CODE.
finish()
{
	local code=0

	await "${2:-150}" ended "$front" || { cat err; return 1; }
	wait "$front" || code=$?
	expect "$code" "$1"
}

ended()
{
	! kill -0 "$1" 2>/dev/null
}

# The whole run, which ends with exit code $1.
run_to()
{
	local wanted=$1
	shift
	start "$@"
	finish "$wanted"
}

expect()
{
	if [ "$1" != "$2" ]; then
		echo "$1, not $2"
		cat out err "$dir/job.out" 2>/dev/null
		return 1
	fi
}

# says PATTERN FILE: some line of it matches.
says()
{
	grep -qE -- "$1" "$2" || { echo "no '$1' in:"; cat "$2"; return 1; }
}

# Values of columns $1... of results.csv.
columns()
{
	awk -F, -v names="$*" '
		NR == 1 {
			n = split(names, wanted, " ")
			for (i = 1; i <= NF; i++) at[$i] = i
			next
		}
		{
			for (i = 1; i <= n; i++)
				printf "%s%s", $at[wanted[i]], i < n ? " " : "\n"
		}' "$dir/results.csv"
}

# How many ordered pairs have a good row; a slow one is measured again.
good_cells()
{
	columns outcome src_rank dst_rank | grep '^ok ' | sort -u | wc -l
}

# How many good cells each node sends: "COUNT NODE COUNT NODE".
senders()
{
	columns outcome src_node src_rank dst_rank | grep '^ok ' | sort -u |
		awk '{ print $2 }' | uniq -c | xargs
}

rows()
{
	[ -e "$dir/results.csv" ] &&
		[ "$(($(wc -l <"$dir/results.csv") - 1))" -ge "$1" ]
}

# "KIND NODE CODE" of every finding.
findings()
{
	jq -r '.findings[] | "\(.kind) \(.node) \(.code)"' "$dir/verdict.json"
}
