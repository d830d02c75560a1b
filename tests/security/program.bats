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
	cd "$BATS_TEST_TMPDIR"
	printf '%064d' 4711 >secret
	"$GPUCHECK" p2p --launcher=env --transport=tcp -b 8M -n 500 -o run \
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
