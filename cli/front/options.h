/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_OPTIONS_H
#define CLI_FRONT_OPTIONS_H

#include <stdbool.h>

#include <jansson.h>

#include "cli/front/command.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"

/** Does @cmd take @o? */
static inline bool options_apply(const struct command *cmd,
				 const struct spec_option *o)
{
	return (o->commands & cmd->takes) != 0;
}

/** GPUCHECK_MAX_TIME for --max-time; returns @buf. */
const char *options_env_name(const struct spec_option *o, char *buf,
			     size_t size);

#define OPTIONS_HELP 10000
#define OPTIONS_HELP_ALL 10001	/* --help=all */

/**
 * Fill in @s->spec, args and extra: defaults, then files of options
 * (cli/front/config.h), then GPUCHECK_<OPTION> of the environment, then
 * @s->argv behind the command's own name.  The later wins, also where two do
 * not go together (GPUCHECK_NODES and --local).  The strings stay those of
 * argv, but for args; options_release() frees these.
 * Returns 0, OPTIONS_HELP when -h or --help is there (_ALL), or -1 with @e.
 */
int options_parse(struct session *s, const struct command *cmd, struct err *e);
void options_release(struct session *s);

/**
 * The options @spec of a run for its run.json: those that are not at their
 * default, and those that are because somebody said so where a file says
 * otherwise: what repeats a test must say it again.  NULL without memory.
 */
json_t *options_json(const struct session *s, const struct spec *spec);

/** Does the option of that name come from the command line? */
bool options_typed(const struct session *s, const char *name);

/**
 * Options @names (NULL ends) that mean nothing in this use.  What comes from
 * the environment is for any command, and goes back to its default here.
 * Returns the first that was typed and is not at its default: an error to
 * tell; NULL when there is none.
 */
const char *options_stray(struct session *s, const char *const *names);

#endif
