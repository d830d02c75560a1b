/* SPDX-License-Identifier: BSD-3-Clause */
/* Options from the command line, the environment and configuration files. */
#ifndef CLI_FRONT_OPTIONS_H
#define CLI_FRONT_OPTIONS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "sbatch/launcher.h"

/* ---- option words -------------------------------------------------------- */

/** Name of --help=all towards popt, which has no value for it. */
#define OPTION_WORDS_HELP_ALL "help-all"

/**
 * Finds the option of @takes, a mask of enum spec_command, that @word of a
 * command line names: "--transport=tcp", "--transport", or "--tr" if it is
 * unambiguous.  A full name is that option even if others begin with it.  So is
 * an earlier name, and its beginning if it was unambiguous then: "--time" is
 * --timeout, which is called --test-timeout, as it was before --time-limit.
 * *@found is NULL if there is none, or @word is not an option; --help is not in
 * the table and has the name "help".  Returns 0, or -1 with @e if several
 * match.
 */
int option_word(unsigned takes, const char *word,
		const struct spec_option **found, struct err *e);

/* ---- mistyped ------------------------------------------------------------ */

/* Likely meaning of an invalid command line. */

/**
 * Returns true if one of the words @argv of a command line (ended by NULL) is
 * the value of an option that takes its value only after "=", such as 2x4 in
 * "--local 2x4", for a command that @takes these options.  Then adds that hint
 * to @e, which is set.
 */
bool mistyped_value(unsigned takes, char *const argv[], struct err *e);

/* ---- config -------------------------------------------------------------- */

/** Configuration files: of the site, and of the user, which has precedence. */
#define CONFIG_SITE "/etc/gpucheck.conf"
#define CONFIG_NAME "gpucheck.conf"	/* in $XDG_CONFIG_HOME, ~/.config */
/** Variable that names the only file to read; "none": no file. */
#define CONFIG_ENV  "GPUCHECK_CONFIG"
#define CONFIG_NONE "none"
#define CONFIG_FILES 2

#define CONFIG_MAX_BYTES 65536
#define CONFIG_MAX_LINE	 190	/* bytes; inih takes few more */
#define CONFIG_MAX	 512	/* values of a file */

/** NAME=VALUE */
struct config_value {
	const char *name;	/* of an option, in spec_options[] */
	const struct command *of;	/* of its [section]; NULL: all that take
					 * it */
	int line;		/* from 1 */
	char text[CONFIG_MAX_LINE + 1];
};

struct config {
	char path[PATH_MAX];	/* as shown in errors; "" = no file */
	bool must;		/* it was requested by name */
	bool here;		/* it exists and was read */
	struct config_value *list;
	size_t n;
};

/**
 * Parse @text of @len bytes, the contents of the file c->path, and append its
 * values to c->list: known options with valid values, each once (lists more
 * often) in a section that takes it.  Sections are commands of @all
 * (NULL-ended).  Returns 0, or -1 with @e: file, line and what to write
 * instead.  config_release() frees in both cases.
 */
int config_parse(const char *text, size_t len,
		 const struct command *const *all, struct config *c,
		 struct err *e);

/** Set @e to the error @why in line @line of @c; returns -1. */
int config_fail(const struct config *c, int line, const struct err *why,
		struct err *e);

/**
 * Checks that user @me may use the configuration file @path with status @st,
 * which may name programs and libraries.  It must be a regular file, owned by
 * root or the user, and not writable by everyone; for root it must be owned by
 * root and not be writable by a group either.  A link to such a file is
 * allowed.  Returns 0, or -1 with @e.
 */
int config_check_file(const char *path, const struct stat *st, unsigned me,
		      struct err *e);

/**
 * Find the files to read (@files[].path, "" for none) by GPUCHECK_CONFIG,
 * XDG_CONFIG_HOME and HOME.
 */
void config_find(struct config files[CONFIG_FILES]);
/**
 * Read these files.  A missing file is an error only if it was requested by
 * name.  Returns 0, or -1 with @e. config_release() frees in both cases.
 */
int config_read(struct config files[CONFIG_FILES],
		const struct command *const *all, struct err *e);
void config_release(struct config files[CONFIG_FILES]);

/* ---- options ------------------------------------------------------------- */

/** Return true if @cmd takes @o. */
static inline bool options_apply(const struct command *cmd,
				 const struct spec_option *o)
{
	return (o->commands & cmd->takes) != 0;
}

/** Write GPUCHECK_TIME_LIMIT for the option called time-limit; returns @buf. */
const char *options_env_name(const char *option, char *buf, size_t size);
/** Return the value that the environment sets @o to (NULL: none) and the name
 *  of the variable in @buf: that of its name, or of its earlier name if only
 *  that one is set. */
const char *options_env(const struct spec_option *o, char *buf, size_t size);

#define OPTIONS_HELP 10000
#define OPTIONS_HELP_ALL 10001	/* --help=all */

/**
 * Fill in @s->spec, args and extra: defaults, then configuration files, then
 * GPUCHECK_<OPTION> of the environment, then @s->argv after the command's own
 * name.  Later sources override earlier ones, also if two options exclude each
 * other (GPUCHECK_NODES and --local).  Strings are borrowed from argv except
 * args, which options_release() frees.
 * Returns 0, OPTIONS_HELP (_ALL) for -h or --help, or -1 with @e.
 */
int options_parse(struct session *s, const struct command *cmd, struct err *e);
void options_release(struct session *s);

/** Make the values that name a file or directory absolute, so that commands
 *  printed later work in any directory. */
void options_absolute(struct spec *spec);

/**
 * Returns the options @spec of a run for run.json: those with another value
 * than the default, and those set to the default against a file, since a
 * repeated test must set them again.  NULL without memory.
 */
json_t *options_json(const struct session *s, const struct spec *spec);

/** Return true if the option of that name was set on the command line. */
bool options_typed(const struct session *s, const char *name);

/**
 * Handles the options @names (ended by NULL), which have no effect in this use.
 * Values from the environment, which are for any command, are reset to their
 * default.  Returns the first option that was typed and is not at its default,
 * as an error to report; NULL: none.
 */
const char *options_stray(struct session *s, const char *const *names);

#endif
