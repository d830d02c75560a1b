/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_CONFIG_H
#define CLI_FRONT_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cli/front/command.h"
#include "lib/base/err.h"

/** Files of options: of the site, and of the user, who wins. */
#define CONFIG_SITE "/etc/gpucheck.conf"
#define CONFIG_NAME "gpucheck.conf"	/* in $XDG_CONFIG_HOME, ~/.config */
/** Names the only one to read; none of it reads none. */
#define CONFIG_ENV  "GPUCHECK_CONFIG"
#define CONFIG_NONE "none"
#define CONFIG_FILES 2

#define CONFIG_MAX_BYTES 65536
#define CONFIG_MAX_LINE	 190	/* bytes; inih takes few more */
#define CONFIG_MAX	 512	/* values of a file */

/** NAME=VALUE */
struct config_value {
	const char *name;	/* of an option, in spec_options[] */
	const struct command *of;	/* of its [section]; NULL: of all that
					 * take it */
	int line;		/* from 1 */
	char text[CONFIG_MAX_LINE + 1];
};

struct config {
	char path[PATH_MAX];	/* as it is named in errors; "" = none */
	bool must;		/* it was asked for by name */
	bool here;		/* it is there, and was read */
	struct config_value *list;
	size_t n;
};

/**
 * The values of @text of @len bytes, which stand in the file c->path, appended
 * to c->list: known options, each once (lists more often) in a section that
 * takes it, with a value that it takes.  Sections are commands of @all (NULL
 * ends).  Returns 0, or -1 with @e: file, line and what to write instead; what
 * was read is for config_release() in both cases.
 */
int config_parse(const char *text, size_t len,
		 const struct command *const *all, struct config *c,
		 struct err *e);

/** What is wrong with line @line of @c, as @why says, in @e; -1. */
int config_fail(const struct config *c, int line, const struct err *why,
		struct err *e);

/**
 * May user @me follow what a file @path of @st says, which may name programs
 * and libraries?  It is a regular file of root's or the user's own that not
 * all may write; of root, root's alone, that no group may write either.  A link
 * to such a file is as good.  -1 with @e.
 */
int config_check_file(const char *path, const struct stat *st, unsigned me,
		      struct err *e);

/**
 * Which files there are to read (@files[].path, "" for none), after
 * GPUCHECK_CONFIG, XDG_CONFIG_HOME and HOME.
 */
void config_find(struct config files[CONFIG_FILES]);
/**
 * Read those; one that is not there is no error, unless it was asked for.
 * Returns 0, or -1 with @e.  config_release() frees in both cases.
 */
int config_read(struct config files[CONFIG_FILES],
		const struct command *const *all, struct err *e);
void config_release(struct config files[CONFIG_FILES]);

#endif
