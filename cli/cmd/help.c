/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck help: print the help of a command or topic. */
#include "cli/front/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/front/talk.h"
#include "lib/base/err.h"

/** Topics of "gpucheck help" besides commands. */
static const struct {
	const char *name;
	void (*print)(FILE *out);
} topics[] = {
	{ .name = "csv", .print = help_csv },
	{ .name = "units", .print = help_units },
	{ 0 }
};

static int run_help(struct session *s)
{
	const struct command *cmd;
	struct err e;

	if (s->n_args == 0) {
		help_overview(s->commands, stdout);
		return CODE_HEALTHY;
	}
	for (size_t i = 0; topics[i].name; i++) {
		if (strcmp(topics[i].name, s->args[0]) == 0) {
			topics[i].print(stdout);
			return CODE_HEALTHY;
		}
	}
	cmd = command_find(s->commands, s->args[0]);
	if (cmd) {
		help_command(cmd, false, stdout);
		return CODE_HEALTHY;
	}
	err_set(&e, 0, "there is no help on '%s'", s->args[0]);
	err_hint(&e, "\"gpucheck help\" lists the commands; \"help csv\" and "
		 "\"help units\" explain the results");
	return talk_fail(&e, CODE_USAGE);
}

static const char *const examples[] = {
	"gpucheck help p2p",
	"gpucheck help csv",
	NULL
};

const struct command cmd_help = {
	.name = "help",
	.summary = "Explain a command, the columns or the units.",
	.usage = "[COMMAND|csv|units]",
	.examples = examples,
	.takes = SPEC_CMD_PLAIN,
	.max_args = 1,
	.run = run_help,
};
