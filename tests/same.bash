# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

# is_same N BEFORE AFTER: the last test of a suite, by what machine() said.
is_same()
{
	if [ "$2" = "$3" ]; then
		echo "ok $1 the machine is as it was"
	else
		echo "not ok $1 the machine is as it was"
		diff <(echo "$2") <(echo "$3") | sed 's/^/# /'
		return 1
	fi
}
