#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Help, manual pages, completion and the tables in the program agree.

load helper

commands()
{
	"$GPUCHECK" --list-commands
}

options_of()
{
	"$GPUCHECK" --list-options "$1" | cut -f1 | tr -d =
}

# The file of a command's page: some share one, by a line that names it.
source_of()
{
	local file=$root/cli/man/gpucheck-$1.1 other
	other=$(sed -n 's|^\.so man1/||p' "$file")
	echo "${other:+$root/cli/man/}${other:-$file}"
}

page_of()
{
	local page=$BATS_FILE_TMPDIR/$1.page
	[ -s "$page" ] || mandoc -Tascii "$(source_of "$1")" | col -b >"$page"
	cat "$page"
}

# lacks FILE: the options on stdin that are no words of it.
lacks()
{
	tr ' ,' '\n' <"$1" | sed 's/[]=[|].*//' | sort -u >words
	grep -vxFf words || true
}

@test "every command has a manual page, a line of help and of gpucheck(1)" {
	mandoc -Tascii "$root/cli/man/gpucheck.1" | col -b |
		sed -n '/^SEE ALSO/,$p' >main
	for command in $(commands); do
		page_of "$command" | grep -q "gpucheck $command"
		"$GPUCHECK" help | grep -q "^  $command  "
		grep -q "gpucheck-$command(1)" main
	done
}

@test "every manual page is of a command" {
	for page in "$root"/cli/man/gpucheck-*.1; do
		name=$(basename "$page" .1)
		"$GPUCHECK" help "${name#gpucheck-}" >/dev/null
	done
}

@test "the pages that several commands share are shown as installed" {
	mkdir -p man/man1
	cp "$root"/cli/man/*.1 man/man1
	grep -l '^\.so ' man/man1/* >shared
	while read -r page; do
		name=$(basename "$page" .1)
		(cd man && mandoc -Tascii "man1/$name.1") | col -b >shown
		grep -q "^ *gpucheck ${name#gpucheck-} " shown
		! command -v man || man -M man "$name" | grep -q "^NAME"
	done <shared
	[ -s shown ]
}

@test "every option is in its manual page and in -h, and no other" {
	for command in $(commands); do
		page_of "$command" >page
		"$GPUCHECK" "$command" --help=all >help
		for text in page help; do
			options_of "$command" | lacks $text >wrong
			[ ! -s wrong ] || { echo "not in $command's $text:"; cat wrong; false; }
		done
		# what starts a paragraph of the page is an option
		grep -oE '^ {5}(-[a-zA-Z], )?--[a-z_-]+' page |
			grep -oE -- '--[a-z_-]+' >titles
		options_of "$command" | grep -vxFf - titles >wrong || true
		[ ! -s wrong ] || { cat wrong; false; }
	done
}

# "--transport=auto|sim" for each option of $1 whose values are words in -h.
worded()
{
	"$GPUCHECK" --list-options "$1" | awk -F'\t' 'NF > 1 {
		gsub(" ", "|", $2); print $1 $2 }' >words
	"$GPUCHECK" "$1" --help=all | grep -oFf words || true
}

@test "the words of an option are the same in -h, manual and completion" {
	for command in $(commands); do
		page_of "$command" | sed -n '/^ *-.*=/s/ | /|/gp' >page
		worded "$command" >help
		while read -r option; do
			grep -qE -- "${option//|/\\|}\$" page ||
				{ echo "$command: $option"; false; }
		done <help
	done
	worded p2p | grep -x -- '--transport=auto|nccl|.*'
	worded ib | grep -x -- '--compare=none|schedule|memory'
}

@test "the words of an option are those that the command takes" {
	declare -A all
	for option in transport compare; do
		# plan takes them all
		all[$option]=$("$GPUCHECK" --list-options plan | tr '\t' ' ' |
			sed -n "s/^--$option= //p")
	done
	[[ ${all[transport]} = *tcp*verbs* && ${all[compare]} = *pxn*memory* ]]
	for command in p2p ib allreduce sendrecv all; do
		"$GPUCHECK" --list-options $command | tr '\t' ' ' >options
		for option in "${!all[@]}"; do
			offered=$(sed -n "s/^--$option= //p" options)
			for word in ${all[$option]}; do
				run_p "$command" "--$option=$word" --dry-run \
					--launcher=local
				case " $offered " in
				*" $word "*) [ "$status" -eq 0 ] ;;
				*) [ "$status" -eq 2 ] ;;
				esac || { echo "$command --$option=$word"; false; }
			done
		done
	done
}

@test "the usage line of -h is the synopsis of the page" {
	for command in $(commands); do
		"$GPUCHECK" "$command" -h | head -1 | tr '[:upper:]' '[:lower:]' |
			sed -e 's/^usage: //' -e 's/ *\.\.\.\]/]/g' \
				-e 's/\.\.\.\]/]/g' -e 's/|/ | /g' >help
		# a page may be that of several commands
		page_of "$command" | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' |
			sed -e 's/^ *//' -e 's/ *\.\.\.\]/]/g' >page
		grep -qxFf help page || { cat help page; false; }
	done
}

@test "help CMD, CMD -h and CMD --help are the same, on stdout" {
	for command in $(commands); do
		"$GPUCHECK" help "$command" >one
		"$GPUCHECK" "$command" -h >two 2>err
		"$GPUCHECK" "$command" --help >three
		cmp one two
		cmp two three
		[ ! -s err ]
	done
}

# The number of options in a help.
listed()
{
	grep -cE '^ +(-[a-zA-Z], )?--[a-z]' "$1"
}

@test "-h lists at most 20 options, and says how many there are" {
	for command in $(commands); do
		"$GPUCHECK" "$command" -h >some
		"$GPUCHECK" "$command" --help=all >all
		[ "$(listed some)" -le 20 ]
		more=$(($(listed all) - $(listed some)))
		[ "$more" -eq 0 ] || grep -q -- "--help=all: with $more more options" some
		absent 'more options' all
	done
	[ "$more" -eq 0 ]
	"$GPUCHECK" ib --help=all | grep -q -- --qp-timeout=
}

# A default of each help is that of the page beside it.
@test "the defaults of --help=all are those of the manual page" {
	for command in $(commands); do
		# its options are those of the other commands
		[ "$command" != plan ] || continue
		page_of "$command" >"$command.page"
		"$GPUCHECK" "$command" --help=all >"$command.help"
	done
	python3 - ./*.help >wrong <<-'EOF'
		import re, sys
		def defaults(path):
		    for text in re.split(r'\n {2,6}(?=-)', open(path).read()):
		        option = re.match(r'(?:-\w, )?(--[\w-]+)', text)
		        text = re.sub(r'\n\n(?=\w).*', '', text, flags=re.S)
		        text = ' '.join(re.sub(r'-\n +', '-', text).split())
		        for default in re.findall(r'Default: (.*)', text):
		            yield option.group(1) + ': ' + default
		for help in sys.argv[1:]:
		    page = '\n'.join(defaults(help.replace('.help', '.page')))
		    for default in defaults(help):
		        if default not in page:
		            print(help, default)
	EOF
	[ ! -s wrong ] || { cat wrong; false; }
	[ "$("$GPUCHECK" p2p --help=all | grep -c Default:)" -gt 15 ]
}

@test "--csv and --json print what the help of the command says" {
	for command in p2p ib gpu allreduce ping memlock info all; do
		file=$("$GPUCHECK" "$command" --help=all |
			sed -n 's/.*--csv.* \([a-z-]*\.csv\).*/\1/p')
		keys=$("$GPUCHECK" "$command" --help=all |
			sed -n 's/.*--json.*{\(.*\)}.*/\1/p')
		model=$("$GPUCHECK" --list-options "$command" |
			sed -n 's/^\(--transport=\).*sim.*/\1sim/p')
		run_p "$command" --local=2x1 ${model:+"$model"} --csv -o "$command"
		[ "$status" -le 1 ]
		cmp out "$command/$file"
		"$GPUCHECK" report --json "$command" >json || true
		python3 -c 'import json; print(*json.load(open("json")), sep=", ")' >found
		[ "$(<found)" = "$keys" ] || { echo "$command: $keys"; cat found; false; }
	done
}

@test "help csv lists exactly the columns of a run" {
	small_run --out=run
	"$GPUCHECK" help csv | sed -n '/^results.csv/,/^$/p' |
		awk '/^  /{ print $1 }' >columns
	head -1 run/results.csv | tr -d '\r' | tr , '\n' >header
	diff columns header
}

@test "no line of help is wider than 80 columns" {
	for topic in "" $(commands) csv units; do
		# shellcheck disable=SC2086
		"$GPUCHECK" help $topic | awk -v t="$topic" '
			length > 80 { print t ": " $0; bad = 1 }
			END { exit bad }'
	done
}

@test "every variable that names a library is in gpucheck(1)" {
	mandoc -Tascii "$root/cli/man/gpucheck.1" | col -b >main
	grep -oh 'GPUCHECK_[A-Z0-9]*_LIB' "$root"/probes/dl/*.c | sort -u >names
	[ -s names ]
	while read -r name; do
		grep -q "$name" main
	done <names
}

# Words that completion offers for a line; the last word is being typed.
complete_line()
{
	PATH=$(dirname "$GPUCHECK"):$PATH bash -c '
		source "$1/cli/completion/gpucheck.bash"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_gpucheck
		printf "%s\n" "${COMPREPLY[@]}"' bash "$root" "$@"
}

@test "bash completion offers commands" {
	complete_line gpucheck "" | sort >offered
	commands | sort | diff offered -
	[ "$(complete_line gpucheck rep)" = report ]
}

@test "bash completion offers options and their words" {
	complete_line gpucheck p2p - | sort >offered
	"$GPUCHECK" --list-options p2p | cut -f1 | sort | diff offered -
	complete_line gpucheck p2p --schedule = "" >offered
	printf 'nic\nparallel\nserial\n' | diff offered -
	[ "$(complete_line gpucheck p2p --transport = t)" = tcp ]
}

@test "bash completion of plan: commands, then their options" {
	complete_line gpucheck plan col | grep -qx collective
	complete_line gpucheck plan ping - | sort >offered
	"$GPUCHECK" --list-options ping | cut -f1 | sort | diff offered -
	complete_line gpucheck plan --tr | grep -qx -- --transport=
}

# A sinfo that knows two nodes and two partitions, and says that it was asked.
fake_sinfo()
{
	mkdir -p bin
	cat >bin/sinfo <<-'EOF'
		#!/bin/sh
		echo asked >>asked
		case "$*" in
		*--format=%N*) printf 'gpu01\ngpu02\ngpu01\n' ;;
		*--format=%R*) printf 'batch\nops\n' ;;
		esac
	EOF
	chmod +x bin/sinfo
	PATH=$PWD/bin:$PATH
}

@test "bash completion of values: words, nodes of Slurm, no files for numbers" {
	fake_sinfo
	touch gpu-file
	[ "$(complete_line gpucheck p2p --pairs = in)" = $'inter\nintra' ]
	[ -z "$(complete_line gpucheck p2p --nodes = "")" ]
	complete_line gpucheck p2p "" >/dev/null
	complete_line gpucheck p2p --
	[ ! -e asked ]
	[ "$(complete_line gpucheck p2p -x gpu)" = $'gpu01\ngpu02' ]
	[ "$(complete_line gpucheck p2p --nodelist = gpu01,gpu0)" = \
		$'gpu01,gpu01\ngpu01,gpu02' ]
	[ "$(complete_line gpucheck p2p --faults = gpu)" = gpu-file ]
}

@test "bash completion behind --: partitions and options of Slurm" {
	fake_sinfo
	[ "$(complete_line gpucheck p2p -N 2 -- --partition = "")" = \
		$'batch\nops' ]
	[ "$(complete_line gpucheck p2p -- -p o)" = ops ]
	[ "$(complete_line gpucheck p2p -- --nodelist = gpu02)" = gpu02 ]
	[ "$(complete_line gpucheck p2p -- --part)" = --partition= ]
	[ "$(complete_line gpucheck p2p -- --account = "")" = "" ]
}

@test "bash completion of codes and run directories" {
	[ "$(complete_line gpucheck explain wc_retry_exceed)" = wc_retry_exceeded ]
	"$GPUCHECK" --list-codes | sort | uniq -d >twice
	[ ! -s twice ]
	"$GPUCHECK" --list-codes | grep -vE '^s?xid_[0-9]' | while read -r code; do
		grep -qE "^(\[$code\]|alias=(.* )?$code( |$))" \
			"$root/data/symptoms.ini"
	done
	mkdir -p run-a run-b/run-c
	touch run-a/run.json run-b/run-c/run.json
	[ "$(complete_line gpucheck report run)" = run-a ]
	[ "$(complete_line gpucheck p2p --resume = run-b/)" = run-b/run-c ]
	rm run-a/run.json
	[ "$(complete_line gpucheck diff run | sort)" = $'run-a\nrun-b' ]
}

# The same by zsh, of which the commands that add matches say what they add.
zsh_line()
{
	PATH=$(dirname "$GPUCHECK"):$PATH zsh -fc '
		compadd() {
			local a
			while [[ $1 == -* && $1 != -- ]]; do
				[[ $1 == -S ]] && shift
				[[ $1 == *a ]] && a=1
				shift
			done
			[[ $1 == -- ]] && shift
			[[ -n $a ]] && set -- ${(P)1}
			for a; do
				[[ $a != $PREFIX* ]] || print -r -- $IPREFIX$a
			done
		}
		compset() {
			local cut=${(M)PREFIX##${~2}}
			IPREFIX+=$cut PREFIX=${PREFIX#$cut}
		}
		_call_program() { shift; "$@"; }
		_files() { print files; }
		file=$1
		shift
		words=("$@") CURRENT=$# PREFIX=$@[-1] IPREFIX=
		source $file' zsh "$root/cli/completion/_gpucheck" "$@"
}

@test "zsh completion offers the same" {
	command -v zsh >/dev/null || skip "zsh is not here"
	fake_sinfo
	mkdir -p run-a
	touch run-a/run.json
	zsh_line gpucheck "" | sort | diff - <(commands | sort)
	[ "$(zsh_line gpucheck p2p --trans)" = --transport= ]
	[ "$(zsh_line gpucheck p2p --transport=t)" = --transport=tcp ]
	[ "$(zsh_line gpucheck p2p -x gpu01,gpu02)" = gpu01,gpu02 ]
	[ "$(zsh_line gpucheck p2p -N 2 -- --partition=o)" = --partition=ops ]
	zsh_line gpucheck explain wc_retry_exceed | grep -x wc_retry_exceeded
	[ "$(zsh_line gpucheck report run)" = run-a ]
	[ "$(zsh_line gpucheck p2p --faults=x)" = files ]
}
