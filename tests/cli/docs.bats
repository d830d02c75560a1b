#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# What README and docs/ say is there.

load helper

pages()
{
	(cd "$root" && ls README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/dev/*.md \
		.github/ISSUE_TEMPLATE/*.md packaging/README.md data/reference/README.md)
}

# anchors PAGE: those that its headings make, as GitHub does.
anchors()
{
	sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -dc 'a-z0-9_\n-'
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
			[[ $link != *:* ]] || continue
			[ -e "$here/${link%#*}" ] || echo "$page: $link"
			file=$here/${link%#*}
			[ -n "${link%#*}" ] || file=$root/$page
			[[ $link != *'#'* ]] || anchors "$file" |
				grep -qxF "${link#*#}" || echo "$page: $link"
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

@test "every command in other pages has the options that it is given" {
	for page in CONTRIBUTING.md SECURITY.md .github/ISSUE_TEMPLATE/*.md; do
		sed -nE 's/^ {4,}(\.\/)?gpucheck ([a-z0-9]+)( |$)/\2 /p' "$root/$page" |
			sed -e 's/ -- .*//' -e 's/ #.*//' |
			while read -r command words; do
				"$GPUCHECK" --list-options "$command" | cut -f1 |
					tr -d = >options
				for word in $words; do
					[[ $word != -* ]] || grep -qxe "${word%%=*}" options ||
						echo "$page: $command $word"
				done
			done
	done >wrong
	[ ! -s wrong ] || { cat wrong; false; }
}

# bats test_tags=dear
@test "every command of the documents runs, and prints what they show" {
	"$root/tests/cli/documents" "$PWD/pages" >wrong
	[ ! -s wrong ] || { cat wrong; false; }
}

@test "the first screen of README says what it is, how to try it, what comes of it" {
	head -40 "$root/README.md" >screen
	for word in heatmap-bw.png '^    FAIL ' 'make demo' 'all -N' 'xit code 0'; do
		grep -q "$word" screen
	done
	awk 'length > 80 { print FILENAME ": " $0; bad = 1 } END { exit bad }' \
		screen
}
