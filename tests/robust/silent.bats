#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Agents, coordinator and workers of a run have nothing to complain about; in a
# build with sanitizers that includes what they leak.

load helper

@test "a healthy run says nothing on the side" {
	"$GPUCHECK" p2p --local=2x4 --transport=tcp -b 64K --quiet -o run
	[ -e run/job.out ]
	[ ! -s run/job.out ]
}

@test "a broken one neither" {
	printf 'crash rank=1\nhang pair=2-3\ndead pair=0-5\n' >drill
	rc=0
	"$GPUCHECK" p2p --local=2x4 --transport=tcp --timeout=300ms \
		--faults=drill --quiet -o run || rc=$?
	# 4: a busy machine has kept some from running
	[ $rc -eq 1 ] || [ $rc -eq 4 ]
	[ ! -s run/job.out ]
}
