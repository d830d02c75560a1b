#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What a site says that its hardware carries: kept with the run, and judged by.

load helper

# A site of one file, with the lines "$@".
make_site()
{
	mkdir site
	printf '%s\n' "$@" >site/a.ini
	echo 'no .ini' >site/readme
	export GPUCHECK_EXPECTED_D=$PWD/site
}

@test "what the site expects counts, and stays with the run" {
	make_site '[ours]' path=SIM/inter line_GB_s=100 percent=90
	run_p p2p --local=2x4 --transport=sim -o dir --quiet
	[ "$status" -eq 1 ]
	[ "$(jq -r '.findings[].kind' dir/verdict.json)" = inter_node ]
	jq -r '.findings[].evidence[0]' dir/verdict.json |
		grep -q '(90 % of the line rate 100), from ours'
	rm -r site dir/verdict.json
	run_p report dir
	[ "$status" -eq 1 ]
	[[ $output == *"from ours"* ]]
}

@test "a file that makes no sense is named before anything is measured" {
	make_site '[ours]' path=SIM/inter line_GB_s=fast
	run_p p2p --local=2x4 --transport=sim -o dir
	[ "$status" -eq 2 ]
	[[ $stderr == *"site/a.ini: line 3: a value that is out of range"* ]]
	[ ! -e dir ]
}

@test "no such directory is no site" {
	export GPUCHECK_EXPECTED_D=$PWD/none
	run_p p2p --local=1x2 --transport=sim -o dir --quiet
	[ "$status" -eq 0 ]
	[ ! -e dir/expected.ini ]
}
