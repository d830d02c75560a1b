# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# await SECONDS COMMAND...: until COMMAND succeeds, or fail.
await()
{
	local end=$((SECONDS + $1 + 1))		# not less than asked for
	shift
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			echo "in vain: $*"
			return 1
		fi
		sleep 0.05
	done
}
