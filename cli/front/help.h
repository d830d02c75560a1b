/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_HELP_H
#define CLI_FRONT_HELP_H

#include <stdio.h>

#include "cli/front/command.h"

/** All commands (NULL ends), for "gpucheck help". */
void help_overview(const struct command *const *all, FILE *out);
/** Usage, options and examples of one command, for "gpucheck CMD -h". */
void help_command(const struct command *cmd, bool all, FILE *out);
/** The columns of every CSV file, from the tables that write them. */
void help_csv(FILE *out);
void help_units(FILE *out);

/**
 * For shell completion, a word a line.  An option that takes a value ends in
 * "="; behind a tab stand the values that it can have, where they are words,
 * and what else it takes as --help names it: "<NODES>".
 */
void help_list_commands(const struct command *const *all, FILE *out);
void help_list_options(const struct command *cmd, FILE *out);
/** Of findings, rows and messages: what explain takes. */
void help_list_codes(FILE *out);

#endif
