#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# gpucheck import: results of other tools.

load helper

logs()
{
	echo "$root/tests/fixtures/import"
}

# Every number of the tables of nccl-tests in a log, one a line, in order.
numbers_of_log()
{
	sed 's/^[# ]*//' "$@" | awk '
		NF == 13 && $1 ~ /^[0-9]+$/ && $3 == "float" {
			print $1, $2, $5, 0, $6 + 0, $7 + 0, $8 + 0, $9
			print $1, $2, $5, 1, $10 + 0, $11 + 0, $12 + 0, $13 }'
}

# The same from our CSV.
numbers_of_csv()
{
	awk -F, 'NR > 1 { print $12, $13, $11, $14, $16 + 0, $21 + 0,
		$22 + 0, $23 }' "$1"
}

@test "every number of the known tables, as the stored reference has it" {
	for name in aml msccl; do
		"$GPUCHECK" import "$(logs)/$name.log" >$name.csv
		cmp $name.csv "$root/data/reference/$name.csv"
		numbers_of_log "$(logs)/$name.log" >want
		numbers_of_csv $name.csv >got
		[ -s want ]
		diff want got
	done
	cd "$(logs)"
	"$GPUCHECK" import h200-threads.log h200-process.log \
		>"$BATS_TEST_TMPDIR/h200.csv"
	cmp "$BATS_TEST_TMPDIR/h200.csv" "$root/data/reference/h200.csv"
	"$GPUCHECK" import mscclpp.log >"$BATS_TEST_TMPDIR/mscclpp.csv"
	cd "$BATS_TEST_TMPDIR"
	cmp mscclpp.csv "$root/data/reference/mscclpp.csv"
	numbers_of_log "$(logs)"/h200-threads.log "$(logs)"/h200-process.log \
		>want
	numbers_of_csv h200.csv >got
	diff want got
	# its GB/s are of 2^30 bytes: what it is, size and time say
	awk 'NF == 5 && /^ *[0-9. ]+$/ { print $1, $2 + 0, $3 + 0,
		sprintf("%.2f", $5 * 1.073741824) + 0 }' \
		"$(logs)/mscclpp.log" >want
	awk -F, 'NR > 1 { split($26, d, " ")
		print $12, $16 + 0, $18 + 0, d[2] + 0 }' mscclpp.csv >got
	[ "$(wc -l <want)" -eq 6 ]
	diff want got
	awk -F, 'NR > 1 && ($21 / ($12 / $16 / 1000) - 1) ^ 2 > 1e-8' \
		mscclpp.csv >wrong
	[ ! -s wrong ]
}

@test "tables have their headings, ranks and collectives" {
	run_p import "$(logs)/msccl.log"
	[ "$status" -eq 0 ]
	[ "$(columns_of table out | sort -u | paste -sd/)" = \
		"NCCL Ring/NCCL Tree/msccl allreduce hier/msccl allreduce pipeline/msccl allreduce_allpair" ]
	[ "$(columns_of ranks out | sort -u)" = 8 ]
	grep -q '190 rows from 1 file' err
	run_p import "$(logs)/mscclpp.log"
	[ "$(columns_of op out | sort | uniq -c | xargs)" = \
		"2 allgather 2 allreduce 2 reducescatter" ]
	grep -q '2^30 bytes' err
	[ "$(columns_of algo out | sed -n 6p)" = "k=4 nelem_per_send=131072" ]
	grep -q 'scratch_size=1048576' out
}

@test "-o makes a run with curves, which report reads" {
	with_pictures
	run_p import -o run "$(logs)/msccl.log"
	[ "$status" -eq 0 ]
	grep -q 'fastest at ' out
	grep -q '# NCCL Tree' out
	for file in report.html verdict.json run.json; do
		[ -s run/$file ]
	done
	drawn run/curves.png run/curves.svg
	run_p report --json run
	[ "$status" -eq 0 ]
	[ "$(jq '.rows | length' out)" -eq 190 ]
	[ "$(jq '.rows[0].time_us' out)" = 12.61 ]
}

@test "a reference says which sizes fall short, and not a single noisy one" {
	run_p import -q -o run "$(logs)/aml.log"
	[ "$status" -eq 0 ]
	run_p report --reference=aml run
	[ "$status" -eq 0 ]
	grep -q '0 of 62 sizes slower, 0 faster, 62 the same within noise' out
	# 4 MiB to 64 MiB of the first table are slower by a fifth
	awk -F, -v OFS=, '$3 == "Single Node" && $12 >= 4194304 &&
		$12 <= 67108864 && $14 == 0 { $16 *= 1.25; $22 /= 1.25 }
		$3 == "Two Nodes" && $12 == 1048576 && $14 == 0 { $16 *= 1.5 }
		1' run/results.csv >slower
	mv slower run/results.csv
	run_p report --reference=aml run
	[ "$status" -eq 1 ]
	tr -s '\n ' ' ' <out | grep -q '4 MiB to 64 MiB at 80 %'
	tr -s '\n ' ' ' <out | grep -q '1 outliers (1 MiB at 67 %)'
	[ "$(jq -r '[.findings[].code] | sort | join(" ")' run/verdict.json)" = \
		"below_reference size_off_curve" ]
	run_p report --reference=none run
	fails 3 "there is no reference 'none'"
}

# CODES: what is found in a run, or in a log, without a reference.
codes_of()
{
	local dir=$BATS_TEST_TMPDIR/alone

	if [ -d "$1" ]; then
		cp -r "$1" "$dir"	# report draws into it
	else
		"$GPUCHECK" import -q -o "$dir" "$1" >/dev/null
	fi
	"$GPUCHECK" report --json "$dir" |
		jq -r '[.verdict.findings[] | .code + " " + .severity] |
			join(" ")'
	rm -rf "$dir"
}

@test "a sweep on its own: what is off is said, healthy ones say nothing" {
	[ "$(codes_of "$(logs)/aml.log")" = "size_off_curve warn" ]
	[ "$(codes_of "$(logs)/msccl.log")" = "inplace_differs warn" ]
	for healthy in "$(logs)/h200-threads.log" "$(logs)/h200-process.log" \
		"$(logs)/mscclpp.log" "$root/data/reference/allreduce-2xH200" \
		"$root/data/reference/allreduce-algos-2xH200"; do
		[ -z "$(codes_of "$healthy")" ]
	done
	# all other tables of those two logs
	awk '/^### Two/ { skip = 1 } !skip' "$(logs)/aml.log" >one
	[ -z "$(codes_of one)" ]
	awk '/^### / { skip = /allpair/ } !skip' "$(logs)/msccl.log" >others
	[ "$("$GPUCHECK" import others 2>/dev/null | wc -l)" -eq 153 ]
	[ -z "$(codes_of others)" ]
	"$GPUCHECK" import -o run "$(logs)/aml.log" >out
	tr -s '\n ' ' ' <out | grep -q '16 KiB took 105.5 us, 1.6 times the time that its neighbouring sizes suggest'
	"$GPUCHECK" import -o run2 "$(logs)/msccl.log" >out
	tr -s '\n ' ' ' <out | grep -q 'in place is 7.1 times as slow as out of place at 32 MiB, and similarly from 1 MiB up: 16.5 and 117.9 GB/s'
}

@test "logs of one job a pair: only what says OK is good" {
	# ranks 0 and 1 on a1, 2 and 3 on a2; 0->2 fails, 1->3 is empty,
	# 0->3 has an old failure, 2->0 has no .out, 3->0 was never tried
	say()
	{
		echo "NUM_GPUS_PER_NODE=2"
		for rank in 0 1 2 3; do
			echo "a$((rank / 2 + 1)) [$rank/4]"
		done
		echo "a2 [$2] : END barrier"
	}
	for s in 0 1 2 3; do
		for r in 0 1 2 3; do
			[ $s != $r ] || continue
			[ $s$r != 30 ] || continue
			{ say $s $r; echo "a2 [$r] : OK $s -> $r"; } \
				>p2p-test-$s-$r-100.out
		done
	done
	say 0 2 >p2p-test-0-2-100.out
	echo "NCCL WARN socketProgress: Connection closed by remote peer a2" \
		>p2p-test-0-2-100.err
	echo "NCCL WARN NET/IB : Got completion with error 12, opcode 0" \
		>>p2p-test-0-2-100.err
	: >p2p-test-1-3-100.out
	say 0 3 >p2p-test-0-3-9.out
	rm p2p-test-2-0-100.out
	echo "srun: error: a2: task 2: Segmentation fault" \
		>p2p-test-2-0-100.err
	with_pictures
	run_p import -o run p2p-test-*.out p2p-test-*.err
	[ "$status" -eq 0 ]
	[ "$(columns_of outcome run/results.csv | sort | uniq -c | xargs)" = \
		"1 crashed 2 error 8 ok" ]
	grep -q '^1,0,a1,0,,2,a2,0,.*,error,wc_retry_exceeded,' run/results.csv
	grep -q '^1,1,a1,1,,3,a2,1,.*,error,no_output,' run/results.csv
	grep -q '^1,0,a1,0,,3,a2,1,.*,ok,' run/results.csv
	[ "$(jq -c '[.cells.pass, .cells.fail, .cells.not_run]' \
		run/verdict.json)" = "[8,3,1]" ]
	drawn run/heatmap-bw.png
}

# The files of a run over 16 GPUs of two nodes, two a job and a job a pair: a
# GPU reaches its own node, and of the other one the two GPUs of its NIC.
make_run_of_pairs()
{
	local s r k good
	for s in {0..15}; do
		for r in {0..15}; do
			[ "$s" != "$r" ] || continue
			good=$((s / 8 == r / 8 || s % 8 / 2 == r % 8 / 2))
			log=p2p-test-$s-$r-$((1000 + s * 16 + r))
			{
				echo "MASTER_ADDR=a001"
				echo "NUM_NODES=2"
				echo "NUM_GPUS_PER_NODE=8"
				echo "NUM_GPUS=16"
				for k in {0..15}; do
					echo "a00$((k / 8 + 1)) [$k/16]"
				done
				echo "a00$((s / 8 + 1)) [$s] : BEG send $s -> $r"
				[ $good = 0 ] ||
					echo "a00$((r / 8 + 1)) [$r] : OK $s -> $r"
			} >"$log.out"
			: >"$log.err"
			[ $good = 1 ] || echo "torch.distributed.DistBackendError: NCCL error, remote process exited or there was a network error" \
				>"$log.err"
		done
	done
}

# bats test_tags=dear
@test "the 480 files of a run, in any order, and an older run among them" {
	make_run_of_pairs
	[ "$(printf "%s\n" p2p-test-*.out p2p-test-*.err | wc -l)" -eq 480 ]
	"$GPUCHECK" import p2p-test-*.out p2p-test-*.err >want
	[ "$(columns_of outcome want | sort | uniq -c | xargs)" = \
		"96 error 144 ok" ]
	for seed in 1 2 3; do
		SECONDS=0
		printf "%s\n" p2p-test-*.out p2p-test-*.err |
			shuf --random-source=<(yes $seed) |
			xargs "$GPUCHECK" import >got
		[ $SECONDS -le 2 ]
		cmp want got
	done
	# of an older run: nothing went well, and nothing of it counts
	for log in p2p-test-3-*.out; do
		echo "srun: error: Segmentation fault" >"${log%-*}-7.out"
	done
	"$GPUCHECK" import p2p-test-*.err p2p-test-*.out >got
	cmp want got
}

@test "perftest, as text and as JSON" {
	cat >bw <<-'END'
	---------------------------------------------------------------------------------------
	                    RDMA_Write BW Test
	 Dual-port       : OFF		Device         : mlx5_0
	 Number of qps   : 1		Transport type : IB
	---------------------------------------------------------------------------------------
	 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
	 65536      5000             23456.78            23400.00		     0.374400
	---------------------------------------------------------------------------------------
	END
	run_p import bw
	[ "$status" -eq 0 ]
	[ "$(columns_of bw_GB_s out)" = 24.5367 ]
	[ "$(columns_of op out)" = write ]
	cat >json <<-'END'
	{ "test_info": {"test": "RDMA_Read_BW_Test", "Device": "mlx5_1"},
	  "results": {"MsgSize": 65536, "n_iterations": 1000,
	  "BW_peak": 98.10, "BW_average": 96.00, "MsgRate": 0.183105 } }
	END
	run_p import json
	[ "$(columns_of bw_GB_s out)" = 12 ]
	printf '%s\n' "                    RDMA_Write BW Test" \
		"Couldn't create CQ" >failed
	run_p import failed
	[ "$status" -eq 1 ]
	[ "$(columns_of code out)" = memlock_cq ]
}

@test "the CSV of a ping script" {
	{
		echo "SourceNode,SourceIP,DestinationNode,DestinationIP,NetworkSegment,Status"
		for s in 1 2 3; do
			for r in 1 2 3; do
				[ $s != $r ] || continue
				for net in 10.1.0 10.2.0; do
					state=Success
					# node 3 is dark on the second segment
					[ $net$s != 10.2.03 ] &&
						[ $net$r != 10.2.03 ] ||
						state=Failure
					echo "a$s,$net.$s,a$r,$net.$r,$net,$state"
				done
			done
		done
		echo "a1,10.1.0.1,a2,10.1.0.2,10.1.0"
	} >a_cluster_connectivity.csv
	run_p import a_cluster_connectivity.csv
	[ "$status" -eq 0 ]
	[ "$(columns_of outcome out | sort | uniq -c | xargs)" = \
		"8 ok 4 timeout" ]
	grep -q '1 of 14 lines was not understood' err
	run_p import -o run a_cluster_connectivity.csv
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.cells.pass, .cells.timeout]' run/verdict.json)" = "[8,4]" ]
	[ "$(jq -r '.findings[0] | .node' run/verdict.json)" = a3 ]
}

# FILE COLUMN VALUES: what the rows of a fixture have in a column, "-" for
# nothing.
has_values()
{
	local got

	"$GPUCHECK" import "$(logs)/$1" >rows 2>err
	got=$(jq -r "[.rows[] | .$2 // \"-\"] | map(tostring) | join(\" \")" \
		<("$GPUCHECK" import --json "$(logs)/$1" 2>/dev/null))
	[ "$got" = "$3" ] || {
		echo "$1: $2 is '$got'"
		return 1
	}
}

@test "perftest: the device, and a run that was aborted is a row" {
	has_values perftest-bw.txt src_nic mlx5_3
	has_values perftest-bw.txt bw_GB_s 49.1825345
	has_values perftest-aborted.txt src_nic "mlx5_0 mlx5_0 mlx5_0 mlx5_1"
	has_values perftest-aborted.txt outcome "ok ok error error"
	has_values perftest-aborted.txt code "- - wc_retry_exceeded perftest_mr"
	echo "IB device mlx5_9 not found" >early
	echo " Unable to find the Infiniband/RoCE device" >>early
	run_p import early
	[ "$(columns_of outcome out)" = error ]
	# a document that has tables as well is read for these
	{ echo "Couldn't create CQ"; cat "$(logs)/aml.log"; } >document
	[ "$("$GPUCHECK" import document 2>/dev/null | wc -l)" -eq 125 ]
}

@test "nvbandwidth: which way a matrix goes, the source says, not the arrow" {
	# 18.6 stands in row 1, column 0, of a read test: 0 is read by 1
	has_values nvbandwidth.json bw_GB_s "55.41 55.38 371.2 18.6 - - -"
	has_values nvbandwidth.json src_rank "- - 1 0 - - -"
	has_values nvbandwidth.json dst_rank "0 1 0 1 0 1 -"
	has_values nvbandwidth.json lat_us "- - - - 0.8125 0.8061 -"
	has_values nvbandwidth.json outcome "ok ok ok ok ok ok error"
	grep -q 'nvbandwidth waived a test' err
	"$GPUCHECK" import "$(logs)/nvbandwidth.txt" >out
	[ "$(columns_of outcome out | sort | uniq -c | xargs)" = "56 ok" ]
	grep -q '^1,7,vm,7,,6,vm,6,,cuda,CE,write,.*,396.09,' out
}

@test "nvbandwidth: a matrix of one test is a run of p2p, with a verdict" {
	run_p import -q -o run "$(logs)/nvbandwidth.txt"
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.probe, .status, .cells.pass]' run/verdict.json)" = \
		'["p2p","pass",56]' ]
	# GPU 3 at half of what the others have
	awk '/^ *3 / { for (i = 2; i <= NF; i++) { $i = $i == "N/A" ? $i : $i / 2 } }
		/^ *[0124567] / && NF == 9 { $5 = $5 / 2 } 1' \
		"$(logs)/nvbandwidth.txt" >slow
	run_p import -q -o slow.run slow
	[ "$(jq -c '[.findings[] | [.kind, .node, .index]]' \
		slow.run/verdict.json)" = '[["gpu","vm",3]]' ]
	# who asked fping does not say; rows of one pair are no matrix
	for file in fping.txt perftest-bw.txt nvbandwidth.json; do
		run_p import -q -o "run.$file" "$(logs)/$file"
		[ "$status" -eq 0 ]
		[ -s "run.$file/results.csv" ]
	done
}

@test "OSU, fping, ClusterKit" {
	has_values osu-bw.txt bw_GB_s "0.00112 0.89035 24.3105"
	has_values osu-allreduce.txt time_us "12.41 8630.58"
	has_values osu-allreduce.txt time_max_us "12.98 8642.46"
	has_values osu-allreduce.txt op "allreduce allreduce"
	has_values fping.txt dst_ip \
		"10.1.0.1 10.1.0.2 10.1.0.3 10.1.0.4 10.1.0.5 10.1.0.6"
	has_values fping.txt received "5 4 0 2 1 0"
	has_values fping.txt rtt_avg_us "52 50 - 45 44 -"
	has_values fping.txt code "- loss no_reply loss - no_reply"
	has_values clusterkit/bandwidth.json bw_GB_s "48.2105 48.1902 12.0117"
	has_values clusterkit/bandwidth.json dst_node "n2 n3 n3"
	has_values clusterkit/latency.json lat_us 1.79
}

@test "rccl-tests and MSCCL++: in place first, nan, boxes" {
	has_values rccl-tests.log inplace "1 1 1"
	has_values rccl-tests.log outcome "ok corrupt corrupt"
	has_values rccl-tests.log wrong "0 - 3"
	has_values rccl-tests.log lib "2.20.5-HEAD:d380693 2.20.5-HEAD:d380693 2.20.5-HEAD:d380693"
	has_values mscclpp-test.log inplace "1 1 0"
	has_values mscclpp-test.log time_us "30.11 41.2 28.04"
	has_values mscclpp-test.log wrong "0 - 0"
	has_values mscclpp-allreduce-boxed.txt variant \
		"mscclpp nccl mscclpp nccl"
	has_values mscclpp-allreduce-boxed.txt size_B \
		"2048 2048 536870912 536870912"
	has_values mscclpp-allreduce-boxed.txt algbw_GB_s \
		"0.33 0.17 198.02 134.27"
	has_values mscclpp-allreduce-boxed.txt outcome "ok ok corrupt ok"
	has_values mscclpp-allgather-bars.txt algo default_allgather_fullmesh
	has_values mscclpp-allgather-bars.txt busbw_GB_s 176.87
}

@test "an algorithm that was not deployed, and a block that is empty, are said" {
	{
		echo "- hierarchical_allreduce 8 2 2: not deployed"
		echo "- 8 1 2 deployed, but not completely"
		echo "### hier 1 1"
		printf '%s\n' '```' '```'
		cat "$(logs)/msccl.log"
	} >notes
	run_p import notes
	[ "$status" -eq 0 ]
	grep -q 'not deployed: hierarchical_allreduce 8 2 2' err
	grep -q 'deployed in part: 8 1 2 deployed, but not completely' err
	grep -q 'nothing was measured under "hier 1 1"' err
}

@test "each fixture has its source, and each format its place in the manual" {
	cd "$(logs)"
	for file in *.* clusterkit; do
		grep -q "\`$file" README.md || [ "$file" = README.md ]
	done
	cd "$BATS_TEST_TMPDIR"
	echo "hello" >text
	run_p import text
	for name in nccl-tests rccl-tests MSCCL++ perftest nvbandwidth \
		p2pBandwidthLatencyTest OSU ClusterKit fping; do
		grep -q "^hint: .*$name" err
		grep -q "^\.It .*$name" "$root/cli/man/gpucheck-import.1"
	done
}

# FILE: rows, those that are good, op and ranks of the first, bandwidth or time
# of the last good one, ranks of the pair, and the first code.
gist()
{
	"$GPUCHECK" import --json "$1" 2>/dev/null >json || :
	[ -s json ] || {
		echo "0 0 - - - - -"
		return
	}
	jq -r 'def o: if . == null or . == "" then "-" else tostring end;
		.rows as $r | [$r[] | select(.outcome == "ok")] as $good |
		($r[0] // {}) as $a | ($good[-1] // {}) as $b |
		[($r | length), ($good | length), ($a.op | o), ($a.ranks | o),
		([$b.busbw_GB_s, $b.bw_GB_s, $b.lat_us, $b.rtt_avg_us,
		$b.time_us] | map(select(. != null))[0] | o),
		(($a.src_rank | o) + ">" + ($a.dst_rank | o) |
		if . == "->-" then "-" else . end),
		([$r[].code // "" | select(. != "")][0] | o)] | join(" ")' json
}

@test "42 outputs of tools: at least 38 are read right, none silently wrong" {
	local right=0 refused=0 number want got
	awk '/^@ / { split($0, at, " [|] "); name = substr(at[1], 3) ".out"
		print name, at[3]; next }
		{ print >name }' "$(logs)/outputs.txt" >list
	[ "$(wc -l <list)" -eq 42 ]
	while read -r number want; do
		got=$(gist "$number")
		if [ "$got" = "${want% refused}" ]; then
			right=$((right + 1))
		elif [ "$got" = "0 0 - - - - -" ]; then
			refused=$((refused + 1))
		fi
		[ "$got" = "${want% refused}" ] ||
			echo "$number is '$got' instead of '$want'"
	done <list
	echo "$right right, $refused refused, $((42 - right - refused)) wrong"
	[ $right -ge 38 ]
	[ $((right + refused)) -eq 42 ]
}

@test "a log that fails, or is cut, never passes" {
	head -30 "$(logs)/h200-threads.log" >cut.log
	run_p import -o cut.run cut.log
	[ "$status" -eq 0 ]
	grep -q '^PARTIAL' out
	grep -q '^# Out of bounds values : 0 where measured' out
	[ "$(grep -c 'Avg bus' out)" -eq 0 ]
	grep -q 'the log ends before "Avg bus bandwidth"' err
	{
		cat cut.log
		echo "n1: Test NCCL failure common.cu:62 'unhandled cuda error'"
		echo " .. n1 pid 12: Test failure common.cu:391"
	} >failed
	run_p import -o failed.run failed
	grep -q '^FAIL' out
	grep -q 'Test NCCL failure common.cu:62' out
	[ "$(jq '.cells.pass' failed.run/verdict.json)" -eq 24 ]
	# the second program of a log gives up before its table
	{ cat "$(logs)/h200-threads.log"; tail -2 failed; } >second
	[ "$("$GPUCHECK" import --json second 2>/dev/null |
		jq -c '.rows | [length, (map(select(.outcome == "error")) |
			length)]')" = "[57,1]" ]
	# nobody can say how many ranks there were
	sed '/Rank *[0-3] /d' "$(logs)/h200-threads.log" >last.log
	[ "$("$GPUCHECK" import --json last.log 2>/dev/null |
		jq '.rows[0].ranks')" = null ]
	# the mean is that of the log
	sed 's/\(Avg bus bandwidth *\): .*/\1: 99.5/' \
		"$(logs)/h200-threads.log" >other
	run_p import -o mean.run other
	grep -q '^# Avg bus bandwidth    : 99.5$' out
	# a table that does not name its collective is none of them
	sed '/all_reduce/d' cut.log >nameless
	run_p import -o nameless.run nameless
	[ "$(jq -r .probe nameless.run/run.json)" = collective ]
}

@test "-o shows rows that are no map, and report reads them" {
	for file in perftest-bw.txt fping.txt osu-bw.txt nvbandwidth.json \
		perftest-aborted.txt p2p.txt; do
		run_p import -o "run.$file" "$(logs)/$file"
		[ "$status" -eq 0 ]
		grep -q 'results of another program' out
		run_p report "run.$file"
		[ "$status" -le 1 ]
		[ "$(grep -c 'UNKNOWN\|damaged' out)" -eq 0 ]
	done
	# no server
	printf '%s\n' "Couldn't connect to 10.0.0.2:18515" \
		"Unable to init the socket connection" >none
	run_p import none
	[ "$status" -eq 1 ]
	run_p import -o run.none none
	[ "$status" -eq 1 ]
	grep -q '^FAIL' out
	has_values p2p.txt bw_GB_s "22.36 22.4 22.37 22.39 31.09 31.11 31.16 31.14 - - - -"
	has_values p2p.txt src_rank "0 1 0 1 0 1 1 0 0 1 0 1"
	has_values p2p.txt lat_us "- - - - - - - - 11.24 11.18 11.17 11.31"
}

@test "what a run of gpucheck has left is for report" {
	cp -r "$root/tests/fixtures/runs/p2p-2x4-healthy" 'a run'
	for file in 'a run'/results.csv 'a run'/run.json 'a run'; do
		run_p import "$file"
		fails 3 "gpucheck report 'a run'"
	done
	cd 'a run'
	run_p import results.csv
	fails 3 'hint: that is of a run of gpucheck: "gpucheck report ."'
	# a log that was put there is one all the same
	echo hello >text
	run_p import text
	fails 3 "hint: gpucheck reads"
}

@test "what is no table is exit 3, with a hint" {
	echo "hello" >text
	run_p import text
	fails 3 "no known table in text"
	run_p import -v text
	fails 3 "text:1: hello"
	run_p import absent
	fails 3 "cannot read file 'absent'"
	echo '{"results": [' >json
	run_p import json
	fails 3 "hint: if the program was stopped"
	"$GPUCHECK" import "$(logs)/aml.log" >rows
	run_p import
	[ "$status" -eq 2 ]
}

@test "--machine and --rails: each table has its share of the ceiling" {
	run_p import --machine=ndv4 -o run "$(logs)/aml.log"
	[ "$status" -eq 0 ]
	grep -q '^# 234.2 GB/s at 8 GiB, 78 % of what NVLink carries' out
	grep -q '^# 187.7 GB/s at 8 GiB, 94 % of what 8 rails carry by Ring, 50 % by NVLSTree' out
	jq -e '[.findings[].code] | index("below_ceiling") == null' run/verdict.json
	grep -q 'note: 8 B take 17.6 us; published runs of 8 GPUs on 1 node' out
	# the same figures of a machine with twice the rails
	run_p import --machine=dgx-h100 -o twice "$(logs)/aml.log"
	[ "$status" -eq 0 ]
	jq -e '[.findings[] | select(.code == "below_ceiling") | .severity] ==
		["fail", "warn"]' twice/verdict.json
	grep -q '47 % of what 8 rails carry by Ring' out
	for wrong in --machine=ndv --rails=8 --rails=8x400; do
		run_p import "$wrong" "$(logs)/aml.log"
		[ "$status" -eq 2 ]
	done
}
