# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# bash completion of gpucheck: asks the program, so that it cannot be out of
# date.

# Values of option $2 of command $1, where they are words.
_gpucheck_values()
{
	gpucheck --list-options "$1" 2>/dev/null |
		sed -n "s/^$2=\{0,1\}	//p"
}

_gpucheck()
{
	local cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} option words

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
		option=${COMP_WORDS[COMP_CWORD - 1]}
		cur=
	elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = "=" ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ -n "${option-}" ]; then
		words=$(_gpucheck_values "$cmd" "$option")
		if [ -n "$words" ]; then
			mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		return
	fi
	case $cur in
	-*)
		words=$(gpucheck --list-options "$cmd" 2>/dev/null | cut -f1)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		if [[ ${COMPREPLY[0]-} == *= ]]; then
			compopt -o nospace 2>/dev/null
		fi
		;;
	*)
		if [ "$cmd" = help ]; then
			words="$(gpucheck --list-commands 2>/dev/null) csv units"
			mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		elif [ "$cmd" = plan ]; then
			words=$(gpucheck --list-commands 2>/dev/null)
			mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		;;
	esac
}

complete -F _gpucheck gpucheck
