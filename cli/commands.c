/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
	&cmd_all, &cmd_p2p, &cmd_ib, &cmd_memlock, &cmd_ping, &cmd_info,
	&cmd_allreduce, &cmd_allgather,
	&cmd_reducescatter, &cmd_broadcast, &cmd_reduce, &cmd_alltoall,
	&cmd_sendrecv, &cmd_plan, &cmd_report, &cmd_diff, &cmd_import, &cmd_explain,
	&cmd_version, &cmd_help,
	&cmd_agent, &cmd_coordinator, &cmd_worker, &cmd_conductor, NULL
};
