#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What README and docs/ say is there.

load helper

pages()
{
	(cd "$root" && ls README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/dev/*.md \
		.github/ISSUE_TEMPLATE/*.md)
}

@test "every page is reached from README and from gpucheck(1)" {
	grep -qF '(docs/README.md)' "$root/README.md"
	for page in "$root"/docs/*.md; do
		name=$(basename "$page")
		[ "$name" = README.md ] ||
			grep -qF "($name)" "$root/docs/README.md"
		grep -qwF "$name" "$root/cli/man/gpucheck.1"
	done
	for page in "$root"/docs/dev/*.md; do
		grep -qF "(dev/$(basename "$page"))" "$root/docs/README.md"
	done
}

@test "what a page links to or names is there" {
	for page in $(pages); do
		here=$root/$(dirname "$page")
		while read -r link; do
			[[ $link == *:* || -e $here/${link%#*} ]] ||
				echo "$page: $link"
		done < <(grep -oP '\]\(\K[^)]+' "$root/$page" || true)
		# what somebody may add is not there yet
		[ "$page" != CONTRIBUTING.md ] || continue
		# shellcheck disable=SC2016 # of Markdown
		while read -r name; do
			[ -e "$root/$name" ] || [ -e "$root/$name.c" ] ||
				echo "$page: $name"
		done < <(grep -oP '`\K(docs|data|tests|cli|lib|report|sbatch)/[a-z0-9_./-]*[a-z0-9](?=`)' \
			"$root/$page" || true)
	done >wrong
	[ ! -s wrong ] || { cat wrong; false; }
}

# Lines of pages that are commands, without what is for others and comments.
commands_in()
{
	sed -nE 's/^ {4,}(.*\| )?(\.\/)?gpucheck ([a-z0-9]+)( |$)/\3 /p' "$1" |
		sed -e 's/ -- .*//' -e 's/ #.*//' -e 's/[|].*//'
}

@test "every command in README and docs/ has the options that it is given" {
	for page in $(pages); do
		while read -r command words; do
			"$GPUCHECK" --list-commands | grep -qx "$command" ||
				[ "$command" = agent ] ||
				{ echo "$page: $command"; continue; }
			[ "$command" != plan ] || [[ $words == -* ]] ||
				command=${words%% *}
			"$GPUCHECK" --list-options "$command" | cut -f1 |
				tr -d = >options
			for word in $words; do
				[[ $word == -[a-zA-Z] || $word == --* ]] || continue
				grep -qxe "${word%%=*}" options ||
					echo "$page: $command $word"
			done
		done < <(commands_in "$root/$page")
	done >wrong
	[ ! -s wrong ] || { cat wrong; false; }
	[ "$(commands_in "$root/README.md" | wc -l)" -gt 10 ]
}

@test "the first screen of README says what it is, how to try it, what comes of it" {
	head -40 "$root/README.md" >screen
	for word in heatmap-bw.png '^    FAIL ' 'make demo' 'all -N' 'xit code 0'; do
		grep -q "$word" screen
	done
	awk 'length > 80 { print FILENAME ": " $0; bad = 1 } END { exit bad }' \
		screen
}
