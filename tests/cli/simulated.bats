#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# A run that measured no hardware, or had faults injected, says so in its text,
# its page, verdict.json, metrics and history, whatever the command is.

load helper

setup()
{
	cd "$BATS_TEST_TMPDIR" || return
}

# with OPTION: the commands that run a probe and have it.
with()
{
	local command
	for command in $("$GPUCHECK" --list-commands); do
		case $command in
		plan | watch) continue ;;	# of other runs
		esac
		"$GPUCHECK" --list-options "$command" | cut -f1 |
			grep -qxE -- "$1" && echo "$command"
	done
	return 0
}

# run_one COMMAND DIR OPTION...: run on 2 simulated nodes, and keep its text.
run_one()
{
	local command=$1 dir=$2
	shift 2
	[ "$command" = collective ] && command='collective allreduce'
	[ "$command" = all ] && command='all --quick'
	# shellcheck disable=SC2086
	"$GPUCHECK" $command --local=2x4 --transport=sim "$@" -o "$dir" \
		>"$dir.text" 2>"$dir.err" || [ $? -eq 1 ]
}

@test "every command says in all that it writes that its run is simulated" {
	[ "$(with --transport=? | wc -l)" -ge 4 ]
	for command in $(with --transport=?); do
		echo "# $command"
		run_one "$command" "$command" --history=past
		grep -q simulated "$command.text"
		grep -q simulated "$command/report.html"
		"$GPUCHECK" report --json=verdict "$command" >verdict
		jq -e .verdict.simulated verdict
		jq -e .simulated "$command/verdict.json"
		"$GPUCHECK" report --metrics=- "$command" 2>/dev/null |
			grep -q '^gpucheck_run_drill{.*} 1$'
	done
	[ "$(jq -s 'map(select(.model | not)) | length' past/*.json)" -eq 0 ]
}

# bats test_tags=dear
@test "every command says in all that it writes that faults were injected" {
	echo 'dead gpu=1:2' >dead.drill
	[ "$(with '--(inject|faults)=?' | wc -l)" -ge 4 ]
	for command in $(with '--(inject|faults)=?'); do
		echo "# $command"
		run_one "$command" "$command" --faults=dead.drill --history=past
		grep -q DRILL "$command.text"
		grep -q DRILL "$command/report.html"
		jq -e .drill "$command/verdict.json"
		"$GPUCHECK" report --metrics=- "$command" 2>/dev/null |
			grep -q '^gpucheck_run_drill{.*} 1$'
	done
	[ "$(jq -s 'map(select(.drill | not)) | length' past/*.json)" -eq 0 ]
}

@test "the retest of a drill names its file by an absolute path" {
	echo 'dead nic=1:2' >dead.drill
	run_one p2p run --faults=dead.drill
	grep -q -- "--inject=$BATS_TEST_TMPDIR/dead.drill" run.text
	jq -e '[.findings[].do | contains("=dead.drill")] | any | not' \
		run/verdict.json
}

# transports COMMAND: those that run without hardware.
transports()
{
	"$GPUCHECK" --list-options "$1" | grep -- '^--transport=' | cut -f2- |
		grep -owE 'tcp|sim' || echo sim
}

# The words that begin with "(drill)" in the findings of a run.
drill_words()
{
	jq -r '.findings[] | .says, .evidence[]' "$1/verdict.json" |
		grep -o '(drill) .*'
}

@test "the evidence of a drill names the part that was broken" {
	while read -r fault says; do
		echo "dead $fault" >part.drill
		for command in $(with '--(inject|faults)=?'); do
			for by in $(transports "$command"); do
				# p2p shows what tcp does, and what the others
				# share
				[[ ${CASES-} = all || $command = p2p ||
					$by$fault = sim@(gpu=1:2|nic=1:2) ]] ||
					continue
				dir=$command-$by-$fault
				echo "# $dir"
				run_one "$command" "$dir" --faults=part.drill \
					--transport="$by"
				drill_words "$dir" >words || jq -e '.findings == []' \
					"$dir/verdict.json"
				absent "^.drill. (?!${says}[ :])" words
			done
		done
		# what touches the fault has said so
		drill_words "p2p-sim-$fault" | grep -q .
		drill_words "p2p-tcp-$fault" | grep -q .
	done <<-'END'
		gpu=1:2 GPU 2 of n1
		nic=1:2 NIC 2 of n1
		cross_rail the path between rails
	END
	drill_words collective-sim-nic=1:2 | grep -q .
	drill_words gpu-sim-gpu=1:2 | grep -q .
	# RDMA between host memory does not touch a GPU
	jq -e '[.findings[].kind] == ["gpu"]' all-sim-gpu=1:2/verdict.json
}
