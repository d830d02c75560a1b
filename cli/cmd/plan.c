/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck plan: forecast what a command measures and how long it takes. */
#include "cli/front/help.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "lib/base/err.h"

#define DEFAULT_COMMAND "p2p"

/** Runs @cmd as main() would, but only plans its run. */
static int plan(struct session *s, const struct command *cmd)
{
	static const char *const rows[] = { "csv", NULL };
	struct err e = { 0 };
	int rc = options_parse(s, cmd, &e);

	if (rc == OPTIONS_HELP || rc == OPTIONS_HELP_ALL) {
		help_command(&cmd_plan, rc == OPTIONS_HELP_ALL, stdout);
		return CODE_HEALTHY;
	}
	if (rc == 0 && options_stray(s, rows)) {
		rc = err_set(&e, 0, "a plan has no rows for --csv");
		err_hint(&e, "--json prints it as an object");
	}
	if (rc != 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	talk_quiet(s->spec.quiet);
	return cmd->run(s);
}

static int run_plan(struct session *typed)
{
	struct session s = { .plan = true, .commands = typed->commands };
	struct err e = { 0 };
	const char *word = typed->argc > 2 ? typed->argv[2] : "-";
	const bool shift = word[0] != '-';
	const struct command *cmd =
		command_find(typed->commands, shift ? word : DEFAULT_COMMAND);
	int code;

	/* only a command that runs on nodes can be planned */
	if (!cmd || cmd->hidden || cmd == &cmd_plan ||
	    !options_apply(cmd, spec_find("nodes"))) {
		err_set(&e, 0, cmd ? "'%s' measures nothing" :
				     "there is no command '%s'", word);
		err_hint(&e, "plan takes p2p, ib, ping, memlock, allreduce ... "
			     "or all");
		return talk_fail(&e, CODE_USAGE);
	}
	s.argv = calloc((size_t)typed->argc + 3, sizeof(*s.argv));
	if (!s.argv) {
		err_set(&e, ENOMEM, "cannot read the command line");
		return talk_fail(&e, CODE_UNABLE);
	}
	/* "gpucheck COMMAND ..." */
	s.argv[s.argc++] = typed->argv[0];
	s.argv[s.argc++] = (char *)cmd->name;
	for (int i = shift ? 3 : 2; i < typed->argc; i++) {
		s.argv[s.argc++] = typed->argv[i];
	}
	code = plan(&s, cmd);
	options_release(&s);
	free(s.argv);
	return code;
}

static const char *const examples[] = {
	"gpucheck plan -N 4 -G 8",
	"gpucheck plan allreduce -N 2 -G 8 -b 8 -e 8G",
	"gpucheck plan all --local=2x8 --quick",
	NULL
};

const struct command cmd_plan = {
	.name = "plan",
	.summary = "Estimate what a run would measure, and how long it takes.",
	.usage = "[COMMAND] [OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_PLAN,
	.raw = true,
	.run = run_plan,
};
