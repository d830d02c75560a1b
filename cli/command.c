/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "cli/front/exit_code.h"
#include "cli/front/help.h"
#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "lib/base/str.h"

const struct command *const commands[] = {
	&cmd_all, &cmd_p2p, &cmd_ib, &cmd_memlock, &cmd_ping, &cmd_info,
	&cmd_allreduce, &cmd_allgather,
	&cmd_reducescatter, &cmd_broadcast, &cmd_reduce, &cmd_alltoall,
	&cmd_sendrecv, &cmd_plan, &cmd_report, &cmd_diff, &cmd_import, &cmd_explain,
	&cmd_version, &cmd_help,
	&cmd_agent, &cmd_coordinator, &cmd_worker, &cmd_conductor, NULL
};

/** Other ways to type a command. */
static const struct alias {
	const char *name;
	const char *means;
} aliases[] = {
	{ .name = "-h", .means = "help" },
	{ .name = "--help", .means = "help" },
	{ .name = "-V", .means = "version" },
	{ .name = "--version", .means = "version" },
	{ 0 }
};

const struct command *command_find(const char *name)
{
	for (const struct alias *a = aliases; a->name; a++) {
		if (strcmp(a->name, name) == 0) {
			name = a->means;
		}
	}
	for (int i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->name, name) == 0) {
			return commands[i];
		}
	}
	return NULL;
}

/** The command nearest to @name, among those people may type. */
static const char *nearest_command(const char *name)
{
	const char *names[64];
	size_t n = 0, max = sizeof(names) / sizeof(names[0]) - 1;

	for (int i = 0; commands[i] && n < max; i++) {
		if (!commands[i]->hidden) {
			names[n++] = commands[i]->name;
		}
	}
	names[n] = NULL;
	return str_nearest(name, names);
}

static int unknown_command(const char *name)
{
	const char *nearest = nearest_command(name);
	struct err e;

	err_set(&e, 0, "there is no command '%s'", name);
	if (nearest) {
		err_hint(&e, "did you mean '%s'?", nearest);
	} else {
		err_hint(&e, "\"gpucheck help\" lists the commands");
	}
	talk_err(&e);
	return CODE_USAGE;
}

/** --list-commands and --list-options CMD, for shell completion. */
static bool list_for_completion(int argc, char **argv)
{
	const struct command *cmd;

	if (argc == 2 && strcmp(argv[1], "--list-commands") == 0) {
		help_list_commands(stdout);
		return true;
	}
	if (argc == 3 && strcmp(argv[1], "--list-options") == 0) {
		cmd = command_find(argv[2]);
		if (cmd) {
			help_list_options(cmd, stdout);
		}
		return true;
	}
	return false;
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	struct session s = { .argc = argc, .argv = argv };
	struct err e = { 0 };
	int code = CODE_HEALTHY;

	if (cmd->raw) {
		return cmd->run(&s);
	}
	switch (options_parse(&s, cmd, &e)) {
	case OPTIONS_HELP:
		help_command(cmd, stdout);
		break;
	case 0:
		talk_quiet(s.spec.quiet);
		code = cmd->run(&s);
		break;
	default:
		talk_err(&e);
		code = CODE_USAGE;
	}
	options_release(&s);
	return code;
}

int command_main(int argc, char **argv)
{
	const struct command *cmd;

	if (argc < 2) {
		help_overview(stderr);
		return CODE_USAGE;
	}
	if (list_for_completion(argc, argv)) {
		return CODE_HEALTHY;
	}
	cmd = command_find(argv[1]);
	return cmd ? run_command(cmd, argc, argv) : unknown_command(argv[1]);
}
