#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Every pair of fake GPUs, healthy and with each fault; see fake_cuda.c.

load ../cli/helper

setup_file()
{
	fake=$GPUCHECK_TEST_FAKE
	nvml=$GPUCHECK_TEST_FAKE_NVML
	nccl=$GPUCHECK_TEST_FAKE_NCCL
	export fake nvml nccl
}

# copies STATUS [OPTION...]: a run of three GPUs into the folder run.
copies()
{
	local want=$1
	shift
	rm -rf run
	export GPUCHECK_CUDA_LIB=$fake FAKE_CUDA_GPUS=${gpus-3}
	run_p p2p --local=1x3 --transport=cuda -b 1M -n 8 --timeout=20s \
		-o run --no-follow-up "$@"
	[ "$status" -eq "$want" ] || { cat out err; return 1; }
}

# rows OUTCOME CODE [ATTEMPT]: its pairs as "0-1 1-0 ...", in order.
rows()
{
	paste -d ' ' <(columns_of attempt run/results.csv) \
		<(columns_of src_rank run/results.csv) \
		<(columns_of dst_rank run/results.csv) \
		<(columns_of outcome run/results.csv) \
		<(columns_of code run/results.csv) |
		awk -v o="$1" -v c="$2" -v a="${3-1}" \
			'$1 == a && $4 == o && $5 == c { print $2 "-" $3 }' |
		sort | paste -sd ' '
}

all='0-1 0-2 1-0 1-2 2-0 2-1'

@test "every pair, both ways, with figures and facts" {
	copies 0
	[ "$(rows ok '')" = "$all" ]
	[ "$(columns_of path run/results.csv | sort -u)" = P2P/NVLink ]
	[ "$(columns_of memory run/results.csv | sort -u)" = gpu ]
	[ "$(columns_of wrong run/results.csv | sort -u)" = 0 ]
	[ "$(columns_of iters run/results.csv | sort -u)" = 8 ]
	# 1 MiB at 400 GB/s and 2 us
	[ "$(columns_of bw_GB_s run/results.csv | cut -c1-3 | sort -u)" = 226 ]
	for column in bw_GB_s bw_min_GB_s bw_max_GB_s; do
		[ "$(figures $column)" -eq 6 ]
	done
	grep -q '^n0,gpu1,peer_access_gpu2,NVLink,' run/facts.csv
}

@test "pretend nodes share GPUs: one pair on a GPU at a time" {
	copies 0 --local=2x3
	[ "$(rows ok '' | wc -w)" -eq 12 ]
	# begin and end in seconds, and the GPUs, of each pair
	paste -d ' ' <(columns_of start_utc run/results.csv) \
		<(columns_of wall_s run/results.csv) \
		<(columns_of src_rank run/results.csv) \
		<(columns_of dst_rank run/results.csv) | awk '$3 < $4 {
			split(substr($1, 12), t, /[:Z]/)
			s = t[1] * 3600 + t[2] * 60 + t[3]
			printf "%.3f %.3f %d %d\n", s, s + $2, $3 % 3, $4 % 3 }' |
		sort -n >pairs
	awk '{ if (NR > 1 && $1 < end - 0.002 && ($3 == a || $3 == b ||
			$4 == a || $4 == b)) { print; bad = 1 }
		end = $2; a = $3; b = $4 } END { exit bad || NR != 6 }' pairs
}

# figures COLUMN: how many rows have one.
figures()
{
	columns_of "$1" run/results.csv | grep -c '^[0-9]'
}

@test "every pair has a latency" {
	# kernels that wait for each other need cores: not on a busy machine
	for _ in 1 2 3 4 5; do
		copies 0
		[ "$(figures lat_us)" -eq "$(figures lat_p99_us)" ]
		[ "$(figures lat_us)" -lt 6 ] || return 0
	done
	[ "$(figures lat_us)" -gt 0 ]
}

@test "both ways at once, each measured and checked" {
	FAKE_CUDA_FLIP=1 copies 1 --bidi
	[ "$(columns_of mode run/results.csv | sort -u)" = bidi ]
	[ "$(rows corrupt data_corrupt)" = "0-1 2-1" ]
	[ "$(rows ok '')" = "0-2 1-0 1-2 2-0" ]
}

@test "sizes, and buffers that grow" {
	copies 0 -b 1 -e 16M -f 64 --pairs=0-1
	[ "$(columns_of size_B run/results.csv | sort -nu | paste -sd ' ')" = \
		"1 64 4096 262144 16777216" ]
	[ "$(columns_of outcome run/results.csv | sort | uniq -c | xargs)" = \
		"10 ok" ]
	# the latency is of one size
	[ "$(paste -d ' ' <(columns_of size_B run/results.csv) \
		<(columns_of lat_us run/results.csv) |
		grep ' [0-9]' | grep -vc '^16777216 ')" -eq 0 ]
}

@test "data changed at one size is tried again, and is never good" {
	FAKE_CUDA_FLIP=1 FAKE_CUDA_FLIP_SIZE=1048576 \
		copies 1 -e 4M --pairs=0-1,1-2
	[ "$(rows corrupt data_corrupt)" = "0-1 2-1" ]
	[ "$(rows corrupt data_corrupt 2)" = "0-1 2-1" ]
	[ "$(jq -c '[.cells.corrupt, .cells.pass]' run/verdict.json)" = "[2,2]" ]
	[ "$(jq -r '[.findings[].code] | unique[]' run/verdict.json)" = \
		data_corrupt ]
}

@test "pretend nodes: the pairs inside them" {
	rm -rf run
	export GPUCHECK_CUDA_LIB=$fake FAKE_CUDA_GPUS=4
	run_p p2p --local=2x2 --transport=cuda -b 1M -n 8 -o run
	[ "$status" -eq 0 ]
	[ "$(rows ok '')" = "0-1 1-0 2-3 3-2" ]
}

@test "asking for pairs between nodes is a usage error" {
	for pairs in inter rail 0-2 0-1,1-3; do
		run_p p2p --local=2x2 --transport=cuda --pairs=$pairs
		fails 2 "--pairs"
		grep -q -e "inside a node" err
	done
	run_p p2p --local=2x1 --transport=cuda
	fails 2 "no two ranks are on one node"
}

@test "bytes that arrive changed" {
	FAKE_CUDA_FLIP=1 copies 1
	[ "$(rows corrupt data_corrupt)" = "0-1 2-1" ]
	[ "$(rows ok '')" = "0-2 1-0 1-2 2-0" ]
}

@test "copies arrive, but kernels that wait for each other never meet" {
	FAKE_CUDA_FLAGS=lost copies 1
	[ "$(rows error p2p_deadlock)" = "$all" ]
	grep -q "ACS or an IOMMU" run/results.csv
}

@test "where GPUs take no kernels it is said what was not tried" {
	FAKE_CUDA_NO_KERNELS=1 copies 0
	[ "$(figures lat_us)" -eq 0 ]
	text=$(tr -s ' \n' ' ' <<<"$output")
	[[ $text == *"3 GPUs cannot run kernels ("*"): data was checked on the host;"* ]]
	[[ $text == *"kernels that wait for each other and latency were not tested"* ]]
	FAKE_CUDA_NO_KERNELS=1 copies 0 -c 0
	[[ $output != *"checked on the host"* ]]
	copies 0
	[[ $output != *"cannot run kernels"* ]]
}

@test "GPUs that cannot reach each other are skipped, with the reason" {
	FAKE_CUDA_FAR=2 copies 0
	[ "$(rows skipped no_peer_access)" = "0-2 1-2 2-0 2-1" ]
	[ "$(rows ok '')" = "0-1 1-0" ]
	grep -q '^n0,gpu0,peer_access_gpu2,none,' run/facts.csv
	# most have it: that one is odd
	[[ $output == *"4 tests were skipped (no_peer_access)"* ]]
	[ "$(jq -r '.status, (.findings[] | "\(.kind) \(.index) \(.code) " +
		"\(.explained)")' run/verdict.json | xargs)" = \
		"warn gpu 2 no_peer_access 4" ]
	# none has it: said, and nobody's fault
	gpus=2 FAKE_CUDA_FAR=1 copies 3 --local=1x2
	[[ $output == *"2 tests were skipped (no_peer_access)"* ]]
	[ "$(jq -r '.status, (.findings | length)' run/verdict.json |
		xargs)" = "unknown 0" ]
}

@test "the one GPU without NVLink is a warning" {
	FAKE_CUDA_PCIE=1 copies 0
	[ "$(jq -r '.findings[] | "\(.severity) \(.kind) \(.index) \(.code)"' \
		run/verdict.json)" = "warn gpu 1 no_nvlink" ]
}

@test "an error that ends a GPU's context costs one pair, not the GPU" {
	FAKE_CUDA_BREAK=1 FAKE_CUDA_BROKE=$PWD/broke copies 0 --no-follow-up
	[ "$(rows error cuda_illegal_address | wc -w)" -eq 1 ]
	[ "$(rows ok '' | wc -w)" -ge 4 ]
	[ "$(rows ok '' 2 | wc -w)" -eq 1 ]
	[ "$(columns_of event run/events.csv | grep -c worker_died)" -eq 1 ]
}

@test "drills: one end stays away, hangs, crashes, spoils, is slow" {
	echo 'dead pair=0-1' >drill
	copies 1 --faults=drill
	[ "$(rows error drill_dead)" = "0-1 1-0" ]
	echo 'hang gpu=0:2 direction=tx' >drill
	copies 1 --faults=drill --timeout=1500ms
	[ "$(rows timeout drill_hang)" = "2-0 2-1" ]
	[ "$(rows ok '')" = "0-1 0-2 1-0 1-2" ]
	echo 'corrupt pair=1-2 direction=tx' >drill
	copies 1 --faults=drill
	[ "$(rows corrupt data_corrupt)" = "1-2" ]
	echo 'slow pair=1-2 factor=0.25' >drill
	# more than its latency
	copies 1 --faults=drill -b 64M -n 2
	[ "$(columns_of bw_GB_s run/results.csv |
		awk '{ print $1 < 100 ? "slow" : "fast" }' | sort | uniq -c |
		xargs)" = "4 fast 4 slow" ]	# with the retries
	echo 'crash rank=1' >drill
	copies 1 --faults=drill
	[ "$(rows ok '')" = "0-2 2-0" ]
}

@test "a GPU that is not there" {
	gpus=2 copies 1
	[ "$(rows skipped gpu_missing)" = "0-2 1-2 2-0 2-1" ]
	[ "$(rows ok '')" = "0-1 1-0" ]
	jq -e '.findings[0] | .kind == "gpu" and .index == 2 and
		(.says | test("the node shows 2 of 3 GPUs"))' \
		run/verdict.json
}

@test "a library that cannot be loaded is no fault of a GPU" {
	# not there, and one without NCCL's functions
	for lib in /none.so "$fake"; do
		GPUCHECK_NCCL_LIB=$lib copies 3 --transport=nccl
		[ "$(rows skipped nccl_missing)" = "$all" ]
		jq -e '.exclude == [] and (.findings | length) == 1 and
			.findings[0].code == "nccl_missing"' run/verdict.json
		grep -q 'cannot load NCCL: ' out
		grep -q 'export GPUCHECK_NCCL_LIB=' out
	done
	export GPUCHECK_NVML_LIB=$nvml
	fake=/none.so copies 3
	[ "$(rows skipped cuda_missing)" = "$all" ]
	grep -q 'cannot load the GPU driver: ' out
}

# torch DIR: a python3 package that is linked with an NCCL of its own.
torch()
{
	mkdir -p "$1"/torch/lib "$1"/nvidia/nccl/lib \
		"$1"/nvidia_nccl_cu13-2.31.1.dist-info
	echo 'raise SystemExit("imported")' >"$1"/torch/__init__.py
	cp "$nccl" "$1"/nvidia/nccl/lib/libnccl.so.2
	# shellcheck disable=SC2016 # of the linker
	"${CC:-cc}" -shared -o "$1"/torch/lib/libtorch_cuda.so -Wl,--no-as-needed \
		-Wl,--allow-shlib-undefined -L"$1"/nvidia/nccl/lib \
		-l:libnccl.so.2 -Wl,--disable-new-dtags \
		-Wl,-rpath,'$ORIGIN/../../nvidia/nccl/lib'
}

@test "the NCCL that jobs of PyTorch run with: noted, or measured with" {
	command -v python3 >python || skip "no python3"
	torch "$PWD/site"
	export PYTHONPATH=$PWD/site
	# its own, as a system has it
	mkdir lib
	cp "$nccl" lib/libnccl.so.2
	unset GPUCHECK_NCCL_LIB
	LD_LIBRARY_PATH=$PWD/lib copies 0 --transport=nccl
	tr -s ' \n' ' ' <out >words
	grep -q "this is NCCL 2.28.9 in the loader's path ($PWD/lib/" words
	grep -q "torch of python3 has 2.31.1: for that one --nccl-lib=torch" words
	grep -q "^n0,node,torch_nccl,$PWD/site/nvidia/nccl/lib/" run/facts.csv
	copies 0 --transport=nccl --nccl-lib=torch
	[ "$(grep -c ",nccl_lib,$PWD/site/nvidia/nccl/lib/libnccl.so.2," \
		run/facts.csv)" -eq 3 ]
	[ "$(grep -c "torch of" out)" -eq 0 ]
	copies 0 --transport=nccl --nccl-lib="$nccl"
	[ "$(grep -c ",nccl_lib,$nccl," run/facts.csv)" -eq 3 ]
	# python without torch
	PYTHONPATH='' copies 3 --transport=nccl --nccl-lib=torch
	tr -s ' \n' ' ' <out | grep -q "it has no torch"
	run_p p2p --local=1x2 --nccl-lib=torch --nccl-lib="$nccl"
	fails 2 "p2p measures with one library"
}

# without LIB COMMAND...: it runs where the loader finds no NCCL, with the folder
# LIB as /opt.
without()
{
	local lib=$1
	shift
	# shellcheck disable=SC2016	# for that shell
	unshare -m bash -c 'mount --bind "$0" /opt && mount -t tmpfs none /usr/local || exit
		ldconfig -p | grep -o "/.*/libnccl\.so\.2$" |
			while read -r file; do
				[ ! -e "$file" ] ||
					mount --bind /dev/null "$file" || exit
			done
		exec "$@"' "$lib" "$@"
}

# version WANT [VARIABLE=VALUE...]: that is what it says of NCCL.
version()
{
	local want=$1
	shift
	without opt env -u LD_LIBRARY_PATH "$@" "$GPUCHECK" version >out
	tr -s ' \n' ' ' <out >words
	grep -qF -- " nccl 2.28.9 $PWD/$want cuda " words || { cat out; return 1; }
}

@test "NCCL in eight places: the one that is used, and the others" {
	unshare -m true 2>/dev/null || skip "not root"
	unset GPUCHECK_NCCL_LIB
	local n=libnccl.so.2 site=lib/python3.11/site-packages file files list
	mapfile -t files <<-EOF
		path/$n
		torch/$site/torch/lib/$n
		venv/$site/nvidia/nccl/lib/$n
		conda/lib/$n.21.5
		sdk/comm_libs/nccl/lib/$n.18.5
		spack/opt/spack/linux-zen3/gcc-12.2/nccl-2.18.3-x/lib/$n
		eb/software/NCCL/2.18.3-GCCcore-12.3.0/lib/$n
		opt/nccl-2.28/lib/$n
	EOF
	for file in "${files[@]}"; do
		mkdir -p "${file%/*}"
		cp "$nccl" "$file"
		[ "${file##*/}" = $n ] || ln -s "${file##*/}" "${file%/*}/$n"
	done
	mkdir -p venv/$site/nvidia_nccl_cu12-2.27.3.dist-info torch/bin \
		eb/modules/all
	printf '#!/bin/sh\nexit 1\n' >torch/bin/python3
	chmod 755 torch/bin/python3
	list=(LD_LIBRARY_PATH="$PWD/path" VIRTUAL_ENV="$PWD/venv"
		CONDA_PREFIX="$PWD/conda" PATH="$PWD/torch/bin:$PATH"
		NVHPC_ROOT="$PWD/sdk" SPACK_ROOT="$PWD/spack"
		MODULEPATH="/none:$PWD/eb/modules/all")
	# each alone but for /opt, which is there always
	local also="; not used: /opt/nccl-2.28/lib/$n"
	version "${files[0]} found in the loader's path$also" "${list[0]}"
	version "${files[2]} found in Python$also" "${list[1]}"
	version "${files[3]} found in conda$also" "${list[2]}"
	version "${files[1]} found in Python$also" "${list[3]}"
	version "${files[4]} found in HPC SDK$also" "${list[4]}"
	version "${files[5]} found in spack$also" "${list[5]}"
	version "${files[6]} found in modules$also" "${list[6]}"
	without opt "$GPUCHECK" version >out
	grep -q "^nccl  *2.28.9 /opt/nccl-2.28/lib/$n" out
	grep -qx " *found in /opt" out
	# what does not load gives way to the next one
	echo no library >conda/lib/$n.21.5
	also="; not used: 2.21.5 $PWD/${files[3]}, ${also#*: }"
	version "${files[4]} found in HPC SDK$also" "${list[2]}" "${list[4]}"
	# all of them, in a run
	without opt env "${list[@]}" GPUCHECK_CUDA_LIB="$fake" FAKE_CUDA_GPUS=2 \
		"$GPUCHECK" p2p --local=1x2 --transport=nccl -b 1M -n 8 \
		-o run >out
	tr -s ' \n' ' ' <out >words
	grep -qF "this is NCCL 2.28.9 in the loader's path ($PWD/${files[0]})" \
		words
	grep -qF "not used: 2.27.3 $PWD/${files[2]}, 2.21.5 $PWD/${files[3]}," \
		words
	grep -q "^n0,node,nccl_in,the loader's path,,dlopen" run/facts.csv
	grep -q '^n0,node,nccl_also,".* and [0-9] more",' run/facts.csv
	[ "$(grep -c ',nccl_also,' run/facts.csv)" -eq 1 ]
	# "info" says the same
	without opt env "${list[@]}" "$GPUCHECK" info --local -q -o info
	for fact in nccl_in nccl_also; do
		grep -o ",$fact,.*" run/facts.csv >p2p
		grep -o ",$fact,.*" info/facts.csv | diff p2p -
	done
	# none: where it was searched, and what helps
	rm -r opt/*
	rm -rf run
	without opt env GPUCHECK_CUDA_LIB="$fake" FAKE_CUDA_GPUS=2 HOME="$PWD" \
		"$GPUCHECK" p2p --local=1x2 --transport=nccl -o run >out || true
	tr -s ' \n' ' ' <out >words
	grep -qF "it is not in the loader's path, \$NCCL_HOME," words
	grep -qF 'spack, /usr, /usr/local, /opt)' words
	grep -q 'export GPUCHECK_NCCL_LIB=' out
}

@test "a resumed run wants the GPUs that it had" {
	copies 0
	jq -e '.nodes[0].parts | length == 3 and all(startswith("GPU-"))' \
		run/run.json
	sed -i '/^1,[0-9],n0,[0-9],[^,]*,2,/d' run/results.csv
	jq '.nodes[0].parts[1] = "GPU-other"' run/run.json >other
	cp run/run.json first
	cp other run/run.json
	run_p p2p --resume run
	fails 3 "gpu1 of node 'n0' is GPU-02020202-"
	fails 3 "and was GPU-other when the run began"
	fails 3 "start a new run, without --resume"
	jq -e '.nodes[0].parts[1] == "GPU-other"' run/run.json
	# one that is gone is skipped, and known when it is back
	cp first run/run.json
	FAKE_CUDA_GPUS=2 run_p p2p --resume run
	[ "$(rows skipped gpu_missing)" = '0-2 1-2' ]
	jq -e '.nodes[0].parts[2] | startswith("GPU-0303")' run/run.json
	run_p p2p --resume run
	[ "$status" -eq 0 ]
	[ "$(rows ok '')" = "$all" ]
}

# The fake's clock goes on by 5 us and a byte each 10 ps an operation, so that
# what a measurement must say is known.
@test "NCCL between two GPUs: latency and bandwidth are those of its clock" {
	export GPUCHECK_NCCL_LIB=$nccl
	gpus=2 copies 0 --local=1x2 --transport=nccl -b 64K -n 4
	columns_of lat_us run/results.csv | sort | uniq -c >latency
	columns_of bw_GB_s run/results.csv | sort | uniq -c >bandwidth
	cat latency bandwidth
	[ "$(xargs <latency)" = "2 5.0005" ]
	[ "$(xargs <bandwidth)" = "2 12.298" ]
}
