#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# --accept and --junit: acceptance tests, and the file for a CI system.

load helper

# junit FILE: by a real parser, "NAME RESULT" of each test case; the counts of
# the suite are those of its cases.
junit()
{
	python3 - "$1" <<-'P'
	import sys, xml.etree.ElementTree as E
	suite = E.parse(sys.argv[1]).getroot().find('testsuite')
	cases = suite.findall('testcase')
	count = lambda tag: sum(c.find(tag) is not None for c in cases)
	assert int(suite.get('tests')) == len(cases)
	assert int(suite.get('failures')) == count('failure')
	assert int(suite.get('errors')) == count('error')
	assert int(suite.get('skipped')) == count('skipped')
	for c in cases:
	    bad = [t for t in ('failure', 'error', 'skipped')
	           if c.find(t) is not None]
	    print(c.get('name').split(':')[0], bad[0] if bad else 'passed')
	P
}

sweep()
{
	run_p allreduce --local=2x4 --transport=sim -b 1M -e 4M -o run \
		--junit=junit.xml "$@"
}

@test "each line is a test of exit code, verdict and JUnit" {
	printf '%s\n' 'allreduce 2 8 4M 1 -  # met' 'p2p SIM 1 -' >limits
	sweep --accept=limits
	[ "$status" -eq 0 ]
	[ "$(junit junit.xml | xargs)" = \
		"verdict passed accept line 1 passed accept line 2 skipped" ]
	jq -e '[.accept[].result] == ["met", "other_probe"]' run/verdict.json
	printf '%s\n' 'allreduce 2 8 4M 99999 -' 'allreduce 2 8 8M 1 -' >limits2
	run_p report --accept=limits2 --junit=again.xml -o report run
	[ "$status" -eq 1 ]
	[ "$(junit again.xml | xargs)" = \
		"verdict failure accept line 1 failure accept line 2 error" ]
	jq -e '[.findings[].code] | sort ==
		["accept_missed", "accept_not_measured"]' report/verdict.json
	# the tests of the run itself
	run_p report run
	[ "$status" -eq 0 ]
}

@test "a finding is a test case, whatever its words" {
	echo 'dead gpu=1:2' >drill
	run_p p2p --local=2x4 --transport=sim --inject=drill -o run \
		--junit=j.xml --accept=<(echo 'p2p SIM/intra 1 -')
	[ "$status" -eq 1 ]
	junit j.xml >cases
	grep -qx 'verdict failure' cases
	grep -qx 'drill_dead failure' cases
	grep -q '^accept line 1 ' cases
}

@test "every probe writes it" {
	for probe in info memlock ping; do
		run_p $probe --local --junit=$probe.xml -o $probe
		[ "$(junit $probe.xml | sed -n 1p | cut -d' ' -f1)" = verdict ]
	done
}

@test "node writes it, and memlock of this node" {
	run_p node --strict --expect-gpus=9 --junit=node.xml
	[ "$status" -ne 0 ]
	junit node.xml >cases
	grep -qE '^verdict (failure|error)$' cases
	grep -q ' failure$' <(sed 1d cases)
	run_p memlock --node --junit=memlock.xml
	[ "$(junit memlock.xml | sed -n 1p | cut -d' ' -f1)" = verdict ]
}

@test "a file that is wrong is a usage error before anything runs" {
	echo 'allreduce 2 8 4M' >wrong
	sweep --accept=wrong
	[ "$status" -eq 2 ]
	[ ! -e run ]
	fails 2 "line 1, 'allreduce 2 8 4M', is not"
	sweep --accept=/no/such/file
	[ "$status" -eq 2 ]
}
