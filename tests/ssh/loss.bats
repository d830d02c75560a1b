#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs by ssh that do not come to their end, and how they go on.

load helper

# begin OPTION...: a run of three hosts in the background, until it has rows.
begin()
{
	hosts_up
	mkdir -p bin
	ln -sf /usr/bin/ssh bin
	PATH=$PWD/bin "$GPUCHECK" p2p --ssh=n[1-3] --transport=tcp -G 2 -b 4M \
		-n 60 --schedule=serial --timeout=2s -o "$dir" -- \
		"${ssh_options[@]}" >out 2>err 3>&- 4>&- &
	front=$!
	await 30 has_rows 4
}

has_rows()
{
	[ -s "$dir/results.csv" ] &&
		[ "$(grep -c ',ok,' "$dir/results.csv")" -ge "$1" ]
}

# again CODE: it goes on where it was, keeps what it has, ends with CODE.
again()
{
	local n

	grep ',ok,' "$dir/results.csv" >good
	n=$(wc -l <good)
	PATH=$PWD/bin "$GPUCHECK" p2p --resume "$dir" >out 2>err 3>&- 4>&- &
	front=$!
	finish "$1"
	cmp good <(grep ',ok,' "$dir/results.csv" | head -n "$n")
	await 20 nothing_left
}

# whole: every test passed; a busy machine makes some slow.
whole()
{
	expect "$(($(cells pass) + $(cells slow)))" 30
}

@test "^C stops in order; --resume asks the same hosts" {
	begin
	kill -INT "$front"
	finish 4
	[ "$(cells not_run)" -gt 0 ]
	says "gpucheck p2p --resume $dir" err
	await 20 nothing_left
	again 0
	whole
}

@test "the front is killed: nobody goes on without it" {
	begin
	kill -KILL "$front"
	await 20 nothing_left
	again 0
	whole
}

@test "a host dies in the middle, is away, and comes back" {
	begin
	node-run 3 ip link set eth0 down
	finish 1
	expect "$(findings)" "node n3 null null both agent_lost"
	again 1
	expect "$(findings)" "node n3 null null both ssh_unreachable"
	node-run 3 ip link set eth0 up
	again 0
	whole
}

@test "^C before any host has answered: no long wait" {
	hosts_up
	mkdir -p bin
	ln -sf /usr/bin/ssh bin
	PATH=$PWD/bin "$GPUCHECK" p2p --ssh=n[1-3] --transport=tcp -G 2 \
		-o "$dir" -- "${ssh_options[@]}" >out 2>err 3>&- 4>&- &
	front=$!
	await 20 test -s "$dir/events.csv"
	kill -INT "$front"
	SECONDS=0
	finish 3
	[ "$SECONDS" -lt 15 ]
	says 'the run was stopped before it planned a test' err
	# they do not look for a coordinator as long as --boot-timeout lets them
	await 12 nothing_left
}

@test "the coordinator is stopped: agents leave it, and the front ends" {
	begin
	kill -STOP "$(pgrep -f "^[^ ]*gpucheck coordinator $dir")"
	await 60 ended "$front" || true	# three times --silence, or a minute
	finish 4
	await 20 nothing_left
}
