#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# A run from the outside: exit codes, stdout and stderr, files.

load helper
load ../await

@test "exit 0: every ordered pair has a row, stdout has words and a map" {
	with_pictures
	run_p p2p --local=2x3 --transport=tcp -o run
	[ "$status" -eq 0 ]
	# first attempts: a slow one is tried again where cores are shared
	grep '^attempt,\|^1,' run/results.csv >first
	[ "$(columns_of outcome first | sort | uniq -c | tr -s ' ')" = " 30 ok" ]
	columns_of lat_us first >lat
	absent '^$' lat
	[ -n "$output" ]
	grep -q "report.html" out
	for file in run.json results.csv facts.csv events.csv verdict.json; do
		[ -s run/$file ]
	done
	drawn run/heatmap-bw.png run/heatmap-bw.svg
}

@test "exit 1: a drill finds its fault, report repeats the code" {
	echo "dead gpu=1:1" >drill
	small_run --faults=drill -o run
	[ "$status" -eq 1 ]
	run_p report run
	[ "$status" -eq 1 ]
	[ "$(jq .drill run/verdict.json)" = true ]
	[ "$(jq .drill run/run.json)" = true ]
}

@test "the model, too, finds changed data only where it is looked for" {
	echo "corrupt pair=0-1" >drill
	run_p p2p --local=1x3 --transport=sim --faults=drill -c 0 -o run
	[ "$status" -eq 0 ]
	[ "$(columns_of outcome run/results.csv | sort -u)" = ok ]
	[ -z "$(columns_of wrong run/results.csv | sort -u)" ]
	run_p p2p --local=1x3 --transport=sim --faults=drill -o run2
	[ "$status" -eq 1 ]
}

@test "--local: nodes are left out by their names" {
	run_p p2p --local=4x1 -x n1,n3 --transport=sim --csv -o run
	[ "$status" -eq 0 ]
	[ "$(awk -F, 'NR > 1 { print $3 $7 }' out | sort | xargs)" = "n0n2 n2n0" ]
	run_p info --local=4x1 --nodelist=n[0-2] -x n0 -o run2
	[ "$(columns_of node run2/results.csv | sort | xargs)" = "n1 n2" ]
	run_p p2p --local=2x1 -x n2 --transport=sim -o run3
	[ "$status" -eq 2 ]
	grep -q "'n2'" err
}

@test "ib: with fewer ports than ranks a model shares them" {
	for hca in mlx5_0 mlx5_1; do
		port=root/sys/class/infiniband/$hca/ports/1
		mkdir -p "$port"
		echo '4: ACTIVE' >"$port/state"
	done
	run_p ib --transport=sim --local=2x2 --sysroot="$PWD/root" --csv -o run
	[ "$status" -eq 0 ]
	# source and destination on a rail
	[ "$(awk -F, 'NR > 1 { print $5, $9 }' out | sort -u | xargs)" = \
		"mlx5_0 mlx5_0 mlx5_1 mlx5_1" ]
}

# port NAME LAYER RATE: below root
make_port()
{
	local port=root/sys/class/infiniband/$1/ports/1
	mkdir -p "$port/gids" "$port/pkeys"
	echo '4: ACTIVE' >"$port/state"
	echo "$2" >"$port/link_layer"
	echo "$3 Gb/sec (4X)" >"$port/rate"
	[ "$2" = Ethernet ] || {
		echo fe80:0000:0000:0000:b83f:d203:0058:1d2e >"$port/gids/0"
		echo 0xffff >"$port/pkeys/0"
	}
}

@test "ib: ports of different fabrics are no pair, and it says so" {
	local n
	for n in 0 1 2 3 4 5 6 7; do
		make_port mlx5_$n InfiniBand 400
	done
	for n in 0 1 2 3; do
		make_port mlx5_bond_$n Ethernet 200
	done
	# rates differ by design, too
	run_p ib --transport=sim --local=2x12 --pairs=inter --strict \
		--sysroot="$PWD/root" --csv -o run
	[ "$status" -eq 0 ]
	[ "$(awk -F, 'NR > 1 { sub("_[0-9]$", "", $5); sub("_[0-9]$", "", $9);
		print $5, $9 }' out | sort | uniq -c | xargs)" = \
		"128 mlx5 mlx5 32 mlx5_bond mlx5_bond" ]
	run_p report run
	[ "$status" -eq 0 ]
	xargs <out | grep -q 'InfiniBand, 400 Gb/s.*; Ethernet, 200 Gb/s'
	run_p ib --transport=sim --local=1x2 --hca==mlx5_0,mlx5_bond_0 \
		--sysroot="$PWD/root"
	fails 2 'of one fabric'
}

@test "ib: mlxlink and rdma_topo: bits that are wrong, a module out of its range" {
	local fixtures=$BATS_TEST_DIRNAME/../fixtures/tools n
	mkdir -p root/mlxlink root/rdma_topo nodes
	for n in 0 1; do
		make_port mlx5_$n InfiniBand 400
		cp "$fixtures/mlxlink.json" root/mlxlink/mlx5_$n
	done
	cp "$fixtures/rdma_topo" root/rdma_topo/check
	cp -r root nodes/n0
	cp -r root nodes/n1
	run_p ib --transport=sim --local=2x2 --sysroot="$PWD/nodes" -o run
	[ "$status" -eq 0 ]
	jq -e '.findings == []' run/verdict.json
	[ "$(awk -F, '$1 == "n1" && $2 == "mlx5_1" && $6 == "mlxlink" {
		print $3 "=" $4 $5 }' run/facts.csv | grep -v power | xargs)" = \
		"module=OSFP-400G-DR4 module_temp=61C raw_ber=5E-10 \
effective_ber=15E-255 effective_errors=0" ]
	grep -q 'n0,node,acs_check,wrong,,rdma_topo' run/facts.csv
	jq '.result.output |= (."Physical Counters and BER Info" |=
		(."Raw Physical BER" = "3E-6") | ."Module Info" |=
		(."Rx Power Current [dBm]" = "3,-12.1,3,3 [-9.914..6.999]"))' \
		"$fixtures/mlxlink.json" >nodes/n1/mlxlink/mlx5_1
	sed -i s/FAIL/OK/ nodes/n1/rdma_topo/check
	run_p ib --transport=sim --local=2x2 --sysroot="$PWD/nodes" -o bad
	[ "$status" -eq 0 ]
	jq -e '[.findings[] | select(.code == "link_quality") |
		[.kind, .node, .index, .severity]] ==
		[["nic", "n1", 1, "warn"]] and .exclude == []' bad/verdict.json
	jq -r '.findings[] | .says, .evidence[]' bad/verdict.json >said
	grep -q 'Rx Power Current of lane 1 is -12.1 dBm, not -9.914' said
	grep -q '3e-06 of its bits are wrong before FEC, 5e-10 on most' said
	# nodes differ in what rdma_topo says
	cp -r nodes/n1 nodes/n2
	for n in 0 1 2; do
		mkdir -p nodes/n$n/proc/sys/kernel/random
		echo "$n" >nodes/n$n/proc/sys/kernel/random/boot_id
	done
	run_p info --local=3x1 --sysroot="$PWD/nodes" -o info
	jq -e '.findings | any(.node == "n0" and
		(.says | contains("acs_check")))' info/verdict.json
	# the program itself; one that hangs is left
	mkdir bin
	printf '#!/bin/sh\ncat %s/rdma_topo\nexit 100\n' "$fixtures" \
		>bin/rdma_topo
	chmod +x bin/rdma_topo
	PATH=$PWD/bin:$PATH run_p info --local=1x1 -o program
	grep -q 'n0,node,acs_wrong,"cx_switch 0000:01.*0000:03.*rdma_topo$' \
		program/facts.csv
	printf '#!/bin/sh\nsleep 60\n' >bin/rdma_topo
	PATH=$PWD/bin:$PATH run_p info --local=1x1 -o hangs
	[ "$status" -eq 0 ]
	absent acs_wrong hangs/facts.csv
}

@test "ib: NCCL_IB_HCA is the default of --hca, and it says so" {
	make_port mlx5_0 InfiniBand 400
	make_port mlx5_1 InfiniBand 400
	make_port mlx5_2 InfiniBand 400
	NCCL_IB_HCA=^mlx5_1 run_p ib --transport=sim --local=2x2 \
		--sysroot="$PWD/root" -o env
	[ "$status" -eq 0 ]
	[ "$(jq -c .nodes[1].parts env/run.json)" = '["mlx5_0","mlx5_2"]' ]
	xargs <out | grep -q 'NCCL_IB_HCA=^mlx5_1 (environment); --hca takes'
	NCCL_IB_HCA=^mlx5_1 run_p ib --transport=sim --local=2x1 --hca=mlx5_1 \
		--sysroot="$PWD/root" -o option
	[ "$(jq -c .nodes[1].parts option/run.json)" = '["mlx5_1"]' ]
	[[ $(<out) != *NCCL_IB_HCA* ]]
	# of a file, on one node of two
	mkdir -p nodes/n1/etc
	cp -r root nodes/n0
	cp -r root/sys nodes/n1
	echo NCCL_IB_HCA==mlx5_2 >nodes/n1/etc/nccl.conf
	run_p ib --transport=sim --local=2x3 --sysroot="$PWD/nodes" -o file
	xargs <out | grep -q \
		'NCCL_IB_HCA==mlx5_2 (/etc/nccl.conf) on 1 of 2 nodes'
}

@test "ib measures each port of a NIC that NCCL makes one of several" {
	for n in n0 n1 n2; do
		"$root/tests/machines/expand" \
			"$root/tests/machines/nics/leonardo.nics" "dual/$n"
	done
	run_p plan p2p --explain-nics --sysroot="$PWD/dual/n0" --json
	jq -e '.[0].nics == ["mlx5_0+mlx5_1"]' out
	echo 'dead nic=1:1' >drill
	COLUMNS=80 run_p ib --transport=sim --local=3x4 --sysroot="$PWD/dual" \
		--inject=drill -o run
	[ "$status" -eq 1 ]
	[ "$(columns_of src_nic run/results.csv | sort -u | xargs)" = \
		"mlx5_0 mlx5_1 mlx5_2 mlx5_3" ]
	jq -e '.findings | map("\(.kind) \(.node) \(.name)") ==
		["nic n1 mlx5_1"]' run/verdict.json
	# a table that fits
	[ "$(grep -v "gpucheck ib" out | wc -L)" -le 80 ] || { cat out; false; }
	sed -i 's/mlx5_/rocep170s0f/g; s,SIM/inter,RoCEv2/gid1/mtu1024,' \
		run/*.csv run/run.json
	COLUMNS=80 run_p report run
	[ "$(grep -v "gpucheck ib" out | wc -L)" -le 80 ] || { cat out; false; }
	grep -q '^n0:0 rocep170s0f0 n1:0 rocep170s0f0 .*/mtu1024$' out
}

@test "--switches: a finding names switch and port, by the GUID or by names" {
	local n
	for n in 0 1 2; do
		make_port mlx5_$n InfiniBand 400
		echo "fe80:0000:0000:0000:0000:0000:0000:00a$n" \
			>root/sys/class/infiniband/mlx5_$n/ports/1/gids/0
	done
	cp -r root n0
	sed -i 's/00a/00b/' root/sys/class/infiniband/*/ports/1/gids/0
	mkdir nodes
	mv n0 nodes/n0
	cp -r root nodes/n1
	cp -r root nodes/n2
	{
		printf 'Switch\t40 "S-1"\t# "leaf7" base port 0 lid 2 lmc 0\n'
		printf '[3]\t"H-0"[1](a1) # "?" lid 4 4xHDR\n'
		printf '[9]\t"H-0"[1](ff) # "n1 mlx5_2" lid 4 4xHDR\n'
	} >fabric
	for n in '0:1 3' '1:2 9'; do
		echo "dead nic=${n% *}" >drill
		run_p ib --transport=sim --local=3x3 --sysroot="$PWD/nodes" \
			--pairs=inter --faults=drill --switches=fabric -o run
		[ "$status" -eq 1 ]
		jq -e --arg p "${n#* }" '.findings | length == 1 and
			(.[0].says | contains("connected to switch leaf7, port " + $p))' \
			run/verdict.json
		rm -r run
	done
	# one that is not listed stays without
	echo "dead nic=2:0" >drill
	run_p ib --transport=sim --local=3x3 --sysroot="$PWD/nodes" \
		--pairs=inter --faults=drill --switches=fabric -o run
	[[ $(<out) != *connected* ]]
	echo nothing >fabric
	run_p ib --transport=sim --local=2x2 --switches=fabric
	fails 2 "no node or HCA is connected to a switch in 'fabric'"
}

@test "--switches: Slurm's topology.conf says which nodes share a leaf" {
	printf 'SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=n[3-5]\n' >conf
	printf 'dead node_pair=%s\n' 0-3 0-4 0-5 1-3 1-4 1-5 2-3 2-4 2-5 >drill
	run_p p2p --local=6x2 --transport=sim --faults=drill --switches=conf \
		-o run
	[ "$status" -eq 1 ]
	jq -e '.findings[0].kind == "switch"' run/verdict.json
	grep -q 'leaf switch [ab] ' out
}

@test "exit 1 for a warning only with --strict" {
	printf 'flaky pair=0-3 rate=0.5\n' >drill
	for seed in 1 2 3 4 5 6 7 8; do
		small_run --faults=drill --seed=$seed -o run$seed
		[ "$(jq -r .status run$seed/verdict.json)" = warn ] || continue
		[ "$status" -eq 0 ]
		small_run --faults=drill --seed=$seed --strict -o strict
		[ "$status" -eq 1 ]
		return
	done
	echo "no seed of eight gave a warning"
	false
}

@test "exit 4: out of time, what was measured is kept" {
	printf 'hang pair=0-1\nhang pair=0-2\nhang pair=0-3\nhang pair=1-2\n' \
		>drill
	# until something was measured: a busy machine takes longer to begin
	for limit in 2s 8s 30s; do
		rm -rf run
		run_p p2p --local=2x2 --transport=tcp --faults=drill \
			--timeout=60s --max-time=$limit -o run
		! grep -q ',ok,' run/results.csv || break
	done
	[ "$status" -eq 4 ]
	[ -s run/results.csv ]
	run_p report run
	[ "$status" -eq 4 ]
}

@test "^C stops a local run in order and keeps the rows: exit 4" {
	printf 'hang pair=0-1\n' >drill
	"$GPUCHECK" p2p --local=2x2 --transport=tcp --faults=drill \
		--timeout=60s -o run >out 2>err &
	pid=$!
	# the pair that the hanging one leaves free, both ways
	for _ in $(seq 300); do
		[ "$(wc -l 2>/dev/null <run/results.csv || echo 0)" -lt 3 ] ||
			break
		sleep 0.1
	done
	kill -INT $pid
	rc=0
	wait $pid || rc=$?
	[ "$rc" -eq 4 ]
	grep -q "stopping" err
	[ "$(jq -r .stop_reason run/run.json)" = interrupted ]
	# the hanging pair may have begun, which is a fault
	jq -e '.status == "partial" or .status == "fail"' run/verdict.json
	grep -Eq '^(PARTIAL|FAIL) ' out
	grep -q 'partial: [0-9]* of 12 measured, the run did not finish (interrupted)' out
	[ "$(grep -c ',ok,' run/results.csv)" -gt 0 ]
	# no process of the run is left
	for _ in $(seq 50); do
		pgrep -f "$PWD/run" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -af "$PWD/run"
	false
}

@test "report on a run that goes on: what it has so far, and no file" {
	printf 'hang pair=0-1\ndead gpu=1:1\n' >drill
	"$GPUCHECK" p2p --local=2x3 --transport=tcp --faults=drill \
		--timeout=60s -o run >front 2>&1 &
	pid=$!
	await 30 has_rows 8
	await 30 grep -q drill_dead run/results.csv
	find run -name logs -prune -o -type f -print | sort >before
	run_p report run
	[ "$status" -eq 4 ]
	grep -q '^RUNNING p2p on 2 nodes' out
	grep -q 'running: [0-9]* of 30 measured so far; its coordinator is' out
	grep -q '^FAIL' out
	absent '--resume|partial' out
	absent '--resume' err
	run_p report --json run
	[ "$status" -eq 4 ]
	jq -e '.verdict.status == "running"' out
	find run -name logs -prune -o -type f -print | sort | diff before -
	kill -INT $pid
	wait $pid || true
	run_p report run
	[ "$status" -eq 4 ]
	grep -q '^FAIL' out
	grep -q 'partial: [0-9]* of 30 measured, the run did not finish' out
}

has_rows()
{
	[ "$(wc -l 2>/dev/null <run/results.csv || echo 0)" -gt "$1" ]
}

@test "--json is one object with run, verdict and rows" {
	small_run --json -o run
	[ "$status" -eq 0 ]
	[ "$(jq -r '.rows | length' out)" -eq 12 ]
	[ "$(jq -r .verdict.status out)" = pass ]
	[ "$(jq -r .run.probe out)" = p2p ]
	jq -S .verdict out >one
	jq -S . run/verdict.json | diff one -
}

@test "--json=verdict has no rows" {
	small_run --json=verdict -o run
	[ "$(jq -c keys out)" = '["run","verdict"]' ]
	run_p report --json run
	[ "$(jq -c keys out)" = '["rows","run","verdict"]' ]
	run_p report --json=rows run
	[ "$status" -eq 2 ]
}

@test "--csv is one line an ordered pair, whatever was tried again or lost" {
	printf 'flaky pair=0-1 rate=0.5\ndead pair=2-3\n' >drill
	run_p p2p --local=2x3 --transport=sim --faults=drill --csv -o run
	cmp out run/results-final.csv
	[ "$(wc -l <out)" -eq 31 ]
	[ "$(wc -l <run/results.csv)" -gt 31 ]
	[ -z "$(cut -d, -f2,6 out | sort | uniq -d)" ]
	grep -q '^2,2,n0,2,nic2,3,.*,error,' out

	sed -i '/,4,n1,1,/d' run/results.csv	# where one end is rank 4
	run_p report --csv run
	cmp out run/results-final.csv
	[ "$(wc -l <out)" -eq 31 ]
	[ "$(grep -c ',not_run,' out)" -eq 10 ]
	grep -q '^,4,n1,1,,0,n0,0,nic0,sim,' out
}

@test "report.html has every test, compressed, and nothing but its own script" {
	echo 'dead gpu=1:2' >drill
	run_p p2p --local=8x8 --transport=sim --faults=drill -o run
	python3 - run <<-'EOF'
	import base64, csv, hashlib, json, math, re, struct, sys, zlib
	page = open(sys.argv[1] + '/report.html').read()
	data = re.search('id="data">([^<]*)<', page)[1]
	raw = zlib.decompress(base64.b64decode(data))
	size = struct.unpack_from('<I', raw)[0]
	head, at = json.loads(raw[4:4 + size]), 4 + size
	n, ranks = head['n'], head['ranks']
	assert n == 64 * 64 and len(ranks) == 64 and head['square'], head
	outcome, low, high = raw[at:], raw[at + 3 * n:], raw[at + 4 * n:]
	for row in csv.DictReader(open(sys.argv[1] + '/results-final.csv')):
	    i = int(row['src_rank']) * 64 + int(row['dst_rank'])
	    word = head['classes'][outcome[i]]
	    assert word == ('pass' if row['outcome'] == 'ok' else 'fail'), row
	    v = low[i] | high[i] << 8
	    assert bool(v) == bool(row['bw_GB_s']), row
	    if v:
	        bw = math.exp((v - 1) * head['step']) * head['least']
	        assert abs(bw / float(row['bw_GB_s']) - 1) < 0.0015, (bw, row)
	touched = raw[at + 11 * n:]
	assert len(touched) == n // 8 and sum(bin(b).count('1')
	    for b in touched) == 126 + 1, 'of GPU 2 of n1, and its diagonal'
	script = re.search(r'<script>(.*)</script>', page, re.S)[1]
	digest = base64.b64encode(hashlib.sha256(script.encode()).digest())
	assert f"script-src 'sha256-{digest.decode()}'" in page
	EOF
}

@test "docs/formats.md and data/schema have all that a run leaves" {
	python3 -c 'import jsonschema' 2>why || skip "no python3-jsonschema"
	printf 'dead gpu=1:2\nflaky pair=0-1 rate=0.5\n' >drill
	run_p all --local=2x4 --transport=sim --faults=drill -o all
	run_p p2p --local=2x4 --transport=sim --sample=1 -o sample
	run_p p2p --resume sample
	run_p allreduce --local=2x2 --transport=sim --algo=Ring,Tree -o curves
	"$root/tests/lint/formats" all all/*/ sample curves \
		"$root"/data/reference/*/ >said
	[ ! -s said ]
	"$root/tests/lint/formats" --docs >said
	[ ! -s said ]

	# it sees what they lack
	sed -i 's/"probe"/"prob"/' sample/run.json
	sed -i 1s/src_rank/from/ sample/results.csv
	"$root/tests/lint/formats" sample >said
	[ "$(wc -l <said)" -ge 3 ]
}

@test "--quiet says nothing when all is well" {
	small_run --quiet -o run
	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
}

@test "run.json has what was asked for" {
	echo "noise percent=5" >drill
	small_run --faults=drill -b 8 -e 64 --timeout=1.5s -o run
	jq -e '.schema == 1 and .probe == "p2p" and .launcher == "local" and
		.drill and .drill_text == "noise percent=5\n" and
		(.nonce | test("^[0-9a-f]{32}$")) and
		.options.minbytes == "8" and .options.maxbytes == "64" and
		.options["test-timeout"] == "1500ms" and .options.local == "2x2" and
		(.argv | length) == 12 and .planned.cells == 12' run/run.json
}

@test "two ranks as words are one pair, both ways" {
	small_run 0 3 -o run
	[ "$status" -eq 0 ]
	[ "$(columns_of src_rank run/results.csv | sort | tr '\n' ' ')" = "0 3 " ]
}

@test "the default directory has probe and time in its name" {
	small_run
	[ "$status" -eq 0 ]
	[[ $(echo gpucheck-p2p-*) =~ ^gpucheck-p2p-20[0-9]{6}T[0-9]{6}Z?-[0-9a-z]+$ ]]
}

@test "--dry-run prints and makes nothing" {
	run_p p2p -N 2 -G 8 --launcher=sbatch --dry-run -- --partition=gpu
	[ "$status" -eq 0 ]
	grep -q "^#!/bin/" out
	grep -q -- "--partition=gpu" out
	grep -q "gpucheck agent\|agent" out
	run_p p2p --local=2x2 --dry-run
	[ "$status" -eq 0 ]
	[ -n "$output" ]
	rm out err
	[ -z "$(ls)" ]
}

@test "a full disk behind stdout: exit 3, the run is kept" {
	rc=0
	"$GPUCHECK" p2p --local=2x2 --transport=sim --csv -o run \
		>/dev/full 2>err || rc=$?
	[ "$rc" -eq 3 ]
	grep -q "cannot write standard output: No space left on device" err
	[ "$(wc -l <run/results.csv)" -eq 13 ]
	run_p allreduce --local=2x2 --transport=sim -b 1K -e 64M -o group
	rc=0
	"$GPUCHECK" report group >/dev/full 2>err || rc=$?
	[ "$rc" -eq 3 ]
	grep -q "cannot write standard output: No space left on device" err
	rc=0
	"$GPUCHECK" help >/dev/full 2>err || rc=$?
	[ "$rc" -eq 3 ]
	grep -q "hint: .*full" err
	# once, whatever is said in between, and for why it is so
	for form in json csv; do
		rc=0
		"$GPUCHECK" p2p --local=2x8 --transport=sim --$form \
			-o $form >/dev/full 2>err || rc=$?
		[ "$rc" -eq 3 ]
		[ "$(grep "cannot write" err)" = "gpucheck: cannot write \
standard output: No space left on device" ]
	done
}

@test "a closed stdout is an error, a reader that leaves is none" {
	rc=0
	"$GPUCHECK" help >&- 2>err || rc=$?
	[ "$rc" -eq 3 ]
	bash -o pipefail -c '{ sleep 0.5; "$GPUCHECK" help csv 2>err; } | true'
	[ ! -s err ]
	# also one that has seen the first line of more than a pipe holds
	for form in json csv; do
		"$GPUCHECK" p2p --local=4x8 --transport=sim --$form -o $form \
			2>err | head -1 >line
		[ "${PIPESTATUS[0]}" -eq 0 ]
		[ "$(wc -l <line)" -eq 1 ]
		absent 'cannot write' err
	done
}

@test "without gnuplot: one line says so, words and rows come" {
	mkdir bin
	for program in bash env; do
		ln -s "$(command -v $program)" bin/
	done
	PATH=$PWD/bin run_p p2p -v --local=2x2 --transport=sim -o run
	[ "$status" -eq 0 ]
	[ "$(grep -c gnuplot err)" -ge 1 ]
	[ -n "$output" ]
	[ "$(wc -l <run/results.csv)" -eq 13 ]
	[ -s run/verdict.json ]
	grep -q '^picture: .*/heatmap-bw.svg' out
	grep -q '^</svg>' run/heatmap-bw.svg
	absent '^picture: .*png' out
	# a PNG of an earlier report stays, not named as if it were new
	run_p report -v run
	grep -q '^picture: .*/heatmap-bw.png' out
	[ -s run/heatmap-lat.svg ]
	PATH=$PWD/bin run_p report -v run
	grep -q "no PNG of the heat map: gnuplot is not installed" err
	absent '^picture: .*png' out
	[ -s run/heatmap-bw.png ]
	PATH=$PWD/bin run_p version
	grep -q "^gnuplot *not found" out
}

@test "nccl without a GPU: why, and what would work" {
	[ ! -e /dev/nvidia0 ] || skip "this machine has a GPU"
	run_p p2p --local=2x2 --transport=nccl -o run
	[ "$status" -eq 3 ]
	grep -qiE "gpu|driver|libcuda|libnccl" out err
	grep -q -- "--transport=tcp" out err
}

@test "no colour in a pipe, none with NO_COLOR, some when forced" {
	small_run -o run
	absent '\x1b' out
	run_p report --color=always run
	grep -q $'\033' out
	# the characters are a matter of the locale
	run_p p2p --transport=sim --local=3x6 -q -o run3
	run_p report run3
	absent 'rows send' out
	run_p report --map=always run3
	grep -q 'rows send' out
	run_p report --map=never run
	absent 'rows send' out
	NO_COLOR=1 LC_ALL=C.UTF-8 run_p report --map=always run3
	absent '\x1b' out
	grep -q █ out
	LC_ALL=C.UTF-8 run_p report --color=never --map=always run3
	absent '\x1b' out
	grep -q █ out
	LC_ALL=C run_p report run
	absent '[^\x00-\x7f]' out
}

@test "colour on a terminal, progress on a terminal" {
	small_run -o run
	script -qec "$GPUCHECK report run" tty >/dev/null
	grep -q $'\033' tty
	NO_COLOR=1 script -qec "$GPUCHECK report run" tty >/dev/null
	absent '\x1b' tty
	echo "hang pair=0-1" >drill	# long enough for two drawings
	run_p p2p --local=2x2 --transport=tcp --faults=drill --timeout=500ms \
		--progress=always -o run2
	grep -q "of 12 tests" err
	run_p p2p --local=2x2 --transport=tcp --faults=drill --timeout=500ms \
		--progress=never -o run3
	absent 'of 12 tests' err
}

# Run the program as somebody who may not write here.
as_nobody()
{
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# A folder at $folder that everybody may look into, with the program.
public_folder()
{
	folder=$(mktemp -d /tmp/gpucheck-test-XXXXXX)
	chmod 755 "$folder"
	cp "$GPUCHECK" "$folder/gpucheck"
}

@test "where one may not read or write: what to name instead" {
	public_folder
	small_run --quiet -o "$folder/run"
	chmod 0 "$folder/run/run.json"
	chmod a-w "$folder"
	rc=0
	as_nobody "$folder/gpucheck" report "$folder/run" 2>reads || rc=$?
	[ "$rc" -eq 3 ] || echo "read: $rc" >>reads
	rc=0
	as_nobody "$folder/gpucheck" p2p --local=2x2 --transport=sim \
		-o "$folder/new" 2>makes || rc=$?
	[ "$rc" -eq 3 ] || echo "made: $rc" >>makes
	chmod u+w "$folder"
	rm -rf "$folder"
	[ "$(tail -n 1 reads)" = "hint: the run belongs to another user: read it \
as that user or as root" ]
	[ "$(tail -n 1 makes)" = "hint: choose with -o DIR a writable directory \
that all nodes share" ]
}

@test "a run directory of somebody else can still be judged" {
	public_folder
	small_run --quiet -o "$folder/run"
	chmod -R a-w,a+rX "$folder/run"
	rc=0
	as_nobody "$folder/gpucheck" report "$folder/run" >out 2>err || rc=$?
	chmod -R u+w "$folder"
	rm -r "$folder"
	[ "$rc" -eq 0 ]
	grep -q "^PASS" out
	grep -q "^gpucheck: .*verdict.json" err
}

@test "report keeps what it finds elsewhere" {
	small_run --quiet -o run
	cp -r run before
	run_p report -o mine run
	[ "$status" -eq 0 ]
	diff -r before run
	cmp mine/verdict.json run/verdict.json
	grep -q '<svg' mine/report.html
	grep -q "^PASS .* Report: $PWD/mine/report.html$" out
	run_p report -o mine run
	fails 2 "cannot write into 'mine'"
	run_p report -o new mine
	[ "$status" -eq 3 ]
	[ -z "$(ls -A new)" ]
}

@test "root leaves the run directory of somebody else as it is" {
	[ "$(id -u)" -eq 0 ] || skip "only root may write there, too"
	public_folder
	small_run --quiet -o "$folder/run"
	rm "$folder"/run/verdict.json
	sed -i '$d' "$folder/run/results.csv"
	chown -R 65534 "$folder/run"
	run_p report "$folder/run"
	cp err err.report
	run_p p2p --resume "$folder/run"
	left=$(find "$folder/run" -name verdict.json)
	rm -r "$folder"
	[ -z "$left" ]
	grep -q "not written: .*'$folder/run' belongs to user 65534" err.report
	fails 3 "belongs to user 65534"
}

@test "all that somebody else ran can be judged where a step has no verdict" {
	[ "$(id -u)" -eq 0 ] || skip "only root can give a run away"
	public_folder
	"$GPUCHECK" all --local=2x2 --transport=sim --quick --quiet \
		-o "$folder/run" || true
	rm "$folder/run/p2p/verdict.json"
	chown -R 65534 "$folder/run"
	run_p report "$folder/run"
	left=$(find "$folder/run/p2p" -name verdict.json)
	rm -r "$folder"
	[ -z "$left" ]
	[ "$(grep -c "verdict is lost" out)" -eq 0 ]
}

@test "what is made is not for others to write" {
	public_folder
	case $(id -u) in
	0) most=077 ;;
	*) most=022 ;;
	esac
	(
		umask 0
		small_run --quiet -o "$folder/own"
		mkdir -m 777 "$folder/all"
		cd "$folder/all" || exit
		as_nobody "$folder/gpucheck" p2p --local=1x2 --transport=sim \
			--quiet -o "$folder/all/run" || true
		umask 002
		as_nobody "$folder/gpucheck" p2p --local=1x2 --transport=sim \
			--quiet -o "$folder/all/project" || true
	)
	find "$folder/own" -perm /$most >bad
	find "$folder/all/run" -perm /022 >>bad
	find "$folder/all/project" -perm /002 >>bad
	shared=$(find "$folder/all/project" -perm -020 -name results.csv)
	left=$(find "$folder" -name rendezvous)
	rm -r "$folder"
	cat bad
	[ ! -s bad ]
	[ -n "$shared" ]
	[ -z "$left" ]
}

@test "a run directory of somebody else, or of all, is not written to" {
	mkdir -m 777 all
	small_run -o all
	fails 3 "all users can write to run directory '$PWD/all'"
	grep -q "^hint: .*chmod" err
	[ -z "$(ls -A all)" ]
	[ "$(id -u)" -eq 0 ] || skip "only root can give a directory away"
	mkdir other
	chown 65534 other
	small_run -o other
	fails 3 "belongs to user 65534"
	grep -q '^hint: only that user can continue the run' err
	[ -z "$(ls -A other)" ]
	mkdir -m 777 open
	small_run -o open/run
	fails 3 "other users can rename entries of '$PWD/open'"
	[ -z "$(ls -A open)" ]
}

@test "a link or a FIFO inside a run directory is not followed" {
	small_run --quiet -o run
	mv run/results.csv victim
	cp victim before
	ln -s ../victim run/results.csv
	run_p report run
	[ "$status" -eq 3 ]
	grep -q "is a symbolic link" err
	run_p report --csv run
	[ -z "$output" ]
	rm run/results.csv
	mkfifo run/results.csv
	run_p report run
	[ "$status" -eq 3 ]
	grep -q "is not a file" err
	rm run/verdict.json
	ln -s ../victim run/verdict.json
	mv before run/results.csv
	run_p report run
	[ "$status" -eq 0 ]
	cmp victim run/results.csv
	[ ! -L run/verdict.json ]
}

@test "version names every library, found or why not" {
	run_p version
	[ "$status" -eq 0 ]
	for name in gpucheck built nccl cuda nvml pmi2 verbs gnuplot; do
		grep -q "^$name " out
	done
	for option in --version -V; do
		run_p $option
		[ "$status" -eq 0 ]
		grep -qxE 'gpucheck [0-9.]+' out
	done
	COLUMNS=40 run_p version
	[ -z "$(awk 'length > 40 && NF > 1' out)" ]
}

@test "a node that is set up otherwise is named, with the rows it goes with" {
	printf 'dead node=2\n' >drill
	run_p p2p --local=4x2 --transport=sim --faults=drill -o run
	# pretend nodes are one machine: nothing to compare
	jq -e '.findings | length == 1' run/verdict.json
	# four machines, of which n2 has another kernel and another setting
	awk -F, -v OFS=, '$3 == "host" { $4 = $1 }
		$3 == "kernel" && $1 == "n2" { $4 = "5.4.0-old" }
		{ print }
		$3 == "host" && $1 == "n2" {
			print $1, "node", "NCCL_IB_HCA", "mlx5_1", "", "environment"
		}' run/facts.csv >facts
	mv facts run/facts.csv
	run_p report run
	[ "$status" -eq 1 ]
	jq -e '.findings[1] | .kind == "config" and .code == "config_skew" and
		.node == "n2" and .members == ["n2"] and .severity == "warn" and
		(.evidence | length) == 2 and .explained == 26' run/verdict.json
	grep -q 'set-up of n2 differs from that of 3 others: NCCL_IB_HCA' out
	tr -s ' \n' '  ' <out | grep -q 'all 26 failed or slow tests are tests of this node'
	# the score stands last, and is no number where no cell is behind it
	jq -e '[.findings[].score] | .[0] > 0.9 and .[1] == null' \
		run/verdict.json
	jq -e '.findings[0] | keys_unsorted[-1] == "score"' run/verdict.json
	grep -qE '<li>score 0\.9[0-9], explains 26 of 26 tests' run/report.html
	run_p report -v run
	grep -q '^findings in detail' out
	grep -qE '^   1  node n2, drill_dead: score 0\.9[0-9], explains 26 of 26' \
		out
	tr -s ' \n' '  ' <out |
		grep -q 'NCCL_IB_HCA: not set on n\[0,1,3\], mlx5_1 on n2'
}

@test "a large model: one agent is many nodes, and a fault has its place" {
	echo 'dead gpu=300:1' >drill
	run_p p2p --transport=sim --local=600x2 --quick --faults=drill -o run
	[ "$status" -eq 1 ]
	[ "$(grep -c ',agent,' run/events.csv)" -eq 16 ]
	[ "$(jq -c '[.findings[] | [.kind, .node, .index]]' run/verdict.json)" \
		= '[["gpu","n300",1]]' ]
	[ "$(jq '.nodes | length' run/run.json)" -eq 600 ]
}

@test "every size that was measured is in a table and a curve" {
	with_pictures
	run_p ib --transport=sim --local=2x4 -b 64K -e 1M -f 4 -o run
	[ "$status" -eq 0 ]
	grep -q '^between nodes, by size: median' out
	[ "$(grep -cE '^ +(64|256|1) [KM]iB +[0-9.]+ .* 8$' out)" -eq 3 ]
	# the same as the rows have
	median=$(awk -F, '$16 == 262144 { print $18 }' run/results.csv | sort -g |
		awk '{ v[NR] = $1 } END { printf "%.3f", (v[4] + v[5]) / 2 }')
	grep -qE "^ +256 KiB +$median " out
	drawn run/curves.svg run/curves.png
	grep -q 'bandwidth by size' run/report.html
	run_p ib --transport=sim --local=2x4 -o one
	absent 'by size' out
	[ ! -e one/curves.svg ]
}
