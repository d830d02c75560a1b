#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# A modelled HCA, whose queues are pinned memory as those of mlx5 are.

load helper

setup_file()
{
	gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC \
		"-Wl,--version-script=$BATS_TEST_DIRNAME/fake_verbs.map" \
		-o "$BATS_FILE_TMPDIR/libfakeverbs.so" \
		"$BATS_TEST_DIRNAME/fake_verbs.c" || true
	# for who has given up root
	chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
}

model()
{
	[ -e "$BATS_FILE_TMPDIR/libfakeverbs.so" ] || skip "no verbs.h here"
	export GPUCHECK_VERBS_LIB=$BATS_FILE_TMPDIR/libfakeverbs.so
	"$GPUCHECK" version | grep -q 'with infiniband/verbs.h' ||
		skip "built without verbs.h"
}

row()
{
	is ".rows[] | select(.check == \"$1\") | $2" "$3"
}

@test "64 KiB: the completion queue itself breaks at the limit" {
	model
	at 64 look 1 --node --json
	row ibv_create_cq '"\(.hca) \(.max_ok_B) \(.min_fail_B) \(.code)"' \
		"fake_0 65536 69632 memlock_enomem"
	row ibv_create_cq .needed_B $((4096 * 64))
	row ibv_reg_mr '"\(.max_ok_B) \(.min_fail_B)"' "65536 69632"
	is '[.rows[] | select(.check == "mlock")] | length' 0
}

@test "1 MiB: the queue passes, the first registration does not" {
	model
	at 1024 look 1 --node --json
	row ibv_create_cq .outcome ok
	row ibv_reg_mr '"\(.outcome) \(.max_ok_B) \(.code)"' \
		"error 1048576 memlock_enomem"
	is '.verdict.findings[0].evidence | join(" ") |
		contains("ibv_reg_mr: works up to 1 MiB")' true
}

@test "out of completion queues is not memlock" {
	model
	FAKE_VERBS=no_cqs look 1 --node --json --need=64K
	row ibv_create_cq .code device_full
	is '[.verdict.findings[] | select(.severity == "fail") | .code]' \
		'["device_full"]'
	is '.verdict.findings[0].kind' nic
	says 'its maximum is 1234'
}

@test "a device that only root may open is not memlock, even for root" {
	model
	FAKE_VERBS=denied look 1 --node --json --need=64K
	row ibv_create_cq .code infiniband_denied
	is '.verdict.findings[0].code' infiniband_denied
}

@test "a driver that takes its process down" {
	model
	FAKE_VERBS=crash look 1 --node --json --need=64K
	is '.rows[-1] | "\(.outcome) \(.code)"' "crashed worker_crashed"
}

@test "no libibverbs: mlock tells" {
	GPUCHECK_VERBS_LIB=/nonexistent at 64 look 1 --node --json
	row mlock .max_ok_B 65536
}
