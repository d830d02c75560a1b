/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck plan: forecast what a command measures and how long it takes. */
#include "cli/front/help.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "lib/base/err.h"

#define DEFAULT_COMMAND "p2p"

/** Returns true if @cmd can be planned: it runs on nodes. */
static bool is_planned(const struct command *cmd)
{
	return !cmd->hidden && cmd != &cmd_plan &&
	       options_apply(cmd, spec_find("nodes"));
}

/** Returns the command whose run is planned and sets *@shift if it was typed;
 *  NULL with @e. */
static const struct command *choose(const struct session *s, bool *shift,
				    struct err *e)
{
	const char *word = s->argc > 2 ? s->argv[2] : "-";
	const struct command *cmd;

	*shift = word[0] != '-';
	cmd = command_find(s->commands, *shift ? word : DEFAULT_COMMAND);
	if (!cmd || !is_planned(cmd)) {
		err_set(e, 0, cmd ? "'%s' measures nothing" :
				    "there is no command '%s'", word);
		err_hint(e, "plan takes p2p, ib, ping, memlock, allreduce ... or "
			 "all");
		return NULL;
	}
	return cmd;
}

/** The command line "gpucheck COMMAND ..." of @cmd; the caller frees. */
static char **make_line(const struct session *s, const struct command *cmd,
			bool shift, int *argc)
{
	int from = shift ? 3 : 2, n = 0;
	char **line = calloc((size_t)s->argc + 3, sizeof(*line));

	if (line) {
		line[n++] = s->argv[0];
		line[n++] = (char *)cmd->name;
		for (int i = from; i < s->argc; i++) {
			line[n++] = s->argv[i];
		}
	}
	*argc = n;
	return line;
}

/** Refuse options that a plan has no use for. */
static int check(struct session *s, struct err *e)
{
	static const char *const rows[] = { "csv", NULL };

	if (options_stray(s, rows)) {
		err_set(e, 0, "a plan has no rows for --csv");
		return err_hint(e, "--json prints it as an object");
	}
	return 0;
}

/** Runs @cmd as main() would, but only plans its run. */
static int plan(struct session *s, const struct command *cmd)
{
	struct err e = { 0 };
	int rc = options_parse(s, cmd, &e);

	if (rc == OPTIONS_HELP || rc == OPTIONS_HELP_ALL) {
		help_command(&cmd_plan, rc == OPTIONS_HELP_ALL, stdout);
		return CODE_HEALTHY;
	}
	if (rc != 0 || check(s, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	talk_quiet(s->spec.quiet);
	return cmd->run(s);
}

static int run_plan(struct session *typed)
{
	struct session s = { .plan = true, .commands = typed->commands };
	struct err e = { 0 };
	const struct command *cmd;
	bool shift;
	int code;

	cmd = choose(typed, &shift, &e);
	if (!cmd) {
		return talk_fail(&e, CODE_USAGE);
	}
	s.argv = make_line(typed, cmd, shift, &s.argc);
	if (!s.argv) {
		err_set(&e, ENOMEM, "cannot read the command line");
		return talk_fail(&e, CODE_UNABLE);
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
