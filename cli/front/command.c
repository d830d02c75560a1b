/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <string.h>

/** Other ways to type a command. */
static const struct alias {
	const char *name;
	const char *means;
} aliases[] = {
	{ .name = "-h", .means = "help" },
	{ .name = "--help", .means = "help" },
	{ 0 }
};

const struct command *command_find(const struct command *const *all,
				   const char *name)
{
	for (const struct alias *a = aliases; a->name; a++) {
		if (strcmp(a->name, name) == 0) {
			name = a->means;
		}
	}
	for (; *all; all++) {
		if (strcmp((*all)->name, name) == 0) {
			return *all;
		}
	}
	return NULL;
}
