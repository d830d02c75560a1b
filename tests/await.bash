# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# await SECONDS COMMAND...: until COMMAND succeeds, or fail.  It is called less
# and less often, as it takes from what it waits for.
await()
{
	local end=$((SECONDS + $1 + 1)) ms=50	# not less than asked for
	shift
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			echo "in vain: $*"
			return 1
		fi
		sleep "${ms}e-3"
		ms=$((ms < 250 ? ms + ms / 10 : 250))
	done
}
