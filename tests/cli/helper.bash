# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Loaded by every test file here: a scratch folder, the program as a function,
# and nothing of the outer environment that changes its mind.

load ../pasted

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	export LC_ALL=C.UTF-8 TERM=xterm COLUMNS=100
	# a history and its index leave nothing at home
	export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
	export XDG_DATA_HOME=$BATS_FILE_TMPDIR/data
	unset NO_COLOR "${!SLURM_@}" "${!SBATCH_@}" "${!GPUCHECK_@}"
	export GPUCHECK_CONFIG=none
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	timeout=$(command -v timeout)	# tests change PATH
	export root timeout
	stub=$BATS_FILE_TMPDIR/stub
	[ -x "$stub/gnuplot" ] || make_stub
	PATH=$stub:$PATH
}

# Most tests look at no picture, and drawing takes longer than measuring: a
# gnuplot that leaves something of the right name.
make_stub()
{
	mkdir -p "$stub"
	cat >"$stub/gnuplot" <<-'EOF'
		#!/bin/sh
		echo stub | tee "$6/picture.png" >"$6/picture.svg"
	EOF
	chmod +x "$stub/gnuplot"
}

teardown()
{
	pasted
}

# From here on pictures are drawn.
with_pictures()
{
	PATH=${PATH#"$stub:"}
}

# drawn FILE...: each is a picture.
drawn()
{
	local file
	for file; do
		case $(head -c 200 "$file" | tr -d '\0') in
		*PNG* | *'<svg'*) ;;
		*) echo "$file is no picture"; return 1 ;;
		esac
	done
}

# Data and talk are kept apart: run_p stores stdout in $output, stderr in
# $stderr.
run_p()
{
	local rc=0
	"${timeout-timeout}" 200 "$GPUCHECK" "$@" >out 2>err || rc=$?
	status=$rc
	export output
	output=$(<out)
	stderr=$(<err)
}

# fails STATUS PATTERN: the last run_p said PATTERN on stderr.
fails()
{
	if [ "$status" -ne "$1" ]; then
		echo "exit $status, not $1: $stderr"
		return 1
	fi
	if ! grep -qF -- "$2" <<<"$stderr"; then
		echo "no '$2' in: $stderr"
		return 1
	fi
}

# absent PATTERN FILE: no line of it matches.
absent()
{
	if grep -qP -- "$1" "$2"; then
		echo "'$1' is in $2"
		return 1
	fi
}

# The small run that most tests look at: 4 ranks of two pretend nodes.
small_run()
{
	run_p p2p --local=2x2 --transport=sim "$@"
}

columns_of()
{
	awk -F, -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) { if ($i == name) { c = i } } next }
		{ print $c }' "$2"
}
