/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include <string.h>

#include "cli/exit_code.h"
#include "cli/talk.h"

const struct later later_commands[] = {
	{ .name = "info", .summary = "what a node reports about itself" },
	{ 0 }
};

const struct later *later_find(const char *name)
{
	for (const struct later *l = later_commands; l->name; l++) {
		if (strcmp(l->name, name) == 0) {
			return l;
		}
	}
	return NULL;
}

int later_say(const char *name)
{
	struct err e;

	err_set(&e, 0, "'%s' is not built yet", name);
	err_hint(&e, "\"gpucheck help\" lists what there is");
	talk_err(&e);
	return CODE_USAGE;
}
