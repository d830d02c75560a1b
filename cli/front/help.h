/* SPDX-License-Identifier: BSD-3-Clause */
/* A command and its session, and the help texts. */
#ifndef CLI_FRONT_HELP_H
#define CLI_FRONT_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/spec/spec.h"

/* ---- command ------------------------------------------------------------- */

/** Source of an option's value: later ones override earlier ones. */
enum option_source {
	SOURCE_DEFAULT,
	SOURCE_SITE, SOURCE_SITE_COMMAND,	/* all of the file, or the
						 * command's section */
	SOURCE_USER, SOURCE_USER_COMMAND,
	SOURCE_ENVIRONMENT,
	SOURCE_LINE
};

/** One use of gpucheck: its parsed command line. */
struct session {
	int argc;
	char **argv;		/* all of it, for run.json */
	struct spec spec;
	bool typed[SPEC_OPTIONS_MAX];	/* as in spec_options[]; the others are
					 * defaults, of the environment or of
					 * files */
	unsigned char source[SPEC_OPTIONS_MAX];	/* enum option_source */
	bool filed[SPEC_OPTIONS_MAX];	/* a file sets it, too */
	bool whole;		/* the command line is complete: no file is
				 * read */
	const char **args;	/* after the command, options taken out */
	int n_args;
	char **extra;		/* after "--", NULL-ended */
	bool plan;		/* only print what would be measured */
	json_t *retest;		/* for run.json; borrowed, NULL: not a retest */
	const struct command *const *commands;	/* all there are, NULL ends */
};

/**
 * One subcommand.  To add one: write cli/cmd/foo.c with "const struct command
 * cmd_foo", name it in COMMANDS, write cli/man/gpucheck-foo.1;
 * tests/cli/agree.bats fails until they agree.
 */
struct command {
	const char *name;
	const char *summary;	/* one line of "gpucheck help" */
	const char *usage;	/* what follows the name in SYNOPSIS */
	const char *const *examples;	/* command lines, NULL-ended */
	bool hidden;		/* started by gpucheck itself */
	const char *known_as;	/* "status --follow": the usual way to type it,
				 * which help shows instead; NULL: its name */
	enum spec_command takes;	/* which options of lib/spec/spec.h */
	void (*defaults)(struct spec *s);	/* its own, or NULL */
	int min_args, max_args;
	const char *needs;	/* the required arguments, for people */
	bool raw;		/* run() parses argv itself */
	int (*run)(struct session *s);	/* returns an enum exit_code */
	/* report to @arg, its first argument, that the process cannot begin;
	 * or NULL */
	void (*excuse)(const char *arg, const struct err *why);
};

/** All there are, as "gpucheck help" lists them. */
#define COMMANDS(X) \
	X(all) X(p2p) X(ib) X(memlock) X(ping) X(info) X(gpu) X(node) X(hang) \
	X(collective) X(allreduce) \
	X(allgather) X(reducescatter) X(broadcast) X(reduce) X(alltoall) \
	X(sendrecv) X(plan) X(status) X(attach) X(report) X(bundle) X(diff) \
	X(history) X(watch) X(turn) \
	X(import) X(explain) X(version) X(help) X(agent) X(coordinator) \
	X(judge) X(worker) X(conductor) X(muster) \
	X(step)
#define COMMAND_DECLARE(name) extern const struct command cmd_##name;
COMMANDS(COMMAND_DECLARE)

/** Return the command of @all (NULL ends) with this name, NULL if there is
 *  none. */
const struct command *command_find(const struct command *const *all,
				   const char *name);

/** Return the first option called @name that a command of the mask @takes of
 *  enum spec_command has; NULL if there is none. */
const struct spec_option *option_find(unsigned takes, const char *name);

/* ---- help ---------------------------------------------------------------- */

/** All commands (NULL ends), for "gpucheck help". */
void help_overview(const struct command *const *all, FILE *out);
/** Usage, options and examples of one command, for "gpucheck CMD -h". */
void help_command(const struct command *cmd, bool all, FILE *out);
/** The columns of every CSV file, from the tables that write them. */
void help_csv(FILE *out);
void help_units(FILE *out);

/**
 * Prints words for shell completion, one per line.  An option that takes a
 * value ends in "="; after a tab follow its possible values, if they are words,
 * and its value's name in --help: "<NODES>".
 */
void help_list_options(const struct command *cmd, FILE *out);
/** List the codes of findings, rows and messages that explain accepts. */
void help_list_codes(FILE *out);

#endif
