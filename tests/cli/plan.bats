#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck plan: what a run would be, before there is one.

load helper

# value NAME: what stands beside it in the table.
value()
{
	sed -n "s/^  $1  *\([^ ].*\)/\1/p" out | sed 's/   *.*//; s/,//g'
}

# nothing was started, written or asked
nothing_made()
{
	[ "$(ls)" = $'err\nout' ] || { ls; false; }
}

@test "plan: nodes, ranks, tests, rounds, time and what they cost" {
	run_p plan -N 4 -G 8
	[ "$status" -eq 0 ]
	[ "$(value nodes)" = 4 ]
	[ "$(value ranks)" = 32 ]
	[ "$(value tests)" = 992 ]
	[ "$(value rounds)" = 31 ]
	[[ "$(value time)" =~ ^[0-9]+\ s$ ]]
	grep -q "^  GPU-hours " out
	absent 'assumed|-G|Shorter' out
	nothing_made
	# sixteen rails of two share four NICs: more to do for each
	run_p plan p2p -N 4 -G 8 --nics=4
	[ "$(value rounds)" = 48 ]
}

@test "plan: the time and the tests are those that the run says" {
	while read -r words; do
		# shellcheck disable=SC2086
		run_p plan $words
		[ "$status" -eq 0 ]
		expected="$(value tests) tests, about $(value time)"
		# shellcheck disable=SC2086
		run_p p2p $words --dry-run
		grep -qF "$expected" err || { echo "$expected"; cat err; false; }
	done <<-'EOF'
		--local=2x8 --transport=tcp
		-N 4 -G 8 --launcher=sbatch
		-N 4 -G 8 --sample=3 --launcher=sbatch
		-N 16 -G 8 --pairs=rail --contrast=pxn --launcher=sbatch
		-N 200 -G 8 --launcher=sbatch
	EOF
	# and the rows that it comes to, but for second attempts
	run_p plan --local=2x4 --transport=tcp -b 4K
	cells=$(value tests)
	run_p p2p --local=2x4 --transport=tcp -b 4K --csv -o run
	[ "$cells" -eq "$(grep -c '^1,' out)" ]
	grep -q ": $cells tests, about" err
}

@test "plan: how long a diagnosis may take, and of how many pairs" {
	run_p plan p2p --local=2x4 --transport=sim
	absent diagnosis out
	run_p plan p2p --local=2x4 --transport=sim --diagnose
	grep -q '^  diagnosis  *4 min  at most, for up to 6 failed or slow' out
	run_p plan p2p --local=2x4 --transport=sim --diagnose \
		--time-budget=40s --json
	jq -e '.diagnose_s == 18 and .diagnose_pairs == 6' out
	run_p plan all --local=2x4 --transport=sim
	grep -q '^  p2p .* and at most 4 min for bad pairs$' out
	run_p p2p --local=2x4 --transport=sim --diagnose --dry-run \
		--time-limit=1m
	grep -q 'diagnose: at most 30 s more, for up to 6 failed or slow' err
}

@test "plan: so many rows as a sweep has" {
	run_p plan allreduce --local=2x2 --transport=sim -b 4 -e 64 --algo=Ring,Tree
	cells=$(value tests)
	[ "$(value variants)" = 2 ]
	run_p allreduce --local=2x2 --transport=sim -b 4 -e 64 --algo=Ring,Tree \
		--csv -o run
	[ "$cells" -eq $(($(wc -l <out) - 1)) ]
	# 4 B leave nothing for each of four
	run_p plan alltoall --local=2x2 --transport=sim -b 4 -e 64
	[ "$(value tests)" = 2 ]
	run_p plan allreduce -b 8 -e 8G -N 2 -G 8
	[ "$(value sizes)" = 31 ]
	[[ "$(value time)" == "5 s" ]]
}

@test "plan: above ten minutes a shorter command, which is shorter" {
	run_p plan -N 200 -G 8 --sample 1500 -- -p 'a b'
	[[ "$(value time)" == *min ]]
	grep -qF "gpucheck p2p -N 200 -G 8 --sample=512 -- -p 'a b'" out
	run_p plan -N 200 -G 8 --pairs=all --json
	jq -e '.time_s > 600 and .cheaper.time_s < 600 and
		.cheaper.sample == 512' out
	expected=$(jq .cheaper.time_s out)
	line=$(jq -r .cheaper.command out)
	# shellcheck disable=SC2086
	run_p plan ${line#gpucheck }
	[ "$(jq .time_s out)" = "$expected" ]
	[ "$(jq .cheaper out)" = null ]
	# the next power of two is not
	run_p plan -N 200 -G 8 --sample=1024 --json
	jq -e '.time_s > 600' out
	run_p plan -N 2 -G 1 -b 1T -w 20 --timeout=1h
	grep -q "No sample takes less than ten minutes" out
}

@test "plan: what a sample can see is said before it is drawn" {
	run_p plan -N 200 -G 8
	[ "$(value tests)" = 19200 ]
	grep -qE '^\* --sample=12 +12 .* 99.98 % .* 0.75 %$' out
	grep -qE '^  --pairs=all +1599 .* min +all +all +all +all$' out
	absent '^> ' out
	run_p plan -N 200 -G 8 --sample=20
	grep -A1 -E '^\* --sample=12 ' out | grep -qE '^> --sample=20 +20 '
	run_p plan -N 200 -G 8 --pairs=nodes
	grep -qE '^> --pairs=nodes ' out
	run_p plan -N 200 -G 8 -b 1T --timeout=1h
	grep -qE '^  --pairs=all .* [0-9.]+ DAYS ' out
	run_p plan -N 128 -G 8 --json
	jq -e '.cells == 1024 * 1023 and (.tiers | length) == 4 and
		.tiers[3].default and .tiers[3].seen_pair == 1 and
		.tiers[1].cells == 12 * 1024 and
		.tiers[0].time_s < .tiers[1].time_s and
		.tiers[1].time_s < .tiers[3].time_s' out
	# nothing to choose from
	for words in "-N 1 -G 8" "-N 4 -G 8 --pairs=rail" "ib -N 4 -G 8"; do
		# shellcheck disable=SC2086
		run_p plan $words
		absent 'pairs=nodes' out
	done
}

@test "plan: what is not known is said, with what to type" {
	PATH=$stub run_p plan -N 4
	[ "$status" -eq 0 ]
	grep -q "ranks .* 32  if a node has 8 GPUs; otherwise use -G" out
	PATH=$stub run_p plan -N 4 --json
	jq -e '.assumed == ["gpus-per-node"]' out
	run_p plan --launcher=env
	grep -q "nodes .* -  not known here: use -N" out
	[ "$(value tests)" = - ]
	run_p plan -N 2 -G 8 --pairs=gpu7:1-gpu8:1
	grep -q "tests .* -  known when the nodes have started" out
	run_p plan ib -N 4
	grep -q "if a node has 8 HCA ports; otherwise use -G" out
	run_p plan --local=2x8 --transport=sim
	[[ "$(value time)" == "1 s" ]]
}

@test "plan: --budget leaves out what does not fit, the least loss first" {
	run_p plan p2p -N 64 -G 8 --budget=1h --json
	jq -e '.cells == 261632 and .left_out == ""' out
	run_p plan p2p -N 64 -G 8 --budget=1m
	[ "$(value tests)" = 16384 ]
	grep -q "^--time-budget: to fit into 1 min: --sample=32, 94 % of 261,632 tests" out
	# what somebody has asked for stays
	run_p plan p2p -N 64 -G 8 --pairs=all -n 20 --budget=30s
	[ "$(value tests)" = 261632 ]
	tr '\n' ' ' <out | grep -q "it  *may"
	run_p plan allreduce -N 8 -G 8 --budget=6s
	grep -q -- "--stepfactor=32" out
	# the least that there is
	run_p plan p2p -N 64 -G 8 --budget=5ms
	fails 2 "--time-budget: 5ms is not within 1s"
	run_p plan all -N 200 -G 8 --budget=2m --json
	jq -e '.time_most_s < 120 and .time_least_s > 0 and
		all(.probes[]; .time_s or .time_most_s or .time_least_s)' out
}

@test "plan: what crosses from node to node" {
	run_p plan -N 2 -G 1 -n 10 -w 0 --json
	jq -e ".bytes / (2 * 10 * 67108864) | . > 0.999 and . < 1.001" out
	run_p plan -N 2 -G 1 -n 10 -w 0
	grep -q "bytes .* 1.25 GiB  from node to node" out
	run_p plan --local=1x8 --transport=cuda
	absent "bytes " out
	# once through every node, twice for warm-up and check; in place, too
	run_p plan allreduce -N 2 -G 1 -b 1M -e 1M -n 10 --json
	jq -e ".bytes / (2 * 15 * 2 * 1048576) | . > 0.999 and . < 1.001" out
	# such a run of the model sent 790 GiB
	run_p plan allreduce --local=2x2 --transport=sim --json
	jq -e ".bytes > 4.5e11 and .bytes < 1.7e12" out
	run_p plan all -N 2 -G 1
	grep -q "bytes .* from node to node" out
}

@test "plan: operations that are verified take time, and are sent" {
	run_p plan allreduce -N 2 -G 1 -b 1M -e 1M -n 10 --verify=1000 --json
	jq -e ".bytes / (2 * 1015 * 2 * 1048576) | . > 0.98 and . < 1.02" out
	jq -e ".time_s > 0.3 and .time_s < 3" out
	run_p plan allreduce -N 2 -G 1 -b 1M -e 1M --verify=1000
	grep -q "verified  *1,000 *operations of each test" out
}

@test "plan: --gentle takes its time" {
	run_p plan -N 2 -G 1 -n 10 -w 0 --gentle=64M --json
	jq -e ".time_s > 19.9 and .time_s < 20.1 and .bytes > 1e9" out
	run_p plan -N 2 -G 1 -n 10 -w 0 --gentle=64M
	grep -q "time .* 2[01] s  what --rate-limit allows" out
	run_p plan --gentle=1K
	fails 2 "--rate-limit: 1K is not within 1M"
}

@test "--budget ends in time, and says what it left out" {
	run_p p2p --local=16x8 --transport=sim --budget=10s -o run
	[ "$status" -eq 0 ]
	jq -e '.options["time-budget"] == "10s" and .options["time-limit"] == "9s"' \
		run/run.json
	# a model with more to do than fits is a sample
	run_p p2p --local=64x8 --transport=sim --budget=10s --dry-run
	grep -q -- "--time-budget: to fit into 10 s: --sample=128, " err
	run_p all --local=2x2 --transport=sim --budget=1m --dry-run
	[ "$status" -eq 0 ]
	run_p all --local=2x2 --transport=sim --budget=1m -o all
	jq -e '.options["time-budget"] == "24s"' all/p2p/run.json
	# no step is given less than it takes
	run_p all --local=2x2 --transport=sim --budget=7s -o short
	fails 2 '--time-budget: 7 s is too short; at least 8 s'
	run_p p2p --local=2x2 --transport=sim --budget=1s -o short
	fails 2 '--time-budget: 1 s is too short; at least 2 s'
	[ ! -e short ]
}

@test "plan: Slurm says how many GPUs a node has" {
	mkdir bin
	printf '#!/bin/sh\necho "debug*|2|gpu:4|a"\n' >bin/sinfo
	printf '#!/bin/sh\ntouch submitted\n' >bin/sbatch
	chmod +x bin/*
	PATH=$PWD/bin:$PATH run_p plan
	[ "$(value nodes)" = 2 ]
	grep -q "ranks .* 8  4 per node" out
	[ ! -e submitted ]
	SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=3 SLURM_GPUS_ON_NODE=2 \
		run_p plan --launcher=srun
	[ "$(value nodes)" = 3 ]
	[ "$(value ranks)" = 6 ]
}

@test "plan: neighbours for which a kernel has no room, and what makes it" {
	local kept

	# a namespace has none of its own: as if nobody had set it
	kept=$(cat /proc/sys/net/ipv4/neigh/default/gc_thresh3 2>/dev/null ||
		echo 1024)
	[ "$kept" -lt 7992 ] || skip "the kernel of this machine keeps $kept"
	run_p plan ping --ssh --hosts="n[1-1000]"
	[ "$(value neighbours)" = 33 ]
	absent gc_thresh out
	run_p plan ping --ssh --hosts="n[1-1000]" --all-pairs
	[ "$(value neighbours)" = 999 ]
	grep -q "up to 7992 neighbours, but a kernel" out
	grep -q "^  sysctl -w .*gc_thresh{3=32768,2=16384,1=8192}$" out
	[ "$(awk 'length > 80' out)" = "" ]
	run_p plan ping --ssh --hosts="n[1-1000]" --all-pairs --json
	jq -e ".neighbours == 999 and .neighbours_kept == $kept" out
}

@test "plan: probes that have no ranks, and all of them" {
	run_p plan ping --local=4x2
	[ "$(value tests)" = 24 ]
	[[ "$(value time)" == *' s to '*' s' ]]
	absent '^  ranks' out
	run_p plan ping --ssh --hosts=a,b,c
	[ "$(value nodes)" = 3 ]
	[ "$(value neighbours)" = 2 ]
	run_p plan memlock --node
	[ "$(value nodes)" = 1 ]
	[ "$(value time)" = "20 s" ]
	run_p plan all -N 4 -G 8 --quick
	[ "$(awk '/^  (memlock|ping|ib|gpu|p2p|allreduce) /' out | wc -l)" -eq 6 ]
	grep -qE "^  p2p +96  about [0-9]+ s$" out
	run_p plan all --local=2x4 --transport=sim --json
	jq -e '[.probes[] | .probe] == ["ib", "gpu", "p2p", "allreduce"] and
		.probes[2].cells == 56' out
}

@test "plan: -v shows who talks with whom" {
	run_p plan --local=2x2 --transport=sim -v
	[ "$(grep -c '^   [0-9]:' out)" -eq 3 ]
	# every rank once a round, every pair once
	[ "$(grep -oE '[0-9]+-[0-9]+' out | sort -u | wc -l)" -eq 6 ]
	run_p plan -N 64 -G 8 -vv
	[ "$(grep -c '^   [0-9]:.*\|more$' out)" -ge 6 ]
	grep -q "and [0-9]* more$" out
}

@test "plan: no line is wider than 80 columns" {
	for words in "-N 500 -G 8" "ib -N 4" "-N 200 -G 8 -vv" "--launcher=env" \
		"all -N 4" "allreduce -N 4 --algo=Ring,Tree" "ping -N 3"; do
		# shellcheck disable=SC2086
		run_p plan $words
		awk 'length > 80 { print; bad = 1 } END { exit bad }' out
	done
}

@test "plan: what the run would refuse is refused" {
	run_p plan p2p --local=1x1
	fails 2 "1 rank in total"
	run_p plan p2q
	fails 2 "there is no command 'p2q'"
	run_p plan report
	fails 2 "'report' measures nothing"
	run_p plan ping --sample=3
	fails 2 "'ping' has no option '--sample=3'"
	run_p plan -N 4 allreduce
	fails 2 "allreduce"
	run_p plan --csv
	fails 2 "a plan has no rows for --csv"
	run_p plan --local=2x2 --pairs=0-0
	[ "$status" -eq 2 ]
	run_p plan alltoall --local=2x2 --algo=Ring
	fails 2 "does not go with 'alltoall'"
	nothing_made
}

# seconds between the first and the last of times on stdin
span() {
	sort | sed -n '1p;$p' | xargs -I{} date -ud {} +%s.%N | paste -sd' ' |
		awk '{ print $2 - $1 }'
}

@test "--gentle holds back what goes from node to node" {
	run_p p2p --local=3x1 --transport=sim -b 4M -w 0 --gentle=640M \
		--no-follow-up --csv -o pairs
	[ "$status" -eq 0 ]
	# the model says 20 of 4 MiB each way: a quarter of a second a pair, of
	# which 0.1 s may be ahead
	cut -d, -f29 out | tail -n +2 | span | awk '{ exit !($1 >= 0.35) }'
	# a collective too, 3 + 8 of 2 MiB in each of two rows
	run_p allreduce --local=2x1 --transport=sim -n 8 -w 0 -c 0 -b 1M -e 1M \
		--gentle=64M -o group
	[ "$status" -eq 0 ]
	grep -E ',(start|end),' group/events.csv | cut -d, -f1 | span |
		awk '{ exit !($1 >= 0.3) }'
	# one switch has them all
	echo 'SwitchName=a Nodes=n[0-2]' >switches
	run_p p2p --local=3x1 --transport=sim -b 4M --gentle=1M \
		--switches=switches --max-time=20s -o leaf
	[ "$status" -eq 0 ]
	# who waits can be stopped
	run_p allreduce --local=2x1 --transport=sim -b 1M -e 1M --gentle=1M \
		--max-time=1s --csv -o stopped
	[ "$status" -eq 3 ]
	[ "$(grep -c ",not_run,max_time," out)" = 2 ]
}
