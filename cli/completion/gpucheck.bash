# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# bash completion of gpucheck: asks the program, so that it cannot be out of
# date, and Slurm for nodes and partitions, two seconds at most.

# What option $2 of command $1 takes: words, and <NAME> for what is none.
_gpucheck_values()
{
	gpucheck --list-options "$1" 2>/dev/null |
		sed -n "s/^$2=\{0,1\}	//p"
}

# Names that Slurm knows: %N of nodes, %R of partitions.
_gpucheck_slurm()
{
	command -v sinfo >/dev/null || return
	timeout 2 sinfo --noheader --Node --format="$1" 2>/dev/null | sort -u
}

# The words of $1 that begin with $2; the last of a list behind commas.
_gpucheck_offer()
{
	local last=${2##*,}

	mapfile -t COMPREPLY < <(compgen -P "${2%"$last"}" -W "$1" -- "$last")
}

# Run directories, else folders on the way to one.
_gpucheck_runs()
{
	local dir runs=()

	mapfile -t COMPREPLY < <(compgen -d -- "$1")
	for dir in "${COMPREPLY[@]}"; do
		[ ! -e "$dir/run.json" ] || runs+=("$dir")
	done
	[ ${#runs[@]} -eq 0 ] || COMPREPLY=("${runs[@]}")
}

# A value that begins with $2, of those that $1 tells.
_gpucheck_value()
{
	local words

	words=$(tr ' ' '\n' <<<"$1" | grep -v '^<')
	case $1 in
	*'<NODES>'*) _gpucheck_offer "$(_gpucheck_slurm %N)" "$2" ;;
	*'<CODE'*) _gpucheck_offer "$(gpucheck --list-codes 2>/dev/null)" "$2" ;;
	*'<'*FILE* | *'<PATH>'* | '')
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2"
			compgen -f -- "$2")
		;;
	*'<DIR>'*) _gpucheck_runs "$2" ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2") ;;
	esac
}

# Behind "--" stand options of Slurm: of option $1, if any, what begins with $2.
_gpucheck_for_slurm()
{
	case $1 in
	--partition | -p) _gpucheck_offer "$(_gpucheck_slurm %R)" "$2" ;;
	--nodelist | --exclude | -w | -x)
		_gpucheck_offer "$(_gpucheck_slurm %N)" "$2" ;;
	'')
		mapfile -t COMPREPLY < <(compgen -W "--partition= --account= \
			--qos= --reservation= --constraint= --nodelist= \
			--exclude=" -- "$2")
		compopt -o nospace 2>/dev/null
		;;
	esac
}

_gpucheck()
{
	local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} option='' words
	local before=${COMP_WORDS[COMP_CWORD - 1]} i

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words=$(gpucheck --list-commands 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	# "plan" takes the options of the command behind it
	if [ "$cmd" = plan ] && [ "$COMP_CWORD" -gt 2 ] &&
		[[ ${COMP_WORDS[2]} != -* ]]; then
		cmd=${COMP_WORDS[2]}
	fi
	# bash splits --option=value into three words at "="
	if [ "$cur" = "=" ]; then
		option=$before
		cur=
	elif [ "$before" = "=" ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $before == -[a-zA-Z] ]]; then
		option=$before
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			_gpucheck_for_slurm "$option" "$cur"
			return
		fi
	done
	words=${option:+$(_gpucheck_values "$cmd" "$option")}
	if [ -n "$words" ] || { [ -n "$option" ] && [ "${option#--}" != "$option" ]; }
	then
		_gpucheck_value "$words" "$cur"
		return
	fi
	case $cmd,$cur in
	*,-*)
		words=$(gpucheck --list-options "$cmd" 2>/dev/null | cut -f1)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		if [[ ${COMPREPLY[0]-} == *= ]]; then
			compopt -o nospace 2>/dev/null
		fi
		;;
	help,* | plan,*)
		words=$(gpucheck --list-commands 2>/dev/null)
		[ "$cmd" = plan ] || words+=" csv units"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		;;
	explain,*)
		words=$(gpucheck --list-codes 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"
			compgen -W "${cur:+$words}" -- "$cur")
		;;
	report,* | status,* | attach,* | bundle,* | diff,*)
		_gpucheck_runs "$cur"
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	esac
}

complete -F _gpucheck gpucheck
